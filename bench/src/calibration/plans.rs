//! Small plans over uniform data, each with few kinds of events.

use crate::data::{SMALL, dense, generate_with};
use anyhow::Result;
use redpoll::Bindings;
use redpoll::datasets::Content;
use redpoll::datasets::generate::{Amount, Uniform};
use redpoll_logic::text::parse_format;
use redpoll_logic::{Alias, Field, Prim};
use redpoll_optimizer::OptimizerConfig;

/// A plan, the sizes at which it is measured, and the loop order and format that it fixes.
pub struct CalibrationPlan {
    /// The name of the plan, after the events that it measures.
    pub name: &'static str,
    /// The plan; its result is `R`.
    pub text: &'static str,
    /// The loop order; empty if the optimizer chooses.
    order: &'static [&'static str],
    /// The format of the result; empty if the optimizer chooses.
    format: &'static str,
    /// The inputs. Each has a name, the index of each dimension in the sizes, the index of the
    /// number of entries in the sizes (or [`DENSE`]), and a format.
    inputs: &'static [(&'static str, &'static [usize], usize, &'static str)],
    /// The sizes at which the plan is measured: each lists dimensions and numbers of entries.
    pub sizes: &'static [&'static [u64]],
}

/// A marker in place of the index of the number of entries: the input has a value at every
/// coordinate.
const DENSE: usize = usize::MAX;

const ROW_SUMS: &str = "(plan (query R (aggregate + 0 (table A i j) j)) (produces R))";
const TIMES_VECTOR: &str = "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces R))";
const PRODUCT: &str = "(plan (query R (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces R))";
const INNER: &str = "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table B i j)) i j)) (produces R))";
const TRIANGLES: &str =
    "(plan (query R (aggregate + 0 (mapjoin * (table A i j) (table A j k) (table A i k)) i j k)) (produces R))";
const MASKED: &str =
    "(plan (query R (aggregate + 0 (mapjoin * (table M i j) (table A i k) (table B k j)) k)) (produces R))";
const SCALED: &str = "(plan (query R (mapjoin * 3 (table A i j))) (produces R))";
const OUTER: &str = "(plan (query R (mapjoin * (table x i) (table y j))) (produces R))";
const DIAGONAL: &str = "(plan (query R (aggregate + 0 (mapjoin * (table x i) (table A i i)) i)) (produces R))";
const DENSE_PRODUCT: &str = "(plan (query R (aggregate + 0 (mapjoin * (table A i k) (table P k j)) k)) (produces R))";
const FACTORS: &str = "(plan
    (query R (aggregate + 0 (mapjoin * (table A i k l) (table P k j) (table Q l j)) k l)) (produces R))";
const SLICE_SUMS: &str = "(plan (query R (aggregate + 0 (table A i j k) j k)) (produces R))";
const SAMPLED: &str =
    "(plan (query R (mapjoin * (table A i j) (aggregate + 0 (mapjoin * (table P i k) (table Q j k)) k)))
    (produces R))";

const SAMPLED_BY_COLUMNS: &str = "(plan
    (query R (mapjoin * (table A i j) (aggregate + 0 (mapjoin * (table P i k) (table Q k j)) k))) (produces R))";
const QUERIES: &str = "(plan (query a (aggregate + 0 (table A i j) j)) (query b (aggregate max 0 (table a i) i))
    (query c (mapjoin + (table a i) (table b))) (query d (aggregate + 0 (table c i) i))
    (query e (mapjoin * (table c i) (table d))) (query R (aggregate max 0 (table e i) i)) (produces a b c d e R))";

/// Numbers of rows, columns and entries. The matrices have short rows or long rows, or are larger
/// than the caches.
const MATRICES: &[&[u64]] = &[
    &[1 << 14, 1 << 14, 1 << 16],
    &[1 << 10, 1 << 14, 1 << 18],
    &[1 << 17, 1 << 17, 1 << 19],
    &[1 << 19, 1 << 22, 1 << 21],
];

