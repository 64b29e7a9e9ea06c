//! Tests of coordinates out of bounds: the interpreters and the tiers end a run with the same
//! error, and accept coordinates in bounds.

use super::{Rng, check, formats, tensor};
use crate::launch::grid_interpreter;
use redpoll_compiler::lower::{Draft, InputLayout, LoweringOptions, lower};
use redpoll_compiler::notation::{
    Bounds, DenseValues, Expr, Program, Role, Stmt, bounds_checks, dense_values, normalize, parse, run, value_index,
};
use redpoll_kernels::Error;
use redpoll_kernels::backend::{self, Backend, OptimizingBackend};
use redpoll_kernels::c::Toolchain;
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::{Limits, Workers};
use redpoll_logic::{FloatMode, Scalar, TensorType};
use redpoll_storage::Tensor;
use std::collections::HashMap;
use std::num::NonZero;
use std::sync::{Arc, LazyLock};

/// Two threads that accept chunks of any size.
static PAIR: LazyLock<Arc<Workers>> =
    LazyLock::new(|| Arc::new(Workers::new(NonZero::new(2).unwrap()).without_grain()));

/// Values of inputs by name; the values of other inputs are 1, 2, 3 and so on.
type NamedInputs<'a> = &'a [(&'a str, &'a [i64])];

fn inputs(program: &Program, values: NamedInputs<'_>) -> HashMap<String, DenseValues> {
    let mut all = HashMap::new();
    for decl in program.tensors.iter().filter(|t| t.role == Role::Input) {
        let given = values.iter().find(|(name, _)| *name == decl.name).map(|(_, v)| *v);
        let prim = decl.ty.dtype.prim().expect("inputs are primitives");
        let row_major = |at: &[u64]| at.iter().zip(&decl.ty.shape).fold(0, |index, (i, n)| index * n + i);
        let value = |at: &[u64]| {
            let index = row_major(at) as usize;
            let value = given.map_or(index as i64 + 1, |given| given[index]);
            Scalar::I64(value).cast(prim).expect("a primitive")
        };
        let mut contents = dense_values(&decl.ty, &mut |_| decl.ty.fill.clone());
        let count: u64 = decl.ty.shape.iter().product();
        for k in 0..count {
            let mut rest = k;
            let mut at: Vec<u64> = decl.ty.shape.iter().rev().map(|n| (rest % n, rest /= n).0).collect();
            at.reverse();
            contents[value_index(&decl.ty, &at)] = value(&at);
        }
        all.insert(decl.name.clone(), contents);
    }
    all
}

/// Returns the outcomes of the interpreter of Notation, and of three backends on one thread and on
/// two. An outcome is success or an error.
fn outcomes(program: &Program, inputs: &HashMap<String, DenseValues>) -> Vec<(String, Result<(), Error>)> {
    let program = Arc::new(normalize(program.clone()).unwrap());
    let tensors: Vec<Tensor> =
        program.tensors.iter().filter(|t| t.role == Role::Input).map(|t| tensor(&t.ty, &inputs[&t.name])).collect();
    let tensors: Vec<&Tensor> = tensors.iter().collect();
    let draft = Draft::new(&program, &InputLayout::of_inputs(&program, &tensors), FloatMode::default());
    let mut results = vec![("notation".to_owned(), run(&program, inputs).map(drop).map_err(Error::from))];
    let alone = Limits::default();
    let pair = Limits::default().with_workers(&PAIR);
    let mut kernels = vec![];
    for backend in [&backend::interpreter(), &backend::instant(), &grid_interpreter()] {
        kernels.push((format!("{backend:?}"), Kernel::compile(&draft, backend).unwrap()));
    }
    for (name, kernel) in &kernels {
        for (threads, limits) in [(1, &alone), (2, &pair)] {
            results.push((format!("{name}, {threads} threads"), kernel.run(&tensors, limits).map(drop)));
        }
    }
    results
}

/// Calls `each` for several choices of formats of inputs and outputs: the declared ones first, then
/// random ones.
fn in_formats(text: &str, cases: usize, mut each: impl FnMut(&Program)) {
    let parsed = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut rng = Rng(text.len() as u64);
    for case in 0..cases {
        let mut program = parsed.clone();
        for decl in program.tensors.iter_mut().filter(|_| case > 0) {
            let all = formats(&decl.ty, decl.role);
            let format = all[rng.below(all.len())].clone();
            decl.ty = Arc::new(TensorType { format, ..(*decl.ty).clone() });
        }
        each(&program);
    }
}

