//! Converts a Logic plan to nests. Relabels, reorders and index maps are pushed to the accesses,
//! bound fields get unique names, queries that need no storage are inlined, and literals are cast
//! and folded.
//!
//! Input: a Logic plan. Output: one [`Nest`] with one output for each stored query or expression,
//! in an order in which tensors are written before they are read. An expression is lowered in an
//! environment that maps each of its fields to a coordinate over the fields of the nest; so an
//! index map costs nothing until it reaches an access.
//!
//! Besides the produced queries, these queries and expressions are stored:
//! - queries with a format in [`OptimizerConfig::formats`];
//! - expressions with a `refill` or a `reformat` at the root, except a `reformat` that is inside a
//!   query and keeps the format of a stored tensor;
//! - queries that are at least [`MAX_INLINED_DEPTH`] nodes deep;
//! - queries with several uses, if they contain an aggregate or a scan, or are larger than
//!   [`INLINE_LIMIT`] allows;
//! - aggregates and scans that are read at a coordinate that is neither a constant nor an affine
//!   form of one field, and those that are read at two coordinates over one field. Maps such as
//!   toeplitz give such coordinates, at which one element might be computed more than once;
//! - scans along a field that is read at a coordinate other than a loop index;
//! - aggregates whose `reorder` contradicts a loop order that the nest already requires (a pin).

pub(crate) mod folds;
pub(crate) mod lookup;
pub(crate) mod merge;
mod wraps;

use crate::config::{OptimizerConfig, ReorderPolicy};
use crate::error::Error;
use crate::normalize::wraps::unwrap_remainders;
use crate::term::names::Names;
use crate::term::sizes::Sizes;
use crate::term::{Fold, ModeCoordinate, Nest, NestKind, Read, Target, Term, literal_of};
use redpoll_logic::expr::{Expr, IndexMap, Node};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Alias, ComputedFills, Field, FloatMode, Format, Plan, Query, Scalar, Subscript, TensorType};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Largest product of uses and size for which a pointwise query with several uses is inlined.
const INLINE_LIMIT: usize = 24;

/// The depth from which queries are not inlined, because the time to plan a nest grows faster than
/// its depth.
const MAX_INLINED_DEPTH: usize = 64;

/// Returns the nests of a plan.
pub(crate) fn normalize(plan: &Plan, config: &OptimizerConfig) -> Result<Vec<Nest>, Error> {
    let mut normalizer = Normalizer {
        config,
        mode: config.float_mode,
        inlined: inlined_queries(plan, config),
        nests: Vec::new(),
        hoisted: Vec::new(),
        names: plan.queries.iter().map(|q| q.alias.clone()).collect(),
    };
    for query in &plan.queries {
        if !normalizer.inlined.contains_key(&query.alias) {
            let unsized_field = |field: Field| Error::Unsized { query: query.alias.clone(), field };
            let shape = shape_of(&query.expr, &Env::new()).map_err(unsized_field)?;
            normalizer.query(query.alias.clone(), &query.expr, shape)?;
        }
    }
    Ok(normalizer.nests)
}

/// Returns whether an operator returns `value` whenever its last argument is `value`.
fn decides(op: &Op, value: &Scalar, mode: FloatMode) -> bool {
    let signature = op.signature(&[value.dtype(), value.dtype()]);
    signature.is_ok_and(|s| op.constant_result(&s, &[None, Some(value.clone())], mode).as_ref() == Some(value))
}

/// The coordinate of each field of an expression.
type Env = HashMap<Field, FieldBinding>;

/// The coordinate and size of an expression's field.
#[derive(Clone)]
struct FieldBinding {
    coordinate: ModeCoordinate,
    /// The size of the field. A field that occurs only in [`Node::Coordinate`] has no size in the
    /// expression, and takes the size that an enclosing expression gives it.
    size: u64,
}

impl FieldBinding {
    fn field(field: &Field, size: u64) -> FieldBinding {
        FieldBinding { coordinate: ModeCoordinate::field(field), size }
    }
}

