//! Export and import of Arrow run-end encoded arrays.

use super::*;
use crate::NullPolicy;
use crate::testing::formats_of_rank;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array as _, ArrayRef, Float64Array, Int16Array, Int32Array, Int64Array, RunArray};
use expect_test::expect;

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn run_arrays_represent_any_vector(sample in any_sample(1), pick in any::<proptest::sample::Index>()) {
        let tensor = sample.tensor(pick.get(&formats_of_rank(1)));
        let back = Tensor::from_run_array(&tensor.to_run_array().unwrap(), Some(&sample.fill), NullPolicy::Error).unwrap();
        prop_assert_eq!(back.ty().shape.clone(), sample.shape.clone());
        prop_assert_eq!(back.ty().dtype.clone(), sample.dtype.clone());
        prop_assert_eq!(model_of(&back.to_triples().unwrap(), &sample.fill), sample.model());
    }
}

/// Ends and values are exchanged without copies, both ways.
#[test]
fn ends_and_values_are_shared() {
    let values = Float64Array::from(vec![1.0, 0.0, 2.5]);
    let narrow: ArrayRef =
        std::sync::Arc::new(RunArray::<Int32Type>::try_new(&Int32Array::from(vec![2, 3, 7]), &values).unwrap());
    let wide: ArrayRef =
        std::sync::Arc::new(RunArray::<Int64Type>::try_new(&Int64Array::from(vec![2, 3, 7]), &values).unwrap());
    for array in [narrow, wide] {
        let tensor = Tensor::from_run_array(&array, None, NullPolicy::Error).unwrap();
        assert_eq!(tensor.to_dense_scalars().unwrap(), [1.0, 1.0, 0.0, 2.5, 2.5, 2.5, 2.5].map(Scalar::F64));
        let back = tensor.to_run_array().unwrap();
        assert_eq!(back.data_type(), array.data_type());
        let pointers = |array: &ArrayRef| {
            array.to_data().child_data().iter().map(|child| child.buffers()[0].as_ptr()).collect::<Vec<_>>()
        };
        let ours = [&tensor.levels()[0][1], &tensor.leaf()[0]].map(|a| a.buffer().as_ptr());
        assert_eq!(pointers(&array), ours);
        assert_eq!(pointers(&back), ours);
    }
}

/// Slices, whose ends count from the start of the whole array, and ends of 16 bits are imported.
#[test]
fn slices_and_short_ends_are_rebased() {
    let ends = Int16Array::from(vec![2, 3, 7]);
    let values = Float64Array::from(vec![Some(1.0), None, Some(2.5)]);
    let array = RunArray::<Int16Type>::try_new(&ends, &values).unwrap();
    let dense = |array: &dyn arrow_array::Array| {
        let tensor = Tensor::from_run_array(array, Some(&Scalar::F64(9.0)), NullPolicy::Fill).unwrap();
        tensor.to_dense_scalars().unwrap()
    };
    let all = [1.0, 1.0, 9.0, 2.5, 2.5, 2.5, 2.5].map(Scalar::F64);
    assert_eq!(dense(&array), all);
    for (start, len) in [(0, 2), (1, 3), (2, 1), (3, 2), (4, 3), (5, 0), (0, 0)] {
        assert_eq!(dense(&array.slice(start, len)), all[start..start + len], "{start}, {len}");
    }
    let tensor = Tensor::from_run_array(&array.slice(4, 3), None, NullPolicy::Error).unwrap();
    let back = tensor.to_run_array().unwrap();
    assert_eq!(back.as_run::<Int32Type>().run_ends().values(), [3]);
}

#[test]
fn invalid_run_arrays() {
    let check =
        |array: &dyn arrow_array::Array, nulls| Tensor::from_run_array(array, None, nulls).unwrap_err().to_string();
    let plain = Float64Array::from(vec![1.0]);
    expect!["column 'values of runs': expected a run-end encoded array, found Float64"]
        .assert_eq(&check(&plain, NullPolicy::Error));
    let ends = Int32Array::from(vec![2]);
    let null = RunArray::<Int32Type>::try_new(&ends, &Float64Array::from(vec![None::<f64>])).unwrap();
    expect!["column 'values of runs' is null in row 0: filter such rows, or read them as the fill value"]
        .assert_eq(&check(&null, NullPolicy::Error));
    let texts = RunArray::<Int32Type>::try_new(&ends, &arrow_array::StringArray::from(vec!["a"])).unwrap();
    expect!["column 'values of runs': values cannot have type Utf8; cast them to numbers"]
        .assert_eq(&check(&texts, NullPolicy::Error));
    let matrix = TensorSample { shape: vec![2, 3], dtype: DType::F64, fill: 0.0.into(), entries: vec![] };
    let error = matrix.tensor(&Format::csr()).to_run_array().unwrap_err().to_string();
    expect!["invalid tensor: a run-end encoded array has one mode, the tensor has 2; merge its modes first"]
        .assert_eq(&error);
}