const PRODUCTS: &[&[u64]] =
    &[&[1 << 10, 1 << 10, 1 << 13], &[1 << 12, 1 << 12, 1 << 15], &[1 << 14, 1 << 14, 1 << 17], &[512, 512, 1 << 14]];

const A: (&str, &[usize], usize, &str) = ("A", &[0, 1], 2, "csr");

/// All plans.
pub const PLANS: &[CalibrationPlan] = &[
    CalibrationPlan {
        name: "rows",
        text: ROW_SUMS,
        order: &["i", "j"],
        format: "dense",
        inputs: &[A],
        sizes: MATRICES,
    },
    CalibrationPlan {
        name: "rows of lists",
        text: ROW_SUMS,
        order: &["i", "j"],
        format: "dense",
        inputs: &[("A", &[0, 1], 2, "dcsr")],
        sizes: MATRICES,
    },
    CalibrationPlan {
        name: "rows of hash tables",
        text: ROW_SUMS,
        order: &["i", "j"],
        format: "dense",
        inputs: &[("A", &[0, 1], 2, "(dense (hash (element)))")],
        sizes: MATRICES,
    },
    CalibrationPlan {
        name: "rows of byte maps",
        text: ROW_SUMS,
        order: &["i", "j"],
        format: "dense",
        inputs: &[("A", &[0, 1], 2, "(dense (byte-map (element)))")],
        sizes: &[&[1 << 10, 1 << 12, 1 << 18], &[1 << 12, 1 << 10, 1 << 16]],
    },
    CalibrationPlan {
        name: "rows of a dense matrix",
        text: ROW_SUMS,
        order: &["i", "j"],
        format: "dense",
        inputs: &[("A", &[0, 1], DENSE, "dense")],
        sizes: &[&[1 << 16, 8], &[1 << 13, 64], &[1 << 10, 1 << 12]],
    },
    CalibrationPlan {
        name: "gather",
        text: TIMES_VECTOR,
        order: &["i", "j"],
        format: "dense",
        inputs: &[A, ("x", &[1], DENSE, "dense")],
        sizes: MATRICES,
    },
    CalibrationPlan {
        name: "scatter",
        text: TIMES_VECTOR,
        order: &["j", "i"],
        format: "dense",
        inputs: &[("A", &[0, 1], 2, "csc"), ("x", &[1], DENSE, "dense")],
        sizes: &[&[1 << 14, 1 << 14, 1 << 16], &[1 << 17, 1 << 17, 1 << 19], &[1 << 22, 1 << 19, 1 << 21]],
    },
    CalibrationPlan {
        name: "scatter to hash table",
        text: TIMES_VECTOR,
        order: &["j", "i"],
        format: "(hash (element))",
        inputs: &[("A", &[0, 1], 2, "csc"), ("x", &[1], DENSE, "dense")],
        sizes: &[&[1 << 12, 1 << 12, 1 << 14], &[1 << 14, 1 << 14, 1 << 18], &[1 << 17, 1 << 17, 1 << 19]],
    },
    CalibrationPlan {
        name: "scatter to byte map",
        text: TIMES_VECTOR,
        order: &["j", "i"],
        format: "(byte-map (element))",
        inputs: &[("A", &[0, 1], 2, "csc"), ("x", &[1], DENSE, "dense")],
        sizes: &[&[1 << 12, 1 << 12, 1 << 14], &[1 << 14, 1 << 14, 1 << 18], &[1 << 17, 1 << 17, 1 << 19]],
    },
    CalibrationPlan {
        name: "merge",
        text: INNER,
        order: &["i", "j"],
        format: "",
        inputs: &[A, ("B", &[0, 1], 2, "csr")],
        sizes: MATRICES,
    },
    CalibrationPlan {
        name: "gallop",
        text: INNER,
        order: &["i", "j"],
        format: "",
        inputs: &[A, ("B", &[0, 1], 3, "csr")],
        sizes: &[&[1 << 12, 1 << 14, 1 << 14, 1 << 20], &[1 << 10, 1 << 14, 1 << 14, 1 << 18]],
    },
    CalibrationPlan {
        name: "cached rows",
        text: TRIANGLES,
        order: &["i", "j", "k"],
        format: "",
        inputs: &[A],
        sizes: &[&[1 << 10, 1 << 10, 1 << 15], &[1 << 12, 1 << 12, 1 << 17], &[1 << 14, 1 << 14, 1 << 19]],
    },
    CalibrationPlan {
        name: "cached masks",
        text: MASKED,
        order: &["i", "k", "j"],
        format: "csr",
        inputs: &[A, ("B", &[1, 0], 2, "csr"), ("M", &[0, 0], 2, "csr")],
        sizes: PRODUCTS,
    },
    CalibrationPlan {
        name: "lookups in hash tables",
        text: INNER,
        order: &["i", "j"],
        format: "",
        inputs: &[A, ("B", &[0, 1], 2, "(dense (hash (element)))")],
        sizes: &[&[1 << 10, 1 << 10, 1 << 14], &[1 << 14, 1 << 14, 1 << 18]],
    },
    CalibrationPlan {
        name: "lookups in byte maps",
        text: INNER,
        order: &["i", "j"],
        format: "",
        inputs: &[A, ("B", &[0, 1], 2, "(dense (byte-map (element)))")],
        sizes: &[&[1 << 9, 1 << 9, 1 << 14], &[1 << 11, 1 << 11, 1 << 17]],
    },
    CalibrationPlan {
        name: "searches",
        text: DIAGONAL,
        order: &["i"],
        format: "",
        inputs: &[A, ("x", &[0], DENSE, "dense")],
        sizes: &[&[1 << 14, 1 << 14, 1 << 17], &[1 << 12, 1 << 12, 1 << 20]],
    },
    CalibrationPlan { name: "append", text: SCALED, order: &["i", "j"], format: "csr", inputs: &[A], sizes: MATRICES },
    CalibrationPlan {
        name: "dense output",
        text: OUTER,
        order: &["i", "j"],
        format: "dense",
        inputs: &[("x", &[0], DENSE, "dense"), ("y", &[1], DENSE, "dense")],
        sizes: &[&[1 << 10, 1 << 7], &[1 << 11, 1 << 11], &[1 << 14, 16]],
    },
    CalibrationPlan {
        name: "conversion",
        text: ROW_SUMS,
        order: &["i", "j"],
        format: "dense",
        inputs: &[("A", &[0, 1], 2, "csc")],
        sizes: MATRICES.split_at(3).0,
    },
    CalibrationPlan {
        name: "conversion of three modes",
        text: SLICE_SUMS,
        order: &["i", "j", "k"],
        format: "dense",
        inputs: &[("A", &[0, 1, 2], 3, "(modes 2 0 1 (sparse-list (sparse-list (sparse-list (element)))))")],
        sizes: &[&[1 << 9, 1 << 9, 1 << 9, 1 << 15], &[1 << 12, 1 << 11, 1 << 10, 1 << 18]],
    },
    CalibrationPlan {
        name: "rows of a dense factor",
        text: DENSE_PRODUCT,
        order: &["i", "k", "j"],
        format: "dense",
        inputs: &[A, ("P", &[1, 3], DENSE, "dense")],
        sizes: &[&[1 << 12, 1 << 12, 1 << 16, 16], &[1 << 15, 1 << 17, 1 << 18, 16], &[1 << 10, 1 << 10, 1 << 14, 128]],
    },
    CalibrationPlan {
        name: "wide rows of a dense factor",
        text: DENSE_PRODUCT,
        order: &["i", "k", "j"],
        format: "dense",
        inputs: &[A, ("P", &[1, 3], DENSE, "dense")],
        sizes: &[&[500, 500, 1 << 12, 500], &[1000, 1000, 1 << 12, 2000], &[200, 200, 1 << 12, 200]],
    },
    CalibrationPlan {
        name: "columns of a dense factor",
        text: DENSE_PRODUCT,
        order: &["i", "j", "k"],
        format: "dense",
        inputs: &[A, ("P", &[1, 3], DENSE, "dense")],
        sizes: &[
            &[4000, 4000, 1 << 16, 16],
            &[30000, 130000, 1 << 18, 16],
            &[1000, 1000, 1 << 14, 130],
            &[500, 500, 1 << 13, 500],
        ],
    },
    CalibrationPlan {
        name: "rows of two factors",
        text: FACTORS,
        order: &["i", "k", "l", "j"],
        format: "dense",
        inputs: &[("A", &[0, 1, 2], 3, "csf"), ("P", &[1, 4], DENSE, "dense"), ("Q", &[2, 4], DENSE, "dense")],
        sizes: &[&[1000, 500, 500, 1 << 17, 16], &[100, 1000, 10000, 1 << 16, 32]],
    },
    CalibrationPlan {
        name: "columns of two factors",
        text: FACTORS,
        order: &["i", "j", "k", "l"],
        format: "dense",
        inputs: &[("A", &[0, 1, 2], 3, "csf"), ("P", &[1, 4], DENSE, "dense"), ("Q", &[2, 4], DENSE, "dense")],
        sizes: &[&[1000, 500, 500, 1 << 17, 16], &[100, 1000, 10000, 1 << 16, 32]],
    },
    CalibrationPlan {
        name: "a column of one of two factors",
        text: FACTORS,
        order: &["i", "k", "j", "l"],
        format: "dense",
        inputs: &[("A", &[0, 1, 2], 3, "csf"), ("P", &[1, 4], DENSE, "dense"), ("Q", &[2, 4], DENSE, "dense")],
        sizes: &[&[1000, 500, 500, 1 << 17, 16], &[100, 1000, 10000, 1 << 16, 32]],
    },
    CalibrationPlan {
        name: "samples",
        text: SAMPLED,
        order: &["i", "j"],
        format: "csr",
        inputs: &[A, ("P", &[0, 3], DENSE, "dense"), ("Q", &[1, 3], DENSE, "dense")],
        sizes: &[&[1 << 12, 1 << 12, 1 << 16, 16], &[1 << 15, 1 << 15, 1 << 18, 16], &[1 << 10, 1 << 10, 1 << 14, 128]],
    },
    CalibrationPlan {
        name: "samples by columns",
        text: SAMPLED_BY_COLUMNS,
        order: &["i", "j"],
        format: "csr",
        inputs: &[A, ("P", &[0, 3], DENSE, "dense"), ("Q", &[3, 1], DENSE, "dense")],
        // Powers of two are avoided, because elements at such distances map to few sets of a cache.
        sizes: &[&[4100, 5100, 1 << 16, 16], &[30100, 30100, 1 << 18, 16], &[1000, 1100, 1 << 14, 128]],
    },
    CalibrationPlan {
        name: "samples by columns, page-aligned",
        text: SAMPLED_BY_COLUMNS,
        order: &["i", "j"],
        format: "csr",
        inputs: &[A, ("P", &[0, 3], DENSE, "dense"), ("Q", &[3, 1], DENSE, "dense")],
        sizes: &[&[30100, 1 << 15, 1 << 18, 16], &[4100, 1 << 12, 1 << 16, 16]],
    },
    CalibrationPlan {
        name: "product of rows",
        text: PRODUCT,
        order: &["i", "k", "j"],
        format: "csr",
        inputs: &[A, ("B", &[0, 1], 2, "csr")],
        sizes: PRODUCTS,
    },
    CalibrationPlan {
        name: "product of rows to dense rows",
        text: PRODUCT,
        order: &["i", "k", "j"],
        format: "dense",
        inputs: &[A, ("B", &[0, 1], 2, "csr")],
        sizes: PRODUCTS.split_at(2).0,
    },
    CalibrationPlan {
        name: "product of rows to byte maps",
        text: PRODUCT,
        order: &["i", "k", "j"],
        format: "(dense (byte-map (element)))",
        inputs: &[A, ("B", &[0, 1], 2, "csr")],
        sizes: PRODUCTS.split_at(2).0,
    },
    CalibrationPlan {
        name: "product of rows to hash tables",
        text: PRODUCT,
        order: &["i", "k", "j"],
        format: "(dense (hash (element)))",
        inputs: &[A, ("B", &[0, 1], 2, "csr")],
        sizes: PRODUCTS.split_at(3).0,
    },
    CalibrationPlan {
        name: "outer products",
        text: PRODUCT,
        order: &["k", "i", "j"],
        format: "csr",
        inputs: &[("A", &[0, 1], 2, "csc"), ("B", &[0, 1], 2, "csr")],
        sizes: PRODUCTS.split_at(3).0,
    },
    CalibrationPlan {
        name: "outer products to dense rows",
        text: PRODUCT,
        order: &["k", "i", "j"],
        format: "dense",
        inputs: &[("A", &[0, 1], 2, "csc"), ("B", &[0, 1], 2, "csr")],
        sizes: PRODUCTS.split_at(2).0,
    },
    CalibrationPlan {
        name: "inner products",
        text: PRODUCT,
        order: &["i", "j", "k"],
        format: "csr",
        inputs: &[A, ("B", &[0, 1], 2, "csc")],
        sizes: PRODUCTS.split_at(1).0,
    },
    CalibrationPlan { name: "queries", text: QUERIES, order: &[], format: "", inputs: &[A], sizes: &[&[8, 8, 16]] },
];

