//! Faults in the arguments of constructors, reads and conversions are reported by errors that name
//! the fault.

use super::*;
use crate::Array;
use crate::levels::{hash_slot, table_len};
use expect_test::{Expect, expect};
use redpoll_logic::{LevelFormat, LevelKind};

fn ty(shape: &[u64], format: Format) -> TensorType {
    TensorType { shape: shape.to_vec(), dtype: DType::F64, fill: 0.0.into(), format }
}

fn ptr(v: &[i32]) -> Array {
    Array::from_vec(v.to_vec())
}

fn idx(v: &[u32]) -> Array {
    Array::from_vec(v.to_vec())
}

fn val(n: usize) -> Vec<Array> {
    vec![Array::from_vec(vec![1.0f64; n])]
}

#[expect(clippy::needless_pass_by_value, reason = "an expectation is written where it is used")]
fn check(ty: TensorType, levels: &[&[Array]], leaf: Vec<Array>, expect: Expect) {
    let levels = levels.iter().map(|arrays| arrays.to_vec()).collect();
    let found = Tensor::try_new(ty, levels, leaf).map_or_else(|e| e.to_string(), |_| "valid".into());
    expect.assert_eq(&found);
}

#[test]
fn whole_tensors() {
    let csr = || ty(&[2, 3], Format::csr());
    let good: &[Array] = &[ptr(&[0, 1, 3]), idx(&[2, 0, 1])];
    check(csr(), &[&[], good], val(3), expect!["valid"]);
    check(csr(), &[good], val(3), expect!["invalid tensor: the format has 2 levels, found arrays for 1"]);
    check(
        ty(&[2], Format::csr()),
        &[&[], good],
        val(3),
        expect!["invalid format: the shape has 1 modes, but the format has 2"],
    );
    check(csr(), &[&[], good], vec![], expect!["invalid tensor: the leaf of f64 must have 1 array, found 0"]);
    check(
        csr(),
        &[&[], good],
        val(2),
        expect![
            "invalid tensor: array 0 of the leaf must have 3 values, one for each position of the last level, found 2"
        ],
    );
    check(
        csr(),
        &[&[], good],
        vec![Array::from_vec(vec![1i64; 3])],
        expect!["array 0 of the leaf: expected dtype f64, found i64"],
    );
    let bools = TensorType { dtype: DType::BOOL, fill: false.into(), ..csr() };
    let bytes = Array::from_words(Prim::Bool, vec![0u8, 2, 1]);
    check(
        bools.clone(),
        &[&[], good],
        vec![bytes],
        expect!["invalid tensor: leaf: booleans must be bytes of 0 or 1, found 2 at index 1"],
    );
    let bools = TensorType { format: pattern(&bools.format), ..bools };
    check(bools.clone(), &[&[], good], vec![], expect!["valid"]);
    check(
        bools,
        &[&[], good],
        vec![Array::from_bools([true; 3])],
        expect!["invalid tensor: the leaf of bool must have 0 arrays, found 1"],
    );
    let pair = DType::structure([("value", DType::F64), ("at", DType::I64)]);
    let fill = Scalar::unflatten(&pair, &mut [0.0.into(), 0i64.into()].into_iter()).unwrap();
    check(
        TensorType { dtype: pair, fill, ..csr() },
        &[&[], good],
        val(3),
        expect!["invalid tensor: the leaf of (struct (value f64) (at i64)) must have 2 arrays, found 1"],
    );
    check(
        ty(&[1 << 32, 1 << 32], Format::dense(2)),
        &[&[], &[]],
        val(0),
        expect![
            "invalid tensor: level 1 (dense): 4294967296 fibers of dimension 4294967296 exceed the \
             9223372036854775807 positions of a level; use a sparse-list level"
        ],
    );
}

