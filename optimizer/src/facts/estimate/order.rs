//! Comparisons of fields: the fraction of coordinates at which one field precedes another, by
//! coordinate or by rank.
//!
//! The size of a join that is restricted to one order depends on where the coordinates with most
//! entries are. Therefore the factors of each field's marginal are accumulated over the
//! coordinates, in the order that the comparison uses: by coordinate or by rank.

use super::marginal::{FieldPair, Marginal, MarginalKind, PairSide, stored_marginal};
use super::profile::{ProfileQuery, SupportProfile};
use crate::access::fit::storage_coordinates;
use crate::facts::Facts;
use crate::term::sizes::Sizes;
use crate::term::{Fold, ModeCoordinate, Node, Read, Target, Term};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::statistics::ModeSet;
use redpoll_logic::{Affine, Field, Scalar};

/// A condition that one field precedes another.
pub(super) struct OrderCondition {
    first: Field,
    second: Field,
    /// The marginal that orders the coordinates; `None` if the coordinates themselves are compared.
    by: Option<Marginal>,
    /// The fraction of pairs that satisfy the condition if entries are spread evenly.
    fraction: f64,
}

impl Facts<'_> {
    /// Returns the order condition of a term that differs from its fill where one field precedes
    /// another. The term may also differ from its fill where both fields are equal.
    pub(super) fn order_condition(&self, term: &Term, query: ProfileQuery<'_>) -> Option<OrderCondition> {
        let Node::Call(Op::Builtin(op), args) = term.node() else { return None };
        match (op, &args[..]) {
            (Builtin::Cast(_), [of]) => return self.order_condition(of, query),
            (Builtin::IfElse, [of, x, y]) if x.as_literal().is_some() && y.as_literal().is_some() => {
                return self.order_condition(of, query).filter(|_| y.fill() == term.fill());
            }
            _ => {}
        }
        let [x, y] = &args[..] else { return None };
        let is_reversed = match op {
            Builtin::Lt | Builtin::Le => false,
            Builtin::Gt | Builtin::Ge => true,
            _ => return None,
        };
        let (x_field, y_field, by, fraction) = match (coordinate_field(x), coordinate_field(y)) {
            (Some(f), Some(g)) => (f, g, None, comparison_fraction(&Op::Builtin(*op), args, query)?),
            _ => {
                let ((f, by), (g, same)) = (self.rank(x, query.sizes)?, self.rank(y, query.sizes)?);
                if by != same || !(query.bound)(&f) || !(query.bound)(&g) {
                    return None;
                }
                (f, g, Some(by), 0.5)
            }
        };
        let (first, second) = if is_reversed { (y_field, x_field) } else { (x_field, y_field) };
        (query.sizes.of(&first) == query.sizes.of(&second)).then_some(OrderCondition { first, second, by, fraction })
    }

    /// Restricts a profile to the coordinates at which one field precedes another.
    pub(super) fn restrict_to_order(
        &self,
        mut profile: SupportProfile,
        OrderCondition { first, second, by, fraction }: &OrderCondition,
    ) -> SupportProfile {
        let [one, other] = [first, second].map(|f| profile.marginals.get(f).cloned());
        let pair = FieldPair { first: one, second: other, by: by.clone() };
        let measured = self.ordered_fraction(&pair);
        profile.fraction *= measured.unwrap_or(*fraction);
        if measured.is_some() {
            for (field, side) in [(first, PairSide::First), (second, PairSide::Second)] {
                profile.marginals.insert(field.clone(), MarginalKind::Ordered { pair: pair.clone(), side }.into());
            }
        }
        profile
    }

    /// Returns the field and the counted marginal of a term that is a rank: a multiple of a count,
    /// plus the coordinate to break ties.
    fn rank(&self, term: &Term, sizes: &Sizes) -> Option<(Field, Marginal)> {
        let Node::Call(Op::Builtin(Builtin::Add), args) = term.node() else { return None };
        let field = args.iter().find_map(coordinate_field)?;
        let counted = args.iter().filter(|arg| coordinate_field(arg).is_none()).collect::<Vec<_>>();
        let [counted] = counted[..] else { return None };
        Some((field.clone(), self.counted_marginal_of(counted, sizes, &field)?))
    }

    /// Returns the marginal that a term counts. The value of the term is, for each coordinate of
    /// the field, the marginal's count or a multiple of this count.
    fn counted_marginal_of(&self, term: &Term, sizes: &Sizes, field: &Field) -> Option<Marginal> {
        match term.node() {
            Node::Call(Op::Builtin(Builtin::Mul), args) => {
                let counts: Vec<&Term> = args.iter().filter(|arg| arg.as_literal().is_none()).collect();
                if let [count] = counts[..] { self.counted_marginal_of(count, sizes, field) } else { None }
            }
            Node::Access(read) if read.coordinates == [ModeCoordinate::field(field)] => {
                self.counted_marginal(&read.tensor)
            }
            Node::Fold(fold) | Node::Temporary(_, fold) => self.marginal_counted_by(fold, sizes, field),
            _ => None,
        }
    }

    /// Returns the marginal of a tensor whose entries a fold counts per coordinate of a field.
    fn marginal_counted_by(
        &self,
        Fold { op, arg, along, .. }: &Fold,
        sizes: &Sizes,
        field: &Field,
    ) -> Option<Marginal> {
        let mut reads: Vec<&Read> = Vec::new();
        arg.each_access(&mut |read| reads.push(read));
        let [read] = reads[..] else { return None };
        if *op != Op::Builtin(Builtin::Add) || !along.is_empty() || !is_count(arg) {
            return None;
        }
        let coordinates = storage_coordinates(&read.coordinates, &read.ty.format, &read.ty.shape, sizes, self.mode());
        let mode = coordinates.iter().position(|at| at.as_field() == Some(field))?;
        stored_marginal(&read.tensor, &read.ty, ModeSet::prefix(coordinates.len()), mode)
    }

    /// Returns the marginal of a tensor whose entries an output counts per coordinate.
    pub(crate) fn output_count_marginal(&self, target: &Target, sizes: &Sizes) -> Option<Marginal> {
        let ([at], Some((op, fields))) = (&target.coordinates[..], &target.fold) else { return None };
        let (op, arg, fields) = (op.clone(), target.value.clone(), fields.clone());
        let fold = Fold { op, init: target.fill.clone(), arg, fields, along: Vec::new() };
        self.marginal_counted_by(&fold, sizes, at.as_field()?)
    }
}

