//! Programs over lists of very different lengths, and their drafts.

use super::normal_form;
use crate::lower::{Draft, InputLayout, ListLengths};
use crate::notation::Role;
use redpoll_logic::{FloatMode, Format, Scalar, TensorType};
use redpoll_storage::{Tensor, Values, convert};
use std::sync::Arc;

/// Programs whose rounds can be cut into sections, with various outputs and folds.
pub const PROGRAMS: &[&str] = &[
    "(program (input A (type (shape 7 60) f64 0.0 csr)) (input x (type (shape 60) f64 0.0 dense))
       (output y (type (shape 7) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (x j))))))",
    "(program (input A (type (shape 7 60) f32 0.0 dcsr)) (output y (type (shape 7) f32 0.0 dense))
       (for i (for j (+= (y i) (A i j)))))",
    "(program (input A (type (shape 7 60) i64 0 csr)) (output y (type (shape 7) i64 0 dense))
       (output s (type (shape 60) i64 0 dense)) (for i (for j (block (+= (y i) (A i j)) (+= (s j) (A i j))))))",
    "(program (input A (type (shape 7 60) f64 inf csr)) (output y (type (shape 7) f64 inf dense))
       (for i (for j (min= (y i) (A i j)))))",
    "(program (input A (type (shape 7 20) f64 0.0 csr)) (input X (type (shape 20 5) f64 0.0 dense))
       (output Y (type (shape 7 5) f64 0.0 dense)) (for i (for j (for k (+= (Y i k) (* (A i j) (X j k)))))))",
    "(program (input A (type (shape 4 12 6) f64 0.0 csf)) (input x (type (shape 6) f64 0.0 dense))
       (output Y (type (shape 4 12) f64 0.0 dense)) (for i (for j (for k (+= (Y i j) (* (A i j k) (x k)))))))",
    "(program (input B (type (shape 4 12 6) f64 0.0 csf)) (input C (type (shape 12 3) f64 0.0 dense))
       (input D (type (shape 6 3) f64 0.0 dense)) (output A (type (shape 4 3) f64 0.0 dense))
       (for i (for k (for l (for j (+= (A i j) (* (B i k l) (* (C k j) (D l j)))))))))",
    "(program (input A (type (shape 7 20) f64 0.0 csr)) (input B (type (shape 7 4) f64 0.0 dense))
       (input C (type (shape 20 4) f64 0.0 dense)) (output D (type (shape 7 20) f64 0.0 dense))
       (for i (for j (for k (+= (D i j) (* (A i j) (* (B i k) (C j k))))))))",
    "(program (input A (type (shape 7 60) i32 0 csr)) (output s (type (shape 60) i32 0 dense))
       (for i (for j (+= (s j) (A i j)))))",
    // Sampled products, in the pattern of the sampling matrix.
    "(program (input A (type (shape 7 20) f64 0.0 csr)) (input B (type (shape 7 4) f64 0.0 dense))
       (input C (type (shape 20 4) f64 0.0 dense)) (output D (type (shape 7 20) f64 0.0 csr)) (pattern D A)
       (for i (for j (for k (+= (D i j) (* (A i j) (* (B i k) (C j k))))))))",
];

/// Programs whose rounds are not cut into sections; the comment above each program gives the
/// reason.
pub const WHOLE: &[&str] = &[
    // Coordinates that are not stored add to a round as well.
    "(program (input A (type (shape 7 60) f64 2.0 csr)) (output y (type (shape 7) f64 0.0 dense))
       (for i (for j (+= (y i) (A i j)))))",
    // A value is set, not folded.
    "(program (input A (type (shape 7 60) f64 0.0 csr)) (output y (type (shape 7) f64 0.0 dense))
       (for i (for j (= (y i) (A i j)))))",
    // A value is added once per round.
    "(program (input A (type (shape 7 60) f64 0.0 csr)) (input x (type (shape 7) f64 0.0 dense))
       (output y (type (shape 7) f64 0.0 dense)) (for i (block (+= (y i) (x i)) (for j (+= (y i) (A i j))))))",
    // Two lists are intersected.
    "(program (input A (type (shape 7 60) f64 0.0 csr)) (input B (type (shape 7 60) f64 0.0 csr))
       (output y (type (shape 7) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (B i j))))))",
    // All rounds fold into one value.
    "(program (input A (type (shape 7 60) i64 0 csr)) (output y (type (shape 7) i64 0 dense))
       (output n (type (shape) i64 0 dense)) (for i (for j (block (+= (y i) (A i j)) (+= (n) (A i j))))))",
    // The outputs start from a value that is not the identity.
    "(program (input A (type (shape 7 60) f64 0.0 csr)) (output y (type (shape 7) f64 1.0 dense))
       (for i (for j (+= (y i) (A i j)))))",
    // The stored values of a round are appended.
    "(program (input A (type (shape 7 60) f64 0.0 csr)) (output C (type (shape 7 60) f64 0.0 csr))
       (for i (for j (init (C i j) (* 2.0 (A i j))))))",
];

