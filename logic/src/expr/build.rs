//! The smart constructors: every expression is made here, checked and with its [`Info`] inferred.

use super::infer::infer;
use super::weak::{fit, resolve};
use super::{Computed, Expr, ExprData, IndexMap, Info, Node, fold_dtype};
use crate::dtype::DType;
use crate::error::Error;
use crate::field::{Alias, Field};
use crate::format::{Format, TensorType};
use crate::mode::FloatMode;
use crate::op::{Builtin, Op};
use crate::scalar::Scalar;
use std::sync::Arc;

impl Expr {
    /// A tensor with its modes named; a field that repeats is a diagonal.
    ///
    /// # Errors
    /// When there is not one field a mode, or a repeated field has two sizes.
    pub fn table(
        tensor: impl Into<Alias>,
        ty: Arc<TensorType>,
        fields: impl IntoIterator<Item = impl Into<Field>>,
    ) -> Result<Expr, Error> {
        Expr::infer(Node::Table { tensor: tensor.into(), ty, fields: names(fields) })
    }

    /// A constant of its own dtype.
    pub fn literal(value: impl Into<Scalar>) -> Expr {
        let node = Node::Literal(value.into());
        let info = infer(&node, FloatMode::default()).expect("a literal is well-formed");
        Expr::wrap(node, info, FloatMode::default())
    }

    /// A bare number, which takes the dtype that it meets; alone it keeps its own.
    pub fn number(value: impl Into<Scalar>) -> Expr {
        let node = Node::Literal(value.into());
        let info = infer(&node, FloatMode::default()).expect("a literal is well-formed");
        Expr::wrap(node, Info { weak: true, ..info }, FloatMode::default())
    }

    /// The coordinate of a field as an `i64`; it has no size until it is joined with a table.
    pub fn coordinate(field: impl Into<Field>) -> Expr {
        let node = Node::Coordinate(field.into());
        let info = infer(&node, FloatMode::default()).expect("a coordinate is well-formed");
        Expr::wrap(node, info, FloatMode::default())
    }

    /// The operator on the natural join of the arguments. Its fields are the ordered union of theirs; weak arguments
    /// become literals of the dtype that they meet.
    ///
    /// # Errors
    /// When the arguments do not fit the operator, a weak one does not fit the dtype that it meets, a field has two
    /// sizes, or the operator faults on the fill values.
    pub fn mapjoin(op: impl Into<Op>, args: impl IntoIterator<Item = Expr>) -> Result<Expr, Error> {
        let (op, args) = resolve(op.into(), args.into_iter().collect())?;
        Expr::infer(Node::MapJoin { op, args })
    }

    /// The fold over fields, from `init`, which is taken to the dtype of the argument. An argument that the operator
    /// promotes, as `+` does `bool`, is cast first.
    ///
    /// # Errors
    /// When the operator has no dtype to fold in, `init` does not fit it, the argument lacks a field or its size, or
    /// the fold of the fill value faults.
    pub fn aggregate(
        op: impl Into<Op>,
        init: impl Into<Scalar>,
        arg: Expr,
        fields: impl IntoIterator<Item = impl Into<Field>>,
    ) -> Result<Expr, Error> {
        let (op, arg) = (op.into(), arg.strong());
        let dtype = fold_dtype(&op, &arg.info().dtype, "fold")?;
        let arg = arg.cast(&dtype)?;
        let init = fit(&init.into(), &dtype, "the start of an aggregate")?;
        Expr::infer(Node::Aggregate { op, init, arg, fields: names(fields) })
    }

    /// The inclusive prefix fold along a field. An argument that the operator promotes is cast first.
    ///
    /// # Errors
    /// When the operator is not associative for the dtype, or the argument lacks the field.
    pub fn scan(op: impl Into<Op>, arg: Expr, field: impl Into<Field>) -> Result<Expr, Error> {
        let (op, arg) = (op.into(), arg.strong());
        let dtype = fold_dtype(&op, &arg.info().dtype, "scan")?;
        Expr::infer(Node::Scan { op, arg: arg.cast(&dtype)?, field: field.into() })
    }

