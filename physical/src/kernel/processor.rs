//! The user's choice of a processor for kernels.

use std::fmt;
use std::str::FromStr;

/// A processor that runs kernels: `auto`, `cpu`, `cuda` for the first CUDA device, or `cuda:N`.
///
/// ```
/// use redpoll_physical::kernel::Processor;
///
/// assert_eq!("cuda:1".parse(), Ok(Processor::Cuda(1)));
/// assert_eq!(Processor::Cuda(0).to_string(), "cuda:0");
/// assert!("gpu".parse::<Processor>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Processor {
    /// A device where it is expected to be faster, else the cores of this machine.
    #[default]
    Auto,
    /// The cores of this machine.
    Cpu,
    /// The CUDA device with this number.
    Cuda(u32),
}

/// The error for a text that names no processor.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected processor `auto`, `cpu`, `cuda` or `cuda:N`, found `{found}`")]
pub struct ParseProcessorError {
    /// The text.
    pub found: String,
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Processor::Auto => f.write_str("auto"),
            Processor::Cpu => f.write_str("cpu"),
            Processor::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

impl FromStr for Processor {
    type Err = ParseProcessorError;

    fn from_str(text: &str) -> Result<Processor, ParseProcessorError> {
        let none = || ParseProcessorError { found: text.to_owned() };
        match text.split_once(':') {
            None if text == "auto" => Ok(Processor::Auto),
            None if text == "cpu" => Ok(Processor::Cpu),
            None if text == "cuda" => Ok(Processor::Cuda(0)),
            Some(("cuda", number)) => number.parse().map(Processor::Cuda).map_err(|_| none()),
            _ => Err(none()),
        }
    }
}