struct Normalizer<'a> {
    config: &'a OptimizerConfig,
    mode: FloatMode,
    inlined: HashMap<Alias, &'a Expr>,
    nests: Vec<Nest>,
    /// Expressions with a nest of their own, with their shapes and the names of the results. Equal
    /// expressions of equal shapes share a nest.
    hoisted: Vec<(Expr, Vec<u64>, Alias)>,
    names: Names,
}

/// The nest under construction.
struct NestBuilder {
    query: Alias,
    sizes: Sizes,
    pins: Vec<Vec<Field>>,
}

impl NestBuilder {
    /// Returns a field named like `like` that is new in the nest.
    fn fresh_field(&mut self, like: &Field, size: u64) -> Field {
        let mut field = like.clone();
        let mut count = 2;
        while self.sizes.contains(&field) {
            field = Field::from(format!("{like}.{count}"));
            count += 1;
        }
        self.sizes.insert(field.clone(), size);
        field
    }

    /// Returns whether some order of the loops satisfies all pins and `order`.
    fn allows_pin(&self, order: &[Field]) -> bool {
        let mut pins: Vec<&[Field]> = self.pins.iter().map(Vec::as_slice).chain([order]).collect();
        let is_next =
            |field: &Field, pins: &[&[Field]]| pins.iter().all(|pin| !pin.contains(field) || pin[0] == *field);
        loop {
            pins.retain(|pin| !pin.is_empty());
            let Some(next) = pins.iter().map(|pin| &pin[0]).find(|field| is_next(field, &pins)) else {
                return pins.is_empty();
            };
            let next = next.clone();
            pins.iter_mut().filter(|pin| pin[0] == next).for_each(|pin| *pin = &pin[1..]);
        }
    }
}

