//! The verifier of Assembly, which checks these rules and no others:
//!
//! 1. Every local, buffer and parameter that occurs exists; the bounds of the chunk are two
//!    different `i64` locals.
//! 2. A constant, a fill and an identity are primitives; the fill of a buffer has the type of its
//!    elements.
//! 3. A buffer of indices has an integer type.
//! 4. The operands of an operator or a comparison have the same type, and so have the two values of
//!    a select. Conditions are `bool`. Positions, lengths, and bounds of loops, lane folds and
//!    sorts are `i64`.
//! 5. An operator is allowed on the type of its operands: `neg`, `abs` on integers and floats;
//!    `not`, `&`, `|`, `^` on integers and `bool`; `ctz`, `clz` on integers; `sqrt`, `floor`,
//!    `ceil`, `trunc`, `round` on floats; `+ - * /` on integers and floats; `%`, `<<`, `>>` on
//!    integers; `min`, `max` and comparisons on everything.
//! 6. A function of the mathematical library has as many arguments as its arity, all `f32` or all
//!    `f64`.
//! 7. A local is assigned values of its type; a stored value has the type of a value loaded from
//!    the same buffer (`i64` for indices).
//! 8. Only owned buffers are stored to, grown and swapped; only owned buffers of indices are sorted
//!    or are keys of sorting; the permutation of `sort_by` is neither of its keys. Swapped buffers
//!    have the same type, class and fill.
//! 9. A `break` is inside a loop.
//! 10. The variable of a `for` is an `i64` local that nothing in the body assigns.
//! 11. The number of lanes of a lane fold is a power of two. The operator is associative and
//!     commutative (`+ * min max & | ^`), and allowed on the accumulator's type. The identity and
//!     the value have that type. The variable is an `i64` local other than the accumulator, and the
//!     value does not read the accumulator.
//! 12. A local is assigned before it is read, on every path. Paths are approximated conservatively:
//!     a condition may be true or false unless it is a constant, a loop may run any number of
//!     times, and a loop variable is unassigned after its loop.

use super::eval::{binary_fn, unary_fn};
use super::{BinaryOp, Buffer, BufferClass, BufferRole, Expr, Function, LaneFold, Local, Stmt};
use redpoll_logic::{Prim, Scalar, plural};
use std::fmt;

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleViolation {
    /// The location: a path of blocks and statement numbers such as `body.3.then.0`, an entry of a
    /// table such as `buffers.0`, or `chunk`.
    pub at: String,
    /// The broken rule, with the offending part.
    pub message: String,
}

impl fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

/// Returns the violations of the rules of the module docs; an empty list if there are none. The
/// body is checked only if the tables and the chunk have no fault.
pub fn verify(function: &Function) -> Vec<RuleViolation> {
    let mut verifier =
        FunctionVerifier { function, violations: vec![], path: vec![], loops: vec![], loop_variables: vec![] };
    verifier.tables();
    if verifier.violations.is_empty() {
        let mut assigned = vec![false; function.locals.len()];
        assigned[function.chunk.0.index()] = true;
        assigned[function.chunk.1.index()] = true;
        verifier.block("body", &function.body, AssignedLocals(Some(assigned)));
    }
    verifier.violations
}

/// The locals that are assigned on every path to a point; `None` if no path reaches the point.
#[derive(Clone, PartialEq)]
struct AssignedLocals(Option<Vec<bool>>);

impl AssignedLocals {
    fn assign(&mut self, local: Local, value: bool) {
        if let Some(slot) = self.0.as_mut().and_then(|s| s.get_mut(local.index())) {
            *slot = value;
        }
    }

    fn meet(self, other: AssignedLocals) -> AssignedLocals {
        AssignedLocals(match (self.0, other.0) {
            (Some(a), Some(b)) => Some(a.iter().zip(&b).map(|(x, y)| *x && *y).collect()),
            (a, b) => a.or(b),
        })
    }
}

struct FunctionVerifier<'f> {
    function: &'f Function,
    violations: Vec<RuleViolation>,
    path: Vec<String>,
    /// For each enclosing loop, the meet of the states at its breaks.
    loops: Vec<AssignedLocals>,
    /// The variables of the enclosing `for` loops.
    loop_variables: Vec<Local>,
}

