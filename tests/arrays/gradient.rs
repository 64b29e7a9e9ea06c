//! Gradients of arrays. Models on sparse data are compared with plain loops. Other tests check
//! derivatives through computed arrays, the work of derivatives in a pattern, named modes,
//! directions, and errors.

use redpoll::logic::{Format, Prim};
use redpoll::{Array, Error, Session, Target, wrt};
use redpoll_testing::engines::error_chain;

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{found}, expected {expected}");
    }
}

/// Returns a sparse random matrix.
fn sparse(session: &Session, shape: [u64; 2], seed: u64) -> Array {
    session.random(shape).density(0.2).seed(seed).array().unwrap().to_csr()
}

/// In each step of a logistic regression on sparse features, the loss and the gradient are those of
/// plain loops.
#[test]
fn logistic_regression() -> Result<(), Error> {
    let session = Session::default();
    let (rows, features, rate, decay) = (60, 8, 0.5, 0.01);
    let x = sparse(&session, [rows as u64, features as u64], 1);
    let y = session.vector((0..rows).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }));
    let (dense_x, dense_y) = (x.to_vec::<f64>()?, y.to_vec::<f64>()?);
    let mut plain = vec![0.0; features];
    let mut w = session.full([features as u64], 0.0);
    let mut losses = Vec::new();
    for _ in 0..20 {
        let margins = -&y * x.matmul(&w);
        let loss = margins.exp().log1p().mean(..) + decay * w.square().sum(..);
        let (loss, [gradient]) = session.value_and_grad(&loss, [&w])?;
        let mut plain_loss = decay * plain.iter().map(|w| w * w).sum::<f64>();
        let mut plain_gradient: Vec<f64> = plain.iter().map(|w| 2.0 * decay * w).collect();
        for i in 0..rows {
            let row = &dense_x[i * features..(i + 1) * features];
            let margin = -dense_y[i] * row.iter().zip(&plain).map(|(x, w)| x * w).sum::<f64>();
            plain_loss += margin.exp().ln_1p() / rows as f64;
            let slope = -dense_y[i] / (1.0 + (-margin).exp()) / rows as f64;
            row.iter().zip(&mut plain_gradient).for_each(|(x, g)| *g += slope * x);
        }
        assert_near(&[loss.item::<f64>()?], &[plain_loss]);
        assert_near(&gradient.to_vec::<f64>()?, &plain_gradient);
        plain.iter_mut().zip(&plain_gradient).for_each(|(w, g)| *w -= rate * g);
        w = &w - rate * &gradient;
        w.compute()?;
        losses.push(plain_loss);
    }
    assert!(losses.last() < losses.first());
    Ok(())
}

/// The gradients of the squared error over the stored ratings, with respect to both factors, are
/// those of plain loops.
#[test]
fn factorization_of_stored_entries() -> Result<(), Error> {
    let session = Session::default();
    let (users, items, rank) = (12usize, 9usize, 3usize);
    let ratings = sparse(&session, [users as u64, items as u64], 2);
    let factor = |rows: usize, seed| session.random([rows as u64, rank as u64]).seed(seed).array();
    let (u, v) = (factor(users, 3)?, factor(items, 4)?);
    let error = ratings.not_equal(0.0).where_(&ratings - u.matmul(v.t()), 0.0);
    let [du, dv] = session.grad(&error.square().sum(..), [&u, &v]);
    let [r, a, b] = [&ratings, &u, &v].map(|array| array.to_vec::<f64>().unwrap());
    let (mut plain_u, mut plain_v) = (vec![0.0; users * rank], vec![0.0; items * rank]);
    for (i, j) in (0..users).flat_map(|i| (0..items).map(move |j| (i, j))).filter(|(i, j)| r[i * items + j] != 0.0) {
        let product: f64 = (0..rank).map(|k| a[i * rank + k] * b[j * rank + k]).sum();
        let slope = -2.0 * (r[i * items + j] - product);
        for k in 0..rank {
            plain_u[i * rank + k] += slope * b[j * rank + k];
            plain_v[j * rank + k] += slope * a[i * rank + k];
        }
    }
    assert_near(&du.to_vec::<f64>()?, &plain_u);
    assert_near(&dv.to_vec::<f64>()?, &plain_v);
    Ok(())
}

