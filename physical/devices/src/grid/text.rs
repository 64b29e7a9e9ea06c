//! The text of grids: the text of Assembly, with the memory space of each buffer and the statements
//! that grids add.
//!
//! ```text
//! grid spmv($rows) lanes 32 {
//!   input A.ptr: index i32
//!   shared y.val: value f64 fill 0.0
//!   first = section first
//!   spread i in lo..hi {
//!     each y.val[i] = acc
//!   }
//!   spread q in from..end folding acc by + from 0.0 {
//!     acc = acc + x.val[q]
//!   }
//!   spread q in from..end appending n by 1 {
//!     list.val[n] = q
//!     n = n + 1
//!   }
//!   barrier
//!   poll lead
//!   lead y.val[0] = 1.0
//!   atomic each y.val[0] + 1
//! }
//! ```

use super::nodes::{ActiveLanes, Grid, MemorySpace, RoundCounter, RoundFold, SectionBound, TeamStmt};
use redpoll_compiler::assembly::Expr;
use redpoll_compiler::assembly::text::FunctionPrinter;
use std::fmt;

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = FunctionPrinter::new(&self.function);
        let lanes = self.lanes;
        printer.header("grid", &format!(" lanes {lanes}"), &|k| self.spaces[k].name());
        printer.nested(|p| p.stmts(&self.body));
        printer.line("}");
        f.write_str(&printer.finish())
    }
}

impl MemorySpace {
    /// Returns the name in text.
    pub fn name(self) -> &'static str {
        match self {
            MemorySpace::Input => "input",
            MemorySpace::Shared => "shared",
            MemorySpace::Rounds => "rounds",
            MemorySpace::Sections => "sections",
            MemorySpace::Chunk => "chunk",
            MemorySpace::Team => "team",
            MemorySpace::Measured => "measured",
            MemorySpace::Unused => "unused",
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

/// Prints a statement that only grids have.
pub(super) fn print(stmt: &TeamStmt, p: &mut FunctionPrinter<'_>) {
    match stmt {
        TeamStmt::Atomic { active, buffer, at, op, value } => {
            let (active, buffer, at, value) = (active.name(), p.buffer(*buffer), p.expr(at), p.operand(value));
            p.line(format!("atomic {active} {buffer}[{at}] {} {value}", op.name()));
        }
        TeamStmt::Section(local, bound) => {
            let bound = if *bound == SectionBound::First { "first" } else { "last" };
            p.line(format!("{} = section {bound}", p.local(*local)));
        }
        TeamStmt::Barrier => p.line("barrier"),
        TeamStmt::Poll(active) => p.line(format!("poll {}", active.name())),
        TeamStmt::Spread { var, lo, hi, folds, counters, body } => {
            let mut head = format!("spread {} in {}..{}", p.local(*var), p.expr(lo), p.expr(hi));
            for RoundCounter { local, by } in counters {
                head += &format!(" appending {} by {by}", p.local(*local));
            }
            for RoundFold { acc, op, identity } in folds {
                let (acc, identity) = (p.local(*acc), p.expr(&Expr::Const(identity.clone())));
                head += &format!(" folding {acc} by {} from {identity}", op.name());
            }
            p.line(format!("{head} {{"));
            p.nested(|p| p.stmts(body));
            p.line("}");
        }
    }
}
