//! Turns equality masks into lookups: gathers, scatters and diagonals.
//!
//! Input and output: a nest. Suppose a value is the identity of its fold (or, without a fold, the
//! output's fill) unless `eq(coordinate(f), e)` is true. Then the loop over `f` has at most one
//! relevant coordinate, `f = e`. The loop is dropped and `e` substituted for `f`: an access reads
//! at a value (a gather), an output writes at a value (a scatter, which drops coordinates out of
//! bounds). If `e` is itself a coordinate, the access is a diagonal.
//!
//! A mask is recognized by simplifying the value with the mask set to false. So a mask may be
//! inside any operator whose result a false argument decides: `*`, `and`, `ifelse`.

use crate::term::sizes::Sizes;
use crate::term::{Fold, ModeCoordinate, Nest, Node, Read, Target, Term};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, Field, FloatMode, Scalar};

/// Drops the loops whose coordinates equality masks determine. A loop stays if a scan, a repeated
/// coordinate of the output, or a diagonal of the output that may be out of bounds needs the loop.
pub(crate) fn use_lookups(mut nest: Nest, mode: FloatMode) -> Nest {
    let sizes = nest.sizes.clone();
    for target in &mut nest.outputs {
        target.value = gather_in_folds(&target.value, &sizes, mode);
        while gather_target(target, &sizes, mode) || scatter_target(target, &sizes, mode) {}
    }
    nest
}

/// A subterm `eq(coordinate(field), coordinate)`, with the arguments in either order.
struct EqualityMask {
    term: Term,
    field: Field,
    coordinate: ModeCoordinate,
}

impl EqualityMask {
    /// Returns whether a scan prevents the replacement of the field by the coordinate.
    fn is_in_scan(&self, value: &Term) -> bool {
        value.scans_along(&self.field) || value.scan_captures(&self.field, &self.coordinate)
    }
}

/// Applies gathers to the folds of a term, innermost first.
fn gather_in_folds(term: &Term, sizes: &Sizes, mode: FloatMode) -> Term {
    term.replace(
        &mut |t| {
            let Node::Fold(fold) = t.node() else { return None };
            let arg = gather_in_folds(&fold.arg, sizes, mode);
            let is_same = arg.identity() == fold.arg.identity();
            let mut fold = Fold { arg, ..fold.clone() };
            let count = fold.fields.len();
            while let Some((field, arg)) = find_gather(&fold.op, &fold.arg, &fold.fields, sizes, mode) {
                fold.fields.retain(|f| *f != field);
                fold.arg = arg;
            }
            if is_same && fold.fields.len() == count {
                return Some(t.clone());
            }
            Some(if fold.fields.is_empty() && !fold.is_scan() {
                Term::call(&fold.op, vec![Term::literal(fold.init), fold.arg], mode)
            } else {
                Term::fold(fold, t.fill().clone(), mode)
            })
        },
        mode,
    )
}

fn gather_target(target: &mut Target, sizes: &Sizes, mode: FloatMode) -> bool {
    let Some((op, fields)) = &mut target.fold else { return false };
    let Some((field, value)) = find_gather(op, &target.value, fields, sizes, mode) else { return false };
    fields.retain(|f| *f != field);
    target.value = value;
    if fields.is_empty() && target.coordinates.iter().all(|at| at.as_field().is_some()) {
        let start = Term::literal(target.fill.clone());
        target.value = Term::call(op, vec![start, target.value.clone()], mode);
        target.fold = None;
    }
    true
}

/// Returns a reduced field whose coordinate a mask determines, and the value with the mask's
/// coordinate in place of this field. Where the coordinate is out of bounds, the value must be the
/// identity. A guard ensures this, unless the fills that reads return there already give the
/// identity.
fn find_gather(op: &Op, value: &Term, fields: &[Field], sizes: &Sizes, mode: FloatMode) -> Option<(Field, Term)> {
    let dtype = value.dtype();
    find_masks(value).into_iter().find_map(|mask| {
        let otherwise = value_if_false(value, &mask.term, mode)?;
        if mask.is_in_scan(value) || !fields.contains(&mask.field) || !op.is_identity(&otherwise, &dtype, 1, mode) {
            return None;
        }
        let size = sizes.of(&mask.field);
        let masked = value.replace(&mut |t| (*t == mask.term).then(|| Term::boolean(true)), mode);
        if sizes.is_within(&mask.coordinate, size) {
            return Some((mask.field.clone(), apply_mask(&masked, &mask, sizes, mode)));
        }
        let fill_if_missing =
            |t: &Term| as_missing_read(t, &mask.field, size).map(|r| Term::literal(r.ty.fill.clone()));
        let missed = masked.replace(&mut |t| fill_if_missing(t), mode);
        let found = apply_mask(&masked, &mask, sizes, mode);
        let value = if missed.as_literal() == Some(&otherwise) && missed != masked {
            found
        } else {
            let coordinate = mask.coordinate.value(mode);
            let low = Term::integer(Builtin::Ge, coordinate.clone(), 0, mode);
            let high = Term::integer(Builtin::Lt, coordinate, i64::try_from(size).unwrap_or(i64::MAX), mode);
            let inside = Term::call(&Builtin::And.into(), vec![low, high], mode);
            Term::call(&Builtin::IfElse.into(), vec![inside, found, Term::literal(otherwise)], mode)
        };
        Some((mask.field.clone(), value))
    })
}