impl Normalizer<'_> {
    /// Lowers a query whose fields have the sizes `shape`, and appends its nest.
    fn query(&mut self, alias: Alias, expr: &Expr, shape: Vec<u64>) -> Result<(), Error> {
        let (mut body, mut format, mut computed) = (expr, None, ComputedFills::Keep);
        loop {
            body = match body.node() {
                Node::Reformat { format: written, arg } => {
                    // The outermost of several formats is that of the result.
                    format.get_or_insert(written);
                    arg
                }
                Node::Refill { computed_fills: written, arg, .. } => {
                    computed = if *written == ComputedFills::Drop { ComputedFills::Drop } else { computed };
                    arg
                }
                _ => break,
            };
        }
        let format = format.or_else(|| self.config.formats.get(&alias)).cloned();
        let mut nest = NestBuilder { query: alias.clone(), sizes: Sizes::default(), pins: Vec::new() };
        let info = expr.info();
        for (field, &size) in info.fields.iter().zip(&shape) {
            nest.sizes.insert(field.clone(), size);
        }
        let bindings = info.fields.iter().zip(&shape).map(|(f, &n)| (f.clone(), FieldBinding::field(f, n)));
        let env: Env = bindings.collect();
        let value = self.lower(body, &env, &mut nest)?;
        if value.dtype() != info.dtype {
            let (expected, found) = (info.dtype.to_string(), value.dtype().to_string());
            return Err(Error::DType { query: alias, expected, found });
        }
        if let Some(order) = self.config.loop_orders.get(&alias) {
            nest.pins.push(order.clone());
        }
        let coordinates = info.fields.iter().map(ModeCoordinate::field).collect();
        let target = Target { alias, shape, fill: info.fill.clone(), coordinates, fold: None, value, format, computed };
        self.nests.push(Nest { outputs: vec![target], sizes: nest.sizes, pins: nest.pins, kind: NestKind::Query });
        Ok(())
    }

    /// Lowers an expression to a nest of its own; returns a read of the result at the coordinates
    /// of `env`.
    fn hoist(&mut self, expr: &Expr, env: &Env, nest: &NestBuilder) -> Result<Term, Error> {
        let shape = shape_of(expr, env).map_err(|field| Error::Unsized { query: nest.query.clone(), field })?;
        let existing = self.hoisted.iter().find(|(e, n, _)| e == expr && *n == shape).map(|(.., a)| a.clone());
        let alias = match existing {
            Some(alias) => alias,
            None => {
                let alias = self.names.fresh(&nest.query);
                self.query(alias.clone(), expr, shape.clone())?;
                self.hoisted.push((expr.clone(), shape.clone(), alias.clone()));
                alias
            }
        };
        let info = expr.info();
        let format = Format::dense(shape.len());
        let ty = TensorType { shape, dtype: info.dtype.clone(), fill: info.fill.clone(), format };
        self.table(&alias, &Arc::new(ty), &info.fields, env, nest)
    }

    /// Lowers an expression whose fields are at the coordinates of `env`.
    fn lower(&mut self, expr: &Expr, env: &Env, nest: &mut NestBuilder) -> Result<Term, Error> {
        let mode = self.mode;
        match expr.node() {
            Node::Literal(value) => Ok(Term::literal(value.clone())),
            Node::Coordinate(field) => Ok(coordinate_of(env, field, nest)?.value(mode)),
            Node::Table { tensor, ty, fields } => match self.inlined.get(tensor).copied() {
                Some(query) => {
                    let inner = query.info().fields.iter().zip(fields);
                    let inner = inner.map(|(f, g)| Ok((f.clone(), binding(env, g, nest)?.clone())));
                    self.lower(query, &inner.collect::<Result<_, Error>>()?, nest)
                }
                None => self.table(tensor, ty, fields, env, nest),
            },
            Node::MapJoin { op, args } => {
                let fills: Vec<Scalar> = args.iter().map(|a| a.info().fill.clone()).collect();
                let bound = op.bind_fills(&fills);
                let op = &bound.map_err(|source| Error::Operator { query: nest.query.clone(), source })?;
                let args = args.iter().map(|a| self.lower(a, env, nest)).collect::<Result<Vec<_>, _>>()?;
                self.apply(op, &args, nest)
            }
            Node::Aggregate { op, init, arg, fields } => {
                if !is_injective(expr, env) {
                    return self.hoist(expr, env, nest);
                }
                let written_order = match (self.config.reorder_policy, arg.node()) {
                    (ReorderPolicy::Pin, Node::Reorder { fields: order, .. }) if !fields.is_empty() => &order[..],
                    _ => &[],
                };
                let pin = |env: &Env, fields: &mut dyn Iterator<Item = &Field>| -> Vec<Field> {
                    fields.filter_map(|f| env.get(f)?.coordinate.as_field().cloned()).collect()
                };
                // The fields of the fold are new, so only the others can contradict earlier pins.
                if !nest.allows_pin(&pin(env, &mut written_order.iter().filter(|f| !fields.contains(f)))) {
                    return self.hoist(expr, env, nest);
                }
                let mut inner = env.clone();
                let mut bound = Vec::new();
                for field in fields {
                    let size = size_of(arg, field, nest)?;
                    let fresh = nest.fresh_field(field, size);
                    inner.insert(field.clone(), FieldBinding::field(&fresh, size));
                    bound.push(fresh);
                }
                if !written_order.is_empty() {
                    nest.pins.push(pin(&inner, &mut written_order.iter()));
                }
                let dtype = &expr.info().dtype;
                let arg = self.lower(arg, &inner, nest)?.cast(dtype, mode);
                let init = literal_of(init, dtype).fill().clone();
                if bound.is_empty() {
                    return Ok(Term::call(op, vec![Term::literal(init), arg], mode));
                }
                let fold = Fold { op: op.clone(), init, arg, fields: bound, along: Vec::new() };
                Ok(Term::fold(fold, expr.info().fill.clone(), mode))
            }
            Node::Scan { op, arg, field } => self.scan(expr, op, arg, field, env, nest),
            Node::Reorder { arg, .. } => self.lower(arg, env, nest),
            Node::Relabel { arg, fields } => {
                let inner = arg.info().fields.iter().zip(fields);
                let inner = inner.map(|(f, g)| Ok((f.clone(), binding(env, g, nest)?.clone())));
                self.lower(arg, &inner.collect::<Result<_, Error>>()?, nest)
            }
            Node::Index { map, arg } => self.index(map, arg, env, nest),
            Node::Refill { .. } => self.hoist(expr, env, nest),
            Node::Reformat { format, arg } => match arg.node() {
                Node::Table { ty, tensor, .. } if ty.format == *format && !self.inlined.contains_key(tensor) => {
                    self.lower(arg, env, nest)
                }
                _ => self.hoist(expr, env, nest),
            },
        }
    }

    fn apply(&self, op: &Op, args: &[Term], nest: &NestBuilder) -> Result<Term, Error> {
        Term::apply(op, args, self.mode).map_err(|source| Error::Operator { query: nest.query.clone(), source })
    }

    /// Reads a stored tensor. If the read may be out of bounds, it returns the fill value there;
    /// `index` then replaces this value, or puts the read under a condition that ignores it.
    fn table(
        &self,
        tensor: &Alias,
        ty: &Arc<TensorType>,
        fields: &[Field],
        env: &Env,
        nest: &NestBuilder,
    ) -> Result<Term, Error> {
        let coordinates = fields.iter().map(|f| coordinate_of(env, f, nest).cloned()).collect::<Result<Vec<_>, _>>()?;
        let inside = coordinates.iter().zip(&ty.shape).all(|(a, &n)| nest.sizes.is_within(a, n));
        let outside = (!inside).then(|| ty.fill.clone());
        let read = Read { tensor: tensor.clone(), ty: ty.clone(), coordinates, outside };
        Ok(unwrap_remainders(read, &nest.sizes, self.mode))
    }

    /// Lowers a scan along the loop of the field. Stores the scan instead if the field's coordinate
    /// is not the index of a loop, or if an element of the scan might be computed more than once.
    ///
    /// The value is `scan(op, x, i)[i] = op(.. op(op(identity, x[0]), x[1]) .., x[i])`. If the fill
    /// of `x` decides the result, as 0 does in a product, the scan equals this fill wherever `x`
    /// does.
    fn scan(
        &mut self,
        expr: &Expr,
        op: &Op,
        arg: &Expr,
        field: &Field,
        env: &Env,
        nest: &mut NestBuilder,
    ) -> Result<Term, Error> {
        let Some(along) = coordinate_of(env, field, nest)?.as_field().cloned().filter(|_| is_injective(expr, env))
        else {
            return self.hoist(expr, env, nest);
        };
        let dtype = expr.info().dtype.clone();
        let init = op.fold_identity(&dtype, self.mode).ok_or_else(|| Error::ScanWithoutIdentity {
            query: nest.query.clone(),
            op: op.to_string(),
            dtype: dtype.to_string(),
        })?;
        let arg = self.lower(arg, env, nest)?.cast(&dtype, self.mode);
        let fill = expr.info().fill.clone();
        // The fields of folds are unique, so a term with a fold cannot occur twice.
        let is_sparse = !arg.is_full() && !arg.has_fold() && arg.fill() == &fill;
        let is_decided = is_sparse && decides(op, &fill, self.mode);
        let differs = Term::call(&Builtin::Ne.into(), vec![arg.clone(), Term::literal(fill.clone())], self.mode);
        let fold = Fold { op: op.clone(), init, arg, fields: Vec::new(), along: vec![along] };
        let scan = Term::fold(fold, fill.clone(), self.mode);
        Ok(match is_decided {
            true => Term::call(&Builtin::IfElse.into(), vec![differs, scan, Term::literal(fill)], self.mode),
            false => scan,
        })
    }

    /// Lowers the argument at mapped coordinates. Coordinates out of bounds are handled by the read
    /// of a tensor, or else by a condition on coordinates.
    fn index(&mut self, map: &IndexMap, arg: &Expr, env: &Env, nest: &mut NestBuilder) -> Result<Term, Error> {
        let mode = self.mode;
        let mut inner = Env::new();
        let mut unchecked = Vec::new();
        for field in &arg.info().fields {
            let Some((_, subscript)) = map.coordinates.iter().find(|(f, _)| f == field) else {
                inner.insert(field.clone(), binding(env, field, nest)?.clone());
                continue;
            };
            for (f, _) in &subscript.form().terms {
                coordinate_of(env, f, nest)?;
            }
            let at = ModeCoordinate::compose(subscript, &|f| env[f].coordinate.clone(), mode);
            let size = size_of(arg, field, nest)?;
            if !nest.sizes.is_within(&at, size) {
                unchecked.push((at.clone(), size));
            }
            inner.insert(field.clone(), FieldBinding { coordinate: at, size });
        }
        let value = self.lower(arg, &inner, nest)?;
        let Some(outside) = map.outside.as_ref().filter(|_| !unchecked.is_empty()) else { return Ok(value) };
        let outside = literal_of(outside, &value.dtype());
        if let (crate::term::Node::Access(read), true) = (value.node(), self.is_stored_table(arg)) {
            let is_covered =
                read.coordinates.iter().zip(&read.ty.shape).all(|(at, &n)| {
                    nest.sizes.is_within(at, n) || unchecked.iter().any(|(a, size)| a == at && *size == n)
                });
            let all = unchecked
                .iter()
                .all(|(a, size)| read.coordinates.iter().zip(&read.ty.shape).any(|(at, n)| a == at && size == n));
            if is_covered && all {
                return Ok(Term::access(Read { outside: Some(outside.fill().clone()), ..read.clone() }));
            }
        }
        let mut inside = Vec::new();
        for (at, size) in unchecked {
            let coordinate = at.value(mode);
            let size = i64::try_from(size).unwrap_or(i64::MAX);
            let bounds = match &at {
                ModeCoordinate::Subscript(s) => s.range(&|f| nest.sizes.get(f)),
                ModeCoordinate::Value(_) => None,
            };
            let (low, high) = bounds.unwrap_or((i64::MIN, i64::MAX));
            if low < 0 {
                inside.push(Term::integer(Builtin::Ge, coordinate.clone(), 0, mode));
            }
            if high >= size {
                inside.push(Term::integer(Builtin::Lt, coordinate, size, mode));
            }
        }
        let guard = match inside.len() {
            1 => inside.remove(0),
            _ => self.apply(&Builtin::And.into(), &inside, nest)?,
        };
        self.apply(&Builtin::IfElse.into(), &[guard, value, outside], nest)
    }

    /// Returns whether the expression is a stored tensor, possibly relabeled or reordered.
    fn is_stored_table(&self, expr: &Expr) -> bool {
        match expr.node() {
            Node::Table { tensor, .. } => !self.inlined.contains_key(tensor),
            Node::Relabel { arg, .. } | Node::Reorder { arg, .. } => self.is_stored_table(arg),
            _ => false,
        }
    }
}