/// Checks that all runs of [`outcomes`] report this subscript as out of bounds, in several choices
/// of formats.
fn check_violation(text: &str, values: NamedInputs<'_>, (subscript, mode, coordinate): (&str, usize, i64)) {
    in_formats(text, 5, |program| {
        let inputs = inputs(program, values);
        let mut first: Option<String> = None;
        for (runner, result) in outcomes(program, &inputs) {
            let Err(Error::OutOfBounds(error)) = result else {
                panic!("{runner} gives {result:?}\n{}", redpoll_compiler::notation::print(program));
            };
            assert_eq!(
                (error.site.subscript.as_str(), error.mode, error.coordinate),
                (subscript, mode, coordinate),
                "{runner}\n{text}"
            );
            assert_eq!(*first.get_or_insert(error.to_string()), error.to_string(), "{runner}");
            let line = text.lines().nth(error.site.at.line - 1).expect("the line is of the text");
            let rest: String = line.chars().skip(error.site.at.column - 1).collect();
            assert!(rest.starts_with(&error.site.access) || error.site.access == "s", "{rest}: {}", error.site.access);
        }
    });
}

/// Checks that all runs of [`outcomes`] succeed, in several choices of formats.
fn check_success(text: &str, values: NamedInputs<'_>) {
    in_formats(text, 5, |program| {
        let inputs = inputs(program, values);
        for (runner, result) in outcomes(program, &inputs) {
            assert!(result.is_ok(), "{runner} gives {result:?}\n{}", redpoll_compiler::notation::print(program));
        }
    });
}

const X: &str = "(input x (type (shape 5) f64 0.0 dense))";
const INDEX: &str = "(input I (type (shape 4) i64 0 dense))";
const A: &str = "(input A (type (shape 3 4) f64 0.0 (dense (dense (element)))))";
const S: &str = "(output s (type (shape) f64 0.0 (element)))";
const Y: &str = "(output y (type (shape 3) f64 0.0 (hash (element))))";
const B: &str = "(output B (type (shape 3 4) f64 0.0 dense))";

#[test]
fn reads_by_constants_out_of_bounds() {
    check_violation(&format!("(program {X} {S} (for i (range 0 2) (+= s (x -1))))"), &[], ("-1", 0, -1));
    check_violation(&format!("(program {X} {S} (+= s (x 5)))"), &[], ("5", 0, 5));
    check_violation(&format!("(program {A} {S} (for i (+= s (A i 7))))"), &[], ("7", 1, 7));
    check_violation(&format!("(program {A} {S} (for j (+= s (A 3 j))))"), &[], ("3", 0, 3));
}

#[test]
fn writes_by_constants_out_of_bounds() {
    check_violation(&format!("(program {X} {Y} (for i (+= (y 3) (x i))))"), &[], ("3", 0, 3));
    check_violation(&format!("(program {X} {Y} (= (y -4000000000) 1))"), &[], ("-4000000000", 0, -4_000_000_000));
    check_violation(&format!("(program {A} {B} (for i (for j (range 0 1) (= (B i 7) (A i j)))))"), &[], ("7", 1, 7));
    check_violation(&format!("(program {A} {B} (for j (= (B 3 j) (A 0 j))))"), &[], ("3", 0, 3));
}

