//! The form between Logic and physical plans: one [`Nest`] per query, made of [`Term`]s.
//!
//! A term is a pointwise expression over loop fields. A term has no relabels, reorders or index
//! maps: an access reads each mode of its tensor at a [`ModeCoordinate`]. An aggregate inside a
//! term is a [`Fold`], and so is a scan.
//!
//! Terms are simplified as they are built. A term has a fill: its value wherever every access
//! returns the fill of its tensor and every coordinate is 0. A scan has no such value, so its fill
//! is meaningless. A term is full if none of its values counts as its fill, as for an access to a
//! tensor that stores every coordinate. If some arguments of an operator are full, and the fills of
//! the other arguments decide the result, this result is the fill of the call.

mod coordinate;
pub(crate) mod divide;
pub(crate) mod fill;
pub(crate) mod names;
mod nest;
mod show;
pub(crate) mod sizes;
pub(crate) mod unify;

pub(crate) use coordinate::ModeCoordinate;
pub(crate) use nest::{Nest, NestKind, Target};

use crate::term::fill::call_fill;
use redpoll_logic::op::{Builtin, Op, Simplification, cast_to};
use redpoll_logic::{Affine, Alias, DType, Field, FloatMode, Scalar, Subscript, TensorType};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// A pointwise expression with its fill. Clones share their node. Terms serve as map keys, so the
/// hash is computed once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Term {
    node: Arc<SharedNode>,
    fill: Scalar,
    /// Set when no value of the term counts as its fill, because every coordinate is stored.
    is_full: bool,
}

/// The part of a term that its clones share.
#[derive(Debug)]
struct SharedNode {
    hash: u64,
    node: Node,
    /// The free fields, sorted; computed on demand.
    fields: OnceLock<Vec<Field>>,
}

impl PartialEq for SharedNode {
    fn eq(&self, other: &SharedNode) -> bool {
        self.hash == other.hash && self.node == other.node
    }
}

// `Arc` compares pointers first where the content is `Eq`.
impl Eq for SharedNode {}

impl Hash for Term {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.node.hash);
    }
}

/// The kinds of terms.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Node {
    /// A literal: the fill is its value.
    Literal,
    /// An affine form of loop fields and parameters.
    Coordinate(Affine),
    /// A read of a tensor.
    Access(Read),
    /// An operator call; the arguments have the dtypes of its signature.
    Call(Op, Vec<Term>),
    /// A fold over fields of its own.
    Fold(Fold),
    /// A fold whose depth in the schedule is fixed.
    Temporary(Alias, Fold),
}

/// A read of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Read {
    pub(crate) tensor: Alias,
    pub(crate) ty: Arc<TensorType>,
    /// The coordinate of each tensor mode.
    pub(crate) coordinates: Vec<ModeCoordinate>,
    /// The value of reads out of bounds; `None` if all reads are in bounds.
    pub(crate) outside: Option<Scalar>,
}

impl Hash for Read {
    /// Hashes the name and the coordinates. The type follows from the name, and the value of reads
    /// out of bounds seldom distinguishes two reads.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.tensor, &self.coordinates).hash(state);
    }
}

/// Name and type of a tensor.
pub(crate) type TypedAlias = (Alias, Arc<TensorType>);

/// A fold of a term over fields.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Fold {
    pub(crate) op: Op,
    pub(crate) init: Scalar,
    pub(crate) arg: Term,
    /// The reduced fields; unique in the nest.
    pub(crate) fields: Vec<Field>,
    /// The free fields that a scan runs along. The scan folds all coordinates up to the current
    /// one, in the fields' lexicographic order. Empty for an aggregate.
    pub(crate) along: Vec<Field>,
}

impl Term {
    fn new(node: Node, fill: Scalar, is_full: bool) -> Term {
        let mut hasher = FxHasher::default();
        (&node, &fill).hash(&mut hasher);
        Term { node: Arc::new(SharedNode { hash: hasher.finish(), node, fields: OnceLock::new() }), fill, is_full }
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node.node
    }

