//! Coverage of random programs, by construct.

use super::draw::{Case, Usage, written};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::physical::Protocol;
use redpoll_logic::sexpr::Sexpr;
use redpoll_logic::testing::Coverage;
use redpoll_logic::{FloatMode, LeafKind, LevelFormat, LevelKind, StorageMode};
use redpoll_physical::notation::{Access, Expr, Linear, Role, Stmt, TensorId, Write};
use std::collections::{BTreeMap, BTreeSet};

/// Constructs, in addition to levels, that a long run covers.
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
    "writes before and after a loop",
    "let in a loop",
    "let of a gather",
    "let in an if",
    "if in a loop",
    "if over a loop",
    "if on what the loop writes",
    "if on a mask",
    "let of what the loop writes",
    "while",
    "while in a loop",
    "while in a while",
    "while on a condition",
    "where",
    "where in a loop",
    "swap",
    "local in a loop",
    "range of one round",
    "range of none",
    "range of an index",
    "range of a read",
    "range that is implied",
    "subscript constant",
    "subscript shifted",
    "subscript reversed",
    "subscript strided",
    "subscript of two indices",
    "subscript computed",
    "subscript gathered",
    "write at a constant",
    "write at a gathered place",
    "outside on one mode",
    "outside on several modes",
    "outside on a part of the modes",
    "protocol Gallop",
    "protocol Follow",
    "protocol Walk",
    "split",
    "split into",
    "split by what is stored",
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

/// Returns the name under which a level is counted. Lists with repeated coordinates have a name of
/// their own.
fn level(level: LevelFormat) -> String {
    match (level.kind, level.unique) {
        (LevelKind::SparseList, false) => "Coordinates".to_owned(),
        (kind, _) => format!("{kind:?}"),
    }
}

/// Returns the names of everything that a long run covers.
pub fn expected() -> Vec<String> {
    let kinds = LevelKind::all().map(|k| format!("{k:?}")).chain(["Coordinates".to_owned()]);
    let levels = kinds.flat_map(|k| [format!("read {k}"), format!("write {k}")]);
    levels.chain(EXPECTED.iter().map(ToString::to_string)).collect()
}

/// Counts the constructs of a case.
pub fn cover(coverage: &mut Coverage, case: &Case) {
    let Ok(program) = written(case) else { return };
    let mut found = Found { names: BTreeSet::new(), around: Vec::new() };
    found.stmt(&program.body);
    found.tensors(case);
    found.schedule(&case.schedule);
    if !case.implied.is_empty() {
        found.hit("range that is implied");
    }
    found.hit(match case.mode {
        FloatMode::Relaxed => "mode Relaxed",
        _ => "mode StrictIeee",
    });
    found.names.into_iter().for_each(|name| coverage.increment(name));
}

struct Found<'a> {
    names: BTreeSet<String>,
    around: Vec<&'a Stmt>,
}

impl<'a> Found<'a> {
    fn hit(&mut self, name: impl Into<String>) {
        self.names.insert(name.into());
    }

    fn hit_if(&mut self, holds: bool, name: &str) {
        if holds {
            self.hit(name);
        }
    }

    fn in_a(&self, is: impl Fn(&Stmt) -> bool) -> bool {
        self.around.iter().any(|s| is(s))
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        let in_loop = self.in_a(is_loop);
        match stmt {
            Stmt::For { extent: Some((lo, hi)), body, .. } => self.a_loop(lo, hi, body),
            Stmt::If { cond, body } => {
                self.hit_if(in_loop, "if in a loop");
                self.hit_if(has(body, &is_loop), "if over a loop");
                let reads = tensors_of(cond);
                let round = self.around.iter().rev().find(|s| is_loop(s));
                let own = round.is_some_and(|l| writes_of(l).iter().any(|(t, _)| reads.contains(t)));
                self.hit_if(own, "if on what the loop writes");
                self.hit_if(is_mask(cond), "if on a mask");
            }
            Stmt::Let { value, .. } => {
                self.hit_if(in_loop, "let in a loop");
                self.hit_if(in_loop && !value.accesses().is_empty(), "let of a gather");
                self.hit_if(self.in_a(|s| matches!(s, Stmt::If { .. })), "let in an if");
                let reads = tensors_of(value);
                let round = self.around.iter().rev().find(|s| is_loop(s));
                let own = round.is_some_and(|l| writes_of(l).iter().any(|(t, _)| reads.contains(t)));
                self.hit_if(own, "let of what the loop writes");
            }
            Stmt::While { cond, .. } => {
                self.hit("while");
                self.hit_if(in_loop, "while in a loop");
                self.hit_if(self.in_a(|s| matches!(s, Stmt::While { .. })), "while in a while");
                self.hit_if(tensors_of(cond).len() > 1, "while on a condition");
            }
            Stmt::Where { .. } => {
                self.hit("where");
                self.hit_if(in_loop, "where in a loop");
            }
            Stmt::Declare(_) => self.hit_if(in_loop, "local in a loop"),
            Stmt::Swap(..) => self.hit("swap"),
            Stmt::Assign { lhs, write, .. } => {
                let name = match write {
                    Write::Init => "init".to_owned(),
                    Write::Overwrite => "=".to_owned(),
                    Write::Fold(op) => format!("{op}="),
                };
                self.hit(format!("write {name}"));
                for at in lhs.subscripts.iter().map(|s| &s.at) {
                    self.hit_if(Linear::of(at).is_some_and(|l| l.as_constant().is_some()), "write at a constant");
                    self.hit_if(!at.accesses().is_empty(), "write at a gathered place");
                    self.subscript(at);
                }
            }
            _ => {}
        }
        stmt.exprs().into_iter().for_each(|e| self.expr(e));
        self.around.push(stmt);
        stmt.children().into_iter().for_each(|s| self.stmt(s));
        self.around.pop();
    }

