//! The text forms of transformations and schedules; the module `schedule` lists transformations.

use super::types::name;
use crate::notation::{RoundBound, Schedule, TRANSFORMATIONS, Transformation};
use redpoll_logic::sexpr::{Sexpr, read};
use redpoll_logic::text::{format_from_sexpr, format_to_sexpr, parse_name};
use redpoll_logic::{Alias, Error};
use redpoll_storage::BlockPartition;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

impl FromStr for Schedule {
    type Err = Error;

    /// Reads a schedule: transformations as calls or s-expressions, after `NAME:` if they transform
    /// the query of this name.
    fn from_str(text: &str) -> Result<Schedule, Error> {
        let (query, calls) = match text.split_once(':') {
            Some((query, calls)) if !query.contains('(') => (Some(Alias::from(query.trim())), calls),
            _ => (None, text),
        };
        let forms = if calls.trim_start().starts_with('(') { read(calls)? } else { read(&forms_of_calls(calls))? };
        let transformations = forms.iter().map(transformation).collect::<Result<Vec<_>, Error>>()?;
        match transformations.is_empty() {
            true => Err(Error::Syntax("expected a transformation, found the end of the text".to_owned())),
            false => Ok(Schedule { query, transformations }),
        }
    }
}

impl Schedule {
    /// Reads the form `(schedule NAME transformation ..)`, in which the name of the query may be
    /// left out.
    ///
    /// # Errors
    /// Fails if the form is malformed.
    pub fn from_sexpr(form: &Sexpr) -> Result<Schedule, Error> {
        let Some(("schedule", rest)) = form.as_form() else {
            return Err(form.error(format!("expected `(schedule QUERY transformation ..)`, found {form}")));
        };
        let (query, transformations) = match rest.split_first() {
            Some((first, rest)) if first.as_list().is_none() => {
                (Some(Alias::from(parse_name(first, "the name of a query")?)), rest)
            }
            _ => (None, rest),
        };
        Ok(Schedule { query, transformations: transformations.iter().map(transformation).collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for Schedule {
    /// Writes the form that [`Schedule::from_sexpr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = self.query.iter().map(|query| name(query.as_str()));
        let form = Sexpr::form("schedule", query.chain(self.transformations.iter().map(print_transformation)));
        write!(f, "{form}")
    }
}

/// Converts calls to forms: `f(a, g(b), (c, d))` becomes `(f a (g b) (c d))`.
fn forms_of_calls(text: &str) -> String {
    let (mut forms, mut word, mut depth) = (String::new(), String::new(), 0_usize);
    for c in text.chars() {
        depth = match c {
            '(' => depth + 1,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
        match c {
            '(' => {
                forms.push('(');
                forms.push_str(&std::mem::take(&mut word));
                forms.push(' ');
            }
            ')' | ',' => {
                forms.push_str(&std::mem::take(&mut word));
                forms.push(if c == ',' { ' ' } else { c });
            }
            // A semicolon may separate transformations.
            ';' if depth == 0 && word.is_empty() => {}
            // A space may stand before the arguments of a transformation.
            c if c.is_whitespace() && depth == 0 && !word.is_empty() => {}
            c if c.is_whitespace() => {
                forms.push_str(&std::mem::take(&mut word));
                forms.push(c);
            }
            c => word.push(c),
        }
    }
    forms + &word
}

/// Parses a transformation.
pub(super) fn transformation(s: &Sexpr) -> Result<Transformation, Error> {
    let (head, rest) = s.as_form().ok_or_else(|| s.error(format!("expected a transformation, found {s}")))?;
    Ok(match (head, rest) {
        ("reorder", indices @ [_, ..]) => {
            Transformation::Reorder(indices.iter().map(index).collect::<Result<_, Error>>()?)
        }
        ("split", [of, outer, inner, blocks]) => {
            let (blocks, stored) = parse_blocks(blocks)?;
            Transformation::Split { index: index(of)?, outer: index(outer)?, inner: index(inner)?, blocks, stored }
        }
        ("collapse", [outer, inner, product]) => {
            Transformation::Collapse { outer: index(outer)?, inner: index(inner)?, product: index(product)? }
        }
        ("bound", [of, rounds]) => {
            let rounds = match rounds.as_form() {
                Some(("at-most", [rounds])) => RoundBound::AtMost(number(rounds)?),
                _ => RoundBound::Exactly(number(rounds)?),
            };
            Transformation::Bound { index: index(of)?, rounds }
        }
        ("precompute", [workspace, target, of, rest @ ..]) => {
            let of = of
                .as_list()
                .ok_or_else(|| of.error(format!("expected the tensors of a part in parentheses, found {of}")))?;
            let (over, format) = match rest.split_last() {
                Some((last, over)) if index_names(last).is_none() => (over, Some(last)),
                _ => (rest, None),
            };
            let not_three = |s: &Sexpr| s.error(format!("expected an index with its two new names, found {s}"));
            let over: Vec<[String; 3]> =
                over.iter().map(|s| index_names(s).ok_or_else(|| not_three(s))).collect::<Result<_, _>>()?;
            Transformation::Precompute {
                workspace: tensor(workspace)?,
                target: tensor(target)?,
                of: of.iter().map(tensor).collect::<Result<_, _>>()?,
                format: format.map(|s| format_from_sexpr(s, over.len())).transpose()?,
                over,
            }
        }
        ("parallel", [of]) => Transformation::Parallel(index(of)?),
        ("lanes", [of, lanes]) => Transformation::Lanes { index: index(of)?, lanes: number(lanes)? },
        ("unroll", [of]) => Transformation::Unroll { index: index(of)?, copies: None },
        ("unroll", [of, copies]) => Transformation::Unroll { index: index(of)?, copies: Some(positive(copies)?) },
        _ => {
            let forms = TRANSFORMATIONS.iter().flat_map(|t| t.forms);
            let same = forms.clone().filter(|form| form.split('(').next() == Some(head));
            let expected = match same.map(|form| format!("`{form}`")).collect::<Vec<_>>() {
                same if same.is_empty() => {
                    let heads: BTreeSet<_> = forms.filter_map(|form| form.split('(').next()).collect();
                    let unknown = Error::unknown("transformation", head, heads.iter().copied());
                    if matches!(&unknown, Error::Unknown { similar, .. } if !similar.is_empty()) {
                        return Err(s.error(unknown.to_string()));
                    }
                    heads.into_iter().map(|head| format!("`{head}`")).collect::<Vec<_>>().join(", ")
                }
                same => same.join(" or "),
            };
            return Err(s.error(format!("expected {expected}, found {s}")));
        }
    })
}

fn index(s: &Sexpr) -> Result<String, Error> {
    parse_name(s, "the name of an index").map(str::to_owned)
}

fn tensor(s: &Sexpr) -> Result<String, Error> {
    parse_name(s, "the name of a tensor").map(str::to_owned)
}

/// Reads an index with its new names where a workspace is read and where it is written.
fn index_names(s: &Sexpr) -> Option<[String; 3]> {
    let names: Vec<String> = s.as_list()?.iter().map(|s| index(s).ok()).collect::<Option<_>>()?;
    names.try_into().ok()
}

fn number(s: &Sexpr) -> Result<u64, Error> {
    let value = s.as_atom().and_then(|word| word.parse().ok());
    value.ok_or_else(|| s.error(format!("expected a whole number, found {s}")))
}

fn positive(s: &Sexpr) -> Result<u64, Error> {
    match number(s)? {
        0 => Err(s.error("expected a number above 0, found 0".to_owned())),
        n => Ok(n),
    }
}

/// Reads a partition into blocks, and the name of the tensor whose stored entries are cut, if there
/// is one.
pub(super) fn parse_blocks(s: &Sexpr) -> Result<(BlockPartition, Option<String>), Error> {
    let (partition, of) = match s.as_form() {
        Some(("into", [count, of @ ..])) if of.len() < 2 => (BlockPartition::Into(positive(count)?), of.first()),
        Some(("of", [size, of @ ..])) if of.len() < 2 => (BlockPartition::Of(positive(size)?), of.first()),
        _ => (BlockPartition::Of(positive(s)?), None),
    };
    let stored = of.map(|of| match of.as_form() {
        Some(("stored", [of])) => tensor(of),
        _ => Err(of.error(format!("expected `(stored A)`, found {of}"))),
    });
    Ok((partition, stored.transpose()?))
}

/// Returns the text of a partition into blocks.
pub(super) fn print_blocks(blocks: BlockPartition) -> Sexpr {
    let (head, n) = parts_of_blocks(blocks);
    Sexpr::form(head, [Sexpr::atom(n.to_string())])
}

fn parts_of_blocks(blocks: BlockPartition) -> (&'static str, u64) {
    match blocks {
        BlockPartition::Of(size) => ("of", size),
        BlockPartition::Into(number) => ("into", number),
    }
}

/// Returns the text of a transformation.
pub(in crate::notation) fn print_transformation(t: &Transformation) -> Sexpr {
    let count = |n: &u64| Sexpr::atom(n.to_string());
    match t {
        Transformation::Reorder(indices) => Sexpr::form("reorder", indices.iter().map(|i| name(i))),
        Transformation::Split { index, outer, inner, blocks, stored } => {
            let blocks = match (blocks, stored) {
                (BlockPartition::Of(size), None) => count(size),
                (blocks, None) => print_blocks(*blocks),
                (blocks, Some(of)) => {
                    let (head, n) = parts_of_blocks(*blocks);
                    Sexpr::form(head, [count(&n), Sexpr::form("stored", [name(of)])])
                }
            };
            Sexpr::form("split", [name(index), name(outer), name(inner), blocks])
        }
        Transformation::Collapse { outer, inner, product } => {
            Sexpr::form("collapse", [name(outer), name(inner), name(product)])
        }
        Transformation::Bound { index, rounds } => {
            let rounds = match rounds {
                RoundBound::Exactly(rounds) => count(rounds),
                RoundBound::AtMost(rounds) => Sexpr::form("at-most", [count(rounds)]),
            };
            Sexpr::form("bound", [name(index), rounds])
        }
        Transformation::Precompute { workspace, target, of, over, format } => {
            let of = Sexpr::list(of.iter().map(|t| name(t)));
            let over = over.iter().map(|names| Sexpr::list(names.iter().map(|n| name(n))));
            let parts = [name(workspace), name(target), of].into_iter().chain(over);
            Sexpr::form("precompute", parts.chain(format.as_ref().map(format_to_sexpr)))
        }
        Transformation::Parallel(index) => Sexpr::form("parallel", [name(index)]),
        Transformation::Lanes { index, lanes } => Sexpr::form("lanes", [name(index), count(lanes)]),
        Transformation::Unroll { index, copies } => {
            Sexpr::form("unroll", [name(index)].into_iter().chain(copies.as_ref().map(count)))
        }
    }
}
