//! Statistics compared with counts over all stored elements.

use super::structure::{mirrored, same};
use super::*;
use crate::testing::formats_of_rank;
use crate::{MatrixSymmetry, convert};
use redpoll_logic::statistics::{Fact, ModeSet};
use std::collections::BTreeSet;

/// Returns the storage coordinates of every stored element, including padding, which has no tensor
/// coordinates.
fn stored(tensor: &Tensor) -> Vec<Vec<u64>> {
    let mut all = Vec::new();
    if tensor.element_count() > 0 {
        tensor.walk(0, 0..1, &mut vec![0; tensor.levels().len()], &mut |storage, _| all.push(storage.to_vec()));
    }
    all
}

fn distinct(stored: &[Vec<u64>], modes: ModeSet) -> BTreeSet<Vec<u64>> {
    stored.iter().map(|s| modes.iter().map(|m| s[m]).collect()).collect()
}

fn sets(modes: usize) -> impl Iterator<Item = ModeSet> {
    (0u64..1 << modes).map(move |bits| (0..modes).filter(|m| bits >> m & 1 == 1).collect())
}

fn check(tensor: &Tensor) {
    let (stored, modes) = (stored(tensor), tensor.levels().len());
    let sizes = tensor.ty().format.storage_shape(&tensor.ty().shape);
    for of in sets(modes) {
        let all_coordinates = distinct(&stored, of);
        assert_eq!(tensor.distinct(of), Some(all_coordinates.len() as u64), "{of:?} of {:?}", tensor.ty());
        for mode in of.iter() {
            let at = of.iter().position(|m| m == mode).unwrap();
            let count = |i: u64| all_coordinates.iter().filter(|p| p[at] == i).count() as f64;
            let mean = all_coordinates.len() as f64 / sizes[mode].max(1) as f64;
            let expected: Vec<f64> = (0..sizes[mode]).map(|i| if mean > 0.0 { count(i) / mean } else { 0.0 }).collect();
            let found = tensor.marginal(of, mode).unwrap();
            let near = found.iter().zip(&expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4 * b.max(1.0));
            assert!(near && found.len() == expected.len(), "{mode} among {of:?}: {found:?}, {expected:?}");
        }
        for given in sets(modes).filter(|given| given.iter().all(|m| !of.contains(m))) {
            let both = distinct(&stored, of.union(given));
            let order: Vec<usize> = of.union(given).iter().collect();
            let key = |p: &Vec<u64>| -> Vec<u64> {
                given.iter().map(|m| p[order.iter().position(|o| *o == m).unwrap()]).collect()
            };
            let max = both.iter().map(|p| both.iter().filter(|q| key(q) == key(p)).count()).max().unwrap_or(0);
            let degree = tensor.degree(of, given).unwrap();
            assert_eq!(degree.bound, max as f64, "{of:?} given {given:?} of {:?}", tensor.ty());
            assert!(degree.estimate <= degree.bound);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Statistics match the stored elements in every format.
    #[test]
    fn statistics_are_those_of_the_stored_elements(
        sample in (1usize..4).prop_flat_map(any_sample),
        picks in proptest::collection::vec(any::<proptest::sample::Index>(), 6),
    ) {
        let formats = formats_of_rank(sample.shape.len());
        let tensor = sample.tensor(&Format::csf(sample.shape.len()));
        check(&tensor);
        for pick in picks {
            if let Ok(converted) = convert(&tensor, pick.get(&formats)) {
                check(&converted);
            }
        }
    }

    /// Facts reported of a tensor are true of its elements.
    #[test]
    fn facts_are_true(
        sample in any_sample(2),
        exact in any::<bool>(),
        picks in proptest::collection::vec(any::<proptest::sample::Index>(), 6),
    ) {
        let sample = mirrored(sample, exact);
        let formats = formats_of_rank(2);
        let rows = sample.tensor(&Format::csr());
        let symmetry = rows.structure().unwrap().matrix.unwrap().symmetry;
        prop_assert_eq!(rows.holds(Fact::Symmetric(0, 1)), symmetry == MatrixSymmetry::Exact);
        for pick in picks {
            let Ok(tensor) = convert(&rows, pick.get(&formats)) else { continue };
            let (n, dense) = (tensor.ty().shape[0] as usize, tensor.to_dense_scalars().unwrap());
            let symmetric = (0..n * n).all(|k| same(&dense[k], &dense[k % n * n + k / n]));
            prop_assert!(symmetric || !tensor.holds(Fact::Symmetric(0, 1)));
            let off = (0..n).all(|i| same(&dense[i * n + i], &tensor.ty().fill));
            prop_assert_eq!(tensor.holds(Fact::OffDiagonal(0, 1)), off);
        }
    }
}

/// Level sizes, by which loop orders are chosen, are exact.
#[test]
fn positions_are_counted_level_by_level() {
    let values: Vec<Scalar> = [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0].map(Scalar::F64).to_vec();
    let cases = [
        (Format::dense(2), vec![3, 9]),
        (Format::csr(), vec![3, 3]),
        (Format::csf(2), vec![2, 3]),
        (Format::coo(2), vec![3, 3]),
        (Format::bcsr(2, 2), vec![2, 3, 6, 12]),
    ];
    for (format, expected) in cases {
        let fill = Scalar::F64(0.0);
        let ty = TensorType { shape: vec![3, 3], dtype: fill.dtype(), fill, format: format.clone() };
        let dense = Values::from_scalars(ty.dtype.clone(), &values).unwrap();
        let tensor = Tensor::from_dense(ty, &dense).unwrap();
        assert_eq!(tensor.level_positions().unwrap(), expected, "{format:?}");
    }
}
