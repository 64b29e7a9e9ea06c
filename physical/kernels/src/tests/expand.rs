//! Tests of the expansion of operators, with edge values of every primitive and of two structs. The
//! interpreter of Assembly and machine code run the expansion. Both give the results that
//! `Op::eval` defines, bit for bit, and the same faults. In the default mode, both give the results
//! that `Op::eval_in` defines, unless the arguments were promised to be finite and a result, or an
//! intermediate result, overflows.

use crate::cranelift::{self, Effort};
use crate::run::{Invocation, Limits};
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::{Counts, Interpreter, Status};
use redpoll_compiler::testing::{Expansion, OperatorForm};
use redpoll_logic::op::{Arity, Body, Builtin, Fault, Op, UserOp, While, eval_repeat, pair_type};
use redpoll_logic::{DType, FloatMode, Prim, Scalar, Special};

/// Runs the expansion of an operator on each tuple of `rows`, whose values have the dtypes `args`.
/// Returns each result, or the status of the fault.
fn run(args: &[DType], rows: &[Vec<Scalar>], form: OperatorForm<'_>) -> Vec<Result<Scalar, Status>> {
    let columns = args.iter().enumerate().flat_map(|(k, dtype)| {
        let part =
            move |(part, prim): (usize, Prim)| column(prim, rows.iter().map(|row| row[k].flatten()[part].clone()));
        dtype.prims().into_iter().enumerate().map(part)
    });
    let inputs: Vec<ArrowBuffer> = columns.collect();
    let Expansion { function, outputs, dtype } = Expansion::of(form, args, rows.len());
    let program =
        Interpreter::new(&function).unwrap_or_else(|e| panic!("{e}\n{function:#?}")).with_iteration_limit(1 << 20);
    let kernel = cranelift::compile(&function, Effort::Full).unwrap();
    let invocation = || Invocation::new(program.signature(), inputs.clone(), vec![], Limits::default()).unwrap();
    let (mut on, mut machine) = (invocation(), invocation());
    let row = |k: usize| {
        let chunk = k as i64..k as i64 + 1;
        let status = program.run(&mut on, chunk.clone(), &mut Counts::default()).unwrap();
        // SAFETY: the interpreter has just run the same function on the same buffers within their
        // bounds.
        let compiled = unsafe { kernel.call(&mut machine, chunk) }.unwrap();
        assert_eq!(compiled, status, "row {k} of {function:#?}");
        for b in &outputs {
            assert_eq!(machine.element(*b, k), on.element(*b, k), "row {k} of {function:#?}");
        }
        if status != Status::Done {
            return Err(status);
        }
        let mut parts = outputs.iter().map(|b| on.element(*b, k).unwrap());
        Ok(Scalar::unflatten(&dtype, &mut parts).unwrap())
    };
    (0..rows.len()).map(row).collect()
}

fn column(prim: Prim, values: impl Iterator<Item = Scalar>) -> ArrowBuffer {
    let bytes = values.flat_map(|v| v.to_bits().unwrap().to_le_bytes()[..prim.bytes()].to_vec());
    ArrowBuffer::from(bytes.collect::<Vec<u8>>())
}

fn samples(dtype: &DType) -> Vec<Scalar> {
    let DType::Prim(p) = dtype else {
        let DType::Struct(ty) = dtype else { unreachable!("a dtype is a primitive or a struct") };
        let parts: Vec<Vec<Scalar>> = ty.members.iter().map(|(_, t)| samples(t)).collect();
        let some = |k: usize| parts[k].iter().step_by(2 + k);
        let pair = |v: &Scalar, c: &Scalar| Scalar::Struct(ty.clone(), [v.clone(), c.clone()].into());
        return some(0).flat_map(|v| some(1).map(move |c| pair(v, c))).collect();
    };
    let nan = f64::NAN;
    let floats = [
        nan,
        -0.0,
        0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.0,
        -1.0,
        0.5,
        -2.5,
        3.5,
        7.0,
        -3.0,
        1e-320,
        1e-40,
        1e300,
        3e38,
        0.3,
        -7.25,
        171.5,
        4294967296.5,
    ];
    match p {
        Prim::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        Prim::F32 | Prim::F64 => floats.iter().filter_map(|v| Scalar::F64(*v).cast(*p)).collect(),
        _ => {
            let top = p.bits() - 1;
            let bits = [
                0,
                1,
                2,
                3,
                7,
                u64::from(p.bits()) - 1,
                u64::from(p.bits()),
                1 << (top / 2),
                (1 << top) - 1,
                1 << top,
                (1 << top) + 1,
            ];
            bits.iter().flat_map(|b| [*b, !b]).map(|b| Scalar::from_bits(*p, b)).collect()
        }
    }
}

