//! `redpoll operators`: the operators of plans, programs and index notation.

use super::failure::CommandFailure;
use super::style::TerminalStyle;
use crate::logic::Error;
use crate::logic::op::{Arity, Builtin};
use std::io::{self, Write};

/// List the operators of plans, programs and index notation
#[derive(clap::Args)]
pub(super) struct Args {
    /// List only the operator of this name, such as max or +
    name: Option<String>,
}

/// Signs of index notation and names that other libraries use, each with its operator.
const OTHER_NAMES: [(&str, Builtin); 15] = [
    ("plus", Builtin::Add),
    ("add", Builtin::Add),
    ("minus", Builtin::Sub),
    ("subtract", Builtin::Sub),
    ("times", Builtin::Mul),
    ("mul", Builtin::Mul),
    ("multiply", Builtin::Mul),
    ("div", Builtin::Div),
    ("divide", Builtin::Div),
    ("<", Builtin::Lt),
    ("<=", Builtin::Le),
    (">", Builtin::Gt),
    (">=", Builtin::Ge),
    ("==", Builtin::Eq),
    ("!=", Builtin::Ne),
];

pub(super) fn operators(args: &Args, out: &mut impl Write) -> Result<(), CommandFailure> {
    let style = TerminalStyle::of(&io::stdout());
    // In index notation, names have `_` in place of `-`.
    let name = args.name.as_ref().map(|name| name.replace('_', "-"));
    let listed: Vec<&Builtin> =
        Builtin::ALL.iter().filter(|builtin| name.as_ref().is_none_or(|name| builtin.name() == name)).collect();
    if let Some(name) = name.as_ref().filter(|_| listed.is_empty()) {
        let other = OTHER_NAMES.iter().find(|(other, _)| other == name).map(|(_, builtin)| builtin.name());
        let message = match other {
            Some(known) => format!("unknown operator `{name}`; did you mean `{known}`?"),
            None => Error::unknown("operator", name, Builtin::ALL.iter().map(|builtin| builtin.name())).to_string(),
        };
        return Err(CommandFailure::usage_with_hint(message, "`redpoll operators` lists all operators"));
    }
    writeln!(out, "{}", style.title("name         arguments"))?;
    for builtin in listed {
        let arguments = match builtin.arity() {
            Arity::Exact(count) => count.to_string(),
            Arity::AtLeast(count) => format!("{count} or more"),
        };
        writeln!(out, "{:<12} {arguments:<9}  {}", builtin.name(), builtin.doc())?;
    }
    if name.is_some() {
        return Ok(());
    }
    writeln!(
        out,
        "\nPlans apply operators by (mapjoin NAME ..) and fold with operators by (aggregate NAME ..).\n\
         In index notation, + - * / < <= > >= == != stand between values. The other operators are called, as in\n\
         max(x, 0), with `_` in place of `-` in their names. An operator before `=` folds the right side, as in\n\
         y(i) max= A(i,j)."
    )?;
    Ok(())
}
