//! Powers of two that even out the magnitudes of the rows and columns of a matrix.
//!
//! Pivots are compared with other elements, so a factorization of a badly scaled matrix takes bad
//! pivots, and its products overflow or underflow. The scales are powers of two, so they change no
//! mantissa.

use crate::real::Real;
use faer::MatMut;

/// A matrix is scaled if the largest elements of its rows, or of its columns, differ by more than
/// two to this power. Partial pivoting is accurate enough for smaller differences.
const SPREAD: i32 = 26;
/// The greatest number of iterations that even out exponents. The differences halve in each
/// iteration, and exponents have 12 bits.
const ITERATIONS: usize = 12;

/// The exponents of the powers of two by which rows and columns are multiplied.
#[derive(Clone, Debug)]
pub(crate) struct Scales {
    pub(crate) rows: Vec<i32>,
    pub(crate) columns: Vec<i32>,
}

/// Calls a function with the row, the column and the value of each element.
type Entries<'a, T> = &'a dyn Fn(&mut dyn FnMut(usize, usize, T));

impl Scales {
    /// Returns scales after which the largest elements of all columns, and of most rows, have
    /// absolute values near 1, and no element has a larger one; `None` if the matrix is well
    /// scaled. Zeros, infinities and NaN have no influence.
    ///
    /// The scales depend on the largest elements alone (Ruiz, "A Scaling Algorithm to Equilibrate
    /// Both Rows and Columns Norms in Matrices", 2001): tiny elements, of which some matrices have
    /// many, must not distort them.
    pub(crate) fn of<T: Real>((rows, columns): (usize, usize), entries: Entries<'_, T>) -> Option<Scales> {
        if !Scales::are_needed((rows, columns), entries) {
            return None;
        }
        let (mut r, mut c) = even_out((rows, columns), entries);
        limit(&mut r, |largest| entries(&mut |i, j, value| raise(&mut largest[i], value, c[j])));
        limit(&mut c, |largest| entries(&mut |i, j, value| raise(&mut largest[j], value, r[i])));
        Some(Scales { rows: r, columns: c })
    }

    /// Returns whether the largest elements of rows or columns have very different magnitudes, or
    /// their squares would overflow or underflow.
    fn are_needed<T: Real>((rows, columns): (usize, usize), entries: Entries<'_, T>) -> bool {
        let is_bad =
            |(low, high): (i32, i32)| high - low > SPREAD || low < -safe_exponent::<T>() || high > safe_exponent::<T>();
        // If all elements have similar exponents, so have the largest ones.
        let mut range = None;
        entries(&mut |_, _, value| {
            if let Some(exponent) = exponent(value) {
                let (low, high) = range.unwrap_or((exponent, exponent));
                range = Some((exponent.min(low), exponent.max(high)));
            }
        });
        if !range.is_some_and(is_bad) {
            return false;
        }
        let none = i32::MIN;
        let (mut of_rows, mut of_columns) = (vec![none; rows], vec![none; columns]);
        entries(&mut |i, j, value| {
            raise(&mut of_rows[i], value, 0);
            raise(&mut of_columns[j], value, 0);
        });
        let range = |largest: &[i32]| {
            let known = || largest.iter().copied().filter(|exponent| *exponent > none);
            Some((known().min()?, known().max()?))
        };
        [&of_rows, &of_columns].into_iter().filter_map(|largest| range(largest)).any(is_bad)
    }

    /// Returns scales of the columns of a matrix alone; `None` if the squares of all elements are
    /// normal numbers.
    pub(crate) fn of_columns<T: Real>((rows, columns): (usize, usize), entries: Entries<'_, T>) -> Option<Scales> {
        let mut largest = vec![i32::MIN; columns];
        entries(&mut |_, j, value| raise(&mut largest[j], value, 0));
        let known = |exponent: &&i32| **exponent > i32::MIN;
        if largest.iter().filter(known).all(|exponent| exponent.abs() <= safe_exponent::<T>() / 2) {
            return None;
        }
        let columns = largest.iter().map(|exponent| if *exponent > i32::MIN { -exponent } else { 0 }).collect();
        Some(Scales { rows: vec![0; rows], columns })
    }

    /// Returns the sum of all exponents: the determinant of the scaled matrix is that of the matrix
    /// times two to this power.
    pub(crate) fn sum(&self) -> i64 {
        self.rows.iter().chain(&self.columns).map(|exponent| i64::from(*exponent)).sum()
    }
}

/// Multiplies the rows of right sides by powers of two. A column whose products would overflow is
/// multiplied by a further power of two. Returns the exponents of these powers.
pub(crate) fn scale_rows<T: Real>(mut x: MatMut<'_, T>, rows: &[i32]) -> Vec<i32> {
    let mut shifts = Vec::with_capacity(x.ncols());
    for j in 0..x.ncols() {
        let exponents = (0..x.nrows()).filter_map(|i| Some(exponent(x[(i, j)])? + rows[i]));
        let excess = exponents.max().map_or(0, |largest| (largest - 2 * safe_exponent::<T>()).max(0));
        (0..x.nrows()).for_each(|i| x[(i, j)] = times_power(x[(i, j)], rows[i] - excess));
        shifts.push(-excess);
    }
    shifts
}

/// Multiplies the first rows of solutions by powers of two, and divides columns by the powers that
/// [`scale_rows`] returned.
pub(crate) fn unscale_rows<T: Real>(mut x: MatMut<'_, T>, rows: &[i32], shifts: &[i32]) {
    for (j, shift) in shifts.iter().enumerate() {
        rows.iter().enumerate().for_each(|(i, row)| x[(i, j)] = times_power(x[(i, j)], row - shift));
    }
}