impl FunctionVerifier<'_> {
    fn report(&mut self, message: impl Into<String>) {
        self.violations.push(RuleViolation { at: self.path.join("."), message: message.into() });
    }

    fn tables(&mut self) {
        let f = self.function;
        for (k, decl) in f.buffers.iter().enumerate() {
            self.path = vec!["buffers".into(), k.to_string()];
            if decl.class == BufferClass::Index && !decl.prim.is_int() {
                self.report(format!("index buffer `{}` has elements of {}, expected integers", decl.name, decl.prim));
            }
            if decl.fill.prim() != Some(decl.prim) {
                let (name, prim, fill) = (&decl.name, decl.prim, decl.fill.dtype());
                self.report(format!("buffer `{name}` has elements of {prim}, but a fill of {fill}"));
            }
        }
        self.path = vec!["chunk".into()];
        for local in [f.chunk.0, f.chunk.1] {
            if self.local(local).is_some_and(|p| p != Prim::I64) {
                self.report("the bounds of the chunk must be i64");
            }
        }
        if f.chunk.0 == f.chunk.1 {
            self.report("the bounds of the chunk are the same local");
        }
        self.path.clear();
    }

    /// Returns the type of a local, or reports a fault if it does not exist.
    fn local(&mut self, local: Local) -> Option<Prim> {
        let prim = self.function.locals.get(local.index()).map(|d| d.prim);
        if prim.is_none() {
            self.report(format!("local {} does not exist; there are {}", local.0, self.function.locals.len()));
        }
        prim
    }

    /// Returns the type of a buffer's values, or reports a fault if the buffer does not exist.
    fn buffer(&mut self, buffer: Buffer) -> Option<Prim> {
        let prim = self.function.buffers.get(buffer.index()).map(super::BufferDecl::value_prim);
        if prim.is_none() {
            self.report(format!("buffer {} does not exist; there are {}", buffer.0, self.function.buffers.len()));
        }
        prim
    }

    fn owned(&mut self, buffer: Buffer, verb: &str) -> Option<Prim> {
        let prim = self.buffer(buffer)?;
        let decl = &self.function.buffers[buffer.index()];
        if decl.role != BufferRole::Owned {
            self.report(format!("{verb} input buffer `{}`, which is read only", decl.name));
        }
        Some(prim)
    }

    fn indices(&mut self, buffer: Buffer) {
        if let Some(decl) = self.function.buffers.get(buffer.index())
            && decl.class != BufferClass::Index
        {
            self.report(format!("buffer `{}` of a sort does not hold indices", decl.name));
        }
    }

    fn constant(&mut self, value: &Scalar) -> Option<Prim> {
        let prim = value.prim();
        if prim.is_none() {
            self.report("a struct is not a constant of Assembly");
        }
        prim
    }

    /// Checks an expression, reports its faults, and returns its type; `None` if a fault leaves the
    /// type unknown.
    fn expr(&mut self, expr: &Expr, state: &AssignedLocals) -> Option<Prim> {
        match expr {
            Expr::Const(value) => self.constant(value),
            Expr::Local(local) => {
                let prim = self.local(*local)?;
                if state.0.as_ref().is_some_and(|s| !s[local.index()]) {
                    let name = &self.function.locals[local.index()].name;
                    self.report(format!("local `{name}` ({}) is read, but not assigned on every path", local.0));
                }
                Some(prim)
            }
            Expr::Param(param) => {
                if param.index() >= self.function.params.len() {
                    self.report(format!(
                        "parameter {} does not exist; there are {}",
                        param.0,
                        self.function.params.len()
                    ));
                }
                Some(Prim::I64)
            }
            Expr::Load { buffer, at } => {
                self.expect(at, Prim::I64, "the position of a load", state);
                self.buffer(*buffer)
            }
            Expr::Unary(op, a) => {
                let prim = self.expr(a, state)?;
                if unary_fn(*op, prim).is_none() {
                    self.report(format!("{} is not defined on {prim}", op.name()));
                }
                Some(prim)
            }
            Expr::Binary(op, a, b) => {
                let prim = self.expect_same(op.name(), a, b, state)?;
                if binary_fn(*op, prim).is_none() {
                    self.report(format!("{} is not defined on {prim}", op.name()));
                }
                Some(prim)
            }
            Expr::Compare(op, a, b) => {
                self.expect_same(op.name(), a, b, state);
                Some(Prim::Bool)
            }
            Expr::Select(cond, a, b) => {
                self.expect(cond, Prim::Bool, "the condition of a select", state);
                self.expect_same("select", a, b, state)
            }
            Expr::Cast(to, a) => {
                self.expr(a, state);
                Some(*to)
            }
            Expr::Math(function, args) => {
                let prims: Vec<_> = args.iter().map(|a| self.expr(a, state)).collect();
                let arity = function.implementation().arity();
                if args.len() != arity {
                    let arguments = plural(arity as u64, "argument", "arguments");
                    self.report(format!("{} takes {arity} {arguments}, not {}", function.name(), args.len()));
                }
                let prim = (*prims.first()?)?;
                if !prim.is_float() || prims.iter().flatten().any(|p| *p != prim) {
                    self.report(format!("arguments of {} are not floats of one type", function.name()));
                }
                Some(prim)
            }
        }
    }

    fn expect_same(&mut self, what: &str, a: &Expr, b: &Expr, state: &AssignedLocals) -> Option<Prim> {
        let (a, b) = (self.expr(a, state), self.expr(b, state));
        let (a, b) = (a?, b?);
        if a != b {
            self.report(format!("operands of {what} are {a} and {b}"));
        }
        Some(a)
    }

    fn expect(&mut self, expr: &Expr, expected: Prim, what: &str, state: &AssignedLocals) {
        if let Some(found) = self.expr(expr, state)
            && found != expected
        {
            self.report(format!("{what} is {found}, expected {expected}"));
        }
    }

    fn block(&mut self, name: &str, block: &[Stmt], mut state: AssignedLocals) -> AssignedLocals {
        self.path.push(name.into());
        for (k, stmt) in block.iter().enumerate() {
            self.path.push(k.to_string());
            state = self.stmt(stmt, state);
            self.path.pop();
        }
        self.path.pop();
        state
    }

    fn stmt(&mut self, stmt: &Stmt, mut state: AssignedLocals) -> AssignedLocals {
        match stmt {
            Stmt::Assign(local, value) => {
                if let Some(prim) = self.local(*local) {
                    self.expect(value, prim, "the assigned value", &state);
                }
                self.check_not_loop_variable(*local);
                state.assign(*local, true);
                state
            }
            Stmt::Store { buffer, at, value, .. } => {
                self.expect(at, Prim::I64, "the position of a store", &state);
                if let Some(prim) = self.owned(*buffer, "store to") {
                    self.expect(value, prim, "the stored value", &state);
                }
                state
            }
            Stmt::If { cond, then, other } => {
                self.expect(cond, Prim::Bool, "the condition of an if", &state);
                let (entered, skipped) = split(cond, &state);
                let then = self.block("then", then, entered);
                let other = self.block("else", other, skipped);
                then.meet(other)
            }
            Stmt::While { cond, body } => {
                forget_loop_variables(body, &mut state);
                self.expect(cond, Prim::Bool, "the condition of a while", &state);
                let (entered, exited) = split(cond, &state);
                self.loops.push(AssignedLocals(None));
                self.block("while", body, entered);
                let breaks = self.loops.pop().expect("pushed above");
                exited.meet(breaks)
            }
            Stmt::For { var, lo, hi, body } => {
                self.expect(lo, Prim::I64, "the lower bound of a for", &state);
                self.expect(hi, Prim::I64, "the upper bound of a for", &state);
                self.loop_variable(*var);
                forget_loop_variables(body, &mut state);
                let mut inside = state.clone();
                inside.assign(*var, true);
                self.loops.push(AssignedLocals(None));
                self.loop_variables.push(*var);
                self.block("for", body, inside);
                self.loop_variables.pop();
                let breaks = self.loops.pop().expect("pushed above");
                let mut after = state.meet(breaks);
                after.assign(*var, false);
                after
            }
            Stmt::Break => {
                let Some(breaks) = self.loops.pop() else {
                    self.report("break outside of a loop");
                    return AssignedLocals(None);
                };
                self.loops.push(breaks.meet(state));
                AssignedLocals(None)
            }
            Stmt::Lanes(fold) => self.lanes(fold, state),
            Stmt::Grow { buffer, len } => {
                self.expect(len, Prim::I64, "the length of a grow", &state);
                self.owned(*buffer, "grow of");
                state
            }
            Stmt::Sort { buffer, lo, hi } => {
                self.expect(lo, Prim::I64, "the lower bound of a sort", &state);
                self.expect(hi, Prim::I64, "the upper bound of a sort", &state);
                self.owned(*buffer, "sort of");
                self.indices(*buffer);
                state
            }
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                self.expect(lo, Prim::I64, "the lower bound of a sort", &state);
                self.expect(hi, Prim::I64, "the upper bound of a sort", &state);
                for buffer in [*perm, *major, *minor] {
                    self.owned(buffer, "sort_by with");
                    self.indices(buffer);
                }
                if perm == major || perm == minor {
                    self.report("a permutation is sorted by itself");
                }
                state
            }
            Stmt::Swap(a, b) => {
                self.owned(*a, "swap of");
                self.owned(*b, "swap of");
                self.check_same_type(*a, *b);
                state
            }
            Stmt::Return(_) => AssignedLocals(None),
            Stmt::Extension(never) => match *never {},
        }
    }

    /// Checks that two swapped buffers have the same type, class and fill, so that all code that
    /// reads or grows them stays valid.
    fn check_same_type(&mut self, a: Buffer, b: Buffer) {
        let buffers = &self.function.buffers;
        let (Some(x), Some(y)) = (buffers.get(a.index()), buffers.get(b.index())) else { return };
        if (x.prim, x.class, &x.fill) != (y.prim, y.class, &y.fill) {
            let (x, y) = (&x.name, &y.name);
            self.report(format!("swapped buffers `{x}` and `{y}` differ in type, class or fill"));
        }
    }

    fn check_not_loop_variable(&mut self, local: Local) {
        if self.loop_variables.contains(&local) {
            let name = &self.function.locals[local.index()].name;
            self.report(format!(
                "local `{name}` ({}) is a loop variable, but is assigned in the body of its loop",
                local.0
            ));
        }
    }

    fn loop_variable(&mut self, var: Local) {
        if let Some(prim) = self.local(var)
            && prim != Prim::I64
        {
            self.report(format!("the loop variable is {prim}, expected i64"));
        }
        self.check_not_loop_variable(var);
    }

    fn lanes(&mut self, fold: &LaneFold, mut state: AssignedLocals) -> AssignedLocals {
        self.expect(&fold.lo, Prim::I64, "the lower bound of a lane fold", &state);
        self.expect(&fold.hi, Prim::I64, "the upper bound of a lane fold", &state);
        self.loop_variable(fold.var);
        self.check_not_loop_variable(fold.acc);
        if !fold.lanes.is_power_of_two() {
            self.report(format!("{} lanes are not a power of two", fold.lanes));
        }
        if !fold.op.can_fold() {
            self.report(format!("{} is not associative and commutative", fold.op.name()));
        }
        if fold.acc == fold.var || fold.value.mentions(fold.acc) {
            self.report("the accumulator of a lane fold is its variable or occurs in its value");
        }
        let acc = self.expr(&Expr::Local(fold.acc), &state);
        let identity = self.constant(&fold.identity);
        state.assign(fold.var, true);
        if let (Some(acc), Some(identity)) = (acc, identity) {
            self.expect(&fold.value, acc, "the value of a lane fold", &state);
            if identity != acc {
                self.report(format!("the identity is {identity}, expected {acc}"));
            }
            if binary_fn(fold.op, acc).is_none() {
                self.report(format!("{} is not defined on {acc}", fold.op.name()));
            }
        }
        state.assign(fold.var, false);
        state
    }
}

