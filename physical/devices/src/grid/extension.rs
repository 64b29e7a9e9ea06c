//! The statements of grids as an extension of Assembly: visitors and the text form.

use super::nodes::{ActiveLanes, Stmt, TeamStmt};
use super::text;
use redpoll_compiler::assembly::text::FunctionPrinter;
use redpoll_compiler::assembly::{Expr, Extension, Local};

impl Extension for TeamStmt {
    type ActiveLanes = ActiveLanes;

    fn for_each_expr<'s>(&'s self, f: &mut dyn FnMut(&'s Expr)) {
        match self {
            TeamStmt::Atomic { at: a, value: b, .. } | TeamStmt::Spread { lo: a, hi: b, .. } => {
                f(a);
                f(b);
            }
            TeamStmt::Section(..) | TeamStmt::Poll(_) | TeamStmt::Barrier => {}
        }
    }

    fn body(&self) -> Option<&[Stmt]> {
        match self {
            TeamStmt::Spread { body, .. } => Some(body),
            _ => None,
        }
    }

    fn body_mut(&mut self) -> Option<&mut Vec<Stmt>> {
        match self {
            TeamStmt::Spread { body, .. } => Some(body),
            _ => None,
        }
    }

    fn for_each_assigned(&self, f: &mut dyn FnMut(Local)) {
        match self {
            TeamStmt::Section(local, _) | TeamStmt::Spread { var: local, .. } => f(*local),
            TeamStmt::Atomic { .. } | TeamStmt::Poll(_) | TeamStmt::Barrier => {}
        }
    }

    fn print(&self, printer: &mut FunctionPrinter<'_>) {
        text::print(self, printer);
    }

    fn store_prefix(active: ActiveLanes) -> &'static str {
        match active {
            ActiveLanes::Lead => "lead ",
            ActiveLanes::Each => "each ",
        }
    }
}