/// Returns the exponent of the largest power of two that is at most the absolute value; `None` for
/// zero, infinities and NaN.
pub(crate) fn exponent<T: Real>(value: T) -> Option<i32> {
    let value = value.widened();
    if value == 0.0 || !value.is_finite() {
        return None;
    }
    let of_normal = |value: f64| ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    Some(if value.abs() < f64::MIN_POSITIVE { of_normal(value * 2f64.powi(60)) - 60 } else { of_normal(value) })
}

/// Multiplies a number by two to a power.
pub(crate) fn times_power<T: Real>(value: T, power: i32) -> T {
    T::rounded(wide_times_power(value.widened(), i64::from(power)))
}

/// Multiplies a number by two to a power.
pub(crate) fn wide_times_power(value: f64, power: i64) -> f64 {
    const STEP: i64 = 1000;
    // After three steps, the product is zero or infinite.
    let mut rest = power.clamp(-3 * STEP, 3 * STEP);
    let mut product = value;
    while rest != 0 {
        let step = rest.clamp(-STEP, STEP);
        product *= 2f64.powi(step as i32);
        rest -= step;
    }
    product
}

/// Returns an exponent: products of two numbers whose exponents have at most this absolute value
/// are normal numbers.
pub(crate) fn safe_exponent<T: Real>() -> i32 {
    (-T::MIN_POSITIVE.log2() / 2.0) as i32 - 12
}

fn raise<T: Real>(largest: &mut i32, value: T, scale: i32) {
    if let Some(exponent) = exponent(value) {
        *largest = (*largest).max(exponent + scale);
    }
}

/// Lowers or raises exponents such that the largest scaled element of each row or column is
/// between 1/2 and 1.
fn limit(scales: &mut [i32], measure: impl FnOnce(&mut [i32])) {
    let mut largest = vec![i32::MIN; scales.len()];
    measure(&mut largest);
    for (scale, largest) in scales.iter_mut().zip(largest) {
        *scale = if largest > i32::MIN { -largest - 1 } else { 0 };
    }
}

/// Returns exponents of rows and columns after which the largest element of each row and column is
/// near 1: an iteration divides rows and columns by the square roots of their largest elements.
fn even_out<T: Real>((rows, columns): (usize, usize), entries: Entries<'_, T>) -> (Vec<i32>, Vec<i32>) {
    let (mut r, mut c) = (vec![0.0; rows], vec![0.0; columns]);
    for _ in 0..ITERATIONS {
        let (mut of_rows, mut of_columns) = (vec![f64::NEG_INFINITY; rows], vec![f64::NEG_INFINITY; columns]);
        entries(&mut |i, j, value| {
            if let Some(exponent) = exponent(value) {
                let scaled = f64::from(exponent) + r[i] + c[j];
                of_rows[i] = of_rows[i].max(scaled);
                of_columns[j] = of_columns[j].max(scaled);
            }
        });
        let mut change: f64 = 0.0;
        for (scales, largest) in [(&mut r, of_rows), (&mut c, of_columns)] {
            // Rows without elements have no largest one.
            for (scale, largest) in scales.iter_mut().zip(largest).filter(|(_, largest)| largest.is_finite()) {
                *scale -= largest / 2.0;
                change = change.max(largest.abs() / 2.0);
            }
        }
        if change < 0.5 {
            break;
        }
    }
    let rounded = |scales: Vec<f64>| scales.into_iter().map(|scale| scale.round() as i32).collect();
    (rounded(r), rounded(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(a: &[f64], columns: usize) -> Option<Vec<f64>> {
        let entries = |visit: &mut dyn FnMut(usize, usize, f64)| {
            a.iter().enumerate().for_each(|(k, value)| visit(k / columns, k % columns, *value));
        };
        let scales = Scales::of::<f64>((a.len() / columns, columns), &entries)?;
        let of =
            |(k, value): (usize, &f64)| times_power(*value, scales.rows[k / columns] + scales.columns[k % columns]);
        Some(a.iter().enumerate().map(of).collect())
    }

    /// The scaled matrix of a product of diagonal matrices and a matrix of ones consists of powers
    /// of two near 1.
    #[test]
    fn scales_of_rows_and_columns_are_found() {
        let (r, c) = ([1e150, 1e-150, 1.0], [1e-100, 1e120, 3.0]);
        let a: Vec<f64> = r.iter().flat_map(|r| c.iter().map(move |c| r * c)).collect();
        let found = scaled(&a, 3).unwrap();
        assert!(found.iter().all(|value| (0.05..=1.0).contains(value)), "{found:?}");
        let found = scaled(&[1e-200, 0.0, 0.0, 1e200], 2).unwrap();
        assert!([found[0], found[3]].iter().all(|value| (0.25..=1.0).contains(value)), "{found:?}");
        assert!(scaled(&[1.0, 2.0, 0.0, 1e-5], 2).is_none() && scaled(&[0.0, f64::NAN], 2).is_none());
        assert!(scaled(&[1e300, 1e300], 2).is_some());
    }

    #[test]
    fn powers_of_two_are_exact() {
        for (value, power) in [(1.0, 1500), (3.0, -1000), (5e-324, 1074), (f64::MAX, -2000), (-1.5, 7)] {
            let product = wide_times_power(value, power);
            let back = wide_times_power(product, -power);
            assert!(!product.is_finite() || product == 0.0 || product.abs() < f64::MIN_POSITIVE || back == value);
        }
        assert_eq!((exponent(1.0), exponent(5e-324), exponent(-1.5e300f64)), (Some(0), Some(-1074), Some(997)));
        assert_eq!((exponent(0.0), exponent(f64::NAN), times_power(3.0f32, -2)), (None, None, 0.75));
    }
}
