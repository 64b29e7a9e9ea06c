//! Hand-written loops, optimized as a Rust programmer would optimize them. The loops have the same
//! formats and index widths as the kernels that they are compared with. They also have the same
//! algorithms, with two exceptions: [`spmv_four_sums`] has more sums than its kernel, and the
//! kernel with a mask is compared with [`triangles`] over the upper triangle.
//!
//! Like kernels, the loops over matrices trust that matrices are valid, and read elements without
//! bounds checks. The loops over tensors check all bounds except when they read the range of a
//! fiber. [`gather`] checks all bounds. Outputs are allocated in the call; outputs of unknown size
//! grow.

pub mod c;

use crate::arrays::{Csf3, Csr};

/// Returns the range of positions of fiber `i`.
///
/// # Safety
/// `i + 1` is below the length of `ptr`.
#[inline(always)]
unsafe fn fiber(ptr: &[i32], i: usize) -> std::ops::Range<usize> {
    // SAFETY: promised by the caller.
    unsafe { *ptr.get_unchecked(i) as usize..*ptr.get_unchecked(i + 1) as usize }
}

/// Computes `y_i = sum_j A_ij x_j` with one sum per row.
pub fn spmv(a: &Csr, x: &[f64]) -> Vec<f64> {
    assert_eq!(a.cols, x.len());
    let mut y = vec![0.0; a.rows];
    for (i, y) in y.iter_mut().enumerate() {
        let mut sum = 0.0;
        // SAFETY: the matrix is valid: rows are ranges of its arrays, columns are below `cols`.
        unsafe {
            for q in fiber(&a.ptr, i) {
                sum += *a.val.get_unchecked(q) * *x.get_unchecked(*a.idx.get_unchecked(q) as usize);
            }
        }
        *y = sum;
    }
    y
}

/// Computes `y_i = sum_j A_ij x_j` with four sums per row, so that additions overlap.
pub fn spmv_four_sums(a: &Csr, x: &[f64]) -> Vec<f64> {
    assert_eq!(a.cols, x.len());
    let mut y = vec![0.0; a.rows];
    for (i, y) in y.iter_mut().enumerate() {
        let mut sums = [0.0; 4];
        // SAFETY: as in `spmv`.
        unsafe {
            let term = |q: usize| *a.val.get_unchecked(q) * *x.get_unchecked(*a.idx.get_unchecked(q) as usize);
            let row = fiber(&a.ptr, i);
            let mut q = row.start;
            while q + 4 <= row.end {
                for (k, sum) in sums.iter_mut().enumerate() {
                    *sum += term(q + k);
                }
                q += 4;
            }
            for q in q..row.end {
                sums[0] += term(q);
            }
        }
        *y = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    }
    y
}

/// Computes `C_ij = sum_k A_ik B_kj` row by row (Gustavson), with a dense row of values, a dense
/// row of marks, and a list of touched columns. The list is sorted before the row is appended.
pub fn spgemm(a: &Csr, b: &Csr) -> Csr {
    assert_eq!(a.cols, b.rows);
    let (mut ptr, mut idx, mut val) = (vec![0; a.rows + 1], Vec::new(), Vec::new());
    let (mut row, mut marked, mut touched) = (vec![0.0; b.cols], vec![false; b.cols], Vec::<u32>::new());
    for i in 0..a.rows {
        // SAFETY: both matrices are valid: columns of `a` are rows of `b`, and columns of `b` are
        // indices of `row`.
        unsafe {
            for p in fiber(&a.ptr, i) {
                let (k, scale) = (*a.idx.get_unchecked(p) as usize, *a.val.get_unchecked(p));
                for q in fiber(&b.ptr, k) {
                    let j = *b.idx.get_unchecked(q);
                    *row.get_unchecked_mut(j as usize) += scale * *b.val.get_unchecked(q);
                    let mark = marked.get_unchecked_mut(j as usize);
                    if !*mark {
                        *mark = true;
                        touched.push(j);
                    }
                }
            }
            touched.sort_unstable();
            for j in touched.drain(..) {
                idx.push(j);
                val.push(*row.get_unchecked(j as usize));
                *row.get_unchecked_mut(j as usize) = 0.0;
                *marked.get_unchecked_mut(j as usize) = false;
            }
        }
        ptr[i + 1] = i32::try_from(idx.len()).expect("the product has fewer than 2^31 entries");
    }
    Csr { rows: a.rows, cols: b.cols, ptr, idx, val }
}