/// Returns whether a term consists of conditions `x != c` with literals `c`, of their casts, and of
/// products of these with each other and with literals. A sum of the term counts the entries of `x`
/// if `c` is the fill of `x`. This is not checked, because only estimates depend on the result.
fn is_count(term: &Term) -> bool {
    match term.node() {
        Node::Call(Op::Builtin(Builtin::Cast(_)), args) => is_count(&args[0]),
        Node::Call(Op::Builtin(Builtin::Ne), args) => args.iter().any(|arg| arg.as_literal().is_some()),
        Node::Call(Op::Builtin(Builtin::Mul), args) => {
            args.iter().all(|arg| arg.as_literal().is_some() || is_count(arg))
        }
        _ => false,
    }
}

/// Returns the field `f` of the coordinate `f` or `f + 1`. The second form occurs where a rule of
/// symmetry writes `i >= j` as `i + 1 > j`.
fn coordinate_field(term: &Term) -> Option<Field> {
    match term.node() {
        Node::Coordinate(form) => match &form.terms[..] {
            [(field, 1)] if form.has_offset(0) || form.has_offset(1) => Some(field.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the first of two coordinates minus the second; either may be a number.
pub(crate) fn difference(args: &[Term]) -> Option<Affine> {
    let [x, y] = args else { return None };
    let form = |t: &Term| match (t.node(), t.as_literal()) {
        (Node::Coordinate(form), _) => Some(form.clone()),
        (_, Some(Scalar::I64(c))) => Some(Affine::constant(*c)),
        _ => None,
    };
    form(x)?.checked_plus(&form(y)?.checked_times(-1)?)
}

/// Returns the fraction of coordinates at which a comparison of two coordinates is true. `None` for
/// other operators and terms, for a constant difference, and if a field has no size or is not
/// bound.
pub(super) fn comparison_fraction(op: &Op, args: &[Term], query: ProfileQuery<'_>) -> Option<f64> {
    let Op::Builtin(op) = op else { return None };
    let difference = difference(args)?;
    if difference.terms.is_empty() || !difference.terms.iter().all(|(f, _)| (query.bound)(f)) {
        return None;
    }
    let (below, at) = sign_fractions(&difference, query.sizes)?;
    Some(match op {
        Builtin::Lt => below,
        Builtin::Le => below + at,
        Builtin::Gt => 1.0 - below - at,
        Builtin::Ge => 1.0 - below,
        Builtin::Eq => at,
        Builtin::Ne => 1.0 - at,
        _ => return None,
    })
}

/// Returns the fractions of coordinates at which a form is negative, and at which the form is zero.
/// A normal distribution with the form's mean and deviation approximates the fractions. The
/// fractions are exact for one field with the coefficient 1 or -1 and no parameter, and close for
/// differences of two fields.
fn sign_fractions(form: &Affine, sizes: &Sizes) -> Option<(f64, f64)> {
    let (mut low, mut high) = (form.constant as f64, form.constant as f64);
    let (mut mean, mut variance) = (form.constant as f64, 0.0);
    let parameters = form.parameters.iter().map(|(parameter, step)| (Some(parameter.size), step));
    for (size, step) in form.terms.iter().map(|(field, step)| (sizes.get(field), step)).chain(parameters) {
        let (last, step) = (size?.saturating_sub(1) as f64, *step as f64);
        mean += step * last / 2.0;
        variance += step * step * last * (last + 2.0) / 12.0;
        *(if step > 0.0 { &mut high } else { &mut low }) += step * last;
    }
    if low > 0.0 || high < 0.0 {
        return Some((f64::from(u8::from(high < 0.0)), 0.0));
    }
    let values = high - low + 1.0;
    if form.terms.len() + form.parameters.len() == 1 {
        return Some(((-low / values).clamp(0.0, 1.0), 1.0 / values));
    }
    // Two fields of one size have a triangular distribution; more fields approach a normal one.
    let deviation = variance.sqrt().max(0.5);
    let at = ((-(mean / deviation).powi(2) / 2.0).exp() * 0.4 / deviation).min(1.0);
    let below = 1.0 / (1.0 + (1.702 * mean / deviation).exp());
    Some(((below - at / 2.0).clamp(0.0, 1.0), at))
}
