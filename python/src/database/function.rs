//! Functions of SQL that apply operators of redpoll, such as traced functions of Python.
//!
//! A function of SQL is applied to the columns of one batch at a time. The function of Python is
//! traced when a statement is planned, once for each combination of dtypes.

use crate::dtype::name_of;
use crate::operators::Operator;
use pyo3::prelude::*;
use redpoll::logic::op::Op;
use redpoll::logic::{DType, Prim};
use redpoll::sql::datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray, UInt32Array, new_empty_array,
};
use redpoll::sql::datafusion::arrow::buffer::NullBuffer;
use redpoll::sql::datafusion::arrow::compute::{filter, take};
use redpoll::sql::datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use redpoll::sql::datafusion::common::ScalarValue;
use redpoll::sql::datafusion::error::{DataFusionError, Result};
use redpoll::sql::datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use redpoll::storage::{arrow_type, dtype_of_arrow};
use redpoll::{Operand, Session, Value};
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// The smallest number of rows that a kernel computes. Columns are padded to a power of two, so
/// that batches of all sizes share a few compiled plans.
const LEAST_ROWS: usize = 64;

/// A function for SQL, made from Python: `Function(specialize)`, where `specialize(dtypes)` returns
/// the [`Operator`] for arguments of these dtypes.
#[pyclass(frozen, module = "redpoll._core._sql")]
pub(crate) struct Function(Arc<Specializations>);

/// The operators of a function, by the dtypes of the arguments.
struct Specializations {
    specialize: Py<PyAny>,
    known: Mutex<HashMap<Vec<Prim>, Op>>,
}

#[pymethods]
impl Function {
    #[new]
    fn new(specialize: Py<PyAny>) -> Function {
        Function(Arc::new(Specializations { specialize, known: Mutex::default() }))
    }
}

impl Function {
    /// Returns the function of SQL with the given name, whose kernels run in `session`.
    pub(super) fn named(&self, name: &str, session: &Session) -> ScalarUDF {
        ScalarUDF::from(OperatorFunction {
            name: name.to_owned(),
            operators: self.0.clone(),
            session: session.clone(),
            signature: Signature::user_defined(Volatility::Immutable),
        })
    }
}

impl Specializations {
    /// Returns the operator for arguments of the given dtypes.
    fn operator(&self, prims: &[Prim]) -> Result<Op> {
        if let Some(op) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(prims) {
            return Ok(op.clone());
        }
        // `attach` waits for the lock of the interpreter. The thread that holds this lock may wait
        // for the lock of `known`, so the lock of `known` must not be held here.
        let op = Python::attach(|py| {
            let dtypes: Vec<&str> = prims.iter().map(|prim| name_of(*prim)).collect();
            let operator = self.specialize.bind(py).call1((dtypes,))?;
            Ok::<_, PyErr>(operator.cast::<Operator>()?.get().op().clone())
        });
        let op = op.map_err(|error| DataFusionError::External(Box::new(error)))?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(prims.to_vec(), op.clone());
        Ok(op)
    }
}

/// A function that DataFusion calls, and that applies an operator.
struct OperatorFunction {
    name: String,
    operators: Arc<Specializations>,
    session: Session,
    signature: Signature,
}

impl OperatorFunction {
    /// Returns the dtypes of arguments of the given types of Arrow.
    fn prims(&self, types: &[DataType]) -> Result<Vec<Prim>> {
        let prim = |(k, ty): (usize, &DataType)| {
            dtype_of_arrow(ty).and_then(|dtype| dtype.prim()).ok_or_else(|| {
                let message = format!("argument {} is {ty}", k + 1);
                DataFusionError::Plan(format!("function `{}` takes numbers and booleans, {message}", self.name))
            })
        };
        types.iter().enumerate().map(prim).collect()
    }

    /// Applies the operator to columns without NULLs; `result` is the type of the result.
    fn apply(&self, columns: &[ArrayRef], result: &DataType) -> Result<ArrayRef> {
        let rows = columns.first().map_or(0, Array::len);
        if rows == 0 {
            return Ok(new_empty_array(result));
        }
        let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
        let op = self.operators.operator(&self.prims(&types)?)?;
        let padded = rows.next_power_of_two().max(LEAST_ROWS);
        let mut arrays = columns.iter().map(|column| vector(&self.session, column, padded));
        let first = arrays.next().expect("a column has rows");
        let others: Vec<Operand> = arrays.map(Operand::from).collect();
        column(&first.apply(op, others), result, rows)
            .map_err(|error| DataFusionError::Execution(format!("function `{}`: {error}", self.name)))
    }
}

