//! Targets: the interpreters, tiers and devices that can run a plan, by name.
//!
//! The table `TARGETS` lists all targets. A new target needs a backend in a folder of its own and
//! one row of the table; the command line, SQL, explanations and JSON know the target by its name.

use crate::config::Config;
use redpoll_devices::launch::{CudaBackend, MAX_DEVICES, grid_interpreter};
use redpoll_kernels::Error;
use redpoll_kernels::backend::{Backend, OptimizingBackend, instant, interpreter};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A row of the table of targets.
struct Row {
    /// The name in texts and arguments.
    word: &'static str,
    /// The name in messages.
    name: &'static str,
    execution: Execution,
}

/// The way in which a target runs a plan.
#[derive(Clone, Copy)]
pub(crate) enum Execution {
    /// The interpreter of Logic runs the plan.
    Logic,
    /// The interpreter of Notation runs the loops.
    Notation,
    /// A backend runs the kernels.
    Kernels(fn(&Config) -> Arc<dyn Backend>),
    /// The device with the number of the target runs the kernels; there are at most `count`
    /// devices.
    Device { count: u32, backend: fn(u32) -> Arc<dyn Backend> },
    /// The instant tier runs the kernels at first. Once the optimizing tier is compiled, the faster
    /// tier of each kernel is chosen.
    Tiers,
    /// A device or the tiers run the kernels; estimates decide which.
    Placed,
}

const fn row(word: &'static str, name: &'static str, execution: Execution) -> Row {
    Row { word, name, execution }
}

impl Row {
    /// Returns the number of targets of this row.
    const fn count(&self) -> u32 {
        match self.execution {
            Execution::Device { count, .. } => count,
            _ => 1,
        }
    }
}

/// All targets: interpreters, tiers and devices from the highest level to the lowest, then the
/// choices between them.
const TARGETS: &[Row] = &[
    row("logic", "logic interpreter", Execution::Logic),
    row("notation", "notation interpreter", Execution::Notation),
    row("assembly", "assembly interpreter", Execution::Kernels(|_| interpreter())),
    row("grid", "grid interpreter", Execution::Kernels(|_| grid_interpreter())),
    row("instant", "instant", Execution::Kernels(|_| instant())),
    row("optimizing", "optimizing", Execution::Kernels(|config| Arc::new(OptimizingBackend::new(&config.toolchain)))),
    row("cuda", "cuda", Execution::Device { count: MAX_DEVICES, backend: |n| Arc::new(CudaBackend::new(n)) }),
    row("cpu", "cpu", Execution::Tiers),
    row("auto", "auto", Execution::Placed),
];

/// The number of targets, with each device counted.
pub(crate) const TARGET_COUNT: usize = {
    let (mut count, mut k) = (0, 0);
    while k < TARGETS.len() {
        count += TARGETS[k].count() as usize;
        k += 1;
    }
    count
};

/// The name by which users choose what runs a prepared plan: an interpreter, a tier, a device, or a
/// choice between them. All targets agree on the results; the interpreters are meant for tests and
/// small data.
///
/// In text, a target is its name, and a device may also have a number, which is 0 by default:
/// ```
/// use redpoll::Target;
///
/// assert_eq!("cuda:1".parse(), Ok(Target::cuda(1)));
/// assert_eq!(Target::cuda(0).to_string(), "cuda:0");
/// assert!("gpu".parse::<Target>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    /// The row of the table.
    row: u8,
    /// The number of the device; 0 for other targets.
    number: u32,
}

