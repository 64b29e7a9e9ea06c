//! Arithmetic on vectors: sweeps over several vectors at once, which read and write each element
//! once.
//!
//! A sweep goes through vectors in chunks that stay in the cache, so its step can apply several
//! simple loops to a chunk. Sums are added per chunk, then per task, always in the same order, so
//! they do not depend on the number of threads.

use crate::session::Session;
use redpoll_kernels::run::Workers;
use std::sync::Arc;

/// Number of elements of a chunk: some tens of chunks fit in the cache of a core.
const CHUNK: usize = 2048;
/// Number of elements of a task, which one thread processes.
const TASK: usize = 32 * CHUNK;
/// Number of vectors of a basis that a loop reads side by side.
const GROUP: usize = 4;
/// Greatest number of passes that make a vector orthogonal to a basis.
const MAX_PASSES: usize = 3;
/// Number of partial sums of a sum, so that additions do not wait for each other.
const LANES: usize = 8;

/// The elements of a chunk.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    start: usize,
    end: usize,
}

/// The threads that process vectors.
#[derive(Clone)]
pub(super) struct Sweeper {
    workers: Arc<Workers>,
}

impl Chunk {
    /// Returns the part of a vector that is in the chunk.
    pub(super) fn of(self, vector: &[f64]) -> &[f64] {
        &vector[self.start..self.end]
    }
}

impl Sweeper {
    pub(super) fn of(session: &Session) -> Sweeper {
        Sweeper { workers: session.limits().workers.clone() }
    }

    /// Applies `step` to each chunk of the vectors `writes`, which have `len` elements, and returns
    /// the sums of the numbers that `step` returns.
    pub(super) fn sweep<const W: usize, const S: usize>(
        &self,
        len: usize,
        writes: [&mut [f64]; W],
        step: impl Fn(Chunk, [&mut [f64]; W]) -> [f64; S] + Sync,
    ) -> [f64; S] {
        let mut sums = [0.0; S];
        self.sweep_into(len, writes, &mut sums, |chunk, writes, sums| {
            for (sum, part) in sums.iter_mut().zip(step(chunk, writes)) {
                *sum += part;
            }
        });
        sums
    }

    /// Applies `step` to each chunk of the vectors `writes`, which have `len` elements. The step
    /// adds numbers to `sums`, which begin at zero.
    pub(super) fn sweep_into<const W: usize>(
        &self,
        len: usize,
        writes: [&mut [f64]; W],
        sums: &mut [f64],
        step: impl Fn(Chunk, [&mut [f64]; W], &mut [f64]) + Sync,
    ) {
        sums.fill(0.0);
        let process = |start: usize, writes: [&mut [f64]; W], sums: &mut [f64]| {
            let mut chunks = writes.map(|vector| vector.chunks_mut(CHUNK));
            let end = len.min(start + TASK);
            for start in (start..end).step_by(CHUNK) {
                let writes = chunks.each_mut().map(|chunks| chunks.next().expect("vectors have `len` elements"));
                step(Chunk { start, end: end.min(start + CHUNK) }, writes, sums);
            }
        };
        if len <= TASK {
            return process(0, writes, sums);
        }
        let mut parts = vec![0.0; sums.len() * len.div_ceil(TASK)];
        let mut tasks = writes.map(|vector| vector.chunks_mut(TASK));
        let mut rest = &mut parts[..];
        let mut items = Vec::with_capacity(len.div_ceil(TASK));
        for start in (0..len).step_by(TASK) {
            let (part, after) = rest.split_at_mut(sums.len());
            rest = after;
            let writes = tasks.each_mut().map(|tasks| tasks.next().expect("vectors have `len` elements"));
            items.push((start, writes, part));
        }
        self.for_each(items, |(start, writes, part)| process(start, writes, part));
        for part in parts.chunks(sums.len().max(1)) {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
    }

    /// Returns the sum of the products of elements.
    pub(super) fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        let [sum] = self.sweep(a.len(), [], |at, []| [dot(at.of(a), at.of(b))]);
        sum
    }

    /// Returns the square root of the sum of squares.
    pub(super) fn norm(&self, a: &[f64]) -> f64 {
        self.dot(a, a).sqrt()
    }

    /// Multiplies a vector by a number.
    pub(super) fn scale(&self, factor: f64, a: &mut [f64]) {
        let [] = self.sweep(a.len(), [a], |_, [a]| {
            scale(factor, a);
            []
        });
    }

