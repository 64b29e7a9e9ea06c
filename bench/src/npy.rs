//! Writers of NumPy files, from which peers read their inputs.

use anyhow::{Context, Result};
use redpoll::datasets::{Content, Data, Values};
use redpoll_storage::Array;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes an input: `NAME.npy` if dense, `NAME.coords.npy` and `NAME.values.npy` if sparse.
///
/// # Errors
/// If a file cannot be written.
pub fn write_input(folder: &Path, name: &str, content: &Content) -> Result<()> {
    match &content.data {
        Data::Dense(values) => write_values(&folder.join(format!("{name}.npy")), &content.shape, values),
        Data::Triples { coordinates, values } => {
            let shape = [coordinates.len() as u64, values.len() as u64];
            let numbers = coordinates.iter().flatten().map(|i| i.to_le_bytes());
            write(&folder.join(format!("{name}.coords.npy")), "<i8", &shape, numbers)?;
            write_values(&folder.join(format!("{name}.values.npy")), &shape[1..], values)
        }
    }
}

/// Writes an array of numbers or booleans, row-major in the given shape.
///
/// # Errors
/// If the file cannot be written, or the values are neither numbers nor booleans.
pub fn write_array(path: &Path, shape: &[u64], array: &Array) -> Result<()> {
    macro_rules! numbers {
        ($($t:ty, $code:literal);*) => {
            $(if let Some(numbers) = array.as_slice::<$t>() {
                return write(path, $code, shape, numbers.iter().map(|x| x.to_le_bytes()));
            })*
        };
    }
    numbers!(i8, "|i1"; i16, "<i2"; i32, "<i4"; i64, "<i8"; u8, "|u1"; u16, "<u2"; u32, "<u4"; u64, "<u8"; f32, "<f4"; f64, "<f8");
    write(path, "|b1", shape, array.bools().context("expected an array of numbers or booleans")?.iter().map(|b| [*b]))
}

fn write_values(path: &Path, shape: &[u64], values: &Values) -> Result<()> {
    macro_rules! numbers {
        ($($variant:ident $code:literal),*) => {
            match values {
                Values::Bool(v) => write(path, "|b1", shape, v.iter().map(|b| [u8::from(*b)])),
                $(Values::$variant(v) => write(path, $code, shape, v.iter().map(|x| x.to_le_bytes())),)*
            }
        };
    }
    numbers!(I8 "|i1", I16 "<i2", I32 "<i4", I64 "<i8", U8 "|u1", U16 "<u2", U32 "<u4", U64 "<u8", F32 "<f4", F64 "<f8")
}

/// Writes a `.npy` file. Source of the layout: `numpy.lib.format`, version 1.0.
fn write<const N: usize>(path: &Path, code: &str, shape: &[u64], numbers: impl Iterator<Item = [u8; N]>) -> Result<()> {
    let mut file = BufWriter::new(File::create(path).with_context(|| format!("cannot write {}", path.display()))?);
    let sizes: String = shape.iter().map(|d| format!("{d}, ")).collect();
    let mut header = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // The magic string, the version, the header length and the header together take a multiple of
    // 64 bytes.
    let padding = (64 - (11 + header.len()) % 64) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&u16::try_from(header.len())?.to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    for number in numbers {
        file.write_all(&number)?;
    }
    file.flush().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{dense_of, sparse_of};
    use redpoll::datasets::{ReadOptions, read};

    #[test]
    fn files_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let dense = dense_of(&[2, 3], Values::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.5]));
        write_input(folder.path(), "x", &dense).unwrap();
        let read = |name: &str| read(folder.path().join(name), &ReadOptions::default()).unwrap();
        assert_eq!((read("x.npy").info.shape, read("x.npy").data), (vec![2, 3], dense.data));
        let sparse = sparse_of(&[9, 9], vec![vec![1, 4], vec![0, 8]], Values::Bool(vec![true, true]));
        write_input(folder.path(), "A", &sparse).unwrap();
        assert_eq!(read("A.coords.npy").data, Data::Dense(Values::I64(vec![1, 4, 0, 8])));
        assert_eq!(read("A.values.npy").data, Data::Dense(Values::Bool(vec![true, true])));
    }
}
