//! Declarations of tensors in program texts, completed from the tensors that are bound to inputs.
//!
//! An input may leave out its sizes, dtype, fill value and format, which then come from the bound
//! tensor. A scalar that leaves out its fill value has the fill value zero if no tensor is bound to
//! it. A size may be a name. The first input that uses the name determines its number, which other
//! shapes and expressions then use. `(dtype A)` and `(fill A)` refer to an input, or to a tensor
//! that is declared before. In the declaration of an input, both forms refer only to inputs that
//! are declared before. [`inputs`] rejects `(dtype A)` as the dtype of a scalar input, because the
//! value of a scalar may be read before the inputs are bound.

use super::types::read_tensor_type;
use crate::notation::{OPEN_DIMENSION, Role, TensorDecl};
use redpoll_logic::Error as TextError;
use redpoll_logic::literal::{read_dtype, read_value};
use redpoll_logic::sexpr::{Sexpr, SexprKind};
use redpoll_logic::text::{format_from_sexpr, format_to_sexpr, parse_name};
use redpoll_logic::{DType, Format, Scalar, TensorType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A function from the name of an input to the type of the tensor that is bound to it.
pub type InputTypes<'a> = &'a dyn Fn(&str) -> Option<Arc<TensorType>>;

/// An input as written in a text, before a tensor is bound to it.
#[derive(Clone, PartialEq, Debug)]
pub struct InputText {
    /// The name.
    pub name: String,
    /// The size of each mode as written, a number or a name; `None` where it is open.
    pub shape: Vec<Option<String>>,
    /// The dtype, if it is written and does not refer to another input.
    pub dtype: Option<DType>,
    /// The format, if written.
    pub format: Option<Format>,
    /// The value of a scalar input to which no tensor is bound, if it is written.
    pub value: Option<Scalar>,
}

impl InputText {
    /// Returns the number of modes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }
}

/// The declarations of a text.
#[derive(Default)]
pub(super) struct Declarations {
    /// The tensors, in the order of the text.
    pub(super) tensors: Vec<TensorDecl>,
    /// For each tensor, `true` if its accesses have one subscript per mode of the tensor instead of
    /// per storage mode.
    pub(super) by_tensor_mode: Vec<bool>,
    /// The named sizes.
    pub(super) sizes: BTreeMap<String, u64>,
}

/// The parts of a declaration; `None` for a part that is left out or `_`.
struct DeclarationParts<'a> {
    role: Role,
    name: &'a str,
    /// The whole declaration.
    at: &'a Sexpr,
    /// The sizes; `None` for a scalar.
    shape: Option<&'a [Sexpr]>,
    dtype: Option<&'a Sexpr>,
    fill: Option<&'a Sexpr>,
    format: Option<&'a Sexpr>,
    by_tensor_mode: bool,
}

/// Reads the declarations among the items of a program.
pub(super) fn declarations(items: &[Sexpr], input_types: InputTypes<'_>) -> Result<Declarations, TextError> {
    let parts = items.iter().filter_map(declaration_parts).collect::<Result<Vec<_>, _>>()?;
    let mut d = Declarations::default();
    let mut read: Vec<(usize, TensorDecl)> = Vec::new();
    // Inputs first, since they determine named sizes.
    for inputs in [true, false] {
        for (k, parts) in parts.iter().enumerate().filter(|(_, p)| (p.role == Role::Input) == inputs) {
            let ty = match inputs {
                true => d.input(parts, &read, input_types)?,
                false => d.output_or_local(parts, &read)?,
            };
            read.push((k, TensorDecl::new(parts.name, Arc::new(ty), parts.role)));
        }
    }
    read.sort_by_key(|(k, _)| *k);
    d.by_tensor_mode = parts.iter().map(|p| p.by_tensor_mode).collect();
    d.tensors = read.into_iter().map(|(_, tensor)| tensor).collect();
    if let Some((name, p)) = parts.iter().find_map(|p| Some((d.sizes.get_key_value(p.name)?.0, p))) {
        return Err(p.at.error(format!("`{name}` is a tensor and a size; rename one")));
    }
    Ok(d)
}

