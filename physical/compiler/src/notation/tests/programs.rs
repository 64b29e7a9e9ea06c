//! Tests of hand-written programs: their results and their normal forms.

use super::*;
use expect_test::{Expect, expect};

fn f(v: f64) -> Scalar {
    Scalar::F64(v)
}

/// Returns a value of a sparse matrix of small integers.
fn a(i: &[u64]) -> Scalar {
    f(if (i[0] * 3 + i[1]).is_multiple_of(4) { (1 + i[0] + 2 * i[1]) as f64 } else { 0.0 })
}

fn b(i: &[u64]) -> Scalar {
    f(if (i[0] + 2 * i[1]).is_multiple_of(3) { (2 + i[0]) as f64 } else { 0.0 })
}

fn x(i: &[u64]) -> Scalar {
    f((i[0] + 1) as f64)
}

#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn check(text: &str, values: &InputValues, expected: Expect) {
    expected.assert_eq(&run_all(&program(text), values));
}

#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn check_normal(text: &str, expected: Expect) {
    let normal = match normalize(program(text)) {
        Ok(p) => print(&p),
        Err(e) => format!("error: {e}\n"),
    };
    // Leaves out the declarations of tensors.
    let body: Vec<&str> = normal.lines().filter(|l| !l.contains("(type ")).collect();
    expected.assert_eq(&(body.join("\n") + "\n"));
}

const SPMV: &str = "(program
    (input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
    (output y (type (shape _) f64 0.0 dense))
    (for i (for j (+= (y i) (* (A i j) (x j))))))";

