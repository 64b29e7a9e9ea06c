//! Notes on a prepared plan or program: results and intermediates that become dense, operators
//! whose values in the default float mode differ from IEEE 754, copies in other formats, checked
//! coordinates, and scanned inputs.

use crate::engine::{Stage, StageWork};
use crate::prepare::{CompiledKind, CompiledPlan, CompiledProgram, Prepared};
use redpoll_compiler::notation::{BoundsCheck, bounds_checks};
use redpoll_logic::cursor::TextPosition;
use redpoll_logic::op::{Op, cast_to};
use redpoll_logic::physical::FormatDisplay;
use redpoll_logic::{Alias, DType, Expr, FloatMode, Format, Node, Scalar, TensorType};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A remark for the author of a prepared plan or program.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Note {
    /// A tensor that is stored densely although some of its operands are sparse inputs with no more
    /// elements than the tensor.
    DenseStorage {
        /// The tensor.
        tensor: Alias,
        /// `true` for a result, `false` for an intermediate.
        is_result: bool,
        /// The number of elements of the tensor.
        elements: u64,
        /// The number of elements that are expected to differ from the fill value.
        expected_nonfill: f64,
        /// The fill value of the tensor.
        fill: Scalar,
        /// The sparse inputs of the plan among the operands of the tensor.
        sparse_operands: Vec<Alias>,
    },
    /// An operator whose result on the fill values differs between the default float mode and the
    /// strict mode.
    FloatModeDifference {
        /// The query.
        query: Alias,
        /// The operator.
        op: Op,
        /// The fill values of the arguments of the operator.
        fills: Vec<Scalar>,
        /// The result in the default mode.
        value: Scalar,
        /// The result in the strict mode.
        strict: Scalar,
    },
    /// A tensor that is copied because its format does not fit the loops that read it.
    Copy {
        /// The copy.
        tensor: Alias,
        /// The copied tensor.
        of: Alias,
        /// The format of the copy.
        format: Format,
    },
    /// A coordinate of a program that is checked in every round.
    CheckedCoordinate {
        /// The position in the text.
        at: TextPosition,
        /// The subscript.
        subscript: String,
        /// The access with the subscript.
        access: String,
    },
    /// An input of a program whose values were scanned once, so that the coordinates in the values
    /// need no check in every round.
    ScannedInput {
        /// The input.
        input: Alias,
        /// A lower bound of the values.
        least: i64,
        /// An upper bound of the values.
        greatest: i64,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tensor, is_result, elements, expected_nonfill, fill, sparse_operands) = match self {
            Note::DenseStorage { tensor, is_result, elements, expected_nonfill, fill, sparse_operands } => {
                (tensor, is_result, elements, expected_nonfill, fill, sparse_operands)
            }
            Note::FloatModeDifference { query, op, fills, value, strict } => {
                let fills: Vec<String> = fills.iter().map(Scalar::to_string).collect();
                let fills = fills.join(" ");
                let (head, tail) = ("for elements that are not stored", "in the strict mode (`--strict`)");
                return write!(f, "query `{query}`: {head}, ({op} {fills}) is {value}; {tail} it is {strict}");
            }
            Note::Copy { tensor, of, format } => {
                return write!(f, "`{of}` is copied to `{tensor}` in the format {}", FormatDisplay(format));
            }
            Note::CheckedCoordinate { at: TextPosition { line, column }, subscript, access } => {
                return write!(
                    f,
                    "line {line}, column {column}: `{subscript}` of `{access}` is checked to be in bounds in every round"
                );
            }
            Note::ScannedInput { input, least, greatest } => {
                return write!(f, "the values of `{input}` were scanned once; they are between {least} and {greatest}");
            }
        };
        let names: Vec<String> = sparse_operands.iter().map(|s| format!("`{s}`")).collect();
        let what = if *is_result { "result" } else { "intermediate" };
        write!(f, "{what} `{tensor}` is dense: all {elements} elements are stored, although {} ", names.join(", "))?;
        f.write_str(if sparse_operands.len() == 1 { "is sparse; " } else { "are sparse; " })?;
        if *expected_nonfill >= *elements as f64 {
            write!(f, "every element may differ from the fill value {fill}")
        } else {
            write!(f, "about {expected_nonfill:.0} elements are expected to differ from the fill value {fill}")
        }
    }
}

impl Prepared {
    /// Returns notes for the author of a plan: tensors that are dense without a requested format
    /// although they have sparse operands, and copies that the plan does not request. In the
    /// relaxed float mode, which is the default, there are also notes on operators whose results on
    /// fill values differ between the float modes. A program has notes on the inputs whose values
    /// were scanned once, and on the coordinates that are checked in every round.
    ///
    /// ```
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// for note in prepared.notes() {
    ///     eprintln!("{note}");
    /// }
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn notes(&self) -> Vec<Note> {
        let form = self.current();
        let stages = &form.executable.stages;
        let compiled = match &form.kind {
            CompiledKind::Plan(compiled) => compiled,
            CompiledKind::Program(compiled) => {
                return scanned_inputs(compiled).into_iter().chain(checked_coordinates(stages)).collect();
            }
        };
        let mut notes = dense_tensors(compiled, stages);
        if form.executable.mode() == FloatMode::Relaxed {
            let mut visited = HashMap::new();
            for query in &compiled.plan.queries {
                float_mode_differences(&query.alias, &query.expr, &mut visited, &mut notes);
            }
        }
        notes.extend(copies(compiled, stages));
        notes
    }
}

