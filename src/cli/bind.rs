//! `--bind NAME=FILE[:FORMAT]`: the data of a table of a plan, or of an input of a program. The
//! data are a file with its storage format, or a number in place of the file.

use super::edge_list::{EdgeListArgs, may_be_edge_list};
use super::failure::{CommandFailure, did_you_mean};
use super::names::{IndexNames, TableNames, index_names, notes as name_notes};
use super::plan::{edge_list_notes, repetition_note};
use crate::Bindings;
use crate::datasets::{Info, Memory, OpenedFile, ReadOptions, open_as};
use crate::logic::literal::read_value;
use crate::logic::text::parse_format;
use crate::logic::{DType, Format, Prim};
use crate::storage::Tensor;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The data of a table or of an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BindArg {
    /// The name of the table or input.
    pub(super) name: String,
    /// The file, or the text of a number.
    pub(super) file: PathBuf,
    /// The storage format as text. If it is `None`, the format is the one that a program declares
    /// for the input, or else the one closest to the file.
    format: Option<String>,
}

impl FromStr for BindArg {
    type Err = String;

    fn from_str(text: &str) -> Result<BindArg, String> {
        let (name, file, format) = stored_file(text)?;
        Ok(BindArg { name: name.to_owned(), file: file.into(), format: format.map(str::to_owned) })
    }
}

/// Splits `NAME=FILE`.
pub(super) fn named_file<'a>(text: &'a str, expected: &str) -> Result<(&'a str, &'a str), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name, file)),
        _ => Err(format!("expected {expected}")),
    }
}

/// Splits `NAME=FILE[:FORMAT]`. A file name may contain a colon.
pub(super) fn stored_file(text: &str) -> Result<(&str, &str, Option<&str>), String> {
    let (name, rest) = named_file(text, "NAME=FILE or NAME=FILE:FORMAT")?;
    match rest.rsplit_once(':') {
        Some((file, format)) if !file.is_empty() && !Path::new(rest).exists() && looks_like_format(format) => {
            Ok((name, file, Some(format)))
        }
        _ => Ok((name, rest, None)),
    }
}