/// Counts the coordinates that occur in both ranges of `idx`.
///
/// # Safety
/// The ranges lie within `idx`.
#[inline(always)]
unsafe fn common(idx: &[u32], a: std::ops::Range<usize>, b: std::ops::Range<usize>) -> i64 {
    let (mut p, mut q, mut n) = (a.start, b.start, 0);
    while p < a.end && q < b.end {
        // SAFETY: `p` and `q` are below the ends of their ranges, which lie within `idx`.
        let (i, j) = unsafe { (*idx.get_unchecked(p), *idx.get_unchecked(q)) };
        n += i64::from(i == j);
        p += usize::from(i <= j);
        q += usize::from(j <= i);
    }
    n
}

/// Computes `sum_ijk E_ij E_jk E_ik` by merging rows.
pub fn triangles(e: &Csr) -> i64 {
    assert_eq!(e.rows, e.cols);
    let mut n = 0;
    for i in 0..e.rows {
        // SAFETY: the matrix is valid and square.
        unsafe {
            for p in fiber(&e.ptr, i) {
                let j = *e.idx.get_unchecked(p) as usize;
                n += common(&e.idx, fiber(&e.ptr, j), fiber(&e.ptr, i));
            }
        }
    }
    n
}

/// Computes `M_ir = sum_jk X_ijk B_jr C_kr` with all products in the innermost loop.
pub fn mttkrp(x: &Csf3, b: &[f64], c: &[f64], rank: usize) -> Vec<f64> {
    assert_eq!((b.len(), c.len()), (x.shape[1] * rank, x.shape[2] * rank));
    let mut m = vec![0.0; x.shape[0] * rank];
    for p0 in 0..x.idx[0].len() {
        let out = &mut m[x.idx[0][p0] as usize * rank..][..rank];
        // SAFETY: the tensor is valid.
        for p1 in unsafe { fiber(&x.ptr[1], p0) } {
            let b = &b[x.idx[1][p1] as usize * rank..][..rank];
            // SAFETY: the tensor is valid.
            for p2 in unsafe { fiber(&x.ptr[2], p1) } {
                let c = &c[x.idx[2][p2] as usize * rank..][..rank];
                let value = x.val[p2];
                for r in 0..rank {
                    out[r] += value * b[r] * c[r];
                }
            }
        }
    }
    m
}

/// Computes `M_ir = sum_j B_jr sum_k X_ijk C_kr` with the inner sum in a workspace row.
pub fn mttkrp_factored(x: &Csf3, b: &[f64], c: &[f64], rank: usize) -> Vec<f64> {
    assert_eq!((b.len(), c.len()), (x.shape[1] * rank, x.shape[2] * rank));
    let (mut m, mut w) = (vec![0.0; x.shape[0] * rank], vec![0.0; rank]);
    for p0 in 0..x.idx[0].len() {
        let out = &mut m[x.idx[0][p0] as usize * rank..][..rank];
        // SAFETY: the tensor is valid.
        for p1 in unsafe { fiber(&x.ptr[1], p0) } {
            w.fill(0.0);
            // SAFETY: the tensor is valid.
            for p2 in unsafe { fiber(&x.ptr[2], p1) } {
                let c = &c[x.idx[2][p2] as usize * rank..][..rank];
                let value = x.val[p2];
                for r in 0..rank {
                    w[r] += value * c[r];
                }
            }
            let b = &b[x.idx[1][p1] as usize * rank..][..rank];
            for r in 0..rank {
                out[r] += w[r] * b[r];
            }
        }
    }
    m
}

/// Returns the sum of the elements of `x` at all indices in `idx`. The time of the call is a lower
/// bound for kernels that gather these elements.
pub fn gather(idx: &[u32], x: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (chunks, rest) = idx.as_chunks::<8>();
    for chunk in chunks {
        for (sum, i) in sums.iter_mut().zip(chunk) {
            *sum += x[*i as usize];
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|i| x[*i as usize]).sum::<f64>()
}