#[test]
fn gathers_and_scatters_out_of_bounds() {
    let far: NamedInputs<'_> = &[("I", &[0, 2, 3_000_000_000, 1])];
    let negative: NamedInputs<'_> = &[("I", &[0, 2, 1, -1])];
    for (values, at) in [(far, 3_000_000_000), (negative, -1)] {
        check_violation(&format!("(program {X} {INDEX} {S} (for i (+= s (x (I i)))))"), values, ("(I i)", 0, at));
        check_violation(&format!("(program {INDEX} {Y} (for i (+= (y (I i)) 1)))"), values, ("(I i)", 0, at));
        check_violation(
            &format!("(program {A} {INDEX} {S} (for i (for j (+= s (A (I i) j)))))"),
            values,
            ("(I i)", 0, at),
        );
        check_violation(&format!("(program {A} {INDEX} {S} (for i (+= s (A 1 (I i)))))"), values, ("(I i)", 1, at));
        check_violation(
            &format!("(program {INDEX} {B} (for i (for j (range 0 3) (= (B j (I i)) 1))))"),
            values,
            ("(I i)", 1, at),
        );
        check_violation(&format!("(program {INDEX} {B} (for i (for j (= (B (I i) j) 1))))"), values, ("(I i)", 0, at));
    }
    let large: NamedInputs<'_> = &[("I", &[0, 2, i64::MAX - 1, 1])];
    check_violation(&format!("(program {X} {INDEX} {S} (for i (+= s (x (I i)))))"), large, ("(I i)", 0, i64::MAX - 1));
    check_violation(
        &format!("(program {INDEX} {Y} (for i (+= (y (+ (I i) 2)) 1)))"),
        &[("I", &[0, i64::MAX - 1, 0, 0])],
        ("(+ (I i) 2)", 0, i64::MIN),
    );
}

#[test]
fn ranges_out_of_bounds() {
    let source = "(input source i64 0)";
    for at in [-1, 3, i64::MIN, i64::MAX - 1] {
        let values: NamedInputs<'_> = &[("source", &[at])];
        check_violation(
            &format!("(program {source} {Y} (for k (range source (+ source 1)) (= (y k) 1)))"),
            values,
            ("k", 0, at),
        );
        check_violation(&format!("(program {source} {Y} (= (y source) 1))"), values, ("source", 0, at));
    }
    let (lo, hi) = ("(input lo i64 0)", "(input hi i64 0)");
    let both = |lo: i64, hi: i64| [("lo", [lo]), ("hi", [hi])];
    for ((from, to), at) in [((-2, 1), -2), ((2, 9), 5), ((7, 9), 7), ((-9, -5), -9)] {
        let values = both(from, to);
        let values: Vec<(&str, &[i64])> = values.iter().map(|(n, v)| (*n, &v[..])).collect();
        check_violation(
            &format!("(program {lo} {hi} {X} {S} (for k (range lo hi) (+= s (x k))))"),
            &values,
            ("k", 0, at),
        );
        let y = "(output y (type (shape 5) f64 0.0 (sparse-list (element))))";
        check_violation(&format!("(program {lo} {hi} {y} (for k (range lo hi) (= (y k) 1)))"), &values, ("k", 0, at));
    }
    for (from, to) in [(0, 5), (1, 3), (4, 4), (9, 2), (-4, -4), (5, 5)] {
        let values = both(from, to);
        let values: Vec<(&str, &[i64])> = values.iter().map(|(n, v)| (*n, &v[..])).collect();
        check_success(&format!("(program {lo} {hi} {X} {S} (for k (range lo hi) (+= s (x k))))"), &values);
    }
}

#[test]
fn shifted_and_strided_coordinates_out_of_bounds() {
    let by = "(input by i64 0)";
    for (by_value, at) in [(3, 5), (-1, -1), (i64::MAX, i64::MAX), (i64::MIN, i64::MIN)] {
        let values: NamedInputs<'_> = &[("by", &[by_value])];
        check_violation(
            &format!("(program {X} {by} {S} (for i (range 0 3) (+= s (x (+ i by)))))"),
            values,
            ("(+ i by)", 0, at),
        );
    }
    check_success(&format!("(program {X} {by} {S} (for i (range 0 3) (+= s (x (+ i by)))))"), &[("by", &[2])]);
    check_violation(&format!("(program {X} {S} (for i (range 0 4) (+= s (x (* 2 i)))))"), &[], ("(* 2 i)", 0, 6));
    check_violation(
        &format!("(program {X} {S} (for i (range 0 4) (+= s (x (- 4 (* 2 i))))))"),
        &[],
        ("(- 4 (* 2 i))", 0, -2),
    );
}