#[test]
fn spmv() {
    check(
        SPMV,
        &[("A", &a), ("x", &x)],
        expect![[r#"
        y [4]: 46.0 8.0 21.0 40.0
    "#]],
    );
    check_normal(
        SPMV,
        expect![[r#"
        (program
          (block
            (declare y)
            (for i (range 0 4) (for j (range 0 5) (+= (y i) (* (A i j) (x j)))))
            (freeze y)))
    "#]],
    );
}

const SPGEMM: &str = "(program
    (input A (type (shape 4 5) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
    (output C (type (shape 4 3) f64 0.0 csr)) (local w (type (shape 3) f64 0.0 (byte-map (element))))
    (for i (where
        (for j (init (C i j) (w j)))
        (for k (for j (+= (w j) (* (A i k) (B k j))))))))";

#[test]
fn spgemm_with_row_workspace() {
    check(
        SPGEMM,
        &[("A", &a), ("B", &b)],
        expect![[r#"
        C [4, 3]: 2.0 54.0 0.0 0.0 12.0 0.0 0.0 0.0 28.0 50.0 0.0 0.0
    "#]],
    );
    check_normal(
        SPGEMM,
        expect![[r#"
        (program
          (block
            (declare C)
            (for i
              (range 0 4)
              (block
                (declare w)
                (where
                  (block (freeze w) (for j (range 0 3) (init (C i j) (w j))))
                  (for k (range 0 5) (for j (range 0 3) (+= (w j) (* (A i k) (B k j))))))))
            (freeze C)))
    "#]],
    );
}

#[test]
fn triangles() {
    let text = "(program
        (input E (type (shape 6 6) i64 0 csr)) (output n (type (shape) i64 0 dense))
        (for i (for j (for k (if (and (lt i j) (lt j k)) (+= n (* (E i (gallop j)) (E j (gallop k)) (E i (gallop k)))))))))";
    let e = |i: &[u64]| Scalar::I64(i64::from(i[0] != i[1] && (i[0] + i[1]) % 4 != 1));
    check(
        text,
        &[("E", &e)],
        expect![[r#"
        n []: 4
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare n)
            (for i
              (range 0 6)
              (for j
                (range 0 6)
                (for k
                  (range 0 6)
                  (if
                    (and (lt i j) (lt j k))
                    (+= (n) (* (E i (gallop j)) (E j (gallop k)) (E i (gallop k))))))))
            (freeze n)))
    "#]],
    );
}

#[test]
fn residual_with_a_scalar_temporary() {
    let text = "(program
        (input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
        (input b (type (shape 4) f64 0.0 dense))
        (output r (type (shape 4) f64 0.0 dense)) (local t f64 0.0)
        (for i (where (init (r i) (- (b i) t)) (for j (+= t (* (A i j) (x j)))))))";
    check(
        text,
        &[("A", &a), ("x", &x), ("b", &x)],
        expect![[r#"
        r [4]: -45.0 -6.0 -18.0 -36.0
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare r)
            (for i
              (range 0 4)
              (block
                (declare t)
                (where
                  (block (freeze t) (init (r i) (- (b i) (t))))
                  (for j (range 0 5) (+= (t) (* (A i j) (x j)))))))
            (freeze r)))
    "#]],
    );
}

#[test]
fn argmin_by_row() {
    let text = "(program
        (input A (type (shape 3 4) f64 0.0 csr))
        (output m (type (shape 3) (struct (value f64) (coordinate i64)) (inf 9223372036854775807) dense))
        (for i (for j (minby= (m i) (pair (A i j) j)))))";
    let a = |i: &[u64]| f(if (i[0] + i[1]).is_multiple_of(3) { -(i[1] as f64) } else { 0.0 });
    check(
        text,
        &[("A", &a)],
        expect![[r#"
        m [3]: (-3.0 3) (-2.0 2) (-1.0 1)
    "#]],
    );
}

#[test]
fn blocks_with_ragged_ends() {
    let text = "(program
        (input A (type (shape 5 7) f64 0.0 (bcsr 2 3))) (input x (type (shape 7) f64 0.0 dense))
        (output y (type (shape 5) f64 0.0 dense))
        (for io (for jo
            (for ii (range 0 (min 2 (- 5 (* 2 io))))
                (for ji (range 0 (min 3 (- 7 (* 3 jo))))
                    (+= (y (+ (* 2 io) ii)) (* (A io jo ii ji) (x (+ (* 3 jo) ji)))))))))";
    check(
        text,
        &[("A", &a), ("x", &x)],
        expect![[r#"
        y [5]: 46.0 80.0 126.0 40.0 70.0
    "#]],
    );
    check_normal(
        text,
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
    );
}

#[test]
fn blocks_by_whole_indices() {
    let text = "(program
        (input A (type (shape 5 7) f64 0.0 (bcsr 2 3))) (input x (type (shape 7) f64 0.0 dense))
        (output y (type (shape 5) f64 0.0 dense))
        (for i (for j
            (+= (y i) (* (A (floordiv i 2) (floordiv j 3) (rem i 2) (rem j 3)) (x j))))))";
    check(
        text,
        &[("A", &a), ("x", &x)],
        expect![[r#"
        y [5]: 46.0 80.0 126.0 40.0 70.0
    "#]],
    );
    check_normal(
        text,
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
                  (let v0
                    (floordiv i 2)
                    (let v2
                      (rem i 2)
                      (for j
                        (range 0 7)
                        (let v1
                          (floordiv j 3)
                          (let v3
                            (rem j 3)
                            (for s2
                              (range v0 (+ v0 1))
                              (for s3
                                (range v1 (+ v1 1))
                                (for s4
                                  (range v2 (+ v2 1))
                                  (for s5 (range v3 (+ v3 1)) (+= (y i) (* (A s2 s3 s4 s5) (x j)))))))))))))
                (freeze y)))
        "#]],
    );
}

#[test]
fn window() {
    let text = "(program
        (input A (type (shape 5 3) f64 0.0 csr)) (output B (type (shape 4 3) f64 0.0 csr))
        (for i (range 0 4) (for j (init (B i j) (+ (A (+ i 1) j) (A i j))))))";
    check(
        text,
        &[("A", &a)],
        expect![[r#"
        B [4, 3]: 1.0 4.0 0.0 0.0 4.0 7.0 0.0 0.0 7.0 5.0 0.0 0.0
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare B)
            (for i (range 0 4) (for j (range 0 3) (init (B i j) (+ (A (+ i 1) j) (A i j)))))
            (freeze B)))
    "#]],
    );
}

#[test]
fn scatter_and_gather() {
    let text = "(program
        (input P (type (shape 4) i64 0 dense)) (input x (type (shape 4) f64 0.0 dense))
        (output y (type (shape 6) f64 0.0 dense)) (output z (type (shape 4) f64 0.0 dense))
        (for i (block (+= (y (P i)) (x i)) (init (z i) (x (rem (P i) 4))))))";
    let p = |i: &[u64]| Scalar::I64([5, 2, 5, 0][i[0] as usize]);
    check(
        text,
        &[("P", &p), ("x", &x)],
        expect![[r#"
        y [6]: 4.0 0.0 2.0 0.0 0.0 4.0
        z [4]: 2.0 3.0 2.0 1.0
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare y)
            (declare z)
            (for i
              (range 0 4)
              (let v0
                (P i)
                (let v1
                  (rem (P i) 4)
                  (block
                    (for s1 (range v0 (+ v0 1)) (+= (y s1) (x i)))
                    (for s2 (range v1 (+ v1 1)) (init (z i) (x s2)))))))
            (freeze y)
            (freeze z)))
    "#]],
    );
}

#[test]
fn conditions_on_a_subscript_share_its_value() {
    let inner = "(x (outside 0.0 (rem (P i) 5)))";
    let outer = format!("(- (cast-i64 {inner}) 1)");
    let value = format!("(ifelse (and (ge {outer} 0) (lt {outer} 4)) (x (outside 0.0 {outer})) {inner})");
    let text = format!(
        "(program
        (input P (type (shape 4) i64 0 dense)) (input x (type (shape 4) f64 0.0 dense))
        (output y (type (shape 4) f64 0.0 dense))
        (for i (init (y i) {value})))"
    );
    let p = |i: &[u64]| Scalar::I64([5, 2, 4, 0][i[0] as usize]);
    check(
        &text,
        &[("P", &p), ("x", &x)],
        expect![[r#"
        y [4]: 1.0 3.0 0.0 1.0
    "#]],
    );
    check_normal(
        &text,
        expect![[r#"
        (program
          (block
            (declare y)
            (for i
              (range 0 4)
              (let v0
                (rem (P i) 5)
                (for s1
                  (range v0 (+ v0 1))
                  (let v1
                    (cast-i64 (x (outside 0.0 s1)))
                    (for s2
                      (range (+ v1 -1) (+ (+ v1 -1) 1))
                      (for s3
                        (range v0 (+ v0 1))
                        (init
                          (y i)
                          (ifelse
                            (and (ge (- v1 1) 0) (lt (- v1 1) 4))
                            (x (outside 0.0 s2))
                            (x (outside 0.0 s3))))))))))
            (freeze y)))
    "#]],
    );
}

#[test]
fn row_normalisation_sums_and_counts() {
    let text = "(program
        (input A (type (shape 4 5) f64 0.0 csr))
        (output B (type (shape 4 5) f64 0.0 csr)) (output n (type (shape 4) i64 0 dense)) (local s f64 0.0)
        (for i (where
            (for j (init (B i j) (/ (A i j) s)))
            (for j (block (+= s (abs (A i j))) (+= (n i) (cast-i64 (ne (A i j) 0))))))))";
    check(
        text,
        &[("A", &a)],
        expect![[r#"
        B [4, 5]: 0.1 0.0 0.0 0.0 0.9 0.0 1.0 0.0 0.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 0.0 0.0 1.0 0.0
        n [4]: 2 1 1 1
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare B)
            (declare n)
            (for i
              (range 0 4)
              (block
                (declare s)
                (where
                  (block (freeze s) (for j (range 0 5) (init (B i j) (/ (A i j) (s)))))
                  (for j (range 0 5) (block (+= (s) (abs (A i j))) (+= (n i) (cast-i64 (ne (A i j) 0.0))))))))
            (freeze B)
            (freeze n)))
    "#]],
    );
}

#[test]
fn transposed_repeated_and_constant_subscripts_get_loops_of_one_round() {
    let text = "(program
        (input A (type (shape 4 4) f64 0.0 csr)) (input B (type (shape 4 4) f64 0.0 csr))
        (output y (type (shape 4) f64 0.0 dense))
        (for i (for j (+= (y j) (+ (* (A j i) (B j i)) (A i i) (A 2 j))))))";
    check(
        text,
        &[("A", &a), ("B", &b)],
        expect![[r#"
        y [4]: 24.0 34.0 78.0 72.0
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare y)
            (for i
              (range 0 4)
              (for s3
                (range 2 3)
                (for j
                  (range 0 4)
                  (for s2 (range i (+ i 1)) (+= (y j) (+ (* (A j s2) (B j s2)) (A i s2) (A s3 j)))))))
            (freeze y)))
    "#]],
    );
}

#[test]
fn convolution_reverse_and_shift() {
    let text = "(program
        (input x (type (shape 6) f64 0.0 dense)) (input k (type (shape 3) f64 0.0 dense))
        (output y (type (shape 4) f64 0.0 dense)) (output z (type (shape _) f64 0.0 dense)) (output s (type (shape 6) f64 0.0 dense))
        (block
            (for i (for j (+= (y i) (* (x (+ i j)) (k j)))))
            (for i (init (z i) (x (- 5 i))))
            (for i (init (s i) (x (outside -1.0 (- i 2)))))))";
    check(
        text,
        &[("x", &x), ("k", &x)],
        expect![[r#"
        y [4]: 14.0 20.0 26.0 32.0
        z [6]: 6.0 5.0 4.0 3.0 2.0 1.0
        s [6]: -1.0 -1.0 1.0 2.0 3.0 4.0
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare y)
            (declare z)
            (declare s)
            (for i (range 0 4) (for j (range 0 3) (+= (y i) (* (x (+ j i)) (k j)))))
            (for i (range 0 6) (init (z i) (x (+ (* -1 i) 5))))
            (for i (range 0 6) (init (s i) (x (outside -1.0 (+ i -2)))))
            (freeze y)
            (freeze z)
            (freeze s)))
    "#]],
    );
}

