//! The form between Logic and physical plans: one [`Nest`] a query, made of [`Term`]s.
//!
//! A term is a pointwise expression over loop fields. Relabels, reorders and index maps are gone: an access reads each
//! mode of its tensor at an [`At`]. What is left of an aggregate inside a term is a [`Fold`], and so is a scan. Terms are
//! simplified as they are built; a term knows its fill: the value it has wherever every access gives the fill of its
//! tensor. A scan has no such value; its fill says nothing. A tensor that stores every place never gives its fill, so an
//! operator whose other arguments decide the result has the fill that they decide.

mod at;
mod nest;

pub(crate) use at::At;
pub(crate) use nest::{Nest, NestKind, Target};

use crate::fill::call_fill;
use redpoll_logic::op::{Builtin, Op, Simplified, cast_to};
use redpoll_logic::{Affine, Alias, DType, Field, FloatMode, LevelKind, Scalar, Subscript, TensorType};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// A pointwise expression with its fill; cloning shares it. Terms are keys: their hash is found once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Term {
    node: Arc<Shared>,
    fill: Scalar,
    /// Whether its fill is never met: every place is stored.
    full: bool,
}

/// What the clones of a term share.
#[derive(Debug)]
struct Shared {
    hash: u64,
    node: Node,
    /// Its free fields, sorted, found when they are asked for.
    fields: OnceLock<Vec<Field>>,
}

impl PartialEq for Shared {
    fn eq(&self, other: &Shared) -> bool {
        self.hash == other.hash && self.node == other.node
    }
}

// An `Arc` of what is `Eq` is equal to itself without a look.
impl Eq for Shared {}

impl Hash for Term {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.node.hash);
    }
}

/// What a term is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Node {
    /// The fill.
    Literal,
    /// An affine form of loop fields.
    Coordinate(Affine),
    /// A read of a tensor.
    Access(Read),
    /// An operator; arguments have the dtypes of its signature.
    Call(Op, Vec<Term>),
    /// A fold over fields of its own.
    Fold(Fold),
    /// A fold that has its place in the schedule.
    Temporary(Alias, Fold),
}

/// A read of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Read {
    pub(crate) tensor: Alias,
    pub(crate) ty: Arc<TensorType>,
    /// The coordinate of each tensor mode.
    pub(crate) at: Vec<At>,
    /// What a read out of bounds gives.
    pub(crate) outside: Option<Scalar>,
}

impl Hash for Read {
    /// Without the type: a name has one.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.tensor, &self.at).hash(state);
    }
}

/// Name and type of a tensor.
pub(crate) type Stored = (Alias, Arc<TensorType>);

/// A fold of a term over fields.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Fold {
    pub(crate) op: Op,
    pub(crate) init: Scalar,
    pub(crate) arg: Term,
    /// The reduced fields; unique in the nest.
    pub(crate) fields: Vec<Field>,
    /// The free fields along which it goes on, a scan: its value is that of all coordinates of them up to where it
    /// stands, in their lexicographic order. Empty for an aggregate.
    pub(crate) along: Vec<Field>,
}

impl Term {
    fn new(node: Node, fill: Scalar, full: bool) -> Term {
        let mut hasher = FxHasher::default();
        (&node, &fill).hash(&mut hasher);
        Term { node: Arc::new(Shared { hash: hasher.finish(), node, fields: OnceLock::new() }), fill, full }
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node.node
    }

