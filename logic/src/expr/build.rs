//! Smart constructors of expressions: each checks the node and infers its [`Info`]. Apart from
//! [`Plan::to_mode`](crate::Plan::to_mode), which does the same, they are the only way to create
//! expressions.

use super::infer::infer;
use super::weak::{fit, resolve};
use super::{ComputedFills, Expr, ExprData, IndexMap, Info, Node, fold_dtype};
use crate::dtype::DType;
use crate::error::Error;
use crate::field::{Alias, Field};
use crate::format::{Format, TensorType};
use crate::mode::FloatMode;
use crate::op::{Builtin, Op};
use crate::scalar::Scalar;
use std::sync::Arc;

impl Expr {
    /// Creates a table: a tensor with named modes. A repeated field reads the diagonal.
    ///
    /// # Errors
    /// Returns an error if the number of fields differs from the number of modes, a size exceeds
    /// `i64::MAX`, or a repeated field has two sizes.
    pub fn table(
        tensor: impl Into<Alias>,
        ty: Arc<TensorType>,
        fields: impl IntoIterator<Item = impl Into<Field>>,
    ) -> Result<Expr, Error> {
        Expr::infer(Node::Table { tensor: tensor.into(), ty, fields: names(fields) })
    }

    /// Creates a constant of the value's own dtype.
    pub fn literal(value: impl Into<Scalar>) -> Expr {
        let node = Node::Literal(value.into());
        let info = infer(&node, FloatMode::default()).expect("a literal is well-formed");
        Expr::wrap(node, info, FloatMode::default())
    }

    /// Creates a bare number. In [`Expr::mapjoin`], the number takes its dtype from the operator or
    /// from the other arguments, if they determine one. Elsewhere it keeps its own dtype.
    pub fn number(value: impl Into<Scalar>) -> Expr {
        let node = Node::Literal(value.into());
        let info = infer(&node, FloatMode::default()).expect("a literal is well-formed");
        Expr::wrap(node, Info { weak: true, ..info }, FloatMode::default())
    }

    /// Creates the coordinate of a field, as an `i64`. The field has no size until it is joined
    /// with a table.
    pub fn coordinate(field: impl Into<Field>) -> Expr {
        let node = Node::Coordinate(field.into());
        let info = infer(&node, FloatMode::default()).expect("a coordinate is well-formed");
        Expr::wrap(node, info, FloatMode::default())
    }

    /// Applies an operator to the natural join of the arguments. The result has the ordered union
    /// of their fields. Weak arguments, which are bare numbers, become literals; the operator and
    /// the other arguments determine their dtypes. If the determined dtype cannot represent a
    /// number in a comparison, an equivalent comparison replaces the given one.
    ///
    /// # Errors
    /// Returns an error if the arguments do not fit the operator, a weak argument does not fit its
    /// dtype, a field has two sizes, or the operator faults on the fill values. Also returns the
    /// errors of [`Op::bind_fills`] for a user-defined operator.
    pub fn mapjoin(op: impl Into<Op>, args: impl IntoIterator<Item = Expr>) -> Result<Expr, Error> {
        let (op, args) = resolve(op.into(), args.into_iter().collect())?;
        Expr::infer(Node::MapJoin { op, args })
    }

    /// Folds an expression over fields, starting with `init`. An argument that the operator
    /// promotes, as `+` promotes `bool`, is cast first; `init` is converted to the dtype of the
    /// cast argument.
    ///
    /// # Errors
    /// Returns an error if the operator has cases or no dtype to fold in, or if `init` does not fit
    /// that dtype. Also returns an error if a field is repeated, has no size or is not a field of
    /// the argument, or if the fold of the fill value faults or would take too many steps.
    pub fn aggregate(
        op: impl Into<Op>,
        init: impl Into<Scalar>,
        arg: Expr,
        fields: impl IntoIterator<Item = impl Into<Field>>,
    ) -> Result<Expr, Error> {
        let (op, arg) = (op.into(), arg.into_strong());
        let dtype = fold_dtype(&op, &arg.info().dtype, "fold")?;
        let arg = arg.cast(&dtype)?;
        let init = fit(&init.into(), &dtype, "initial value")?;
        Expr::infer(Node::Aggregate { op, init, arg, fields: names(fields) })
    }

    /// Folds the inclusive prefixes along a field. An argument that the operator promotes is cast
    /// first.
    ///
    /// # Errors
    /// Returns an error if the operator has cases, has no dtype to fold in or is not associative
    /// for that dtype, or if the argument lacks the field.
    pub fn scan(op: impl Into<Op>, arg: Expr, field: impl Into<Field>) -> Result<Expr, Error> {
        let (op, arg) = (op.into(), arg.into_strong());
        let dtype = fold_dtype(&op, &arg.info().dtype, "scan")?;
        Expr::infer(Node::Scan { op, arg: arg.cast(&dtype)?, field: field.into() })
    }

