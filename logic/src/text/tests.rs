//! Tests of the text form: parsing, printing, and the positions of errors.

use super::constant::parse_constant;
use super::*;
use crate::dtype::DType;
use crate::format::{Format, LeafKind};
use crate::level::LevelKind;
use crate::plan::Plan;
use crate::scalar::Scalar;
use expect_test::{Expect, expect};

/// Returns a catalog of matrices `A` and `B` (4 x 4, `f64`), `P` (4 x 4, `bool`), `U` (4 x 4, `u8`)
/// and vectors `x` (4, `f64`) and `z` (9, `f32`).
fn catalog() -> Catalog {
    let ty = |shape: &[u64], fill: Scalar| {
        Arc::new(TensorType { shape: shape.to_vec(), dtype: fill.dtype(), fill, format: Format::dense(shape.len()) })
    };
    Catalog::from_iter([
        ("A", ty(&[4, 4], 0.0.into())),
        ("B", ty(&[4, 4], 0.0.into())),
        ("P", ty(&[4, 4], false.into())),
        ("U", ty(&[4, 4], 0u8.into())),
        ("x", ty(&[4], 0.0.into())),
        ("z", ty(&[9], 0f32.into())),
    ])
}

/// Parses and prints a plan, and checks that the printed text reads back as the same plan.
fn round_trip(text: &str) -> Result<Plan, Error> {
    let plan = parse(text, &catalog())?;
    let printed = plan.to_string();
    assert_eq!(parse(&printed, &catalog()).as_ref(), Ok(&plan), "{printed}");
    Ok(plan)
}

#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&match round_trip(text) {
        Ok(plan) => plan.to_string(),
        Err(e) => format!("error: {e}"),
    });
}

/// Checks one expression, like [`check`].
#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn check_expr(expr: &str, expected: Expect) {
    expected.assert_eq(&match round_trip(&format!("(plan (query Q {expr}) (produces Q))")) {
        Ok(plan) => plan.queries[0].expr.to_string(),
        Err(e) => format!("error: {e}"),
    });
}

