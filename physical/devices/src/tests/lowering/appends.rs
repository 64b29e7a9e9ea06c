//! Tests of loops whose rounds append to outputs and workspaces, in teams of any size.

use super::{Rng, TestRunner, compare_runners};
use crate::grid::{GridPlan, TeamSize};
use redpoll_compiler::testing::skewed;

/// Teams of one lane, of a part of a warp, of a warp, and of several warps.
const TEAMS: [TestRunner; 5] =
    [TestRunner::Teams(1), TestRunner::Teams(2), TestRunner::Teams(4), TestRunner::Teams(32), TestRunner::Teams(64)];

/// Programs whose lanes append: to a workspace and an output, under the conditions of an
/// intersection, or in every round.
pub(crate) const PROGRAMS: &[&str] = &[
    "(program (input A (type (shape 7 12) f64 0.0 csr)) (input B (type (shape 12 40) f64 0.0 csr))
       (output C (type (shape 7 40) f64 0.0 csr)) (local w (type (shape 40) f64 0.0 (byte-map (element))))
       (for i (where (for j (init (C i j) (w j))) (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
    "(program (input A (type (shape 7 12) i64 0 csr)) (input B (type (shape 12 40) i64 0 csr))
       (output C (type (shape 7 40) i64 0 dcsr)) (local w (type (shape 40) i64 0 (hash (element))))
       (for i (where (for j (init (C i j) (w j))) (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
    "(program (input A (type (shape 7 60) f32 0.0 csr)) (input B (type (shape 7 60) f32 0.0 csr))
       (output C (type (shape 7 60) f32 0.0 dcsr)) (for i (for j (init (C i j) (* (A i j) (B i j))))))",
    "(program (input x (type (shape 90) f64 0.0 (sparse-list (element)))) (input y (type (shape 90) f64 0.0 (sparse-list (element))))
       (output z (type (shape 90) f64 0.0 (sparse-list (element)))) (for i (init (z i) (* (x i) (y i)))))",
    "(program (input A (type (shape 7 60) i32 0 csr)) (output C (type (shape 7 60) i32 0 csr))
       (for i (for j (init (C i j) (* 2 (A i j))))))",
];

/// Lanes append in each of the programs.
#[test]
fn lanes_append_where_rounds_are_independent() {
    for text in PROGRAMS {
        let plan = GridPlan::of(&skewed::draft(text).0, TeamSize::Exact(4));
        assert!(plan.grids().all(|grid| grid.to_string().contains(" appending ")), "{text}\n{}", plan.run);
    }
}

/// Returns a random program that writes a matrix through a workspace, or directly.
fn program(rng: &mut Rng) -> String {
    let mut one_of = |texts: &[&'static str]| texts[rng.below(texts.len())];
    let element = one_of(&["f64 0.0", "i64 0", "u8 0", "f32 0.0"]);
    let [a, b, c] = [(); 3].map(|()| format!("{element} {}", one_of(&["csr", "dcsr"])));
    let workspace = one_of(&["byte-map", "hash"]);
    match one_of(&["product", "scaled product", "elements"]) {
        "elements" => format!(
            "(program (input A (type (shape 4 20) {a})) (input B (type (shape 4 20) {b}))
               (output C (type (shape 4 20) {c})) (for i (for j (init (C i j) (* (A i j) (B i j))))))"
        ),
        kind => {
            let product = "(* (A i k) (B k j))";
            let value = if kind == "product" { product.to_owned() } else { format!("(* {product} {product})") };
            format!(
                "(program (input A (type (shape 4 6) {a})) (input B (type (shape 6 20) {b}))
                   (output C (type (shape 4 20) {c})) (local w (type (shape 20) {element} ({workspace} (element))))
                   (for i (where (for j (init (C i j) (w j))) (for k (for j (+= (w j) {value}))))))"
            )
        }
    }
}

/// Programs that append to their outputs agree with the interpreter of Notation in teams of any
/// size.
#[test]
fn random_programs_append_in_order() {
    let mut rng = Rng(7);
    for text in PROGRAMS {
        compare_runners(text, 4, &TEAMS).unwrap_or_else(|message| panic!("{message}"));
    }
    for _ in 0..24 {
        let text = program(&mut rng);
        compare_runners(&text, 2, &TEAMS).unwrap_or_else(|message| panic!("{message}"));
    }
}
