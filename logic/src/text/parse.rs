//! The parser of plans.

use super::constant::{parse_constant, parse_number, parse_strong};
use super::format::format_from_sexpr;
use super::index::{apply_map, parse_field};
use super::index_notation;
use super::{Catalog, Operators, form_args, parse_name, unknown_form};
use crate::error::{Error, plural};
use crate::expr::{ComputedFills, Expr, fold_dtype};
use crate::field::{Alias, Field};
use crate::format::TensorType;
use crate::plan::{Plan, Query};
use crate::sexpr::{Sexpr, read_with_rest};
use std::sync::Arc;

/// Heads of expressions, and their syntax.
const FORMS: &[(&str, &str)] = &[
    ("lit", "(lit DTYPE CONST)"),
    ("literal", "(literal CONST)"),
    ("table", "(table NAME FIELD..)"),
    ("coordinate", "(coordinate FIELD)"),
    ("mapjoin", "(mapjoin OP EXPR..)"),
    ("aggregate", "(aggregate OP CONST EXPR FIELD..)"),
    ("scan", "(scan OP EXPR FIELD)"),
    ("reorder", "(reorder EXPR FIELD..)"),
    ("relabel", "(relabel EXPR FIELD..)"),
    ("index", "(index MAP.. EXPR)"),
    ("reformat", "(reformat FORMAT EXPR)"),
    ("refill", "(refill CONST|same [drop] EXPR)"),
];

/// The text of a plan, after it is read as an s-expression, or in index notation.
///
/// ```
/// use redpoll_logic::text::{Catalog, PlanText};
/// use redpoll_logic::{DType, Format, Scalar, TensorType};
///
/// let text = PlanText::read("(plan (query s (aggregate + 0 (table x i) i)) (produces s)) (schedule (parallel i))")?;
/// assert_eq!(text.free_tables()?[0].0.as_str(), "x");
/// assert_eq!(text.schedules().len(), 1);
/// let x = TensorType { shape: vec![5], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::dense(1) };
/// let plan = text.parse(&[("x", x)].into_iter().collect())?;
/// assert_eq!(plan.produces[0].as_str(), "s");
/// # Ok::<(), redpoll_logic::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlanText<'t>(PlanSyntax<'t>);

#[derive(Clone, Debug)]
enum PlanSyntax<'t> {
    IndexNotation(&'t str),
    /// The form of the plan, and the forms `(schedule ..)` after it.
    Forms(Sexpr, Vec<Sexpr>),
}

impl<'t> PlanText<'t> {
    /// Reads a text. A text in index notation is not checked here, but by the other methods.
    ///
    /// # Errors
    /// Returns an error if the text is no s-expression, or if a form other than a schedule follows
    /// the plan.
    pub fn read(text: &'t str) -> Result<PlanText<'t>, Error> {
        if index_notation::is_index_notation(text) {
            return Ok(PlanText(PlanSyntax::IndexNotation(text)));
        }
        let (plan, schedules) = read_with_rest(text, |form| matches!(form.as_form(), Some(("schedule", _))))?;
        Ok(PlanText(PlanSyntax::Forms(plan, schedules)))
    }

    /// Returns the plan over the inputs of a catalog.
    ///
    /// # Errors
    /// Returns the errors of [`parse`].
    pub fn parse(&self, catalog: &Catalog) -> Result<Plan, Error> {
        let form = match &self.0 {
            PlanSyntax::IndexNotation(text) => return index_notation::parse(text, catalog),
            PlanSyntax::Forms(form, _) => form,
        };
        let mut reader = PlanReader { catalog, ops: Operators::default(), results: Vec::new(), queries: Vec::new() };
        let produces = reader.plan(form)?;
        if produces.is_empty() {
            return Err(form.error("the plan produces nothing; end it with (produces NAME..)"));
        }
        Ok(Plan { queries: reader.queries, produces })
    }

    /// Returns the inputs that the plan reads.
    ///
    /// # Errors
    /// Returns the errors of [`free_tables`].
    pub fn free_tables(&self) -> Result<Vec<(Alias, Vec<Field>)>, Error> {
        let form = match &self.0 {
            PlanSyntax::IndexNotation(text) => return index_notation::free_tables(text),
            PlanSyntax::Forms(form, _) => form,
        };
        let (mut bound, mut free) = (Vec::new(), Vec::new());
        collect_free(form, &mut bound, &mut free)?;
        Ok(free)
    }

    /// Returns the forms `(schedule ..)` that follow the plan; none for index notation. Schedules
    /// say how loops run, not what the loops compute, so [`PlanText::parse`] ignores schedules.
    pub fn schedules(&self) -> &[Sexpr] {
        match &self.0 {
            PlanSyntax::IndexNotation(_) => &[],
            PlanSyntax::Forms(_, schedules) => schedules,
        }
    }
}

/// Parses a plan over the inputs of a catalog: s-expressions, or statements in index notation such
/// as `y(i) = A(i,j) * x(j)`.
///
/// # Errors
/// Returns an error if the text is not a well-formed plan over these inputs; the error has line and
/// column, unless the text is empty or has only comments.
pub fn parse(text: &str, catalog: &Catalog) -> Result<Plan, Error> {
    PlanText::read(text)?.parse(catalog)
}

/// Returns the inputs that a text reads, each with the fields of its first read, in the order of
/// the first reads. A catalog for [`parse`] must contain these inputs, except parameters.
///
/// # Errors
/// Returns an error if the text is malformed, or if an input is read with two different numbers of
/// fields.
pub fn free_tables(text: &str) -> Result<Vec<(Alias, Vec<Field>)>, Error> {
    PlanText::read(text)?.free_tables()
}

fn collect_free(s: &Sexpr, bound: &mut Vec<String>, free: &mut Vec<(Alias, Vec<Field>)>) -> Result<(), Error> {
    let (head, rest) = s.as_form().unwrap_or(("", s.as_list().unwrap_or(&[])));
    let read = match (head, rest) {
        ("table", [alias, fields @ ..]) => Some((alias, fields)),
        ("parameter", [input, _]) => Some((input, &[][..])),
        _ => None,
    };
    if let Some((alias, fields)) = read {
        let alias = parse_name(alias, "the name of a table")?;
        match free.iter().find(|(a, _)| a.as_str() == alias) {
            _ if bound.iter().any(|b| b == alias) => {}
            None => free.push((alias.into(), parse_fields(fields)?)),
            Some((_, first)) if first.len() == fields.len() => {}
            Some((_, first)) => {
                let (found, before) = (fields.len(), first.len());
                let noun = plural(found as u64, "field", "fields");
                let message = format!("`{alias}` is read with {found} {noun}, but was read with {before} before");
                return Err(s.error(message));
            }
        }
        return Ok(());
    }
    rest.iter().try_for_each(|inner| collect_free(inner, bound, free))?;
    if let ("query", [alias, _]) = (head, rest) {
        bound.push(parse_name(alias, "the name of a query")?.to_owned());
    }
    Ok(())
}

struct PlanReader<'a> {
    catalog: &'a Catalog,
    /// The built-in operators and the operators defined so far.
    ops: Operators,
    /// Results of the queries so far, with types and fields.
    results: Vec<(Alias, Arc<TensorType>, Vec<Field>)>,
    queries: Vec<Query>,
}