#[test]
fn locals_out_of_bounds() {
    for level in ["dense", "hash", "bit-map", "byte-map"] {
        let w = format!("(local w (type (shape 3) f64 0.0 ({level} (element))))");
        let text = format!("(program {INDEX} {w} {S} (where (for j (+= s (w j))) (for i (+= (w (I i)) 1))))");
        check_violation(&text, &[("I", &[0, 2, 3, 1])], ("(I i)", 0, 3));
        check_success(&text, &[("I", &[0, 2, 2, 1])]);
        let text = format!("(program {INDEX} {w} {S} (where (for i (+= s (w (I i)))) (for j (+= (w j) 1))))");
        check_violation(&text, &[("I", &[0, 2, -5, 1])], ("(I i)", 0, -5));
    }
}

#[test]
fn unreached_coordinates_are_not_checked() {
    let k = "(input k i64 0)";
    let values: NamedInputs<'_> = &[("k", &[9])];
    check_success(&format!("(program {X} {k} {S} (if (lt k 5) (+= s (x k))))"), values);
    check_success(&format!("(program {X} {k} {S} (for i (range 3 3) (+= s (x k))))"), values);
    check_success(&format!("(program {X} {k} {S} (for i (if (gt (x i) 100) (+= s (x k)))))"), values);
    check_success(&format!("(program {A} {k} {S} (for i (for j (if (gt (A i j) 100) (+= s (A k j))))))"), values);
    check_violation(
        &format!("(program {A} {k} {S} (for i (for j (if (gt (A i j) 11) (+= s (A k j))))))"),
        values,
        ("k", 0, 9),
    );
    check_success(
        &format!("(program {X} {INDEX} {S} (for i (let v (I i) (if (and (ge v 0) (lt v 5)) (+= s (x v))))))"),
        &[("I", &[7, -1, 4, 0])],
    );
}

/// Returns the kind of [`Bounds`] of each subscript, statement by statement, reads before writes.
fn decided(text: &str) -> Vec<&'static str> {
    let program = normalize(parse(text).unwrap()).unwrap();
    let mut found = Vec::new();
    let mut note = |b: &Bounds| {
        found.push(match b {
            Bounds::Proved => "proved",
            Bounds::Guarded => "guarded",
            Bounds::Checked(_) => "checked",
        });
    };
    program.body.walk(&mut |s| {
        s.exprs().into_iter().flat_map(Expr::accesses).flat_map(|a| &a.subscripts).for_each(|s| note(&s.bounds));
        if let Stmt::Assign { lhs, .. } = s {
            lhs.subscripts.iter().for_each(|s| note(&s.bounds));
        }
    });
    found
}

#[test]
fn proved_bounds_cost_nothing() {
    let proved = [
        format!("(program {A} {B} (for i (for j (= (B i j) (A i j)))))"),
        format!(
            "(program {A} {S} (for i (range 0 2) (for j (range 0 9) (+= s (A (rem (* 7 j) 3) (min 3 (max 0 (- j i))))))))"
        ),
        format!("(program {A} {S} (for i (for j (range i 4) (+= s (A i j)))))"),
        format!(
            "(program {X} {S} (for io (range 0 3) (for ii (range 0 (min 2 (- 5 (* 2 io)))) (+= s (x (+ (* 2 io) ii))))))"
        ),
        "(program (input b (type (shape 9) u8 0 dense)) (output h (type (shape 256) i64 0 dense)) (for i (+= (h (cast-i64 (b i))) 1)))".to_string(),
    ];
    for text in proved {
        assert!(decided(&text).iter().all(|d| *d == "proved"), "{text}: {:?}", decided(&text));
        assert!(bounds_checks(&normalize(parse(&text).unwrap()).unwrap()).is_empty(), "{text}");
    }
    let guarded = format!("(program {X} (input k i64 0) {S} (if (and (le 0 k) (lt k 5)) (+= s (x k))))");
    assert_eq!(decided(&guarded).iter().filter(|d| **d == "guarded").count(), 0, "two reads of a tensor may differ");
    let guarded = format!(
        "(program {X} (input k i64 0) {S} (for v (range k (+ k 1)) (if (and (le 0 v) (lt v 5)) (+= s (x v)))))"
    );
    assert_eq!(decided(&guarded), ["guarded"], "{guarded}");
}

