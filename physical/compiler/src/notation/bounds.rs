//! Pass `prove_bounds`: proves that coordinates are in bounds, or leaves them to checks at run
//! time.
//!
//! Input: a program in normal form. Output: the same program, with [`Bounds`] for each subscript
//! that came from a text.
//!
//! A coordinate is a linear form of indices and variables. The least and the greatest value of a
//! coordinate are derived atom by atom, starting with the atom bound innermost. An atom is bounded
//! by:
//! - the extent of a loop. The begin and the end may be constants, linear forms of outer atoms, or
//!   expressions as in a `let`. A `max` as the begin, or a `min` as the end, gives one bound for
//!   each argument;
//! - the value of a `let`: linear forms, sums, differences, products, `neg`, `min`, `max`, `rem`,
//!   `floordiv`, `ifelse`, casts and reads. A read is bounded by its dtype. A read without
//!   `outside` is also bounded by the least and the greatest value of its input if they are known:
//!   an index tensor is scanned once, not in each round;
//! - comparisons between linear forms in the enclosing conditions.
//!
//! A coordinate proved without conditions is [`Bounds::Proved`]: it is in bounds in every round of
//! its loops. A coordinate proved only under a condition is [`Bounds::Guarded`]: lowering may
//! locate a coordinate before it evaluates the condition, and must not access memory there. All
//! other coordinates are [`Bounds::Checked`].
//!
//! The derivation uses integers of unlimited range, whereas sums of `i64` wrap around. So a bound
//! or a comparison is not used if its form may leave the range of `i64` in the direction that would
//! make the bound wrong.
//!
//! A check belongs to an access, not to a statement. Targets may skip the check where the value of
//! the access does not matter: the value is annihilated, or an outer subscript found a fiber that
//! is not stored.

use super::linear::{Atom, Linear};
use super::visit::infallible;
use super::{Access, AccessSubscript, Bounds, Expr, Index, Program, Site, Stmt, TensorId, Var};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Prim, Scalar};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

/// A function from a tensor to the least and the greatest of its stored values and fill value;
/// `None` if unknown.
pub type Ranges<'a> = &'a dyn Fn(TensorId) -> Option<(i64, i64)>;

/// The range of `i64`.
const I64_RANGE: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);

/// Maximum number of substitutions of bounds into a form.
const MAX_STEPS: usize = 200;

/// Decides for each subscript that has [`Bounds::Checked`] whether its coordinate is proved,
/// guarded or checked.
pub fn prove_bounds(mut program: Program, ranges: Ranges<'_>) -> Program {
    let body = std::mem::replace(&mut program.body, Stmt::Block(Vec::new()));
    let mut pass = BoundsPass { program: &program, ranges, atoms: HashMap::new(), guards: Vec::new() };
    let body = pass.stmt(body);
    Program { body, ..program }
}

/// Returns the least and the greatest value of each loop index of a program, if they are known.
pub(crate) fn index_ranges(program: &Program) -> Vec<Option<(i64, i64)>> {
    let mut pass = BoundsPass { program, ranges: &|_| None, atoms: HashMap::new(), guards: Vec::new() };
    // Binds all atoms; the returned statement is not needed.
    pass.stmt(program.body.clone());
    let range = |k: usize| {
        let form = Linear::atom(Atom::Index(Index(k as u32)));
        let [least, greatest] =
            [RangeEnd::Least, RangeEnd::Greatest].map(|end| pass.end(&form, end, &[], &mut MAX_STEPS.clone()));
        let is_known = pass.atoms.contains_key(&Atom::Index(Index(k as u32)));
        (is_known && least > I64_RANGE.0 && greatest < I64_RANGE.1).then_some((least as i64, greatest as i64))
    };
    (0..program.indices.len()).map(range).collect()
}

/// A subscript that is checked at run time.
#[derive(Clone, PartialEq, Debug)]
pub struct BoundsCheck {
    /// The tensor.
    pub tensor: TensorId,
    /// The storage mode.
    pub mode: usize,
    /// The subscript in the text of the program.
    pub site: Arc<Site>,
}

/// Returns the checked subscripts of a program, each once, in the order of execution.
pub fn bounds_checks(program: &Program) -> Vec<BoundsCheck> {
    let mut found: Vec<BoundsCheck> = Vec::new();
    let mut access = |a: &Access| {
        for (mode, s) in a.subscripts.iter().enumerate() {
            if let (Bounds::Checked(site), None) = (&s.bounds, &s.outside) {
                let check = BoundsCheck { tensor: a.tensor, mode, site: site.clone() };
                let is = |c: &BoundsCheck| c.tensor == a.tensor && c.mode == mode && Arc::ptr_eq(&c.site, site);
                if !found.iter().any(is) {
                    found.push(check);
                }
            }
        }
    };
    program.body.walk(&mut |s| {
        s.exprs().into_iter().flat_map(Expr::accesses).for_each(&mut access);
        if let Stmt::Assign { lhs, .. } = s {
            access(lhs);
        }
    });
    found
}