impl PlanReader<'_> {
    /// Reads the items of a plan; returns its results.
    fn plan(&mut self, s: &Sexpr) -> Result<Vec<Alias>, Error> {
        let Some(("plan", items)) = s.as_form() else {
            return Err(
                s.error(format!("expected (plan (query NAME EXPR).. (produces NAME..)), found {}", abbreviate(s)))
            );
        };
        let (mut produces, mut inner) = (Vec::new(), Vec::new());
        for item in items {
            match item.as_form() {
                Some(("query", _)) => self.query(item)?,
                Some(("produces", names)) => {
                    for n in names {
                        produces.push(self.result(n)?);
                    }
                }
                Some(("plan", _)) => inner.extend(self.plan(item)?),
                Some(("define-op", _)) => self.ops.define(item)?,
                Some((head, _)) => {
                    let candidates = ["query", "produces", "plan", "define-op"];
                    return Err(item.locate(Error::unknown("plan item", head, candidates)));
                }
                None => {
                    return Err(item.error(format!("expected (query ..) or (produces ..), found {}", abbreviate(item))));
                }
            }
        }
        Ok(if produces.is_empty() { inner } else { produces })
    }

    fn query(&mut self, s: &Sexpr) -> Result<(), Error> {
        let [alias, expr] = form_args(s, "(query NAME EXPR)")?;
        let name = Alias::from(parse_name(alias, "the name of a query")?);
        if self.results.iter().any(|(a, ..)| *a == name) {
            return Err(alias.error(format!("query `{name}` is bound twice; give one of them another name")));
        }
        let expr = self.expr(expr).map_err(|e| s.locate(e))?;
        let query = Query { alias: name.clone(), expr };
        let ty = query.result_type().map_err(|e| s.locate(e))?;
        self.results.push((name, Arc::new(ty), query.expr.info().fields.clone()));
        self.queries.push(query);
        Ok(())
    }

    fn result(&self, s: &Sexpr) -> Result<Alias, Error> {
        let alias = parse_name(s, "the name of a query")?;
        match self.results.iter().find(|(a, ..)| a.as_str() == alias) {
            Some((a, ..)) => Ok(a.clone()),
            None => Err(s.locate(Error::unknown("query", alias, self.results.iter().map(|(a, ..)| a.as_str())))),
        }
    }

    fn expr(&self, s: &Sexpr) -> Result<Expr, Error> {
        if let Some(value) = parse_number(s) {
            return Ok(Expr::number(value));
        }
        if let Some(value) = parse_strong(s)? {
            return Ok(Expr::literal(value));
        }
        let Some((head, rest)) = s.as_form() else {
            return match s.as_list() {
                None => self.query_result(s),
                Some(_) => Err(s.error(format!("expected an expression, found {}", abbreviate(s)))),
            };
        };
        let expr = match (head, rest) {
            ("table", [alias, fields @ ..]) => self.table(alias, fields)?,
            ("coordinate", [f]) => Ok(Expr::coordinate(parse_field(f)?)),
            ("mapjoin", [op, args @ ..]) => {
                let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>, _>>()?;
                Expr::mapjoin(self.ops.read_name(op)?, args)
            }
            ("aggregate", [op, init, arg, fields @ ..]) if !is_expression(init) => {
                let (op, arg) = (self.ops.read_name(op)?, self.expr(arg)?);
                let dtype = fold_dtype(&op, &arg.info().dtype, "fold").map_err(|e| s.locate(e))?;
                Expr::aggregate(op, parse_constant(init, &dtype)?, arg, parse_fields(fields)?)
            }
            ("scan", [op, arg, along]) => Expr::scan(self.ops.read_name(op)?, self.expr(arg)?, parse_field(along)?),
            ("reorder", [arg, fields @ ..]) => self.expr(arg)?.reorder(parse_fields(fields)?),
            ("relabel", [arg, fields @ ..]) => self.expr(arg)?.relabel(parse_fields(fields)?),
            ("index", [maps @ .., arg]) if !maps.is_empty() => {
                let arg = self.expr(arg)?;
                maps.iter().try_fold(arg, |arg, map| apply_map(map, arg))
            }
            ("reformat", [format, arg]) => {
                let arg = self.expr(arg)?;
                let format = format_from_sexpr(format, arg.info().fields.len())?;
                arg.reformat(format)
            }
            ("refill", [fill, flags @ .., arg])
                if flags.iter().all(|f| f.as_atom() == Some("drop")) && flags.len() < 2 =>
            {
                let arg = self.expr(arg)?;
                let computed_fills = if flags.is_empty() { ComputedFills::Keep } else { ComputedFills::Drop };
                let fill = match fill.as_atom() {
                    Some("same") => None,
                    _ => Some(parse_constant(fill, &arg.info().dtype)?),
                };
                arg.refill(fill, computed_fills)
            }
            _ => return Err(self.expression_error(s, head)),
        };
        expr.map_err(|e| s.locate(e))
    }

    fn expression_error(&self, s: &Sexpr, head: &str) -> Error {
        match FORMS.iter().find(|(name, _)| *name == head) {
            Some((_, form)) => s.error(format!("expected {form}, found {}", abbreviate(s))),
            None if self.ops.find(head).is_some() => {
                s.error(format!("operator `{head}` is not an expression; write (mapjoin {head} ..)"))
            }
            None => unknown_form(s, "expression", head, FORMS),
        }
    }

    /// Reads a bare name: the result of an earlier query, with its own fields.
    fn query_result(&self, s: &Sexpr) -> Result<Expr, Error> {
        let alias = parse_name(s, "an expression")?;
        if let Some((a, ty, fields)) = self.results.iter().find(|(a, ..)| a.as_str() == alias) {
            return Expr::table(a.clone(), ty.clone(), fields.iter().cloned());
        }
        if self.catalog.get(alias).is_some() {
            return Err(s.error(format!("input `{alias}` is read without fields; write (table {alias} FIELD..)")));
        }
        let unknown = Error::unknown("query", alias, self.results.iter().map(|(a, ..)| a.as_str()));
        match unknown {
            Error::Unknown { similar, .. } if similar.is_empty() => {
                Err(s.error(format!("unknown query `{alias}`; write (table {alias} FIELD..) to read a table")))
            }
            unknown => Err(s.locate(unknown)),
        }
    }

    fn table(&self, alias: &Sexpr, fields: &[Sexpr]) -> Result<Result<Expr, Error>, Error> {
        let name = parse_name(alias, "the name of a table")?;
        let result = self.results.iter().find(|(a, ..)| a.as_str() == name).map(|(_, ty, _)| ty);
        let Some(ty) = result.or_else(|| self.catalog.get(name)) else {
            let candidates = self.results.iter().map(|(a, ..)| a).chain(self.catalog.iter().map(|(a, _)| a));
            return Err(alias.locate(Error::unknown("table", name, candidates.map(Alias::as_str))));
        };
        Ok(Expr::table(name, ty.clone(), parse_fields(fields)?))
    }
}

/// Returns whether a form can only be an expression, and not a constant.
fn is_expression(s: &Sexpr) -> bool {
    let head = s.as_form().map(|(head, _)| head).filter(|head| !matches!(*head, "lit" | "literal"));
    head.is_some_and(|head| FORMS.iter().any(|(name, _)| *name == head))
}

fn parse_fields(fields: &[Sexpr]) -> Result<Vec<Field>, Error> {
    fields.iter().map(parse_field).collect()
}

/// Returns the start of an s-expression, for messages.
fn abbreviate(s: &Sexpr) -> String {
    const LENGTH: usize = 60;
    let text = s.to_string();
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}