#[test]
fn the_optimizing_tier_ends_with_the_same_error() {
    let text = format!("(program {INDEX} {Y} (for i (+= (y (I i)) 1)))");
    let program = Arc::new(normalize(parse(&text).unwrap()).unwrap());
    let inputs = inputs(&program, &[("I", &[0, 2, 3_000_000_000, 1])]);
    let index = tensor(&program.tensors[0].ty, &inputs["I"]);
    let draft = Draft::new(&program, &InputLayout::of_inputs(&program, &[&index]), FloatMode::default());
    let backend: Arc<dyn Backend> = Arc::new(OptimizingBackend::new(Toolchain::host()));
    let error = Kernel::compile(&draft, &backend).unwrap().run(&[&index], &Limits::default()).unwrap_err();
    expect_test::expect![[
        r#"`(y (I i))`, line 1, column 113, is out of bounds: `(I i)` has coordinate 3000000000 in storage mode 0 of `y`, whose size is 3; test the coordinate with an `if`, or give a read an `outside`"#
    ]].assert_eq(&error.to_string());
}

#[test]
fn sizes_whose_product_wraps_around_are_an_error() {
    let sizes =
        [("65536 65536 65536 65536", "i j k l"), ("4294967296 4294967296", "i j"), ("3 6148914691236517206", "i j")];
    for (shape, indices) in sizes {
        for format in ["dense", "byte-map", "bit-map"] {
            let levels =
                indices.split(' ').rev().fold("(element)".to_owned(), |below, _| format!("({format} {below})"));
            let text = format!(
                "(program (output y (type (shape {shape}) f64 0.0 {levels})) (= (y {}) 1))",
                indices.split(' ').map(|_| "0").collect::<Vec<_>>().join(" ")
            );
            let program = Arc::new(normalize(parse(&text).unwrap()).unwrap());
            let draft = Draft::new(&program, &[], FloatMode::default());
            for backend in [&backend::interpreter(), &backend::instant(), &grid_interpreter()] {
                let error = Kernel::compile(&draft, backend).unwrap().run(&[], &Limits::default()).unwrap_err();
                assert!(
                    matches!(error, Error::Storage(redpoll_storage::Error::TooManyPositions { .. })),
                    "{backend:?}, {text}: {error}"
                );
            }
        }
    }
}

/// Reads with an `outside` share the code of the loop, instead of copying it for each read. If a
/// subscript is out of bounds, the later subscripts of the read are not checked.
#[test]
fn many_reads_out_of_bounds_share_one_body() {
    let text = |tree: &str, fill: f64, subscripts: &str, reads: usize| {
        let each = |write: &dyn Fn(usize) -> String| (0..reads).map(write).collect::<Vec<_>>();
        let inputs = each(&|t| format!("(input A{t} (type (shape 3 2 3) f64 {fill} {tree}))")).concat();
        let reads = each(&|t| format!("(A{t} {})", subscripts.replace('#', &t.to_string())));
        let value = reads.into_iter().reduce(|a, b| format!("(max {a} {b})")).unwrap();
        format!(
            "(program {inputs} (input I (type (shape 4) i64 0 dense)) (output s (type (shape 4) f64 0.0 dense))
               (for i (range 0 4) (for j (range 0 3) (+= (s i) {value}))))"
        )
    };
    for tree in [
        "(sparse-list non-unique (singleton non-unique (singleton (element))))",
        "csf",
        "(hash (dense (byte-map (element))))",
        "(dense (block-list (sparse-list (element))))",
        "(run-length (dense (sparse-list (element))))",
        "(bit-map (sparse-list (hash (element))))",
    ] {
        for subscripts in [
            "(outside #.5 (+ (I i) #)) (outside 0.0 (- i #)) (outside 7.0 (- (I i) j))",
            "(outside #.5 (+ (I i) #)) (outside 0.0 (- i #)) j",
            "(outside #.5 (* 3 (I i))) (outside 0.0 (- i #)) (I i)",
        ] {
            let lines = |reads: usize, max_copies: u32| {
                let program = normalize(parse(&text(tree, 0.0, subscripts, reads)).unwrap()).unwrap();
                let options = LoweringOptions { max_copies, ..LoweringOptions::default() };
                lower(&program, &[], options).function.to_string().lines().count()
            };
            for max_copies in [0, LoweringOptions::default().max_copies] {
                let [five, eight] = [5, 8].map(|reads| lines(reads, max_copies));
                assert!(eight < 3 * five, "{five} and {eight} lines for {tree} at {subscripts}");
            }
            for (fill, reads) in [(0.0, 4), (1.0, 3)] {
                check(&text(tree, fill, subscripts, reads), 2);
            }
        }
    }
}

