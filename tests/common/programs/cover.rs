//! Coverage of random programs, by construct.

use super::draw::{ProgramCase, Usage, written_program};
use redpoll_compiler::notation::{Access, Expr, Linear, Role, Stmt, TensorId, Write};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::physical::Protocol;
use redpoll_logic::sexpr::Sexpr;
use redpoll_logic::testing::Coverage;
use redpoll_logic::{FloatMode, LeafKind, LevelFormat, LevelKind, StorageMode};
use std::collections::{BTreeMap, BTreeSet};

/// Constructs, in addition to levels, that a long run must cover.
const EXPECTED: &[&str] = &[
    "write init",
    "write =",
    "write +=",
    "write -=",
    "write *=",
    "write min=",
    "write max=",
    "write or=",
    "write and=",
    "write xor=",
    "write choose=",
    "write minby=",
    "write maxby=",
    "several writes in a loop",
    "several writes by different operators in a loop",
    "several writes in several loops",
    "writes beside a loop",
    "let in a loop",
    "let of a gather",
    "let in an if",
    "if in a loop",
    "if over a loop",
    "if on a tensor that the loop writes",
    "if on a mask",
    "let of a tensor that the loop writes",
    "while",
    "while in a loop",
    "while in a while",
    "while on several tensors",
    "where",
    "where in a loop",
    "swap",
    "local in a loop",
    "range of one round",
    "empty range",
    "range of an index",
    "range of a read",
    "implied range",
    "subscript constant",
    "subscript shifted",
    "subscript reversed",
    "subscript strided",
    "subscript of two indices",
    "subscript computed",
    "subscript gathered",
    "write at a constant",
    "write at a gathered coordinate",
    "outside on one mode",
    "outside on several modes",
    "outside on a part of the modes",
    "protocol Gallop",
    "protocol Follow",
    "protocol Walk",
    "split",
    "split into",
    "split by stored positions",
    "parallel",
    "precompute",
    "reorder",
    "collapse",
    "bound",
    "lanes",
    "unroll",
    "rank 0",
    "rank 1",
    "rank 2",
    "rank 3",
    "dimension 0",
    "dimension 1",
    "dimension 2",
    "modes permuted",
    "modes in blocks",
    "leaf Pattern",
    "mode Relaxed",
    "mode StrictIeee",
    "workspace Dense",
    "workspace Hash",
    "workspace ByteMap",
    "workspace BitMap",
    "workspace SparseList",
    "workspace RunLength",
];

/// Returns the name under which a level is counted. Lists with repeated coordinates have a separate
/// name.
fn level(level: LevelFormat) -> String {
    match (level.kind, level.unique) {
        (LevelKind::SparseList, false) => "Coordinates".to_owned(),
        (kind, _) => format!("{kind:?}"),
    }
}

/// Returns the names of all levels and constructs that a long run must cover.
pub fn expected() -> Vec<String> {
    let kinds = LevelKind::all().map(|k| format!("{k:?}")).chain(["Coordinates".to_owned()]);
    let levels = kinds.flat_map(|k| [format!("read {k}"), format!("write {k}")]);
    levels.chain(EXPECTED.iter().map(ToString::to_string)).collect()
}

/// Counts the constructs of a case.
pub fn cover(coverage: &mut Coverage, case: &ProgramCase) {
    let Ok(program) = written_program(case) else { return };
    let mut counter = ConstructCounter { names: BTreeSet::new(), enclosing: Vec::new() };
    counter.count_stmt(&program.body);
    counter.count_tensors(case);
    counter.count_schedule(&case.schedule);
    if !case.implied_ranges.is_empty() {
        counter.add("implied range");
    }
    counter.add(match case.mode {
        FloatMode::Relaxed => "mode Relaxed",
        _ => "mode StrictIeee",
    });
    counter.names.into_iter().for_each(|name| coverage.increment(name));
}

struct ConstructCounter<'a> {
    names: BTreeSet<String>,
    enclosing: Vec<&'a Stmt>,
}

impl<'a> ConstructCounter<'a> {
    fn add(&mut self, name: impl Into<String>) {
        self.names.insert(name.into());
    }

    fn add_if(&mut self, condition: bool, name: &str) {
        if condition {
            self.add(name);
        }
    }

    fn is_inside(&self, predicate: impl Fn(&Stmt) -> bool) -> bool {
        self.enclosing.iter().any(|s| predicate(s))
    }

