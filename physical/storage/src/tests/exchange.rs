//! Export and import of record batches.

use super::*;
use crate::testing::formats_of_rank;
use crate::{Import, NullPolicy};
use arrow_array::RecordBatch;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int8Array, Int64Array, StringArray, UInt32Array};
use expect_test::{Expect, expect};
use std::sync::Arc;

const NAMES: [&str; 3] = ["i", "j", "k"];

fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter(columns.iter().map(|(n, c)| (*n, c.clone()))).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn batches_represent_any_tensor(
        sample in (0usize..4).prop_flat_map(any_sample),
        pick in any::<(proptest::sample::Index, proptest::sample::Index)>(),
    ) {
        let rank = sample.shape.len();
        let formats = formats_of_rank(rank);
        let tensor = sample.tensor(pick.0.get(&formats));
        let batch = tensor.to_record_batch(&NAMES[..rank]).unwrap();
        let import = Import {
            shape: Some(sample.shape.clone()),
            fill: Some(sample.fill.clone()),
            format: pick.1.get(&formats).clone(),
            ..Import::new(&NAMES[..rank], Some("value"))
        };
        let (back, duplicates) = Tensor::from_record_batch(&batch, import).unwrap();
        prop_assert_eq!(duplicates, 0);
        prop_assert_eq!(back.ty().dtype.clone(), sample.dtype.clone());
        prop_assert_eq!(model_of(&back.to_triples().unwrap(), &sample.fill), sample.model());
    }
}

/// Coordinates and values are exchanged without copies, both ways, also for slices.
#[test]
fn lists_of_coordinates_are_shared() {
    let rows = UInt32Array::from(vec![9, 0, 0, 2]);
    let columns = Int64Array::from(vec![9, 1, 3, 0]);
    let values = Float64Array::from(vec![9.0, 1.0, 2.0, 3.0]);
    let all = batch(&[("i", Arc::new(rows)), ("j", Arc::new(columns)), ("v", Arc::new(values))]);
    let sliced = all.slice(1, 3);
    let (tensor, _) = Tensor::from_record_batch(&sliced, Import::new(&["i", "j"], Some("v"))).unwrap();
    assert_eq!(tensor.ty().shape, [3, 4]);
    assert_eq!(tensor.sum().unwrap(), Some(6.0));
    let pointer = |batch: &RecordBatch, k: usize| batch.column(k).to_data().buffers()[0].as_ptr();
    let (own, columns) = ([&tensor.levels()[0][1], &tensor.levels()[1][0], &tensor.leaf()[0]], [0, 1, 2]);
    for (array, column) in own.into_iter().zip(columns) {
        let offset = sliced.column(column).to_data().offset() * array.prim().bytes();
        assert_eq!(array.buffer().as_ptr(), pointer(&sliced, column).wrapping_add(offset));
    }
    let back = tensor.to_record_batch(&["i", "j"]).unwrap();
    for (array, column) in own.into_iter().zip(columns) {
        assert_eq!(array.buffer().as_ptr(), pointer(&back, column));
    }
    let turned = Import { format: Format::coo(2).permuted(&[1, 0]), ..Import::new(&["i", "j"], Some("value")) };
    let (turned, _) = Tensor::from_record_batch(&back, turned).unwrap();
    assert_eq!(turned.get(&[0, 3]).unwrap(), Scalar::F64(2.0));
}

#[test]
fn rows_without_values_are_a_pattern() {
    let rows = batch(&[("i", Arc::new(Int8Array::from(vec![3, 1, 3])))]);
    let import =
        Import { format: pattern(&Format::coo(1)), duplicates: Duplicates::First, ..Import::new(&["i"], None) };
    let (tensor, duplicates) = Tensor::from_record_batch(&rows, import).unwrap();
    assert_eq!((duplicates, tensor.sum().unwrap(), tensor.leaf().len()), (1, Some(2.0), 0));
    let value = tensor.to_record_batch(&["i"]).unwrap().column(1).clone();
    assert_eq!(value.as_any().downcast_ref::<BooleanArray>(), Some(&BooleanArray::from(vec![true, true])));
}

#[test]
fn nulls_are_an_error_or_the_fill() {
    let rows = batch(&[
        ("i", Arc::new(UInt32Array::from(vec![0, 1, 2]))),
        ("v", Arc::new(Float64Array::from(vec![Some(1.0), None, Some(3.0)]))),
    ]);
    let import = |nulls| Import { nulls, fill: Some(7.0.into()), ..Import::new(&["i"], Some("v")) };
    let error = Tensor::from_record_batch(&rows, import(NullPolicy::Error)).unwrap_err();
    expect!["column 'v' is null in row 1: filter such rows, or read them as the fill value"]
        .assert_eq(&error.to_string());
    let (tensor, _) = Tensor::from_record_batch(&rows, import(NullPolicy::Fill)).unwrap();
    assert_eq!(tensor.to_dense_scalars().unwrap(), [1.0, 7.0, 3.0].map(Scalar::F64));
    assert_eq!((tensor.count_stored().unwrap(), tensor.count_differing_from_fill().unwrap()), (3, 2));
}

#[test]
fn invalid_batches() {
    let rows = batch(&[
        ("i", Arc::new(UInt32Array::from(vec![Some(0), None]))),
        ("j", Arc::new(Int64Array::from(vec![0, -1]))),
        ("k", Arc::new(Int64Array::from(vec![5, 5]))),
        ("s", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("v", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
    ]);
    let check = |import: Import<'_>, expect: Expect| {
        expect.assert_eq(&Tensor::from_record_batch(&rows, import).unwrap_err().to_string());
    };
    check(
        Import::new(&["x"], Some("v")),
        expect!["column 'x': the column does not exist; the columns are i, j, k, s, v"],
    );
    check(
        Import::new(&["i"], Some("v")),
        expect!["column 'i' is null in row 1: coordinates cannot be null; filter such rows"],
    );
    check(Import::new(&["j"], Some("v")), expect!["column 'j': row 1 has the negative coordinate -1"]);
    check(Import::new(&["v"], None), expect!["column 'v': coordinates must be integers, found Float64"]);
    check(
        Import::new(&["k"], Some("s")),
        expect!["column 's': values cannot have type Utf8; cast the column to a number"],
    );
    check(
        Import::new(&["k"], Some("v")),
        expect![
            "1 entry repeats the coordinates of an earlier entry, at [5]; choose how \
             to combine them: add them, keep the first or keep the last"
        ],
    );
    check(
        Import { shape: Some(vec![5]), ..Import::new(&["k"], Some("v")) },
        expect!["entry 0: coordinate 5 of mode 0 is out of range, its dimension is 5"],
    );
    check(
        Import { shape: Some(vec![6, 6]), ..Import::new(&["k"], Some("v")) },
        expect!["invalid format: the shape has 2 modes, but the format has 1"],
    );
    check(
        Import { fill: Some(Scalar::I64(0)), ..Import::new(&["k"], Some("v")) },
        expect!["invalid format: the fill value 0 has dtype i64, but the tensor has dtype f64"],
    );
    let sample = TensorSample { shape: vec![2, 3], dtype: DType::F64, fill: 0.0.into(), entries: vec![] };
    let tensor = sample.tensor(&Format::csr());
    let names = |names: &[&str]| tensor.to_record_batch(names).unwrap_err().to_string();
    assert_eq!(names(&["i"]), "invalid tensor: expected 2 column names, one for each mode, found 1");
    assert_eq!(names(&["i", "value"]), "column 'value': the name occurs more than once; choose another");
}