    /// Returns an address that two terms share only if they share their node.
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.node).addr()
    }

    /// Returns whether no value of the term counts as its fill.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(crate) fn fill(&self) -> &Scalar {
        &self.fill
    }

    pub(crate) fn dtype(&self) -> DType {
        self.fill.dtype()
    }

    pub(crate) fn literal(value: Scalar) -> Term {
        Term::new(Node::Literal, value, false)
    }

    /// Returns the value of a literal; `None` for other terms.
    pub(crate) fn as_literal(&self) -> Option<&Scalar> {
        matches!(self.node(), Node::Literal).then_some(&self.fill)
    }

    pub(crate) fn coordinate(form: Affine) -> Term {
        match form.as_constant() {
            Some(constant) => Term::literal(Scalar::I64(constant)),
            None => Term::new(Node::Coordinate(form), Scalar::I64(0), false),
        }
    }

    pub(crate) fn access(read: Read) -> Term {
        let fill = read.ty.fill.clone();
        let full = read.outside.is_none() && read.ty.format.is_dense();
        Term::new(Node::Access(read), fill, full)
    }

    /// Builds a fold with the given fill. A fold of an aggregate with the same operator becomes one
    /// fold, if the operator can be regrouped and the aggregate starts from the operator's
    /// identity.
    pub(crate) fn fold(mut fold: Fold, fill: Scalar, mode: FloatMode) -> Term {
        if let Node::Fold(inner) = fold.arg.node() {
            let dtype = fill.dtype();
            let same = fold.op == inner.op && fold.op.is_identity(&inner.init, &dtype, 1, mode);
            if same && inner.along.is_empty() && is_regroupable(&fold.op, &dtype, mode) {
                fold.fields.extend(inner.fields.iter().cloned());
                fold.arg = inner.arg.clone();
            }
        }
        let full = fold.arg.is_full;
        Term::new(Node::Fold(fold), fill, full)
    }

    pub(crate) fn temporary(name: Alias, fold: Fold, fill: Scalar) -> Term {
        let full = fold.arg.is_full;
        Term::new(Node::Temporary(name, fold), fill, full)
    }

    /// Casts the term to the dtype, if the dtype is primitive; otherwise returns the term
    /// unchanged.
    pub(crate) fn cast(&self, to: &DType, mode: FloatMode) -> Term {
        match to {
            DType::Prim(p) if self.dtype() != *to => Term::call(&Builtin::Cast(*p).into(), vec![self.clone()], mode),
            _ => self.clone(),
        }
    }

    /// Applies `op` to arguments that have the dtypes of its signature, and simplifies the result.
    /// Constants are folded, an annihilator replaces the call, identities are dropped, nested calls
    /// of an associative operator are flattened, and a read of a member of a `pair` call becomes
    /// this member.
    pub(crate) fn call(op: &Op, args: Vec<Term>, mode: FloatMode) -> Term {
        let args = flatten(op, args, mode);
        let dtypes: Vec<DType> = args.iter().map(Term::dtype).collect();
        let Ok(signature) = op.signature(&dtypes) else {
            unreachable!("arguments of a call are cast to the signature of `{op}`")
        };
        if let Some(member) = member_of_pair(op, &args).filter(|member| member.dtype() == signature.result) {
            return member.clone();
        }
        let constants: Vec<Option<Scalar>> = args.iter().map(|a| a.as_literal().cloned()).collect();
        match op.simplify(&signature, &constants, mode) {
            Some(Simplification::Value(v)) => return Term::literal(v),
            Some(Simplification::Arg(k)) if args[k].dtype() == signature.result => return args[k].clone(),
            Some(Simplification::Args(kept)) if kept.len() < args.len() => {
                return Term::call(op, kept.into_iter().map(|k| args[k].clone()).collect(), mode);
            }
            _ => {}
        }
        let (fill, full) = call_fill(op, &signature, args.iter().map(|a| (&a.fill, a.is_full)), mode);
        Term::new(Node::Call(op.clone(), args), fill, full)
    }

    /// Applies `op` to arguments of any dtypes, with casts.
    pub(crate) fn apply(op: &Op, args: &[Term], mode: FloatMode) -> Result<Term, redpoll_logic::op::OpError> {
        let signature = op.signature(&args.iter().map(Term::dtype).collect::<Vec<_>>())?;
        let cast = args.iter().zip(&signature.args).map(|(a, t)| a.cast(t, mode)).collect();
        Ok(Term::call(op, cast, mode))
    }

    /// Returns a boolean literal.
    pub(crate) fn boolean(value: bool) -> Term {
        Term::literal(Scalar::Bool(value))
    }

    /// Applies an operator to an `i64` term and a constant.
    pub(crate) fn integer(op: Builtin, x: Term, constant: i64, mode: FloatMode) -> Term {
        Term::call(&op.into(), vec![x, Term::literal(Scalar::I64(constant))], mode)
    }

    /// Returns the children of a term, including the argument of a fold, but not the values in
    /// subscripts.
    pub(crate) fn children(&self) -> &[Term] {
        match self.node() {
            Node::Literal | Node::Coordinate(_) | Node::Access(_) => &[],
            Node::Call(_, args) => args,
            Node::Fold(f) | Node::Temporary(_, f) => std::slice::from_ref(&f.arg),
        }
    }

    /// Returns the free fields, sorted and distinct.
    pub(crate) fn fields(&self) -> &[Field] {
        self.node.fields.get_or_init(|| match self.node() {
            Node::Literal => Vec::new(),
            Node::Coordinate(a) => a.terms.iter().map(|(f, _)| f.clone()).collect(),
            Node::Access(r) => sorted(r.coordinates.iter().flat_map(ModeCoordinate::fields).collect()),
            Node::Call(_, args) => sorted(args.iter().flat_map(Term::fields).cloned().collect()),
            Node::Fold(f) | Node::Temporary(_, f) => f.free(),
        })
    }

    /// Replaces every free field by a coordinate. Bound fields are unique and remain.
    pub(crate) fn substitute(&self, with: &dyn Fn(&Field) -> ModeCoordinate, mode: FloatMode) -> Term {
        match self.node() {
            Node::Literal => self.clone(),
            Node::Coordinate(a) => ModeCoordinate::compose(&Subscript::Affine(a.clone()), with, mode).value(mode),
            Node::Access(r) => {
                let coordinates = r.coordinates.iter().map(|a| a.substitute(with, mode)).collect();
                Term::access(Read { coordinates, ..r.clone() })
            }
            Node::Call(op, args) => Term::call(op, args.iter().map(|a| a.substitute(with, mode)).collect(), mode),
            Node::Fold(f) => Term::fold(f.substitute(with, mode), self.fill.clone(), mode),
            Node::Temporary(name, f) => Term::temporary(name.clone(), f.substitute(with, mode), self.fill.clone()),
        }
    }

    /// Replaces every field. In coordinates, `with` returns the replacement; in the field lists of
    /// folds, `bound` does. Fields remain if they are reduced by a temporary, or by a fold inside a
    /// temporary.
    pub(crate) fn rebind(
        &self,
        with: &dyn Fn(&Field) -> ModeCoordinate,
        bound: &dyn Fn(&[Field]) -> Vec<Field>,
        mode: FloatMode,
    ) -> Term {
        match self.node() {
            Node::Call(op, args) => Term::call(op, args.iter().map(|a| a.rebind(with, bound, mode)).collect(), mode),
            Node::Fold(f) => {
                let (fields, along) = (bound(&f.fields), bound(&f.along));
                let fold = Fold { arg: f.arg.rebind(with, bound, mode), fields, along, ..f.clone() };
                Term::fold(fold, self.fill.clone(), mode)
            }
            Node::Access(r) => {
                let coordinates = r.coordinates.iter().map(|at| match at {
                    ModeCoordinate::Value(t) => ModeCoordinate::from_value(t.rebind(with, bound, mode)),
                    ModeCoordinate::Subscript(s) => ModeCoordinate::compose(s, with, mode),
                });
                Term::access(Read { coordinates: coordinates.collect(), ..r.clone() })
            }
            Node::Literal | Node::Coordinate(_) | Node::Temporary(..) => self.substitute(with, mode),
        }
    }

    /// Replaces subterms, outermost first, wherever `with` returns a term. A subterm in which
    /// nothing changes keeps its node, unless it contains a computed subscript.
    pub(crate) fn replace(&self, with: &mut dyn FnMut(&Term) -> Option<Term>, mode: FloatMode) -> Term {
        if let Some(new) = with(self) {
            return new;
        }
        match self.node() {
            Node::Literal | Node::Coordinate(_) => self.clone(),
            Node::Access(r) => {
                let values = r.coordinates.iter().filter(|at| matches!(at, ModeCoordinate::Value(_)));
                if values.count() == 0 {
                    return self.clone();
                }
                let coordinates = r.coordinates.iter().map(|at| match at {
                    ModeCoordinate::Value(t) => ModeCoordinate::from_value(t.replace(with, mode)),
                    ModeCoordinate::Subscript(_) => at.clone(),
                });
                Term::access(Read { coordinates: coordinates.collect(), ..r.clone() })
            }
            Node::Call(op, args) => {
                let new: Vec<Term> = args.iter().map(|a| a.replace(with, mode)).collect();
                let changed = args.iter().zip(&new).any(|(a, b)| a.identity() != b.identity());
                if changed { Term::call(op, new, mode) } else { self.clone() }
            }
            Node::Fold(f) | Node::Temporary(_, f) => {
                let arg = f.arg.replace(with, mode);
                if arg.identity() == f.arg.identity() {
                    return self.clone();
                }
                let fold = Fold { arg, ..f.clone() };
                match self.node() {
                    Node::Temporary(name, _) => Term::temporary(name.clone(), fold, self.fill.clone()),
                    _ => Term::fold(fold, self.fill.clone(), mode),
                }
            }
        }
    }

    /// Changes the tensor and type of each read for which `with` returns a name and a type.
    pub(crate) fn replace_reads(&self, with: &mut dyn FnMut(&Read) -> Option<TypedAlias>, mode: FloatMode) -> Term {
        let replacement = &mut |t: &Term| {
            let Node::Access(read) = t.node() else { return None };
            let other = with(read);
            let coordinates = read.coordinates.iter().map(|at| match at {
                ModeCoordinate::Value(t) => ModeCoordinate::from_value(t.replace_reads(with, mode)),
                ModeCoordinate::Subscript(_) => at.clone(),
            });
            let coordinates = coordinates.collect();
            let (tensor, ty) = other.unwrap_or_else(|| (read.tensor.clone(), read.ty.clone()));
            Some(Term::access(Read { tensor, ty, coordinates, ..read.clone() }))
        };
        self.replace(replacement, mode)
    }

    /// Visits every access, including those in folds and in subscripts.
    pub(crate) fn each_access<'a>(&'a self, f: &mut dyn FnMut(&'a Read)) {
        if let Node::Access(r) = self.node() {
            f(r);
            for at in &r.coordinates {
                if let ModeCoordinate::Value(t) = at {
                    t.each_access(f);
                }
            }
        }
        self.children().iter().for_each(|c| c.each_access(f));
    }

    /// Visits the accesses outside of folds, and the accesses in scans that reduce no fields: the
    /// same loops bind both.
    pub(crate) fn each_outer_access<'a>(&'a self, f: &mut dyn FnMut(&'a Read)) {
        match self.node() {
            Node::Access(read) => {
                f(read);
                for at in &read.coordinates {
                    if let ModeCoordinate::Value(t) = at {
                        t.each_outer_access(f);
                    }
                }
            }
            Node::Fold(fold) | Node::Temporary(_, fold) if !fold.is_scan() || !fold.fields.is_empty() => {}
            _ => self.children().iter().for_each(|c| c.each_outer_access(f)),
        }
    }

    /// Returns whether the term has a fold, possibly in a subscript.
    pub(crate) fn has_fold(&self) -> bool {
        let mut found = false;
        self.each_fold(&mut |_, _| found = true);
        found
    }

    /// Visits the outermost folds from left to right, including those in subscripts. A temporary is
    /// not visited, but the folds in its argument are.
    pub(crate) fn each_fold<'a>(&'a self, f: &mut dyn FnMut(&'a Term, &'a Fold)) {
        match self.node() {
            Node::Fold(fold) => f(self, fold),
            Node::Access(r) => {
                for at in &r.coordinates {
                    if let ModeCoordinate::Value(t) = at {
                        t.each_fold(f);
                    }
                }
            }
            _ => self.children().iter().for_each(|c| c.each_fold(f)),
        }
    }
}

