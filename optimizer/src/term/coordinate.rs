//! Coordinates at which tensors are read and written.

use super::{Node, Term};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Affine, Field, FloatMode, Scalar, Subscript};

/// The coordinate at which an access reads a mode, or at which an output writes a mode.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ModeCoordinate {
    /// A function of loop fields and parameters only.
    Subscript(Subscript),
    /// The value of an `i64` term.
    Value(Term),
}

impl ModeCoordinate {
    pub(crate) fn field(field: &Field) -> ModeCoordinate {
        ModeCoordinate::Subscript(Subscript::field(field.clone()))
    }

    pub(crate) fn as_field(&self) -> Option<&Field> {
        match self {
            ModeCoordinate::Subscript(s) => s.as_field(),
            ModeCoordinate::Value(_) => None,
        }
    }

    /// Returns the affine form, or `None` for other kinds of coordinates.
    pub(crate) fn as_affine(&self) -> Option<&Affine> {
        match self {
            ModeCoordinate::Subscript(Subscript::Affine(a)) => Some(a),
            _ => None,
        }
    }

    /// Returns the loop fields of the coordinate, sorted and distinct.
    pub(crate) fn fields(&self) -> Vec<Field> {
        match self {
            ModeCoordinate::Subscript(s) => s.form().terms.iter().map(|(f, _)| f.clone()).collect(),
            ModeCoordinate::Value(t) => t.fields().to_vec(),
        }
    }

    /// Returns whether all loop fields of the coordinate satisfy the predicate.
    pub(crate) fn all_fields(&self, is: impl Fn(&Field) -> bool) -> bool {
        match self {
            ModeCoordinate::Subscript(s) => s.form().terms.iter().all(|(f, _)| is(f)),
            ModeCoordinate::Value(t) => t.fields().iter().all(is),
        }
    }

    /// Returns whether the coordinate depends on the loop field.
    pub(crate) fn has(&self, field: &Field) -> bool {
        !self.all_fields(|f| f != field)
    }

    /// Returns the coordinate as an `i64` term.
    pub(crate) fn value(&self, mode: FloatMode) -> Term {
        match self {
            ModeCoordinate::Value(t) => t.clone(),
            ModeCoordinate::Subscript(Subscript::Affine(a)) => Term::coordinate(a.clone()),
            ModeCoordinate::Subscript(Subscript::Outer(a, b)) => {
                Term::integer(Builtin::FloorDiv, Term::coordinate(a.clone()), *b as i64, mode)
            }
            ModeCoordinate::Subscript(Subscript::Inner(a, b)) => {
                Term::integer(Builtin::Rem, Term::coordinate(a.clone()), *b as i64, mode)
            }
        }
    }

    /// Returns `subscript` with every field replaced by the coordinate that `with` returns.
    pub(crate) fn compose(
        subscript: &Subscript,
        with: &dyn Fn(&Field) -> ModeCoordinate,
        mode: FloatMode,
    ) -> ModeCoordinate {
        let form = subscript.form();
        let parts: Vec<(ModeCoordinate, i64)> = form.terms.iter().map(|(f, c)| (with(f), *c)).collect();
        if let ([(only, 1)], true, Subscript::Affine(_)) = (&parts[..], form.has_offset(0), subscript) {
            return only.clone();
        }
        if parts.iter().all(|(p, _)| p.as_affine().is_some()) {
            let affine = |f: &Field| with(f).as_affine().expect("all parts are affine").clone();
            if let Some(composed) = subscript.checked_substitute(&affine) {
                return ModeCoordinate::Subscript(composed);
            }
        }
        // Other compositions are computed at run time: those of values, quotients and remainders,
        // and affine ones that overflow. Where an affine one wraps around, a coordinate of one of
        // the composed maps is out of bounds, so nothing is read there.
        let mut sum = Term::coordinate(Affine { terms: Vec::new(), ..form.clone() });
        for (part, c) in parts {
            let scaled = Term::integer(Builtin::Mul, part.value(mode), c, mode);
            sum = Term::call(&Builtin::Add.into(), vec![sum, scaled], mode);
        }
        ModeCoordinate::Value(match subscript {
            Subscript::Affine(_) => sum,
            Subscript::Outer(_, b) => Term::integer(Builtin::FloorDiv, sum, *b as i64, mode),
            Subscript::Inner(_, b) => Term::integer(Builtin::Rem, sum, *b as i64, mode),
        })
    }

    pub(crate) fn substitute(&self, with: &dyn Fn(&Field) -> ModeCoordinate, mode: FloatMode) -> ModeCoordinate {
        match self {
            ModeCoordinate::Subscript(s) => ModeCoordinate::compose(s, with, mode),
            ModeCoordinate::Value(t) => ModeCoordinate::from_value(t.substitute(with, mode)),
        }
    }

    /// Converts an `i64` term to a coordinate, which is affine if the term is a coordinate or a
    /// literal.
    pub(crate) fn from_value(term: Term) -> ModeCoordinate {
        match (term.node(), term.fill()) {
            (Node::Coordinate(a), _) => ModeCoordinate::Subscript(Subscript::Affine(a.clone())),
            (Node::Literal, Scalar::I64(c)) => ModeCoordinate::Subscript(Subscript::Affine(Affine::constant(*c))),
            _ => ModeCoordinate::Value(term),
        }
    }
}

impl Term {
    /// Returns the affine form of a term that consists of coordinates, literals, sums, differences
    /// and products with constants. Returns `None` for other terms, and if the form overflows.
    pub(crate) fn as_affine(&self) -> Option<Affine> {
        match (self.node(), self.fill()) {
            (Node::Coordinate(form), _) => Some(form.clone()),
            (Node::Literal, Scalar::I64(c)) => Some(Affine::constant(*c)),
            (Node::Call(Op::Builtin(op), args), _) => {
                let mut parts = args.iter().map(Term::as_affine).collect::<Option<Vec<_>>>()?.into_iter();
                let first = parts.next()?;
                match op {
                    Builtin::Add => parts.try_fold(first, |sum, part| sum.checked_plus(&part)),
                    Builtin::Sub => first.checked_plus(&parts.next()?.checked_times(-1)?),
                    Builtin::Mul => {
                        parts.try_fold(first, |product, part| match (product.as_constant(), part.as_constant()) {
                            (_, Some(factor)) => product.checked_times(factor),
                            (Some(factor), _) => part.checked_times(factor),
                            _ => None,
                        })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