    /// Makes `w` orthogonal to the orthonormal vectors of a basis. Afterwards, the cosines of the
    /// angles between `w` and these vectors are at most about `tolerance`, unless `w` is in the
    /// span of the basis. Returns the coefficients that were subtracted, and the norms of `w`
    /// before and after.
    ///
    /// Classical Gram-Schmidt (Daniel, Gragg, Kaufman and Stewart, "Reorthogonalization and Stable
    /// Algorithms for Updating the Gram-Schmidt QR Factorization", 1976). A pass subtracts the
    /// components and measures the remaining ones while the chunk is in the cache. If the remaining
    /// components are too large, another pass follows. Mostly, the basis is read twice from memory.
    pub(super) fn orthogonalize(&self, basis: &[Vec<f64>], w: &mut [f64], tolerance: f64) -> Orthogonalized {
        let (len, count) = (w.len(), basis.len());
        let mut coefficients = vec![0.0; count];
        // The components of `w`, then the square of its norm.
        let mut components = vec![0.0; count + 1];
        let vector = &*w;
        self.sweep_into(len, [], &mut components, |at, [], sums| add_components(basis, at, at.of(vector), sums));
        let before = components[count].sqrt();
        let mut after = before;
        for _ in 0..MAX_PASSES {
            let largest = dot(&components[..count], &components[..count]).sqrt();
            if largest <= tolerance * after || after <= f64::EPSILON * before || after.is_nan() {
                break;
            }
            let mut remaining = vec![0.0; count + 1];
            self.sweep_into(len, [&mut *w], &mut remaining, |at, [w], sums| {
                subtract(&components[..count], basis, at, w);
                add_components(basis, at, w, sums);
            });
            coefficients.iter_mut().zip(&components).for_each(|(total, component)| *total += component);
            after = remaining[count].sqrt();
            components = remaining;
        }
        Orthogonalized { coefficients, before, after }
    }

    /// Makes `w` orthogonal to the vectors of a basis like [`Sweeper::orthogonalize`], but in the
    /// inner product of a matrix `B`: `images` are the products of the basis with `B`, and `image`
    /// is that of `w`, which changes with `w`. All values are finite.
    pub(super) fn orthogonalize_in(
        &self,
        (basis, images): (&[Vec<f64>], &[Vec<f64>]),
        (w, image): (&mut [f64], &mut [f64]),
        tolerance: f64,
    ) -> Orthogonalized {
        let (len, count) = (w.len(), basis.len());
        let mut coefficients = vec![0.0; count];
        let (mut before, mut after) = (0.0, 0.0);
        for pass in 0..=MAX_PASSES {
            let mut components = vec![0.0; count + 1];
            let (vector, dual) = (&*w, &*image);
            self.sweep_into(len, [], &mut components, |at, [], sums| {
                sums.iter_mut().zip(images).for_each(|(sum, v)| *sum += dot(at.of(v), at.of(vector)));
                sums[count] += dot(at.of(vector), at.of(dual));
            });
            // Rounding may make the square of a vector negative that is in the span of the basis.
            after = components[count].max(0.0).sqrt();
            before = if pass == 0 { after } else { before };
            let largest = dot(&components[..count], &components[..count]).sqrt();
            let is_done = largest <= tolerance * after || after <= f64::EPSILON * before;
            if is_done || pass == MAX_PASSES {
                break;
            }
            let [] = self.sweep(len, [&mut *w, &mut *image], |at, [w, image]| {
                subtract(&components[..count], basis, at, w);
                subtract(&components[..count], images, at, image);
                []
            });
            coefficients.iter_mut().zip(&components).for_each(|(total, component)| *total += component);
        }
        Orthogonalized { coefficients, before, after }
    }

    /// Replaces the first vectors of a basis by linear combinations of all its vectors: vector `k`
    /// by the sum, over all `j`, of vector `j` times `combinations[k][j]`.
    pub(super) fn combine(&self, basis: &mut [Vec<f64>], combinations: &[Vec<f64>]) {
        let Some(len) = basis.first().map(Vec::len) else { return };
        let mut tasks: Vec<_> = basis.iter_mut().map(|vector| vector.chunks_mut(TASK)).collect();
        let mut items = Vec::new();
        for _ in (0..len).step_by(TASK) {
            let parts: Vec<&mut [f64]> = tasks.iter_mut().filter_map(Iterator::next).collect();
            items.push(parts);
        }
        self.for_each(items, |mut parts| {
            let mut results = vec![0.0; CHUNK * combinations.len()];
            for start in (0..parts[0].len()).step_by(CHUNK) {
                let end = parts[0].len().min(start + CHUNK);
                for (result, combination) in results.chunks_mut(CHUNK).zip(combinations) {
                    result.fill(0.0);
                    for (part, factor) in parts.iter().zip(combination) {
                        axpy(*factor, &part[start..end], &mut result[..end - start]);
                    }
                }
                for (result, part) in results.chunks(CHUNK).zip(&mut parts) {
                    part[start..end].copy_from_slice(&result[..end - start]);
                }
            }
        });
    }

    fn for_each<T: Send>(&self, items: Vec<T>, work: impl Fn(T) + Sync) {
        let done = self.workers.for_each(items, |item| {
            work(item);
            Ok(())
        });
        done.expect("arithmetic does not fail");
    }
}

/// The result of [`Sweeper::orthogonalize`].
pub(super) struct Orthogonalized {
    /// The coefficient of each vector of the basis.
    pub(super) coefficients: Vec<f64>,
    /// The norm of the vector before.
    pub(super) before: f64,
    /// The norm of the vector after.
    pub(super) after: f64,
}

/// Returns the sum of the products of elements.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f64>() + rest
}

/// Returns the sum of the absolute values of elements.
pub(super) fn absolute_sum(a: &[f64]) -> f64 {
    let (chunks, rest) = a.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] += chunk[lane].abs();
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|a| a.abs()).sum::<f64>()
}

