//! Lazy matrices, closures and operators that a caller writes.

use crate::{array, positive, relative_error, sparse, vector};
use redpoll::linalg::iterative::{FunctionOperator, LinearOperator, Orientation, Product, SolverOptions, cg, lsqr};
use redpoll::prelude::*;
use redpoll_testing::rng::Rng;

fn exact<'a>() -> SolverOptions<'a> {
    SolverOptions { rtol: 1e-12, ..SolverOptions::default() }
}

/// Products of matrices and sums with multiples of the identity are operators.
#[test]
fn lazy_matrices_are_operators() {
    let session = Session::default();
    let mut rng = Rng::new(5);
    let matrix = sparse(&mut rng, 30, 12, 30);
    let mut normal = matrix.transposed().times(&matrix);
    (0..12).for_each(|i| normal.values[i * 12 + i] += 0.5);
    let b = vector(&mut rng, 12);
    let expected = normal.solve(&b);
    for _ in 0..5 {
        let a = array(&session, &mut rng, &matrix);
        let lazy = a.t().matmul(&a) + session.eye(12, 12, 0, Prim::F64) * 0.5;
        let x = cg(&lazy, &session.vector(b.clone()), exact()).unwrap().x;
        assert!(relative_error(&x.to_vec().unwrap(), &expected) < 1e-9);
    }
}

/// The product of a product of matrices reads both factors; it does not form the product.
#[test]
fn products_of_matrices_are_not_formed() {
    let session = Session::default();
    // A column of ones: `A A^T` would store 10^10 elements.
    let n = 100_000;
    let a = session.ones([n, 1], Prim::F64);
    a.compute().unwrap();
    let x = session.ones([n], Prim::F64);
    let lazy = a.matmul(a.t());
    let mut product = lazy.product(Orientation::Plain).unwrap();
    let y = product.run(x.to_vec().unwrap()).unwrap();
    assert!(y.iter().all(|y| *y == n as f64));
}

#[test]
fn closures_are_operators() {
    let session = Session::default();
    let mut rng = Rng::new(6);
    let matrix = positive(&mut rng, 15);
    let b = vector(&mut rng, 15);
    let a = array(&session, &mut rng, &matrix);
    let operator = FunctionOperator::new(&session, (15, 15), |x| Ok(a.matmul(x)));
    let x = cg(&operator, &session.vector(b.clone()), exact()).unwrap().x;
    assert!(relative_error(&x.to_vec().unwrap(), &matrix.solve(&b)) < 1e-9);
    assert!(lsqr(&operator, &session.vector(b.clone()), Default::default()).is_err(), "it has no transpose");
    let operator = operator.with_transpose(|x| Ok(a.t().matmul(x)));
    let options = redpoll::linalg::iterative::LsqrOptions { atol: 1e-12, btol: 1e-12, ..Default::default() };
    let x = lsqr(&operator, &session.vector(b.clone()), options).unwrap().x;
    assert!(relative_error(&x.to_vec().unwrap(), &matrix.solve(&b)) < 1e-7);
}

/// A closure may keep the vector that it gets; the vector does not change later.
#[test]
fn vectors_that_closures_keep_do_not_change() {
    let session = Session::default();
    let kept = std::cell::RefCell::new(Vec::new());
    let operator = FunctionOperator::new(&session, (2, 2), |x| {
        kept.borrow_mut().push((x.clone(), x.to_vec::<f64>()?));
        Ok(session.dense([2, 2], [2.0, 1.0, 1.0, 3.0]).matmul(x))
    });
    cg(&operator, &session.vector([1.0, 2.0]), exact()).unwrap();
    for (array, values) in kept.borrow().iter() {
        assert_eq!(array.to_vec::<f64>().unwrap(), *values);
    }
}

/// The second difference of vectors, as a type that implements [`LinearOperator`].
struct SecondDifference(Session, usize);

impl LinearOperator for SecondDifference {
    fn session(&self) -> &Session {
        &self.0
    }

    fn size(&self) -> Result<(u64, u64), Error> {
        Ok((self.1 as u64, self.1 as u64))
    }

    fn multiply(&self, x: &Array) -> Result<Array, Error> {
        Ok(self.0.vector(self.product(Orientation::Plain)?.run(x.to_vec()?)?))
    }

    fn product(&self, _: Orientation) -> Result<Product<'_>, Error> {
        Ok(Product::of_function(self.size()?, |x| {
            let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
            Ok((0..x.len()).map(|i| 2.0 * x[i] - at(i + 1) - at(i.wrapping_sub(1))).collect())
        }))
    }
}

#[test]
fn callers_write_operators() {
    let session = Session::default();
    let operator = SecondDifference(session.clone(), 50);
    let solution = cg(&operator, &session.ones([50], Prim::F64), exact()).unwrap();
    assert!(solution.converged() && solution.iterations <= 26);
    let x = solution.x.to_vec::<f64>().unwrap();
    let expected: Vec<f64> = (1..=50).map(|i| 0.5 * f64::from(i * (51 - i))).collect();
    assert!(relative_error(&x, &expected) < 1e-10);
}

/// An operator whose product has another size than the operator reports.
struct Inconsistent(Session);

impl LinearOperator for Inconsistent {
    fn session(&self) -> &Session {
        &self.0
    }

    fn size(&self) -> Result<(u64, u64), Error> {
        Ok((3, 3))
    }

    fn multiply(&self, x: &Array) -> Result<Array, Error> {
        Ok(x.clone())
    }

    fn product(&self, _: Orientation) -> Result<Product<'_>, Error> {
        Ok(Product::of_function((3, 2), |x| Ok(x.to_vec())))
    }
}

#[test]
fn products_of_other_sizes_are_errors() {
    let session = Session::default();
    let operator = Inconsistent(session.clone());
    let b = session.ones([3], Prim::F64);
    let error = cg(&operator, &b, exact()).err().unwrap().to_string();
    assert_eq!(error, "`LinearOperator` takes a product of shape [3, 3], found shape [3, 2]");
    let mut product = operator.product(Orientation::Plain).unwrap();
    assert!(product.run(vec![1.0; 3]).is_err() && product.run(vec![1.0; 2]).is_err());
    let matrix = session.ones([3, 2], Prim::F64);
    assert!(matrix.product(Orientation::Plain).unwrap().run(vec![1.0; 3]).is_err());
    let inverse = redpoll::linalg::iterative::jacobi(&session.eye(2, 2, 0, Prim::F64)).unwrap();
    assert!(inverse.product(Orientation::Plain).unwrap().run(vec![1.0; 3]).is_err());
    assert!(inverse.multiply(&b).is_err());
}
