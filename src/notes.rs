//! Notes on a prepared plan: what its author may not have wanted. Now these are results that densify.

use crate::prepared::Prepared;
use redpoll_logic::{Alias, Scalar, TensorType};
use std::fmt;
use std::sync::Arc;

/// Something worth knowing of a prepared plan.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Note {
    /// A tensor is stored at all its places, although some of what it is made of is sparse.
    Densifies {
        /// The tensor.
        tensor: Alias,
        /// Whether it is a result, and not an intermediate.
        result: bool,
        /// The number of its places.
        places: u64,
        /// The number of its places that are expected to differ from the fill value.
        expected: f64,
        /// Its fill value.
        fill: Scalar,
        /// The sparse tensors that it is made of.
        sparse: Vec<Alias>,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Note::Densifies { tensor, result, places, expected, fill, sparse } = self;
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
    /// What its author may want to know: results and intermediates that densify without having been asked to.
    pub fn notes(&self) -> Vec<Note> {
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

    /// The inputs that do not store all their places and that a tensor of so many places is made of. Those of more
    /// places do not count: that the sums of the rows of a sparse matrix are dense is no surprise.
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

fn is_dense(ty: &Arc<TensorType>) -> bool {
    ty.format.levels.iter().all(|l| l.kind.traits().full)
}

fn places(ty: &TensorType) -> u64 {
    ty.shape.iter().fold(1, |n, size| n.saturating_mul(*size))
}