impl ScalarUDFImpl for OperatorFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Returns the types to which arguments are cast. NULLs, decimals and floats of 16 bits become
    /// `DOUBLE`, because redpoll has no dtype for them. Dictionaries become their values.
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let types: Vec<DataType> = types
            .iter()
            .map(|ty| match ty {
                DataType::Null | DataType::Float16 => DataType::Float64,
                ty if ty.is_decimal() => DataType::Float64,
                DataType::Dictionary(_, values) => values.as_ref().clone(),
                ty => ty.clone(),
            })
            .collect();
        self.prims(&types)?;
        Ok(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let prims = self.prims(types)?;
        let dtypes: Vec<DType> = prims.iter().map(|prim| DType::from(*prim)).collect();
        let signature = self.operators.operator(&prims)?.signature(&dtypes);
        let signature = signature.map_err(|e| DataFusionError::Plan(format!("function `{}`: {e}", self.name)))?;
        Ok(arrow_type(&signature.result))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_scalar { 1 } else { args.number_rows };
        let result = args.return_field.data_type();
        let columns = args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<Vec<_>>>()?;
        let nulls = columns
            .iter()
            .fold(None, |nulls, column| NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref()));
        let values = match nulls.filter(|nulls| nulls.null_count() > 0) {
            None => self.apply(&columns, result)?,
            Some(nulls) => {
                // The values in rows with a NULL are arbitrary, and a loop of the function may not
                // end for such values. So the function is applied to the other rows only.
                let is_valid = BooleanArray::new(nulls.inner().clone(), None);
                let valid = columns.iter().map(|column| filter(column, &is_valid)).collect::<Result<Vec<_>, _>>()?;
                let values = self.apply(&valid, result)?;
                let mut places = 0..;
                let place = |is_valid: bool| is_valid.then(|| places.next()).flatten();
                take(&values, &UInt32Array::from_iter(nulls.iter().map(place)), None)?
            }
        };
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?),
            false => ColumnarValue::Array(values),
        })
    }
}

/// Calls a macro with the Arrow type of a column of numbers.
macro_rules! for_type {
    ($ty:expr, $action:ident) => {
        match $ty {
            DataType::Int8 => $action!(Int8Type),
            DataType::Int16 => $action!(Int16Type),
            DataType::Int32 => $action!(Int32Type),
            DataType::Int64 => $action!(Int64Type),
            DataType::UInt8 => $action!(UInt8Type),
            DataType::UInt16 => $action!(UInt16Type),
            DataType::UInt32 => $action!(UInt32Type),
            DataType::UInt64 => $action!(UInt64Type),
            DataType::Float32 => $action!(Float32Type),
            _ => $action!(Float64Type),
        }
    };
}

/// Returns the values of a column as a dense vector, padded to `len` elements with the last value.
fn vector(session: &Session, column: &ArrayRef, len: usize) -> redpoll::Array {
    fn padded<T: Value>(session: &Session, mut values: Vec<T>, len: usize) -> redpoll::Array {
        if let Some(last) = values.last().copied() {
            values.resize(len, last);
        }
        session.vector(values)
    }
    if let Some(booleans) = column.as_boolean_opt() {
        return padded(session, booleans.values().iter().collect(), len);
    }
    macro_rules! numbers {
        ($ty:ty) => {
            padded(session, column.as_primitive::<$ty>().values().to_vec(), len)
        };
    }
    for_type!(column.data_type(), numbers)
}

/// Computes a vector, and returns its first `len` values as a column.
fn column(vector: &redpoll::Array, ty: &DataType, len: usize) -> Result<ArrayRef, redpoll::Error> {
    fn prefix<T: Value>(vector: &redpoll::Array, len: usize) -> Result<Vec<T>, redpoll::Error> {
        let mut values = vector.to_vec::<T>()?;
        values.truncate(len);
        Ok(values)
    }
    if *ty == DataType::Boolean {
        return Ok(Arc::new(BooleanArray::from(prefix::<bool>(vector, len)?)));
    }
    macro_rules! numbers {
        ($ty:ty) => {{
            let values = prefix::<<$ty as ArrowPrimitiveType>::Native>(vector, len)?;
            let column: ArrayRef = Arc::new(PrimitiveArray::<$ty>::from_iter_values(values));
            column
        }};
    }
    Ok(for_type!(ty, numbers))
}

impl PartialEq for OperatorFunction {
    fn eq(&self, other: &OperatorFunction) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.operators, &other.operators)
    }
}

impl Eq for OperatorFunction {}

impl Hash for OperatorFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        Arc::as_ptr(&self.operators).hash(state);
    }
}

impl fmt::Debug for OperatorFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorFunction").field("name", &self.name).finish_non_exhaustive()
    }
}
