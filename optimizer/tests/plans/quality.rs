//! Tests that common programs get the plans that an expert would write.

use super::algebra::{check, csr, dense};
use super::*;
use expect_test::expect;

#[test]
fn the_trace_of_a_product_is_one_pass() {
    check(
        "(plan (query s (aggregate + 0 (mapjoin * (table A i k) (table B k i)) i k)) (produces s))",
        &[csr("A", &[10_000, 10_000]).stored(50_000.0), csr("B", &[10_000, 10_000]).stored(50_000.0)],
        &[csr("A", &[5, 5]), csr("B", &[5, 5])],
        &expect![[r#"
            B.1: c0 c1
            s: i k
        "#]],
    );
}

/// With dense tensors, the product is not distributed over the sum: one nest computes the result.
#[test]
fn products_over_sums_are_distributed_only_where_it_pays() {
    let text = "(plan (query R (aggregate + 0 (mapjoin * (table A i k) (mapjoin + (table B k j) (table C k j))) k))
        (produces R))";
    let small = || [dense("A", &[3, 4]), dense("B", &[4, 5]), dense("C", &[4, 5])];
    check(
        text,
        &[dense("A", &[100, 100]), dense("B", &[100, 100]), dense("C", &[100, 100])],
        &small(),
        &expect![[r#"
        R: i k j
    "#]],
    );
}

#[test]
fn a_step_of_page_rank_is_one_kernel_over_the_graph() {
    check(
        "(plan (query R (mapjoin + 0.0001 (mapjoin * 0.85
           (aggregate + 0 (mapjoin * (table A i j) (mapjoin / (table r j) (table d j))) j)))) (produces R))",
        &[csr("A", &[10_000, 10_000]).stored(200_000.0), dense("r", &[10_000]), dense("d", &[10_000])],
        &[csr("A", &[5, 5]), dense("r", &[5]), filled("d", &[5], Format::dense(1), Scalar::F64(3.0))],
        &expect![[r#"
            R: i (j)
        "#]],
    );
}

#[test]
fn cosines_divide_by_norms_that_are_computed_once() {
    check(
        "(plan
           (query n (mapjoin sqrt (aggregate + 0 (mapjoin * (table A i k) (table A i k)) k)))
           (query R (mapjoin / (aggregate + 0 (mapjoin * (table A i k) (table A j k)) k)
             (mapjoin + 1.0 (mapjoin * (table n i) (relabel (table n i) j)))))
           (produces R))",
        &[csr("A", &[1000, 10_000]).stored(20_000.0)],
        &[csr("A", &[5, 6])],
        &expect![[r#"
            n: i (k)
            A.1: c0 c1
            R: i k j
        "#]],
    );
}

#[test]
fn a_gradient_of_least_squares_is_one_pass_over_the_matrix() {
    check(
        "(plan (query g (aggregate + 0 (mapjoin * (table A i k)
           (mapjoin - (aggregate + 0 (mapjoin * (table A i j) (table x j)) j) (table b i))) i)) (produces g))",
        &[csr("A", &[100_000, 1000]).stored(1_000_000.0), dense("x", &[1000]), dense("b", &[100_000])],
        &[csr("A", &[7, 5]), dense("x", &[5]), dense("b", &[7])],
        &expect![[r#"
            g: i k (j)
        "#]],
    );
}

#[test]
fn layers_of_message_passing_multiply_by_the_smaller_side_first() {
    let layer = |out: &str, input: &str, weights: &str| {
        format!(
            "(query {out} (mapjoin max 0.0 (aggregate + 0 (mapjoin * (table A i j) (relabel {input} j f)
               (relabel (table {weights} f g) f g)) j f)))"
        )
    };
    let text = format!(
        "(plan {} {} {} (produces H3))",
        layer("H1", "(table X i f)", "U"),
        layer("H2", "(table H1 i g)", "V"),
        layer("H3", "(table H2 i g)", "W"),
    );
    let graph = |n: u64| csr("A", &[n, n]);
    check(
        &text,
        &[
            graph(10_000).stored(200_000.0),
            dense("X", &[10_000, 256]),
            dense("U", &[256, 32]),
            dense("V", &[32, 32]),
            dense("W", &[32, 128]),
        ],
        &[graph(4), dense("X", &[4, 6]), dense("U", &[6, 3]), dense("V", &[3, 3]), dense("W", &[3, 5])],
        &expect![[r#"
            H3.1.1.1.1.1.1: j.3 f.3 f.2
            H3.1.1.1.1.1: f.2 j.2 j.3
            H3.1.1.1.1: f.2 j j.2
            H3.1.1.1: f.2 f j
            H3.1.1: f i j
            H3.1: f g i
            H3: g i
        "#]],
    );
}
