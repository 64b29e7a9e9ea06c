//! Pass `bounds`: proves that coordinates are in bounds, or leaves them to checks at run time.
//!
//! Input: a program in normal form. Output: the same program, with [`Bounds`] for each subscript
//! that came from a text.
//!
//! A coordinate is a linear form of indices and variables. Its least and its greatest value are
//! derived atom by atom, from the deepest bound one on, from the binders of the atoms:
//! - the extent of a loop: constants, linear forms of outer atoms, the arguments of a `min` as the
//!   end and of a `max` as the begin;
//! - the value of a `let`: linear forms, `min`, `max`, `rem`, `floordiv`, `ifelse`, casts and
//!   reads. A read is bounded by its dtype, and by the least and the greatest value of its input if
//!   they are given: an index tensor is scanned once, not in each round;
//! - comparisons between linear forms in the enclosing conditions.
//!
//! A coordinate proved without conditions is [`Bounds::Proved`], for loops have no other rounds.
//! One proved only under a condition is [`Bounds::Guarded`]: lowering may locate a coordinate
//! before it evaluates the condition, and must not access memory there. All others are
//! [`Bounds::Checked`].
//!
//! The derivation uses integers of unlimited range. A range, value or comparison whose side may
//! leave the range of `i64`, where sums wrap around, is not used on the side where that would
//! matter.
//!
//! A check belongs to an access, not to a statement. Engines may skip it where the value of the
//! access does not matter: the value is annihilated, or an outer subscript found a fiber that is
//! not stored.

use super::linear::{Atom, Linear};
use super::visit::sure;
use super::{Access, Bounds, Expr, Index, Program, Site, Stmt, Subscript, TensorId, Var};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Prim, Scalar};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

/// The least and the greatest of a tensor's stored values and fill value; `None` if unknown.
pub type Ranges<'a> = &'a dyn Fn(TensorId) -> Option<(i64, i64)>;

/// The range of `i64`.
const ALL: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);

/// Maximum number of bounds through which a form is substituted.
const MOST_STEPS: usize = 200;

/// Decides for each checked subscript whether it is proved, guarded or checked.
pub fn bounds(mut program: Program, ranges: Ranges<'_>) -> Program {
    let body = std::mem::replace(&mut program.body, Stmt::Block(Vec::new()));
    let mut pass = Pass { program: &program, ranges, atoms: HashMap::new(), guards: Vec::new() };
    let body = pass.stmt(body);
    Program { body, ..program }
}

/// A subscript that is checked at run time.
#[derive(Clone, PartialEq, Debug)]
pub struct Checked {
    /// The tensor.
    pub tensor: TensorId,
    /// The storage mode.
    pub mode: usize,
    /// The subscript in the text of the program.
    pub site: Arc<Site>,
}

