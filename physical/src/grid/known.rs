//! Values of expressions that are constant before a launch.

use crate::assembly::{BinaryOp, Expr, Function, Local, Stmt};
use redpoll_logic::Scalar;
use std::collections::HashMap;
use std::ops::Range;

/// Maximum depth to which locals are resolved through other locals.
const MOST_NAMES: u32 = 8;

/// The constants of a function: the values of its parameters, the locals assigned once, and the
/// bounds of the chunk.
pub(super) struct Known<'f> {
    params: Vec<Option<i64>>,
    names: HashMap<Local, &'f Expr>,
    bounds: (Local, Local),
}

impl<'f> Known<'f> {
    /// Collects the constants of a function, given the values of its parameters as far as
    /// available.
    pub(super) fn of(function: &'f Function, params: Vec<Option<i64>>) -> Known<'f> {
        Known { params, names: names(&function.body), bounds: function.chunk }
    }

    /// Returns the constant value of an expression over the rounds in `chunk`, or, if `chunk` is
    /// `None`, its value if it is the same for every chunk. Arithmetic saturates.
    pub(super) fn value(&self, e: &Expr, chunk: Option<&Range<i64>>) -> Option<i64> {
        self.through(e, chunk, 0)
    }

    fn through(&self, e: &Expr, chunk: Option<&Range<i64>>, names: u32) -> Option<i64> {
        Some(match e {
            Expr::Const(Scalar::I64(value)) => *value,
            Expr::Param(param) => (*self.params.get(param.index())?)?,
            Expr::Local(local) if *local == self.bounds.0 => chunk?.start,
            Expr::Local(local) if *local == self.bounds.1 => chunk?.end,
            Expr::Local(local) if names < MOST_NAMES => self.through(self.names.get(local)?, chunk, names + 1)?,
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.through(a, chunk, names)?, self.through(b, chunk, names)?);
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

/// Returns the locals that statements assign exactly once, with the assigned expressions.
pub(super) fn names(body: &[Stmt]) -> HashMap<Local, &Expr> {
    let (mut names, mut times) = (HashMap::new(), HashMap::<Local, u32>::new());
    for stmt in body {
        stmt.for_each_assigned(&mut |local| *times.entry(local).or_default() += 1);
        note_names(stmt, &mut names);
    }
    names.retain(|local, _| times[local] == 1);
    names
}

fn note_names<'a>(stmt: &'a Stmt, names: &mut HashMap<Local, &'a Expr>) {
    if let Stmt::Assign(local, value) = stmt {
        names.insert(*local, value);
    }
    stmt.bodies().into_iter().flatten().for_each(|s| note_names(s, names));
}