/// Returns the inputs of a text to which tensors can be bound, as written.
pub(super) fn inputs(items: &[Sexpr]) -> Result<Vec<InputText>, TextError> {
    let parts = items.iter().filter_map(declaration_parts).collect::<Result<Vec<_>, _>>()?;
    let input = |p: &DeclarationParts<'_>| {
        let size = |s: &Sexpr| s.as_atom().filter(|word| *word != "_").map(str::to_owned);
        let shape: Vec<Option<String>> = p.shape.unwrap_or_default().iter().map(size).collect();
        let rank = shape.len();
        let dtype = match p.dtype.filter(|s| matches!(s.as_form(), Some(("dtype", _)))) {
            Some(of) if p.shape.is_none() => {
                let problem = format!("the dtype of the number `{}` must be written, such as f64; found {of}", p.name);
                return Err(of.error(problem));
            }
            Some(_) => None,
            None => p.dtype.map(read_dtype).transpose()?,
        };
        let value = match (&dtype, p.fill, rank) {
            (Some(dtype), Some(fill), 0) => Some(read_value(dtype, fill)?),
            _ => None,
        };
        let format = p.format.map(|f| format_from_sexpr(f, rank)).transpose()?;
        Ok(InputText { name: p.name.to_owned(), shape, dtype, format, value })
    };
    // Inputs computed from other inputs are not bound.
    let is_computed = |name: &str| {
        items
            .iter()
            .filter_map(|item| item.as_form().filter(|(head, _)| *head == "block-inputs"))
            .any(|(_, parts)| parts.iter().skip(3).any(|input| parse_name(input, "").ok() == Some(name)))
    };
    parts.iter().filter(|p| p.role == Role::Input && !is_computed(p.name)).map(input).collect()
}

/// Returns the parts of a declaration; `None` if the item is not a declaration.
fn declaration_parts(item: &Sexpr) -> Option<Result<DeclarationParts<'_>, TextError>> {
    let (role, rest) = match item.as_form()? {
        ("input", rest) => (Role::Input, rest),
        ("output", rest) => (Role::Output, rest),
        ("local", rest) => (Role::Local, rest),
        _ => return None,
    };
    Some(split_declaration(item, role, rest))
}

fn split_declaration<'a>(at: &'a Sexpr, role: Role, rest: &'a [Sexpr]) -> Result<DeclarationParts<'a>, TextError> {
    let malformed = || {
        let word = at.as_form().map_or("input", |(word, _)| word);
        at.error(format!(
            "expected ({word} NAME (shape SIZE ..) DTYPE FILL FORMAT), ({word} NAME DTYPE FILL) or \
             ({word} NAME (type ..))"
        ))
    };
    let [name, first, more @ ..] = rest else { return Err(malformed()) };
    let written_part = |s: &'a Sexpr| (s.as_atom() != Some("_")).then_some(s);
    let nth = |k: usize| more.get(k).and_then(written_part);
    let name = parse_name(name, "the name of a tensor")?;
    let none =
        DeclarationParts { role, name, at, shape: None, dtype: None, fill: None, format: None, by_tensor_mode: false };
    match first.as_form() {
        Some(("type", [shape, dtype, fill, format])) if more.is_empty() => {
            let Some(("shape", sizes)) = shape.as_form() else {
                return Err(shape.error(format!("expected `(shape ..)`, found {shape}")));
            };
            Ok(DeclarationParts {
                shape: Some(sizes),
                dtype: written_part(dtype),
                fill: written_part(fill),
                format: written_part(format),
                ..none
            })
        }
        Some(("type", _)) => Err(read_tensor_type(first).err().unwrap_or_else(malformed)),
        Some(("shape", sizes)) if more.len() <= 3 => Ok(DeclarationParts {
            shape: Some(sizes),
            dtype: nth(0),
            fill: nth(1),
            format: nth(2),
            by_tensor_mode: true,
            ..none
        }),
        _ if more.len() <= 1 => Ok(DeclarationParts { dtype: written_part(first), fill: nth(0), ..none }),
        _ => Err(malformed()),
    }
}