fn rows(args: &[DType]) -> Vec<Vec<Scalar>> {
    args.iter().fold(vec![vec![]], |rows, dtype| {
        let samples = samples(dtype);
        rows.iter()
            .flat_map(|row: &Vec<Scalar>| samples.iter().map(move |s| row.iter().cloned().chain([s.clone()]).collect()))
            .collect()
    })
}

/// Converts a result of `Op::eval` or `Op::eval_in` to the form in which machine code reports it.
fn expected(result: Result<Scalar, Fault>) -> Result<Scalar, Status> {
    result.map_err(|fault| match fault {
        Fault::Overflow { .. } => Status::CheckedOverflow,
        other => panic!("an operator of the tests does not end: {other}"),
    })
}

fn check(op: &Op, args: &[DType]) {
    let rows = rows(args);
    let found = run(args, &rows, OperatorForm::Strict(op));
    for (row, found) in rows.iter().zip(found) {
        assert_eq!(found, expected(op.eval(row)), "{op} of {row:?}");
    }
    if args.iter().flat_map(DType::prims).any(Prim::is_float) {
        let found = run(args, &rows, OperatorForm::Relaxed(op, Special::ALL));
        for (row, found) in rows.iter().zip(found) {
            let defined = expected(op.eval_in(row, FloatMode::Relaxed));
            assert_eq!(found, defined, "{op} of {row:?} in the default mode");
        }
        let regular = |row: &&Vec<Scalar>| row.iter().all(|v| Special::of_scalar(v) == Special::NONE);
        let rows: Vec<Vec<Scalar>> = rows.iter().filter(regular).cloned().collect();
        let found = run(args, &rows, OperatorForm::Relaxed(op, Special::NONE));
        for (row, found) in rows.iter().zip(found) {
            let defined = expected(op.eval_in(row, FloatMode::Relaxed));
            // More than two arguments may also overflow in an intermediate result.
            let overflows = row.len() > 2 || defined.as_ref().is_ok_and(|v| Special::of_scalar(v) != Special::NONE);
            assert!(overflows || found == defined, "{op} of {row:?}, which are finite: {found:?}");
        }
    }
}

fn dtypes() -> Vec<DType> {
    Prim::ALL.into_iter().map(DType::Prim).chain([pair_type(Prim::I8), pair_type(Prim::F32)]).collect()
}

#[test]
fn one_and_two_arguments() {
    let mut checked = 0;
    for b in Builtin::ALL {
        let op = Op::Builtin(*b);
        let singles = dtypes().into_iter().map(|t| vec![t]);
        let doubles = dtypes().into_iter().flat_map(|t| dtypes().into_iter().map(move |u| vec![t.clone(), u]));
        for args in singles.chain(doubles) {
            // Only the dtypes of signatures are checked; other arguments are cast to these.
            if !op.signature(&args).is_ok_and(|s| s.args == args) {
                continue;
            }
            check(&op, &args);
            checked += 1;
        }
    }
    assert!(checked > 500, "{checked} combinations");
}

#[test]
fn three_arguments_and_casts() {
    let op = |name| Op::from_name(name).unwrap();
    for dtype in [DType::Prim(Prim::I8), DType::F64, DType::BOOL] {
        for name in ["+", "*", "min", "xor", "choose", "coalesce", "add-sat", "mul-checked"] {
            let args = vec![dtype.clone(); 3];
            if op(name).signature(&args).is_ok_and(|s| s.args == args) {
                check(&op(name), &args);
            }
        }
        check(&op("ifelse"), &[DType::BOOL, dtype.clone(), dtype]);
    }
    let pair = pair_type(Prim::F32);
    check(&op("ifelse"), &[DType::BOOL, pair.clone(), pair]);

    let mixed = [DType::Prim(Prim::U8), DType::Prim(Prim::I8), DType::Prim(Prim::F32)];
    let rows = rows(&mixed);
    for name in ["+", "max", "and"] {
        let found = run(&mixed, &rows, OperatorForm::Strict(&op(name)));
        for (row, found) in rows.iter().zip(found) {
            assert_eq!(Ok(found.unwrap()), op(name).apply(row), "{name} of {row:?}");
        }
    }
}