#[test]
fn sparse_lists() {
    let csr = |arrays: &[Array], expect| check(ty(&[2, 3], Format::csr()), &[&[], arrays], val(4), expect);
    csr(&[idx(&[0])], expect!["invalid tensor: level 1 (sparse-list): expected 2 arrays (ptr, idx), found 1"]);
    csr(
        &[idx(&[0, 1, 2]), idx(&[0, 1])],
        expect!["invalid tensor: level 1 (sparse-list): ptr must be of i32 or i64, found u32"],
    );
    csr(
        &[ptr(&[0, 1, 2]), ptr(&[0, 1])],
        expect!["invalid tensor: level 1 (sparse-list): idx must be of u32 or u64, found i32"],
    );
    csr(
        &[ptr(&[0, 2]), idx(&[0, 1])],
        expect!["invalid tensor: level 1 (sparse-list): ptr must have 3 elements, found 2"],
    );
    csr(
        &[ptr(&[0, 2, 1]), idx(&[0, 1])],
        expect!["invalid tensor: level 1 (sparse-list): ptr must not decrease, but ptr[1] = 2 and ptr[2] = 1"],
    );
    csr(
        &[ptr(&[0, 1, -1]), idx(&[0, 1])],
        expect!["invalid tensor: level 1 (sparse-list): ptr must not decrease, but ptr[1] = 1 and ptr[2] = -1"],
    );
    csr(&[ptr(&[-1, 1, 2]), idx(&[0, 1])], expect!["invalid tensor: level 1 (sparse-list): ptr[0] = -1 is negative"]);
    csr(
        &[ptr(&[0, 1, 3]), idx(&[0, 1])],
        expect!["invalid tensor: level 1 (sparse-list): ptr ends at 3, beyond the 2 coordinates of idx"],
    );
    csr(
        &[ptr(&[0, 1, 2]), idx(&[0, 3])],
        expect!["invalid tensor: level 1 (sparse-list): idx[1] = 3 is out of range, the dimension is 3"],
    );
    csr(
        &[ptr(&[0, 0, 2]), idx(&[2, 1])],
        expect!["invalid tensor: level 1 (sparse-list): idx must ascend in each fiber, but idx[0] = 2 and idx[1] = 1"],
    );
    csr(
        &[ptr(&[0, 0, 2]), idx(&[1, 1])],
        expect![
            "invalid tensor: level 1 (sparse-list): idx[1] = 1 repeats a coordinate of its fiber, but the level is unique"
        ],
    );
    let unordered = LevelFormat { ordered: false, ..LevelFormat::new(LevelKind::SparseList) };
    let free = Format { levels: vec![LevelFormat::new(LevelKind::Dense), unordered], ..Format::csr() };
    check(ty(&[1, 3], free.clone()), &[&[], &[ptr(&[0, 2]), idx(&[2, 1])]], val(2), expect!["valid"]);
    check(
        ty(&[1, 3], free),
        &[&[], &[ptr(&[0, 3]), idx(&[2, 1, 2])]],
        val(3),
        expect![
            "invalid tensor: level 1 (sparse-list): idx[2] = 2 repeats a coordinate of its fiber, but the level is unique"
        ],
    );
}

#[test]
fn lists_of_coordinates() {
    let coo = |rows: &[u32], columns: &[u32], expect| {
        let list = [ptr(&[0, rows.len() as i32]), idx(rows)];
        check(ty(&[3, 3], Format::coo(2)), &[&list, &[idx(columns)]], val(rows.len()), expect);
    };
    coo(&[0, 0, 2], &[1, 2, 0], expect!["valid"]);
    coo(
        &[0, 0, 2],
        &[1, 2],
        expect!["invalid tensor: level 1 (singleton): idx must have 3 elements, one for each position, found 2"],
    );
    coo(
        &[0, 2, 0],
        &[1, 2, 0],
        expect!["invalid tensor: level 0 (sparse-list): idx must ascend in each fiber, but idx[1] = 2 and idx[2] = 0"],
    );
    coo(
        &[0, 0, 2],
        &[2, 1, 0],
        expect!["invalid tensor: level 1 (singleton): idx must ascend in each fiber, but idx[0] = 2 and idx[1] = 1"],
    );
    coo(
        &[0, 0, 2],
        &[1, 1, 0],
        expect![
            "invalid tensor: level 1 (singleton): idx[1] = 1 repeats a coordinate of its fiber, but the level is unique"
        ],
    );
    coo(
        &[0, 0, 2],
        &[1, 3, 0],
        expect!["invalid tensor: level 1 (singleton): idx[1] = 3 is out of range, the dimension is 3"],
    );
    let list = [ptr(&[0, 4]), idx(&[1, 1, 1, 1])];
    let third = |columns: &[u32], expect| {
        let arrays: &[&[Array]] = &[&list, &[idx(&[0, 0, 2, 2])], &[idx(columns)]];
        check(ty(&[3, 3, 3], Format::coo(3)), arrays, val(4), expect);
    };
    third(&[0, 1, 0, 1], expect!["valid"]);
    third(
        &[0, 1, 1, 1],
        expect![
            "invalid tensor: level 2 (singleton): idx[3] = 1 repeats a coordinate of its fiber, but the level is unique"
        ],
    );
}