/// Programs whose rounds intersect lists, with various folds and outputs.
pub const INTERSECTIONS: &[&str] = &[
    // Triangles.
    "(program (input E (type (shape 30 30) i64 0 csr)) (output n (type (shape) i64 0 dense))
       (for i (for j (for k (+= (n) (* (E i j) (* (E j k) (E i k))))))))",
    // Products of rows, into a dense output and into the pattern of an input.
    "(program (input A (type (shape 7 60) f64 0.0 csr)) (input B (type (shape 7 60) f64 0.0 csr))
       (output y (type (shape 7) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (B i j))))))",
    "(program (input A (type (shape 7 60) f64 0.0 csr)) (input B (type (shape 7 60) f64 0.0 csr))
       (output C (type (shape 7 60) f64 0.0 csr)) (pattern C A) (for i (for j (+= (C i j) (* (A i j) (B i j))))))",
    // Dense outputs at the coordinates of the intersections.
    "(program (input A (type (shape 7 60) f64 0.0 csr)) (input B (type (shape 7 60) f64 0.0 csr))
       (output C (type (shape 7 60) f64 0.0 dense)) (output s (type (shape 60) f64 0.0 dense))
       (for i (for j (block (+= (C i j) (* (A i j) (B i j))) (+= (s j) (* (A i j) (B i j)))))))",
    // A loop that is cut, so that a chunk ends in the middle of a list.
    "(program (input x (type (shape 90) f32 0.0 (sparse-list (element)))) (input y (type (shape 90) f32 0.0 (sparse-list (element))))
       (output s (type (shape) f32 0.0 dense)) (for i (+= (s) (* (x i) (y i)))))",
    // Entries of a mask, each a product of two rows.
    "(program (input M (type (shape 6 8) f64 0.0 csr)) (input A (type (shape 6 40) f64 0.0 csr))
       (input B (type (shape 8 40) f64 0.0 csr)) (output C (type (shape 6 8) f64 0.0 csr)) (pattern C M)
       (for i (for j (for k (+= (C i j) (* (M i j) (* (A i k) (B j k))))))))",
    // Appended outputs, which are counted first.
    "(program (input M (type (shape 6 8) i32 0 csr)) (input A (type (shape 6 40) i32 0 csr))
       (input B (type (shape 8 40) i32 0 csr)) (output C (type (shape 6 8) i32 0 csr))
       (for i (for j (for k (+= (C i j) (* (M i j) (* (A i k) (B j k))))))))",
    // A union below an intersection, several folds, and levels of other kinds.
    "(program (input A (type (shape 7 60) i64 0 csr)) (input B (type (shape 7 60) i64 0 csr))
       (input C (type (shape 7 60) i64 0 csr)) (output y (type (shape 7) i64 0 dense)) (output z (type (shape 7) i64 -1 dense))
       (for i (for j (block (+= (y i) (* (A i j) (+ (B i j) (C i j)))) (max= (z i) (* (A i j) (B i j)))))))",
    "(program (input A (type (shape 7 60) f64 0.0 csr)) (input B (type (shape 7 60) f64 0.0 (dense (block-list (element)))))
       (input C (type (shape 7 60) f64 0.0 (dense (bit-map (element))))) (input D (type (shape 7 60) f64 0.0 (dense (sparse-run-length (element)))))
       (output y (type (shape 7) f64 0.0 dense))
       (for i (for j (+= (y i) (* (A i j) (* (B i j) (* (C i j) (D i j))))))))",
];

/// Returns a draft of a program, and its inputs. In each input, a row is the elements at one
/// coordinate of the first mode; one row in three is full, and the others have few entries or none.
pub fn draft(text: &str) -> (Draft, Vec<Tensor>) {
    let program = Arc::new(normal_form(text));
    let inputs = program.tensors.iter().filter(|t| t.role == Role::Input).enumerate();
    let tensors: Vec<Tensor> = inputs.map(|(number, decl)| tensor(&decl.ty, number as u64)).collect();
    let layouts = InputLayout::of_inputs(&program, &tensors.iter().collect::<Vec<_>>());
    let lists = ListLengths::of(&program, &tensors.iter().map(Some).collect::<Vec<_>>());
    (Draft::new(&program, &layouts, FloatMode::default()).with_lists(lists), tensors)
}

fn tensor(ty: &Arc<TensorType>, number: u64) -> Tensor {
    let (elements, prim) = (ty.shape.iter().product::<u64>(), ty.dtype.prim().expect("values are primitives"));
    let row = elements / ty.shape.first().copied().unwrap_or(1);
    let value = |k: u64| {
        let few = (k * (5 + number)).is_multiple_of(13) && !(k / row).is_multiple_of(3);
        let value = Scalar::I64((k % 7 + 1) as i64).cast(prim).expect("numbers are cast");
        if k / row % 3 == 1 || few { value } else { ty.fill.clone() }
    };
    let values: Vec<Scalar> = (0..elements).map(value).collect();
    let values = Values::from_scalars(ty.dtype.clone(), &values).expect("the values have the type");
    let dense = TensorType { format: Format::dense(ty.shape.len()), ..(**ty).clone() };
    convert(&Tensor::from_dense(dense, &values).expect("there is a value for each coordinate"), &ty.format)
        .expect("all formats are converted")
}
