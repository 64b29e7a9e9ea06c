//! The structure of a tensor for `redpoll info`, and candidate formats with their sizes.
//!
//! The JSON form:
//! ```text
//! {"structure": {"entries": n, "fibers": {"count": n, "empty": n, "fewest": n, "mean": x, "most": n},
//!                "runs": {"count": n, "mean": x}, "blocks": {"count": n, "mean": x},
//!                "matrix": {"lower": n, "upper": n, "diagonals": n, "symmetry": "exact|pattern|none"}},
//!  "formats": [{"name": "csr", "levels": "(dense (sparse-list (element)))", "bytes": n}]}
//! ```
//! `matrix` is `null` for ranks other than 2. `bytes` is `null` if an array could have too many
//! elements to count them, or if the number of bytes overflows.

use crate::Error;
use crate::logic::text::{format_to_sexpr, shorthands};
use crate::logic::{DType, Format, FormatError, LeafKind, LevelKind};
use crate::storage::{self, MatrixSymmetry, Structure, Survey, Tensor};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The structure of a tensor, and its candidate formats.
pub(super) struct FormatReport {
    structure: Structure,
    /// The sizes of the modes.
    shape: Vec<u64>,
    /// Candidates by ascending size; formats that are too large to count come last.
    formats: Vec<FormatCandidate>,
}

/// A candidate format of the tensor.
struct FormatCandidate {
    name: String,
    format: Format,
    bytes: Option<u64>,
}

/// Candidate sizes of blocks.
const BLOCKS: [u64; 7] = [2, 3, 4, 5, 6, 8, 16];

impl FormatReport {
    pub(super) fn of(tensor: &Tensor) -> Result<FormatReport, Error> {
        let survey = Survey::of(tensor)?;
        let mut formats = Vec::new();
        for (name, format) in candidates(tensor, &survey) {
            // Formats that cannot store these entries or sizes are not candidates.
            match survey.bytes(&format) {
                Ok(bytes) => formats.push(FormatCandidate { name, format, bytes }),
                Err(
                    storage::Error::SecondRun { .. } | storage::Error::InvalidFormat(FormatError::Dimension { .. }),
                ) => {}
                Err(error) => return Err(error.into()),
            }
        }
        formats.sort_by_key(|candidate| (candidate.bytes.is_none(), candidate.bytes));
        Ok(FormatReport { structure: survey.structure().clone(), shape: tensor.ty().shape.clone(), formats })
    }

    /// Writes the human-readable form.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let s = &self.structure;
        writeln!(out, "\nstructure")?;
        let fibers = &s.fibers;
        writeln!(
            out,
            "  fibers    {}, {} of them empty; from {} to {} entries each, {:.2} on average",
            fibers.count,
            fibers.empty,
            fibers.min,
            fibers.max,
            s.mean_fiber()
        )?;
        writeln!(out, "  runs      {} of equal values, {:.2} entries long on average", s.runs, s.mean_run())?;
        writeln!(out, "  blocks    {} of adjacent entries, {:.2} long on average", s.blocks, s.mean_block())?;
        if let Some(m) = &s.matrix {
            let all = self.shape.iter().copied().fold(0, u64::saturating_add).saturating_sub(1);
            writeln!(out, "  bandwidth {} below the diagonal, {} above it", m.lower, m.upper)?;
            writeln!(out, "  diagonals {} of {all}", m.diagonals)?;
            writeln!(out, "  symmetry  {}", symmetry(m.symmetry))?;
        }
        writeln!(out, "\nbytes by format")?;
        let width = self.formats.iter().map(|c| c.name.len()).max().unwrap_or(0);
        for FormatCandidate { name, format, bytes } in &self.formats {
            let bytes = bytes.map_or("too large to count".into(), |bytes| bytes.to_string());
            writeln!(out, "  {name:<width$} {bytes:>17}   {}", format_to_sexpr(format))?;
        }
        Ok(())
    }

    /// Returns the members of the JSON object.
    pub(super) fn to_json(&self) -> Vec<(String, Value)> {
        let s = &self.structure;
        let matrix = s.matrix.map(|m| {
            let symmetry = match m.symmetry {
                MatrixSymmetry::Exact => "exact",
                MatrixSymmetry::Pattern => "pattern",
                MatrixSymmetry::None => "none",
            };
            json!({"lower": m.lower, "upper": m.upper, "diagonals": m.diagonals, "symmetry": symmetry})
        });
        let structure = json!({
            "entries": s.entries,
            "fibers": {
                "count": s.fibers.count,
                "empty": s.fibers.empty,
                "fewest": s.fibers.min,
                "mean": s.mean_fiber(),
                "most": s.fibers.max,
            },
            "runs": {"count": s.runs, "mean": s.mean_run()},
            "blocks": {"count": s.blocks, "mean": s.mean_block()},
            "matrix": matrix,
        });
        let format = |c: &FormatCandidate| json!({"name": c.name, "levels": format_to_sexpr(&c.format).to_string(), "bytes": c.bytes});
        let formats: Vec<Value> = self.formats.iter().map(format).collect();
        vec![("structure".into(), structure), ("formats".into(), Value::Array(formats))]
    }
}