impl Target {
    /// The reference interpreter of Logic: dense and naive, before optimization.
    pub const LOGIC: Target = Target::named("logic");
    /// The interpreter of Notation: the loops chosen by the optimizer, over dense tensors.
    pub const NOTATION: Target = Target::named("notation");
    /// The bounds-checked interpreter of Assembly: the code of the kernels, over stored tensors.
    /// This interpreter counts the work.
    pub const ASSEMBLY: Target = Target::named("assembly");
    /// The interpreter of grids: the code of the kernels on emulated lanes, in random orders. This
    /// interpreter reports races.
    pub const GRID: Target = Target::named("grid");
    /// Machine code by Cranelift: the instant tier.
    pub const INSTANT: Target = Target::named("instant");
    /// Machine code by the C compiler of the machine: the optimizing tier.
    pub const OPTIMIZING: Target = Target::named("optimizing");
    /// The CPU in two tiers. Runs begin on the instant tier. Once a plan has run long or often
    /// enough, the optimizing tier is compiled in the background. Then a few runs alternate between
    /// the tiers, with bit-identical results, and each kernel remains in its faster tier
    /// ([`Prepared::tier_choices`](crate::Prepared::tier_choices)). Without a C compiler, the
    /// instant tier remains.
    pub const CPU: Target = Target::named("cpu");
    /// The first device if the device is expected to be faster, including transfers and
    /// compilation, otherwise the same as [`Target::CPU`].
    /// [`Prepared::placement`](crate::Prepared::placement) reports the choice and its reason. A
    /// plan whose kernels the device does not support runs on the CPU as a whole.
    pub const AUTO: Target = Target::named("auto");

    /// All interpreters and tiers, from the highest level to the lowest. [`Target::CPU`] chooses
    /// between the last two.
    pub const ALL: [Target; 6] =
        [Target::LOGIC, Target::NOTATION, Target::ASSEMBLY, Target::GRID, Target::INSTANT, Target::OPTIMIZING];

    /// Returns the target with a name of the table.
    const fn named(word: &str) -> Target {
        let mut row = 0;
        while !is_equal(TARGETS[row].word, word) {
            row += 1;
        }
        Target { row: row as u8, number: 0 }
    }

    /// Returns the CUDA device of the given number. Preparing a plan for the device fails if the
    /// device, its driver or the run-time compiler is missing, or if the plan calls functions that
    /// exist only on the host.
    ///
    /// ```
    /// assert_eq!(redpoll::Target::cuda(1).to_string(), "cuda:1");
    /// ```
    pub const fn cuda(number: u32) -> Target {
        Target { number, ..Target::named("cuda") }
    }

    /// Returns the first device of the table.
    pub(crate) fn first_device() -> Target {
        let row = TARGETS.iter().find(|row| matches!(row.execution, Execution::Device { .. }));
        Target::named(row.expect("the table has devices").word)
    }

    fn row(self) -> &'static Row {
        &TARGETS[usize::from(self.row)]
    }

    /// Returns the name in messages, without the number of a device.
    ///
    /// ```
    /// assert_eq!(redpoll::Target::LOGIC.name(), "logic interpreter");
    /// ```
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns whether the target is a device with memory of its own.
    ///
    /// ```
    /// use redpoll::Target;
    ///
    /// assert!(Target::cuda(0).is_device());
    /// assert!(!Target::CPU.is_device());
    /// ```
    pub fn is_device(self) -> bool {
        matches!(self.execution(), Execution::Device { .. })
    }

    /// Returns the number of the device; 0 for other targets.
    ///
    /// ```
    /// assert_eq!(redpoll::Target::cuda(1).number(), 1);
    /// ```
    pub fn number(self) -> u32 {
        self.number
    }

    /// Returns the way in which the target runs a plan.
    pub(crate) fn execution(self) -> Execution {
        self.row().execution
    }

    /// Returns the target whose kernels a run needs at first: the instant tier for [`Target::CPU`]
    /// and [`Target::AUTO`], otherwise the target itself. Returns `None` for the interpreters above
    /// Assembly.
    pub(crate) fn kernel_target(self) -> Option<Target> {
        match self.execution() {
            Execution::Logic | Execution::Notation => None,
            Execution::Kernels(_) | Execution::Device { .. } => Some(self),
            Execution::Tiers | Execution::Placed => Some(Target::INSTANT),
        }
    }

    /// Returns the backend of the kernels of [`Target::kernel_target`].
    ///
    /// # Errors
    /// [`Error::Device`] if the number of the device is too large for any machine.
    ///
    /// # Panics
    /// Panics if the target runs no kernels.
    pub(crate) fn backend(self, config: &Config) -> Result<Arc<dyn Backend>, Error> {
        match self.kernel_target().map(Target::execution) {
            Some(Execution::Kernels(backend)) => Ok(backend(config)),
            Some(Execution::Device { count, backend }) if self.number < count => Ok(backend(self.number)),
            Some(Execution::Device { count, .. }) => {
                let reason = format!("a machine has at most {count} devices");
                Err(redpoll_devices::Error::NoDevice { ordinal: self.number, reason }.into())
            }
            _ => unreachable!("the {} runs no kernels", self.name()),
        }
    }

    /// Returns the index of the target among all targets; `None` if the number of the device is too
    /// large.
    pub(crate) fn slot(self) -> Option<usize> {
        let before: u32 = TARGETS[..usize::from(self.row)].iter().map(Row::count).sum();
        (self.number < self.row().count()).then_some((before + self.number) as usize)
    }
}

