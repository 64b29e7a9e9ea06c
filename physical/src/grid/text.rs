//! The text of grids: the text of Assembly with the place of each buffer and the statements of
//! lanes.
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
//!   ask lead
//!   lead y.val[0] = 1.0
//!   atomic each y.val[0] + 1
//! }
//! ```

use super::nodes::{Folded, Grid, Place, Side, Stmt, Writer};
use crate::assembly::Expr;
use crate::assembly::text::Printer;
use std::fmt;

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer::new(&self.function);
        let lanes = self.lanes;
        printer.head("grid", &format!(" lanes {lanes}"), &|k| self.places[k].name());
        printer.nested(|p| block(p, &self.body));
        printer.line("}");
        f.write_str(&printer.out)
    }
}

impl Place {
    /// Returns the name in text.
    pub fn name(self) -> &'static str {
        match self {
            Place::Input => "input",
            Place::Shared => "shared",
            Place::Rounds => "rounds",
            Place::Chunk => "chunk",
            Place::Team => "team",
            Place::Measured => "measured",
        }
    }
}

impl Writer {
    fn name(self) -> &'static str {
        match self {
            Writer::Lead => "lead",
            Writer::Each => "each",
        }
    }
}

fn block(p: &mut Printer<'_>, body: &[Stmt]) {
    body.iter().for_each(|s| stmt(p, s));
}

fn nest(p: &mut Printer<'_>, head: &str, body: &[Stmt]) {
    p.line(format!("{head} {{"));
    p.nested(|p| block(p, body));
}

fn stmt(p: &mut Printer<'_>, s: &Stmt) {
    match s {
        Stmt::Store { by, buffer, at, value } => {
            let (by, buffer, at, value) = (by.name(), p.buffer(*buffer), p.expr(at), p.expr(value));
            p.line(format!("{by} {buffer}[{at}] = {value}"));
        }
        Stmt::Atomic { by, buffer, at, op, value } => {
            let (by, buffer, at, value) = (by.name(), p.buffer(*buffer), p.expr(at), p.operand(value));
            p.line(format!("atomic {by} {buffer}[{at}] {} {value}", op.name()));
        }
        Stmt::Section(local, side) => {
            let side = if *side == Side::First { "first" } else { "last" };
            p.line(format!("{} = section {side}", p.local(*local)));
        }
        Stmt::Barrier => p.line("barrier"),
        Stmt::Ask(by) => p.line(format!("ask {}", by.name())),
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
            for Folded { acc, op, identity } in folds {
                let (acc, identity) = (p.local(*acc), p.expr(&Expr::Const(identity.clone())));
                head += &format!(" folding {acc} by {} from {identity}", op.name());
            }
            nest(p, &head, body);
            p.line("}");
        }
        s => {
            if let Some(serial) = s.serial() {
                p.stmt(&serial);
            }
        }
    }
}
