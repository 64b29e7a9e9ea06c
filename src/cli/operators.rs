//! `redpoll operators`: the operators of plans, programs and index notation.

use super::failure::CommandFailure;
use super::style::TerminalStyle;
use crate::logic::op::{Arity, Builtin};
use std::io::{self, Write};

/// List the operators of plans, programs and index notation
#[derive(clap::Args)]
pub(super) struct Args {}

pub(super) fn operators(_: &Args, out: &mut impl Write) -> Result<(), CommandFailure> {
    let style = TerminalStyle::of(&io::stdout());
    writeln!(out, "{}", style.title("name         arguments"))?;
    for builtin in Builtin::ALL {
        let arguments = match builtin.arity() {
            Arity::Exact(count) => count.to_string(),
            Arity::AtLeast(count) => format!("{count} or more"),
        };
        writeln!(out, "{:<12} {arguments:<9}  {}", builtin.name(), builtin.doc())?;
    }
    writeln!(
        out,
        "\nPlans apply them by (mapjoin NAME ..) and fold with them by (aggregate NAME ..).\n\
         In index notation, + - * / < <= > >= == != stand between values. The other operators are called, as in\n\
         max(x, 0), with `_` in place of `-` in their names. An operator before `=` folds the right side, as in\n\
         y(i) max= A(i,j)."
    )?;
    Ok(())
}
