//! Expansions of operators as functions, for tests that run them.

use super::{Laws, expand, expand_in, expand_repeat};
use crate::assembly::{Buffer, BufferClass, BufferDecl, BufferRole, Expr, Function, Local, LocalDecl, Stmt};
use crate::lower::guards::ArgumentFacts;
use crate::lower::value::{LoweredValue, StmtSink};
use redpoll_logic::op::{Op, RepeatMethod};
use redpoll_logic::{DType, Prim, Scalar, Special};

/// A form in which lowering expands an operator.
#[derive(Clone, Copy, Debug)]
pub enum OperatorForm<'a> {
    /// The laws of IEEE 754.
    Strict(&'a Op),
    /// The laws of the default mode, for arguments with these special values.
    Relaxed(&'a Op, Special),
    /// The laws of IEEE 754, for one argument and a constant.
    WithConstant(&'a Op, &'a Scalar),
    /// The fold of equal values: the first argument is the value, the second one the number of
    /// values.
    Repeated(&'a Op, RepeatMethod),
}

/// The function `for i in chunk { out[i] = op(in[i], ..) }`.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// The function.
    pub function: Function,
    /// The buffers of the results, one for each primitive of the dtype.
    pub outputs: Vec<Buffer>,
    /// The dtype of the results.
    pub dtype: DType,
}

impl Expansion {
    /// Expands an operator on arguments of these dtypes, for `rows` tuples of arguments.
    pub fn of(form: OperatorForm<'_>, args: &[DType], rows: usize) -> Expansion {
        let mut builder = FunctionBuilder::new();
        let mut values = vec![];
        for dtype in args {
            let columns = builder.buffers(dtype, BufferRole::Input);
            let load = |b: &Buffer| Expr::Load { buffer: *b, at: Box::new(INDEX) };
            values.push(LoweredValue { dtype: dtype.clone(), parts: columns.iter().map(load).collect() });
        }
        let facts = |special| vec![ArgumentFacts { special, constant: None }; args.len()];
        let result = match form {
            OperatorForm::Strict(op) => expand(&mut builder, op, &values),
            OperatorForm::Relaxed(op, special) => expand_in(&mut builder, op, &values, Laws::Default(&facts(special))),
            OperatorForm::WithConstant(op, constant) => {
                expand(&mut builder, op, &[values[0].clone(), LoweredValue::constant(constant)])
            }
            OperatorForm::Repeated(op, repeat) => {
                let count = [values[1].single().clone()];
                expand_repeat(&mut builder, (op, repeat), &values[0], &count, Laws::Default(&facts(Special::ALL)))
            }
        };
        let outputs = builder.buffers(&result.dtype, BufferRole::Owned);
        for (buffer, part) in outputs.iter().zip(&result.parts) {
            builder.out.push(Stmt::store(*buffer, INDEX, part.clone()));
        }
        let mut function = builder.function;
        let len = Expr::Const(Scalar::I64(rows as i64));
        function.body = outputs.iter().map(|b| Stmt::Grow { buffer: *b, len: len.clone() }).collect();
        let (lo, hi) = (Expr::Local(Local(0)), Expr::Local(Local(1)));
        function.body.push(Stmt::For { var: Local(2), lo, hi, body: builder.out });
        Expansion { function, outputs, dtype: result.dtype }
    }
}

/// A function under construction: `for i in chunk { store(expand(load(i)..)) }`.
struct FunctionBuilder {
    function: Function,
    out: Vec<Stmt>,
}

impl StmtSink for FunctionBuilder {
    fn local(&mut self, name: &str, prim: Prim) -> Local {
        self.function.locals.push(LocalDecl { name: name.to_owned(), prim });
        Local(self.function.locals.len() as u32 - 1)
    }

    fn push(&mut self, stmt: Stmt) {
        self.out.push(stmt);
    }
}

impl FunctionBuilder {
    fn new() -> FunctionBuilder {
        let function = Function {
            name: "f".to_owned(),
            buffers: vec![],
            params: vec![],
            locals: vec![],
            chunk: (Local(0), Local(1)),
            body: vec![],
        };
        let mut builder = FunctionBuilder { function, out: vec![] };
        for name in ["lo", "hi", "i"] {
            builder.local(name, Prim::I64);
        }
        builder
    }

    fn buffers(&mut self, dtype: &DType, role: BufferRole) -> Vec<Buffer> {
        let first = self.function.buffers.len() as u32;
        for prim in dtype.prims() {
            let fill = Scalar::zero(prim);
            let name = format!("b{}", self.function.buffers.len());
            self.function.buffers.push(BufferDecl { name, prim, class: BufferClass::Value, role, fill });
        }
        (first..self.function.buffers.len() as u32).map(Buffer).collect()
    }
}

const INDEX: Expr = Expr::Local(Local(2));
