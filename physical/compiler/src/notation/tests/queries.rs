//! Tests of the translation of physical queries: the programs and their results.

use super::*;
use crate::Error;
use expect_test::{Expect, expect};
use redpoll_logic::op::{Builtin, pair_type};
use redpoll_logic::physical::interp::{DenseTensor, interpret};
use redpoll_logic::physical::{
    self, Extent, Loop, Output, PhysicalPlan, PhysicalQuery, Protocol, ScalarExpr, StorageCoordinate, TemporaryFold,
    TemporaryNest, Workspace,
};
use redpoll_logic::{Affine, Alias, ComputedFills, DType, Field, Format, LeafKind, LevelKind, Prim, Subscript};
use std::sync::Arc;

type Types = Vec<(&'static str, TensorType)>;

fn ty(shape: &[u64], format: Format) -> TensorType {
    TensorType { shape: shape.to_vec(), dtype: DType::F64, fill: Scalar::F64(0.0), format }
}

fn whole(index: &str, n: u64) -> Loop {
    Loop { index: index.into(), extent: Extent::Range(n), lanes: 1 }
}

fn block(index: &str, block: u64, outer: &str, size: u64) -> Loop {
    Loop { index: index.into(), extent: Extent::Block { block, outer: outer.into(), size }, lanes: 1 }
}

fn i(index: &str) -> Affine {
    Affine::field(Field::from(index))
}

fn at(indices: &[&str]) -> Vec<StorageCoordinate> {
    indices.iter().map(|n| Subscript::Affine(i(n)).into()).collect()
}

fn read(tensor: &str, subscripts: Vec<StorageCoordinate>) -> ScalarExpr {
    let protocols = vec![Protocol::Walk; subscripts.len()];
    ScalarExpr::Access(physical::Access {
        tensor: tensor.into(),
        subscripts,
        protocols,
        workspace: None,
        outside: None,
    })
}

fn read_outside(tensor: &str, subscripts: Vec<StorageCoordinate>, outside: f64) -> ScalarExpr {
    let ScalarExpr::Access(a) = read(tensor, subscripts) else { unreachable!() };
    ScalarExpr::Access(physical::Access { outside: Some(Scalar::F64(outside)), ..a })
}

fn call(op: Builtin, args: impl IntoIterator<Item = ScalarExpr>) -> ScalarExpr {
    ScalarExpr::Call(op.into(), args.into_iter().collect())
}

fn output(
    alias: &str,
    ty: TensorType,
    subscripts: Vec<StorageCoordinate>,
    fold: Option<Builtin>,
    value: ScalarExpr,
) -> Output {
    let fold = fold.map(Into::into);
    let (alias, ty, computed_fills) = (alias.into(), Arc::new(ty), ComputedFills::Keep);
    Output { alias, ty, subscripts, fold, computed_fills, workspace: None, pattern: None, value }
}

fn query(loops: Vec<Loop>, outputs: Vec<Output>) -> PhysicalQuery {
    PhysicalQuery { loops, temporaries: Vec::new(), outputs }
}

fn translate(query: &PhysicalQuery, types: &Types) -> Result<Program, Error> {
    let types = types.iter().map(|(name, ty)| (Alias::from(*name), Arc::new(ty.clone()))).collect();
    from_physical(query, &types)
}

/// Translates and verifies a query, runs it before and after normalization, and compares the
/// results with [`meaning`]; `text` is the translation without its tensors.
#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn check(query: &PhysicalQuery, types: &Types, text: Expect, result: Expect) {
    let p = translate(query, types).unwrap();
    verify(&p).unwrap_or_else(|e| panic!("{e}\n{}", print(&p)));
    let lines: Vec<String> = print(&p).lines().filter(|l| !l.contains("(type ")).map(|l| format!("{l}\n")).collect();
    text.assert_eq(&lines.concat());
    let values: Vec<_> = types
        .iter()
        .filter(|(n, _)| p.tensors.iter().any(|t| t.name == *n))
        .map(|(n, _)| (*n, &value as &dyn Fn(&[u64]) -> Scalar))
        .collect();
    let shown = run_all(&p, &values);
    result.assert_eq(&shown);
    assert_eq!(shown, meaning(query, types));
}

/// Returns the outputs that the interpreter of physical plans computes. This interpreter ignores
/// storage formats.
fn meaning(query: &PhysicalQuery, types: &Types) -> String {
    let inputs = types.iter().map(|(name, ty)| (Alias::from(*name), Arc::new(ty.clone()))).collect();
    let produces = query.outputs.iter().map(|o| o.alias.clone()).collect();
    let plan = PhysicalPlan { inputs, queries: vec![query.clone()], produces };
    let tensors = types.iter().map(|(name, ty)| {
        let dense = TensorType { format: Format::dense(ty.shape.len()), ..ty.clone() };
        (Alias::from(*name), DenseTensor { shape: ty.shape.clone(), values: dense_values(&dense, &mut value) })
    });
    let found = interpret(&plan, &tensors.collect(), redpoll_logic::FloatMode::default()).unwrap();
    let lines = query.outputs.iter().map(|o| {
        let values: Vec<String> = found[&o.alias].values.iter().map(Scalar::to_string).collect();
        format!("{} {:?}: {}\n", o.alias, o.ty.shape, values.join(" "))
    });
    lines.collect()
}