/// Bounds of an atom, both ends inclusive.
#[derive(Default)]
struct AtomBounds {
    /// The number of atoms bound before this one.
    depth: usize,
    /// Lower bounds: forms of outer atoms that are at most the atom.
    least: Vec<Linear>,
    /// Upper bounds: forms of outer atoms that are at least the atom.
    greatest: Vec<Linear>,
}

struct BoundsPass<'a> {
    program: &'a Program,
    ranges: Ranges<'a>,
    atoms: HashMap<Atom, AtomBounds>,
    /// Forms that the enclosing conditions prove to be non-negative at the current statement.
    guards: Vec<Linear>,
}

/// An end of the range of a form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RangeEnd {
    Least,
    Greatest,
}

impl BoundsPass<'_> {
    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        let stmt = infallible(stmt.map_exprs(&mut |e| {
            Ok::<_, Infallible>(match e {
                Expr::Access(a) => Expr::Access(self.access(a)),
                other => other,
            })
        }));
        let stmt = match stmt {
            Stmt::Assign { lhs, write, rhs } => Stmt::Assign { lhs: self.access(lhs), write, rhs },
            other => other,
        };
        let guards = self.guards.len();
        match &stmt {
            Stmt::For { index, extent: Some((lo, hi)), .. } => self.bind_index(*index, lo, hi),
            Stmt::Let { var, value, .. } => self.bind_var(*var, value),
            Stmt::If { cond, .. } => self.assume(cond),
            _ => {}
        }
        let stmt = infallible(stmt.map_children(&mut |s| Ok::<_, Infallible>(self.stmt(s))));
        self.guards.truncate(guards);
        stmt
    }

    fn access(&self, a: Access) -> Access {
        let ty = &self.program.tensors[a.tensor.index()].ty;
        let sizes = ty.format.storage_shape(&ty.shape);
        let decide = |(s, size): (AccessSubscript, u64)| match s.bounds {
            Bounds::Checked(_) => AccessSubscript { bounds: self.decide(&s, size), ..s },
            _ => s,
        };
        Access { subscripts: a.subscripts.into_iter().zip(sizes).map(decide).collect(), ..a }
    }

    fn decide(&self, s: &AccessSubscript, size: u64) -> Bounds {
        let Some(form) = Linear::of(&s.at) else { return s.bounds.clone() };
        let is_inside = |guards: &[Linear]| {
            let end = |end| self.end(&form, end, guards, &mut MAX_STEPS.clone());
            end(RangeEnd::Least) >= 0 && end(RangeEnd::Greatest) < i128::from(size)
        };
        match () {
            () if is_inside(&[]) => Bounds::Proved,
            () if is_inside(&self.guards) => Bounds::Guarded,
            () => s.bounds.clone(),
        }
    }

    fn bind(&mut self, atom: Atom, least: Vec<Linear>, greatest: Vec<Linear>) {
        let depth = self.atoms.len();
        self.atoms.insert(atom, AtomBounds { depth, least, greatest });
    }

    fn bind_index(&mut self, index: Index, lo: &Expr, hi: &Expr) {
        let least = self.forms(lo, RangeEnd::Least);
        let greatest = self.forms(hi, RangeEnd::Greatest).into_iter().filter_map(|f| f.plus(&Linear::constant(-1)));
        let greatest = greatest.collect();
        self.bind(Atom::Index(index), least, greatest);
    }

    fn bind_var(&mut self, var: Var, value: &Expr) {
        let dtype = &self.program.vars[var.index()].1;
        let [least, greatest] = match dtype.prim() {
            Some(prim) if !prim.is_float() && prim != Prim::U64 => {
                [RangeEnd::Least, RangeEnd::Greatest].map(|end| self.forms(value, end))
            }
            _ => [Vec::new(), Vec::new()],
        };
        self.bind(Atom::Var(var), least, greatest);
    }

    /// Returns the linear form of an `i64` expression, or of a variable of `bool` or of another
    /// integer dtype whose values `i64` contains; `None` for other expressions. Arithmetic in other
    /// dtypes wraps around earlier.
    fn form(&self, e: &Expr) -> Option<Linear> {
        let prim = super::dtype_of(self.program, e).ok()?.prim()?;
        let is_exact = prim == Prim::I64 || matches!(e, Expr::Var(_)) && !prim.is_float() && prim != Prim::U64;
        if is_exact { Linear::of(e) } else { None }
    }

    /// Returns forms that bound the value of an expression: lower bounds for `RangeEnd::Least`,
    /// upper bounds for `RangeEnd::Greatest`.
    fn forms(&self, e: &Expr, end: RangeEnd) -> Vec<Linear> {
        let part = match end {
            RangeEnd::Least => Builtin::Max,
            RangeEnd::Greatest => Builtin::Min,
        };
        if let Some(form) = self.form(e) {
            // A sum that wraps around differs from the form.
            let wraps = match end {
                RangeEnd::Least => self.end(&form, RangeEnd::Greatest, &[], &mut MAX_STEPS.clone()) > I64_RANGE.1,
                RangeEnd::Greatest => self.end(&form, RangeEnd::Least, &[], &mut MAX_STEPS.clone()) < I64_RANGE.0,
            };
            return if wraps { Vec::new() } else { vec![form] };
        }
        match e {
            Expr::Call(Op::Builtin(op), args) if *op == part => args.iter().flat_map(|a| self.forms(a, end)).collect(),
            e => {
                let (least, greatest) = self.value_range(e);
                let bound = if end == RangeEnd::Least { least } else { greatest };
                i64::try_from(bound).ok().map(Linear::constant).into_iter().collect()
            }
        }
    }

    /// Adds to the guards the facts about linear forms that a condition implies.
    fn assume(&mut self, cond: &Expr) {
        let Expr::Call(Op::Builtin(op), args) = cond else { return };
        let (a, b) = match (op, &args[..]) {
            (Builtin::And, args) => return args.iter().for_each(|a| self.assume(a)),
            (_, [a, b]) => (a, b),
            _ => return,
        };
        let (low, high, difference) = match op {
            Builtin::Lt => (a, b, 1),
            Builtin::Le => (a, b, 0),
            Builtin::Gt => (b, a, 1),
            Builtin::Ge => (b, a, 0),
            Builtin::Eq => {
                self.assume_difference(a, b, 0);
                (b, a, 0)
            }
            _ => return,
        };
        self.assume_difference(low, high, difference);
    }

    /// Adds the fact `low + difference <= high` to the guards, if neither side wraps around.
    fn assume_difference(&mut self, low: &Expr, high: &Expr, difference: i64) {
        let exact_form = |e: &Expr| {
            let form = self.form(e)?;
            let end = |end| self.end(&form, end, &[], &mut MAX_STEPS.clone());
            (end(RangeEnd::Least) >= I64_RANGE.0 && end(RangeEnd::Greatest) <= I64_RANGE.1).then_some(form)
        };
        let (Some(low), Some(high)) = (exact_form(low), exact_form(high)) else { return };
        let difference = low.times(-1).and_then(|low| high.plus(&low)?.plus(&Linear::constant(-difference)));
        self.guards.extend(difference);
    }

    /// Returns the tightest bound that is found for a form at one end.
    fn end(&self, form: &Linear, end: RangeEnd, guards: &[Linear], steps: &mut usize) -> i128 {
        let depth = |atom: Atom| self.atoms.get(&atom).map_or(0, |bounds| bounds.depth + 1);
        let Some((atom, c)) = form.deepest(&depth) else { return i128::from(form.constant) };
        let worst = if end == RangeEnd::Least { i128::MIN } else { i128::MAX };
        if *steps == 0 {
            return worst;
        }
        *steps -= 1;
        let below = (c > 0) == (end == RangeEnd::Least);
        let rest = form.without(atom);
        let better = |a: i128, b: i128| if end == RangeEnd::Least { a.max(b) } else { a.min(b) };
        // Without other bounds, an atom is an arbitrary `i64`.
        let any = i128::from(c) * if below { I64_RANGE.0 } else { I64_RANGE.1 };
        let mut best = self.end(&rest, end, guards, steps).saturating_add(any);
        let bounds = self.atoms.get(&atom);
        let bound = bounds.into_iter().flat_map(|k| if below { &k.least } else { &k.greatest }).cloned();
        let guarded = guards.iter().filter_map(|g| {
            let (deepest, c) = g.deepest(&depth)?;
            let rest = g.without(atom);
            match (deepest == atom, c) {
                (true, 1) if below => rest.times(-1),
                (true, -1) if !below => Some(rest),
                _ => None,
            }
        });
        for limit in bound.chain(guarded) {
            let Some(form) = limit.times(c).and_then(|l| rest.plus(&l)) else { continue };
            best = better(best, self.end(&form, end, guards, steps));
        }
        best
    }

    /// Returns the least and the greatest value of an integer expression; the whole range of its
    /// dtype if nothing is proved.
    fn value_range(&self, e: &Expr) -> (i128, i128) {
        // Arithmetic wraps around in the dtype of its result.
        let dtype_range = prim_range(super::dtype_of(self.program, e).ok().and_then(|dtype| dtype.prim()));
        let within = |(least, greatest): (i128, i128)| {
            if least >= dtype_range.0 && greatest <= dtype_range.1 { (least, greatest) } else { dtype_range }
        };
        if let Some(form) = self.form(e) {
            let end = |end| self.end(&form, end, &[], &mut MAX_STEPS.clone());
            return within((end(RangeEnd::Least), end(RangeEnd::Greatest)));
        }
        match e {
            Expr::Access(a) if a.subscripts.iter().all(|s| s.outside.is_none()) => self
                .range(a.tensor)
                .map_or(dtype_range, |(least, greatest)| within((i128::from(least), i128::from(greatest)))),
            Expr::Literal(value) => integer_value(value).map_or(dtype_range, |v| (v, v)),
            Expr::Call(Op::Builtin(op), args) => within(self.call_range(*op, args)),
            Expr::Access(_) | Expr::Call(Op::User(_), _) | Expr::Index(_) | Expr::Var(_) => dtype_range,
        }
    }

    /// Returns the least and the greatest value of a tensor, if they are known. The range of an
    /// input that holds the bounds of blocks follows from the program; a kernel rejects such an
    /// input if it has other values.
    fn range(&self, tensor: TensorId) -> Option<(i64, i64)> {
        self.program.block_input_range(tensor).or_else(|| (self.ranges)(tensor))
    }

    /// Returns the least and the greatest result of an operator, without regard to wrapping; the
    /// range of `i64` if nothing is known of the operator.
    fn call_range(&self, op: Builtin, args: &[Expr]) -> (i128, i128) {
        let values: Vec<(i128, i128)> = args.iter().map(|a| self.value_range(a)).collect();
        let fold = |f: &dyn Fn((i128, i128), (i128, i128)) -> (i128, i128)| {
            values.iter().copied().reduce(f).unwrap_or(I64_RANGE)
        };
        match (op, &values[..]) {
            (Builtin::Add, _) => fold(&|a, b| (a.0 + b.0, a.1 + b.1)),
            (Builtin::Sub, [a, b]) => (a.0 - b.1, a.1 - b.0),
            (Builtin::Neg, [a]) => (-a.1, -a.0),
            (Builtin::Min, _) => fold(&|a, b| (a.0.min(b.0), a.1.min(b.1))),
            (Builtin::Max, _) => fold(&|a, b| (a.0.max(b.0), a.1.max(b.1))),
            (Builtin::Mul, _) => fold(&|a, b| {
                let ends = [
                    a.0.saturating_mul(b.0),
                    a.0.saturating_mul(b.1),
                    a.1.saturating_mul(b.0),
                    a.1.saturating_mul(b.1),
                ];
                (ends.into_iter().min().unwrap_or(I64_RANGE.0), ends.into_iter().max().unwrap_or(I64_RANGE.1))
            }),
            (Builtin::Rem, [a, (least, greatest)]) if *least > 0 => {
                if a.0 >= 0 && a.1 < *least {
                    *a
                } else {
                    (0, greatest - 1)
                }
            }
            (Builtin::FloorDiv, [a, (least, greatest)]) if *least > 0 => {
                let ends = [a.0.div_euclid(*least), a.0.div_euclid(*greatest)];
                let others = [a.1.div_euclid(*least), a.1.div_euclid(*greatest)];
                (ends[0].min(ends[1]), others[0].max(others[1]))
            }
            (Builtin::IfElse, [_, a, b]) => (a.0.min(b.0), a.1.max(b.1)),
            (Builtin::Cast(to), [a]) => {
                let dtype_range = prim_range(Some(to));
                let from = super::dtype_of(self.program, &args[0]).ok().and_then(|dtype| dtype.prim());
                let integer = from.is_some_and(|prim| !prim.is_float());
                if integer && a.0 >= dtype_range.0 && a.1 <= dtype_range.1 { *a } else { dtype_range }
            }
            _ => I64_RANGE,
        }
    }
}

/// Returns the range of an integer primitive or `bool`; the range of `i64` for others.
fn prim_range(prim: Option<Prim>) -> (i128, i128) {
    match prim {
        Some(Prim::Bool) => (0, 1),
        Some(Prim::U64) => (0, i128::from(u64::MAX)),
        Some(prim) if !prim.is_float() => {
            let all = 1i128 << prim.bits();
            if prim.is_signed() { (-all / 2, all / 2 - 1) } else { (0, all - 1) }
        }
        _ => I64_RANGE,
    }
}

/// Returns the value of a literal of an integer primitive (except `u64`) or `bool`; `None` for
/// other literals.
fn integer_value(value: &Scalar) -> Option<i128> {
    match value.cast(Prim::I64) {
        Some(Scalar::I64(v)) if value.prim().is_some_and(|p| !p.is_float() && p != Prim::U64) => Some(i128::from(v)),
        _ => None,
    }
}