    /// A number that two terms share only if they are one object.
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.node).addr()
    }

    /// Whether its fill is never met.
    pub(crate) fn is_full(&self) -> bool {
        self.full
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

    /// The value, when it is a literal.
    pub(crate) fn as_literal(&self) -> Option<&Scalar> {
        matches!(self.node(), Node::Literal).then_some(&self.fill)
    }

    pub(crate) fn coordinate(form: Affine) -> Term {
        if form.terms.is_empty() {
            return Term::literal(Scalar::I64(form.constant));
        }
        Term::new(Node::Coordinate(form), Scalar::I64(0), false)
    }

    pub(crate) fn access(read: Read) -> Term {
        let fill = read.ty.fill.clone();
        let full = read.outside.is_none() && read.ty.format.levels.iter().all(|l| l.kind == LevelKind::Dense);
        Term::new(Node::Access(read), fill, full)
    }

    /// A fold with the given fill; a fold of a fold of the same kind becomes one fold.
    pub(crate) fn fold(mut fold: Fold, fill: Scalar, mode: FloatMode) -> Term {
        if let Node::Fold(inner) = fold.arg.node() {
            let dtype = fill.dtype();
            let same = fold.op == inner.op && fold.op.is_identity(&inner.init, &dtype, 1, mode);
            if same && inner.along.is_empty() && regroups(&fold.op, &dtype, mode) {
                fold.fields.extend(inner.fields.iter().cloned());
                fold.arg = inner.arg.clone();
            }
        }
        let full = fold.arg.full;
        Term::new(Node::Fold(fold), fill, full)
    }

    pub(crate) fn temporary(name: Alias, fold: Fold, fill: Scalar) -> Term {
        let full = fold.arg.full;
        Term::new(Node::Temporary(name, fold), fill, full)
    }

    /// The term as a value of that dtype.
    pub(crate) fn cast(&self, to: &DType, mode: FloatMode) -> Term {
        match to {
            DType::Prim(p) if self.dtype() != *to => Term::call(&Builtin::Cast(*p).into(), vec![self.clone()], mode),
            _ => self.clone(),
        }
    }

    /// `op` on arguments that have the dtypes of its signature, simplified: constants are folded, annihilators decide,
    /// identities are dropped, nested calls of an associative operator are flattened.
    pub(crate) fn call(op: &Op, args: Vec<Term>, mode: FloatMode) -> Term {
        let args = flatten(op, args, mode);
        let dtypes: Vec<DType> = args.iter().map(Term::dtype).collect();
        let Ok(signature) = op.signature(&dtypes) else {
            unreachable!("arguments of a call are cast to the signature of `{op}`")
        };
        let known: Vec<Option<Scalar>> = args.iter().map(|a| a.as_literal().cloned()).collect();
        match op.simplify(&signature, &known, mode) {
            Some(Simplified::Value(v)) => return Term::literal(v),
            Some(Simplified::Arg(k)) if args[k].dtype() == signature.result => return args[k].clone(),
            Some(Simplified::Args(kept)) if kept.len() < args.len() => {
                return Term::call(op, kept.into_iter().map(|k| args[k].clone()).collect(), mode);
            }
            _ => {}
        }
        let (fill, full) = call_fill(op, &signature, args.iter().map(|a| (&a.fill, a.full)), mode);
        Term::new(Node::Call(op.clone(), args), fill, full)
    }

    /// `op` on arguments of any dtypes.
    pub(crate) fn apply(op: &Op, args: &[Term], mode: FloatMode) -> Result<Term, redpoll_logic::op::OpError> {
        let signature = op.signature(&args.iter().map(Term::dtype).collect::<Vec<_>>())?;
        let cast = args.iter().zip(&signature.args).map(|(a, t)| a.cast(t, mode)).collect();
        Ok(Term::call(op, cast, mode))
    }

    /// An operator on two `i64`s, the second a constant.
    pub(crate) fn integer(op: Builtin, x: Term, constant: i64, mode: FloatMode) -> Term {
        Term::call(&op.into(), vec![x, Term::literal(Scalar::I64(constant))], mode)
    }

    /// The children of a term, the argument of a fold included, values in subscripts not.
    pub(crate) fn children(&self) -> &[Term] {
        match self.node() {
            Node::Literal | Node::Coordinate(_) | Node::Access(_) => &[],
            Node::Call(_, args) => args,
            Node::Fold(f) | Node::Temporary(_, f) => std::slice::from_ref(&f.arg),
        }
    }

    /// The free fields, sorted, each once.
    pub(crate) fn fields(&self) -> &[Field] {
        self.node.fields.get_or_init(|| match self.node() {
            Node::Literal => Vec::new(),
            Node::Coordinate(a) => a.terms.iter().map(|(f, _)| f.clone()).collect(),
            Node::Access(r) => sorted(r.at.iter().flat_map(At::fields).collect()),
            Node::Call(_, args) => sorted(args.iter().flat_map(Term::fields).cloned().collect()),
            Node::Fold(f) | Node::Temporary(_, f) => f.free(),
        })
    }

    /// The term with every free field replaced by a coordinate; bound fields are unique and stay.
    pub(crate) fn substitute(&self, with: &dyn Fn(&Field) -> At, mode: FloatMode) -> Term {
        match self.node() {
            Node::Literal => self.clone(),
            Node::Coordinate(a) => At::compose(&Subscript::Affine(a.clone()), with, mode).value(mode),
            Node::Access(r) => {
                let at = r.at.iter().map(|a| a.substitute(with, mode)).collect();
                Term::access(Read { at, ..r.clone() })
            }
            Node::Call(op, args) => Term::call(op, args.iter().map(|a| a.substitute(with, mode)).collect(), mode),
            Node::Fold(f) => Term::fold(f.substitute(with, mode), self.fill.clone(), mode),
            Node::Temporary(name, f) => Term::temporary(name.clone(), f.substitute(with, mode), self.fill.clone()),
        }
    }

    /// The term with every field replaced: `with` gives the coordinate of a field, and `bound` what a fold over some
    /// fields folds over instead.
    pub(crate) fn rebind(
        &self,
        with: &dyn Fn(&Field) -> At,
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
                let at = r.at.iter().map(|at| match at {
                    At::Value(t) => At::from_value(t.rebind(with, bound, mode)),
                    At::Subscript(s) => At::compose(s, with, mode),
                });
                Term::access(Read { at: at.collect(), ..r.clone() })
            }
            Node::Literal | Node::Coordinate(_) | Node::Temporary(..) => self.substitute(with, mode),
        }
    }

    /// The term with subterms replaced, outermost first, wherever `with` gives something; the same object when nothing
    /// is replaced.
    pub(crate) fn replace(&self, with: &mut dyn FnMut(&Term) -> Option<Term>, mode: FloatMode) -> Term {
        if let Some(new) = with(self) {
            return new;
        }
        match self.node() {
            Node::Literal | Node::Coordinate(_) => self.clone(),
            Node::Access(r) => {
                let values = r.at.iter().filter(|at| matches!(at, At::Value(_)));
                if values.count() == 0 {
                    return self.clone();
                }
                let at = r.at.iter().map(|at| match at {
                    At::Value(t) => At::from_value(t.replace(with, mode)),
                    At::Subscript(_) => at.clone(),
                });
                Term::access(Read { at: at.collect(), ..r.clone() })
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

    /// The term with reads of other tensors, or of the same in other formats, wherever `with` gives a name and a type.
    pub(crate) fn reading(&self, with: &mut dyn FnMut(&Read) -> Option<Stored>, mode: FloatMode) -> Term {
        let replaced = &mut |t: &Term| {
            let Node::Access(read) = t.node() else { return None };
            let other = with(read);
            let at = read.at.iter().map(|at| match at {
                At::Value(t) => At::from_value(t.reading(with, mode)),
                At::Subscript(_) => at.clone(),
            });
            let at = at.collect();
            let (tensor, ty) = other.unwrap_or_else(|| (read.tensor.clone(), read.ty.clone()));
            Some(Term::access(Read { tensor, ty, at, ..read.clone() }))
        };
        self.replace(replaced, mode)
    }

    /// Every access, those in folds and in subscripts included.
    pub(crate) fn each_access<'a>(&'a self, f: &mut dyn FnMut(&'a Read)) {
        if let Node::Access(r) = self.node() {
            f(r);
            for at in &r.at {
                if let At::Value(t) = at {
                    t.each_access(f);
                }
            }
        }
        self.children().iter().for_each(|c| c.each_access(f));
    }

    /// The outermost folds, from left to right, those in subscripts included.
    pub(crate) fn each_fold<'a>(&'a self, f: &mut dyn FnMut(&'a Term, &'a Fold)) {
        match self.node() {
            Node::Fold(fold) => f(self, fold),
            Node::Access(r) => {
                for at in &r.at {
                    if let At::Value(t) = at {
                        t.each_fold(f);
                    }
                }
            }
            _ => self.children().iter().for_each(|c| c.each_fold(f)),
        }
    }
}

impl Term {
    /// Whether a scan in the term goes on along the field, so that nothing but a field can stand in its place.
    pub(crate) fn scans_along(&self, field: &Field) -> bool {
        let here = match self.node() {
            Node::Fold(f) | Node::Temporary(_, f) => f.along.contains(field),
            Node::Access(r) => r.at.iter().any(|at| matches!(at, At::Value(t) if t.scans_along(field))),
            Node::Literal | Node::Coordinate(_) | Node::Call(..) => false,
        };
        here || self.children().iter().any(|c| c.scans_along(field))
    }
}

impl Fold {
    /// The free fields, sorted, each once.
    pub(crate) fn free(&self) -> Vec<Field> {
        let free = self.arg.fields().iter().filter(|f| !self.fields.contains(f));
        sorted(free.chain(&self.along).cloned().collect())
    }

    /// Whether it goes on along some field, as a scan does.
    pub(crate) fn is_scan(&self) -> bool {
        !self.along.is_empty()
    }

    /// Whether it is over nothing: its argument, there to be stored.
    pub(crate) fn is_stored(&self) -> bool {
        self.fields.is_empty() && !self.is_scan()
    }

    /// Fields along which it goes on are replaced by fields alone; see [`Term::scans_along`].
    fn substitute(&self, with: &dyn Fn(&Field) -> At, mode: FloatMode) -> Fold {
        let inner = |f: &Field| if self.fields.contains(f) { At::field(f) } else { with(f) };
        let along = self.along.iter().map(|f| inner(f).as_field().expect("a scan goes on along fields").clone());
        Fold { arg: self.arg.substitute(&inner, mode), along: along.collect(), ..self.clone() }
    }
}

/// The fields in their order, each once.
fn sorted(mut fields: Vec<Field>) -> Vec<Field> {
    fields.sort();
    fields.dedup();
    fields
}

/// Whether folds with `op` may be regrouped and reordered.
pub(crate) fn regroups(op: &Op, dtype: &DType, mode: FloatMode) -> bool {
    op.is_associative(dtype, mode) && op.is_commutative(dtype, mode)
}

fn flatten(op: &Op, args: Vec<Term>, mode: FloatMode) -> Vec<Term> {
    let nested = |a: &Term| matches!(a.node(), Node::Call(inner, _) if inner == op);
    if args.len() < 2 || !args.iter().any(nested) || !op.is_associative(&args[0].dtype(), mode) {
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

/// A literal of that dtype.
pub(crate) fn literal_of(value: &Scalar, dtype: &DType) -> Term {
    Term::literal(cast_to(value, dtype))
}