impl Declarations {
    /// Returns the type of an input, and records the sizes that the input names. Written parts must
    /// agree with the bound tensor, except for the fill value of a scalar.
    fn input(
        &mut self,
        p: &DeclarationParts<'_>,
        read: &[(usize, TensorDecl)],
        input_types: InputTypes<'_>,
    ) -> Result<TensorType, TextError> {
        let name = p.name;
        let found = input_types(name);
        let sizes = p.shape.unwrap_or_default();
        if let Some(found) = found.as_ref().filter(|t| t.shape.len() != sizes.len()) {
            let (rank, shape) = (sizes.len(), &found.shape);
            let what = format!("input `{name}` has {rank} modes, but the bound tensor has shape {shape:?}");
            return Err(p.at.error(what));
        }
        let open = |part: &str| {
            p.at.error(format!("the {part} of input `{name}` is not known; write it, or bind a tensor to `{name}`"))
        };
        let mut shape = Vec::new();
        for (mode, s) in sizes.iter().enumerate() {
            let found = found.as_ref().map(|t| t.shape[mode]);
            let size = match (self.size(s)?, found) {
                (DeclaredSize::Number(n), Some(found)) if n != found => {
                    let what =
                        format!("mode {mode} of input `{name}` has size {found}, expected {n} (`{s}` in the text)");
                    return Err(s.error(what));
                }
                (DeclaredSize::Number(n), _) => n,
                (DeclaredSize::Open, found) => found.ok_or_else(|| open("shape"))?,
                (DeclaredSize::Named(size), found) => {
                    let n = found.ok_or_else(|| open("shape"))?;
                    self.sizes.insert(size, n);
                    n
                }
            };
            shape.push(size);
        }
        let differs = |at: &Sexpr, part: &str, written: String, found: String| {
            at.error(format!("input `{name}` has {part} {written}, but the bound tensor has {found}"))
        };
        let found = found.as_ref();
        let dtype = match (p.dtype.map(|s| dtype(s, read)).transpose()?, found) {
            (Some(dtype), Some(found)) if dtype != found.dtype => {
                let at = p.dtype.unwrap_or(p.at);
                return Err(differs(at, "dtype", dtype.to_string(), found.dtype.to_string()));
            }
            (Some(dtype), _) => dtype,
            (None, found) => found.ok_or_else(|| open("dtype"))?.dtype.clone(),
        };
        let scalar = p.shape.is_none();
        let fill = match (p.fill.map(|s| fill(&dtype, s, read)).transpose()?, found) {
            // The fill value of a scalar is its value if no tensor is bound.
            (Some(fill), Some(found)) if fill != found.fill && !scalar => {
                let at = p.fill.unwrap_or(p.at);
                return Err(differs(at, "fill value", fill.to_string(), found.fill.to_string()));
            }
            (_, Some(found)) => found.fill.clone(),
            (Some(fill), None) => fill,
            (None, None) if scalar => zero(&dtype),
            (None, None) => return Err(open("fill value")),
        };
        let format = match (p.format.map(|s| format_from_sexpr(s, shape.len())).transpose()?, found) {
            (Some(format), Some(found)) if format != found.format => {
                let at = p.format.unwrap_or(p.at);
                let [written, found] = [&format, &found.format].map(|f| format_to_sexpr(f).to_string());
                return Err(differs(at, "format", written, found));
            }
            (Some(format), _) => format,
            (None, Some(found)) => found.format.clone(),
            (None, None) if scalar => Format::dense(0),
            (None, None) => return Err(open("format")),
        };
        Ok(TensorType { shape, dtype, fill, format })
    }