/// Returns whether two texts are equal. Unlike `==`, this function can run in constants.
const fn is_equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut k = 0;
    while k < a.len() && k < b.len() && a[k] == b[k] {
        k += 1;
    }
    k == a.len() && k == b.len()
}

impl Default for Target {
    fn default() -> Target {
        Target::AUTO
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_device() {
            true => write!(f, "{}:{}", self.row().word, self.number),
            false => f.write_str(self.row().word),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error for a text that names no target.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected {}, found `{found}`", names())]
pub struct ParseTargetError {
    /// The text.
    pub found: String,
}

/// Returns the names of all targets as a phrase.
fn names() -> String {
    let name = |row: &Row| match row.execution {
        Execution::Device { .. } => format!("`{0}`, `{0}:N`", row.word),
        _ => format!("`{}`", row.word),
    };
    let names: Vec<String> = TARGETS.iter().map(name).collect();
    let (last, others) = names.split_last().expect("there are targets");
    format!("{} or {last}", others.join(", "))
}

impl FromStr for Target {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Target, ParseTargetError> {
        let error = || ParseTargetError { found: text.to_owned() };
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let row = TARGETS.iter().find(|row| row.word == name).ok_or_else(error)?;
        let target = Target::named(row.word);
        match number {
            Some(number) if target.is_device() => Ok(Target { number: number.parse().map_err(|_| error())?, ..target }),
            Some(_) => Err(error()),
            None => Ok(target),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the constants name their rows, and that every name is parsed back.
    #[test]
    fn names_are_read_back() {
        let constants = [
            (Target::LOGIC, "logic"),
            (Target::NOTATION, "notation"),
            (Target::ASSEMBLY, "assembly"),
            (Target::GRID, "grid"),
            (Target::INSTANT, "instant"),
            (Target::OPTIMIZING, "optimizing"),
            (Target::cuda(0), "cuda:0"),
            (Target::cuda(3), "cuda:3"),
            (Target::CPU, "cpu"),
            (Target::AUTO, "auto"),
        ];
        for (target, name) in constants {
            assert_eq!(target.to_string(), name);
            assert_eq!(name.parse(), Ok(target));
        }
        assert_eq!("cuda".parse(), Ok(Target::cuda(0)));
        for text in ["", "gpu", "cuda:", "cuda:x", "cpu:0", "Auto"] {
            let error = text.parse::<Target>().unwrap_err();
            assert!(error.to_string().ends_with(&format!("or `auto`, found `{text}`")), "{error}");
        }
    }

    /// Asserts that every target has a slot of its own.
    #[test]
    fn slots_are_distinct() {
        let targets = (0..TARGETS.len() as u8)
            .flat_map(|row| (0..TARGETS[usize::from(row)].count()).map(move |number| Target { row, number }));
        let slots: Vec<usize> = targets.map(|target| target.slot().unwrap()).collect();
        assert_eq!(slots, (0..TARGET_COUNT).collect::<Vec<_>>());
        assert_eq!(Target::cuda(MAX_DEVICES).slot(), None);
    }
}
