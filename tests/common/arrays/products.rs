//! Products of matrices, tensors and vectors, Kronecker products, and sums of products, also over
//! other semirings.

use super::draw::{DenseArray, OperandSource};
use super::{Operation, oracle};
use redpoll::Array;
use redpoll::logic::Prim;
use redpoll::logic::op::Builtin;

pub const PRODUCTS: &[Operation] = &[
    ("matmul", |draw| {
        let (m, k, n) = (draw.size(), draw.size(), draw.size());
        let ((a, x), (b, y)) = (draw.array(&[m, k]), draw.array(&[k, n]));
        (a.matmul(&b), sum_of(&[(&x, "ik"), (&y, "kj")], "ij"))
    }),
    ("matmul of vectors", |draw| {
        let (m, k) = (draw.size(), draw.size());
        let ((a, x), (b, y)) = (draw.array(&[m, k]), draw.array(&[k]));
        match draw.variant(3) {
            0 => (a.matmul(&b), sum_of(&[(&x, "ik"), (&y, "k")], "i")),
            1 => (b.matmul(a.t()), sum_of(&[(&x, "ik"), (&y, "k")], "i")),
            _ => (b.matmul(&b), sum_of(&[(&y, "k"), (&y, "k")], "")),
        }
    }),
    ("matmul of batches", |draw| {
        let (l, m, k, n) = (draw.size(), draw.nonzero_size(), draw.size(), draw.nonzero_size());
        let ((a, x), (b, y)) = (draw.array(&[l, m, k]), draw.array(&[k, n]));
        match draw.variant(2) {
            0 => (a.matmul(&b), sum_of(&[(&x, "lik"), (&y, "kj")], "lij")),
            _ => (b.t().matmul(a.permute_dims([0, 2, 1])), sum_of(&[(&x, "lik"), (&y, "kj")], "lji")),
        }
    }),
    ("tensordot", |draw| {
        let (l, m, n) = (draw.size(), draw.size(), draw.size());
        let ((a, x), (b, y)) = (draw.array(&[l, m, n]), draw.array(&[m, n]));
        match draw.variant(4) {
            0 => (a.tensordot(&b, 2), sum_of(&[(&x, "lmn"), (&y, "mn")], "l")),
            1 => (a.tensordot(&b, ([1], [0])), sum_of(&[(&x, "lmn"), (&y, "mo")], "lno")),
            2 => (a.tensordot(&b, ([-1, 1], [1, 0])), sum_of(&[(&x, "lmn"), (&y, "mn")], "l")),
            _ => (b.tensordot(b.t(), 1), sum_of(&[(&y, "mn"), (&y, "on")], "mo")),
        }
    }),
    ("vecdot", |draw| {
        let (m, n) = (draw.size(), draw.size());
        let ((a, x), (b, y)) = (draw.array(&[m, n]), draw.array(&[n]));
        (a.vecdot(&b, -1), sum_of(&[(&x, "mn"), (&y, "n")], "m"))
    }),
    ("dot", |draw| {
        let (m, n) = (draw.size(), draw.size());
        let ((a, x), (b, y)) = (draw.array(&[m, n]), draw.array(&[2, n, 3]));
        (a.dot(&b), sum_of(&[(&x, "mn"), (&y, "anc")], "mac"))
    }),
    ("outer", |draw| {
        let (m, n) = (draw.size(), draw.size());
        let ((a, x), (b, y)) = (draw.array(&[m]), draw.array(&[n]));
        (a.outer(&b), sum_of(&[(&x, "m"), (&y, "n")], "mn"))
    }),
    ("kron", |draw| {
        let (one, other) = (draw.any_shape(0, 3), draw.any_shape(0, 3));
        let ((a, x), (b, y)) = (draw.array(&one), draw.array(&other));
        let rank = one.len().max(other.len());
        let pad = |x: &DenseArray| oracle::reshape(x, &[vec![1; rank - x.ndim()], x.shape().to_vec()].concat());
        let (x, y) = (pad(&x), pad(&y));
        let shape: Vec<usize> = x.shape().iter().zip(y.shape()).map(|(m, n)| m * n).collect();
        let sizes = y.shape().to_vec();
        let left = |coordinates: &[usize]| Some(coordinates.iter().zip(&sizes).map(|(i, n)| i / n).collect());
        let right = |coordinates: &[usize]| Some(coordinates.iter().zip(&sizes).map(|(i, n)| i % n).collect());
        let product = oracle::read(&x, &shape, left, 0.0) * oracle::read(&y, &shape, right, 0.0);
        (a.kron(&b), product)
    }),
    ("named sum of products", |draw| {
        let (m, k, n) = (draw.size(), draw.size(), draw.size());
        let ((a, x), (b, y)) = (draw.array(&[m, k]), draw.array(&[n, k]));
        let product = (a.at(["i", "k"]) * b.at(["j", "k"])).sum("k").by_position(["j", "i"]);
        (product, sum_of(&[(&x, "ik"), (&y, "jk")], "ji"))
    }),
];