/// Returns the sums of the products of the elements of each `v` and of `w`.
fn dots(v: [&[f64]; GROUP], w: &[f64]) -> [f64; GROUP] {
    const LANES: usize = 4;
    let (w, w_rest) = w.as_chunks::<LANES>();
    let v = v.map(|v| v.as_chunks::<LANES>());
    let mut lanes = [[0.0; LANES]; GROUP];
    for (i, w) in w.iter().enumerate() {
        for (lanes, (v, _)) in lanes.iter_mut().zip(&v) {
            for lane in 0..LANES {
                lanes[lane] += v[i][lane] * w[lane];
            }
        }
    }
    let mut sums = lanes.map(|lanes| lanes.iter().sum());
    for (sum, (_, v_rest)) in sums.iter_mut().zip(v) {
        *sum += v_rest.iter().zip(w_rest).map(|(v, w)| v * w).sum::<f64>();
    }
    sums
}

/// Adds the dot product of each vector of a basis with `w`, within a chunk, to the element of
/// `sums` with the same index, and the square of the norm of `w` to the last element.
fn add_components(basis: &[Vec<f64>], at: Chunk, w: &[f64], sums: &mut [f64]) {
    let (groups, rest) = basis.as_chunks::<GROUP>();
    for (k, group) in groups.iter().enumerate() {
        let parts = dots(group.each_ref().map(|v| at.of(v)), w);
        sums[k * GROUP..].iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    for (sum, v) in sums[groups.len() * GROUP..].iter_mut().zip(rest) {
        *sum += dot(at.of(v), w);
    }
    sums[basis.len()] += dot(w, w);
}

/// Subtracts multiples of the vectors of a basis from `w` within a chunk.
fn subtract(factors: &[f64], basis: &[Vec<f64>], at: Chunk, w: &mut [f64]) {
    let (groups, rest) = basis.as_chunks::<GROUP>();
    let (group_factors, rest_factors) = factors.as_chunks::<GROUP>();
    for (group, f) in groups.iter().zip(group_factors) {
        let [a, b, c, d] = group.each_ref().map(|v| &at.of(v)[..w.len()]);
        for (i, w) in w.iter_mut().enumerate() {
            *w -= f[0] * a[i] + f[1] * b[i] + f[2] * c[i] + f[3] * d[i];
        }
    }
    for (factor, v) in rest_factors.iter().zip(rest) {
        axpy(-factor, at.of(v), w);
    }
}

/// Computes `y += factor * x`.
pub(super) fn axpy(factor: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// Computes `y = x + factor * y`.
pub(super) fn xpay(x: &[f64], factor: f64, y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = x + factor * *y);
}

/// Computes `y *= factor`.
pub(super) fn scale(factor: f64, y: &mut [f64]) {
    y.iter_mut().for_each(|y| *y *= factor);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZero;

    fn wave(len: usize, phase: f64) -> Vec<f64> {
        (0..len).map(|i| (i as f64 * 0.7 + phase).sin()).collect()
    }

    fn sweeper(threads: usize) -> Sweeper {
        Sweeper { workers: Arc::new(Workers::new(NonZero::new(threads).unwrap())) }
    }

    /// Asserts that sums have the same bits on any number of threads.
    #[test]
    fn sums_do_not_depend_on_threads() {
        let len = 3 * TASK + 77;
        let (a, b) = (wave(len, 0.0), wave(len, 1.0));
        let sums = [1, 2, 3].map(|threads| sweeper(threads).dot(&a, &b).to_bits());
        assert!(sums.iter().all(|sum| *sum == sums[0]));
    }

    #[test]
    fn vectors_become_orthogonal() {
        let sweeper = sweeper(2);
        for len in [1, 5, CHUNK, 2 * TASK + 3] {
            let mut basis: Vec<Vec<f64>> = Vec::new();
            for k in 0..4.min(len) {
                // Nearly the same direction for every `k`.
                let mut w = wave(len, 0.0);
                w.iter_mut().enumerate().for_each(|(i, w)| *w += 1e-3 * ((1 + i * (k + 2)) as f64).cos());
                let norm = sweeper.orthogonalize(&basis, &mut w, 1e-12).after;
                sweeper.scale(1.0 / norm, &mut w);
                assert!(basis.iter().all(|v| sweeper.dot(v, &w).abs() < 1e-11), "length {len}, vector {k}");
                basis.push(w);
            }
        }
    }

    #[test]
    fn combinations_replace_the_first_vectors() {
        let len = TASK + 10;
        let mut basis = vec![wave(len, 0.0), wave(len, 1.0), wave(len, 2.0)];
        let before = basis.clone();
        sweeper(2).combine(&mut basis, &[vec![1.0, 2.0, 0.0], vec![0.0, 0.0, -1.0]]);
        for i in 0..len {
            assert!((basis[0][i] - before[0][i] - 2.0 * before[1][i]).abs() < 1e-12);
            assert!((basis[1][i] + before[2][i]).abs() < 1e-12);
        }
        assert_eq!(basis[2], before[2]);
    }
}
