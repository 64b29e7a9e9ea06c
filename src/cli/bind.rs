//! `--bind NAME=FILE[:FORMAT]`: which file a table is read from, and how it is stored.

use super::failure::Failure;
use crate::Bindings;
use crate::datasets::{Memory, ReadOptions, read};
use crate::logic::literal::read_value;
use crate::logic::text::parse_format;
use crate::logic::{DType, Prim};
use crate::physical::storage::Tensor;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A table's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bind {
    /// The table.
    pub(super) name: String,
    /// The file.
    file: PathBuf,
    /// How to store it, as text; else as suits the file.
    format: Option<String>,
}

impl FromStr for Bind {
    type Err = String;

    fn from_str(text: &str) -> Result<Bind, String> {
        let (name, rest) = named_file(text, "NAME=FILE or NAME=FILE:FORMAT")?;
        let (file, format) = match rest.rsplit_once(':') {
            // A file may have a colon in its name.
            Some((file, format)) if !file.is_empty() && !Path::new(rest).exists() && looks_like_format(format) => {
                (file, Some(format.to_owned()))
            }
            _ => (rest, None),
        };
        Ok(Bind { name: name.to_owned(), file: file.into(), format })
    }
}

/// The parts of `NAME=FILE`.
pub(super) fn named_file<'a>(text: &'a str, expected: &str) -> Result<(&'a str, &'a str), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name, file)),
        _ => Err(format!("expected {expected}")),
    }
}

/// A shorthand or a level list, not the rest of a path.
fn looks_like_format(text: &str) -> bool {
    text.starts_with('(') || !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// A table or input that is asked for.
pub(super) struct Wanted {
    /// Its name.
    pub(super) name: String,
    /// The dtype of a number, which is written in the place of a file.
    pub(super) number: Option<DType>,
    /// The format that it is to have unless another one is asked for, as text.
    pub(super) format: Option<String>,
}

/// Reads the files of those tables that are asked for.
pub(super) fn load(
    binds: &[Bind],
    wanted: &[Wanted],
    memory: &Memory,
    note: &mut dyn FnMut(&str),
) -> Result<Bindings, Failure> {
    let mut bindings = Bindings::new();
    for bind in binds {
        if bindings.get(&bind.name).is_some() {
            return Err(Failure::Usage(format!("table `{}` is bound twice", bind.name)));
        }
        let Some(wanted) = wanted.iter().find(|w| w.name == bind.name) else {
            note(&format!("the plan reads no table `{}`; its file is not read", bind.name));
            continue;
        };
        if let Some(dtype) = &wanted.number {
            bindings.insert(bind.name.as_str(), number(bind, dtype)?);
            continue;
        }
        let loaded = read(&bind.file, &ReadOptions { memory: memory.clone(), ..ReadOptions::default() })?;
        let rank = loaded.info.shape.len();
        let format = bind.format.as_deref().or(wanted.format.as_deref()).map(|text| {
            parse_format(text, rank).map_err(|e| {
                let (name, file) = (&bind.name, bind.file.display());
                Failure::new(
                    format!("--bind {name}={file}:{text}: {}", without_place(&e)),
                    "`redpoll formats` lists the formats",
                )
            })
        });
        let (tensor, repeated) = loaded.into_tensor(format.transpose()?)?;
        if repeated > 0 {
            note(&format!("{}: {repeated} entries repeat coordinates; they were added up", bind.file.display()));
        }
        bindings.insert(bind.name.as_str(), tensor);
    }
    Ok(bindings)
}

/// The number that is written in the place of a file.
fn number(bind: &Bind, dtype: &DType) -> Result<Tensor, Failure> {
    let text = bind.file.display().to_string();
    let word = crate::logic::sexpr::Sexpr::atom(text.as_str());
    let value = read_value(dtype, &word).map_err(|_| {
        let message = format!("--bind {}={text}: expected a value of dtype {dtype}", bind.name);
        Failure::new(message, format!("`{}` is a number: --bind {}=0", bind.name, bind.name))
    })?;
    Tensor::scalar(&value).map_err(|e| crate::Error::from(e).into())
}

/// The dtype of numbers of which nothing is said.
pub(super) const NUMBER: DType = DType::Prim(Prim::F64);

/// The error without line and column, which say nothing in one word.
fn without_place(error: &crate::logic::Error) -> &crate::logic::Error {
    match error {
        crate::logic::Error::At { cause, .. } => cause,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects file names with colons and formats with blanks.
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
            let expected = expected.map(|(name, file, format): (&str, &str, Option<&str>)| Bind {
                name: name.into(),
                file: file.into(),
                format: format.map(Into::into),
            });
            assert_eq!(text.parse::<Bind>().ok(), expected, "{text}");
        }
    }
}
