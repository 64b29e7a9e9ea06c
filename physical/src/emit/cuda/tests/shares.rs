//! Windows that begin in the memory of a block and leave it, in generated text.

use super::emulated::{CUTTING, Emulation, How, agree_so, draft};
use crate::grid::Lanes;
use crate::kernel::{Draft, Engine, Kernel};
use crate::run::Limits;
use crate::storage::Tensor;
use crate::testing::normal_form;
use redpoll_logic::Scalar;

/// Products of matrices by rows, each in a workspace of that level, in an output of that format.
fn product(level: &str, output: &str) -> (Draft, Vec<Tensor>) {
    draft(normal_form(&format!(
        "(program (input A (type (shape 9 10) f64 0.0 csr)) (input B (type (shape 10 23) f64 0.0 csr))
           (output C (type (shape 9 23) f64 0.0 {output})) (local w (type (shape 23) f64 0.0 ({level} (element))))
           (for i (where (for j (init (C i j) (w j))) (for k (for j (+= (w j) (* (A i k) (B k j))))))))"
    )))
}

/// Protects every kind of workspace, in shares that it never has, outgrows, or keeps within.
#[test]
fn workspaces_agree_in_any_share() {
    let drafts = ["hash", "byte-map", "dense"].map(|level| product(level, "csr"));
    let shares: [fn(usize) -> usize; 4] = [|_| 0, |_| 72, |_| 248, |_| 1 << 13];
    for lanes in [Lanes::AsUseful, Lanes::Exactly(8)] {
        for share in shares {
            agree_so(&drafts, How { lanes, share, ..How::default() });
        }
    }
}

/// What a kernel makes of inputs.
fn made(kernel: &Kernel, inputs: &[Tensor]) -> Vec<Scalar> {
    let limits = Limits::default().on(&CUTTING);
    let outputs = kernel.run(&inputs.iter().collect::<Vec<_>>(), &limits).unwrap().outputs;
    outputs[0].fetch().unwrap();
    outputs[0].to_dense_scalars().unwrap()
}

/// Protects what a window held before it left the memory of its block.
#[test]
fn a_window_that_leaves_without_its_elements_is_seen() {
    let edit = |text: String| {
        assert!(text.contains("outside[k] = inside[k];"));
        text.replace("outside[k] = inside[k];", ";")
    };
    // The list of the places of a row that are not empty leaves; what is lost of it are places that there are.
    let (draft, inputs) = product("byte-map", "dense");
    let how = How { share: |_| 72, edit, ..How::default() };
    let broken = &Emulation::so([&draft].into_iter(), usize::MAX, how).kernels[0];
    let expected = made(&Kernel::of(&draft, Engine::Interpreter).unwrap(), &inputs);
    assert_ne!(made(broken, &inputs), expected);
}
