//! Mutated files for random tests: samples of every file format with changed bytes, words and
//! lines, and the properties that every reader must satisfy. All mutations are functions of a seed.
//!
//! [`check_seed`] reads such a file with every reader. A reader must return an error or a valid
//! tensor without panicking, within a memory limit of 64 MiB. The reader of the header and the
//! reader of the whole file must agree.

mod mutate;
mod samples;

use crate::file_format::FileFormat;
use crate::file_formats::FILE_FORMATS;
use crate::{
    Error, LoadedFile, Memory, ReadOptions, WriteOptions, open_bytes, read_bytes, write_bytes, write_tensor_bytes,
};
use mutate::Mutation;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Memory limit of a reader, in bytes.
const LIMIT: usize = 64 << 20;

/// Counts of the outcomes of readers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReaderCounts {
    /// Number of readers that returned a tensor.
    pub tensors: u32,
    /// Number of readers that returned an error.
    pub errors: u32,
}

/// A file on which a reader misbehaves.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("file `{name}` of seed {seed}: {problem}; its bytes: \"{}\"", bytes.escape_ascii())]
pub struct ReaderFailure {
    /// The seed of the file. After shrinking, the bytes may have fewer changes.
    pub seed: u64,
    /// The name of the file, which determines its format.
    pub name: String,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// A description of the failure.
    pub problem: String,
}

/// Returns the names and bytes of valid files of every format and layout.
pub fn samples() -> Vec<(&'static str, Vec<u8>)> {
    samples::all().iter().map(|sample| (sample.name, sample.bytes())).collect()
}

/// Returns the name and bytes of the file of a seed.
pub fn mutated_file(seed: u64) -> (&'static str, Vec<u8>) {
    let mutation = Mutation::from_seed(seed);
    (mutation.name(), mutation.bytes())
}

/// Reads the file of a seed with every reader.
///
/// # Errors
/// Returns the first failure, for a file with a minimal set of changes.
pub fn check_seed(seed: u64) -> Result<ReaderCounts, ReaderFailure> {
    let mut mutation = Mutation::from_seed(seed);
    let check = |mutation: &Mutation| check_bytes(mutation.name(), &mutation.bytes());
    let mut problem = match check(&mutation) {
        Ok(counts) => return Ok(counts),
        Err(problem) => problem,
    };
    let smaller = |mutation: &Mutation| mutation.reductions().find_map(|fewer| Some((check(&fewer).err()?, fewer)));
    while let Some((problem_of_fewer, fewer)) = smaller(&mutation) {
        (problem, mutation) = (problem_of_fewer, fewer);
    }
    Err(ReaderFailure { seed, name: mutation.name().into(), bytes: mutation.bytes(), problem })
}

/// Reads a file in the format of its name, then in the format of its first bytes, then in each
/// format.
///
/// # Errors
/// Returns a description of the failure of a reader.
pub fn check_bytes(name: &str, bytes: &[u8]) -> Result<ReaderCounts, String> {
    let mut counts = ReaderCounts::default();
    let named = [(name, None), ("nameless", None)];
    let all = FILE_FORMATS.iter().map(|format| ("nameless", Some(*format)));
    for (name, file_format) in named.into_iter().chain(all) {
        let reader = file_format.map_or(name, |format| format.name);
        let read = catch_unwind(AssertUnwindSafe(|| check_reader(name, bytes, file_format)));
        match read.map_err(|_| format!("{reader}: a panic"))?.map_err(|problem| format!("{reader}: {problem}"))? {
            true => counts.tensors += 1,
            false => counts.errors += 1,
        }
    }
    Ok(counts)
}

/// Checks one reader, and returns whether it reads a tensor.
fn check_reader(name: &str, bytes: &[u8], file_format: Option<&'static FileFormat>) -> Result<bool, String> {
    let memory = Memory::limited(LIMIT);
    let options = ReadOptions { file_format, memory: memory.clone(), ..ReadOptions::default() };
    let loaded = match read_bytes(name, bytes, &options) {
        Ok(loaded) => loaded,
        Err(error) => return check_error(&error).map(|()| false),
    };
    check_entries(&loaded)?;
    check_header(bytes, &loaded)?;
    check_tensor(bytes, name, &options)?;
    let stored = loaded.clone().into_tensor(None).map(|(tensor, _)| tensor.validate().map_err(|e| e.to_string()));
    match stored {
        Ok(valid) => valid.map_err(|problem| format!("an invalid tensor: {problem}"))?,
        Err(error) => check_error(&error)?,
    }
    match loaded.into_content() {
        Err(error) => check_error(&error)?,
        Ok((content, _)) => {
            for to in ["a.mtx", "a.tns", "a.csv", "a.npz", "a.bsp.npz", "a.pgm"] {
                let options = WriteOptions { memory: memory.clone(), ..WriteOptions::default() };
                if let Err(error) = write_bytes(to, &content, &options) {
                    check_error(&error)?;
                }
            }
        }
    }
    match memory.used() {
        0 => Ok(true),
        bytes => Err(format!("{bytes} bytes of memory are not released")),
    }
}

