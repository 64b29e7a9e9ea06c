//! The parser of the command line: the exit codes at the end of each help, and the tips of errors.
//! A tip names the similar commands, the commands that have an option, or the feature that a build
//! lacks.

use super::Cli;
use super::failure::{EXIT_CODES, similar_names};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, CommandFactory, Error, FromArgMatches};
use std::env;

/// Commands and options that some builds lack, each with its feature.
const FEATURES: [(&str, &str); 3] = [("sql", "sql"), ("worker", "cluster"), ("--cluster", "cluster")];

/// Parses the command line of this process.
///
/// # Errors
/// If the command line is wrong, or asks for help or the version.
pub(super) fn parse() -> Result<Cli, Error> {
    let mut command = with_exit_codes(Cli::command());
    let mut matches =
        command.try_get_matches_from_mut(env::args_os()).map_err(|error| with_tips(error, &command, env::args()))?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Returns the command with the exit codes at the end of its help, and of the help of its commands.
fn with_exit_codes(command: Command) -> Command {
    let help = match command.get_after_help() {
        Some(help) => format!("{help}\n\n{EXIT_CODES}"),
        None => EXIT_CODES.to_owned(),
    };
    command.after_help(help).mut_subcommands(with_exit_codes)
}

/// Adds tips to the error of an unknown command or option, if the parser has no suggestion.
fn with_tips(mut error: Error, command: &Command, mut args: impl Iterator<Item = String>) -> Error {
    if let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidSubcommand)
        // A command such as `generate` has commands of its own, whose errors are not changed.
        && args.nth(1).as_ref() == Some(found)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
    {
        let similar = similar_names(found, command.get_subcommands().map(Command::get_name));
        if let Some(tip) = missing_feature(found) {
            insert_tip(&mut error, tip);
        } else if !similar.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(similar));
        }
    } else if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && error.kind() == clap::error::ErrorKind::UnknownArgument
        && error.get(ContextKind::SuggestedArg).is_none()
    {
        let mut owners = Vec::new();
        find_owners(command, command.get_name(), option, &mut owners);
        let owners: Vec<String> = owners.iter().map(|owner| format!("`{owner}`")).collect();
        let tip = match &owners[..] {
            [] => missing_feature(option),
            [owner] => Some(format!("{owner} has the option '{option}'")),
            [others @ .., last] => Some(format!("{} and {last} have the option '{option}'", others.join(", "))),
        };
        if let Some(tip) = tip {
            insert_tip(&mut error, tip);
        }
    }
    error
}

/// Adds the commands that have an option, by their full names. `path` is the full name of
/// `command`.
fn find_owners(command: &Command, path: &str, option: &str, owners: &mut Vec<String>) {
    let is_option = |arg: &Arg| arg.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long));
    for inner in command.get_subcommands() {
        let path = format!("{path} {}", inner.get_name());
        if inner.get_arguments().any(is_option) {
            owners.push(path.clone());
        }
        find_owners(inner, &path, option, owners);
    }
}

/// Returns the tip for a command or an option that another build has.
fn missing_feature(name: &str) -> Option<String> {
    let (_, feature) = FEATURES.iter().find(|(known, _)| *known == name)?;
    Some(format!(
        "this build lacks the feature `{feature}`; `cargo install --path . --features {feature}` builds redpoll with it"
    ))
}

fn insert_tip(error: &mut Error, tip: String) {
    let tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    let tips = [tip.into()].into_iter().chain(tips).collect();
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts the message of an error, whose command line is split at blanks.
    fn check(parser: &Command, line: &str, expected: &str) {
        let args = || line.split(' ').map(str::to_owned);
        let error = parser.clone().try_get_matches_from(args()).expect_err("the command line is wrong");
        let message = with_tips(error, parser, args()).to_string();
        assert!(message.contains(expected), "{line}: no {expected:?} in\n{message}");
    }

    /// An option of another command, and a command or an option of a feature, are explained. The
    /// parser of the test has no features, whatever the features of this build.
    #[test]
    fn errors_name_commands_and_features() {
        let option = |name: &'static str| Arg::new(name).long(name);
        let kind = Command::new("rmat").arg(option("scale"));
        let parser = Command::new("redpoll")
            .subcommand(Command::new("run").arg(option("bind")))
            .subcommand(Command::new("sql").arg(option("table")))
            .subcommand(Command::new("explain").arg(option("bind")))
            .subcommand(Command::new("generate").subcommand(kind));
        check(&parser, "redpoll --table a=a.mtx", "tip: `redpoll sql` has the option '--table'");
        check(&parser, "redpoll sql --bind a", "tip: `redpoll run` and `redpoll explain` have the option '--bind'");
        check(&parser, "redpoll run --scale 9", "tip: `redpoll generate rmat` has the option '--scale'");
        check(&parser, "redpoll sql --cluster w.toml", "tip: this build lacks the feature `cluster`");
        check(&parser, "redpoll worker", "`cargo install --path . --features cluster` builds redpoll with it");
    }
}