fn binding<'e>(env: &'e Env, field: &Field, nest: &NestBuilder) -> Result<&'e FieldBinding, Error> {
    env.get(field).ok_or_else(|| Error::Unbound { query: nest.query.clone(), field: field.clone() })
}

fn coordinate_of<'e>(env: &'e Env, field: &Field, nest: &NestBuilder) -> Result<&'e ModeCoordinate, Error> {
    binding(env, field, nest).map(|s| &s.coordinate)
}

/// Returns the size of a field that a node binds or maps.
fn size_of(expr: &Expr, field: &Field, nest: &NestBuilder) -> Result<u64, Error> {
    let size = expr.info().dimension(field);
    size.ok_or_else(|| Error::Unsized { query: nest.query.clone(), field: field.clone() })
}

/// Returns the sizes of the fields of an expression, or a field without a size.
fn shape_of(expr: &Expr, env: &Env) -> Result<Vec<u64>, Field> {
    let size = |f: &Field| expr.info().dimension(f).or_else(|| Some(env.get(f)?.size)).ok_or_else(|| f.clone());
    expr.info().fields.iter().map(size).collect()
}

/// Returns whether each field of the expression has a constant coordinate or an affine coordinate
/// over one field of its own. If so, no element of the expression is computed twice.
fn is_injective(expr: &Expr, env: &Env) -> bool {
    let mut seen = HashSet::new();
    expr.info().fields.iter().all(|f| match env.get(f).map(|s| &s.coordinate) {
        Some(ModeCoordinate::Subscript(Subscript::Affine(a))) => match &a.terms[..] {
            [] => true,
            [(field, _)] => seen.insert(field.clone()),
            _ => false,
        },
        _ => false,
    })
}

