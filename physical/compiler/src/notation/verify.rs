//! The rules of Notation, and the verifier that checks them.
//!
//! [`verify`] checks programs with explicit lifecycles; loops may leave out extents, and outputs
//! and locals may leave out dimensions. The rules, by [`ProgramRule`]:
//! - **tables**: every id is in its table, and tensor names are unique. A tensor's format fits its
//!   shape, its fill value has its dtype, a dimension is at most `i64::MAX`, and only outputs and
//!   locals have open dimensions. Levels of inputs are ordered. The tensors of a
//!   [`BlockInputs`](super::BlockInputs) are inputs, its modes can be cut into blocks, and its
//!   bounds have the expected types.
//! - **scope**: an index is used inside the only loop that binds it, a variable inside the only
//!   `let` that binds it.
//! - **rank**: an access has one subscript per storage mode.
//! - **dtype**: subscripts and extents are `i64`, conditions `bool`. Arguments have the dtypes of
//!   their operator's signature, and operators have no cases that depend on the stored entries. A
//!   variable has the dtype of its value. A right-hand side and the value of an `outside` have the
//!   dtype of their tensor, and the operator of a fold preserves it.
//! - **lifecycle**: an output or local is declared once, then written, frozen, read, thawed,
//!   written, and so on. The tensor is written only after a declare or thaw and before the next
//!   freeze, and read only when frozen; so an assignment never reads and writes one tensor. A loop,
//!   `if` or `while` restores the state of every tensor of the outer scope; the life of a tensor
//!   that is declared inside a body ends with the body. (`let`, `where` and blocks open no scope.)
//!   If an outer tensor has a level that is not dense, and the body of a loop swaps the tensor or
//!   changes its state, the index of the loop occurs in no subscript of that tensor. (A fiber is
//!   looked up where the loop over the fiber begins.)
//! - **swap**: two locals of one type, both frozen (rule **lifecycle**), exchange their contents;
//!   scalars are bound by `let` instead.
//! - **role**: inputs are not declared, frozen, thawed or written; outputs are declared outside of
//!   all bodies and frozen at the end.
//! - **write**: a written subscript has no `outside`. A pattern leaf (`LeafKind::Pattern`) is a
//!   leaf without values, which stores only `true`. In the normal form, a pattern leaf is written
//!   by `init`, by folds that agree with `or`, and by `=` with the literal `true`, because a write
//!   cannot remove a stored entry.
//! - **init**: no entry is provably written twice by `Write::Init` after the declaration. Every
//!   loop after the declaration that provably has at least two rounds has its index in a subscript,
//!   unless there is a condition between the loop and the write. (An index may occur through a
//!   variable, or through the extent of a loop whose index occurs.) No two such writes of one
//!   tensor in one block have equal subscripts.
//! - **pattern**: an output with the pattern of an input has the shape and the levels of the input.
//!   There is at least one level, no level stores runs, and the leaf of the output has values. The
//!   output is not read, thawed or overwritten. Where the input has its fill value, a write at the
//!   same subscripts does not change the output's fill value. The verifier proves this from the
//!   properties of the operators. It assumes only that a read of the input at those subscripts,
//!   without an `outside`, gives the fill value of the input.
//! - **while**: the condition reads only scalars (rank 0), and the body writes at least one of
//!   these scalars.
//!
//! [`verify_normal`] also checks (rule **normal**) that the program is in the normal form that
//! [`normalize`](super::normalize) establishes and lowering takes, and (rule **order**) that
//! appended levels are written in order; see the module `order`. The rules **parallel** and
//! **schedule** are not checked here, but where loops are cut (`cut`) and where schedules are
//! applied (`schedule`).

use super::linear::Atom;
use super::text::{label, print_expr};
use super::types::dtype_of;
use super::{Access, Expr, Index, Program, Role, Stmt, TensorId, Var, Write, normal, order, pattern, tables};
use crate::Error;
use redpoll_logic::DType;
use std::collections::{HashMap, HashSet};