#[test]
fn running_sum_with_a_carried_scalar() {
    let text = "(program
        (input x (type (shape 5) f64 0.0 dense)) (output y (type (shape 5) f64 0.0 dense)) (local s f64 0.0)
        (declare s)
        (for i (block (+= s (x i)) (init (y i) s))))";
    check(
        text,
        &[("x", &x)],
        expect![[r#"
        y [5]: 1.0 3.0 6.0 10.0 15.0
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare y)
            (declare s)
            (for i (range 0 5) (block (+= (s) (x i)) (freeze s) (init (y i) (s)) (thaw s)))
            (freeze y)))
    "#]],
    );
}

#[test]
fn while_halves_until_small() {
    let text = "(program
        (input n (type (shape) i64 0 dense)) (output rounds (type (shape) i64 0 dense)) (local m i64 0)
        (= m n)
        (while (gt m 1) (block (let half (floordiv m 2) (= m half)) (+= rounds 1))))";
    check(
        text,
        &[("n", &|_: &[u64]| Scalar::I64(20))],
        expect![[r#"
        rounds []: 4
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare rounds)
            (declare m)
            (= (m) (n))
            (freeze m)
            (while
              (gt (m) 1)
              (block (let half (floordiv (m) 2) (block (thaw m) (= (m) half))) (+= (rounds) 1) (freeze m)))
            (freeze rounds)))
    "#]],
    );
}