/// A check under a condition that is false does not prevent later statements from running.
#[test]
fn checks_under_conditions_keep_later_statements() {
    for guarded in [
        "(if (lt (* n n) 3) (+= (t) (x (* n n))))",
        "(for j (range 0 (ifelse (lt (* n n) 2) 2 0)) (+= (t) (x (+ (* n n) j))))",
        "(for j (range 0 2) (if (lt (* n n) 3) (+= (t) (x (* n n)))))",
    ] {
        for format in ["dense", "(sparse-list (element))", "(hash (element))"] {
            let program = |body: &str, locals: &str| {
                format!(
                    "(program (input x (type (shape 3) f64 0.0 {format})) (input I (type (shape 6) i64 0 dense))
                       (output y (type (shape 6) f64 0.0 dense)) {locals} (for i (let n (I i) {body})))"
                )
            };
            let scalar = "(local t (type (shape) f64 0.0 dense))";
            check(&program(&format!("(where (= (y i) (+ (t) 1.0)) {guarded})"), scalar), 12);
            let to_output = guarded.replace("(t)", "(y i)");
            check(&program(&format!("(block {to_output} (+= (y i) 1.0))"), ""), 12);
        }
    }
    // Here only statements of the output's lifecycle follow the check.
    for format in ["dense", "(sparse-list (element))", "(hash (element))"] {
        let program = format!(
            "(program (input x (type (shape 2) f64 0.0 {format})) (input k (type (shape) i64 0 dense))
               (output y (type (shape 3) f64 0.0 (hash (element))))
               (for i (range 0 3) (if (lt (* (k) (k)) 2) (+= (y i) (x (* (k) (k)))))))"
        );
        check(&program, 40);
    }
}

/// Bounds take into account that sums of narrow integers wrap around, and that casts round.
#[test]
fn narrow_integers_and_floats_are_checked() {
    let narrow = |body: &str| {
        format!("(program {X} {S} (for i (range 0 2) (let u (cast-u8 (rem i 2)) (let w (cast-u8 (+ i 2)) {body}))))")
    };
    check_violation(&narrow("(for k (range 0 (cast-i64 (- u w))) (+= s (x k)))"), &[], ("k", 0, 5));
    check_violation(&narrow("(+= s (x (cast-i64 (- u w))))"), &[], ("(cast-i64 (- u w))", 0, 254));
    check_success(&narrow("(+= s (x (cast-i64 (+ u w))))"), &[]);
    check_success(&narrow("(for k (range 0 (cast-i64 (+ u w))) (+= s (x k)))"), &[]);
    let wrapped = "(for i (range 0 2) (let u (cast-u8 (+ i 254)) (if (lt (+ u u) 253) (+= s (x (cast-i64 u))))))";
    check_violation(&format!("(program {X} {S} {wrapped})"), &[], ("(cast-i64 u)", 0, 254));
    let float = "(for i (range 0 5) (let v (cast-f64 i) (+= s (x (cast-i64 v)))))";
    check_success(&format!("(program {X} {S} {float})"), &[]);
    let half = "(for i (range 0 6) (let v (+ (cast-f64 i) 0.5) (if (lt v 5.0) (+= s (x (cast-i64 v))))))";
    check_success(&format!("(program {X} {S} {half})"), &[]);
}

/// An expression is not a linear form if a scale of the form would leave the range of `i64`.
#[test]
fn scales_that_overflow_are_not_linear() {
    for cond in [
        "(lt (* 4 (* i 4611686018427387904)) 3)",
        "(lt (+ (* i 4611686018427387904) (* i 4611686018427387904)) 3)",
        "(lt (- (* i -4611686018427387904) (* i 4611686018427387905)) 3)",
    ] {
        check(&format!("(program {X} {S} (for i (range 0 3) (if {cond} (+= s (x i)))))"), 5);
    }
}
