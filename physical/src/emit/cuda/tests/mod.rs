//! The text of small grids, to be reviewed like code (`UPDATE_EXPECT=1` rewrites it); its compilation by NVRTC, and for the
//! host, where it is run.

mod emulated;
mod golden;
mod nvrtc;

use crate::grid::{Grid, Lanes, Plan};
use crate::lower::{Options, lower};
use crate::testing::normal_form;

/// The grids of a program.
fn grids(text: &str) -> Vec<Grid> {
    let program = normal_form(text);
    let plan = Plan::of(&program, &lower(&program, &[], Options::default()), Lanes::AsUseful);
    plan.count.into_iter().chain([plan.run]).collect()
}

/// Programs whose outputs are put together in every way.
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
];
