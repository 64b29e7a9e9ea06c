//! Tests of the CUDA text: golden text of small grids, compilation with NVRTC, runs on the host,
//! and results that stay on a device.

mod appends;
mod emulated;
pub(super) use emulated::Host;
mod golden;
mod nvrtc;
mod resident;
mod shares;

use crate::grid::{Grid, GridPlan, TeamSize};
use redpoll_compiler::lower::{Draft, ListLengths};
use redpoll_compiler::notation::Program;
use redpoll_compiler::testing::normal_form;
use redpoll_logic::FloatMode;
use std::sync::Arc;

/// Returns the grids of a program.
fn grids(text: &str) -> Vec<Grid> {
    grids_of(&normal_form(text))
}

/// Returns the grids of a program in normal form.
fn grids_of(program: &Program) -> Vec<Grid> {
    let draft = Draft::new(&Arc::new(program.clone()), &[], FloatMode::default()).with_lists(ListLengths::default());
    GridPlan::of(&draft, TeamSize::Automatic).grids().cloned().collect()
}

/// Programs that together use every method of gathering outputs.
const PROGRAMS: &[&str] = &[
    "(program (input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
       (output y (type (shape 4) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (x j))))))",
    "(program (input A (type (shape 4 5) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
       (output C (type (shape 4 3) f64 0.0 csr)) (local w (type (shape 3) f64 0.0 (byte-map (element))))
       (for i (where (for j (init (C i j) (w j))) (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
    "(program (input A (type (shape 4 5) f32 0.0 csr)) (input B (type (shape 4 5) f32 0.0 dcsr))
       (output C (type (shape 4 5) f32 0.0 csr)) (for i (for j (init (C i j) (+ (A i j) (B i j))))))",
    "(program (input A (type (shape 4 5) i64 0 csr)) (output s (type (shape 5) i64 0 dense))
       (for i (for j (+= (s j) (A i j)))))",
    "(program (input A (type (shape 4 5) f64 0.0 dense)) (input x (type (shape 5) f64 0.0 dense))
       (output y (type (shape 4) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (x j))))))",
    "(program (input A (type (shape 9 9) u8 0 (dense (run-length (element))))) (output s (type (shape 9) u8 0 dense))
       (for i (for j (+= (s i) (A i j)))))",
    "(program (input x (type (shape 4) f64 0.0 dense)) (output C (type (shape 4 9) f64 0.0 dense))
       (for i (for j (range -3 6) (= (C i (+ j 3)) (x i)))))",
    "(program (input E (type (shape 6 6) i64 0 csr)) (output n (type (shape) i64 0 dense))
       (for i (for j (for k (+= (n) (* (E i j) (* (E j k) (E i k))))))))",
    "(program (input x (type (shape 40) f64 0.0 (sparse-list (element)))) (input y (type (shape 40) f64 0.0 (sparse-list (element))))
       (output z (type (shape 40) f64 0.0 (sparse-list (element)))) (for i (init (z i) (+ (x i) (y i)))))",
    "(program (input A (type (shape 6 7) f64 0.0 (dense (sparse-list (element)))))
       (output s (type (shape) f64 0.0 (element))) (for i (for j (+= (s) (A i j)))))",
    "(program (input A (type (shape 6 7) f64 0.0 csr)) (output s (type (shape 7) f64 0.0 dense))
       (for i (for j (+= (s j) (A i j)))))",
    "(program (input B (type (shape 4 5 6) f64 0.0 csf)) (input C (type (shape 5 8) f64 0.0 dense))
       (input D (type (shape 6 8) f64 0.0 dense)) (output A (type (shape 4 8) f64 0.0 dense))
       (for i (for k (for l (for j (+= (A i j) (* (B i k l) (* (C k j) (D l j)))))))))",
    "(program (input A (type (shape 9 9) f64 0.0 dcsr)) (output C (type (shape 9 9) f64 0.0 dcsr))
       (for i (for j (init (C i j) (* (A i j) 2.0)))))",
    "(program (input A (type (shape 4 5) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
       (output C (type (shape 4 3) f64 0.0 csr)) (local w (type (shape 3) f64 0.0 (hash (element))))
       (for i (where (for j (init (C i j) (w j))) (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
    "(program (input A (type (shape 5 4) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
       (output C (type (shape 4 3) f64 0.0 (hash (hash (element)))))
       (for k (for i (for j (+= (C i j) (* (A k i) (B k j)))))))",
    "(program (input A (type (shape 4 6) bool false csr)) (input x (type (shape 6) bool false csf))
       (output y (type (shape 4) bool false dense)) (for i (for j (or= (y i) (and (A i j) (x j))))))",
    // A fold of partial results in groups, as for rounds that are cut into sections.
    "(program (input P (type (shape 9 40) f64 0.0 dense)) (input G (type (shape 3 9) bool false (dense (sparse-list (pattern)))))
       (output y (type (shape 3 40) f64 0.0 dense)) (for g (for p (for j (if (G g p) (+= (y g j) (P p j)))))))",
    "(program (input A (type (shape 4 6) i32 9 csr)) (output y (type (shape 6) i32 9 dense))
       (for i (for j (min= (y j) (A i j)))))",
    "(program (input A (type (shape 4 60) f64 inf dense)) (output y (type (shape 4) f64 inf dense))
       (for i (for j (min= (y i) (A i j)))))",
    "(program (input A (type (shape 6 9) i64 0 (dense (sparse-run-length (element)))))
       (output B (type (shape 6 9) i64 0 (dense (sparse-run-length (element))))) (for i (for j (init (B i j) (+ (A i j) (A i j))))))",
    // A graph search: its loop is not cut into chunks, and its frontiers are swapped.
    "(program (input A (type (shape 6 6) f64 0.0 csr)) (input source (type (shape) i64 0 dense))
       (output y (type (shape 6) i64 -1 dense)) (output rounds (type (shape) i64 0 dense))
       (local F (type (shape 6) i64 0 (byte-map (element)))) (local N (type (shape 6) i64 0 (byte-map (element))))
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
       (for i (init (y i) (P i))))",
];
