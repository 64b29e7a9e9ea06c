//! Casts of dictionaries to views. Arrow's direct cast turns NULLs among the values of a dictionary
//! into empty texts. A cast to the type of the values keeps the NULLs.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

/// The rule that casts dictionaries to the type of their values, before the values are cast to
/// views.
#[derive(Debug)]
pub(crate) struct UnpackDictionaries;

impl AnalyzerRule for UnpackDictionaries {
    fn name(&self) -> &str {
        "unpack_dictionaries"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let unpack = |node: LogicalPlan| {
            let schema = merge_schema(&node.inputs());
            let names = NamePreserver::new(&node);
            let unpacked = node.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(expr.transform_up(|e| unpack_cast(e, &schema))?.update_data(|e| name.restore(e)))
            })?;
            unpacked.map_data(LogicalPlan::recompute_schema)
        };
        plan.transform_up_with_subqueries(unpack).data()
    }
}

fn unpack_cast(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::Cast(Cast { expr: arg, field }) = &expr else { return Ok(Transformed::no(expr)) };
    let is_view = matches!(field.data_type(), DataType::Utf8View | DataType::BinaryView);
    match arg.get_type(schema)? {
        DataType::Dictionary(_, values) if is_view => {
            let unpacked = Expr::Cast(Cast::new(arg.clone(), *values));
            Ok(Transformed::yes(Expr::Cast(Cast { expr: Box::new(unpacked), field: field.clone() })))
        }
        _ => Ok(Transformed::no(expr)),
    }
}
