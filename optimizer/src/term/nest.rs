//! Queries: outputs over the same loops.

use super::{ModeCoordinate, Read, Term, TypedAlias};
use crate::term::sizes::Sizes;
use redpoll_logic::op::Op;
use redpoll_logic::{Alias, ComputedFills, Field, FloatMode, Format, Scalar};

/// One query: outputs over the same loops.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    pub(crate) outputs: Vec<Target>,
    pub(crate) sizes: Sizes,
    /// Pinned loop orders: in each list, the loop over every field is outside of the loop over the
    /// next field.
    pub(crate) pins: Vec<Vec<Field>>,
    pub(crate) kind: NestKind,
}

/// The origin of a nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NestKind {
    /// A query of the plan, or a part of such a query.
    Query,
    /// A copy of a tensor in another format; its access is never copied again.
    Copy,
}

/// An output of a nest.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) alias: Alias,
    pub(crate) shape: Vec<u64>,
    pub(crate) fill: Scalar,
    /// The coordinate of each tensor mode: a function of loop fields, or a value (a scatter).
    pub(crate) coordinates: Vec<ModeCoordinate>,
    /// The operator that folds into the output, which starts from `fill`, and the reduced fields.
    pub(crate) fold: Option<(Op, Vec<Field>)>,
    pub(crate) value: Term,
    pub(crate) format: Option<Format>,
    pub(crate) computed: ComputedFills,
}

impl Target {
    /// Returns the loop fields of the output's coordinates and the fields that it reduces.
    pub(crate) fn loops(&self) -> Vec<Field> {
        let mut loops: Vec<Field> = Vec::new();
        let coordinates = self.coordinates.iter().flat_map(ModeCoordinate::fields);
        let reduced = self.fold.iter().flat_map(|(_, fields)| fields.iter().cloned());
        for field in coordinates.chain(reduced) {
            if !loops.contains(&field) {
                loops.push(field);
            }
        }
        loops
    }
}

impl Nest {
    /// Changes the reads as [`Term::replace_reads`] does.
    pub(crate) fn replace_reads(mut self, with: &mut dyn FnMut(&Read) -> Option<TypedAlias>, mode: FloatMode) -> Nest {
        for target in &mut self.outputs {
            target.value = target.value.replace_reads(with, mode);
            for at in &mut target.coordinates {
                if let ModeCoordinate::Value(t) = at {
                    *at = ModeCoordinate::from_value(t.replace_reads(with, mode));
                }
            }
        }
        self
    }

    /// Returns the loop fields, in the order in which the outputs mention them.
    pub(crate) fn loops(&self) -> Vec<Field> {
        let mut loops: Vec<Field> = Vec::new();
        for field in self.outputs.iter().flat_map(Target::loops) {
            if !loops.contains(&field) {
                loops.push(field);
            }
        }
        loops
    }

    /// Visits every access, including those in folds and in subscripts.
    pub(crate) fn each_access<'n>(&'n self, f: &mut dyn FnMut(&'n Read)) {
        for target in &self.outputs {
            target.value.each_access(f);
            for at in &target.coordinates {
                if let ModeCoordinate::Value(value) = at {
                    value.each_access(f);
                }
            }
        }
    }

    /// Returns the nest with dense formats for the outputs that `dense` marks.
    pub(crate) fn with_dense_outputs(&self, dense: &[bool]) -> Nest {
        let mut nest = self.clone();
        for (target, _) in nest.outputs.iter_mut().zip(dense).filter(|(_, dense)| **dense) {
            target.format = Some(Format::dense(target.shape.len()));
        }
        nest
    }

    /// Returns the name of the first output, which names the nest.
    pub(crate) fn name(&self) -> &Alias {
        &self.outputs[0].alias
    }
}
