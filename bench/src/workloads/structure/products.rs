//! Products of a matrix with a vector, over different formats of the matrix.

use super::{FormatCandidate, describe, practical_formats, require, text, text_variant};
use crate::data::{dense, entries, small_integers, sparse_of, with_values};
use crate::workload::{DataSize, MakeOutcome, Suite, Workload, WorkloadProblem};
use crate::workloads::matrices::square;
use anyhow::{Result, bail};
use redpoll::datasets::{Content, Values};

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        suite: Suite::Structure,
        name: "spmv",
        equation: "y_i = sum_j A_ij x_j, by the format of A",
        data: &["banded", "wide band", "blocks", "wide blocks", "grid", "bcsstk16", "rmat", "uniform"],
        make: spmv,
    },
    Workload {
        suite: Suite::Structure,
        name: "spmv_pattern",
        equation: "y_i = sum_j A_ij x_j, all values of A being 1",
        data: &["rmat", "email-Eu-core", "banded"],
        make: pattern,
    },
    Workload {
        suite: Suite::Structure,
        name: "spmv_symmetric",
        equation: "y_i = sum_j A_ij x_j, A equal to its transpose",
        data: &["grid", "bcsstk16", "rmat"],
        make: symmetric,
    },
];

const SPMV: &str = text!("plans/spmv.rp");

const FORMATS: &[FormatCandidate] = &[
    ("csr", None),
    ("vbl", Some("2.16, 1.55, 1.30 on blocked matrices (Finch, fig. 15)")),
    ("band", Some("1.98, 1.64 on wide and medium bands (Finch, fig. 15)")),
    ("dia", None),
    ("(bcsr 8 8)", None),
    ("(bcsr 3 3)", None),
    ("ell", None),
];

/// Returns the matrix of the given name with small integers as values.
fn matrix(data: &str, size: DataSize, seed: u64) -> Result<Result<Content, MakeOutcome>> {
    let count = size.pick(1 << 20, 1 << 17, 100);
    match square(data, count, seed)? {
        Ok(content) => Ok(Ok(with_values(&content, |n| Values::F64(small_integers(n, seed)))?)),
        missing => Ok(missing),
    }
}

fn spmv(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = require!(matrix(data, size, 101));
    let x = dense(&a.shape[1..], 102);
    let formats = practical_formats(&a, FORMATS)?;
    let variant = |(format, paper): &&FormatCandidate| {
        let variant = text_variant(format, &[("A", &a, format), ("x", &x, "dense")], SPMV)?;
        Ok(paper.iter().fold(variant, |variant, paper| variant.paper(paper)))
    };
    WorkloadProblem::comparison(describe(data, &a), 1, formats.iter().map(variant).collect::<Result<_>>()?)
        .into_outcome()
}

fn pattern(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let a = require!(matrix(data, size, 103));
    let (a, pattern) =
        (with_values(&a, |n| Values::F64(vec![1.0; n]))?, with_values(&a, |n| Values::Bool(vec![true; n]))?);
    let x = dense(&a.shape[1..], 104);
    let paper = "4.6 on email-Eu-core: 2.51 and 1 / 1.84 over TACO (Finch, section 6.1)";
    let text = text!("plans/spmv_pattern.rp");
    let variants = vec![
        text_variant("csr", &[("A", &a, "csr"), ("x", &x, "dense")], SPMV)?,
        text_variant("pattern", &[("A", &pattern, "(dense (sparse-list (pattern)))"), ("x", &x, "dense")], text)?
            .paper(paper),
        text_variant("pattern blocks", &[("A", &pattern, "(dense (block-list (pattern)))"), ("x", &x, "dense")], text)?,
    ];
    WorkloadProblem::comparison(describe(data, &a), 1, variants).into_outcome()
}

/// Returns the symmetric matrix with the upper triangle of `a`, and that upper triangle.
fn symmetrize(a: &Content) -> Result<(Content, Content)> {
    let (coordinates, values) = entries(a)?;
    let Values::F64(values) = values else { bail!("expected values of f64") };
    let all = coordinates[0].iter().zip(&coordinates[1]).zip(values).map(|((i, j), v)| (*i, *j, *v));
    let upper: Vec<(u64, u64, f64)> = all.filter(|(i, j, _)| i <= j).collect();
    let below = upper.iter().filter(|(i, j, _)| i < j).map(|(i, j, v)| (*j, *i, *v));
    let mut both: Vec<_> = upper.iter().copied().chain(below).collect();
    both.sort_by_key(|(i, j, _)| (*i, *j));
    let content = |entries: &[(u64, u64, f64)]| {
        let coordinates = vec![entries.iter().map(|e| e.0).collect(), entries.iter().map(|e| e.1).collect()];
        sparse_of(&a.shape, coordinates, Values::F64(entries.iter().map(|e| e.2).collect()))
    };
    Ok((content(&both), content(&upper)))
}

fn symmetric(data: &str, size: DataSize) -> Result<MakeOutcome> {
    let (both, upper) = symmetrize(&require!(matrix(data, size, 105)))?;
    let x = dense(&both.shape[1..], 106);
    let text = text!("programs/symmetric_spmv.rp");
    let variants = vec![
        text_variant("csr", &[("A", &both, "csr"), ("x", &x, "dense")], SPMV)?,
        text_variant("triangle", &[("A", &upper, "csr"), ("x", &x, "dense")], text)?
            .paper("1.27 over TACO on average, 1.91 on saylr4 (Finch, section 6.1)"),
    ];
    WorkloadProblem::comparison(describe(data, &both), 1, variants).into_outcome()
}