/// Checks that opening a file as a tensor gives a valid tensor or an error. Writes a valid tensor
/// as a `.rpt` file, and checks that opening this file gives arrays of the same size, or an error
/// such as a lack of memory.
fn check_tensor(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<(), String> {
    let opened = match open_bytes(name, bytes, options, None) {
        Ok(opened) => opened,
        Err(error) => return check_error(&error),
    };
    opened.tensor.validate().map_err(|e| format!("an invalid tensor: {e}"))?;
    let write_options = WriteOptions { memory: options.memory.clone(), ..WriteOptions::default() };
    match write_tensor_bytes("a.rpt", &opened.tensor, &write_options) {
        Ok(bytes) => match open_bytes("a.rpt", &bytes, options, None) {
            Ok(again) if again.tensor.bytes() == opened.tensor.bytes() => Ok(()),
            Ok(again) => Err(format!("{} bytes of arrays become {}", opened.tensor.bytes(), again.tensor.bytes())),
            Err(error) => check_error(&error),
        },
        Err(error) => check_error(&error),
    }
}

/// Checks that a message is a single line that is not empty and does not end with a period.
fn check_error(error: &Error) -> Result<(), String> {
    let message = error.to_string();
    match message.contains('\n') || message.ends_with('.') || message.is_empty() {
        true => Err(format!("a malformed message: {message}")),
        false => Ok(()),
    }
}

/// Checks that the values have the dtype of the header, that the numbers of coordinates or elements
/// match the values, and that coordinates are within the shape.
fn check_entries(loaded: &LoadedFile) -> Result<(), String> {
    let (shape, values) = (&loaded.info.shape, loaded.data.values());
    if loaded.info.dtype != values.prim().into() || loaded.info.fill.dtype() != loaded.info.dtype {
        return Err(format!("values of {} where the header says {}", values.prim(), loaded.info.dtype));
    }
    match &loaded.data {
        crate::Data::Dense(_) => match crate::content::element_count(shape) == Some(values.len() as u64) {
            true => Ok(()),
            false => Err(format!("{} values of the shape {shape:?}", values.len())),
        },
        crate::Data::Triples { coordinates, .. } => {
            let is_valid = |(list, &dimension): (&Vec<u64>, &u64)| {
                list.len() == values.len() && list.iter().all(|&i| i < dimension)
            };
            match coordinates.len() == shape.len() && coordinates.iter().zip(shape).all(is_valid) {
                true => Ok(()),
                false => Err(format!("coordinates that are not within the shape {shape:?}")),
            }
        }
    }
}

/// Checks that the header is the same whether it is read alone or with the whole file. Skips
/// compressed files, and files that begin with a byte order mark.
fn check_header(bytes: &[u8], loaded: &LoadedFile) -> Result<(), String> {
    if loaded.info.compression != crate::Compression::None || bytes.starts_with(b"\xef\xbb\xbf") {
        return Ok(());
    }
    let memory = Memory::limited(LIMIT);
    let info = (loaded.info.file_format.info)(&mut &bytes[..], &memory);
    match info {
        // The text shows every field of a header.
        Ok(info) if format!("{info:?}") == format!("{:?}", loaded.info) => Ok(()),
        Ok(info) => Err(format!("the header read alone is {info:?}, the header of the file is {:?}", loaded.info)),
        Err(error) => Err(format!("the file can be read, but its header cannot: {error:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that readers handle damaged files of every format. The environment variable
    /// `REDPOLL_SEEDS`, such as `1000..100000`, sets the range of seeds.
    #[test]
    fn mutated_files_are_read_or_rejected() {
        let requested = std::env::var("REDPOLL_SEEDS").ok();
        let range = requested.as_deref().and_then(|text| text.split_once(".."));
        let range = range.map_or(0..2000, |(from, to)| from.parse().unwrap()..to.parse().unwrap());
        let mut all = ReaderCounts::default();
        for seed in range {
            let counts = check_seed(seed).unwrap_or_else(|failure| panic!("{failure}"));
            all = ReaderCounts { tensors: all.tensors + counts.tensors, errors: all.errors + counts.errors };
        }
        // Mutations must break many files, and must leave many files readable.
        assert!(all.tensors > 500 && all.errors > 500, "{all:?}");
    }

    /// Asserts that memory limits apply to every format, and that a reader releases all memory,
    /// also when a limit stops it.
    #[test]
    fn memory_limits_apply_to_every_format() {
        for sample in samples::all() {
            let bytes = sample.bytes();
            let mut rejected = 0;
            for limit in (0..22).map(|bits| Memory::limited(1 << bits)) {
                let options = ReadOptions { memory: limit.clone(), ..ReadOptions::default() };
                match read_bytes(sample.name, &bytes, &options).and_then(|loaded| loaded.into_tensor(None)) {
                    Ok(_) => {}
                    Err(error) => {
                        assert!(error.is_out_of_memory(), "{}: {error}", sample.name);
                        rejected += 1;
                    }
                }
                assert_eq!(limit.used(), 0, "{}", sample.name);
            }
            assert!((1..22).contains(&rejected), "{} is rejected {rejected} times", sample.name);
        }
    }

    /// Asserts that every file format has a sample, and that samples have the properties checked
    /// for mutated files and can be read.
    #[test]
    fn samples_are_read() {
        for sample in samples::all() {
            let bytes = sample.bytes();
            let loaded = read_bytes(sample.name, &bytes, &ReadOptions::default());
            loaded.unwrap_or_else(|e| panic!("{}: {e}", sample.name));
            check_bytes(sample.name, &bytes).unwrap_or_else(|problem| panic!("{}: {problem}", sample.name));
        }
        for format in FILE_FORMATS {
            let has_sample = samples::all().iter().any(|sample| sample.name.ends_with(format.extension));
            assert!(has_sample, "there is no sample of .{}", format.extension);
        }
    }
}