/// Returns whether a text may be a shorthand or a level list, rather than the rest of a path.
fn looks_like_format(text: &str) -> bool {
    text.starts_with('(') || !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// A table that a plan reads, or an input of a program.
pub(super) struct RequiredInput {
    /// The name.
    pub(super) name: String,
    /// For a plan, the fields of the modes. For a program, the text of the declared size of each
    /// mode, which is empty if the program declares no size.
    pub(super) fields: Vec<String>,
    /// The dtype, if a program declares it.
    pub(super) dtype: Option<DType>,
    /// The dtype of an input of rank 0 of a program, or `None`. `--bind` takes the value of such an
    /// input, not a file.
    pub(super) number: Option<DType>,
    /// The default format, as text.
    pub(super) format: Option<String>,
}

impl RequiredInput {
    /// Returns the dtype of the number that `bind` specifies, or `None` if `bind` names a file. An
    /// input of rank 0 of a program always takes a number. A table without indices takes a number,
    /// unless the text of the number is the name of an existing file.
    fn dtype_of_number(&self, bind: &BindArg) -> Option<DType> {
        let is_table = self.number.is_none() && self.fields.is_empty() && !bind.file.exists();
        let is_integer = || bind.file.to_str().is_some_and(|text| text.parse::<i64>().is_ok());
        let dtype = is_table.then(|| if is_integer() { DType::I64 } else { NUMBER });
        self.number.clone().or(dtype)
    }
}

/// Reads the files and numbers that are bound to required tables or inputs. Files that may be edge
/// lists are read by the options of edge lists. Names of coordinates are numbered by index, over
/// all files; the names of each index are returned, too.
pub(super) fn load(
    (binds, edge_list): (&[BindArg], &EdgeListArgs),
    required: &[RequiredInput],
    memory: &Memory,
    note: &mut dyn FnMut(&str),
) -> Result<(Bindings, IndexNames), CommandFailure> {
    let of_bind = |bind: &BindArg| required.iter().find(|input| input.name == bind.name);
    if let Some(unknown) = binds.iter().find(|bind| of_bind(bind).is_none()) {
        return Err(unknown_name(&unknown.name, required));
    }
    let is_edge_list = |bind: &BindArg| {
        may_be_edge_list(&bind.file) && of_bind(bind).is_some_and(|input| input.dtype_of_number(bind).is_none())
    };
    if edge_list.is_given() && !binds.iter().any(is_edge_list) {
        let message = "the options of edge lists apply to no file of --bind; edge lists are .csv and .tsv files, and \
                       files without the extension of a format";
        return Err(CommandFailure::usage(message));
    }
    let (mut bindings, mut files, mut tables) = (Bindings::new(), Vec::new(), Vec::new());
    let options = |bind: &BindArg| {
        let options = if is_edge_list(bind) { edge_list.read_options() } else { ReadOptions::default() };
        ReadOptions { memory: memory.clone(), ..options }
    };
    for bind in binds {
        if bindings.get(&bind.name).is_some() {
            return Err(CommandFailure::usage(format!("`{}` is bound twice", bind.name)));
        }
        let required = of_bind(bind).expect("the names of all options are known");
        if let Some(dtype) = required.dtype_of_number(bind) {
            bindings.insert(bind.name.as_str(), number(bind, &dtype)?);
            continue;
        }
        let opened = open_bound(bind, required, &options(bind))?;
        edge_list_notes(&bind.file, &opened.info).iter().for_each(|text| note(text));
        repetition_note(&bind.file, opened.repeated, &opened.info).iter().for_each(|text| note(text));
        bindings.insert(bind.name.as_str(), opened.tensor);
        files.push((bind, required));
        tables.push(TableNames { file: &bind.file, indices: &required.fields, names: opened.dictionaries });
    }
    let names = index_names(&tables);
    name_notes(&tables, &names).iter().for_each(|text| note(text));
    for ((bind, required), table) in files.iter().zip(&tables) {
        if let Some(names) = table.renumbered(&names) {
            let mut options = options(bind);
            options.edge_list.names = names;
            bindings.insert(bind.name.as_str(), open_bound(bind, required, &options)?.tensor);
        }
    }
    Ok((bindings, names))
}

/// Opens the file of a table or an input.
fn open_bound(bind: &BindArg, required: &RequiredInput, options: &ReadOptions) -> Result<OpenedFile, CommandFailure> {
    let text = bind.format.as_deref().or(required.format.as_deref());
    let option = || format!("--bind {}={}:{}", bind.name, bind.file.display(), text.unwrap_or_default());
    let format = |info: &Info| text.map(|text| storage_format(text, info.shape.len(), option)).transpose();
    open_as(&bind.file, options, format).map_err(|failure| unreadable(bind, required, failure))
}

/// Returns the failure of an option whose name is not that of a table or an input.
fn unknown_name(name: &str, required: &[RequiredInput]) -> CommandFailure {
    let known = || required.iter().map(|input| input.name.as_str());
    let names = known().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let names = if names.is_empty() { "none".to_owned() } else { names };
    let message = format!("--bind {name}: the plan reads no table or input of this name; it reads {names}");
    CommandFailure::Usage { message, hint: did_you_mean(name, known()) }
}

/// Adds a hint to the failure to read a file, if the table has indices and the name of the file is
/// a number.
fn unreadable(bind: &BindArg, required: &RequiredInput, failure: CommandFailure) -> CommandFailure {
    let is_number = || bind.file.to_str().is_some_and(|text| text.parse::<f64>().is_ok());
    match failure {
        CommandFailure::Error { error, hint: None } if !required.fields.is_empty() && is_number() => {
            let (name, indices) = (&bind.name, required.fields.join(","));
            let hint = format!(
                "`{name}({indices})` needs a file; to bind a number, write the table without indices, as `{name}`"
            );
            CommandFailure::Error { error, hint: Some(hint) }
        }
        other => other,
    }
}

/// Parses a format for a tensor of the given rank. The error message begins with the text that
/// `option` returns.
pub(super) fn storage_format(
    text: &str,
    rank: usize,
    option: impl FnOnce() -> String,
) -> Result<Format, CommandFailure> {
    parse_format(text, rank).map_err(|e| {
        let message = format!("{}: {}", option(), without_position(&e));
        CommandFailure::usage_with_hint(message, "`redpoll formats` lists the formats")
    })
}

/// Parses a number written instead of a file.
fn number(bind: &BindArg, dtype: &DType) -> Result<Tensor, CommandFailure> {
    let text = bind.file.display().to_string();
    let word = crate::logic::sexpr::Sexpr::atom(text.as_str());
    let value = read_value(dtype, &word).map_err(|_| {
        let message = format!("--bind {}={text}: expected a value of dtype {dtype}", bind.name);
        CommandFailure::usage_with_hint(message, format!("`{}` is a number, as in --bind {}=0", bind.name, bind.name))
    })?;
    Tensor::scalar(&value).map_err(|e| crate::Error::from(e).into())
}

/// The dtype of a number whose dtype no program declares, except that an integer for a table of a
/// plan is an `i64`.
pub(super) const NUMBER: DType = DType::Prim(Prim::F64);

/// Returns the error without line and column, which are useless for the text of an option.
fn without_position(error: &crate::logic::Error) -> &crate::logic::Error {
    match error {
        crate::logic::Error::InText { cause, .. } => cause,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that file names may contain colons and equals signs, that formats may contain
    /// blanks, and that a missing name or file is an error.
    #[test]
    fn bindings_are_read() {
        let cases = [
            ("E=a.mtx", Some(("E", "a.mtx", None))),
            ("E=a.mtx:csr", Some(("E", "a.mtx", Some("csr")))),
            ("E=a.mtx:(dense (sparse-list (element)))", Some(("E", "a.mtx", Some("(dense (sparse-list (element)))")))),
            ("E=dir:x/a.mtx", Some(("E", "dir:x/a.mtx", None))),
            ("E=a=b.mtx", Some(("E", "a=b.mtx", None))),
            ("a.mtx", None),
            ("=a.mtx", None),
            ("E=", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|(name, file, format): (&str, &str, Option<&str>)| BindArg {
                name: name.into(),
                file: file.into(),
                format: format.map(Into::into),
            });
            assert_eq!(text.parse::<BindArg>().ok(), expected, "{text}");
        }
    }
}
