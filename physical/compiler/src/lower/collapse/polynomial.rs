//! Index expressions as polynomials modulo 2^64. Their variables are all subexpressions other than
//! constants, sums, differences and products.

use crate::assembly::{BinaryOp, Expr, Local};
use redpoll_logic::Scalar;

/// Limit on the number of products of a polynomial. An expression with more products is compared as
/// a whole, because each factor that is a sum multiplies the number of products.
const MAX_MONOMIALS: usize = 32;

/// A product of factors with a coefficient.
type Monomial<'e> = (Vec<&'e Expr>, i64);

/// Returns whether two `i64` expressions are equal as polynomials; compares them as trees if one
/// has too many products.
pub(super) fn are_equal(a: &Expr, b: &Expr) -> bool {
    let (Some(of_a), Some(of_b)) = (monomials(a), monomials(b)) else { return a == b };
    let mut difference: Vec<Monomial<'_>> = Vec::new();
    let negated = of_b.into_iter().map(|(factors, c)| (factors, c.wrapping_neg()));
    for (factors, c) in of_a.into_iter().chain(negated) {
        match difference.iter_mut().find(|(other, _)| have_equal_factors(&factors, other)) {
            Some((_, sum)) => *sum = sum.wrapping_add(c),
            None => difference.push((factors, c)),
        }
    }
    difference.iter().all(|(_, c)| *c == 0)
}

/// Returns whether the expression is a sum or difference in which the local occurs exactly once, as
/// a summand with coefficient 1.
pub(super) fn is_offset_of(e: &Expr, var: Local) -> bool {
    match e {
        Expr::Binary(BinaryOp::Add, a, b) => {
            let is_var_or_offset = |e: &Expr| *e == Expr::Local(var) || is_offset_of(e, var);
            is_var_or_offset(a) && !b.mentions(var) || is_var_or_offset(b) && !a.mentions(var)
        }
        Expr::Binary(BinaryOp::Sub, a, b) => (**a == Expr::Local(var) || is_offset_of(a, var)) && !b.mentions(var),
        _ => false,
    }
}

/// Returns the products of which the expression is the sum; `None` if there are more than
/// [`MAX_MONOMIALS`].
fn monomials(e: &Expr) -> Option<Vec<Monomial<'_>>> {
    let products: Vec<Monomial<'_>> = match e {
        Expr::Const(Scalar::I64(c)) => vec![(Vec::new(), *c)],
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let sign = if *op == BinaryOp::Add { 1 } else { -1 };
            let right = monomials(b)?.into_iter().map(|(factors, c)| (factors, c.wrapping_mul(sign)));
            monomials(a)?.into_iter().chain(right).collect()
        }
        Expr::Binary(BinaryOp::Mul, a, b) => {
            let (left, right) = (monomials(a)?, monomials(b)?);
            if left.len() * right.len() > MAX_MONOMIALS {
                return None;
            }
            let pairs = left.iter().flat_map(|x| right.iter().map(move |y| (x, y)));
            pairs.map(|((x, c), (y, d))| ([&x[..], y].concat(), c.wrapping_mul(*d))).collect()
        }
        atom => vec![(vec![atom], 1)],
    };
    (products.len() <= MAX_MONOMIALS).then_some(products)
}

/// Returns whether two products have the same factors, in any order.
fn have_equal_factors(a: &[&Expr], b: &[&Expr]) -> bool {
    let mut rest = b.to_vec();
    a.len() == b.len()
        && a.iter().all(|x| match rest.iter().position(|y| are_equal_atoms(x, y)) {
            Some(found) => {
                rest.swap_remove(found);
                true
            }
            None => false,
        })
}

fn are_equal_atoms(x: &Expr, y: &Expr) -> bool {
    match (x, y) {
        (Expr::Load { buffer, at }, Expr::Load { buffer: other, at: other_at }) => {
            buffer == other && are_equal(at, other_at)
        }
        _ => x == y,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::Buffer;
    use crate::assembly::build::{add, int, load, local, mul, plus, sub};

    #[test]
    fn polynomials_ignore_the_order_and_grouping_of_sums_and_products() {
        let [i, j, n] = [0, 1, 2].map(|k| local(Local(k)));
        let row = |i: &Expr| mul(i, &n);
        assert!(are_equal(&add(&row(&plus(&i, 1)), &j), &add(&add(&j, &n), &mul(&n, &i))));
        assert!(!are_equal(&row(&plus(&i, 1)), &row(&i)));
        assert!(are_equal(&sub(&i, &i), &int(0)));
        let ptr = |at: &Expr| load(Buffer(0), at.clone());
        assert!(are_equal(&ptr(&add(&row(&i), &n)), &ptr(&row(&plus(&i, 1)))));
        assert!(!are_equal(&ptr(&i), &load(Buffer(1), i.clone())));
        assert!(is_offset_of(&add(&row(&i), &j), Local(1)));
        assert!(!is_offset_of(&add(&row(&j), &j), Local(1)), "`j` is also a factor");
        assert!(!is_offset_of(&ptr(&j), Local(1)));
        assert!(is_offset_of(&sub(&add(&j, &row(&i)), &n), Local(1)) && !is_offset_of(&sub(&n, &j), Local(1)));
    }

    /// Expanded, the product of 60 sums of two summands has 2^60 products.
    #[test]
    fn long_products_of_sums_are_compared_as_a_whole() {
        let factor = |k: u32| add(&local(Local(k)), &local(Local(k + 100)));
        let product = |mut order: Box<dyn Iterator<Item = u32>>| {
            let first = factor(order.next().unwrap());
            order.fold(first, |product, k| mul(&product, &factor(k)))
        };
        let long = product(Box::new(0..60));
        assert!(are_equal(&long, &long) && !are_equal(&long, &product(Box::new((0..60).rev()))));
        assert!(!is_offset_of(&long, Local(1)));
    }
}