    fn count_stmt(&mut self, stmt: &'a Stmt) {
        let in_loop = self.is_inside(is_loop);
        match stmt {
            Stmt::For { extent: Some((lo, hi)), body, .. } => self.count_loop(lo, hi, body),
            Stmt::If { cond, body } => {
                self.add_if(in_loop, "if in a loop");
                self.add_if(contains(body, &is_loop), "if over a loop");
                let reads = tensors_of(cond);
                let round = self.enclosing.iter().rev().find(|s| is_loop(s));
                let loop_writes = round.is_some_and(|l| writes_of(l).iter().any(|(t, _)| reads.contains(t)));
                self.add_if(loop_writes, "if on a tensor that the loop writes");
                self.add_if(is_mask(cond), "if on a mask");
            }
            Stmt::Let { value, .. } => {
                self.add_if(in_loop, "let in a loop");
                self.add_if(in_loop && !value.accesses().is_empty(), "let of a gather");
                self.add_if(self.is_inside(|s| matches!(s, Stmt::If { .. })), "let in an if");
                let reads = tensors_of(value);
                let round = self.enclosing.iter().rev().find(|s| is_loop(s));
                let loop_writes = round.is_some_and(|l| writes_of(l).iter().any(|(t, _)| reads.contains(t)));
                self.add_if(loop_writes, "let of a tensor that the loop writes");
            }
            Stmt::While { cond, .. } => {
                self.add("while");
                self.add_if(in_loop, "while in a loop");
                self.add_if(self.is_inside(|s| matches!(s, Stmt::While { .. })), "while in a while");
                self.add_if(tensors_of(cond).len() > 1, "while on several tensors");
            }
            Stmt::Where { .. } => {
                self.add("where");
                self.add_if(in_loop, "where in a loop");
            }
            Stmt::Declare(_) => self.add_if(in_loop, "local in a loop"),
            Stmt::Swap(..) => self.add("swap"),
            Stmt::Assign { lhs, write, .. } => {
                let name = match write {
                    Write::Init => "init".to_owned(),
                    Write::Overwrite => "=".to_owned(),
                    Write::Fold(op) => format!("{op}="),
                };
                self.add(format!("write {name}"));
                for at in lhs.subscripts.iter().map(|s| &s.at) {
                    self.add_if(Linear::of(at).is_some_and(|l| l.as_constant().is_some()), "write at a constant");
                    self.add_if(!at.accesses().is_empty(), "write at a gathered coordinate");
                    self.count_subscript(at);
                }
            }
            _ => {}
        }
        stmt.exprs().into_iter().for_each(|e| self.count_accesses(e));
        self.enclosing.push(stmt);
        stmt.children().into_iter().for_each(|s| self.count_stmt(s));
        self.enclosing.pop();
    }

    fn count_loop(&mut self, lo: &Expr, hi: &Expr, body: &Stmt) {
        let rounds = Linear::of(hi).zip(Linear::of(lo)).and_then(|(hi, lo)| hi.plus(&lo.times(-1)?)?.as_constant());
        self.add_if(rounds == Some(1), "range of one round");
        self.add_if(rounds.is_some_and(|n| n <= 0), "empty range");
        self.add_if([lo, hi].into_iter().any(is_variable), "range of an index");
        self.add_if([lo, hi].into_iter().any(|e| !e.accesses().is_empty()), "range of a read");
        let mut by: BTreeMap<TensorId, Vec<&Write>> = BTreeMap::new();
        writes_of(body).into_iter().for_each(|(t, write)| by.entry(t).or_default().push(write));
        let direct = direct_writes(body);
        for (tensor, writes) in &by {
            self.add_if(writes.len() > 1, "several writes in a loop");
            self.add_if(writes.iter().any(|w| **w != *writes[0]), "several writes by different operators in a loop");
            let loop_writes = direct.iter().filter(|t| *t == tensor).count();
            self.add_if(loop_writes > 0 && loop_writes < writes.len(), "several writes in several loops");
            self.add_if(writes_around_loop(body, *tensor), "writes beside a loop");
        }
    }

    fn count_accesses(&mut self, e: &Expr) {
        for a in e.accesses() {
            self.count_access(a);
        }
    }

    fn count_access(&mut self, a: &Access) {
        let outside = a.subscripts.iter().filter(|s| s.outside.is_some()).count();
        self.add_if(outside == 1, "outside on one mode");
        self.add_if(outside > 1, "outside on several modes");
        self.add_if(outside > 0 && outside < a.subscripts.len(), "outside on a part of the modes");
        for s in &a.subscripts {
            self.count_subscript(&s.at);
            self.add(match s.protocol {
                Protocol::Walk => "protocol Walk",
                Protocol::Gallop => "protocol Gallop",
                Protocol::Follow => "protocol Follow",
            });
        }
    }