/// A group of rules. The docs of the module `verify` list the rules of each group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ProgramRule {
    /// Tables of tensors, indices and variables are well-formed.
    Tables,
    /// Indices and variables are used where they are bound.
    Scope,
    /// Accesses have one subscript per storage mode.
    Rank,
    /// Dtypes agree.
    DType,
    /// Tensors are declared, written, frozen, read and thawed in order.
    Lifecycle,
    /// Only locals of one type that are not scalars are swapped.
    Swap,
    /// Inputs are only read; outputs are declared outside of all bodies and frozen at the end.
    Role,
    /// A written subscript has no `outside`, and a leaf without values loses no entry.
    Write,
    /// No entry is provably initialized twice.
    Init,
    /// An output with the pattern of an input fits the input.
    Pattern,
    /// The condition of a `while` reads only scalars, and can change.
    While,
    /// The program is in the normal form that lowering takes.
    Normal,
    /// Appended levels are written in order.
    Order,
    /// Parallel loops can be cut into chunks.
    Parallel,
    /// The preconditions of transformations hold.
    Schedule,
}

/// Checks every rule of the module except for those of the normal form.
///
/// # Errors
/// The first broken rule, with its location.
pub fn verify(program: &Program) -> Result<(), Error> {
    tables::check(program)?;
    let mut v = ProgramVerifier {
        program,
        path: Vec::new(),
        indices: HashMap::new(),
        vars: HashMap::new(),
        states: program
            .tensors
            .iter()
            .map(|t| if t.role == Role::Input { LifecycleState::Frozen } else { LifecycleState::Undeclared })
            .collect(),
        declared: vec![None; program.tensors.len()],
        binders: Vec::new(),
        bodies: 0,
    };
    v.stmt(&program.body)?;
    v.check_outputs_frozen()?;
    pattern::check(program)
}