impl Term {
    /// Returns whether a scan in the term runs along the field. If one does, only another field can
    /// replace the field.
    pub(crate) fn scans_along(&self, field: &Field) -> bool {
        let runs_along = match self.node() {
            Node::Fold(f) | Node::Temporary(_, f) => f.along.contains(field),
            Node::Access(r) => {
                r.coordinates.iter().any(|at| matches!(at, ModeCoordinate::Value(t) if t.scans_along(field)))
            }
            Node::Literal | Node::Coordinate(_) | Node::Call(..) => false,
        };
        runs_along || self.children().iter().any(|c| c.scans_along(field))
    }

    /// Returns whether a scan in the term runs along a field of the coordinate, and the scan's
    /// argument depends on `field`. The coordinate then cannot replace `field`: a scan folds with
    /// `field` fixed, while the coordinate would change in each step.
    pub(crate) fn scan_captures(&self, field: &Field, coordinate: &ModeCoordinate) -> bool {
        let captures = match self.node() {
            Node::Fold(f) | Node::Temporary(_, f) => {
                f.along.iter().any(|along| coordinate.has(along)) && f.arg.fields().contains(field)
            }
            Node::Access(r) => r
                .coordinates
                .iter()
                .any(|at| matches!(at, ModeCoordinate::Value(t) if t.scan_captures(field, coordinate))),
            Node::Literal | Node::Coordinate(_) | Node::Call(..) => false,
        };
        captures || self.children().iter().any(|c| c.scan_captures(field, coordinate))
    }
}

