//! The text of grids: the text of Assembly with the memory space of each buffer and the statements
//! of lanes.
//!
//! ```text
//! grid spmv($rows) lanes 32 {
//!   input A.ptr: index i32
//!   shared y.val: value f64 fill 0.0
//!   spread i in lo..hi {
//!     each y.val[i] = acc
//!   }
//!   spread q in from..end folding acc by + from 0.0 {
//!     acc = acc + x.val[q]
//!   }
//!   barrier
//!   poll lead
//!   lead y.val[0] = 1.0
//!   atomic each y.val[0] + 1
//! }
//! ```

use super::nodes::{ActiveLanes, Grid, MemorySpace, RoundFold, SectionBound, Stmt};
use crate::assembly::Expr;
use crate::assembly::text::FunctionPrinter;
use std::fmt;

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = FunctionPrinter::new(&self.function);
        let lanes = self.lanes;
        printer.head("grid", &format!(" lanes {lanes}"), &|k| self.spaces[k].name());
        printer.nested(|p| block(p, &self.body));
        printer.line("}");
        f.write_str(&printer.out)
    }
}

impl MemorySpace {
    /// Returns the name in text.
    pub fn name(self) -> &'static str {
        match self {
            MemorySpace::Input => "input",
            MemorySpace::Shared => "shared",
            MemorySpace::Rounds => "rounds",
            MemorySpace::Chunk => "chunk",
            MemorySpace::Team => "team",
            MemorySpace::Measured => "measured",
        }
    }
}

impl ActiveLanes {
    fn name(self) -> &'static str {
        match self {
            ActiveLanes::Lead => "lead",
            ActiveLanes::Each => "each",
        }
    }
}

fn block(p: &mut FunctionPrinter<'_>, body: &[Stmt]) {
    body.iter().for_each(|s| stmt(p, s));
}

fn nest(p: &mut FunctionPrinter<'_>, head: &str, body: &[Stmt]) {
    p.line(format!("{head} {{"));
    p.nested(|p| block(p, body));
}

fn stmt(p: &mut FunctionPrinter<'_>, s: &Stmt) {
    match s {
        Stmt::Store { active, buffer, at, value } => {
            let (active, buffer, at, value) = (active.name(), p.buffer(*buffer), p.expr(at), p.expr(value));
            p.line(format!("{active} {buffer}[{at}] = {value}"));
        }
        Stmt::Atomic { active, buffer, at, op, value } => {
            let (active, buffer, at, value) = (active.name(), p.buffer(*buffer), p.expr(at), p.operand(value));
            p.line(format!("atomic {active} {buffer}[{at}] {} {value}", op.name()));
        }
        Stmt::Section(local, side) => {
            let side = if *side == SectionBound::First { "first" } else { "last" };
            p.line(format!("{} = section {side}", p.local(*local)));
        }
        Stmt::Barrier => p.line("barrier"),
        Stmt::Poll(active) => p.line(format!("poll {}", active.name())),
        Stmt::If { cond, then, other } => {
            let cond = p.expr(cond);
            nest(p, &format!("if {cond}"), then);
            if !other.is_empty() {
                nest(p, "} else", other);
            }
            p.line("}");
        }
        Stmt::While { cond, body } => {
            let cond = p.expr(cond);
            nest(p, &format!("while {cond}"), body);
            p.line("}");
        }
        Stmt::For { var, lo, hi, body } => {
            let head = format!("for {} in {}..{}", p.local(*var), p.expr(lo), p.expr(hi));
            nest(p, &head, body);
            p.line("}");
        }
        Stmt::Spread { var, lo, hi, folds, body } => {
            let mut head = format!("spread {} in {}..{}", p.local(*var), p.expr(lo), p.expr(hi));
            for RoundFold { acc, op, identity } in folds {
                let (acc, identity) = (p.local(*acc), p.expr(&Expr::Const(identity.clone())));
                head += &format!(" folding {acc} by {} from {identity}", op.name());
            }
            nest(p, &head, body);
            p.line("}");
        }
        s => {
            if let Some(serial) = s.to_serial() {
                p.stmt(&serial);
            }
        }
    }
}