/// Returns the checked subscripts of a program, each once, in the order of execution.
pub fn checks(program: &Program) -> Vec<Checked> {
    let mut found: Vec<Checked> = Vec::new();
    let mut access = |a: &Access| {
        for (mode, s) in a.subscripts.iter().enumerate() {
            if let (Bounds::Checked(site), None) = (&s.bounds, &s.outside) {
                let check = Checked { tensor: a.tensor, mode, site: site.clone() };
                let is = |c: &Checked| c.tensor == a.tensor && c.mode == mode && Arc::ptr_eq(&c.site, site);
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
struct Known {
    /// The number of atoms bound outside.
    depth: usize,
    /// Lower bounds: forms of outer atoms that are at most the atom.
    least: Vec<Linear>,
    /// Upper bounds: forms of outer atoms that are at least the atom.
    greatest: Vec<Linear>,
}

struct Pass<'a> {
    program: &'a Program,
    ranges: Ranges<'a>,
    atoms: HashMap<Atom, Known>,
    /// Forms that the enclosing conditions prove to be non-negative at the current statement.
    guards: Vec<Linear>,
}

/// An end of the range of a form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Least,
    Greatest,
}

impl Pass<'_> {
    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        let stmt = sure(stmt.map_exprs(&mut |e| {
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
        let stmt = sure(stmt.map_children(&mut |s| Ok::<_, Infallible>(self.stmt(s))));
        self.guards.truncate(guards);
        stmt
    }

    fn access(&self, a: Access) -> Access {
        let ty = &self.program.tensors[a.tensor.index()].ty;
        let sizes = ty.format.storage_shape(&ty.shape);
        let decided = |(s, size): (Subscript, u64)| match s.bounds {
            Bounds::Checked(_) => Subscript { bounds: self.decide(&s, size), ..s },
            _ => s,
        };
        Access { subscripts: a.subscripts.into_iter().zip(sizes).map(decided).collect(), ..a }
    }

    fn decide(&self, s: &Subscript, size: u64) -> Bounds {
        let Some(form) = Linear::of(&s.at) else { return s.bounds.clone() };
        let inside = |guards: &[Linear]| {
            let end = |end| self.end(&form, end, guards, &mut MOST_STEPS.clone());
            end(End::Least) >= 0 && end(End::Greatest) < i128::from(size)
        };
        match () {
            () if inside(&[]) => Bounds::Proved,
            () if inside(&self.guards) => Bounds::Guarded,
            () => s.bounds.clone(),
        }
    }

    fn bind(&mut self, atom: Atom, least: Vec<Linear>, greatest: Vec<Linear>) {
        let depth = self.atoms.len();
        self.atoms.insert(atom, Known { depth, least, greatest });
    }

    fn bind_index(&mut self, index: Index, lo: &Expr, hi: &Expr) {
        let least = self.forms(lo, End::Least);
        let greatest = self.forms(hi, End::Greatest).into_iter().filter_map(|f| f.plus(&Linear::constant(-1)));
        let greatest = greatest.collect();
        self.bind(Atom::Index(index), least, greatest);
    }

    fn bind_var(&mut self, var: Var, value: &Expr) {
        let dtype = &self.program.vars[var.index()].1;
        let [least, greatest] = match dtype.prim() {
            Some(prim) if !prim.is_float() && prim != Prim::U64 => {
                [End::Least, End::Greatest].map(|end| self.forms(value, end))
            }
            _ => [Vec::new(), Vec::new()],
        };
        self.bind(Atom::Var(var), least, greatest);
    }

    /// Returns forms that bound the value of an expression: lower bounds for `End::Least`, upper
    /// bounds for `End::Greatest`.
    fn forms(&self, e: &Expr, end: End) -> Vec<Linear> {
        let part = match end {
            End::Least => Builtin::Max,
            End::Greatest => Builtin::Min,
        };
        if let Some(form) = Linear::of(e) {
            // A sum that wraps around differs from the form.
            let wraps = match end {
                End::Least => self.end(&form, End::Greatest, &[], &mut MOST_STEPS.clone()) > ALL.1,
                End::Greatest => self.end(&form, End::Least, &[], &mut MOST_STEPS.clone()) < ALL.0,
            };
            return if wraps { Vec::new() } else { vec![form] };
        }
        match e {
            Expr::Call(Op::Builtin(op), args) if *op == part => args.iter().flat_map(|a| self.forms(a, end)).collect(),
            e => {
                let (least, greatest) = self.values(e);
                let known = if end == End::Least { least } else { greatest };
                i64::try_from(known).ok().map(Linear::constant).into_iter().collect()
            }
        }
    }

    /// Adds the facts about linear forms that a condition implies to the guards.
    fn assume(&mut self, cond: &Expr) {
        let Expr::Call(Op::Builtin(op), args) = cond else { return };
        let (a, b) = match (op, &args[..]) {
            (Builtin::And, args) => return args.iter().for_each(|a| self.assume(a)),
            (_, [a, b]) => (a, b),
            _ => return,
        };
        let (low, high, apart) = match op {
            Builtin::Lt => (a, b, 1),
            Builtin::Le => (a, b, 0),
            Builtin::Gt => (b, a, 1),
            Builtin::Ge => (b, a, 0),
            Builtin::Eq => {
                self.assume_apart(a, b, 0);
                (b, a, 0)
            }
            _ => return,
        };
        self.assume_apart(low, high, apart);
    }

    /// Adds the fact `low + apart <= high` to the guards, if neither side wraps around.
    fn assume_apart(&mut self, low: &Expr, high: &Expr, apart: i64) {
        let whole = |e: &Expr| {
            let form = Linear::of(e)?;
            let end = |end| self.end(&form, end, &[], &mut MOST_STEPS.clone());
            (end(End::Least) >= ALL.0 && end(End::Greatest) <= ALL.1).then_some(form)
        };
        let (Some(low), Some(high)) = (whole(low), whole(high)) else { return };
        let difference = low.times(-1).and_then(|low| high.plus(&low)?.plus(&Linear::constant(-apart)));
        self.guards.extend(difference);
    }

    /// Returns the tightest provable bound of a form at one end, in whole numbers.
    fn end(&self, form: &Linear, end: End, guards: &[Linear], steps: &mut usize) -> i128 {
        let depth = |atom: Atom| self.atoms.get(&atom).map_or(0, |known| known.depth + 1);
        let Some((atom, c)) = form.deepest(&depth) else { return i128::from(form.constant) };
        let worst = if end == End::Least { i128::MIN } else { i128::MAX };
        if *steps == 0 {
            return worst;
        }
        *steps -= 1;
        let below = (c > 0) == (end == End::Least);
        let rest = form.without(atom);
        let better = |a: i128, b: i128| if end == End::Least { a.max(b) } else { a.min(b) };
        // An atom alone is an arbitrary `i64`.
        let any = i128::from(c) * if below { ALL.0 } else { ALL.1 };
        let mut best = self.end(&rest, end, guards, steps).saturating_add(any);
        let known = self.atoms.get(&atom);
        let bound = known.into_iter().flat_map(|k| if below { &k.least } else { &k.greatest }).cloned();
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
    fn values(&self, e: &Expr) -> (i128, i128) {
        // Arithmetic wraps around in the dtype of its result.
        let held = of_prim(super::dtype_of(self.program, e).ok().and_then(|dtype| dtype.prim()));
        let within = |(least, greatest): (i128, i128)| {
            if least >= held.0 && greatest <= held.1 { (least, greatest) } else { held }
        };
        if let Some(form) = Linear::of(e) {
            let end = |end| self.end(&form, end, &[], &mut MOST_STEPS.clone());
            return within((end(End::Least), end(End::Greatest)));
        }
        match e {
            Expr::Access(a) if a.subscripts.iter().all(|s| s.outside.is_none()) => {
                self.range(a.tensor).map_or(held, |(least, greatest)| within((i128::from(least), i128::from(greatest))))
            }
            Expr::Literal(value) => whole(value).map_or(held, |v| (v, v)),
            Expr::Call(Op::Builtin(op), args) => within(self.called(*op, args)),
            Expr::Access(_) | Expr::Call(Op::User(_), _) | Expr::Index(_) | Expr::Var(_) => held,
        }
    }

    /// Returns the least and the greatest value of a tensor. Bounds of shares are computed by this
    /// crate and checked when they are bound, so they are not negative.
    fn range(&self, tensor: TensorId) -> Option<(i64, i64)> {
        let shares = self.program.shares.iter().any(|s| s.input == tensor);
        if shares { Some((0, i64::MAX)) } else { (self.ranges)(tensor) }
    }

    /// Returns the least and the greatest value of an operator, without regard to wrapping.
    fn called(&self, op: Builtin, args: &[Expr]) -> (i128, i128) {
        let values: Vec<(i128, i128)> = args.iter().map(|a| self.values(a)).collect();
        let fold =
            |f: &dyn Fn((i128, i128), (i128, i128)) -> (i128, i128)| values.iter().copied().reduce(f).unwrap_or(ALL);
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
                (ends.into_iter().min().unwrap_or(ALL.0), ends.into_iter().max().unwrap_or(ALL.1))
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
                let held = of_prim(Some(to));
                let from = super::dtype_of(self.program, &args[0]).ok().and_then(|dtype| dtype.prim());
                let integer = from.is_some_and(|prim| !prim.is_float());
                if integer && a.0 >= held.0 && a.1 <= held.1 { *a } else { held }
            }
            _ => ALL,
        }
    }
}

/// Returns the range of an integer primitive or `bool`; the range of `i64` for others.
fn of_prim(prim: Option<Prim>) -> (i128, i128) {
    match prim {
        Some(Prim::Bool) => (0, 1),
        Some(Prim::U64) => (0, i128::from(u64::MAX)),
        Some(prim) if !prim.is_float() => {
            let all = 1i128 << prim.bits();
            if prim.is_signed() { (-all / 2, all / 2 - 1) } else { (0, all - 1) }
        }
        _ => ALL,
    }
}

/// Returns the value of a literal of an integer primitive (but `u64`) or `bool`.
fn whole(value: &Scalar) -> Option<i128> {
    match value.cast(Prim::I64) {
        Some(Scalar::I64(v)) if value.prim().is_some_and(|p| !p.is_float() && p != Prim::U64) => Some(i128::from(v)),
        _ => None,
    }
}