impl Fold {
    /// Returns the free fields, sorted and distinct.
    pub(crate) fn free(&self) -> Vec<Field> {
        let free = self.arg.fields().iter().filter(|f| !self.fields.contains(f));
        sorted(free.chain(&self.along).cloned().collect())
    }

    /// Returns whether folding the fill value of the argument never changes the result.
    pub(crate) fn skips_fill(&self, mode: FloatMode) -> bool {
        self.op.skips(self.arg.fill(), &self.init, &self.arg.dtype(), mode)
    }

    /// Returns the term that decides where the fold has its fill: if the term has its fill at every
    /// coordinate that is folded, the fold has its fill as well. The term is the argument, or, if
    /// the fold compares pairs whose least coordinate is 0, the value of the pairs.
    pub(crate) fn fill_source(&self) -> &Term {
        let starts_at_zero =
            |form: &Affine| form.has_offset(0) && form.terms.iter().all(|(f, c)| *c > 0 && self.fields.contains(f));
        match compared_pair(&self.op, &self.arg) {
            Some((value, form)) if starts_at_zero(&form) => value,
            _ => &self.arg,
        }
    }

    /// Returns whether the fold is a scan.
    pub(crate) fn is_scan(&self) -> bool {
        !self.along.is_empty()
    }

    /// Returns whether the fold reduces nothing and exists only to store its argument.
    pub(crate) fn is_stored(&self) -> bool {
        self.fields.is_empty() && !self.is_scan()
    }