/// Returns the queries that are computed where they are read.
fn inlined_queries<'a>(plan: &'a Plan, config: &OptimizerConfig) -> HashMap<Alias, &'a Expr> {
    let mut uses: HashMap<&Alias, usize> = HashMap::new();
    for query in &plan.queries {
        each_table(&query.expr, &mut |alias| *uses.entry(alias).or_default() += 1);
    }
    let mut inlined: HashMap<Alias, &Expr> = HashMap::new();
    let mut extents: HashMap<&Alias, Extent> = HashMap::new();
    for Query { alias, expr } in &plan.queries {
        let extent = Extent::of(expr, &extents);
        let count = uses.get(alias).copied().unwrap_or(0);
        let stored = plan.produces.contains(alias)
            || config.formats.contains_key(alias)
            || matches!(expr.node(), Node::Reformat { .. } | Node::Refill { .. });
        let is_small = !extent.folds && extent.weight.saturating_mul(count) <= INLINE_LIMIT;
        if !stored && extent.depth < MAX_INLINED_DEPTH && (count <= 1 || is_small) {
            inlined.insert(alias.clone(), expr);
            extents.insert(alias, extent);
        }
    }
    inlined
}

/// The extent of an expression, including those of inlined queries.
#[derive(Clone, Copy)]
struct Extent {
    /// Number of leaves and mapjoins.
    weight: usize,
    /// Number of nodes on the longest path from the root.
    depth: usize,
    folds: bool,
}

