//! Notes on a prepared plan: results that become dense, and operators whose values in the default
//! float mode differ from IEEE 754.

use crate::prepared::Prepared;
use redpoll_logic::op::{Op, cast_to};
use redpoll_logic::{Alias, DType, Expr, FloatMode, Node, Scalar, TensorType};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// A remark on a prepared plan that its author may want to know.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Note {
    /// A tensor is stored densely although some of its operands are sparse.
    Densifies {
        /// The tensor.
        tensor: Alias,
        /// Set for a result, not for an intermediate.
        result: bool,
        /// The number of its elements.
        places: u64,
        /// The number of elements that are expected to differ from the fill value.
        expected: f64,
        /// Its fill value.
        fill: Scalar,
        /// The sparse operands of the tensor.
        sparse: Vec<Alias>,
    },
    /// An operator whose result on the fill values differs in the strict mode.
    ModesDiffer {
        /// The query.
        query: Alias,
        /// The operator.
        op: Op,
        /// The fill values of its arguments.
        fills: Vec<Scalar>,
        /// The result in the default mode.
        value: Scalar,
        /// The result in the strict mode.
        strict: Scalar,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tensor, result, places, expected, fill, sparse) = match self {
            Note::Densifies { tensor, result, places, expected, fill, sparse } => {
                (tensor, result, places, expected, fill, sparse)
            }
            Note::ModesDiffer { query, op, fills, value, strict } => {
                let fills: Vec<String> = fills.iter().map(Scalar::to_string).collect();
                let fills = fills.join(" ");
                let (head, tail) = ("where nothing is stored", "in the strict mode (`--strict`)");
                return write!(f, "query `{query}`: {head}, ({op} {fills}) is {value}; {tail} it is {strict}");
            }
        };
        let names: Vec<String> = sparse.iter().map(|s| format!("`{s}`")).collect();
        let what = if *result { "result" } else { "intermediate" };
        write!(f, "{what} `{tensor}` is dense: all {places} places are stored, although {} ", names.join(", "))?;
        f.write_str(if sparse.len() == 1 { "is sparse; " } else { "are sparse; " })?;
        if *expected >= *places as f64 {
            write!(f, "nothing shows that any place keeps the fill value {fill}")
        } else {
            write!(f, "about {expected:.0} places are expected to differ from the fill value {fill}")
        }
    }
}

impl Prepared {
    /// Returns notes for the author of the plan: tensors that are dense without a requested format,
    /// and operators on fill values whose results differ between the float modes.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = self.densified();
        if self.made().executable.mode() == FloatMode::Relaxed {
            let mut seen = HashSet::new();
            for query in &self.made().plan.queries {
                differences(&query.alias, &query.expr, &mut seen, &mut notes);
            }
        }
        notes
    }

    fn densified(&self) -> Vec<Note> {
        let asked = |alias: &Alias| {
            let query = self.made().plan.queries.iter().find(|q| q.alias == *alias);
            query.is_some_and(|q| q.expr.stored_format().is_some())
        };
        let mut notes = Vec::new();
        for output in self.made().planned.report.decisions.iter().flat_map(|d| &d.outputs) {
            let places = places(&output.ty);
            if places <= 1 || !is_dense(&output.ty) || asked(&output.alias) {
                continue;
            }
            let sparse = self.sparse_operands(&output.alias, places);
            if !sparse.is_empty() {
                notes.push(Note::Densifies {
                    tensor: output.alias.clone(),
                    result: self.made().planned.physical.produces.contains(&output.alias),
                    places,
                    expected: output.stored(),
                    fill: output.ty.fill.clone(),
                    sparse,
                });
            }
        }
        notes
    }

    /// Returns the sparse inputs of a tensor with `most` elements. Inputs with more elements are
    /// ignored: dense row sums of a sparse matrix are no surprise.
    fn sparse_operands(&self, alias: &Alias, most: u64) -> Vec<Alias> {
        let reads: Vec<Alias> = match self.made().plan.queries.iter().find(|q| q.alias == *alias) {
            Some(query) => query.expr.tables(),
            None => self
                .made()
                .executable
                .stages
                .iter()
                .filter(|s| s.writes.contains(alias))
                .flat_map(|s| s.reads.clone())
                .collect(),
        };
        let sparse = |ty: &Arc<TensorType>| !is_dense(ty) && places(ty) <= most;
        let inputs = self.made().planned.physical.inputs.iter();
        inputs.filter(|(name, ty)| sparse(ty) && reads.contains(name)).map(|(name, _)| name.clone()).collect()
    }
}

/// Adds notes on the operators of an expression whose results on fill values differ between the
/// float modes. Returns whether the expression reads sparse tensors, whose fill values occur.
fn differences(query: &Alias, expr: &Expr, seen: &mut HashSet<usize>, notes: &mut Vec<Note>) -> bool {
    if !seen.insert(expr.address()) {
        return true;
    }
    let mut sparse = matches!(expr.node(), Node::Table { ty, .. } if !is_dense(ty));
    for arg in expr.node().args() {
        sparse |= differences(query, arg, seen, notes);
    }
    let Node::MapJoin { op: op @ Op::Builtin(_), args } = expr.node() else { return sparse };
    let fills: Vec<Scalar> = args.iter().map(|arg| arg.info().fill.clone()).collect();
    let dtypes: Vec<DType> = fills.iter().map(Scalar::dtype).collect();
    if let (true, Ok(signature)) = (sparse, op.signature(&dtypes)) {
        let fills: Vec<Scalar> = fills.iter().zip(&signature.args).map(|(fill, to)| cast_to(fill, to)).collect();
        let of = |mode| op.eval_in(&fills, mode).ok();
        if let (Some(value), Some(strict)) = (of(FloatMode::Relaxed), of(FloatMode::StrictIeee))
            && value != strict
            && !(value.to_f64() == Some(0.0) && strict.to_f64() == Some(0.0))
        {
            let note = Note::ModesDiffer { query: query.clone(), op: op.clone(), fills, value, strict };
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    sparse
}

fn is_dense(ty: &Arc<TensorType>) -> bool {
    ty.format.levels.iter().all(|l| l.kind.traits().full)
}

fn places(ty: &TensorType) -> u64 {
    ty.shape.iter().fold(1, |n, size| n.saturating_mul(*size))
}
