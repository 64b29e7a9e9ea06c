//! Constants of a launch: values of expressions that the parameters and the chunk determine.

use redpoll_compiler::assembly::{BinaryOp, Expr, Function, Local, Stmt};
use redpoll_logic::Scalar;
use std::collections::HashMap;
use std::ops::Range;

/// Maximum length of a chain of locals, each defined by an expression with the next local.
const MAX_DEPTH: u32 = 8;

/// The constants of a function: the values of its parameters, the locals assigned once, and the
/// bounds of the chunk.
pub(super) struct Constants<'f> {
    params: Vec<Option<i64>>,
    definitions: HashMap<Local, &'f Expr>,
    chunk: (Local, Local),
}

impl<'f> Constants<'f> {
    /// Collects the constants of a function, given the values of those parameters that are known.
    pub(super) fn of(function: &'f Function, params: Vec<Option<i64>>) -> Constants<'f> {
        Constants { params, definitions: definitions(&function.body), chunk: function.chunk }
    }

    /// Returns the value of an expression in the chunk of the rounds `chunk`. If `chunk` is `None`,
    /// returns the value that the expression has in every chunk. Evaluates integers, parameters,
    /// the bounds of the chunk, locals assigned once, sums, differences, products, minima and
    /// maxima; arithmetic saturates. Returns `None` if the expression has other parts, needs an
    /// unknown value, or has a chain of more than [`MAX_DEPTH`] locals.
    pub(super) fn value(&self, e: &Expr, chunk: Option<&Range<i64>>) -> Option<i64> {
        self.resolve(e, chunk, 0)
    }

    fn resolve(&self, e: &Expr, chunk: Option<&Range<i64>>, depth: u32) -> Option<i64> {
        Some(match e {
            Expr::Const(Scalar::I64(value)) => *value,
            Expr::Param(param) => (*self.params.get(param.index())?)?,
            Expr::Local(local) if *local == self.chunk.0 => chunk?.start,
            Expr::Local(local) if *local == self.chunk.1 => chunk?.end,
            Expr::Local(local) if depth < MAX_DEPTH => self.resolve(self.definitions.get(local)?, chunk, depth + 1)?,
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.resolve(a, chunk, depth)?, self.resolve(b, chunk, depth)?);
                match op {
                    BinaryOp::Add => a.saturating_add(b),
                    BinaryOp::Sub => a.saturating_sub(b),
                    BinaryOp::Mul => a.saturating_mul(b),
                    BinaryOp::Min => a.min(b),
                    BinaryOp::Max => a.max(b),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}

/// Returns the locals that statements assign exactly once, by a plain assignment, with the assigned
/// expressions.
pub(super) fn definitions(body: &[Stmt]) -> HashMap<Local, &Expr> {
    let (mut definitions, mut times) = (HashMap::new(), HashMap::<Local, u32>::new());
    for stmt in body {
        stmt.for_each_assigned(&mut |local| *times.entry(local).or_default() += 1);
        note_definitions(stmt, &mut definitions);
    }
    definitions.retain(|local, _| times[local] == 1);
    definitions
}

fn note_definitions<'a>(stmt: &'a Stmt, definitions: &mut HashMap<Local, &'a Expr>) {
    if let Stmt::Assign(local, value) = stmt {
        definitions.insert(*local, value);
    }
    stmt.bodies().into_iter().flatten().for_each(|s| note_definitions(s, definitions));
}
