//! Programs through lowering, the interpreter of Assembly and Cranelift, against the interpreter of Notation.

use crate::kernel::{Engine, Kernel};
use crate::notation::*;
use crate::run::Limits;
use crate::storage::{Tensor, Values};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::physical::Protocol;
use redpoll_logic::{DType, FloatMode, Format, Scalar, TensorType};
use std::sync::Arc;

fn ty(shape: &[u64], format: Format) -> Arc<TensorType> {
    Arc::new(TensorType { shape: shape.to_vec(), dtype: DType::F64, fill: Scalar::F64(0.0), format })
}

fn sub(i: u32) -> Subscript {
    Subscript { at: Expr::Index(Index(i)), protocol: Protocol::Walk, outside: None }
}

fn acc(t: u32, subs: &[u32]) -> Access {
    Access { tensor: TensorId(t), subscripts: subs.iter().map(|i| sub(*i)).collect() }
}

fn looped(i: u32, n: u64, body: Stmt) -> Stmt {
    let extent = Some((Expr::Literal(Scalar::I64(0)), Expr::Literal(Scalar::I64(n as i64))));
    Stmt::For { index: Index(i), extent, schedule: Schedule::Sequential, body: Box::new(body) }
}

#[test]
fn spmv() {
    let mut a = Format::csr();
    a.levels[1].unique = true;
    let program = Program {
        tensors: vec![
            TensorDecl { name: "A".into(), ty: ty(&[4, 5], a), role: Role::Input },
            TensorDecl { name: "x".into(), ty: ty(&[5], Format::dense(1)), role: Role::Input },
            TensorDecl { name: "y".into(), ty: ty(&[4], Format::dense(1)), role: Role::Output },
        ],
        indices: vec!["i".into(), "j".into()],
        vars: vec![],
        body: Stmt::Block(vec![
            Stmt::Declare(TensorId(2)),
            looped(
                0,
                4,
                looped(
                    1,
                    5,
                    Stmt::Assign {
                        lhs: acc(2, &[0]),
                        write: Write::Fold(Op::Builtin(Builtin::Add)),
                        rhs: Expr::Call(
                            Op::Builtin(Builtin::Mul),
                            vec![Expr::Access(acc(0, &[0, 1])), Expr::Access(acc(1, &[1]))],
                        ),
                    },
                ),
            ),
            Stmt::Freeze(TensorId(2)),
        ]),
    };
    let program = Arc::new(program);
    let dense = |shape: &[u64], f: Format, v: Vec<f64>| {
        let v: Vec<Scalar> = v.into_iter().map(Scalar::F64).collect();
        Tensor::from_dense(ty(shape, f), &Values::from_scalars(DType::F64, &v).unwrap()).unwrap()
    };
    let mut v = vec![0.0; 20];
    v[1] = 2.0;
    v[4] = 3.0;
    v[12] = 4.0;
    let a = dense(&[4, 5], Format::csr(), v);
    let x = dense(&[5], Format::dense(1), vec![1.0, 2.0, 3.0, 4.0, 5.0]);
    for engine in [Engine::Interpreter, Engine::Instant] {
        let kernel = Kernel::new(&program, &[], FloatMode::Relaxed, engine).unwrap();
        let out = kernel.run(&[&a, &x], &Limits::default()).unwrap();
        assert_eq!(out.outputs[0].to_dense_scalars().unwrap(), [19.0, 0.0, 12.0, 0.0].map(Scalar::F64));
    }
}