/// Returns a hash level of two fibers with entries inserted in the order (1, 5), (0, 3), (1, 2).
fn hash_arrays() -> [Array; 6] {
    let keys = [(1, 5), (0, 3), (1, 2)];
    let len = table_len(3) as i64;
    let mut table = vec![0i32; len as usize];
    for (e, (p, i)) in keys.into_iter().enumerate() {
        let mut slot = hash_slot(p, i, len);
        while table[slot as usize] != 0 {
            slot = (slot + 1) & (len - 1);
        }
        table[slot as usize] = e as i32 + 1;
    }
    [ptr(&[0, 1, 3]), idx(&[3, 2, 5]), ptr(&[1, 2, 0]), ptr(&table), ptr(&[1, 0, 1]), idx(&[5, 3, 2])]
}

#[test]
fn hash_tables() {
    let format = Format::of_kinds(&[LevelKind::Dense, LevelKind::Hash], LeafKind::Element);
    let leaf = vec![Array::from_vec(vec![15.0f64, 3.0, 12.0])];
    let tensor = Tensor::try_new(ty(&[2, 6], format.clone()), vec![vec![], hash_arrays().to_vec()], leaf).unwrap();
    assert_eq!(tensor.get(&[1, 2]).unwrap(), Scalar::F64(12.0));
    assert_eq!(tensor.get(&[0, 2]).unwrap(), Scalar::F64(0.0));
    let triples = tensor.to_triples().unwrap();
    assert_eq!(triples.coordinates, [[0, 1, 1], [3, 2, 5]]);
    assert_eq!(triples.values.columns()[0].as_slice::<f64>(), Some(&[3.0, 12.0, 15.0][..]));

    let broken = |at: usize, array: Array, expect| {
        let mut arrays = hash_arrays();
        arrays[at] = array;
        check(ty(&[2, 6], format.clone()), &[&[], &arrays], val(3), expect);
    };
    broken(
        2,
        ptr(&[1, 0, 2]),
        expect!["invalid tensor: level 1 (hash): pos[1] = 0 is not the entry of coordinate 2 below position 1"],
    );
    broken(
        2,
        ptr(&[7, 2, 0]),
        expect!["invalid tensor: level 1 (hash): pos[0] = 7 is not the entry of coordinate 3 below position 0"],
    );
    broken(2, ptr(&[1, 2]), expect!["invalid tensor: level 1 (hash): pos must have 3 elements, found 2"]);
    broken(
        1,
        idx(&[3, 5, 2]),
        expect!["invalid tensor: level 1 (hash): idx must ascend in each fiber, but idx[1] = 5 and idx[2] = 2"],
    );
    broken(
        3,
        ptr(&[0; 7]),
        expect!["invalid tensor: level 1 (hash): table must have a power of two of slots, at least 8, found 7"],
    );
    broken(
        3,
        ptr(&[0; 8]),
        expect!["invalid tensor: level 1 (hash): the nonzero part of table must have 3 elements, found 0"],
    );
    let mut moved = hash_arrays()[3].as_slice::<i32>().unwrap().to_vec();
    let (full, empty) = (moved.iter().position(|&s| s == 1).unwrap(), moved.iter().rposition(|&s| s == 0).unwrap());
    moved.swap(full, empty);
    broken(
        3,
        ptr(&moved),
        expect!["invalid tensor: level 1 (hash): entry 0, coordinate 5 below position 1, is not in the table"],
    );
}