/// The derivative of a product by a sparse matrix, in the pattern of the matrix, is a sampled
/// product: its work grows with the stored entries and the rows, not with the number of elements.
#[test]
fn derivatives_in_a_pattern_are_sampled() -> Result<(), Error> {
    let session = Session::default();
    let (n, rank) = (2000u64, 4u64);
    let entries = (0..300u64).map(|k| ([k * 7 % n, k * 13 % n], 1.0 + k as f64));
    let a = session.triples([n, n], Format::csr(), entries);
    let factor = |seed| session.random([n, rank]).seed(seed).array();
    let (b, c) = (factor(5)?, factor(6)?);
    let loss = (a.matmul(&b) * &c).sum(..);
    let [gradient] = session.grad(&loss, [wrt(&a).in_pattern()]);
    let rounds = gradient.prepare()?.run_with(Target::ASSEMBLY)?.counts.expect("the interpreter counts").iterations;
    let least = 300 * rank;
    assert!((least..8 * (least + n)).contains(&rounds), "{rounds} rounds");
    let stored = gradient.to_csr().compute()?.count_stored()?;
    assert_eq!(stored, 300);
    let [full] = session.grad(&loss, [&a]);
    let in_pattern = a.not_equal(0.0).where_(&full, 0.0);
    assert!((&in_pattern - &gradient).abs().max(..).item::<f64>()? < 1e-12);
    Ok(())
}

/// Derivatives pass through arrays that are already computed, whether the loss was built before or
/// after the computation.
#[test]
fn derivatives_pass_through_computed_arrays() -> Result<(), Error> {
    let session = Session::default();
    let x = session.vector([1.0, 2.0, 3.0]) * 1.0;
    let y = x.square();
    let before = (&y * &x).sum(..);
    y.compute()?;
    let after = (&y * &x).sum(..);
    x.compute()?;
    let last = (&y * &x).sum(..);
    before.compute()?;
    for loss in [before, after, last] {
        let [gradient] = session.grad(&loss, [&x]);
        assert_near(&gradient.to_vec::<f64>()?, &[3.0, 12.0, 27.0]);
    }
    Ok(())
}

#[test]
fn named_modes_and_directions() -> Result<(), Error> {
    let session = Session::default();
    let a = session.dense([2, 3], (1..7).map(f64::from)).at(["i", "k"]);
    let b = session.dense([3, 2], (1..7).map(f64::from)).at(["k", "j"]);
    let product = (&a * &b).sum("k");
    let [da] = session.vjp(&product, 1.0, [&a]);
    assert_near(&da.to_vec::<f64>()?, &[3.0, 7.0, 11.0, 3.0, 7.0, 11.0]);
    let tangent = session.jvp(&product, [(&a, &a)]);
    assert_near(&tangent.to_vec::<f64>()?, &product.to_vec::<f64>()?);
    Ok(())
}

#[test]
fn errors_say_what_has_no_derivative() {
    let session = Session::default();
    let (x, n) = (session.vector([1.0, 2.0]), session.vector([1, 2]));
    let error = |loss: &Array, by: &Array| {
        let [gradient] = session.grad(loss, [by]);
        error_chain(&gradient.collect().unwrap_err())
    };
    let cases = [
        (error(&x.square(), &x), "the loss has shape [2], expected one number"),
        (error(&n.sum(..), &n), "only floats have a derivative, and the values are i64"),
        (error(&(&n * &x).sum(..), &n), "no derivative of value of dtype i32"),
        (error(&x.sum(..), &session.vector([1.0])), "does not depend on array 1"),
        (error(&x.lgamma().sum(..), &x), "no derivative of operator `lgamma`"),
    ];
    for (found, expected) in cases {
        assert!(found.contains(expected), "{found}");
    }
    let [float] = session.grad(&x.astype(Prim::F32).sum(..), [&x]);
    assert_eq!(float.to_vec::<f64>().unwrap(), [1.0, 1.0]);
}