    /// The same table with its fields in another order.
    ///
    /// # Errors
    /// When the fields are not those of the argument.
    pub fn reorder(self, fields: impl IntoIterator<Item = impl Into<Field>>) -> Result<Expr, Error> {
        Expr::infer(Node::Reorder { arg: self.strong(), fields: names(fields) })
    }

    /// The same table with its fields renamed, by position.
    ///
    /// # Errors
    /// When there is not one new name a field, or a name repeats.
    pub fn relabel(self, fields: impl IntoIterator<Item = impl Into<Field>>) -> Result<Expr, Error> {
        Expr::infer(Node::Relabel { arg: self.strong(), fields: names(fields) })
    }

    /// The table read at other coordinates; the value for reads outside is taken to the dtype of the table.
    ///
    /// # Errors
    /// When the map names fields that there are not, a read may be out of bounds and the map has no value for it, or
    /// that value does not fit.
    pub fn index(self, mut map: IndexMap) -> Result<Expr, Error> {
        let arg = self.strong();
        if let Some(outside) = &map.outside {
            map.outside = Some(fit(outside, &arg.info().dtype, "the value of reads outside")?);
        }
        Expr::infer(Node::Index { map, arg })
    }

    /// The same table, to be stored in that format, whose modes are the fields in their order.
    ///
    /// # Errors
    /// When the format does not fit the rank or the values.
    pub fn reformat(self, format: Format) -> Result<Expr, Error> {
        Expr::infer(Node::Reformat { format, arg: self.strong() })
    }

    /// The same table, to be stored with that fill value, or its own; computed values that equal it are stored or not.
    ///
    /// # Errors
    /// When the fill value does not fit the dtype.
    pub fn refill(self, fill: Option<Scalar>, computed: Computed) -> Result<Expr, Error> {
        let arg = self.strong();
        let fill = match fill {
            Some(fill) => fit(&fill, &arg.info().dtype, "the fill value")?,
            None => arg.info().fill.clone(),
        };
        Expr::infer(Node::Refill { fill, computed, arg })
    }

    /// The format in which the table is to be stored, if it says so.
    pub fn stored_format(&self) -> Option<&Format> {
        match self.node() {
            Node::Reformat { format, .. } => Some(format),
            Node::Refill { arg, .. } => arg.stored_format(),
            _ => None,
        }
    }

    /// The values cast to a dtype; itself when that is theirs.
    ///
    /// # Errors
    /// When either is a struct and they differ.
    pub fn cast(self, dtype: &DType) -> Result<Expr, Error> {
        match dtype {
            _ if self.info().dtype == *dtype => Ok(self),
            DType::Prim(p) => Expr::mapjoin(Builtin::Cast(*p), [self]),
            DType::Struct(_) => Err(Error::Value {
                what: "a value of dtype",
                value: self.info().dtype.to_string(),
                dtype: dtype.clone(),
                advice: "build the struct with an operator",
            }),
        }
    }

    /// The same with what it is no longer weak.
    fn strong(self) -> Expr {
        match self.node() {
            Node::Literal(value) if self.info().weak => Expr::literal(value.clone()),
            _ => self,
        }
    }

    /// Infers a node in the mode of its arguments.
    fn infer(node: Node) -> Result<Expr, Error> {
        let strict = node.args().iter().any(|arg| arg.mode() == FloatMode::StrictIeee);
        let mode = if strict { FloatMode::StrictIeee } else { FloatMode::default() };
        let info = infer(&node, mode)?;
        Ok(Expr::wrap(node, info, mode))
    }

    pub(super) fn wrap(node: Node, info: Info, mode: FloatMode) -> Expr {
        Expr(Arc::new(ExprData { node, info, mode }))
    }
}

fn names<N: Into<Field>>(fields: impl IntoIterator<Item = N>) -> Vec<Field> {
    fields.into_iter().map(Into::into).collect()
}
