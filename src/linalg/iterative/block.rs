//! Blocks of vectors that are orthonormal in the inner product of a matrix `B`.

use super::arithmetic::{Sweeper, axpy, dot};
use super::product::Product;
use crate::error::Error;
use faer::{Mat, Side};

/// Directions of a block whose share of the block is at most this number are dropped: the other
/// directions of the block contain them up to rounding.
const DEPENDENT: f64 = 1e-12;

/// A vector is in the span of others if its square outside of the span is at most this part of its
/// square.
const IN_SPAN: f64 = 1e-16;

/// Vectors, and their products with `B` unless `B` is the identity.
#[derive(Clone, Default)]
pub(super) struct Block {
    pub(super) vectors: Vec<Vec<f64>>,
    images: Option<Vec<Vec<f64>>>,
}

impl Block {
    /// Returns vectors with their products with `B`; `None` is the identity.
    pub(super) fn new(mut vectors: Vec<Vec<f64>>, b: Option<&mut Product<'_>>) -> Result<Block, Error> {
        let images = b.map(|b| products(b, &mut vectors)).transpose()?;
        Ok(Block { vectors, images })
    }

    /// Returns whether the inner product of each vector with itself is not negative, up to
    /// rounding.
    pub(super) fn is_positive(&self, sweeper: &Sweeper) -> bool {
        self.vectors.iter().zip(self.images()).all(|(vector, image)| {
            sweeper.dot(vector, image) >= -f64::EPSILON.sqrt() * sweeper.norm(vector) * sweeper.norm(image)
        })
    }

    /// Returns the number of vectors.
    pub(super) fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Returns the products with `B`.
    pub(super) fn images(&self) -> &[Vec<f64>] {
        self.images.as_ref().unwrap_or(&self.vectors)
    }

    /// Returns the square of each vector in the inner product.
    fn squares(&self, sweeper: &Sweeper) -> Vec<f64> {
        self.vectors.iter().zip(self.images()).map(|(vector, image)| sweeper.dot(vector, image)).collect()
    }

    /// Makes the vectors orthogonal to the orthonormal vectors of other blocks. Vectors in the span
    /// of the other blocks become zero.
    pub(super) fn project_out(&mut self, sweeper: &Sweeper, others: &[&Block]) {
        let before = self.squares(sweeper);
        others.iter().for_each(|other| self.project(sweeper, other));
        let after = self.squares(sweeper);
        for (i, (before, after)) in before.into_iter().zip(after).enumerate() {
            if after <= IN_SPAN * before {
                self.vectors[i].fill(0.0);
                self.images.iter_mut().for_each(|images| images[i].fill(0.0));
            }
        }
    }

    /// Makes the vectors orthogonal to the orthonormal vectors of another block.
    fn project(&mut self, sweeper: &Sweeper, basis: &Block) {
        let components = gram(sweeper, basis.images(), &self.vectors);
        subtract(sweeper, &mut self.vectors, &basis.vectors, &components);
        if let Some(images) = &mut self.images {
            subtract(sweeper, images, basis.images(), &components);
        }
    }

    /// Makes the vectors orthonormal by the eigenvectors of their Gram matrix (Stathopoulos and Wu,
    /// "A Block Orthogonalization Procedure with Constant Synchronization Requirements", 2002).
    /// Drops directions that depend on the others.
    pub(super) fn orthonormalize(&mut self, sweeper: &Sweeper) {
        let gram = gram(sweeper, self.images(), &self.vectors);
        let k = self.len();
        // Rounding may make the square of a vector negative that depends on others.
        let scale = |i: usize| if gram[(i, i)] > 0.0 { 1.0 / gram[(i, i)].sqrt() } else { 0.0 };
        let scales: Vec<f64> = (0..k).map(scale).collect();
        let scaled = Mat::from_fn(k, k, |i, j| 0.5 * (gram[(i, j)] + gram[(j, i)]) * scales[i] * scales[j]);
        let Ok(eigen) = scaled.self_adjoint_eigen(Side::Lower) else { return self.combine(sweeper, &[]) };
        let (u, s) = (eigen.U(), eigen.S());
        let kept = (0..k).rev().filter(|i| s[*i] > DEPENDENT * k as f64);
        let combination = |i: usize| (0..k).map(|j| scales[j] * u[(j, i)] / s[i].sqrt()).collect();
        let combinations: Vec<Vec<f64>> = kept.map(combination).collect();
        self.combine(sweeper, &combinations);
    }

    /// Replaces the vectors by linear combinations, of which there are at most as many as vectors.
    pub(super) fn combine(&mut self, sweeper: &Sweeper, combinations: &[Vec<f64>]) {
        for vectors in [Some(&mut self.vectors), self.images.as_mut()].into_iter().flatten() {
            combine(sweeper, vectors, combinations);
        }
    }

    /// Adds the vectors of another block.
    pub(super) fn append(&mut self, other: Block) {
        self.vectors.extend(other.vectors);
        if let (Some(images), Some(others)) = (&mut self.images, other.images) {
            images.extend(others);
        }
    }

    /// Takes the vectors from an index on.
    pub(super) fn split_off(&mut self, at: usize) -> Block {
        let images = self.images.as_mut().map(|images| images.split_off(at));
        Block { vectors: self.vectors.split_off(at), images }
    }
}

/// Returns the products of an operator with vectors.
pub(super) fn products(a: &mut Product<'_>, vectors: &mut [Vec<f64>]) -> Result<Vec<Vec<f64>>, Error> {
    vectors.iter_mut().map(|vector| Ok(a.times(vector)?.into_vec())).collect()
}

/// Returns the dot products of each vector of `left` with each vector of `right`.
pub(super) fn gram(sweeper: &Sweeper, left: &[Vec<f64>], right: &[Vec<f64>]) -> Mat<f64> {
    let (rows, columns) = (left.len(), right.len());
    let mut sums = vec![0.0; rows * columns];
    let len = left.first().or(right.first()).map_or(0, Vec::len);
    sweeper.sweep_into(len, [], &mut sums, |at, [], sums| {
        for (i, left) in left.iter().enumerate() {
            for (j, right) in right.iter().enumerate() {
                sums[i * columns + j] += dot(at.of(left), at.of(right));
            }
        }
    });
    Mat::from_fn(rows, columns, |i, j| sums[i * columns + j])
}

/// Replaces vectors by linear combinations, of which there are at most as many as vectors.
pub(super) fn combine(sweeper: &Sweeper, vectors: &mut Vec<Vec<f64>>, combinations: &[Vec<f64>]) {
    sweeper.combine(vectors, combinations);
    vectors.truncate(combinations.len());
}

/// Subtracts linear combinations of a basis from vectors; each column of `components` has the
/// coefficients of one combination.
fn subtract(sweeper: &Sweeper, vectors: &mut [Vec<f64>], basis: &[Vec<f64>], components: &Mat<f64>) {
    for (j, vector) in vectors.iter_mut().enumerate() {
        let [] = sweeper.sweep(vector.len(), [vector], |at, [vector]| {
            basis.iter().enumerate().for_each(|(i, v)| axpy(-components[(i, j)], at.of(v), vector));
            []
        });
    }
}