impl CalibrationPlan {
    /// Generates the inputs for one of the plan's sizes.
    ///
    /// # Errors
    /// If an input cannot be generated.
    pub fn bindings(&self, sizes: &[u64]) -> Result<Bindings> {
        let mut bindings = Bindings::new();
        for (seed, (name, modes, entries, format)) in (1..).zip(self.inputs) {
            let shape: Vec<u64> = modes.iter().map(|k| sizes[*k]).collect();
            let format = parse_format(format, shape.len())?;
            let content = if *entries == DENSE { dense(&shape, seed) } else { uniform(shape, sizes[*entries], seed)? };
            bindings.insert(*name, content.into_tensor(Some(format))?);
        }
        Ok(bindings)
    }

    /// Returns the configuration of the optimizer, with the loop order and the format of the result
    /// that the plan fixes.
    ///
    /// # Errors
    /// If the format of the result is invalid.
    pub fn config(&self) -> Result<OptimizerConfig> {
        let mut config = OptimizerConfig::default();
        let result = Alias::from("R");
        if !self.order.is_empty() {
            config.loop_orders.insert(result.clone(), self.order.iter().map(|f| Field::from(*f)).collect());
        }
        if !self.format.is_empty() {
            let vector = matches!(self.text, ROW_SUMS | TIMES_VECTOR | SLICE_SUMS);
            config.formats.insert(result, parse_format(self.format, if vector { 1 } else { 2 })?);
        }
        Ok(config)
    }
}

fn uniform(shape: Vec<u64>, entries: u64, seed: u64) -> Result<Content> {
    generate_with(&Uniform { shape, entries: Amount::Count(entries) }, seed, SMALL, Prim::F64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll::{Config, Session, Target};
    use redpoll_optimizer::Event;

    /// Each kind of event occurs in some plan, so that every constant can be fitted.
    #[test]
    fn every_event_occurs() {
        let mut occurring = std::collections::BTreeSet::new();
        for plan in PLANS {
            let small: Vec<u64> = plan.sizes[0].iter().map(|n| (n / 16).max(4)).collect();
            for sizes in [&small[..], plan.sizes[plan.sizes.len() - 1]] {
                let config = Config { optimizer: plan.config().unwrap(), target: Target::LOGIC, ..Config::default() };
                let prepared = Session::new(config).prepare(plan.text, &plan.bindings(sizes).unwrap());
                let work = prepared.unwrap_or_else(|e| panic!("{}: {e}", plan.name)).report().unwrap().work();
                occurring.extend(work.counts().filter(|(_, count)| *count > 0.0).map(|(event, _)| event.name()));
            }
        }
        let missing: Vec<&str> = Event::all().map(Event::name).filter(|name| !occurring.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