impl Extent {
    /// Returns the extent of an expression. `inlined` has the extents of the inlined queries.
    fn of(expr: &Expr, inlined: &HashMap<&Alias, Extent>) -> Extent {
        let leaf = Extent { weight: 1, depth: 1, folds: false };
        let start = match expr.node() {
            Node::Table { tensor, .. } => return inlined.get(tensor).copied().unwrap_or(leaf),
            Node::Literal(_) | Node::Coordinate(_) => return leaf,
            Node::MapJoin { .. } => leaf,
            node => Extent { weight: 0, folds: matches!(node, Node::Aggregate { .. } | Node::Scan { .. }), ..leaf },
        };
        expr.node().args().iter().map(|arg| Extent::of(arg, inlined)).fold(start, |all, arg| Extent {
            weight: all.weight.saturating_add(arg.weight),
            depth: all.depth.max(arg.depth + 1),
            folds: all.folds || arg.folds,
        })
    }
}

fn each_table<'a>(expr: &'a Expr, f: &mut dyn FnMut(&'a Alias)) {
    match expr.node() {
        Node::Table { tensor, .. } => f(tensor),
        Node::Literal(_) | Node::Coordinate(_) => {}
        Node::MapJoin { args, .. } => args.iter().for_each(|a| each_table(a, f)),
        Node::Aggregate { arg, .. }
        | Node::Scan { arg, .. }
        | Node::Reorder { arg, .. }
        | Node::Relabel { arg, .. }
        | Node::Index { arg, .. }
        | Node::Reformat { arg, .. }
        | Node::Refill { arg, .. } => each_table(arg, f),
    }
}
