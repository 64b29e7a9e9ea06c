//! Conditions over several leaves as tensors: the combinations of values that pass.

use super::EncodedJoin;
use super::tensor::tensor_format;
use crate::claim::{Condition, GroupedJoin};
use crate::error::{FallbackReason, Result};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::DFSchema;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::create_physical_expr;
use redpoll_logic::{DType, Scalar, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples, Values};
use std::sync::Arc;

/// The largest number of combinations for which a condition is computed.
const MAX_COMBINATIONS: u64 = 1 << 20;

impl EncodedJoin {
    /// Returns a boolean tensor over the fields of a condition, true at the codes that pass.
    ///
    /// # Errors
    /// If there are more than `MAX_COMBINATIONS` combinations, the condition fails, or Arrow
    /// refuses a computation.
    pub fn condition_tensor(&self, join: &GroupedJoin, condition: &Condition) -> Result<Tensor> {
        let shape: Vec<u64> = condition.fields.iter().map(|&f| self.size(join, f)).collect();
        let sizes = condition.fields.iter().zip(&shape);
        let counts: Vec<u64> = sizes.map(|(&f, &size)| self.domain(join, f).count().min(size)).collect();
        let combinations = counts.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).filter(|&n| n <= MAX_COMBINATIONS);
        let Some(combinations) = combinations else {
            return Err(FallbackReason::TooManyCombinations {
                condition: format!("`{}`", condition.name),
                max: MAX_COMBINATIONS,
            }
            .into());
        };
        let mut coordinates: Vec<Vec<u64>> = Vec::new();
        let mut inner = combinations;
        for &count in &counts {
            inner /= count.max(1);
            coordinates.push((0..combinations).map(|combination| combination / inner.max(1) % count).collect());
        }
        let passes = self
            .evaluate(join, condition, &coordinates)
            .map_err(|e| FallbackReason::EarlyError { error: e.to_string() })?;
        let passing: Vec<usize> =
            (0..passes.len()).filter(|&k| passes.is_valid(k) && passes.as_boolean().value(k)).collect();
        let coordinates = coordinates.iter().map(|list| passing.iter().map(|&k| list[k]).collect()).collect();
        let format = tensor_format(&shape, passing.len() as u64, &DType::BOOL);
        let ty = TensorType { shape: shape.clone(), dtype: DType::BOOL, fill: Scalar::Bool(false), format };
        let triples = Triples { coordinates, shape, values: Values::pattern(passing.len())? };
        Ok(Tensor::from_triples(ty, &triples, Duplicates::Error)?.0)
    }

    /// Evaluates the condition for each combination of codes.
    fn evaluate(
        &self,
        join: &GroupedJoin,
        condition: &Condition,
        coordinates: &[Vec<u64>],
    ) -> Result<ArrayRef, DataFusionError> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (k, (&field, codes)) in condition.fields.iter().zip(coordinates).enumerate() {
            let domain = self.domain(join, field);
            let all: Vec<u64> = (0..domain.count()).collect();
            let indices = UInt64Array::from(codes.clone());
            for (part, (values, column)) in domain.decode(&all)?.iter().zip(&join.fields[field].columns[0]).enumerate()
            {
                let name = Condition::column(k, part);
                let values = datafusion::arrow::compute::cast(values, &join.column(*column).ty)?;
                let field = Arc::new(Field::new(name.name, values.data_type().clone(), true));
                fields.push((name.relation, field));
                columns.push(take(&values, &indices, None)?);
            }
        }
        let schema = DFSchema::new_with_metadata(fields, Default::default())?;
        let expr = create_physical_expr(
            &condition.expr,
            &schema,
            &ExecutionProps::new(),
            &PhysicalPlanningContext::default(),
        )?;
        let rows = coordinates.first().map_or(0, Vec::len);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        // Physical expressions refer to columns by index.
        let indexed: Vec<Field> =
            (0..columns.len()).map(|k| Field::new(k.to_string(), columns[k].data_type().clone(), true)).collect();
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(indexed)), columns, &options)?;
        expr.evaluate(&batch)?.into_array(rows)
    }
}