impl BinaryOp {
    /// Returns whether the operator is associative and commutative, up to the rounding of floats,
    /// so that lanes can be folded by it.
    pub fn can_fold(self) -> bool {
        use BinaryOp::{Add, And, Max, Min, Mul, Or, Xor};
        matches!(self, Add | Mul | Min | Max | And | Or | Xor)
    }
}

/// Returns the states where a condition is true and where it is false.
fn split(cond: &Expr, state: &AssignedLocals) -> (AssignedLocals, AssignedLocals) {
    match cond {
        Expr::Const(Scalar::Bool(true)) => (state.clone(), AssignedLocals(None)),
        Expr::Const(Scalar::Bool(false)) => (AssignedLocals(None), state.clone()),
        _ => (state.clone(), state.clone()),
    }
}

/// Marks the variables of the loops and lane folds in a loop body as unassigned, because a loop
/// variable is unassigned after its loop, and so when the next round starts.
fn forget_loop_variables(body: &[Stmt], state: &mut AssignedLocals) {
    for stmt in body {
        match stmt {
            Stmt::For { var, .. } => state.assign(*var, false),
            Stmt::Lanes(fold) => state.assign(fold.var, false),
            _ => {}
        }
        for inner in stmt.bodies() {
            forget_loop_variables(inner, state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::parse;
    use super::*;

    /// Verifies a function with the statements `body`, with buffers of each kind and locals of
    /// several types.
    fn check(body: &str, expected: &[&str]) {
        let text = format!(
            "fn f($n) {{
               input src: value f64
               input ptr: index i32
               owned out: value f64
               owned idx: index u32
               owned perm: index u32
               local lo: i64 local hi: i64 local i: i64 local j: i64 local x: f64 local y: f32 local b: bool
               chunk lo, hi
               {body}
             }}"
        );
        let violations = verify(&parse(&text).unwrap());
        assert_eq!(violations.iter().map(RuleViolation::to_string).collect::<Vec<_>>(), expected, "{body}");
    }

    #[test]
    fn right_functions_pass() {
        check("for i in lo..hi { x = src[ptr[i] + 1] grow out, i + 1 out[i] = x + f64(i) }", &[]);
        check("while true { x = 1.0 break } x = x + 1.0", &[]);
        check("if lo < hi { x = 1.0 } else { return done } x = x + 1.0", &[]);
        check("if lo < hi { i = 1 } else { i = 2 } sort idx in 0..i sort_by perm by idx, idx in 0..i", &[]);
        check("x = 0.0 fold x by + from 0.0 lanes 4 for i in lo..hi: src[i]", &[]);
    }

    #[test]
    fn every_rule_is_checked() {
        let rows: &[(&str, &[&str])] = &[
            ("#9 = 1", &["body.0: local 9 does not exist; there are 7"]),
            ("x = #9[0]", &["body.0: buffer 9 does not exist; there are 5"]),
            ("i = $#4", &["body.0: parameter 4 does not exist; there are 1"]),
            ("i = lo + 1.0", &["body.0: operands of + are i64 and f64"]),
            ("b = lo < 1.0", &["body.0: operands of < are i64 and f64"]),
            ("i = select(lo, 1, 2)", &["body.0: the condition of a select is i64, expected bool"]),
            ("i = select(true, 1, 2.0)", &["body.0: operands of select are i64 and f64"]),
            ("if lo { }", &["body.0: the condition of an if is i64, expected bool"]),
            ("while lo { }", &["body.0: the condition of a while is i64, expected bool"]),
            ("x = src[1.0]", &["body.0: the position of a load is f64, expected i64"]),
            ("out[1.0] = 1.0", &["body.0: the position of a store is f64, expected i64"]),
            ("grow out, 1.0", &["body.0: the length of a grow is f64, expected i64"]),
            ("for i in 0.0..1 { }", &["body.0: the lower bound of a for is f64, expected i64"]),
            ("for i in 0..1.0 { }", &["body.0: the upper bound of a for is f64, expected i64"]),
            ("sort idx in 0..1.0", &["body.0: the upper bound of a sort is f64, expected i64"]),
            ("x = 1.0 % 2.0", &["body.0: % is not defined on f64"]),
            ("x = not(1.0)", &["body.0: not is not defined on f64"]),
            ("i = sqrt(lo)", &["body.0: sqrt is not defined on i64"]),
            ("b = true + false", &["body.0: + is not defined on bool"]),
            (
                "x = exp(lo)",
                &[
                    "body.0: arguments of exp are not floats of one type",
                    "body.0: the assigned value is i64, expected f64",
                ],
            ),
            ("x = pow(1.0, 1.0_f32)", &["body.0: arguments of pow are not floats of one type"]),
            ("x = 1", &["body.0: the assigned value is i64, expected f64"]),
            ("idx[0] = 1_u32", &["body.0: the stored value is u32, expected i64"]),
            ("src[0] = 1.0", &["body.0: store to input buffer `src`, which is read only"]),
            ("grow src, 3", &["body.0: grow of input buffer `src`, which is read only"]),
            ("sort ptr in 0..1", &["body.0: sort of input buffer `ptr`, which is read only"]),
            ("sort out in 0..1", &["body.0: buffer `out` of a sort does not hold indices"]),
            ("sort_by perm by idx, perm in 0..1", &["body.0: a permutation is sorted by itself"]),
            ("if true { break }", &["body.0.then.0: break outside of a loop"]),
            (
                "for i in 0..1 { i = 2 }",
                &["body.0.for.0: local `i` (2) is a loop variable, but is assigned in the body of its loop"],
            ),
            (
                "for i in 0..1 { for i in 0..2 { } }",
                &["body.0.for.0: local `i` (2) is a loop variable, but is assigned in the body of its loop"],
            ),
            ("for x in 0..1 { }", &["body.0: the loop variable is f64, expected i64"]),
            ("x = 0.0 fold x by + from 0.0 lanes 3 for i in 0..1: src[i]", &["body.1: 3 lanes are not a power of two"]),
            (
                "x = 0.0 fold x by - from 0.0 lanes 2 for i in 0..1: src[i]",
                &["body.1: - is not associative and commutative"],
            ),
            ("x = 0.0 fold x by & from 0.0 lanes 2 for i in 0..1: src[i]", &["body.1: & is not defined on f64"]),
            (
                "x = 0.0 fold x by + from 0 lanes 2 for i in 0..1: src[i]",
                &["body.1: the identity is i64, expected f64"],
            ),
            (
                "x = 0.0 fold x by + from 0.0 lanes 2 for i in 0..1: i",
                &["body.1: the value of a lane fold is i64, expected f64"],
            ),
            (
                "x = 0.0 fold x by + from 0.0 lanes 2 for i in 0..1: x",
                &["body.1: the accumulator of a lane fold is its variable or occurs in its value"],
            ),
            (
                "i = 0 fold i by + from 0 lanes 2 for i in 0..1: 1",
                &["body.1: the accumulator of a lane fold is its variable or occurs in its value"],
            ),
            ("x = x", &["body.0: local `x` (4) is read, but not assigned on every path"]),
            ("if lo < hi { x = 1.0 } x = x", &["body.1: local `x` (4) is read, but not assigned on every path"]),
            ("while lo < hi { x = 1.0 } x = x", &["body.1: local `x` (4) is read, but not assigned on every path"]),
            (
                "while true { if lo < hi { break } x = 1.0 } x = x",
                &["body.1: local `x` (4) is read, but not assigned on every path"],
            ),
            ("for i in 0..1 { } j = i", &["body.1: local `i` (2) is read, but not assigned on every path"]),
            (
                "i = 0 while lo < hi { j = i for i in 0..1 { } }",
                &["body.1.while.0: local `i` (2) is read, but not assigned on every path"],
            ),
        ];
        for (body, expected) in rows {
            check(body, expected);
        }
    }

    #[test]
    fn tables_are_checked() {
        let rows = [
            (
                "input a: index f64 local lo: i64 local hi: i64",
                "buffers.0: index buffer `a` has elements of f64, expected integers",
            ),
            (
                "owned a: value f64 fill 1 local lo: i64 local hi: i64",
                "buffers.0: buffer `a` has elements of f64, but a fill of i64",
            ),
            ("local lo: f64 local hi: i64", "chunk: the bounds of the chunk must be i64"),
        ];
        for (tables, expected) in rows {
            let violations = verify(&parse(&format!("fn f() {{ {tables} chunk lo, hi }}")).unwrap());
            assert_eq!(violations.iter().map(RuleViolation::to_string).collect::<Vec<_>>(), [expected]);
        }
        let violations = verify(&parse("fn f() { local lo: i64 chunk lo, #0 }").unwrap());
        assert_eq!(violations[0].to_string(), "chunk: the bounds of the chunk are the same local");
        let violations = verify(&parse("fn f() { local lo: i64 chunk lo, #1 }").unwrap());
        assert_eq!(violations[0].to_string(), "chunk: local 1 does not exist; there are 1");
    }
}