/// Returns whether the plan requests the format of a tensor.
fn has_requested_format(compiled: &CompiledPlan, alias: &Alias) -> bool {
    let query = compiled.plan.queries.iter().find(|q| q.alias == *alias);
    query.is_some_and(|q| q.expr.stored_format().is_some())
}

/// Returns notes on the copies that the plan does not request.
fn copies(compiled: &CompiledPlan, stages: &[Stage]) -> Vec<Note> {
    let copy = |stage: &Stage| match &stage.work {
        StageWork::Conversion(ty, _) if !has_requested_format(compiled, &stage.writes[0]) => {
            Some(Note::Copy { tensor: stage.writes[0].clone(), of: stage.reads[0].clone(), format: ty.format.clone() })
        }
        _ => None,
    };
    stages.iter().filter_map(copy).collect()
}

/// Returns notes on the inputs of a program whose values were scanned.
pub(crate) fn scanned_inputs(compiled: &CompiledProgram) -> Vec<Note> {
    let note = |(input, (least, greatest)): &(Alias, (i64, i64))| Note::ScannedInput {
        input: input.clone(),
        least: *least,
        greatest: *greatest,
    };
    compiled.assumed_ranges.iter().map(note).collect()
}

/// Returns notes on the coordinates of a program that are checked.
fn checked_coordinates(stages: &[Stage]) -> Vec<Note> {
    let checks = stages.iter().filter_map(Stage::loops).flat_map(|loops| bounds_checks(&loops.program));
    let note = |check: BoundsCheck| Note::CheckedCoordinate {
        at: check.site.at,
        subscript: check.site.subscript.clone(),
        access: check.site.access.clone(),
    };
    checks.map(note).collect()
}

/// Returns notes on the tensors of a plan that are dense without a requested format, although they
/// have sparse operands.
fn dense_tensors(compiled: &CompiledPlan, stages: &[Stage]) -> Vec<Note> {
    let mut notes = Vec::new();
    for output in compiled.adaptive.report.decisions.iter().flat_map(|d| &d.outputs) {
        let elements = elements(&output.ty);
        if elements <= 1 || !is_dense(&output.ty) || has_requested_format(compiled, &output.alias) {
            continue;
        }
        let sparse_operands = sparse_operands(compiled, stages, &output.alias, elements);
        if !sparse_operands.is_empty() {
            notes.push(Note::DenseStorage {
                tensor: output.alias.clone(),
                is_result: compiled.adaptive.physical.produces.contains(&output.alias),
                elements,
                expected_nonfill: output.stored(),
                fill: output.ty.fill.clone(),
                sparse_operands,
            });
        }
    }
    notes
}

/// Returns the sparse inputs of the plan among the operands of a tensor with `max_elements`
/// elements. Inputs with more elements are ignored: dense row sums of a sparse matrix are no
/// surprise.
fn sparse_operands(compiled: &CompiledPlan, stages: &[Stage], alias: &Alias, max_elements: u64) -> Vec<Alias> {
    let reads: Vec<Alias> = match compiled.plan.queries.iter().find(|q| q.alias == *alias) {
        Some(query) => query.expr.tables(),
        None => stages.iter().filter(|s| s.writes.contains(alias)).flat_map(|s| s.reads.clone()).collect(),
    };
    let sparse = |ty: &Arc<TensorType>| !is_dense(ty) && elements(ty) <= max_elements;
    let inputs = compiled.adaptive.physical.inputs.iter();
    inputs.filter(|(name, ty)| sparse(ty) && reads.contains(name)).map(|(name, _)| name.clone()).collect()
}

/// Adds notes on the built-in operators of an expression whose results on fill values differ
/// between the float modes, other than in the sign of zero. Returns whether the expression reads
/// sparse tensors; only then does it compute with fill values.
fn float_mode_differences(
    query: &Alias,
    expr: &Expr,
    visited: &mut HashMap<usize, bool>,
    notes: &mut Vec<Note>,
) -> bool {
    if let Some(sparse) = visited.get(&expr.address()) {
        return *sparse;
    }
    let mut sparse = matches!(expr.node(), Node::Table { ty, .. } if !is_dense(ty));
    for arg in expr.node().args() {
        sparse |= float_mode_differences(query, arg, visited, notes);
    }
    visited.insert(expr.address(), sparse);
    let Node::MapJoin { op: op @ Op::Builtin(_), args } = expr.node() else { return sparse };
    let fills: Vec<Scalar> = args.iter().map(|arg| arg.info().fill.clone()).collect();
    let dtypes: Vec<DType> = fills.iter().map(Scalar::dtype).collect();
    if let (true, Ok(signature)) = (sparse, op.signature(&dtypes)) {
        let fills: Vec<Scalar> = fills.iter().zip(&signature.args).map(|(fill, to)| cast_to(fill, to)).collect();
        let of = |mode| op.eval_in(&fills, mode).ok();
        if let (Some(value), Some(strict)) = (of(FloatMode::Relaxed), of(FloatMode::StrictIeee))
            && value != strict
            && !(value.to_f64() == Some(0.0) && strict.to_f64() == Some(0.0))
        {
            let note = Note::FloatModeDifference { query: query.clone(), op: op.clone(), fills, value, strict };
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    sparse
}

fn is_dense(ty: &Arc<TensorType>) -> bool {
    ty.format.levels.iter().all(|l| l.kind.traits().full)
}

fn elements(ty: &TensorType) -> u64 {
    ty.shape.iter().fold(1, |n, size| n.saturating_mul(*size))
}
