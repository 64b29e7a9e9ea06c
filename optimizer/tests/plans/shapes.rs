//! The physical plans of small programs.

use super::{InputSpec, WithStored, check_plain, filled, input};
use expect_test::{Expect, expect};
use redpoll_logic::physical::PhysicalPlan;
use redpoll_logic::{Format, LeafKind, LevelKind, Scalar};
use redpoll_optimizer::OptimizerConfig;

fn check(text: &str, inputs: &[InputSpec], expect: &Expect) -> PhysicalPlan {
    let (physical, _) = check_plain(text, inputs, &OptimizerConfig::default());
    let printed = physical.to_string();
    expect.assert_eq(&printed);
    assert_eq!(redpoll_logic::physical::parse(&printed).as_ref(), Ok(&physical), "the printed plan parses back");
    physical
}

#[test]
fn spmv() {
    let text = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces y))";
    check(
        text,
        &[input("A", &[7, 9], Format::csr()).stored(15.0), input("x", &[9], Format::dense(1))],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense sparse-list))
              (input x f64 0.0 (9) (dense))
              (query (for (i 7) (j 9))
                (write y f64 0.0 (7) (dense) (i) (fold +) (* (at A i j) (at x j))))
              (produces y))"#]],
    );
}

#[test]
fn spmv_by_columns_scatters() {
    let text = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces y))";
    let physical = check(
        text,
        &[input("A", &[7, 9], Format::csc()).stored(15.0), input("x", &[9], Format::dense(1))],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense@1 sparse-list@0))
              (input x f64 0.0 (9) (dense))
              (query (for (j 9) (i 7))
                (write y f64 0.0 (7) (dense) (i) (fold +) (* (at A j i) (at x j))))
              (produces y))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn spmv_over_ragged_blocks() {
    let text = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces y))";
    let physical = check(
        text,
        &[input("A", &[7, 9], Format::bcsr(2, 4)).stored(20.0), input("x", &[9], Format::dense(1))],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense@0/2 sparse-list@1/4 dense@0%2 dense@1%4))
              (input x f64 0.0 (9) (dense))
              (query (for (i.o 4) (j.o 3) (i.i 2 i.o 7) (j.i 4 j.o 9))
                (write y f64 0.0 (7) (dense) ((+ i.i (* 2 i.o))) (fold +) (* (at A i.o j.o i.i j.i) (at x (+ j.i (* 4 j.o))))))
              (produces y))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn coo_and_csr_merge() {
    let text = "(plan (query C (mapjoin + (table A i j) (table B i j))) (produces C))";
    let physical = check(
        text,
        &[input("A", &[7, 9], Format::coo(2)).stored(10.0), input("B", &[7, 9], Format::csr()).stored(10.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (sparse-list* singleton))
              (input B f64 0.0 (7 9) (dense sparse-list))
              (query (for (i 7) (j 9))
                (write C f64 0.0 (7 9) (dense sparse-list) (i j) (+ (at A i j) (at B i j))))
              (produces C))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn spgemm_takes_a_row_workspace() {
    let text = "(plan (query C (reformat csr (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k))) (produces C))";
    let physical = check(
        text,
        &[input("A", &[7, 8], Format::csr()).stored(12.0), input("B", &[8, 9], Format::csr()).stored(12.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 8) (dense sparse-list))
              (input B f64 0.0 (8 9) (dense sparse-list))
              (query (for (i 7) (k 8) (j 9))
                (write C f64 0.0 (7 9) (dense sparse-list) (i j) (fold +) (workspace 1 (byte-map)) (* (at A i k) (at B k j))))
              (produces C))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn spgemm_by_inner_products() {
    let text = "(plan (query C (reformat csr (aggregate + 0 (reorder (mapjoin * (table A i k) (table B k j)) i j k) k))) (produces C))";
    let physical = check(
        text,
        &[input("A", &[7, 8], Format::csr()).stored(12.0), input("B", &[8, 9], Format::csc()).stored(12.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 8) (dense sparse-list))
              (input B f64 0.0 (8 9) (dense@1 sparse-list@0))
              (query (for (i 7) (j 9) (k 8))
                (write C f64 0.0 (7 9) (dense sparse-list) (i j) (fold +) (* (at A i (follow k) (workspace 1 (byte-map))) (at B j k))))
              (produces C))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn spgemm_by_outer_products() {
    let text = "(plan (query C (reformat csr (aggregate + 0 (reorder (mapjoin * (table A i k) (table B k j)) k i j) k))) (produces C))";
    let physical = check(
        text,
        &[input("A", &[7, 8], Format::csc()).stored(12.0), input("B", &[8, 9], Format::csr()).stored(12.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 8) (dense@1 sparse-list@0))
              (input B f64 0.0 (8 9) (dense sparse-list))
              (query (for (k 8) (i 7) (j 9))
                (write C f64 0.0 (7 9) (dense sparse-list) (i j) (fold +) (workspace 0 (dense hash)) (* (at A k i) (at B k j))))
              (produces C))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn a_discordant_factor_is_copied_once() {
    let text = "(plan (query C (aggregate + 0 (mapjoin * (table A k i) (table A k j)) k)) (produces C))";
    check(
        text,
        &[input("A", &[4000, 40_000], Format::csr()).stored(40_000.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (4000 40000) (dense sparse-list))
              (query (for (c0 4000) (c1 40000))
                (write A.1 f64 0.0 (4000 40000) (dense@1 sparse-list@0) (c1 c0) (workspace 0 (dense hash)) (at A c0 c1)))
              (query (for (i 40000) (k 4000) (j 40000))
                (write C f64 0.0 (40000 40000) (dense sparse-list) (i j) (fold +) (workspace 1 (byte-map)) (* (at A.1 i k) (at A k j))))
              (produces C))"#]],
    );
}

#[test]
fn residual_is_one_nest() {
    let text =
        "(plan (query r (mapjoin - (table b i) (aggregate + 0 (mapjoin * (table A i j) (table x j)) j))) (produces r))";
    let physical = check(
        text,
        &[
            input("A", &[7, 9], Format::csr()).stored(15.0),
            input("b", &[7], Format::dense(1)),
            input("x", &[9], Format::dense(1)),
        ],
        &expect![[r#"
            (physical
              (input b f64 0.0 (7) (dense))
              (input A f64 0.0 (7 9) (dense sparse-list))
              (input x f64 0.0 (9) (dense))
              (query (for (i 7))
                (where 1 (for (j 9))
                  (t.1 + 0.0 (* (at A i j) (at x j))))
                (write r f64 0.0 (7) (dense) (i) (- (at b i) t.1)))
              (produces r))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn row_normalization_is_one_nest() {
    let text =
        "(plan (query s (aggregate + 0 (table A i j) j)) (query N (mapjoin / (table A i j) (table s i))) (produces N))";
    let physical = check(
        text,
        &[input("A", &[7, 9], Format::csr()).stored(15.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense sparse-list))
              (query (for (i 7) (j 9))
                (where 1 (for (j.2 9))
                  (t.1 + 0.0 (at A i j.2)))
                (write N f64 0.0 (7 9) (dense sparse-list) (i j) (/ (at A i j) t.1)))
              (produces N))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn sum_count_and_min_are_one_nest() {
    let text = "(plan (query s (aggregate + 0 (table A i j) i j)) (query n (aggregate + 0 (mapjoin cast-i64 (mapjoin ne (table A k l) 0)) k l)) (query m (aggregate min inf (table A i j) i j)) (produces s n m))";
    let physical = check(
        text,
        &[input("A", &[7, 9], Format::csr()).stored(15.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense sparse-list))
              (query (for)
                (where 0 (for (i 7) (j 9))
                  (t.1 + 0.0 (at A i j))
                  (t.2 + 0 (cast-i64 (ne (at A i j) 0.0)))
                  (t.3 min inf (at A i j)))
                (write s f64 0.0 () () () t.1)
                (write n i64 0 () () () t.2)
                (write m f64 0.0 () () () t.3))
              (produces s n m))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn argmin_by_row() {
    let text =
        "(plan (query m (aggregate minby (pair inf max) (mapjoin pair (table A i j) (coordinate j)) j)) (produces m))";
    let physical = check(
        text,
        &[input("A", &[7, 9], Format::csr()).stored(15.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense sparse-list))
              (query (for (i 7))
                (where 1 (for (j 9))
                  (t.1 minby (lit (struct (value f64) (coordinate i64)) (inf 9223372036854775807)) (pair (at A i j) (coordinate j))))
                (write m (struct (value f64) (coordinate i64)) (0.0 0) (7) (dense) (i) t.1))
              (produces m))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn union_of_five() {
    let text = "(plan (query U (mapjoin + (table A i j) (table B i j) (table C i j) (table D i j) (table E i j))) (produces U))";
    let physical = check(
        text,
        &[
            input("A", &[5, 6], Format::csr()),
            input("B", &[5, 6], Format::coo(2)),
            input("C", &[5, 6], Format::csf(2)),
            input("D", &[5, 6], Format::csr()),
            input("E", &[5, 6], Format::csr()),
        ],
        &expect![[r#"
            (physical
              (input A f64 0.0 (5 6) (dense sparse-list))
              (input B f64 0.0 (5 6) (sparse-list* singleton))
              (input C f64 0.0 (5 6) (sparse-list sparse-list))
              (input D f64 0.0 (5 6) (dense sparse-list))
              (input E f64 0.0 (5 6) (dense sparse-list))
              (query (for (i 5) (j 6))
                (write U f64 0.0 (5 6) (dense dense) (i j) (+ (at A i j) (at B i j) (at C i j) (at D i j) (at E i j))))
              (produces U))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn xor_with_fill_true() {
    let text = "(plan (query X (mapjoin xor (table A i j) (table B i j))) (produces X))";
    let physical = check(
        text,
        &[
            filled("A", &[5, 6], Format::csr(), Scalar::Bool(true)),
            filled("B", &[5, 6], Format::csr(), Scalar::Bool(false)),
        ],
        &expect![[r#"
            (physical
              (input A bool true (5 6) (dense sparse-list))
              (input B bool false (5 6) (dense sparse-list))
              (query (for (i 5) (j 6))
                (write X bool true (5 6) (dense dense) (i j) (xor (at A i j) (at B i j))))
              (produces X))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn sum_of_windows() {
    let text = "(plan (query W (mapjoin + (index (window i 1 7) (table A i j)) (index (window i 0 6) (table A i j)))) (produces W))";
    let physical = check(
        text,
        &[input("A", &[7, 9], Format::csr()).stored(15.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense sparse-list))
              (query (for (i 6) (j 9))
                (write W f64 0.0 (6 9) (dense sparse-list) (i j) (+ (at A (+ i 1) j) (at A i j))))
              (produces W))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn scatter_by_an_index_tensor() {
    let text = "(plan (query y (aggregate + 0 (mapjoin * (mapjoin eq (coordinate j) (table P i)) (mapjoin * (table x i) (table one j))) i)) (produces y))";
    let physical = check(
        text,
        &[
            filled("P", &[9], Format::dense(1), Scalar::I64(0)),
            input("x", &[9], Format::csf(1)),
            input("one", &[5], Format::dense(1)),
        ],
        &expect![[r#"
            (physical
              (input x f64 0.0 (9) (sparse-list))
              (input one f64 0.0 (5) (dense))
              (input P i64 0 (9) (dense))
              (query (for (i 9))
                (write y f64 0.0 (5) (dense) ((value (at P i))) (fold +) (* (at x i) (at one (follow (value (at P i))) (outside 0.0)))))
              (produces y))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn gather_by_an_index_tensor() {
    let text = "(plan (query y (aggregate + 0 (mapjoin * (mapjoin eq (coordinate j) (table P i)) (table x j)) j)) (produces y))";
    let physical = check(
        text,
        &[filled("P", &[9], Format::dense(1), Scalar::I64(0)), input("x", &[5], Format::csf(1))],
        &expect![[r#"
            (physical
              (input x f64 0.0 (5) (sparse-list))
              (input P i64 0 (9) (dense))
              (query (for (i 9))
                (write y f64 0.0 (9) (dense) (i) (at x (follow (value (at P i))) (outside 0.0))))
              (produces y))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn triangles() {
    let text =
        "(plan (query t (aggregate + 0 (mapjoin * (table A i j) (table A j k) (table A i k)) i j k)) (produces t))";
    let physical = check(
        text,
        &[filled("A", &[9, 9], Format::csr(), Scalar::I64(0)).stored(20.0)],
        &expect![[r#"
            (physical
              (input A i64 0 (9 9) (dense sparse-list))
              (query (for (i 9) (j 9) (k 9))
                (write t i64 0 () () () (fold +) (* (at A i j) (at A j k) (at A i (follow k) (workspace 1 (byte-map))))))
              (produces t))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn sddmm() {
    let text = "(plan (query C (mapjoin * (table S i j) (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k))) (produces C))";
    let physical = check(
        text,
        &[
            input("S", &[6, 7], Format::csr()).stored(5.0),
            input("A", &[6, 4], Format::dense(2)),
            input("B", &[4, 7], Format::dense(2)),
        ],
        &expect![[r#"
            (physical
              (input S f64 0.0 (6 7) (dense sparse-list))
              (input A f64 0.0 (6 4) (dense dense))
              (input B f64 0.0 (4 7) (dense dense))
              (query (for (i 6) (j 7))
                (where 2 (for (k 4))
                  (t.1 + 0.0 (* (at A i k) (at B k (follow j)))))
                (write C f64 0.0 (6 7) (dense sparse-list) (i j) (* (at S i j) t.1)))
              (produces C))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn sum_times() {
    let text = "(plan (query D (mapjoin * (mapjoin + (table A i j) (table B i j)) (table C i j))) (produces D))";
    let physical = check(
        text,
        &[input("A", &[6, 7], Format::csr()), input("B", &[6, 7], Format::csr()), input("C", &[6, 7], Format::csr())],
        &expect![[r#"
            (physical
              (input A f64 0.0 (6 7) (dense sparse-list))
              (input B f64 0.0 (6 7) (dense sparse-list))
              (input C f64 0.0 (6 7) (dense sparse-list))
              (query (for (i 6) (j 7))
                (write D f64 0.0 (6 7) (dense sparse-list) (i j) (* (+ (at A i j) (at B i j)) (at C i j))))
              (produces D))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn mttkrp() {
    let text =
        "(plan (query M (aggregate + 0 (mapjoin * (table T i k l) (table B k j) (table C l j)) k l)) (produces M))";
    let physical = check(
        text,
        &[
            input("T", &[4, 5, 6], Format::csf(3)).stored(20.0),
            input("B", &[5, 3], Format::dense(2)),
            input("C", &[6, 3], Format::dense(2)),
        ],
        &expect![[r#"
            (physical
              (input T f64 0.0 (4 5 6) (sparse-list sparse-list sparse-list))
              (input B f64 0.0 (5 3) (dense dense))
              (input C f64 0.0 (6 3) (dense dense))
              (query (for (i 4) (k 5) (l 6) (j 3))
                (write M f64 0.0 (4 3) (dense dense) (i j) (fold +) (* (at T i k l) (at B k j) (at C l j))))
              (produces M))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn ttv() {
    let text = "(plan (query V (aggregate + 0 (mapjoin * (table T i j k) (table x k)) k)) (produces V))";
    let physical = check(
        text,
        &[input("T", &[4, 5, 9], Format::csf(3)).stored(20.0), input("x", &[9], Format::dense(1))],
        &expect![[r#"
            (physical
              (input T f64 0.0 (4 5 9) (sparse-list sparse-list sparse-list))
              (input x f64 0.0 (9) (dense))
              (query (for (i 4) (j 5) (k 9))
                (write V f64 0.0 (4 5) (dense dense) (i j) (fold +) (* (at T i j k) (at x k))))
              (produces V))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn ttm() {
    let text = "(plan (query V (aggregate + 0 (mapjoin * (table T i j k) (table B k l)) k)) (produces V))";
    let physical = check(
        text,
        &[input("T", &[4, 5, 9], Format::csf(3)).stored(20.0), input("B", &[9, 3], Format::dense(2))],
        &expect![[r#"
            (physical
              (input T f64 0.0 (4 5 9) (sparse-list sparse-list sparse-list))
              (input B f64 0.0 (9 3) (dense dense))
              (query (for (i 4) (j 5) (k 9) (l 3))
                (write V f64 0.0 (4 5 3) (dense dense dense) (i j l) (fold +) (* (at T i j k) (at B k l))))
              (produces V))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn inner_product() {
    let text = "(plan (query s (aggregate + 0 (mapjoin * (table T i j k) (table U i j k)) i j k)) (produces s))";
    let physical = check(
        text,
        &[input("T", &[4, 5, 6], Format::csf(3)), input("U", &[4, 5, 6], Format::csf(3))],
        &expect![[r#"
            (physical
              (input T f64 0.0 (4 5 6) (sparse-list sparse-list sparse-list))
              (input U f64 0.0 (4 5 6) (sparse-list sparse-list sparse-list))
              (query (for (i 4) (j 5) (k 6))
                (write s f64 0.0 () () () (fold +) (* (at T i j k) (at U i j k))))
              (produces s))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn masked_product_of_booleans() {
    let text = "(plan (query y (mapjoin and (table m i) (aggregate or false (mapjoin and (table A i j) (table x j)) j))) (produces y))";
    let physical = check(
        text,
        &[
            filled("A", &[7, 9], Format::csr(), Scalar::Bool(false)),
            filled("x", &[9], Format::csf(1), Scalar::Bool(false)),
            filled("m", &[7], Format::csf(1), Scalar::Bool(false)),
        ],
        &expect![[r#"
            (physical
              (input m bool false (7) (sparse-list))
              (input A bool false (7 9) (dense sparse-list))
              (input x bool false (9) (sparse-list))
              (query (for (i 7))
                (where 1 (for (j 9))
                  (t.1 or false (and (at A i j) (at x j))))
                (write y bool false (7) (sparse-list) (i) (and (at m i) t.1)))
              (produces y))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn shortest_path_step() {
    let text = "(plan (query y (mapjoin ifelse (table m i) (aggregate min inf (mapjoin + (table A i j) (table x j)) j) inf)) (produces y))";
    let physical = check(
        text,
        &[
            filled("A", &[7, 9], Format::csr(), Scalar::F64(f64::INFINITY)),
            filled("x", &[9], Format::dense(1), Scalar::F64(f64::INFINITY)),
            filled("m", &[7], Format::csf(1), Scalar::Bool(false)),
        ],
        &expect![[r#"
            (physical
              (input m bool false (7) (sparse-list))
              (input A f64 inf (7 9) (dense sparse-list))
              (input x f64 inf (9) (dense))
              (query (for (i 7))
                (where 1 (for (j 9))
                  (t.1 min inf (+ (at A i j) (at x j))))
                (write y f64 inf (7) (sparse-list) (i) (ifelse (at m i) t.1 inf)))
              (produces y))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn norm_is_one_nest() {
    let text = "(plan (query n (mapjoin sqrt (aggregate + 0 (mapjoin square (table A i j)) i j))) (produces n))";
    let physical = check(
        text,
        &[input("A", &[7, 9], Format::csr()).stored(15.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense sparse-list))
              (query (for)
                (where 0 (for (i 7) (j 9))
                  (t.1 + 0.0 (square (at A i j))))
                (write n f64 0.0 () () () (sqrt t.1)))
              (produces n))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn sum_of_fives() {
    let text = "(plan (query s (aggregate + 0 (table A i j) j)) (produces s))";
    let physical = check(
        text,
        &[filled("A", &[6, 7], Format::csr(), Scalar::F64(5.0))],
        &expect![[r#"
            (physical
              (input A f64 5.0 (6 7) (dense sparse-list))
              (query (for (i 6))
                (where 1 (for (j 7))
                  (t.1 + 0.0 (at A i j)))
                (write s f64 35.0 (6) (dense) (i) t.1))
              (produces s))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn sum_of_fives_by_columns() {
    let text = "(plan (query s (aggregate + 0 (table A i j) i)) (produces s))";
    check(
        text,
        &[filled("A", &[6, 7], Format::csr(), Scalar::F64(5.0))],
        &expect![[r#"
            (physical
              (input A f64 5.0 (6 7) (dense sparse-list))
              (query (for (i 6) (j 7))
                (write s.1 f64 0.0 (7) (dense) (j) (fold +) (at A i j)))
              (query (for (j 7))
                (write s f64 30.0 (7) (dense) (j) (at s.1 j)))
              (produces s))"#]],
    );
}

#[test]
fn mean_and_variance_by_row() {
    let text = "(plan (query m (mapjoin / (aggregate + 0 (table A i j) j) 9)) (query v (mapjoin - (mapjoin / (aggregate + 0 (mapjoin square (table A i k)) k) 9) (mapjoin square (table m i)))) (produces v))";
    let physical = check(
        text,
        &[input("A", &[7, 9], Format::csr()).stored(15.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense sparse-list))
              (query (for (i 7))
                (where 1 (for (k 9))
                  (t.1 + 0.0 (square (at A i k)))
                  (t.2 + 0.0 (at A i k)))
                (write v f64 0.0 (7) (dense) (i) (- (/ t.1 9.0) (square (/ t.2 9.0)))))
              (produces v))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn product_of_folds_is_isolated() {
    let text =
        "(plan (query g (mapjoin * (aggregate + 0 (table A i j) j) (aggregate + 0 (table A k l) l))) (produces g))";
    check(
        text,
        &[input("A", &[7, 9], Format::csr()).stored(15.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense sparse-list))
              (query (for (k 7) (l 9))
                (write g.1 f64 0.0 (7) (dense) (k) (fold +) (at A k l)))
              (query (for (i 7) (k 7))
                (write g f64 0.0 (7 7) (dense dense) (i k) (* (at g.1 i) (at g.1 k))))
              (produces g))"#]],
    );
}

#[test]
fn map_of_a_product_is_isolated() {
    let text = "(plan (query C (mapjoin sqrt (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k))) (produces C))";
    check(
        text,
        &[input("A", &[40, 50], Format::csr()).stored(60.0), input("B", &[50, 60], Format::csr()).stored(60.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (40 50) (dense sparse-list))
              (input B f64 0.0 (50 60) (dense sparse-list))
              (query (for (i 40) (k 50) (j 60))
                (write C.1 f64 0.0 (40 60) (dense sparse-list) (i j) (fold +) (workspace 1 (byte-map)) (* (at A i k) (at B k j))))
              (query (for (i 40) (j 60))
                (write C f64 0.0 (40 60) (dense sparse-list) (i j) (sqrt (at C.1 i j))))
              (produces C))"#]],
    );
}

#[test]
fn scan() {
    let text = "(plan (query c (scan + (table x j) j)) (produces c))";
    let physical = check(
        text,
        &[input("x", &[9], Format::dense(1))],
        &expect![[r#"
            (physical
              (input x f64 0.0 (9) (dense))
              (query (for (j 9))
                (where 1 (since 0) (for)
                  (t.1 + 0.0 (at x j)))
                (write c f64 0.0 (9) (dense) (j) t.1))
              (produces c))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn subtraction_keeps_its_order() {
    let text = "(plan (query s (aggregate - 0 (table A i j) j i)) (produces s))";
    check(
        text,
        &[input("A", &[7, 9], Format::csr()).stored(15.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense sparse-list))
              (query (for (c0 7) (c1 9))
                (write A.1 f64 0.0 (7 9) (dense@1 sparse-list@0) (c1 c0) (workspace 0 (dense hash)) (at A c0 c1)))
              (query (for (j 9) (i 7))
                (write s f64 0.0 () () () (fold -) (at A.1 j i)))
              (produces s))"#]],
    );
}

#[test]
fn diagonal_mask() {
    let text = "(plan (query t (aggregate + 0 (mapjoin * (mapjoin eq (coordinate i) (coordinate j)) (table A i j)) i j)) (produces t))";
    let physical = check(
        text,
        &[input("A", &[8, 8], Format::csr())],
        &expect![[r#"
            (physical
              (input A f64 0.0 (8 8) (dense sparse-list))
              (query (for (j 8))
                (write t f64 0.0 () () () (fold +) (at A j (follow j))))
              (produces t))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn convolution() {
    let text = "(plan (query y (aggregate + 0 (mapjoin * (index (toeplitz j i k 3) (table x j)) (table w k)) k)) (produces y))";
    let physical = check(
        text,
        &[input("x", &[9], Format::dense(1)), input("w", &[3], Format::dense(1))],
        &expect![[r#"
            (physical
              (input x f64 0.0 (9) (dense))
              (input w f64 0.0 (3) (dense))
              (query (for (k 3) (i 7))
                (write y f64 0.0 (7) (dense) (i) (fold +) (* (at x (+ i k)) (at w k))))
              (produces y))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn permissive_shift() {
    let text = "(plan (query y (mapjoin + (index (offset j 1 7.0) (table x j)) (table z j))) (produces y))";
    let physical = check(
        text,
        &[input("x", &[9], Format::csf(1)), input("z", &[9], Format::csf(1))],
        &expect![[r#"
            (physical
              (input x f64 0.0 (9) (sparse-list))
              (input z f64 0.0 (9) (sparse-list))
              (query (for (j 9))
                (write y f64 0.0 (9) (dense) (j) (+ (at x (+ j 1) (outside 7.0)) (at z j))))
              (produces y))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn reversed_and_strided() {
    let text =
        "(plan (query y (mapjoin + (index (reverse j) (table x j)) (index (stride j 2) (table z j)))) (produces y))";
    let physical = check(
        text,
        &[input("x", &[5], Format::csf(1)), input("z", &[9], Format::csf(1))],
        &expect![[r#"
            (physical
              (input x f64 0.0 (5) (sparse-list))
              (input z f64 0.0 (9) (sparse-list))
              (query (for (j 5))
                (write y f64 0.0 (5) (dense) (j) (+ (at x (+ (* -1 j) 4)) (at z (* 2 j)))))
              (produces y))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn blocks_times_rows() {
    let text = "(plan (query C (mapjoin * (table A i j) (table B i j))) (produces C))";
    check(
        text,
        &[input("A", &[7, 9], Format::bcsr(2, 4)).stored(16.0), input("B", &[7, 9], Format::csr()).stored(10.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense@0/2 sparse-list@1/4 dense@0%2 dense@1%4))
              (input B f64 0.0 (7 9) (dense sparse-list))
              (query (for (i 7) (j.o 3) (j.i 4 j.o 9))
                (write C f64 0.0 (7 9) (dense dense) (i (+ j.i (* 4 j.o))) (* (at A (follow (quot i 2)) j.o (follow (mod i 2)) j.i) (at B i (+ j.i (* 4 j.o))))))
              (produces C))"#]],
    );
}

#[test]
fn rows_to_blocks() {
    let text = "(plan (query C (reformat (bcsr 2 4) (table A i j))) (produces C))";
    let physical = check(
        text,
        &[input("A", &[7, 9], Format::csr()).stored(10.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense sparse-list))
              (query (for (i.o 4) (j.o 3) (i.i 2 i.o 7) (j.i 4 j.o 9))
                (write C f64 0.0 (7 9) (dense@0/2 sparse-list@1/4 dense@0%2 dense@1%4) (i.o j.o i.i j.i) (at A (+ i.i (* 2 i.o)) (+ j.i (* 4 j.o)))))
              (produces C))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn rows_to_columns() {
    let text = "(plan (query C (reformat csc (table A i j))) (produces C))";
    let physical = check(
        text,
        &[input("A", &[7, 9], Format::csr()).stored(10.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (7 9) (dense sparse-list))
              (query (for (i 7) (j 9))
                (write C f64 0.0 (7 9) (dense@1 sparse-list@0) (j i) (workspace 0 (dense hash)) (at A i j)))
              (produces C))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn symmetric_sum() {
    let text = "(plan (query C (mapjoin + (table A i j) (relabel (table A i j) j i))) (produces C))";
    check(
        text,
        &[input("A", &[300, 300], Format::csr()).stored(900.0)],
        &expect![[r#"
            (physical
              (input A f64 0.0 (300 300) (dense sparse-list))
              (query (for (c0 300) (c1 300))
                (write A.1 f64 0.0 (300 300) (dense@1 sparse-list@0) (c1 c0) (workspace 0 (dense hash)) (at A c0 c1)))
              (query (for (i 300) (j 300))
                (write C f64 0.0 (300 300) (dense sparse-list) (i j) (+ (at A i j) (at A.1 i j))))
              (produces C))"#]],
    );
}

#[test]
fn intersection_of_unequal_sizes_gallops() {
    let text = "(plan (query s (aggregate + 0 (mapjoin * (table x i) (table y i)) i)) (produces s))";
    let physical = check(
        text,
        &[input("x", &[1000], Format::csf(1)).stored(500.0), input("y", &[1000], Format::csf(1)).stored(5.0)],
        &expect![[r#"
            (physical
              (input x f64 0.0 (1000) (sparse-list))
              (input y f64 0.0 (1000) (sparse-list))
              (query (for (i 1000))
                (write s f64 0.0 () () () (fold +) (* (at x (gallop i)) (at y (gallop i)))))
              (produces s))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

#[test]
fn tables_are_followed() {
    let text = "(plan (query s (aggregate + 0 (mapjoin * (table x i) (table y i)) i)) (produces s))";
    let physical = check(
        text,
        &[
            input("x", &[90], Format::csf(1)).stored(20.0),
            input("y", &[90], Format::of_kinds(&[LevelKind::Hash], LeafKind::Element)).stored(20.0),
        ],
        &expect![[r#"
            (physical
              (input x f64 0.0 (90) (sparse-list))
              (input y f64 0.0 (90) (hash))
              (query (for (i 90))
                (write s f64 0.0 () () () (fold +) (* (at x i) (at y (follow i)))))
              (produces s))"#]],
    );
    assert_eq!(physical.queries.len(), 1);
}

/// The lists of a sum advance to the entries of a factor whose fill value annihilates the product,
/// if the list of the factor is much shorter or much longer than the lists of the sum.
#[test]
fn a_factor_leads_the_lists_of_a_sum() {
    let text = "(plan (query D (mapjoin * (mapjoin + (table A i j) (table B i j)) (table C i j))) (produces D))";
    let input = |name: &str, stored: f64| input(name, &[900, 900], Format::csr()).stored(stored);
    for (factor, leads) in [(800.0, true), (8e5, true), (2e3, true), (8e3, false)] {
        let inputs = [input("A", 9e3), input("B", 9e3), input("C", factor)];
        let (physical, _) = check_plain(text, &inputs, &OptimizerConfig::default());
        let value = "(* (+ (at A i j) (at B i j)) (at C i (gallop j)))";
        assert_eq!(physical.to_string().contains(value), leads, "{factor}: {physical}");
    }
}