    /// Reorders the fields of a table.
    ///
    /// # Errors
    /// Returns an error if `fields` is no permutation of the fields of the table.
    pub fn reorder(self, fields: impl IntoIterator<Item = impl Into<Field>>) -> Result<Expr, Error> {
        Expr::infer(Node::Reorder { arg: self.into_strong(), fields: names(fields) })
    }

    /// Renames the fields of a table, by position.
    ///
    /// # Errors
    /// Returns an error if the number of names differs from the number of fields, or a name
    /// repeats.
    pub fn relabel(self, fields: impl IntoIterator<Item = impl Into<Field>>) -> Result<Expr, Error> {
        Expr::infer(Node::Relabel { arg: self.into_strong(), fields: names(fields) })
    }

    /// Reads the table at the coordinates that `map` computes. The value for reads out of bounds is
    /// converted to the dtype of the table.
    ///
    /// # Errors
    /// Returns an error if the map is not well-formed, if the values of a subscript overflow 64
    /// bits, or if the value for reads out of bounds does not fit the dtype. Without such a value,
    /// also returns an error if a read may be out of bounds, or a field of a subscript has no size.
    pub fn index(self, mut map: IndexMap) -> Result<Expr, Error> {
        let arg = self.into_strong();
        if let Some(outside) = &map.outside {
            map.outside = Some(fit(outside, &arg.info().dtype, "value of reads out of bounds")?);
        }
        Expr::infer(Node::Index { map, arg })
    }

    /// Returns the expression with each of its arguments replaced by a new argument.
    ///
    /// # Errors
    /// Returns an error if the new arguments do not fit the node.
    pub fn with_args(&self, args: Vec<Expr>) -> Result<Expr, Error> {
        match args.iter().zip(self.node().args()).all(|(new, old)| new.ptr_eq(old)) {
            true => Ok(self.clone()),
            false => Expr::infer(self.node().with_args(args)),
        }
    }

    /// Requires the table to be stored in a format whose modes are the fields, in order.
    ///
    /// # Errors
    /// Returns an error if the format is invalid, or does not fit the shape, the dtype or the fill
    /// value.
    pub fn reformat(self, format: Format) -> Result<Expr, Error> {
        Expr::infer(Node::Reformat { format, arg: self.into_strong() })
    }

    /// Requires the table to be stored with the fill value `fill`; `None` keeps the fill value of
    /// the table. `computed_fills` says whether computed values that equal the fill value are
    /// stored, in levels that can omit such values.
    ///
    /// # Errors
    /// Returns an error if the fill value does not fit the dtype.
    pub fn refill(self, fill: Option<Scalar>, computed_fills: ComputedFills) -> Result<Expr, Error> {
        let arg = self.into_strong();
        let fill = match fill {
            Some(fill) => fit(&fill, &arg.info().dtype, "fill value")?,
            None => arg.info().fill.clone(),
        };
        Expr::infer(Node::Refill { fill, computed_fills, arg })
    }

    /// Returns the format in which the table must be stored, if the expression gives one.
    pub fn stored_format(&self) -> Option<&Format> {
        match self.node() {
            Node::Reformat { format, .. } => Some(format),
            Node::Refill { arg, .. } => arg.stored_format(),
            _ => None,
        }
    }

    /// Casts the values to a dtype; returns the expression unchanged if it already has that dtype.
    ///
    /// # Errors
    /// Returns an error if the dtypes differ and one of them is a struct.
    pub fn cast(self, dtype: &DType) -> Result<Expr, Error> {
        match dtype {
            _ if self.info().dtype == *dtype => Ok(self),
            DType::Prim(p) => Expr::mapjoin(Builtin::Cast(*p), [self]),
            DType::Struct(_) => Err(Error::Value {
                role: "a value of dtype",
                value: self.info().dtype.to_string(),
                dtype: dtype.clone(),
                advice: "build the struct with an operator",
            }),
        }
    }

    /// Turns a weak literal into a strong one; returns other expressions unchanged.
    fn into_strong(self) -> Expr {
        match self.node() {
            Node::Literal(value) if self.info().weak => Expr::literal(value.clone()),
            _ => self,
        }
    }

    /// Creates a node with properties inferred in the float mode of its arguments.
    pub(super) fn infer(node: Node) -> Result<Expr, Error> {
        let strict = node.args().iter().any(|arg| arg.mode() == FloatMode::StrictIeee);
        let mode = if strict { FloatMode::StrictIeee } else { FloatMode::default() };
        let info = infer(&node, mode)?;
        Ok(Expr::wrap(node, info, mode))
    }

    pub(super) fn wrap(node: Node, info: Info, mode: FloatMode) -> Expr {
        let depth = node.depth();
        Expr(Arc::new(ExprData { node, info, mode, depth }))
    }
}

fn names<N: Into<Field>>(fields: impl IntoIterator<Item = N>) -> Vec<Field> {
    fields.into_iter().map(Into::into).collect()
}
