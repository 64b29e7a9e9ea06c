//! The interface of statements that a machine adds to those of Assembly.

use super::text::FunctionPrinter;
use super::{Expr, Local, Stmt};
use std::fmt;
use std::hash::Hash;

/// The statements that a machine adds to those of Assembly. A value of the implementing type is one
/// such statement.
pub trait Extension: Clone + PartialEq + fmt::Debug + 'static {
    /// The lanes that perform a store.
    type ActiveLanes: Copy + PartialEq + Hash + fmt::Debug;

    /// Calls `f` on each expression directly in the statement, but not on the expressions in the
    /// body.
    fn for_each_expr<'s>(&'s self, f: &mut dyn FnMut(&'s Expr));

    /// Returns the body of a loop, or `None` if the statement is not a loop.
    fn body(&self) -> Option<&[Stmt<Self>]>;

    /// Returns the body of a loop, mutably, or `None` if the statement is not a loop.
    fn body_mut(&mut self) -> Option<&mut Vec<Stmt<Self>>>;

    /// Calls `f` on each local that the statement itself assigns, including a loop variable. The
    /// statements of the body are not visited.
    fn for_each_assigned(&self, f: &mut dyn FnMut(Local));

    /// Prints the statement with its body.
    fn print(&self, printer: &mut FunctionPrinter<'_>);

    /// Returns the text before a store by these lanes: empty, or a word and a space.
    fn store_prefix(active: Self::ActiveLanes) -> &'static str;
}

/// The extension of plain Assembly: one lane, and no added statements.
#[derive(Clone, Copy, PartialEq, Hash, Debug)]
pub enum Serial {}

impl Extension for Serial {
    type ActiveLanes = ();

    fn for_each_expr<'s>(&'s self, _: &mut dyn FnMut(&'s Expr)) {
        match *self {}
    }

    fn body(&self) -> Option<&[Stmt]> {
        match *self {}
    }

    fn body_mut(&mut self) -> Option<&mut Vec<Stmt>> {
        match *self {}
    }

    fn for_each_assigned(&self, _: &mut dyn FnMut(Local)) {
        match *self {}
    }

    fn print(&self, _: &mut FunctionPrinter<'_>) {
        match *self {}
    }

    fn store_prefix((): ()) -> &'static str {
        ""
    }
}