#[test]
fn constant_arguments() {
    for b in Builtin::ALL.iter().filter(|b| b.arity() != Arity::Exact(1) && **b != Builtin::IfElse) {
        let op = Op::Builtin(*b);
        for first in [DType::Prim(Prim::I16), DType::Prim(Prim::U8), DType::Prim(Prim::F32), pair_type(Prim::F32)] {
            for second in [first.clone(), DType::I64] {
                let args = [first.clone(), second.clone()];
                if !op.signature(&args).is_ok_and(|s| s.args == args) {
                    continue;
                }
                for constant in samples(&second) {
                    let rows: Vec<Vec<Scalar>> = samples(&first).into_iter().map(|v| vec![v]).collect();
                    let found = run(&args[..1], &rows, OperatorForm::WithConstant(&op, &constant));
                    for (row, found) in rows.iter().zip(found) {
                        let args = [row[0].clone(), constant.clone()];
                        assert_eq!(found, expected(op.eval(&args)), "{op} of {args:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn repeats() {
    let gcd = Op::from(gcd());
    let ops = Builtin::ALL.iter().map(|b| Op::Builtin(*b)).chain([gcd]);
    for op in ops {
        for dtype in dtypes() {
            let Some(repeat) = op.repeat_method(&dtype, FloatMode::Relaxed) else { continue };
            if !op.signature(&[dtype.clone(), dtype.clone()]).is_ok_and(|s| s.args[0] == dtype && s.result == dtype) {
                continue;
            }
            let args = [dtype.clone(), DType::I64];
            let counts = [1i64, 2, 3, 4, 7, 8, 100, 1 << 40].map(Scalar::I64);
            let values = samples(&dtype);
            let rows: Vec<Vec<Scalar>> =
                values.iter().flat_map(|x| counts.iter().map(|n| vec![x.clone(), n.clone()])).collect();
            let found = run(&args, &rows, OperatorForm::Repeated(&op, repeat));
            for (row, found) in rows.iter().zip(found) {
                let n = row[1].to_bits().unwrap();
                let defined = eval_repeat(&op, &row[0], n, FloatMode::Relaxed).unwrap();
                assert_eq!(found, expected(defined), "{op} of {row:?}");
            }
        }
    }
}

fn loop_of(vars: &[(&str, Body)], cond: Body, steps: Vec<Body>, result: Body) -> Body {
    let vars = vars.iter().map(|(n, b)| ((*n).to_owned(), b.clone())).collect();
    Body::While(Box::new(While { vars, cond, steps, result }))
}

fn op(name: &str, params: &[DType], result: DType, body: &Body) -> UserOp {
    let params = params.iter().enumerate().map(|(k, t)| (format!("x{k}"), t.clone())).collect();
    UserOp::new(name, params, result, body).unwrap()
}

fn gcd() -> UserOp {
    let (a, b) = (Body::var("a"), Body::var("b"));
    let body = loop_of(
        &[("a", Body::call(Builtin::Abs, [Body::Arg(0)])), ("b", Body::call(Builtin::Abs, [Body::Arg(1)]))],
        Body::call(Builtin::Ne, [b.clone(), Body::lit(0i8)]),
        vec![b.clone(), Body::call(Builtin::Rem, [a.clone(), b])],
        a,
    );
    let declared = redpoll_logic::op::UserProperties { commutative: true, associative: true, ..Default::default() };
    op("gcd", &[DType::I64, DType::I64], DType::I64, &body).with_properties(declared).unwrap()
}

#[test]
fn user_defined_bodies() {
    let gcd = Op::from(gcd());
    check(&gcd, &[DType::I64, DType::I64]);
    let small = [DType::I64, DType::I64, DType::I64];
    let triples: Vec<Vec<Scalar>> =
        [[12i64, 18, 27], [0, 0, 5], [-4, 6, 0]].iter().map(|r| r.iter().map(|v| Scalar::I64(*v)).collect()).collect();
    let found = run(&small, &triples, OperatorForm::Strict(&gcd));
    let folded = [3i64, 5, 2].map(|v| Ok(Scalar::I64(v)));
    assert_eq!(found, folded, "an associative operator folds more arguments than it has parameters");

    // The condition of the inner loop needs statements, a branch contains a loop, the steps of a
    // loop swap two variables, and two loops have variables of the same name.
    let i64s = [DType::I64, DType::I64];
    let v = Body::var;
    let call = |b: Builtin, args: &[Body]| Body::call(b, args.iter().cloned());
    let lit = |n: i64| Body::lit(n);
    let inner = loop_of(
        &[("a", lit(1)), ("n", call(Builtin::BitAnd, &[Body::Arg(1), lit(7)]))],
        call(
            Builtin::And,
            &[
                call(Builtin::Lt, &[lit(0), v("n")]),
                call(Builtin::Ne, &[lit(1), call(Builtin::Pow, &[v("n"), Body::Arg(1)])]),
            ],
        ),
        vec![call(Builtin::Mul, &[v("a"), lit(3)]), call(Builtin::Sub, &[v("n"), lit(1)])],
        v("a"),
    );
    let swapped = loop_of(
        &[("a", Body::Arg(0)), ("b", Body::Arg(1)), ("k", lit(3))],
        v("k"),
        vec![v("b"), v("a"), call(Builtin::Sub, &[v("k"), lit(1)])],
        call(Builtin::Sub, &[v("a"), v("b")]),
    );
    let cond = call(Builtin::Lt, &[Body::Arg(0), Body::Arg(1)]);
    let branch = Body::If(Box::new(cond.clone()), Box::new(inner), Box::new(swapped));
    let pair = Body::Struct(vec![("u".to_owned(), branch.clone()), ("v".to_owned(), cond)]);
    let body = Body::Let(
        "p".to_owned(),
        Box::new(pair),
        Box::new(call(Builtin::Add, &[Body::Member(Box::new(v("p")), 0), Body::Member(Box::new(v("p")), 1)])),
    );
    check(&Op::from(op("knot", &i64s, DType::I64, &body)), &i64s);

    // Structs carried by a loop: each step reads both members.
    let fib = Body::Struct(vec![("x".to_owned(), lit(0)), ("y".to_owned(), lit(1))]);
    let member = |k| Body::Member(Box::new(v("f")), k);
    let next =
        Body::Struct(vec![("x".to_owned(), member(1)), ("y".to_owned(), call(Builtin::Add, &[member(0), member(1)]))]);
    let body = loop_of(
        &[("f", fib), ("n", call(Builtin::BitAnd, &[Body::Arg(0), lit(63)]))],
        call(Builtin::Gt, &[v("n"), lit(0)]),
        vec![next, call(Builtin::Sub, &[v("n"), lit(1)])],
        member(0),
    );
    check(&Op::from(op("fibonacci", &i64s[..1], DType::I64, &body)), &i64s[..1]);
    let alone = loop_of(
        &[("f", Body::Struct(vec![("x".to_owned(), Body::Arg(0)), ("y".to_owned(), lit(9))]))],
        call(Builtin::Gt, &[member(1), lit(0)]),
        vec![Body::Struct(vec![
            ("x".to_owned(), call(Builtin::Sub, &[member(1), lit(1)])),
            ("y".to_owned(), call(Builtin::Sub, &[member(1), call(Builtin::BitOr, &[member(0), lit(1)])])),
        ])],
        member(0),
    );
    let bounded = call(Builtin::BitAnd, &[Body::Arg(0), lit(3)]);
    let body = Body::Let("z".to_owned(), Box::new(bounded), Box::new(alone));
    check(&Op::from(op("struct-loop", &i64s[..1], DType::I64, &body)), &i64s[..1]);

    // Inner variables hide an outer variable of the same name, which is visible again after them.
    let hidden = Body::Let(
        "a".to_owned(),
        Box::new(call(Builtin::Add, &[v("a"), lit(1)])),
        Box::new(call(Builtin::Mul, &[v("a"), lit(3)])),
    );
    let counted = loop_of(
        &[("a", call(Builtin::BitAnd, &[v("a"), lit(7)]))],
        call(Builtin::Gt, &[v("a"), lit(0)]),
        vec![call(Builtin::Sub, &[v("a"), lit(1)])],
        call(Builtin::Sub, &[v("a"), lit(5)]),
    );
    let inner = call(Builtin::Add, &[hidden, counted]);
    let rest = call(Builtin::Sub, &[inner, v("a")]);
    let body = Body::Let("a".to_owned(), Box::new(Body::Arg(0)), Box::new(rest));
    check(&Op::from(op("hiding", &i64s[..1], DType::I64, &body)), &i64s[..1]);

    // A checked operator in a branch that is not taken does not fault.
    let guarded = Body::If(
        Box::new(call(Builtin::Lt, &[Body::Arg(0), lit(100)])),
        Box::new(call(Builtin::AddChecked, &[Body::Arg(0), lit(1)])),
        Box::new(Body::Arg(0)),
    );
    check(&Op::from(op("guarded", &i64s[..1], DType::I64, &guarded)), &i64s[..1]);
}