    fn count_subscript(&mut self, at: &Expr) {
        self.add_if(!at.accesses().is_empty(), "subscript gathered");
        let Some(form) = Linear::of(at) else { return self.add("subscript computed") };
        self.add_if(form.terms.is_empty(), "subscript constant");
        self.add_if(form.terms.len() > 1, "subscript of two indices");
        if let [(_, by)] = form.terms[..] {
            self.add_if(by == 1 && form.constant != 0, "subscript shifted");
            self.add_if(by == -1, "subscript reversed");
            self.add_if(by == 2, "subscript strided");
        }
    }

    fn count_tensors(&mut self, case: &ProgramCase) {
        for tensor in &case.tensors {
            let (ty, role) = (&tensor.ty, tensor.role);
            self.add(format!("rank {}", ty.shape.len()));
            ty.shape.iter().for_each(|n| self.add(format!("dimension {n}")));
            for kind in ty.format.levels.iter().map(|l| level(*l)) {
                match role {
                    Role::Input => self.add(format!("read {kind}")),
                    Role::Output => self.add(format!("write {kind}")),
                    Role::Local => self.add(format!("workspace {kind}")),
                }
                self.add_if(role == Role::Local && tensor.constraints.usage != Usage::Mutable, "workspace");
            }
            let modes = &ty.format.modes;
            let whole = modes.iter().all(|m| matches!(m, StorageMode::Whole { .. }));
            self.add_if(!whole, "modes in blocks");
            let permuted = whole && (0..modes.len()).any(|mode| modes[mode] != StorageMode::Whole { mode });
            self.add_if(permuted, "modes permuted");
            self.add_if(ty.format.leaf == LeafKind::Pattern, "leaf Pattern");
        }
    }

    fn count_schedule(&mut self, schedule: &[Sexpr]) {
        for transformation in schedule {
            let text = transformation.to_string();
            let head = transformation.as_form().map_or("", |(head, _)| head);
            self.add(match (head, text.contains("(stored"), text.contains("(into")) {
                ("split", true, _) => "split by stored positions",
                ("split", _, true) => "split into",
                (head, ..) => head,
            });
        }
    }
}

/// Returns whether an expression contains an index or a variable.
fn is_variable(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Index(_) | Expr::Var(_)));
    found
}

fn is_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { .. })
}

fn contains(stmt: &Stmt, predicate: &dyn Fn(&Stmt) -> bool) -> bool {
    let mut found = false;
    stmt.walk(&mut |s| found |= predicate(s));
    found
}

fn tensors_of(e: &Expr) -> BTreeSet<TensorId> {
    e.accesses().into_iter().map(|a| a.tensor).collect()
}

fn writes_of(stmt: &Stmt) -> Vec<(TensorId, &Write)> {
    let mut found = Vec::new();
    collect_writes(stmt, true, &mut found);
    found
}

/// Returns the tensors that a statement writes outside its inner loops.
fn direct_writes(stmt: &Stmt) -> Vec<TensorId> {
    let mut found = Vec::new();
    collect_writes(stmt, false, &mut found);
    found.into_iter().map(|(t, _)| t).collect()
}

fn collect_writes<'a>(stmt: &'a Stmt, through_loops: bool, found: &mut Vec<(TensorId, &'a Write)>) {
    if let Stmt::Assign { lhs, write, .. } = stmt {
        found.push((lhs.tensor, write));
    }
    if through_loops || !is_loop(stmt) {
        stmt.children().into_iter().for_each(|s| collect_writes(s, through_loops, found));
    }
}

/// Returns whether a block writes a tensor in a loop, and also before or after that loop.
fn writes_around_loop(stmt: &Stmt, tensor: TensorId) -> bool {
    let Stmt::Block(stmts) = stmt else { return false };
    let writes = |s: &Stmt| writes_of(s).iter().any(|(t, _)| *t == tensor);
    let inside = stmts.iter().any(|s| is_loop(s) && writes(s));
    inside && stmts.iter().any(|s| !is_loop(s) && writes(s))
}

/// Returns whether a condition contains a comparison of an index.
fn is_mask(cond: &Expr) -> bool {
    use Builtin::{Eq, Ge, Gt, Le, Lt, Ne};
    let mut found = false;
    cond.walk(&mut |e| {
        if let Expr::Call(Op::Builtin(Lt | Le | Gt | Ge | Eq | Ne), args) = e {
            found |= args.iter().any(|a| matches!(a, Expr::Index(_)));
        }
    });
    found
}