/// Returns a value of a tensor of small integers, which is sparse unless its rank is 0 or 1.
fn value(at: &[u64]) -> Scalar {
    let key = at.iter().fold(1, |k, c| (k * 3 + c) % 11);
    Scalar::F64(if at.len() > 1 && key % 3 != 0 { 0.0 } else { (key + 1) as f64 })
}

fn row_bytes() -> Format {
    Format::of_kinds(&[LevelKind::ByteMap], LeafKind::Element)
}

fn spmv_value(a: Vec<StorageCoordinate>) -> ScalarExpr {
    call(Builtin::Mul, [read("A", a), read("x", at(&["j"]))])
}

#[test]
fn spmv() {
    let q = query(
        vec![whole("i", 4), whole("j", 5)],
        vec![output("y", ty(&[4], Format::dense(1)), at(&["i"]), Some(Builtin::Add), spmv_value(at(&["i", "j"])))],
    );
    let types = vec![("A", ty(&[4, 5], Format::csr())), ("x", ty(&[5], Format::dense(1)))];
    check(
        &q,
        &types,
        expect![[r#"
        (program
          (block
            (declare y)
            (for i (range 0 4) (for j (range 0 5) (+= (y i) (* (A i j) (x j)))))
            (freeze y)))
    "#]],
        expect![[r#"
        y [4]: 46.0 24.0 42.0 68.0
    "#]],
    );
}

/// The lanes of a plan reach the program.
#[test]
fn spmv_in_lanes() {
    let q = query(
        vec![whole("i", 4), Loop { lanes: 2, ..whole("j", 5) }],
        vec![output("y", ty(&[4], Format::dense(1)), at(&["i"]), Some(Builtin::Add), spmv_value(at(&["i", "j"])))],
    );
    let types = vec![("A", ty(&[4, 5], Format::csr())), ("x", ty(&[5], Format::dense(1)))];
    check(
        &q,
        &types,
        expect![[r#"
        (program
          (block
            (declare y)
            (for i (range 0 4) (lanes-for 2 j (range 0 5) (+= (y i) (* (A i j) (x j)))))
            (freeze y)))
    "#]],
        expect![[r#"
        y [4]: 46.0 24.0 42.0 68.0
    "#]],
    );
}

fn spgemm(loops: [&str; 3], depth: usize, format: Format, fill: f64) -> (PhysicalQuery, Types) {
    let size = |n: &str| {
        if n == "i" {
            4
        } else if n == "k" {
            5
        } else {
            3
        }
    };
    let value = call(Builtin::Mul, [read("A", at(&["i", "k"])), read("B", at(&["k", "j"]))]);
    let c = TensorType { fill: Scalar::F64(fill), ..ty(&[4, 3], Format::csr()) };
    let c = output("C", c, at(&["i", "j"]), Some(Builtin::Add), value);
    let c = Output { workspace: Some(Workspace { depth, format }), ..c };
    let q = query(loops.iter().map(|n| whole(n, size(n))).collect(), vec![c]);
    (q, vec![("A", ty(&[4, 5], Format::csr())), ("B", ty(&[5, 3], Format::csr()))])
}

/// Returns the type with hash levels for the rows, which take writes in any order.
fn written_randomly(ty: &TensorType) -> Arc<TensorType> {
    let format = Format::of_kinds(&[LevelKind::Dense, LevelKind::Hash], LeafKind::Element);
    Arc::new(TensorType { format, ..ty.clone() })
}

#[test]
fn spgemm_with_row_workspace() {
    let (q, types) = spgemm(["i", "k", "j"], 1, row_bytes(), 0.0);
    check(
        &q,
        &types,
        expect![[r#"
        (program
          (block
            (declare C)
            (for i
              (range 0 4)
              (block
                (declare C_workspace)
                (where
                  (for c1 (range 0 3) (init (C i c1) (C_workspace c1)))
                  (block
                    (for k (range 0 5) (for j (range 0 3) (+= (C_workspace j) (* (A i k) (B k j)))))
                    (freeze C_workspace)))))
            (freeze C)))
    "#]],
        expect![[r#"
        C [4, 3]: 100.0 0.0 17.0 0.0 0.0 28.0 0.0 0.0 49.0 0.0 1.0 70.0
    "#]],
    );
}

#[test]
fn spgemm_by_outer_products_folds_its_workspaces() {
    // The fill value, from which the fold starts, counts once.
    let (mut q, types) = spgemm(["k", "i", "j"], 1, Format::dense(2), 5.0);
    q.outputs[0].ty = written_randomly(&q.outputs[0].ty);
    check(
        &q,
        &types,
        expect![[r#"
        (program
          (block
            (declare C)
            (for k
              (range 0 5)
              (block
                (declare C_workspace)
                (where
                  (for c0 (range 0 4) (for c1 (range 0 3) (+= (C c0 c1) (C_workspace c0 c1))))
                  (block
                    (for i (range 0 4) (for j (range 0 3) (+= (C_workspace i j) (* (A i k) (B k j)))))
                    (freeze C_workspace)))))
            (freeze C)))
    "#]],
        expect![[r#"
        C [4, 3]: 105.0 5.0 22.0 5.0 5.0 33.0 5.0 5.0 54.0 5.0 6.0 75.0
    "#]],
    );
    let (whole, types) = spgemm(["k", "i", "j"], 0, Format::dense(2), 5.0);
    check(
        &whole,
        &types,
        expect![[r#"
        (program
          (block
            (declare C)
            (declare C_workspace)
            (where
              (for c0 (range 0 4) (for c1 (range 0 3) (init (C c0 c1) (C_workspace c0 c1))))
              (block
                (for k
                  (range 0 5)
                  (for i (range 0 4) (for j (range 0 3) (+= (C_workspace i j) (* (A i k) (B k j))))))
                (freeze C_workspace)))
            (freeze C)))
    "#]],
        expect![[r#"
        C [4, 3]: 105.0 5.0 22.0 5.0 5.0 33.0 5.0 5.0 54.0 5.0 6.0 75.0
    "#]],
    );
}

#[test]
fn triangles() {
    let e = |s: &[&str]| {
        let ScalarExpr::Access(a) = read("E", at(s)) else { unreachable!() };
        ScalarExpr::Access(physical::Access { protocols: vec![Protocol::Walk, Protocol::Gallop], ..a })
    };
    let value = call(Builtin::Mul, [e(&["i", "j"]), e(&["j", "k"]), e(&["i", "k"])]);
    let n = output("n", ty(&[], Format::dense(0)), Vec::new(), Some(Builtin::Add), value);
    let q = query(vec![whole("i", 6), whole("j", 6), whole("k", 6)], vec![n]);
    check(
        &q,
        &vec![("E", ty(&[6, 6], Format::csr()))],
        expect![[r#"
        (program
          (block
            (declare n)
            (for i
              (range 0 6)
              (for j
                (range 0 6)
                (for k (range 0 6) (+= (n) (* (E i (gallop j)) (E j (gallop k)) (E i (gallop k)))))))
            (freeze n)))
    "#]],
        expect![[r#"
        n []: 3648.0
    "#]],
    );
}

/// Reads a tensor through a byte map over its innermost mode, filled inside of `depth` loops.
fn read_workspace(tensor: &str, depth: usize, subscripts: Vec<StorageCoordinate>) -> ScalarExpr {
    let ScalarExpr::Access(mut a) = read(tensor, subscripts) else { unreachable!() };
    *a.protocols.last_mut().unwrap() = Protocol::Follow;
    ScalarExpr::Access(physical::Access { workspace: Some(Workspace { depth, format: row_bytes() }), ..a })
}

#[test]
fn reads_through_one_workspace() {
    let held = |s: &[&str]| read_workspace("E", 1, at(s));
    let value = call(
        Builtin::Mul,
        [
            read("E", at(&["i", "j"])),
            read("E", at(&["j", "k"])),
            held(&["i", "k"]),
            read("E", at(&["k", "l"])),
            held(&["i", "l"]),
            read_workspace("E", 2, at(&["j", "l"])),
        ],
    );
    let n = output("n", ty(&[], Format::dense(0)), Vec::new(), Some(Builtin::Add), value);
    check(
        &query(vec![whole("i", 6), whole("j", 6), whole("k", 6), whole("l", 6)], vec![n]),
        &vec![("E", ty(&[6, 6], Format::csr()))],
        expect![[r#"
            (program
              (block
                (declare n)
                (for i
                  (range 0 6)
                  (block
                    (declare E_workspace)
                    (where
                      (for j
                        (range 0 6)
                        (block
                          (declare E_workspace_2)
                          (where
                            (for k
                              (range 0 6)
                              (for l
                                (range 0 6)
                                (+=
                                  (n)
                                  (*
                                    (E i j)
                                    (E j k)
                                    (E_workspace (follow k))
                                    (E k l)
                                    (E_workspace (follow l))
                                    (E_workspace_2 (follow l))))))
                            (block
                              (for c1 (range 0 6) (init (E_workspace_2 c1) (E j c1)))
                              (freeze E_workspace_2)))))
                      (block (for c1 (range 0 6) (init (E_workspace c1) (E i c1))) (freeze E_workspace)))))
                (freeze n)))
        "#]],
        expect![[r#"
            n []: 2000774.0
        "#]],
    );
}

#[test]
fn temporaries_read_through_workspaces() {
    // At depth 0 all rows share the workspace of `B`; at depth 1 each row fills the workspace
    // again.
    for depth in 0..2 {
        let dot = call(Builtin::Mul, [read("A", at(&["i", "j"])), read_workspace("x", 0, at(&["j"]))]);
        let dot = call(Builtin::Mul, [dot, read_workspace("B", depth, at(&["j"]))]);
        let value = call(Builtin::Mul, [read_workspace("B", depth, at(&["i"])), ScalarExpr::Temporary("t".into())]);
        let q = PhysicalQuery {
            temporaries: vec![sum_of_row("t", dot)],
            ..query(vec![whole("i", 5)], vec![output("r", ty(&[5], Format::dense(1)), at(&["i"]), None, value)])
        };
        let sparse = |n| ty(&[n], Format::of_kinds(&[LevelKind::SparseList], LeafKind::Element));
        let types = vec![("A", ty(&[5, 5], Format::csr())), ("x", sparse(5)), ("B", sparse(5))];
        let (text, result) = if depth == 0 {
            (
                expect![[r#"
                (program
                  (block
                    (declare r)
                    (declare x_workspace)
                    (where
                      (block
                        (declare B_workspace)
                        (where
                          (for i
                            (range 0 5)
                            (block
                              (declare t)
                              (where
                                (init (r i) (* (B_workspace (follow i)) (t)))
                                (block
                                  (for j
                                    (range 0 5)
                                    (+= (t) (* (* (A i j) (x_workspace (follow j))) (B_workspace (follow j)))))
                                  (freeze t)))))
                          (block (for c0 (range 0 5) (init (B_workspace c0) (B c0))) (freeze B_workspace))))
                      (block (for c0 (range 0 5) (init (x_workspace c0) (x c0))) (freeze x_workspace)))
                    (freeze r)))
            "#]],
                expect![[r#"
                r [5]: 784.0 720.0 1512.0 2968.0 2248.0
            "#]],
            )
        } else {
            (
                expect![[r#"
                (program
                  (block
                    (declare r)
                    (declare x_workspace)
                    (where
                      (for i
                        (range 0 5)
                        (block
                          (declare B_workspace)
                          (where
                            (block
                              (declare t)
                              (where
                                (init (r i) (* (B_workspace (follow i)) (t)))
                                (block
                                  (for j
                                    (range 0 5)
                                    (+= (t) (* (* (A i j) (x_workspace (follow j))) (B_workspace (follow j)))))
                                  (freeze t))))
                            (block (for c0 (range 0 5) (init (B_workspace c0) (B c0))) (freeze B_workspace)))))
                      (block (for c0 (range 0 5) (init (x_workspace c0) (x c0))) (freeze x_workspace)))
                    (freeze r)))
            "#]],
                expect![[r#"
                r [5]: 784.0 720.0 1512.0 2968.0 2248.0
            "#]],
            )
        };
        check(&q, &types, text, result);
    }
}

#[test]
fn the_workspace_of_an_empty_tensor_is_not_filled() {
    let value = call(Builtin::Mul, [read("x", at(&["j"])), read_workspace("A", 1, at(&["i", "j"]))]);
    let y = output("y", ty(&[4], Format::dense(1)), at(&["i"]), Some(Builtin::Add), value);
    let q = query(vec![whole("i", 4), whole("j", 0)], vec![y]);
    let types = vec![("A", ty(&[4, 0], Format::csr())), ("x", ty(&[0], Format::dense(1)))];
    check(
        &q,
        &types,
        expect![[r#"
        (program
          (block (declare y) (for i (range 0 4) (for j (range 0 0) (+= (y i) (* 0.0 0.0)))) (freeze y)))
    "#]],
        expect![[r#"
        y [4]: 0.0 0.0 0.0 0.0
    "#]],
    );
}

fn sum_of_row(name: &str, value: ScalarExpr) -> TemporaryNest {
    let fold = TemporaryFold {
        name: name.into(),
        accumulator_indices: Vec::new(),
        op: Builtin::Add.into(),
        init: Scalar::F64(0.0),
        value,
    };
    TemporaryNest { depth: 1, start_depth: 1, loops: vec![whole("j", 5)], temporaries: Vec::new(), folds: vec![fold] }
}

#[test]
fn residual() {
    let value = call(Builtin::Sub, [read("b", at(&["i"])), ScalarExpr::Temporary("t".into())]);
    let q = PhysicalQuery {
        temporaries: vec![sum_of_row("t", spmv_value(at(&["i", "j"])))],
        ..query(vec![whole("i", 4)], vec![output("r", ty(&[4], Format::dense(1)), at(&["i"]), None, value)])
    };
    let dense = |n| ty(&[n], Format::dense(1));
    let types = vec![("A", ty(&[4, 5], Format::csr())), ("x", dense(5)), ("b", dense(4))];
    check(
        &q,
        &types,
        expect![[r#"
        (program
          (block
            (declare r)
            (for i
              (range 0 4)
              (block
                (declare t)
                (where
                  (init (r i) (- (b i) (t)))
                  (block (for j (range 0 5) (+= (t) (* (A i j) (x j)))) (freeze t)))))
            (freeze r)))
    "#]],
        expect![[r#"
        r [4]: -42.0 -19.0 -36.0 -61.0
    "#]],
    );
}

#[test]
fn folds_of_one_pass_and_temporaries_inside_of_temporaries() {
    // `s` is the sum of a row, and `c` its largest value. `v` sums `a * w - c` with `w = 2 * s`, so
    // the loop of `v` needs `s` and `c`.
    let a = || read("A", at(&["i", "j"]));
    let mut first = sum_of_row("s", a());
    first.folds.push(TemporaryFold {
        name: "c".into(),
        accumulator_indices: Vec::new(),
        op: Builtin::Max.into(),
        init: Scalar::F64(f64::NEG_INFINITY),
        value: a(),
    });
    let inner =
        TemporaryNest { depth: 1, loops: vec![whole("k", 2)], ..sum_of_row("w", ScalarExpr::Temporary("s".into())) };
    let left = call(
        Builtin::Sub,
        [call(Builtin::Mul, [a(), ScalarExpr::Temporary("w".into())]), ScalarExpr::Temporary("c".into())],
    );
    let second = TemporaryNest { temporaries: vec![inner], ..sum_of_row("v", left) };
    let v = output("v", ty(&[4], Format::dense(1)), at(&["i"]), None, ScalarExpr::Temporary("v".into()));
    let q = PhysicalQuery { temporaries: vec![first, second], ..query(vec![whole("i", 4)], vec![v]) };
    check(
        &q,
        &vec![("A", ty(&[4, 5], Format::csr()))],
        expect![[r#"
        (program
          (block
            (declare v)
            (for i
              (range 0 4)
              (block
                (declare s)
                (declare c)
                (where
                  (block
                    (declare v_2)
                    (where
                      (init (v i) (v_2))
                      (block
                        (for j
                          (range 0 5)
                          (block
                            (declare w)
                            (where
                              (+= (v_2) (- (* (A i j) (w)) (c)))
                              (block (for k (range 0 2) (+= (w) (s))) (freeze w)))))
                        (freeze v_2))))
                  (block
                    (for j (range 0 5) (block (+= (s) (A i j)) (max= (c) (A i j))))
                    (freeze s)
                    (freeze c)))))
            (freeze v)))
    "#]],
        expect![[r#"
        v [4]: 192.0 12.0 63.0 192.0
    "#]],
    );
}

#[test]
fn argmin_of_rows() {
    let pair = pair_type(Prim::F64);
    let DType::Struct(members) = pair.clone() else { unreachable!() };
    let fill = Scalar::Struct(members, [Scalar::F64(f64::INFINITY), Scalar::I64(i64::MAX)].into());
    let m = TensorType { dtype: pair, fill, ..ty(&[4], Format::dense(1)) };
    let value = call(Builtin::Pair, [read("A", at(&["i", "j"])), ScalarExpr::Coordinate(i("j"))]);
    let q = query(vec![whole("i", 4), whole("j", 5)], vec![output("m", m, at(&["i"]), Some(Builtin::MinBy), value)]);
    check(
        &q,
        &vec![("A", ty(&[4, 5], Format::csr()))],
        expect![[r#"
            (program
              (output m
                (type
                  (shape 4)
                  (struct (value f64) (coordinate i64))
                  (inf 9223372036854775807)
                  (dense (element))))
              (block
                (declare m)
                (for i (range 0 4) (for j (range 0 5) (minby= (m i) (pair (A i j) j))))
                (freeze m)))
        "#]],
        expect![[r#"
        m [4]: (0.0 1) (0.0 0) (0.0 0) (0.0 0)
    "#]],
    );
}

#[test]
fn sum_count_and_minimum_of_one_pass() {
    let a = || read("A", at(&["i", "j"]));
    let stored = call(Builtin::Cast(Prim::I64), [call(Builtin::Ne, [a(), ScalarExpr::Literal(Scalar::F64(0.0))])]);
    let count = TensorType { dtype: DType::I64, fill: Scalar::I64(0), ..ty(&[], Format::dense(0)) };
    let least = TensorType { fill: Scalar::F64(f64::INFINITY), ..ty(&[4], Format::dense(1)) };
    let q = query(
        vec![whole("i", 4), whole("j", 5)],
        vec![
            output("sum", ty(&[], Format::dense(0)), Vec::new(), Some(Builtin::Add), a()),
            output("count", count, Vec::new(), Some(Builtin::Add), stored),
            output("least", least, at(&["i"]), Some(Builtin::Min), a()),
        ],
    );
    check(
        &q,
        &vec![("A", ty(&[4, 5], Format::csr()))],
        expect![[r#"
        (program
          (block
            (declare sum)
            (declare count)
            (declare least)
            (for i
              (range 0 4)
              (for j
                (range 0 5)
                (block (+= (sum) (A i j)) (+= (count) (cast-i64 (ne (A i j) 0.0))) (min= (least i) (A i j)))))
            (freeze sum)
            (freeze count)
            (freeze least)))
    "#]],
        expect![[r#"
        sum []: 33.0
        count []: 6
        least [4]: 0.0 0.0 0.0 0.0
    "#]],
    );
}

fn joined(outer: &str, inner: &str, block: i64) -> Affine {
    i(outer).times(block).plus(&i(inner))
}

/// Returns the subscripts of a tensor in blocks of 2 x 3, at a row and a column.
fn blocked(row: &Affine, column: &Affine) -> Vec<StorageCoordinate> {
    vec![
        Subscript::Outer(row.clone(), 2).into(),
        Subscript::Outer(column.clone(), 3).into(),
        Subscript::Inner(row.clone(), 2).into(),
        Subscript::Inner(column.clone(), 3).into(),
    ]
}

#[test]
fn ragged_blocks() {
    let (row, column) = (joined("io", "ii", 2), joined("jo", "ji", 3));
    let x = read("x", vec![Subscript::Affine(column.clone()).into()]);
    let value = call(Builtin::Mul, [read("A", blocked(&row, &column)), x]);
    let y = output("y", ty(&[5], Format::dense(1)), vec![Subscript::Affine(row).into()], Some(Builtin::Add), value);
    let loops = vec![whole("io", 3), whole("jo", 3), block("ii", 2, "io", 5), block("ji", 3, "jo", 7)];
    let types = vec![("A", ty(&[5, 7], Format::bcsr(2, 3))), ("x", ty(&[7], Format::dense(1)))];
    check(
        &query(loops, vec![y]),
        &types,
        expect![[r#"
            (program
              (input A
                (type
                  (shape 5 7)
                  f64
                  0.0
                  (modes
                    (outer 0 2)
                    (outer 1 3)
                    (inner 0 2)
                    (inner 1 3)
                    (dense (sparse-list (dense (dense (element))))))))
              (block
                (declare y)
                (for io
                  (range 0 3)
                  (for jo
                    (range 0 3)
                    (for ii
                      (range 0 (min 2 (- 5 (* 2 io))))
                      (for ji
                        (range 0 (min 3 (- 7 (* 3 jo))))
                        (+= (y (+ ii (* 2 io))) (* (A io jo ii ji) (x (+ ji (* 3 jo)))))))))
                (freeze y)))
        "#]],
        expect![[r#"
        y [5]: 82.0 87.0 132.0 68.0 37.0
    "#]],
    );
}

#[test]
fn blocks_under_whole_loops_are_divided() {
    let value = read("A", blocked(&i("i"), &i("j")));
    let y = output("y", ty(&[5, 7], Format::dense(2)), at(&["i", "j"]), None, value);
    let q = query(vec![whole("i", 5), whole("j", 7)], vec![y]);
    check(
        &q,
        &vec![("A", ty(&[5, 7], Format::bcsr(2, 3)))],
        expect![[r#"
            (program
              (input A
                (type
                  (shape 5 7)
                  f64
                  0.0
                  (modes
                    (outer 0 2)
                    (outer 1 3)
                    (inner 0 2)
                    (inner 1 3)
                    (dense (sparse-list (dense (dense (element))))))))
              (block
                (declare y)
                (for i
                  (range 0 5)
                  (for j (range 0 7) (init (y i j) (A (floordiv i 2) (floordiv j 3) (rem i 2) (rem j 3)))))
                (freeze y)))
        "#]],
        expect![[r#"
        y [5, 7]: 10.0 0.0 1.0 0.0 0.0 4.0 0.0 0.0 0.0 4.0 0.0 0.0 7.0 0.0 0.0 0.0 7.0 0.0 0.0 10.0 0.0 0.0 0.0 10.0 0.0 1.0 0.0 0.0 0.0 1.0 0.0 0.0 4.0 0.0 0.0
    "#]],
    );
}

#[test]
fn a_workspace_is_copied_into_ragged_blocks() {
    // B is the transpose of A, in blocks; column blocks are written out of order.
    let (row, column) = (joined("io", "ii", 2), i("j"));
    let value = read("A", vec![Subscript::Affine(column.clone()).into(), Subscript::Affine(row.clone()).into()]);
    let b = output("B", ty(&[5, 7], Format::bcsr(2, 3)), blocked(&row, &column), None, value);
    let format = Format::of_kinds(&[LevelKind::Hash, LevelKind::Dense, LevelKind::Dense], LeafKind::Element);
    let b = Output { workspace: Some(Workspace { depth: 1, format }), ..b };
    let q = query(vec![whole("io", 3), whole("j", 7), block("ii", 2, "io", 5)], vec![b]);
    check(
        &q,
        &vec![("A", ty(&[7, 5], Format::csr()))],
        expect![[r#"
            (program
              (output B
                (type
                  (shape 5 7)
                  f64
                  0.0
                  (modes
                    (outer 0 2)
                    (outer 1 3)
                    (inner 0 2)
                    (inner 1 3)
                    (dense (sparse-list (dense (dense (element))))))))
              (block
                (declare B)
                (for io
                  (range 0 3)
                  (block
                    (declare B_workspace)
                    (where
                      (for c1
                        (range 0 3)
                        (for c2
                          (range 0 (min 2 (- 5 (* 2 io))))
                          (for c3
                            (range 0 (min 3 (- 7 (* 3 c1))))
                            (init (B io c1 c2 c3) (B_workspace c1 c2 c3)))))
                      (block
                        (for j
                          (range 0 7)
                          (for ii
                            (range 0 (min 2 (- 5 (* 2 io))))
                            (init (B_workspace (floordiv j 3) ii (rem j 3)) (A j (+ ii (* 2 io))))))
                        (freeze B_workspace)))))
                (freeze B)))
        "#]],
        expect![[r#"
        B [5, 7]: 10.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 1.0 4.0 7.0 1.0 4.0 7.0 10.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 1.0 4.0 7.0 10.0
    "#]],
    );
}

#[test]
fn shifted_reads_and_reads_outside() {
    let next = StorageCoordinate::from(Subscript::Affine(i("i").plus(&Affine::constant(1))));
    let j = || StorageCoordinate::from(Subscript::Affine(i("j")));
    let value = call(Builtin::Add, [read("A", vec![next.clone(), j()]), read("A", at(&["i", "j"]))]);
    let b = output("B", ty(&[3, 5], Format::csr()), at(&["i", "j"]), None, value);
    let types = vec![("A", ty(&[4, 5], Format::csr()))];
    check(
        &query(vec![whole("i", 3), whole("j", 5)], vec![b]),
        &types,
        expect![[r#"
        (program
          (block
            (declare B)
            (for i (range 0 3) (for j (range 0 5) (init (B i j) (+ (A (+ i 1) j) (A i j)))))
            (freeze B)))
    "#]],
        expect![[r#"
        B [3, 5]: 10.0 0.0 5.0 0.0 0.0 0.0 0.0 11.0 0.0 0.0 0.0 0.0 17.0 0.0 1.0
    "#]],
    );

    // Only the mode that may be out of bounds has an `outside`.
    let value = read_outside("A", vec![next, j()], -1.0);
    let b = output("B", ty(&[4, 5], Format::csr()), at(&["i", "j"]), None, value);
    check(
        &query(vec![whole("i", 4), whole("j", 5)], vec![b]),
        &types,
        expect![[r#"
        (program
          (block
            (declare B)
            (for i (range 0 4) (for j (range 0 5) (init (B i j) (A (outside -1.0 (+ i 1)) j))))
            (freeze B)))
    "#]],
        expect![[r#"
        B [4, 5]: 0.0 0.0 4.0 0.0 0.0 0.0 0.0 7.0 0.0 0.0 0.0 0.0 10.0 0.0 1.0 -1.0 -1.0 -1.0 -1.0 -1.0
    "#]],
    );
}

#[test]
fn a_read_outside_may_fall_into_the_padding_of_a_block() {
    let row = i("i").plus(&Affine::constant(-1)).plus(&i("i"));
    let value = read_outside("A", blocked(&row, &i("j")), -1.0);
    let b = output("B", ty(&[4, 7], Format::dense(2)), at(&["i", "j"]), None, value);
    let q = query(vec![whole("i", 4), whole("j", 7)], vec![b]);
    check(
        &q,
        &vec![("A", ty(&[5, 7], Format::bcsr(2, 3)))],
        expect![[r#"
            (program
              (input A
                (type
                  (shape 5 7)
                  f64
                  0.0
                  (modes
                    (outer 0 2)
                    (outer 1 3)
                    (inner 0 2)
                    (inner 1 3)
                    (dense (sparse-list (dense (dense (element))))))))
              (block
                (declare B)
                (for i
                  (range 0 4)
                  (for j
                    (range 0 7)
                    (init
                      (B i j)
                      (ifelse
                        (lt (+ (* 2 i) -1) 5)
                        (A (outside -1.0 (+ i -1)) (floordiv j 3) (outside -1.0 1) (rem j 3))
                        -1.0))))
                (freeze B)))
        "#]],
        expect![[r#"
        B [4, 7]: -1.0 -1.0 -1.0 -1.0 -1.0 -1.0 -1.0 0.0 0.0 4.0 0.0 0.0 7.0 0.0 0.0 0.0 10.0 0.0 1.0 0.0 0.0 -1.0 -1.0 -1.0 -1.0 -1.0 -1.0 -1.0
    "#]],
    );
}

#[test]
fn scatter_by_an_equality_mask() {
    let hit =
        call(Builtin::Eq, [call(Builtin::Cast(Prim::I64), [read("p", at(&["i"]))]), ScalarExpr::Coordinate(i("j"))]);
    let value = call(Builtin::IfElse, [hit, read("x", at(&["i"])), ScalarExpr::Literal(Scalar::F64(0.0))]);
    let y = output("y", ty(&[12], Format::dense(1)), at(&["j"]), Some(Builtin::Add), value);
    let types = vec![("p", ty(&[4], Format::dense(1))), ("x", ty(&[4], Format::dense(1)))];
    check(
        &query(vec![whole("i", 4), whole("j", 12)], vec![y]),
        &types,
        expect![[r#"
        (program
          (block
            (declare y)
            (for i (range 0 4) (for j (range 0 12) (+= (y j) (ifelse (eq (cast-i64 (p i)) j) (x i) 0.0))))
            (freeze y)))
    "#]],
        expect![[r#"
        y [12]: 0.0 0.0 0.0 0.0 4.0 5.0 6.0 7.0 0.0 0.0 0.0 0.0
    "#]],
    );
}

fn gathered(tensor: &str, index: &str) -> StorageCoordinate {
    StorageCoordinate::Computed(call(Builtin::Cast(Prim::I64), [read(tensor, at(&[index]))]))
}

#[test]
fn scatter_and_gather_by_values() {
    // p stores 4 5 6 7: all are in bounds of y, but only 4 and 5 are in bounds of x.
    let y =
        output("y", ty(&[9], Format::dense(1)), vec![gathered("p", "i")], Some(Builtin::Add), read("x", at(&["i"])));
    let z =
        output("z", ty(&[4], Format::dense(1)), at(&["i"]), None, read_outside("x", vec![gathered("p", "i")], -1.0));
    let types = vec![("p", ty(&[4], Format::dense(1))), ("x", ty(&[6], Format::dense(1)))];
    check(
        &query(vec![whole("i", 4)], vec![y, z]),
        &types,
        expect![[r#"
        (program
          (block
            (declare y)
            (declare z)
            (for i
              (range 0 4)
              (block
                (let at0 (cast-i64 (p i)) (if (and (ge at0 0) (lt at0 9)) (+= (y at0) (x i))))
                (init (z i) (x (outside -1.0 (cast-i64 (p i)))))))
            (freeze y)
            (freeze z)))
    "#]],
        expect![[r#"
        y [9]: 0.0 0.0 0.0 0.0 4.0 5.0 6.0 7.0 0.0
        z [4]: 8.0 9.0 -1.0 -1.0
    "#]],
    );
}

#[test]
fn scattered_rows_come_through_a_workspace() {
    let (q, mut types) = spgemm(["i", "k", "j"], 1, row_bytes(), 0.0);
    let subscripts = vec![gathered("p", "i"), StorageCoordinate::from(Subscript::Affine(i("j")))];
    let c = Output { subscripts, ty: written_randomly(&q.outputs[0].ty), ..q.outputs[0].clone() };
    types.push(("p", ty(&[4], Format::dense(1))));
    check(
        &PhysicalQuery { outputs: vec![c], ..q },
        &types,
        expect![[r#"
        (program
          (block
            (declare C)
            (for i
              (range 0 4)
              (block
                (declare C_workspace)
                (where
                  (let at0
                    (cast-i64 (p i))
                    (if (and (ge at0 0) (lt at0 4)) (for c1 (range 0 3) (+= (C at0 c1) (C_workspace c1)))))
                  (block
                    (for k (range 0 5) (for j (range 0 3) (+= (C_workspace j) (* (A i k) (B k j)))))
                    (freeze C_workspace)))))
            (freeze C)))
    "#]],
        expect![[r#"
        C [4, 3]: 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0
    "#]],
    );
}

#[test]
fn malformed_queries_are_errors() {
    let fails = |q: &PhysicalQuery, types: &Types, expected: Expect| {
        expected.assert_eq(&translate(q, types).expect_err("the query is wrong").to_string());
    };
    let types = vec![("A", ty(&[4, 5], Format::csr())), ("B", ty(&[5, 3], Format::csr()))];
    let y = |s: &[&str], v: ScalarExpr| output("y", ty(&[4], Format::dense(1)), at(s), Some(Builtin::Add), v);
    let loops = || vec![whole("i", 4), whole("j", 5)];
    let a = || read("A", at(&["i", "j"]));
    fails(
        &query(loops(), vec![y(&["i"], read("Z", at(&["i"])))]),
        &types,
        expect!["invalid query: unknown tensor `Z`"],
    );
    fails(&query(loops(), vec![y(&["k"], a())]), &types, expect!["invalid query: no loop binds the index `k` here"]);
    fails(
        &query(loops(), vec![y(&["i"], read("A", at(&["i"])))]),
        &types,
        expect!["invalid query: an access to `A` has 1 subscripts and 1 protocols, expected 2 of each"],
    );
    fails(
        &query(loops(), vec![y(&["i"], ScalarExpr::Temporary("t".into()))]),
        &types,
        expect!["invalid query: temporary `t` is not in scope"],
    );
    fails(
        &query(loops(), vec![output("A", ty(&[4], Format::dense(1)), at(&["i"]), None, a())]),
        &types,
        expect!["invalid query: `A` is both an output and another tensor of the query"],
    );
    let (q, types) = spgemm(["i", "k", "j"], 1, Format::dense(2), 0.0);
    fails(
        &q,
        &types,
        expect!["invalid query: the workspace of `C` has rank 2, but its 1 loops leave 1 storage modes open"],
    );
    let (mut q, types) = spgemm(["k", "i", "j"], 1, Format::dense(2), 0.0);
    q.outputs[0].fold = Some(Builtin::Pow.into());
    fails(
        &q,
        &types,
        expect!["invalid query: the workspace of `C` is folded into it by `pow`, which has no identity to start from"],
    );
}