#[test]
fn byte_maps() {
    let format = Format::of_kinds(&[LevelKind::Dense, LevelKind::ByteMap], LeafKind::Element);
    let broken = |bytes: &[u8], expect| {
        let arrays = [ptr(&[0, 1, 2]), idx(&[2, 0]), Array::from_vec(bytes.to_vec())];
        check(ty(&[2, 3], format.clone()), &[&[], &arrays], val(6), expect);
    };
    broken(&[0, 0, 1, 1, 0, 0], expect!["valid"]);
    broken(&[0, 0, 1], expect!["invalid tensor: level 1 (byte-map): map must have 6 elements, found 3"]);
    broken(
        &[0, 0, 0, 1, 0, 0],
        expect!["invalid tensor: level 1 (byte-map): map[2] must be 1 because idx[0] lists its coordinate, found 0"],
    );
    broken(
        &[0, 0, 1, 1, 0, 1],
        expect!["invalid tensor: level 1 (byte-map): the nonzero part of map must have 2 elements, found 3"],
    );
}

#[test]
fn block_lists() {
    let format = Format::of_kinds(&[LevelKind::Dense, LevelKind::BlockList], LeafKind::Element);
    let broken = |ends: &[i32], last: &[u32], ofs: &[i32], expect| {
        let arrays = [ptr(ends), idx(last), ptr(ofs)];
        check(ty(&[2, 6], format.clone()), &[&[], &arrays], val(5), expect);
    };
    broken(&[0, 1, 3], &[2, 1, 5], &[0, 2, 3, 5], expect!["valid"]);
    broken(
        &[0, 1, 4],
        &[2, 1, 5],
        &[0, 2, 3, 5],
        expect!["invalid tensor: level 1 (block-list): ptr ends at 4, beyond the 3 blocks of idx"],
    );
    broken(
        &[0, 1, 3],
        &[2, 1, 5],
        &[0, 2, 3],
        expect![
            "invalid tensor: level 1 (block-list): ofs must have at least 4 elements, one more than there are blocks, found 3"
        ],
    );
    broken(
        &[0, 1, 3],
        &[2, 1, 5],
        &[0, 2, 2, 5],
        expect!["invalid tensor: level 1 (block-list): block 1 is empty: ofs[1] = ofs[2]"],
    );
    broken(
        &[0, 1, 3],
        &[2, 4, 5],
        &[0, 2, 3, 5],
        expect![
            "invalid tensor: level 1 (block-list): blocks must ascend in each fiber without overlap, but block 2 begins with coordinate 4 and the one before it ends with 4"
        ],
    );
    broken(
        &[0, 1, 3],
        &[0, 1, 5],
        &[0, 2, 3, 5],
        expect![
            "invalid tensor: level 1 (block-list): block 0 has 2 positions and ends with coordinate 0, so it would begin before 0"
        ],
    );
    broken(
        &[0, 1, 3],
        &[2, 1, 6],
        &[0, 2, 3, 5],
        expect!["invalid tensor: level 1 (block-list): idx[2] = 6 is out of range, the dimension is 6"],
    );
}

#[test]
fn bands() {
    let format = Format::of_kinds(&[LevelKind::Dense, LevelKind::Band], LeafKind::Element);
    let broken = |last: &[u32], ofs: &[i32], expect| {
        let arrays = [idx(last), ptr(ofs)];
        check(ty(&[2, 6], format.clone()), &[&[], &arrays], val(3), expect);
    };
    broken(&[5, 0], &[0, 3, 3], expect!["valid"]);
    broken(&[5, 0], &[0, 3], expect!["invalid tensor: level 1 (band): ofs must have 3 elements, found 2"]);
    broken(&[5], &[0, 3, 3], expect!["invalid tensor: level 1 (band): idx must have 2 elements, found 1"]);
    broken(
        &[5, 0],
        &[0, 3, 2],
        expect!["invalid tensor: level 1 (band): ofs must not decrease, but ofs[1] = 3 and ofs[2] = 2"],
    );
    broken(
        &[6, 0],
        &[0, 3, 3],
        expect!["invalid tensor: level 1 (band): idx[0] = 6 is out of range, the dimension is 6"],
    );
}