#[test]
fn forms_of_variables_are_substituted() {
    let text = "(program
        (input x (type (shape 6) f64 0.0 dense)) (output y (type (shape 4) f64 0.0 dense))
        (for i (range 0 4) (let next (+ i 2) (init (y i) (* (x next) (cast-f64 next))))))";
    check(
        text,
        &[("x", &x)],
        expect![[r#"
        y [4]: 6.0 12.0 20.0 30.0
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare y)
            (for i (range 0 4) (let next (+ i 2) (init (y i) (* (x (+ i 2)) (cast-f64 next)))))
            (freeze y)))
    "#]],
    );
}

#[test]
fn a_read_at_a_constant_leaves_declarations_outside() {
    let text = "(program
        (input P (type (shape 4) i64 0 dense)) (input x (type (shape 4) f64 0.0 dense))
        (output y (type (shape 4) f64 0.0 dense))
        (for i (init (y i) (* (x i) (x (P 1))))))";
    let p = |i: &[u64]| Scalar::I64(3 - i[0] as i64);
    check(
        text,
        &[("P", &p), ("x", &x)],
        expect![[r#"
        y [4]: 3.0 6.0 9.0 12.0
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare t3)
            (where
              (let v0
                (t3)
                (block
                  (declare y)
                  (for i (range 0 4) (for s2 (range v0 (+ v0 1)) (init (y i) (* (x i) (x s2)))))
                  (freeze y)))
              (block (for s1 (range 1 2) (init (t3) (P s1))) (freeze t3)))))
    "#]],
    );
}

#[test]
fn lifecycles_that_are_written_in_part_are_completed() {
    let text = "(program
        (input x (type (shape 4) f64 0.0 dense)) (output y (type (shape 4) f64 0.0 dense))
        (local w (type (shape 4) f64 0.0 dense)) (local s f64 0.0)
        (declare w)
        (for i (range 0 2) (block
            (if (lt i 1) (for j (+= (w j) (x j))))
            (freeze w)
            (for j (block (+= s (w j)) (+= (y j) s)))
            (thaw w)))
        (for j (+= (y j) (w j))))";
    check(
        text,
        &[("x", &x)],
        expect![[r#"
        y [4]: 3.0 6.0 9.0 12.0
    "#]],
    );
    check_normal(
        text,
        expect![[r#"
        (program
          (block
            (declare y)
            (declare w)
            (for i
              (range 0 2)
              (block
                (if (lt i 1) (for j (range 0 4) (+= (w j) (x j))))
                (freeze w)
                (for j (range 0 4) (block (declare s) (+= (s) (w j)) (freeze s) (+= (y j) (s))))
                (thaw w)))
            (freeze w)
            (for j (range 0 4) (+= (y j) (w j)))
            (freeze y)))
    "#]],
    );
}