    /// Substitutes free fields. A field along which a scan runs may only be replaced by a field;
    /// see [`Term::scans_along`].
    fn substitute(&self, with: &dyn Fn(&Field) -> ModeCoordinate, mode: FloatMode) -> Fold {
        let inner = |f: &Field| if self.fields.contains(f) { ModeCoordinate::field(f) } else { with(f) };
        let along = self.along.iter().map(|f| inner(f).as_field().expect("a scan runs along fields").clone());
        Fold { arg: self.arg.substitute(&inner, mode), along: along.collect(), ..self.clone() }
    }
}

/// Returns the value that a fold of pairs compares, if the coordinates of the pairs are affine, and
/// otherwise `arg` itself. The fold takes one step for all fills between two entries of the
/// returned term.
pub(crate) fn compared_value<'t>(op: &Op, arg: &'t Term) -> &'t Term {
    compared_pair(op, arg).map_or(arg, |(value, _)| value)
}

/// Returns the value and the coordinate of the pairs that a fold compares; `None` unless the
/// operator compares pairs, the argument is a pair, and its coordinate is affine.
fn compared_pair<'t>(op: &Op, arg: &'t Term) -> Option<(&'t Term, Affine)> {
    let Node::Call(Op::Builtin(Builtin::Pair), args) = arg.node() else { return None };
    let [value, coordinate] = &args[..] else { return None };
    let compares = matches!(op, Op::Builtin(Builtin::MinBy | Builtin::MaxBy));
    compares.then(|| coordinate.as_affine()).flatten().map(|form| (value, form))
}

/// Returns the fields sorted and distinct.
fn sorted(mut fields: Vec<Field>) -> Vec<Field> {
    fields.sort();
    fields.dedup();
    fields
}

/// Returns whether folds with `op` may be regrouped and reordered.
pub(crate) fn is_regroupable(op: &Op, dtype: &DType, mode: FloatMode) -> bool {
    op.is_associative(dtype, mode) && op.is_commutative(dtype, mode)
}

/// Returns the member of a pair that a call reads, `first(pair(x, y)) = x`; `None` for other calls.
fn member_of_pair<'t>(op: &Op, args: &'t [Term]) -> Option<&'t Term> {
    let at = match op {
        Op::Builtin(Builtin::First) => 0,
        Op::Builtin(Builtin::Second) => 1,
        _ => return None,
    };
    match args.first()?.node() {
        Node::Call(Op::Builtin(Builtin::Pair), members) => members.get(at),
        _ => None,
    }
}

fn flatten(op: &Op, args: Vec<Term>, mode: FloatMode) -> Vec<Term> {
    let is_nested = |a: &Term| matches!(a.node(), Node::Call(inner, _) if inner == op);
    if args.len() < 2 || !args.iter().any(is_nested) || !op.is_associative(&args[0].dtype(), mode) {
        return args;
    }
    let mut flat = Vec::new();
    for arg in args {
        match arg.node() {
            Node::Call(inner, parts) if inner == op && parts.len() > 1 && parts[0].dtype() == arg.dtype() => {
                flat.extend(parts.iter().cloned());
            }
            _ => flat.push(arg),
        }
    }
    flat
}

/// Returns a literal of the value, cast to the dtype.
pub(crate) fn literal_of(value: &Scalar, dtype: &DType) -> Term {
    Term::literal(cast_to(value, dtype))
}