/// Scatters the output to the coordinate of a mask; returns whether some mask allows a scatter.
fn scatter_target(target: &mut Target, sizes: &Sizes, mode: FloatMode) -> bool {
    for mask in find_masks(&target.value) {
        let Some(output_mode) = target.coordinates.iter().position(|at| at.as_field() == Some(&mask.field)) else {
            continue;
        };
        let Some(otherwise) = value_if_false(&target.value, &mask.term, mode) else { continue };
        let writes_nothing = match &target.fold {
            Some((op, _)) => op.is_identity(&otherwise, &target.value.dtype(), 1, mode),
            None => otherwise == target.fill,
        };
        let is_diagonal = matches!(mask.coordinate, ModeCoordinate::Subscript(_));
        let is_repeated = target.coordinates.iter().filter(|at| at.has(&mask.field)).count() > 1;
        let scans = mask.is_in_scan(&target.value);
        if !writes_nothing
            || is_repeated
            || scans
            || (is_diagonal && !sizes.is_within(&mask.coordinate, target.shape[output_mode]))
        {
            continue;
        }
        let masked = target.value.replace(&mut |t| (*t == mask.term).then(|| Term::boolean(true)), mode);
        target.value = apply_mask(&masked, &mask, sizes, mode);
        target.coordinates[output_mode] = mask.coordinate;
        return true;
    }
    false
}

/// Substitutes the coordinate for the field. If the coordinate may be out of the field's bounds,
/// reads may be out of bounds. Such reads return the fill. This has no effect, because the fill
/// makes the value the identity of the fold, a guard ignores the value, or the write of the value
/// is dropped.
fn apply_mask(value: &Term, mask: &EqualityMask, sizes: &Sizes, mode: FloatMode) -> Term {
    let marked = value.replace(
        &mut |t| {
            let read = as_read(t, &mask.field).filter(|r| r.outside.is_none())?;
            Some(Term::access(Read { outside: Some(read.ty.fill.clone()), ..read.clone() }))
        },
        mode,
    );
    let value = if sizes.is_within(&mask.coordinate, sizes.of(&mask.field)) { value } else { &marked };
    let with = |f: &Field| if *f == mask.field { mask.coordinate.clone() } else { ModeCoordinate::field(f) };
    value.substitute(&with, mode)
}

/// Returns the access that a term consists of, if the access depends on the field.
fn as_read<'t>(term: &'t Term, field: &Field) -> Option<&'t Read> {
    match term.node() {
        Node::Access(read) if read.coordinates.iter().any(|at| at.has(field)) => Some(read),
        _ => None,
    }
}

/// Returns the access that a term consists of, if the access reads the fill wherever the field is
/// outside of `0..size`. A coordinate of the access must be the field alone: another form of the
/// field may be within the tensor's bounds although the field is not.
fn as_missing_read<'t>(term: &'t Term, field: &Field, size: u64) -> Option<&'t Read> {
    let read = as_read(term, field)?;
    let ends = |(at, n): (&ModeCoordinate, &u64)| at.as_field() == Some(field) && *n <= size;
    let reads_fill = read.outside.as_ref().is_none_or(|value| *value == read.ty.fill);
    (reads_fill && read.coordinates.iter().zip(&read.ty.shape).any(ends)).then_some(read)
}

/// Returns the value of a term with the mask set to false, if this value is constant.
fn value_if_false(value: &Term, mask: &Term, mode: FloatMode) -> Option<Scalar> {
    let value = value.replace(&mut |t| (t == mask).then(|| Term::boolean(false)), mode);
    value.as_literal().cloned()
}

/// Returns the masks of a term outside of its folds and of subscripts.
fn find_masks(term: &Term) -> Vec<EqualityMask> {
    let mut found = Vec::new();
    let Node::Call(op, args) = term.node() else { return found };
    if let (Op::Builtin(Builtin::Eq), [a, b]) = (op, &args[..]) {
        for (x, y) in [(a, b), (b, a)] {
            let Node::Coordinate(form) = x.node() else { continue };
            let Some(field) = form.as_field() else { continue };
            if !y.has_fold() && y.dtype() == DType::I64 && !y.fields().contains(field) {
                let coordinate = ModeCoordinate::from_value(y.clone());
                found.push(EqualityMask { term: term.clone(), field: field.clone(), coordinate });
            }
        }
    }
    found.extend(args.iter().flat_map(find_masks));
    found
}
