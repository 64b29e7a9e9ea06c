//! The text form of transformations; the module `schedule` lists them.

use super::types::name;
use crate::notation::{BlockPartition, Transformation};
use redpoll_logic::Error;
use redpoll_logic::sexpr::Sexpr;
use redpoll_logic::text::{format_from_sexpr, format_to_sexpr, parse_name};

/// Parses a transformation.
pub(super) fn transformation(s: &Sexpr) -> Result<Transformation, Error> {
    let (head, rest) = s.as_form().ok_or_else(|| s.error(format!("expected a transformation, found {s}")))?;
    Ok(match (head, rest) {
        ("reorder", indices @ [_, ..]) => {
            Transformation::Reorder(indices.iter().map(index).collect::<Result<_, Error>>()?)
        }
        ("split", [of, outer, inner, blocks]) => Transformation::Split {
            index: index(of)?,
            outer: index(outer)?,
            inner: index(inner)?,
            blocks: match blocks.as_form() {
                Some(("into", [count])) => BlockPartition::Into(positive(count)?),
                Some(("into", [count, of])) => match of.as_form() {
                    Some(("stored", [of])) => BlockPartition::Stored(positive(count)?, tensor(of)?),
                    _ => return Err(of.error(format!("expected `(stored A)`, found {of}"))),
                },
                _ => BlockPartition::Of(positive(blocks)?),
            },
        },
        ("collapse", [outer, inner, product]) => {
            Transformation::Collapse { outer: index(outer)?, inner: index(inner)?, product: index(product)? }
        }
        ("bound", [of, rounds]) => Transformation::Bound { index: index(of)?, rounds: number(rounds)? },
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
            let forms = "`reorder`, `split`, `collapse`, `bound`, `precompute`, `parallel`, `lanes` or `unroll`";
            return Err(s.error(format!("expected {forms} with their arguments, found {s}")));
        }
    })
}

fn index(s: &Sexpr) -> Result<String, Error> {
    parse_name(s, "the name of an index").map(str::to_owned)
}

fn tensor(s: &Sexpr) -> Result<String, Error> {
    parse_name(s, "the name of a tensor").map(str::to_owned)
}

/// Reads an index with its new names on both sides.
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

/// Returns the text of a transformation.
pub(in crate::notation) fn print_transformation(t: &Transformation) -> Sexpr {
    let count = |n: &u64| Sexpr::atom(n.to_string());
    match t {
        Transformation::Reorder(indices) => Sexpr::form("reorder", indices.iter().map(|i| name(i))),
        Transformation::Split { index, outer, inner, blocks } => {
            let blocks = match blocks {
                BlockPartition::Of(size) => count(size),
                BlockPartition::Into(number) => Sexpr::form("into", [count(number)]),
                BlockPartition::Stored(number, of) => {
                    Sexpr::form("into", [count(number), Sexpr::form("stored", [name(of)])])
                }
            };
            Sexpr::form("split", [name(index), name(outer), name(inner), blocks])
        }
        Transformation::Collapse { outer, inner, product } => {
            Sexpr::form("collapse", [name(outer), name(inner), name(product)])
        }
        Transformation::Bound { index, rounds } => Sexpr::form("bound", [name(index), count(rounds)]),
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
