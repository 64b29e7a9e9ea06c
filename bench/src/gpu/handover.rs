//! The data for peers: NumPy arrays, each written once even if several kernels read it, and a line
//! of JSON for each problem.

use super::KernelProblem;
use crate::npy::write_array;
use anyhow::{Context, Result};
use redpoll_logic::Format;
use redpoll_storage::{Array, Tensor};
use serde_json::{Map, Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder of data for peers.
///
/// Data are files `NAME.PART.npy`: `values` for a dense tensor; `ends`, `columns` and `values` for
/// a matrix in CSR; `coordinates`, mode by mode, and `values` for any other sparse tensor. Each
/// problem is a line of `redpoll.jsonl`.
pub struct Handover {
    folder: PathBuf,
}

impl Handover {
    /// Starts a handover in a folder, creating the folder if necessary.
    ///
    /// # Errors
    /// If the folder or `redpoll.jsonl` cannot be written.
    pub fn new(folder: &Path) -> Result<Handover> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let handover = Handover { folder: folder.to_owned() };
        std::fs::write(handover.lines(), "").with_context(|| format!("cannot write {}", handover.lines().display()))?;
        Ok(handover)
    }

    fn lines(&self) -> PathBuf {
        self.folder.join("redpoll.jsonl")
    }

    /// Writes the inputs and results of a problem under names that begin with `prefix`, and appends
    /// a line about the problem. Data that already exist under a name are not written again.
    ///
    /// # Errors
    /// If a file cannot be written, or a tensor does not have one value per entry.
    pub fn write_problem(
        &self,
        prefix: &str,
        mut line: Map<String, Value>,
        problem: &KernelProblem,
        results: &[Tensor],
    ) -> Result<()> {
        let mut inputs = Map::new();
        for input in &problem.inputs {
            inputs.insert(input.name.into(), self.write_tensor(&format!("{prefix}-{}", input.data), &input.tensor)?);
        }
        let kernel = line.get("kernel").and_then(Value::as_str).unwrap_or_default().to_owned();
        let results = results.iter().enumerate();
        let results = results.map(|(k, tensor)| self.write_tensor(&format!("{prefix}-{kernel}-result-{k}"), tensor));
        line.insert("results".into(), results.collect::<Result<Vec<Value>>>()?.into());
        line.insert("inputs".into(), inputs.into());
        let mut file = OpenOptions::new().append(true).open(self.lines()).context("cannot open redpoll.jsonl")?;
        writeln!(file, "{}", Value::from(line)).context("cannot append to redpoll.jsonl")
    }

    /// Writes a tensor under a name, unless its files exist already. Returns a description of the
    /// stored form.
    fn write_tensor(&self, name: &str, tensor: &Tensor) -> Result<Value> {
        let shape = &tensor.ty().shape;
        let part = |part: &str| self.folder.join(format!("{name}.{part}.npy"));
        let exists = part("values").exists();
        let [values] = tensor.leaf() else { anyhow::bail!("{name} does not have one value per entry") };
        let len = values.len() as u64;
        let stored = if tensor.ty().format == Format::dense(shape.len()) {
            if !exists {
                write_array(&part("values"), shape, &narrow(values))?;
            }
            "dense"
        } else if tensor.ty().format == Format::csr() {
            if !exists {
                let [ends, columns] = &tensor.levels()[1][..] else { unreachable!("a list has ends and coordinates") };
                write_array(&part("ends"), &[ends.len() as u64], ends)?;
                write_array(&part("columns"), &[len], columns)?;
                write_array(&part("values"), &[len], &narrow(values))?;
            }
            "csr"
        } else {
            if !exists {
                let triples = tensor.to_triples()?;
                let coordinates = triples.coordinates.iter().flatten().map(|i| u32::try_from(*i));
                let coordinates = Array::from_vec(coordinates.collect::<Result<Vec<u32>, _>>()?);
                write_array(&part("coordinates"), &[shape.len() as u64, triples.len() as u64], &coordinates)?;
                let [values] = triples.values.columns() else { anyhow::bail!("{name} has several values per entry") };
                write_array(&part("values"), &[triples.len() as u64], &narrow(values))?;
            }
            "coordinates"
        };
        Ok(json!({ "file": name, "shape": shape, "stored": stored }))
    }
}

/// Converts values to `i8` if all of them are integers in the range of `i8`; otherwise returns the
/// values unchanged.
fn narrow(values: &Array) -> Array {
    let small = |value: &f64| (f64::from(*value as i8) == *value).then_some(*value as i8);
    let narrow: Option<Vec<i8>> = values.as_slice::<f64>().and_then(|all| all.iter().map(small).collect());
    narrow.map_or_else(|| values.clone(), Array::from_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{GpuData, KERNELS, STRUCTURES};
    use redpoll::datasets::{self, ReadOptions, Values};

    /// Data are written once, and the written values of the matrix equal redpoll's values.
    #[test]
    fn data_are_written_once_and_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let handover = Handover::new(folder.path()).unwrap();
        let mut data = GpuData::new(STRUCTURES[0].0, 200, 3);
        let mut sizes = Vec::new();
        for (kernel, _) in KERNELS {
            let problem = data.problem(kernel).unwrap().unwrap();
            let line = json!({ "kernel": kernel }).as_object().cloned().unwrap();
            handover.write_problem("uniform", line, &problem, &[]).unwrap();
            sizes.push(std::fs::read_dir(folder.path()).unwrap().count());
        }
        // The number of files after each kernel. In order, the kernels add `redpoll.jsonl`, A and
        // x; B; B; D; T and two factors; A; E. A matrix in CSR has three files, T has two, a dense
        // input has one.
        assert_eq!(sizes, [1 + 3 + 1, 6, 7, 8, 8 + 2 + 2, 15, 18]);
        let lines = std::fs::read_to_string(folder.path().join("redpoll.jsonl")).unwrap();
        let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        assert_eq!(first["inputs"]["A"], json!({ "file": "uniform-matrix", "shape": [16, 16], "stored": "csr" }));
        let read = |name: &str| {
            let content = datasets::read(folder.path().join(name), &ReadOptions::default()).unwrap();
            content.data
        };
        let problem = data.problem("spmv").unwrap().unwrap();
        let expected = problem.inputs[0].tensor.leaf()[0].as_slice::<f64>().unwrap();
        let datasets::Data::Dense(Values::I8(found)) = read("uniform-matrix.values.npy") else { panic!("not bytes") };
        assert_eq!(found.iter().map(|v| f64::from(*v)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn integers_of_one_byte_are_narrowed() {
        let prim = |values: Vec<f64>| narrow(&Array::from_vec(values)).prim();
        assert_eq!(prim(vec![-128.0, 127.0]), redpoll_logic::Prim::I8);
        assert_eq!(prim(vec![0.5]), redpoll_logic::Prim::F64);
        assert_eq!(prim(vec![128.0]), redpoll_logic::Prim::F64);
    }
}