#[test]
fn bit_maps() {
    let format = Format::of_kinds(&[LevelKind::Dense, LevelKind::BitMap], LeafKind::Element);
    let broken = |words: &[u64], expect| {
        let arrays = [Array::from_vec(words.to_vec())];
        check(ty(&[2, 40], format.clone()), &[&[], &arrays], val(80), expect);
    };
    broken(&[1 << 63, 0xffff], expect!["valid"]);
    broken(&[1 << 63], expect!["invalid tensor: level 1 (bit-map): words must have 2 elements, found 1"]);
    broken(
        &[0, 0x10000],
        expect![
            "invalid tensor: level 1 (bit-map): the last element of words has set bits after the 80 positions of the level"
        ],
    );
    let bytes: &[&[Array]] = &[&[], &[Array::from_vec(vec![0u8; 2])]];
    check(
        ty(&[2, 40], format.clone()),
        bytes,
        val(80),
        expect!["invalid tensor: level 1 (bit-map): words must be of u64, found u8"],
    );
}

#[test]
fn pinpoints() {
    let format = Format::of_kinds(&[LevelKind::Dense, LevelKind::Pinpoint], LeafKind::Element);
    let broken = |coordinates: &[u32], expect| {
        check(ty(&[3, 4], format.clone()), &[&[], &[idx(coordinates)]], val(3), expect);
    };
    broken(&[4, 0, 3], expect!["valid"]);
    broken(
        &[4, 0],
        expect!["invalid tensor: level 1 (pinpoint): idx must have 3 elements, one for each position, found 2"],
    );
    broken(
        &[4, 0, 5],
        expect![
            "invalid tensor: level 1 (pinpoint): idx[2] = 5 is out of range, the dimension, which marks an empty fiber, is 4"
        ],
    );
}

#[test]
fn fixed_widths() {
    let format = Format::of_kinds(&[LevelKind::Dense, LevelKind::FixedWidth], LeafKind::Element);
    let broken = |width: &[i32], coordinates: &[u32], expect| {
        check(ty(&[2, 4], format.clone()), &[&[], &[ptr(width), idx(coordinates)]], val(4), expect);
    };
    broken(&[2], &[1, 3, 0, 4], expect!["valid"]);
    broken(
        &[2, 2],
        &[1, 3, 0, 4],
        expect!["invalid tensor: level 1 (fixed-width): width must have 1 element, found 2"],
    );
    broken(&[3], &[1, 3, 0, 4], expect!["invalid tensor: level 1 (fixed-width): idx must have 6 elements, found 4"]);
    broken(&[-2], &[1, 3, 0, 4], expect!["invalid tensor: level 1 (fixed-width): 2 fibers cannot have width -2"]);
    broken(
        &[2],
        &[3, 3, 0, 4],
        expect![
            "invalid tensor: level 1 (fixed-width): idx must ascend in each fiber up to its padding, but idx[0] = 3 and idx[1] = 3"
        ],
    );
    broken(
        &[2],
        &[1, 3, 4, 0],
        expect![
            "invalid tensor: level 1 (fixed-width): idx must ascend in each fiber up to its padding, but idx[2] = 4 and idx[3] = 0"
        ],
    );
    broken(
        &[2],
        &[1, 5, 0, 4],
        expect![
            "invalid tensor: level 1 (fixed-width): idx[1] = 5 is out of range, the dimension, which marks padding, is 4"
        ],
    );
}

#[test]
fn ragged_blocks() {
    let blocks = |values: [f64; 6], expect| {
        let arrays: &[&[Array]] = &[&[], &[ptr(&[0, 1]), idx(&[1])], &[], &[]];
        check(ty(&[2, 5], Format::bcsr(2, 3)), arrays, vec![Array::from_vec(values.to_vec())], expect);
    };
    blocks([1., 2., 0., 3., 4., 0.], expect!["valid"]);
    blocks(
        [1., 2., 3., 4., 5., 6.],
        expect!["invalid tensor: the padding at [0, 5] must be the fill value 0.0, found 3.0"],
    );
    let listed = Format {
        levels: [LevelKind::Dense, LevelKind::SparseList].map(LevelFormat::new).to_vec(),
        modes: Format::bcsr(2, 2).modes.into_iter().step_by(2).collect(),
        leaf: LeafKind::Element,
    };
    let last = |i: u32, expect| {
        let arrays: &[&[Array]] = &[&[], &[ptr(&[0, 0, 0, 1]), idx(&[i])]];
        check(ty(&[5], listed.clone()), arrays, val(1), expect);
    };
    last(0, expect!["valid"]);
    last(1, expect!["invalid tensor: coordinates [5] are stored, but lie outside the shape [5]"]);
}