fn symmetry(of: MatrixSymmetry) -> &'static str {
    match of {
        MatrixSymmetry::Exact => "equal to its transpose",
        MatrixSymmetry::Pattern => "pattern equal to that of its transpose",
        MatrixSymmetry::None => "none",
    }
}

/// Returns the candidate formats with their names: the format of every shorthand, with blocks of
/// the best size for `bcsr`, and sparse runs unless the tensor is a scalar. Shorthands for the same
/// format share a candidate. For a tensor of booleans, each of these formats is also a candidate
/// without values, if that is valid.
fn candidates(tensor: &Tensor, survey: &Survey) -> Vec<(String, Format)> {
    let ty = tensor.ty();
    let rank = ty.shape.len();
    let mut all: Vec<(String, Format)> = Vec::new();
    for (name, _, format) in shorthands(rank) {
        match all.iter_mut().find(|(_, known)| *known == format) {
            Some((names, _)) => *names = format!("{names}, {name}"),
            None => all.push((name.to_owned(), format)),
        }
    }
    if rank > 0 {
        all.push(("sparse runs".to_owned(), Format::dense_above(LevelKind::SparseRunLength, rank)));
    }
    if rank == 2 {
        let value = ty.dtype.prims().iter().map(|p| p.bytes() as u64).sum::<u64>();
        let bytes = |b: &u64| survey.occupied_blocks(*b, *b).saturating_mul(4 + b * b * value);
        let best = BLOCKS.into_iter().min_by_key(bytes).expect("there are candidate sizes");
        all.retain(|(name, _)| name != "bcsr");
        all.push((format!("(bcsr {best} {best})"), Format::bcsr(best, best)));
    }
    if ty.dtype == DType::BOOL {
        let pattern = |(name, format): &(String, Format)| {
            let format = Format { leaf: LeafKind::Pattern, ..format.clone() };
            format.validate().is_ok().then(|| (format!("{name}, pattern"), format))
        };
        let patterns: Vec<_> = all.iter().filter_map(pattern).collect();
        all.extend(patterns);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::{Prim, Scalar, TensorType};
    use crate::storage::{Duplicates, Triples, Values};

    /// Asserts that formats of diagonals are left out if the sum of the sizes exceeds an `i64`, and
    /// that other formats remain.
    #[test]
    fn sizes_may_add_up_beyond_64_bits() {
        let shape = vec![i64::MAX as u64; 2];
        let ty = TensorType {
            shape: shape.clone(),
            dtype: Prim::F64.into(),
            fill: Scalar::F64(0.0),
            format: Format::coo(2),
        };
        let coordinates = vec![vec![0, 1 << 62], vec![7, 2]];
        let triples = Triples { shape, coordinates, values: Values::from(vec![1.0, 2.0]) };
        let (tensor, _) = Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap();
        let report = FormatReport::of(&tensor).unwrap();
        let mut text = Vec::new();
        report.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("\n  coo ") && !text.contains("\n  dia "), "{text}");
    }
}
