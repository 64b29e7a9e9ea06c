//! Tests of reading and writing files through the public interface.

mod edge_lists;
mod fuzz;
mod malformed;
mod names;
mod read;
mod roundtrip;
mod samples;
mod stored;
mod tensors;
mod write;

use redpoll_datasets::{Data, Error, LoadedFile, ReadOptions, read_bytes};
use redpoll_logic::{Prim, Scalar};
use std::collections::BTreeMap;

/// Reads a file of the given name and bytes.
fn load(name: &str, bytes: &[u8]) -> Result<LoadedFile, Error> {
    read_bytes(name, bytes, &ReadOptions::default())
}

/// Returns the nonzero elements of any layout; repeated coordinates have several values.
fn nonzeros(shape: &[u64], data: &Data) -> BTreeMap<Vec<u64>, Vec<Scalar>> {
    let mut elements: BTreeMap<Vec<u64>, Vec<Scalar>> = BTreeMap::new();
    let zero = Scalar::zero(data.values().prim());
    let mut add = |coordinates: Vec<u64>, value: Scalar| {
        if value != zero {
            elements.entry(coordinates).or_default().push(value);
        }
    };
    match data {
        Data::Triples { coordinates, values } => {
            for k in 0..values.len() {
                add(coordinates.iter().map(|c| c[k]).collect(), values.get(k));
            }
        }
        Data::Dense(values) => {
            for k in 0..values.len() {
                let mut rest = k as u64;
                let mut coordinates = vec![0; shape.len()];
                for (i, d) in coordinates.iter_mut().zip(shape).rev() {
                    (*i, rest) = (rest % d, rest / d);
                }
                add(coordinates, values.get(k));
            }
        }
    }
    elements
}

/// Returns the nonzero elements as text: `(0, 1): 2.5`.
fn listing(loaded: &LoadedFile) -> String {
    let lines = nonzeros(&loaded.info.shape, &loaded.data).into_iter().map(|(coordinates, values)| {
        let coordinates = coordinates.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let values = values.iter().map(Scalar::to_string).collect::<Vec<_>>().join(" + ");
        format!("({coordinates}): {values}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a `.npy` file of the given header dictionary and elements.
fn npy(dictionary: &str, elements: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((dictionary.len() as u16).to_le_bytes());
    bytes.extend(dictionary.as_bytes());
    bytes.extend(elements);
    bytes
}

/// Returns a `.npy` file of a vector or tensor of `i64`.
fn npy_i64(shape: &[u64], elements: &[i64]) -> Vec<u8> {
    let dims: String = shape.iter().map(|d| format!("{d},")).collect();
    let elements: Vec<u8> = elements.iter().flat_map(|x| x.to_le_bytes()).collect();
    npy(&format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({dims})}}"), &elements)
}

/// Returns a `.npy` file of one text.
fn npy_text(text: &str) -> Vec<u8> {
    npy(&format!("{{'descr': '|S{}', 'fortran_order': False, 'shape': ()}}", text.len()), text.as_bytes())
}

/// Returns a `.npz` file of the given arrays.
fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// All primitive types with which layouts are tested.
const PRIMS: [Prim; 11] = Prim::ALL;