    /// Returns the type of an output or local. The default fill value is zero, the default format
    /// dense.
    fn output_or_local(&self, p: &DeclarationParts<'_>, read: &[(usize, TensorDecl)]) -> Result<TensorType, TextError> {
        let mut shape = Vec::new();
        for s in p.shape.unwrap_or_default() {
            shape.push(match self.size(s)? {
                DeclaredSize::Number(n) => n,
                DeclaredSize::Open => OPEN_DIMENSION,
                DeclaredSize::Named(size) => {
                    let names = self.sizes.keys().map(String::as_str);
                    return Err(s.locate(TextError::unknown("size", &size, names)));
                }
            });
        }
        let written = p.dtype.ok_or_else(|| p.at.error(format!("the dtype of `{}` is not written", p.name)))?;
        let dtype = dtype(written, read)?;
        let fill = p.fill.map_or_else(|| Ok(zero(&dtype)), |s| fill(&dtype, s, read))?;
        let format = p.format.map_or_else(|| Ok(Format::dense(shape.len())), |s| format_from_sexpr(s, shape.len()))?;
        Ok(TensorType { shape, dtype, fill, format })
    }

    fn size(&self, s: &Sexpr) -> Result<DeclaredSize, TextError> {
        Ok(match &s.kind {
            SexprKind::Atom(word) if word == "_" => DeclaredSize::Open,
            SexprKind::Atom(word) if word.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                DeclaredSize::Number(s.number("a size")?)
            }
            _ => {
                let name = parse_name(s, "a size")?;
                self.sizes.get(name).map_or_else(|| DeclaredSize::Named(name.to_owned()), |n| DeclaredSize::Number(*n))
            }
        })
    }
}

/// A size in a shape.
enum DeclaredSize {
    Number(u64),
    Open,
    /// A name without a number yet.
    Named(String),
}

fn zero(dtype: &DType) -> Scalar {
    let zeros: Vec<Scalar> = dtype.prims().into_iter().map(Scalar::zero).collect();
    Scalar::unflatten(dtype, &mut zeros.into_iter()).expect("a dtype consists of its primitives")
}

/// Reads a dtype, any part of which may be written `(dtype A)`.
fn dtype(s: &Sexpr, read: &[(usize, TensorDecl)]) -> Result<DType, TextError> {
    read_dtype(&with_dtypes(s, read)?)
}

/// Replaces `(dtype A)` by the dtype of the tensor.
fn with_dtypes(s: &Sexpr, read: &[(usize, TensorDecl)]) -> Result<Sexpr, TextError> {
    if let Some(("dtype", [t])) = s.as_form() {
        let dtype = redpoll_logic::literal::write_dtype(&tensor(t, read)?.ty.dtype);
        return Ok(Sexpr { position: s.position, ..dtype });
    }
    match &s.kind {
        SexprKind::List(items) => {
            let items = items.iter().map(|item| with_dtypes(item, read)).collect::<Result<_, _>>()?;
            Ok(Sexpr { position: s.position, kind: SexprKind::List(items) })
        }
        _ => Ok(s.clone()),
    }
}

/// Reads a fill value, or `(fill A)`.
fn fill(dtype: &DType, s: &Sexpr, read: &[(usize, TensorDecl)]) -> Result<Scalar, TextError> {
    let Some(("fill", [t])) = s.as_form() else { return read_value(dtype, s) };
    let fill = tensor(t, read)?.ty.fill.clone();
    if fill.dtype() != *dtype {
        return Err(s.error(format!("the fill value of {t} has dtype {}, expected {dtype}", fill.dtype())));
    }
    Ok(fill)
}

fn tensor<'a>(s: &Sexpr, read: &'a [(usize, TensorDecl)]) -> Result<&'a TensorDecl, TextError> {
    let name = parse_name(s, "the name of a tensor")?;
    let names = read.iter().map(|(_, t)| t.name.as_str());
    let found = read.iter().map(|(_, t)| t).find(|t| t.name == name);
    found.ok_or_else(|| s.locate(TextError::unknown("tensor", name, names)))
}