/// Checks every rule of the module, including those of the normal form.
///
/// # Errors
/// The first broken rule, with its location.
pub fn verify_normal(program: &Program) -> Result<(), Error> {
    verify(program)?;
    normal::check(program)?;
    order::check(program)
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum LifecycleState {
    Undeclared,
    Writable,
    Frozen,
}

/// A binder or condition around a statement.
enum ScopeEntry<'a> {
    Loop { index: Index, extent: Option<&'a (Expr, Expr)> },
    Let { var: Var, value: &'a Expr },
    Condition,
}

struct ProgramVerifier<'a> {
    program: &'a Program,
    path: Vec<&'a Stmt>,
    /// Every index found so far, with `true` if it is in scope.
    indices: HashMap<Index, bool>,
    /// Every variable found so far, with `true` if it is in scope.
    vars: HashMap<Var, bool>,
    states: Vec<LifecycleState>,
    /// For each tensor, the number of `binders` around its declaration; `None` before the
    /// declaration.
    declared: Vec<Option<usize>>,
    binders: Vec<ScopeEntry<'a>>,
    /// The number of enclosing bodies of loops, `if` and `while`.
    bodies: usize,
}

impl<'a> ProgramVerifier<'a> {
    fn stmt(&mut self, stmt: &'a Stmt) -> Result<(), Error> {
        self.path.push(stmt);
        match stmt {
            Stmt::Block(stmts) => {
                self.check_twin_inits(stmts)?;
                stmts.iter().try_for_each(|s| self.stmt(s))?;
            }
            Stmt::For { index, extent, body, .. } => {
                for e in extent.iter().flat_map(|(lo, hi)| [lo, hi]) {
                    self.expect(e, &DType::I64, "an extent")?;
                }
                if self.indices.insert(*index, true).is_some() {
                    let name = &self.program.indices[index.index()];
                    return self.fail(ProgramRule::Scope, format!("index `{name}` is bound twice; rename one"));
                }
                self.check_state_changes(*index, body)?;
                self.body(ScopeEntry::Loop { index: *index, extent: extent.as_ref() }, body)?;
                self.indices.insert(*index, false);
            }
            Stmt::If { cond, body } => {
                self.expect(cond, &DType::BOOL, "a condition")?;
                self.body(ScopeEntry::Condition, body)?;
            }
            Stmt::While { cond, body } => {
                self.expect(cond, &DType::BOOL, "a condition")?;
                self.check_can_end(cond, body)?;
                self.body(ScopeEntry::Condition, body)?;
            }
            Stmt::Let { var, value, body } => {
                let (name, dtype) = self.program.vars[var.index()].clone();
                self.expect(value, &dtype, "the value of the variable")?;
                if self.vars.insert(*var, true).is_some() {
                    return self.fail(ProgramRule::Scope, format!("variable `{name}` is bound twice; rename one"));
                }
                self.binders.push(ScopeEntry::Let { var: *var, value });
                self.stmt(body)?;
                self.binders.pop();
                self.vars.insert(*var, false);
            }
            Stmt::Where { consumer, producer } => {
                self.stmt(producer)?;
                self.stmt(consumer)?;
            }
            Stmt::Declare(t) => self.declare(*t)?,
            Stmt::Freeze(t) => self.change_state(*t, LifecycleState::Writable, LifecycleState::Frozen)?,
            Stmt::Thaw(t) => self.change_state(*t, LifecycleState::Frozen, LifecycleState::Writable)?,
            Stmt::Swap(t, u) => self.swap(*t, *u)?,
            Stmt::Assign { lhs, write, rhs } => self.assign(lhs, write, rhs)?,
        }
        self.path.pop();
        Ok(())
    }

    /// Checks a body that may run any number of times: the body must restore the state of outer
    /// tensors.
    fn body(&mut self, binder: ScopeEntry<'a>, body: &'a Stmt) -> Result<(), Error> {
        let states = self.states.clone();
        self.binders.push(binder);
        self.bodies += 1;
        self.stmt(body)?;
        self.bodies -= 1;
        self.binders.pop();
        for (k, &initial) in states.iter().enumerate() {
            if initial == LifecycleState::Undeclared {
                self.states[k] = LifecycleState::Undeclared;
            } else if initial != self.states[k] {
                let name = &self.program.tensors[k].name;
                let (initial, is) = (initial.phrase(), self.states[k].phrase());
                return self.fail(
                    ProgramRule::Lifecycle,
                    format!(
                        "`{name}` {initial} before the body and {is} after it; restore the state at the end of the body"
                    ),
                );
            }
        }
        Ok(())
    }

    fn declare(&mut self, t: TensorId) -> Result<(), Error> {
        let name = self.check_not_input(t, "declared")?;
        if self.declared[t.index()].is_some() {
            return self.fail(ProgramRule::Lifecycle, format!("`{name}` is declared twice; use two tensors"));
        }
        if self.program.tensors[t.index()].role == Role::Output && self.bodies > 0 {
            let what = format!(
                "output `{name}` is declared inside a body and would end with the body; declare it outside of all bodies"
            );
            return self.fail(ProgramRule::Role, what);
        }
        self.declared[t.index()] = Some(self.binders.len());
        self.states[t.index()] = LifecycleState::Writable;
        Ok(())
    }

    fn change_state(&mut self, t: TensorId, from: LifecycleState, to: LifecycleState) -> Result<(), Error> {
        let name = self.check_not_input(t, "frozen or thawed")?;
        let is = self.states[t.index()];
        if is != from {
            let expected = if from == LifecycleState::Frozen { "frozen" } else { "writable" };
            let what = format!("`{name}` {}, expected it to be {expected}", is.phrase());
            return self.fail(ProgramRule::Lifecycle, what);
        }
        self.states[t.index()] = to;
        Ok(())
    }

    fn swap(&self, t: TensorId, u: TensorId) -> Result<(), Error> {
        let [a, b] = [t, u].map(|t| &self.program.tensors[t.index()]);
        for (t, tensor) in [(t, a), (u, b)] {
            let (name, state) = (&tensor.name, self.states[t.index()]);
            if tensor.role != Role::Local {
                return self.fail(
                    ProgramRule::Swap,
                    format!("`{name}` is swapped, but only locals can be; copy it in a loop"),
                );
            }
            if tensor.ty.format.modes.is_empty() {
                return self.fail(ProgramRule::Swap, format!("scalar `{name}` is swapped; bind its value by a `let`"));
            }
            let problem = match state {
                LifecycleState::Frozen => continue,
                LifecycleState::Undeclared => "but not declared; declare and freeze it first",
                LifecycleState::Writable => "while it is written; freeze it first",
            };
            return self.fail(ProgramRule::Lifecycle, format!("`{name}` is swapped {problem}"));
        }
        if a.ty != b.ty {
            let (a, b) = (&a.name, &b.name);
            return self.fail(
                ProgramRule::Swap,
                format!("`{a}` and `{b}` are swapped, but they differ in shape, dtype, fill value or format"),
            );
        }
        Ok(())
    }

    /// Checks the outer tensors with a level that is not dense. If the body of a loop accesses such
    /// a tensor by the index of the loop, the body must neither swap the tensor nor change its
    /// state. The reason is that a fiber of the level is looked up where the loop over the fiber
    /// begins.
    fn check_state_changes(&self, index: Index, body: &Stmt) -> Result<(), Error> {
        let mut outcome = Ok(());
        let mut check = |a: &Access| {
            let tensor = &self.program.tensors[a.tensor.index()];
            let is_outer = self.states[a.tensor.index()] != LifecycleState::Undeclared;
            let resolved = a.subscripts.iter().any(|s| s.at.atoms().contains(&Atom::Index(index)));
            if outcome.is_ok() && tensor.is_looked_up() && is_outer && resolved && body.changes_state(a.tensor) {
                let (name, index) = (&tensor.name, &self.program.indices[index.index()]);
                let what = format!(
                    "the body of the loop of `{index}` swaps `{name}` or changes its state, but accesses `{name}` by \
                     `{index}`; access `{name}` in a loop of its own"
                );
                outcome = self.fail(ProgramRule::Lifecycle, what);
            }
        };
        body.walk(&mut |s| {
            s.exprs().into_iter().flat_map(Expr::accesses).for_each(&mut check);
            if let Stmt::Assign { lhs, .. } = s {
                check(lhs);
            }
        });
        outcome
    }

    fn assign(&mut self, lhs: &'a Access, write: &Write, rhs: &'a Expr) -> Result<(), Error> {
        let name = self.check_not_input(lhs.tensor, "written")?;
        self.rank(lhs)?;
        if lhs.subscripts.iter().any(|s| s.outside.is_some()) {
            return self
                .fail(ProgramRule::Write, format!("a write of `{name}` has an `outside`; guard it with an `if`"));
        }
        for s in &lhs.subscripts {
            self.expect(&s.at, &DType::I64, "a subscript")?;
        }
        let dtype = self.program.tensors[lhs.tensor.index()].ty.dtype.clone();
        self.expect(rhs, &dtype, "the value written")?;
        if let Write::Fold(op) = write {
            let args = vec![dtype.clone(), dtype.clone()];
            let fits = op.signature(&args).is_ok_and(|s| s.args == args && s.result == dtype);
            if !fits {
                return self.fail(
                    ProgramRule::DType,
                    format!("operator `{op}` does not fold values of `{name}`, which are {dtype}"),
                );
            }
        }
        let state = self.states[lhs.tensor.index()];
        if state != LifecycleState::Writable {
            let problem = if state == LifecycleState::Frozen {
                "frozen; thaw it first"
            } else {
                "not declared; declare it first, in an enclosing scope"
            };
            return self.fail(ProgramRule::Lifecycle, format!("`{name}` is written but {problem}"));
        }
        if *write == Write::Init { self.check_written_once(lhs) } else { Ok(()) }
    }

    /// Checks the loops since the declaration or the innermost condition, whichever is later. The
    /// index of each such loop that has constant bounds and at least two rounds must occur in a
    /// subscript, directly or indirectly.
    fn check_written_once(&self, lhs: &Access) -> Result<(), Error> {
        let start_depth = self.declared[lhs.tensor.index()].expect("a writable tensor was declared");
        let mut atoms: HashSet<Atom> = lhs.subscripts.iter().flat_map(|s| s.at.atoms()).collect();
        for binder in self.binders[start_depth..].iter().rev() {
            match binder {
                ScopeEntry::Condition => return Ok(()),
                ScopeEntry::Let { var, value } => {
                    if atoms.contains(&Atom::Var(*var)) {
                        atoms.extend(value.atoms());
                    }
                }
                ScopeEntry::Loop { index, extent: Some((lo, hi)) } if atoms.contains(&Atom::Index(*index)) => {
                    atoms.extend([lo, hi].into_iter().flat_map(Expr::atoms));
                }
                ScopeEntry::Loop { index, extent } => {
                    let bounds = extent.and_then(|(lo, hi)| Some((lo.as_int()?, hi.as_int()?)));
                    let again = bounds.is_some_and(|(lo, hi)| hi.saturating_sub(lo) >= 2);
                    if again && !atoms.contains(&Atom::Index(*index)) {
                        let name = &self.program.tensors[lhs.tensor.index()].name;
                        let index = &self.program.indices[index.index()];
                        return self.fail(
                            ProgramRule::Init,
                            format!(
                                "every round of `{index}` initializes the same entry of `{name}`; fold or overwrite"
                            ),
                        );
                    }
                }
            }
        }
        Ok(())
    }

    fn check_twin_inits(&self, stmts: &[Stmt]) -> Result<(), Error> {
        let mut accesses: Vec<&Access> = Vec::new();
        for stmt in stmts {
            if let Stmt::Assign { lhs, write: Write::Init, .. } = stmt {
                if accesses.contains(&lhs) {
                    let text = print_expr(self.program, &Expr::Access(lhs.clone()));
                    return self.fail(ProgramRule::Init, format!("`{text}` is initialized twice; fold or overwrite"));
                }
                accesses.push(lhs);
            }
        }
        Ok(())
    }

    fn check_can_end(&self, cond: &Expr, body: &Stmt) -> Result<(), Error> {
        let mut written = HashSet::new();
        body.walk(&mut |s| {
            if let Stmt::Assign { lhs, .. } = s {
                written.insert(lhs.tensor);
            }
        });
        let reads = cond.accesses();
        if let Some(a) = reads.iter().find(|a| !a.subscripts.is_empty()) {
            let name = &self.program.tensors[a.tensor.index()].name;
            return self.fail(
                ProgramRule::While,
                format!("the condition reads `{name}`, which is not a scalar; copy the value to a scalar"),
            );
        }
        if !reads.iter().any(|a| written.contains(&a.tensor)) {
            return self.fail(
                ProgramRule::While,
                "the condition reads no scalar that the body writes, so it never changes".into(),
            );
        }
        Ok(())
    }

    /// Checks an expression that is evaluated here and must have the given dtype.
    fn expect(&self, expr: &Expr, dtype: &DType, what: &str) -> Result<(), Error> {
        let mut outcome = Ok(());
        expr.walk(&mut |e| {
            if outcome.is_ok() {
                outcome = self.check_node(e);
            }
        });
        outcome?;
        let found = dtype_of(self.program, expr).or_else(|e| self.fail(ProgramRule::DType, e))?;
        if found != *dtype {
            let text = print_expr(self.program, expr);
            let what = format!("{what} `{text}` has dtype {found}, expected {dtype}; put a cast around it");
            return self.fail(ProgramRule::DType, what);
        }
        Ok(())
    }

    /// Checks the rules of one node of an expression.
    fn check_node(&self, expr: &Expr) -> Result<(), Error> {
        match expr {
            Expr::Index(i) if self.indices.get(i) != Some(&true) => {
                let name = &self.program.indices[i.index()];
                self.fail(ProgramRule::Scope, format!("index `{name}` is not bound here; bind it by an enclosing loop"))
            }
            Expr::Var(v) if self.vars.get(v) != Some(&true) => {
                let name = &self.program.vars[v.index()].0;
                self.fail(
                    ProgramRule::Scope,
                    format!("variable `{name}` is not bound here; bind it by an enclosing `let`"),
                )
            }
            Expr::Access(a) => self.read(a),
            Expr::Call(op, _) if op.has_cases() => {
                let what = format!(
                    "operator `{op}` has cases that depend on the stored entries, which only plans support; write them as an `if`"
                );
                self.fail(ProgramRule::DType, what)
            }
            _ => Ok(()),
        }
    }

    fn read(&self, a: &Access) -> Result<(), Error> {
        self.rank(a)?;
        let tensor = &self.program.tensors[a.tensor.index()];
        let (name, dtype) = (&tensor.name, &tensor.ty.dtype);
        for s in &a.subscripts {
            let at = dtype_of(self.program, &s.at).or_else(|e| self.fail(ProgramRule::DType, e))?;
            if at != DType::I64 {
                return self.fail(ProgramRule::DType, format!("a subscript of `{name}` has dtype {at}, expected i64"));
            }
            if let Some(v) = s.outside.as_ref().filter(|v| v.dtype() != *dtype) {
                let found = v.dtype();
                return self
                    .fail(ProgramRule::DType, format!("`outside` of `{name}` has dtype {found}, expected {dtype}"));
            }
        }
        match self.states[a.tensor.index()] {
            LifecycleState::Frozen => Ok(()),
            LifecycleState::Undeclared => self.fail(
                ProgramRule::Lifecycle,
                format!("`{name}` is read but not declared; declare it in an enclosing scope"),
            ),
            LifecycleState::Writable => self.fail(
                ProgramRule::Lifecycle,
                format!("`{name}` is read while it is written; freeze it first, or fold"),
            ),
        }
    }

    fn rank(&self, a: &Access) -> Result<(), Error> {
        let tensor = &self.program.tensors[a.tensor.index()];
        let (found, expected) = (a.subscripts.len(), tensor.ty.format.modes.len());
        if found != expected {
            let name = &tensor.name;
            let what =
                format!("access to `{name}` has {found} subscripts, expected {expected}, one for each storage mode");
            return self.fail(ProgramRule::Rank, what);
        }
        Ok(())
    }

    fn check_not_input(&self, t: TensorId, verb: &str) -> Result<&'a str, Error> {
        let tensor = &self.program.tensors[t.index()];
        match tensor.role {
            Role::Input => {
                self.fail(ProgramRule::Role, format!("input `{}` is {verb}; inputs are only read", tensor.name))
            }
            Role::Output | Role::Local => Ok(&tensor.name),
        }
    }

    fn check_outputs_frozen(&self) -> Result<(), Error> {
        let open = (0..self.states.len())
            .find(|&k| self.program.tensors[k].role == Role::Output && self.states[k] != LifecycleState::Frozen);
        match open {
            None => Ok(()),
            Some(k) => {
                let (name, state) = (&self.program.tensors[k].name, self.states[k].phrase());
                self.fail(ProgramRule::Role, format!("output `{name}` {state} at the end of the program; freeze it"))
            }
        }
    }

    fn fail<T>(&self, rule: ProgramRule, what: String) -> Result<T, Error> {
        Err(Error::InvalidProgram { rule, at: location(self.program, &self.path), what })
    }
}

impl LifecycleState {
    fn phrase(self) -> &'static str {
        match self {
            LifecycleState::Undeclared => "is not declared",
            LifecycleState::Writable => "is being written",
            LifecycleState::Frozen => "is frozen",
        }
    }
}

/// Returns the labels of the statements on a path, outermost first and without blocks; `program` if
/// the path has only blocks.
pub(super) fn location(program: &Program, path: &[&Stmt]) -> String {
    let labels: Vec<String> = path.iter().filter_map(|s| label(program, s)).collect();
    if labels.is_empty() { "program".to_owned() } else { labels.join(" > ") }
}
