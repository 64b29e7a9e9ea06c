//! Tests of the text form of physical plans: printed plans read back, and errors have positions.

use super::*;
use crate::testing::{DataKind, Rng, random_fill, random_format, random_value};
use crate::{ComputedFills, DType, Prim, StorageMode, TensorType};
use expect_test::{Expect, expect};
use std::sync::Arc;

fn round_trip(text: &str) -> PhysicalPlan {
    let plan = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let printed = plan.to_string();
    assert_eq!(parse(&printed).as_ref(), Ok(&plan), "{printed}");
    plan
}

#[test]
fn plans_read_back() {
    let text = r#"
(physical
  (define-op (half (x f64)) f64 (* x (lit f64 0.5)))
  (input A f64 0.0 (7 9) (dense@0/2 sparse-list@1/4 dense@0%2 dense@1%4))
  (input "1 x" u8 3 (9) (sparse-list))
  (input P bool false (9 7) (sparse-list*@1 singleton?@0 pattern))
  (query (for (i.o 4) (j.o 3) (i.i 2 i.o 7) (j.i 4 j.o 9 (lanes 2)))
    (where 1 (for (k 9 (lanes 4)))
      (where 1 (for) (u min inf (half 2.0)))
      (t + (lit u8 1) (* (lit u8 2) (at "1 x" (follow k)))))
    (write y f64 0.0 (7) (dense) ((+ i.i (* 2 i.o))) (fold +)
      (* (at A i.o (gallop j.o) i.i j.i (outside 1.0)) (at A i.o j.o i.i (follow j.i) (workspace 3 (byte-map))) (cast-f64 t)))
    (write Z (struct (value f64) (coordinate i64)) (inf 7) (9 9) (dense hash) ((value (coordinate (+ i.i 1))) (mod j.i 4))
      (workspace 1 (byte-map))
      (pair u (at P (quot i.o 2) (value 3)))))
  (produces y Z))"#;
    let plan = round_trip(text);
    // The printed text equals the original up to whitespace.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&plan.to_string()), words(text));
    assert_eq!(plan.queries[0].outputs[1].workspace.as_ref().unwrap().depth, 1);
    assert_eq!(plan.inputs[0].1.format.modes[2], StorageMode::Inner { mode: 0, block: 2 });
}

#[test]
fn all_types_read_back() {
    let mut rng = Rng::new(7);
    for _ in 0..300 {
        let prim = *rng.pick(&Prim::ALL);
        let fill = random_fill(&mut rng, prim, DataKind::Special);
        let (rank, dtype) = (rng.index(4), DType::Prim(prim));
        let format = random_format(&mut rng, rank, &dtype, &fill);
        let ty = Arc::new(TensorType { shape: vec![5; rank], dtype, fill, format });
        let value = ScalarExpr::Literal(random_value(&mut rng, prim, DataKind::Special));
        let subscripts = Vec::new();
        let output = Output {
            alias: "C".into(),
            ty: ty.clone(),
            subscripts,
            fold: None,
            computed_fills: ComputedFills::Drop,
            workspace: None,
            pattern: rng.chance(50).then(|| "A".into()),
            value,
        };
        let query = PhysicalQuery { loops: Vec::new(), temporaries: Vec::new(), outputs: vec![output] };
        let plan = PhysicalPlan { inputs: vec![("A".into(), ty)], queries: vec![query], produces: vec!["C".into()] };
        assert_eq!(parse(&plan.to_string()).as_ref(), Ok(&plan), "{plan}");
    }
}

#[test]
fn errors_have_positions() {
    #[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&parse(text).unwrap_err().to_string());
    }
    check("(plan)", expect!["line 1, column 1: expected (physical (input ..).. (query ..).. (produces ..))"]);
    check("(physical (input A f64 0.0 (7)))", expect!["line 1, column 11: expected NAME DTYPE FILL (SIZE..) FORMAT"]);
    check(
        "(physical (input A f64 0.0 (7) (dense@x)))",
        expect!["line 1, column 33: expected a level KIND[?][*][@MODE[/BLOCK | %BLOCK | -BY]], found dense@x"],
    );
    check(
        "(physical (query (for (i)) ))",
        expect!["line 1, column 23: expected (INDEX SIZE), (INDEX BLOCK OUTER SIZE) or (INDEX SIZE OUTER SHIFT SIZE)"],
    );
    check(
        "(physical (query (for (i 3)) (write y f64 0.0 (3) (dense) (i) (plus 1 2))))",
        expect!["line 1, column 64: unknown operator `plus`"],
    );
    check(
        "(physical (query (for (i 3)) (write y f64 0.0 (3) (dense) (i) (folded +) 1.0)))",
        expect!["line 1, column 63: expected (fold OP), (drop-fills), (workspace DEPTH FORMAT) or (pattern NAME)"],
    );
}
