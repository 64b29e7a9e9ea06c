//! Aggregate functions over semirings, registered by users. For example, `min_plus(a.w, b.w)` is
//! the smallest `a.w + b.w` over the rows.

use crate::error::Error;
use crate::number::Number;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, FloatMode, Scalar};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An aggregate function that combines the arguments of each row by `times`, and folds the rows by
/// `plus`. Rows with a NULL argument do not count; the result over no rows is NULL.
///
/// ```
/// use redpoll_logic::op::Builtin;
/// use redpoll_sql::{Number, Semiring};
/// use redpoll_sql::datafusion::arrow::util::display::array_value_to_string;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let database = redpoll::Session::default().database();
/// database.register_semiring(Semiring::new("min_plus", Builtin::Min, Builtin::Add, Number::I64)?);
/// let edges = "CREATE TABLE e (s BIGINT, d BIGINT, w BIGINT) AS VALUES (0, 1, 5), (0, 2, 1), (1, 3, 1), (2, 3, 2)";
/// database.sql(edges).await?.collect().await?;
/// let shortest = "SELECT min_plus(a.w, b.w) FROM e a JOIN e b ON a.d = b.s WHERE a.s = 0 AND b.d = 3";
/// let rows = database.sql(shortest).await?.collect().await?;
/// assert_eq!(array_value_to_string(rows[0].column(0), 0)?, "3");
///
/// // A sum is not idempotent.
/// assert!(Semiring::new("plus_times", Builtin::Add, Builtin::Mul, Number::I64).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "SemiringText", into = "SemiringText")]
pub struct Semiring {
    name: String,
    plus: Op,
    times: Op,
    number: Number,
}

/// A semiring with the names of its operators.
#[derive(Serialize, Deserialize)]
struct SemiringText {
    name: String,
    plus: String,
    times: String,
    number: Number,
}

impl From<Semiring> for SemiringText {
    fn from(Semiring { name, plus, times, number }: Semiring) -> SemiringText {
        SemiringText { name, plus: plus.name().to_owned(), times: times.name().to_owned(), number }
    }
}

impl TryFrom<SemiringText> for Semiring {
    type Error = Error;

    /// Returns the semiring.
    ///
    /// # Errors
    /// If an operator is not built in, or the errors of [`Semiring::new`].
    fn try_from(text: SemiringText) -> Result<Semiring, Error> {
        let op = |op: &str| {
            let message = format!("the operator `{op}` is not built in, so a worker does not know it");
            Op::from_name(op).ok_or_else(|| Error::Semiring { name: text.name.clone(), message })
        };
        Semiring::new(&text.name, op(&text.plus)?, op(&text.times)?, text.number)
    }
}

/// The values for which `times` of a semiring distributes over `plus`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Distribution {
    /// All values.
    AllValues,
    /// Values whose sums do not wrap.
    WithoutWraps,
    /// Values that are not negative and whose products do not wrap.
    NonnegativeWithoutWraps,
}

impl Semiring {
    /// Returns the function `name` over `DOUBLE` or `BIGINT`.
    ///
    /// # Errors
    /// If `number` is another type, `plus` or `times` is not commutative and associative, `plus` is
    /// not idempotent or has no identity, or `times` does not distribute over `plus`. These
    /// properties are required because each row of a table is folded once, before the join,
    /// although many rows of the join may contain the row. A sum or product as `times` is accepted
    /// with a minimum or maximum as `plus`. If a value is negative (in a product) or an integer may
    /// wrap, DataFusion computes the fold row by row.
    pub fn new(name: &str, plus: impl Into<Op>, times: impl Into<Op>, number: Number) -> Result<Semiring, Error> {
        let (plus, times) = (plus.into(), times.into());
        let fault = |message: String| Error::Semiring { name: name.to_owned(), message };
        if !matches!(number, Number::F64 | Number::I64) {
            return Err(fault(format!("the number type must be F64 (`DOUBLE`) or I64 (`BIGINT`), found {number:?}")));
        }
        let (dtype, mode) = (DType::from(number.prim()), FloatMode::default());
        for op in [&plus, &times] {
            if !op.is_commutative(&dtype, mode) || !op.is_associative(&dtype, mode) {
                return Err(fault(format!("`{}` is not commutative and associative on {dtype}", op.name())));
            }
        }
        if !plus.is_idempotent(&dtype, mode) || plus.fold_identity(&dtype, mode).is_none() {
            return Err(fault(format!("`{}` is not idempotent or has no identity on {dtype}", plus.name())));
        }
        let semiring = Semiring { name: name.to_owned(), plus, times, number };
        if semiring.distribution().is_none() {
            let (times, plus) = (semiring.times.name(), semiring.plus.name());
            return Err(fault(format!("`{times}` does not distribute over `{plus}` on {dtype}")));
        }
        Ok(semiring)
    }