#[test]
fn triples() {
    let good = || Triples {
        shape: vec![2, 3],
        coordinates: vec![vec![0, 1, 1], vec![2, 0, 1]],
        values: vec![1.0, 2.0, 3.0].into(),
    };
    let check = |ty: TensorType, triples: Triples, expect: Expect| {
        let error = Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap_err();
        expect.assert_eq(&error.to_string());
    };
    let csr = || ty(&[2, 3], Format::csr());
    check(
        csr(),
        Triples { coordinates: vec![vec![0, 1, 1]], ..good() },
        expect!["invalid triples: the shape has 2 modes, but there are 1 lists of coordinates"],
    );
    check(
        csr(),
        Triples { coordinates: vec![vec![0, 1, 1], vec![2, 0]], ..good() },
        expect!["invalid triples: mode 1 has 2 coordinates, but there are 3 values"],
    );
    check(
        csr(),
        Triples { coordinates: vec![vec![0, 1, 1], vec![2, 0, 3]], ..good() },
        expect!["entry 2: coordinate 3 of mode 1 is out of range, its dimension is 3"],
    );
    check(
        csr(),
        Triples { coordinates: vec![vec![1, 1, 1], vec![2, 0, 2]], ..good() },
        expect![
            "1 entry repeats the coordinates of an earlier entry, at [1, 2]; choose how \
             to combine them: add them, keep the first or keep the last"
        ],
    );
    check(
        ty(&[2, 4], Format::csr()),
        good(),
        expect!["invalid triples: the type has shape [2, 4], the triples have [2, 3]"],
    );
    check(
        csr(),
        Triples { values: vec![1i64, 2, 3].into(), ..good() },
        expect!["values of the triples: expected dtype f64, found i64"],
    );
    let huge = ty(&[1 << 62, 3], Format::csr());
    let triples = Triples { shape: vec![1 << 62, 3], ..good() };
    check(
        huge,
        triples,
        expect![
            "4611686018427387905 elements of 8 bytes do not fit into memory; use a sparser format or smaller dimensions"
        ],
    );
    let values = Values::try_new(DType::F64, vec![Array::from_vec(vec![1i64])]).unwrap_err();
    expect!["invalid triples: values of dtype f64 need columns of f64, found i64"].assert_eq(&values.to_string());
    let dense = Tensor::from_dense(csr(), &vec![1.0; 5].into()).unwrap_err();
    expect!["invalid tensor: shape [2, 3] has 6 elements, found 5 values"].assert_eq(&dense.to_string());
}

#[test]
fn coordinates_and_fills() {
    let sample = TensorSample { shape: vec![2, 3], dtype: DType::F64, fill: 0.0.into(), entries: vec![] };
    let tensor = sample.tensor(&Format::csr());
    let get = |coordinates: &[u64]| tensor.get(coordinates).unwrap_err().to_string();
    assert_eq!(get(&[1]), "an element of the tensor has 2 coordinates, found 1");
    assert_eq!(get(&[1, 3]), "coordinate 3 of mode 1 is out of range, its dimension is 3");
    let error = tensor.with_fill(&Scalar::I64(1)).unwrap_err().to_string();
    assert_eq!(error, "invalid format: the fill value 1 has dtype i64, but the tensor has dtype f64");
    let error = super::super::convert(&tensor, &pattern(&Format::csr())).unwrap_err().to_string();
    assert_eq!(
        error,
        "invalid format: a pattern leaf requires dtype bool and fill value false, found f64 and 0.0; use an element leaf"
    );
}