pub const EINSUMS: &[Operation] = &[
    ("einsum", |draw| {
        let specs = [
            "ij,jk->ik",
            "ij,ij->",
            "ij->ji",
            "ii->i",
            "ii",
            "i,j->ij",
            "ij,jk,ki->",
            "ijk,jl,kl->il",
            "ij,kj",
            "iij->j",
        ];
        let spec = *draw.rng.pick(&specs);
        einsum(draw, spec, 0.0, |draw, spec, arrays| draw.session.einsum(spec, arrays), |s, x| s + x, |x, y| x * y)
    }),
    ("einsum of (min, +)", |draw| {
        let spec = *draw.rng.pick(&["ij,jk->ik", "i,ij->j", "ij,jk,kl->il"]);
        let of = |draw: &OperandSource, spec: &str, arrays: &[Array]| {
            draw.session.einsum_with(spec, arrays, Builtin::Min, Builtin::Add)
        };
        einsum(draw, spec, f64::INFINITY, of, f64::min, |x, y| x + y)
    }),
    ("einsum of (max, min)", |draw| {
        let spec = *draw.rng.pick(&["ij,jk->ik", "ij,ij->i"]);
        let of = |draw: &OperandSource, spec: &str, arrays: &[Array]| {
            draw.session.einsum_with(spec, arrays, Builtin::Max, Builtin::Min)
        };
        einsum(draw, spec, f64::NEG_INFINITY, of, f64::max, f64::min)
    }),
];

fn einsum(
    draw: &mut OperandSource,
    spec: &str,
    start: f64,
    of: impl Fn(&OperandSource, &str, &[Array]) -> Array,
    sum: fn(f64, f64) -> f64,
    product: fn(f64, f64) -> f64,
) -> (Array, DenseArray) {
    draw.record.push(spec.to_owned());
    let (operands, result) = match spec.split_once("->") {
        Some((operands, result)) => (operands, result.to_owned()),
        None => {
            let letters = spec.replace(',', "");
            let mut once: Vec<char> = letters.chars().filter(|c| letters.matches(*c).count() == 1).collect();
            once.sort_unstable();
            (spec, once.into_iter().collect())
        }
    };
    let sizes: Vec<(char, usize)> = "ijkl".chars().map(|c| (c, draw.size())).collect();
    let size = |letter: char| sizes.iter().find(|(c, _)| *c == letter).unwrap().1;
    let mut arrays = Vec::new();
    let mut dense = Vec::new();
    for letters in operands.split(',') {
        let shape: Vec<usize> = letters.chars().map(size).collect();
        let (a, x) = draw.array_with_dtype(&shape, Prim::F64);
        arrays.push(a);
        dense.push((x, letters.chars().collect::<Vec<char>>()));
    }
    let borrowed: Vec<(&DenseArray, &[char])> = dense.iter().map(|(x, l)| (x, &l[..])).collect();
    let letters: Vec<char> = result.chars().collect();
    (of(draw, spec, &arrays), oracle::einsum(&borrowed, &letters, start, sum, product))
}

fn sum_of(arrays: &[(&DenseArray, &str)], result: &str) -> DenseArray {
    let letters: Vec<Vec<char>> = arrays.iter().map(|(_, l)| l.chars().collect()).collect();
    let arrays: Vec<(&DenseArray, &[char])> = arrays.iter().zip(&letters).map(|((x, _), l)| (*x, &l[..])).collect();
    let result: Vec<char> = result.chars().collect();
    oracle::einsum(&arrays, &result, 0.0, |s, x| s + x, |x, y| x * y)
}