    fn a_loop(&mut self, lo: &Expr, hi: &Expr, body: &Stmt) {
        let rounds = Linear::of(hi).zip(Linear::of(lo)).and_then(|(hi, lo)| hi.plus(&lo.times(-1)?)?.as_constant());
        self.hit_if(rounds == Some(1), "range of one round");
        self.hit_if(rounds.is_some_and(|n| n <= 0), "range of none");
        self.hit_if([lo, hi].into_iter().any(moves), "range of an index");
        self.hit_if([lo, hi].into_iter().any(|e| !e.accesses().is_empty()), "range of a read");
        let mut by: BTreeMap<TensorId, Vec<&Write>> = BTreeMap::new();
        writes_of(body).into_iter().for_each(|(t, write)| by.entry(t).or_default().push(write));
        let direct = direct_writes(body);
        for (tensor, writes) in &by {
            self.hit_if(writes.len() > 1, "several writes in a loop");
            self.hit_if(writes.iter().any(|w| **w != *writes[0]), "several writes by different operators in a loop");
            let own = direct.iter().filter(|t| *t == tensor).count();
            self.hit_if(own > 0 && own < writes.len(), "several writes in several loops");
            self.hit_if(around_a_loop(body, *tensor), "writes before and after a loop");
        }
    }

    fn expr(&mut self, e: &Expr) {
        for a in e.accesses() {
            self.access(a);
        }
    }

    fn access(&mut self, a: &Access) {
        let outside = a.subscripts.iter().filter(|s| s.outside.is_some()).count();
        self.hit_if(outside == 1, "outside on one mode");
        self.hit_if(outside > 1, "outside on several modes");
        self.hit_if(outside > 0 && outside < a.subscripts.len(), "outside on a part of the modes");
        for s in &a.subscripts {
            self.subscript(&s.at);
            self.hit(match s.protocol {
                Protocol::Walk => "protocol Walk",
                Protocol::Gallop => "protocol Gallop",
                Protocol::Follow => "protocol Follow",
            });
        }
    }

    fn subscript(&mut self, at: &Expr) {
        self.hit_if(!at.accesses().is_empty(), "subscript gathered");
        let Some(form) = Linear::of(at) else { return self.hit("subscript computed") };
        self.hit_if(form.terms.is_empty(), "subscript constant");
        self.hit_if(form.terms.len() > 1, "subscript of two indices");
        if let [(_, by)] = form.terms[..] {
            self.hit_if(by == 1 && form.constant != 0, "subscript shifted");
            self.hit_if(by == -1, "subscript reversed");
            self.hit_if(by == 2, "subscript strided");
        }
    }

    fn tensors(&mut self, case: &Case) {
        for tensor in &case.tensors {
            let (ty, role) = (&tensor.ty, tensor.role);
            self.hit(format!("rank {}", ty.shape.len()));
            ty.shape.iter().for_each(|n| self.hit(format!("dimension {n}")));
            for kind in ty.format.levels.iter().map(|l| level(*l)) {
                match role {
                    Role::Input => self.hit(format!("read {kind}")),
                    Role::Output => self.hit(format!("write {kind}")),
                    Role::Local => self.hit(format!("workspace {kind}")),
                }
                self.hit_if(role == Role::Local && tensor.formats.usage != Usage::Free, "workspace");
            }
            let modes = &ty.format.modes;
            let whole = modes.iter().all(|m| matches!(m, StorageMode::Whole { .. }));
            self.hit_if(!whole, "modes in blocks");
            let permuted = whole && (0..modes.len()).any(|mode| modes[mode] != StorageMode::Whole { mode });
            self.hit_if(permuted, "modes permuted");
            self.hit_if(ty.format.leaf == LeafKind::Pattern, "leaf Pattern");
        }
    }

    fn schedule(&mut self, schedule: &[Sexpr]) {
        for transformation in schedule {
            let text = transformation.to_string();
            let head = transformation.as_form().map_or("", |(head, _)| head);
            self.hit(match (head, text.contains("(stored"), text.contains("(into")) {
                ("split", true, _) => "split by what is stored",
                ("split", _, true) => "split into",
                (head, ..) => head,
            });
        }
    }
}

/// Returns whether an expression contains indices or variables.
fn moves(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e, Expr::Index(_) | Expr::Var(_)));
    found
}

fn is_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { .. })
}

fn has(stmt: &Stmt, is: &dyn Fn(&Stmt) -> bool) -> bool {
    let mut found = false;
    stmt.walk(&mut |s| found |= is(s));
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
fn around_a_loop(stmt: &Stmt, tensor: TensorId) -> bool {
    let Stmt::Block(stmts) = stmt else { return false };
    let writes = |s: &Stmt| writes_of(s).iter().any(|(t, _)| *t == tensor);
    let inside = stmts.iter().any(|s| is_loop(s) && writes(s));
    inside && stmts.iter().any(|s| !is_loop(s) && writes(s))
}

/// Returns whether a condition compares an index.
fn is_mask(cond: &Expr) -> bool {
    let mut found = false;
    cond.walk(&mut |e| {
        if let Expr::Call(Op::Builtin(Builtin::Lt | Builtin::Le | Builtin::Gt | Builtin::Ge | Builtin::Eq), args) = e {
            found |= args.iter().any(|a| matches!(a, Expr::Index(_)));
        }
    });
    found
}