#[test]
fn plans_print_back() {
    check(
        "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) ; a comment\n (produces C))",
        expect![[r#"
            (plan
              (query C (aggregate + 0.0 (mapjoin * (table A i k) (table B k j)) k))
              (produces C))"#]],
    );
    check(
        "(plan (plan (query C (table A i j)) (produces C)) (plan (query D (mapjoin + C (table C j k))) (produces D)))",
        expect![[r#"
            (plan
              (query C (table A i j))
              (query D (mapjoin + (table C i j) (table C j k)))
              (produces C D))"#]],
    );
    check(
        "(plan
           (define-op (weight (x f64) (y f64)) f64 (* x (+ y 0.5)))
           (query W (mapjoin weight (table A i j) 2))
           (produces W))",
        expect![[r#"
            (plan
              (define-op (weight (x f64) (y f64)) f64 (* x (+ y (lit f64 0.5))))
              (query W (mapjoin weight (table A i j) 2.0))
              (produces W))"#]],
    );
}

#[test]
fn expressions_print_back() {
    check_expr("(mapjoin + (table U i j) 1)", expect!["(mapjoin + (table U i j) 1)"]);
    check_expr(
        "(mapjoin + (table U i j) (lit i64 1) (literal 2))",
        expect!["(mapjoin + (table U i j) (lit i64 1) (lit i64 2))"],
    );
    check_expr("(mapjoin / (table z i) 0.1)", expect!["(mapjoin / (table z i) 0.1)"]);
    check_expr("(mapjoin max inf -inf nan true)", expect!["(mapjoin max inf -inf nan true)"]);
    check_expr(
        "(mapjoin lt (coordinate i) (mapjoin + 1 (coordinate j)))",
        expect![
            "error: line 1, column 7: the size of field `i` is unknown in query `Q`; join with a table that has the field"
        ],
    );
    check_expr(
        "(mapjoin ifelse (mapjoin lt (coordinate i) (coordinate j)) (table A i j) 0)",
        expect!["(mapjoin ifelse (mapjoin lt (coordinate i) (coordinate j)) (table A i j) 0.0)"],
    );
    check_expr(
        "(aggregate minby (pair inf max) (mapjoin pair (table A i j) (coordinate j)) j)",
        expect!["(aggregate minby (inf 9223372036854775807) (mapjoin pair (table A i j) (coordinate j)) j)"],
    );
    check_expr(
        "(aggregate or false (table A i j) j)",
        expect!["(aggregate or false (mapjoin cast-bool (table A i j)) j)"],
    );
    check_expr("(aggregate min max (table U i j) j i)", expect!["(aggregate min 255 (table U i j) j i)"]);
    check_expr(
        "(mapjoin first (lit (struct (value f64) (coordinate i64)) (1 3)))",
        expect!["(mapjoin first (lit (struct (value f64) (coordinate i64)) (1.0 3)))"],
    );
    check_expr(
        "(scan + (reorder (relabel (table A i j) x y) y x) x)",
        expect!["(scan + (reorder (relabel (table A i j) x y) y x) x)"],
    );
    check_expr("7", expect!["7"]);
    check_expr("(table x \"a b\")", expect![[r#"(table x "a b")"#]]);
    check_expr("(table x \"7\")", expect![[r#"(table x "7")"#]]);
}

#[test]
fn formats_print_back() {
    check_expr("(reformat csr (table A i j))", expect!["(reformat (dense (sparse-list (element))) (table A i j))"]);
    check_expr(
        "(reformat csc (table A i j))",
        expect!["(reformat (modes 1 0 (dense (sparse-list (element)))) (table A i j))"],
    );
    check_expr(
        "(reformat (bcsr 2 3) (table A i j))",
        expect![
            "(reformat (modes (outer 0 2) (outer 1 3) (inner 0 2) (inner 1 3) (dense (sparse-list (dense (dense (element)))))) (table A i j))"
        ],
    );
    check_expr(
        "(reformat coo (table A i j))",
        expect!["(reformat (sparse-list non-unique (singleton (element))) (table A i j))"],
    );
    check_expr(
        "(reformat (dense (sparse-list (pattern))) (table P i j))",
        expect!["(reformat (dense (sparse-list (pattern))) (table P i j))"],
    );
    check_expr(
        "(reformat (hash (byte-map element)) (table P i j))",
        expect!["(reformat (hash (byte-map (element))) (table P i j))"],
    );
    check_expr(
        "(reformat csr (table x i))",
        expect!["error: line 1, column 26: csr is a format for 2 modes, but the tensor has 1"],
    );
    check_expr(
        "(reformat (dense (sparse (element))) (table A i j))",
        expect!["error: line 1, column 33: unknown level `sparse`"],
    );
    check_expr(
        "(reformat (dense (sparse-list nonunique (element))) (table A i j))",
        expect!["error: line 1, column 46: expected a flag, non-unique or unordered, found nonunique"],
    );
    check_expr(
        "(reformat (dense (sparse-list non-unique (element))) (table A i j))",
        expect!["error: line 1, column 26: level 1 is non-unique, so level 2 must be a singleton, found the leaf"],
    );
    check_expr(
        "(reformat (dense (element)) (table A i j))",
        expect!["error: line 1, column 26: (dense (element)) is a format for 1 modes, but the tensor has 2"],
    );
    check_expr(
        "(reformat csrr (table A i j))",
        expect!["error: line 1, column 26: unknown format `csrr`; did you mean `csr`, `bcsr` or `csb`?"],
    );
    let pattern = parse_format("(modes 1 0 (dense (sparse-list (pattern))))", 2).unwrap();
    assert_eq!(pattern, Format { leaf: LeafKind::Pattern, ..Format::csc() });
}

#[test]
fn index_maps_print_back() {
    check_expr(
        "(index (window i 1 4) (stride j 2) (table A i j))",
        expect!["(index (map ((j (* 2 j))) ((j 2))) (index (window i 1 4) (table A i j)))"],
    );
    check_expr("(index (permissive i -1 7 0) (table A i j))", expect!["(index (permissive i -1 7 0.0) (table A i j))"]);
    check_expr("(index (offset j -1 5) (table A i j))", expect!["(index (permissive j -1 3 5.0) (table A i j))"]);
    check_expr("(index (reverse i) (table x i))", expect!["(index (map ((i (+ (* -1 i) 3))) ((i 4))) (table x i))"]);
    check_expr(
        "(index (toeplitz z i j 3) (table z z))",
        expect!["(index (map ((z (+ i j))) ((i 7) (j 3))) (table z z))"],
    );
    check_expr(
        "(index (split z o i 4 0) (table z z))",
        expect!["(index (map ((z (+ i (* 4 o)))) ((o 3) (i 4)) 0.0) (table z z))"],
    );
    check_expr(
        "(index (merge i j k) (table A i j))",
        expect!["(index (map ((i (quot k 4)) (j (mod k 4))) ((k 16))) (table A i j))"],
    );
    check_expr("(index (diagonal i j d) (table A i j))", expect!["(index (map ((i d) (j d)) ((d 4))) (table A i j))"]);
    check_expr(
        "(index (map ((i (+ j k -1)) (z 3)) ((k 2)) 0) (mapjoin * (table A i j) (table z z)))",
        expect!["(index (map ((i (+ j k -1)) (z 3)) ((k 2)) 0.0) (mapjoin * (table A i j) (table z z)))"],
    );
    check_expr(
        "(index (map ((i (quot (+ (* 2 k) 1) 3))) ((k 4))) (table x i))",
        expect!["(index (map ((i (quot (+ (* 2 k) 1) 3))) ((k 4))) (table x i))"],
    );
    check_expr(
        "(index (map ((i (- 3 i))) ((i 4))) (table x i))",
        expect!["(index (map ((i (+ (* -1 i) 3))) ((i 4))) (table x i))"],
    );
    check_expr(
        "(index (window i 1 5) (table A i j))",
        expect![
            "error: line 1, column 23: field `i` of size 4 is read at (+ i 1), which ranges over 1..=4; give a value for reads out of bounds, or a smaller window"
        ],
    );
    check_expr(
        "(index (windows i 1 5) (table A i j))",
        expect!["error: line 1, column 23: unknown index map `windows`; did you mean `window`?"],
    );
    check_expr(
        "(index (shift i 1) (table A i j))",
        expect![
            "error: line 1, column 23: unknown index map `shift`; expected one of window, permissive, offset, stride, reverse, toeplitz, split, merge, diagonal, map"
        ],
    );
    check_expr(
        "(index (window i 1) (table A i j))",
        expect!["error: line 1, column 23: expected (window FIELD LOW HIGH), found (window i 1)"],
    );
    check_expr(
        "(index (map ((i (* 9223372036854775807 (* 3 i)))) ((i 4)) 0) (table x i))",
        expect![
            "error: line 1, column 32: a coefficient or constant of (* 9223372036854775807 (* 3 i)) overflows 64 bits"
        ],
    );
}

#[test]
fn errors_have_positions() {
    check(
        "(plan\n  (query C\n    (tabel A i j))\n  (produces C))",
        expect!["error: line 3, column 5: unknown expression `tabel`; did you mean `table`?"],
    );
    check(
        "(plan (query C (table AA i j)) (produces C))",
        expect!["error: line 1, column 23: unknown table `AA`; did you mean `A`?"],
    );
    check(
        "(plan (query C (table A i)) (produces C))",
        expect!["error: line 1, column 16: table has the fields (i), expected 2 fields, one per mode of `A`"],
    );
    check(
        "(plan (query C (mapjoin plus (table A i j))) (produces C))",
        expect!["error: line 1, column 25: unknown operator `plus`"],
    );
    check(
        "(plan (query C (mapjoin mim (table A i j) 1)) (produces C))",
        expect!["error: line 1, column 25: unknown operator `mim`; did you mean `min`?"],
    );
    check(
        "(plan (query C (mapjoin sqrt (table A i j) 1)) (produces C))",
        expect!["error: line 1, column 16: operator `sqrt` takes 1 argument, found 2"],
    );
    check(
        "(plan (query C (+ (table A i j) 1)) (produces C))",
        expect!["error: line 1, column 16: operator `+` is not an expression; write (mapjoin + ..)"],
    );
    check(
        "(plan (query C (aggregate + 0 (table A i j) k)) (produces C))",
        expect!["error: line 1, column 16: aggregate over field `k`, but its argument has the fields (i j)"],
    );
    check(
        "(plan (query C (aggregate + (table A i j) j)) (produces C))",
        expect![
            "error: line 1, column 16: expected (aggregate OP CONST EXPR FIELD..), found (aggregate + (table A i j) j)"
        ],
    );
    check(
        "(plan (query C (mapjoin + (table A i j) total)) (produces C))",
        expect!["error: line 1, column 41: unknown query `total`; write (table total FIELD..) to read a table"],
    );
    check(
        "(plan (query C (aggregate + 0.5 (table U i j) i)) (produces C))",
        expect![
            "error: line 1, column 29: constant 0.5 does not fit dtype u8; give a value of that dtype, or cast the argument"
        ],
    );
    check(
        "(plan (query C (mapjoin * (table A i j) (table z j))) (produces C))",
        expect![
            "error: line 1, column 16: field `j` has size 4 in mode 1 of `A` but 9 in mode 0 of `z`; rename it in one of them, or take a window"
        ],
    );
    check(
        "(plan (query C (table A i j)) (query C (table A i j)) (produces C))",
        expect!["error: line 1, column 38: query `C` is bound twice; give one of them another name"],
    );
    check(
        "(plan (query C (table A i j)) (produces D))",
        expect!["error: line 1, column 41: unknown query `D`; did you mean `C`?"],
    );
    check(
        "(plan (query C (table A i j)))",
        expect!["error: line 1, column 1: the plan produces nothing; end it with (produces NAME..)"],
    );
    check(
        "(plan (query C A) (produces C))",
        expect!["error: line 1, column 16: input `A` is read without fields; write (table A FIELD..)"],
    );
    check(
        "(plan (query C (lit i8 300)) (produces C))",
        expect![
            "error: line 1, column 24: constant 300 does not fit dtype i8; give a value of that dtype, or cast the argument"
        ],
    );
    check(
        "(plan (qery C 1) (produces C))",
        expect!["error: line 1, column 7: unknown plan item `qery`; did you mean `query`?"],
    );
    check("(plan (query C ()) (produces C))", expect!["error: line 1, column 16: expected an expression, found ()"]);
    check(
        "(query C 1)",
        expect!["error: line 1, column 1: expected (plan (query NAME EXPR).. (produces NAME..)), found (query C 1)"],
    );
    check("", expect!["error: the text is empty, or has only comments"]);
    check(
        "(plan (query C 1) (produces C)",
        expect!["error: line 1, column 1: `(` is not closed; write `)` after its last item"],
    );
    check(
        "(plan (query C (coordinate i)) (produces C))",
        expect![
            "error: line 1, column 7: the size of field `i` is unknown in query `C`; join with a table that has the field"
        ],
    );
}

#[test]
fn free_tables_are_found_without_types() {
    let find = |text| {
        free_tables(text).map(|all| all.iter().map(|(a, fields)| format!("{a}/{}", fields.len())).collect::<Vec<_>>())
    };
    let text =
        "(plan (query C (mapjoin * (table A i k) (table B k j) (table A k j))) (query D (table C i k j)) (produces D))";
    assert_eq!(find(text), Ok(vec!["A/2".to_owned(), "B/2".to_owned()]));
    assert!(find("(plan (query C (mapjoin * (table A i k) (table A k))))").is_err());
}

/// The grammar in the documentation lists every kind of level.
#[test]
fn grammar_has_every_level_kind() {
    let documentation = include_str!("mod.rs");
    let (_, rule) = documentation.split_once("KIND      := ").unwrap();
    let (rule, _) = rule.split_once("FLAG      := ").unwrap();
    let words: Vec<&str> = rule.split(['|', ' ', '\n', '!', '/']).filter(|word| !word.is_empty()).collect();
    let kinds: Vec<&str> = LevelKind::all().map(|kind| kind.traits().name).collect();
    assert!(kinds.iter().all(|kind| words.contains(kind)), "{words:?} lacks one of {kinds:?}");
    assert_eq!(words.len(), kinds.len());
}

#[test]
fn bounds_of_dtypes() {
    let constant = |word, dtype| parse_constant(&Sexpr::atom(word), &dtype).unwrap();
    use crate::dtype::Prim;
    assert_eq!(constant("max", DType::I64), Scalar::I64(i64::MAX));
    assert_eq!(constant("min", DType::I64), Scalar::I64(i64::MIN));
    assert_eq!(constant("max", Prim::U64.into()), Scalar::U64(u64::MAX));
    assert_eq!(constant("min", Prim::U8.into()), Scalar::U8(0));
    assert_eq!(constant("max", Prim::I8.into()), Scalar::I8(127));
    assert_eq!(constant("min", Prim::F32.into()), Scalar::F32(f32::NEG_INFINITY));
    assert_eq!(constant("max", DType::BOOL), Scalar::Bool(true));
}
