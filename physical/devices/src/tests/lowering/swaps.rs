//! Tests of buffers that are swapped between rounds, and of loops that stop at the first match.

use super::check;

/// A breadth-first search that pushes from the frontier and finds the parent of each vertex, with
/// the frontier in several formats that take random writes.
#[test]
fn frontiers_take_turns() {
    for levels in ["byte-map", "hash", "dense"] {
        check(
            &format!(
                "(program (input A (type (shape 6 6) f64 0.0 csr)) (input source (type (shape) i64 0 dense))
                   (output y (type (shape 6) i64 -1 dense)) (output rounds (type (shape) i64 0 dense))
                   (local F (type (shape 6) i64 0 ({levels} (element)))) (local N (type (shape 6) i64 0 ({levels} (element))))
                   (local found i64 0) (local P (type (shape 6) i64 -1 dense))
                   (declare P) (declare F) (declare rounds) (declare found)
                   (let s (max 0 (min source 5)) (block (= (P s) s) (= (F s) 1)))
                   (= found 1)
                   (while (gt found 0)
                     (declare N)
                     (for j (if (ne (F j) 0)
                       (for i (if (and (ne (A (follow j) i) 0) (eq (P i) -1)) (choose= (N i) (+ j 1))))))
                     (= found 0)
                     (for i (if (ne (N i) 0) (= (P i) (- (N i) 1)) (+= found 1)))
                     (+= rounds 1)
                     (swap F N))
                   (for i (init (y i) (P i))))"
            ),
            60,
        );
    }
}

/// The contents of a tensor that is swapped out return with the next swap, unless they are
/// overwritten in between.
#[test]
fn swapped_contents_return() {
    check(
        "(program (input x (type (shape 5) i64 0 dense)) (output y (type (shape 5) i64 0 dense))
           (output z (type (shape 5) i64 0 dense)) (local a (type (shape 5) i64 0 (byte-map (element))))
           (local b (type (shape 5) i64 0 (byte-map (element)))) (local k i64 0)
           (declare a) (declare b) (declare k)
           (for i (= (a i) (x i))) (for i (range 0 2) (= (b (+ i 2)) 7))
           (= k 0)
           (while (lt k 3) (swap a b) (let next (+ k 1) (= k next)))
           (for i (init (y i) (a i))) (for i (init (z i) (b i))))",
        40,
    );
    check(
        "(program (input x (type (shape 5) i64 0 dense)) (output y (type (shape 5) i64 0 dense))
           (local a (type (shape 5) i64 0 dense)) (local b (type (shape 5) i64 0 dense))
           (declare a) (declare b)
           (for i (= (a i) (x i)))
           (for k (range 0 3) (block
             (for i (= (b i) (+ (* 2 (a i)) k)))
             (swap a b)))
           (for i (init (y i) (+ (a i) (b i)))))",
        40,
    );
}

/// The loop over a row ends at the first entry that satisfies the condition. The coordinate of this
/// entry, plus 1, is assigned to `p`.
#[test]
fn the_first_match_ends_a_loop() {
    check(
        "(program (input A (type (shape 5 6) i64 0 csr)) (input x (type (shape 6) i64 0 dense))
           (output y (type (shape 5) i64 0 dense)) (output n (type (shape) i64 0 dense)) (local p i64 0)
           (for i (where (block (init (y i) p) (if (ne p 0) (+= n 1)))
             (for j (if (and (ne (A i j) 0) (ne (x j) 0)) (choose= p (+ j 1)))))))",
        200,
    );
}