    /// Returns the values for which `times` distributes over `plus`; `None` if no such condition is
    /// known.
    pub(crate) fn distribution(&self) -> Option<Distribution> {
        use Builtin::{Add, Max, Min, Mul};
        let dtype = DType::from(self.number.prim());
        let distributes = |at| self.times.distributes_over(&self.plus, &dtype, at, FloatMode::default());
        match (&self.times, &self.plus) {
            _ if distributes(0) && distributes(1) => Some(Distribution::AllValues),
            (Op::Builtin(Add), Op::Builtin(Min | Max)) => Some(Distribution::WithoutWraps),
            (Op::Builtin(Mul), Op::Builtin(Min | Max)) => Some(Distribution::NonnegativeWithoutWraps),
            _ => None,
        }
    }

    /// Returns the operator that folds rows.
    pub fn plus(&self) -> &Op {
        &self.plus
    }

    /// Returns the operator that combines the arguments of a row.
    pub fn times(&self) -> &Op {
        &self.times
    }

    /// Returns the number type.
    pub fn number(&self) -> Number {
        self.number
    }

    /// Returns the identity of `plus`.
    pub fn zero(&self) -> Scalar {
        let identity = self.plus.fold_identity(&DType::from(self.number.prim()), FloatMode::default());
        identity.expect("`plus` of a semiring has an identity")
    }

    /// Folds two values.
    pub(crate) fn add(&self, a: &Scalar, b: &Scalar) -> Result<Scalar> {
        self.plus
            .eval(&[a.clone(), b.clone()])
            .map_err(|e| DataFusionError::Execution(format!("aggregate function `{}`: {e:?}", self.name)))
    }

    fn ty(&self) -> DataType {
        match self.number {
            Number::I64 => DataType::Int64,
            _ => DataType::Float64,
        }
    }
}

/// The aggregate function of a semiring, which DataFusion calls.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SemiringFunction {
    pub(crate) semiring: Semiring,
    signature: Signature,
}

impl SemiringFunction {
    pub(crate) fn new(semiring: Semiring) -> SemiringFunction {
        SemiringFunction { semiring, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for SemiringFunction {
    fn name(&self) -> &str {
        &self.semiring.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, args: &[DataType]) -> Result<Vec<DataType>> {
        if args.is_empty() || !args.iter().all(|ty| ty.is_numeric() || ty.is_null()) {
            return Err(DataFusionError::Plan(format!(
                "aggregate function `{}` takes one or more numbers",
                self.semiring.name
            )));
        }
        Ok(vec![self.semiring.ty(); args.len()])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.semiring.ty())
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(SemiringAccumulator { semiring: self.semiring.clone(), value: None }))
    }
}

/// The accumulator of the function in DataFusion.
struct SemiringAccumulator {
    semiring: Semiring,
    value: Option<Scalar>,
}

impl fmt::Debug for SemiringAccumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SemiringAccumulator").field("value", &self.value).finish_non_exhaustive()
    }
}

/// Returns the numbers of a `BIGINT` or `DOUBLE` column, `None` for NULL. Columns of other types
/// give an empty list.
pub(crate) fn scalars(column: &ArrayRef) -> Vec<Option<Scalar>> {
    if let Some(values) = column.as_primitive_opt::<Int64Type>() {
        return values.iter().map(|v| v.map(Scalar::I64)).collect();
    }
    let values = column.as_primitive_opt::<Float64Type>();
    values.map_or_else(Vec::new, |values| values.iter().map(|v| v.map(Scalar::F64)).collect())
}

impl SemiringAccumulator {
    fn add(&mut self, value: Scalar) -> Result<()> {
        self.value = Some(match &self.value {
            None => value,
            Some(current) => self.semiring.add(current, &value)?,
        });
        Ok(())
    }
}

impl Accumulator for SemiringAccumulator {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let columns: Vec<Vec<Option<Scalar>>> = columns.iter().map(scalars).collect();
        for row in 0..columns.first().map_or(0, Vec::len) {
            let Some(args) = columns.iter().map(|column| column[row].clone()).collect::<Option<Vec<_>>>() else {
                continue;
            };
            let product = args.into_iter().map(Ok).reduce(|a, b| {
                let product = self.semiring.times.eval(&[a?, b?]);
                product.map_err(|e| {
                    DataFusionError::Execution(format!("aggregate function `{}`: {e:?}", self.semiring.name))
                })
            });
            if let Some(product) = product {
                self.add(product?)?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(match (&self.value, self.semiring.number) {
            (Some(Scalar::I64(v)), _) => ScalarValue::Int64(Some(*v)),
            (Some(Scalar::F64(v)), _) => ScalarValue::Float64(Some(*v)),
            (_, Number::I64) => ScalarValue::Int64(None),
            _ => ScalarValue::Float64(None),
        })
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        scalars(&states[0]).into_iter().flatten().try_for_each(|value| self.add(value))
    }
}
