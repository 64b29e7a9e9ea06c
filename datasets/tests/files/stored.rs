//! Tests of `.rpt` files: every storage format, dtype and fill value is read back as it was
//! written, and damaged, changed or cut files never give an invalid tensor.

use arrow_array::{Array as _, LargeListArray, cast::AsArray};
use expect_test::expect;
use redpoll_datasets::testing::check_bytes;
use redpoll_datasets::{
    Error, ReadOptions, RecordFolder, WriteOptions, info, open, open_bytes, read_bytes, write, write_tensor_bytes,
};
use redpoll_logic::testing::Rng;
use redpoll_logic::{DType, Format, LeafKind, LevelFormat, LevelKind, Prim, Scalar, TensorType};
use redpoll_storage::testing::formats_of_rank;
use redpoll_storage::{Array, Duplicates, Tensor, Triples, Values};
use std::collections::{BTreeMap, HashSet};
use std::io::Cursor;

/// Returns the dtypes of the tensors: all primitives, and a struct.
fn dtypes() -> Vec<DType> {
    let nested = DType::structure([("flag", DType::BOOL), ("at", DType::Prim(Prim::U16))]);
    let all = Prim::ALL.into_iter().map(DType::Prim);
    all.chain([DType::structure([("value", DType::F64), ("rest", nested)])]).collect()
}

fn random_scalar(random: &mut Rng, dtype: &DType) -> Scalar {
    let word = |random: &mut Rng| if random.below(2) == 0 { random.below(3) } else { random.bits() };
    let parts: Vec<Scalar> = dtype.prims().into_iter().map(|prim| Scalar::from_bits(prim, word(random))).collect();
    Scalar::unflatten(dtype, &mut parts.into_iter()).unwrap()
}

/// Returns a tensor with random entries, or `None` if the format cannot store them.
fn random_tensor(random: &mut Rng, shape: &[u64], dtype: &DType, format: &Format) -> Option<Tensor> {
    let is_pattern = format.leaf == LeafKind::Pattern;
    let fill = if is_pattern { Scalar::Bool(false) } else { random_scalar(random, dtype) };
    let ty = TensorType { shape: shape.to_vec(), dtype: dtype.clone(), fill, format: format.clone() };
    ty.validate().ok()?;
    let elements: u64 = shape.iter().product();
    let count = if elements == 0 { 0 } else { random.below(elements + 1) };
    let mut entries = BTreeMap::new();
    for _ in 0..count {
        let coordinates: Vec<u64> = shape.iter().map(|&n| random.below(n)).collect();
        let value = if is_pattern { Scalar::Bool(true) } else { random_scalar(random, dtype) };
        entries.insert(coordinates, value);
    }
    let coordinates = (0..shape.len()).map(|m| entries.keys().map(|c| c[m]).collect()).collect();
    let values = Values::from_scalars(dtype.clone(), &entries.values().cloned().collect::<Vec<_>>()).unwrap();
    let triples = Triples { shape: shape.to_vec(), coordinates, values };
    Some(Tensor::from_triples(ty, &triples, Duplicates::Error).ok()?.0)
}

/// Asserts that both tensors have the same type and the same arrays, bit by bit.
fn assert_same(found: &Tensor, expected: &Tensor) {
    let (a, b) = (found.ty(), expected.ty());
    assert_eq!((&a.shape, &a.dtype, &a.format), (&b.shape, &b.dtype, &b.format));
    let bits = |fill: &Scalar| fill.flatten().iter().map(|part| part.to_bits().unwrap()).collect::<Vec<_>>();
    assert_eq!(bits(&a.fill), bits(&b.fill), "{b:?}");
    let arrays = |tensor: &Tensor| tensor.arrays().map(|x| (x.prim(), x.buffer().to_vec())).collect::<Vec<_>>();
    assert_eq!(arrays(found), arrays(expected), "{b:?}");
}

fn formats(rank: usize) -> Vec<Format> {
    let unordered = |format: &Format| {
        let free = |l: &LevelFormat| LevelFormat { ordered: l.kind != LevelKind::SparseList, ..*l };
        Format { levels: format.levels.iter().map(free).collect(), ..format.clone() }
    };
    let mut all = formats_of_rank(rank);
    all.extend(formats_of_rank(rank).iter().step_by(7).map(unordered).filter(|format| format.validate().is_ok()));
    all
}

/// Checks that the Arrow library reads the file as one row, whose large lists are the arrays of the
/// tensor.
fn check_with_arrow(bytes: &[u8], tensor: &Tensor) {
    let reader = arrow_ipc::reader::FileReader::try_new(Cursor::new(bytes), None).unwrap();
    let batches: Vec<_> = reader.collect::<Result<_, _>>().unwrap();
    let [batch] = &batches[..] else { panic!("{} batches", batches.len()) };
    assert_eq!((batch.num_rows(), batch.num_columns()), (1, tensor.arrays().count()));
    for (column, array) in batch.columns().iter().zip(tensor.arrays()) {
        let list: &LargeListArray = column.as_list();
        let row = list.value(0);
        assert_eq!((row.len(), row.null_count()), (array.len(), 0));
        let data = row.to_data();
        let bytes = array.len() * array.prim().bytes();
        assert_eq!(
            &data.buffers()[0].as_slice()[data.offset() * array.prim().bytes()..][..bytes],
            array.buffer().as_slice()
        );
    }
}

#[test]
fn every_format_dtype_and_fill_value_is_read_back() {
    let mut random = Rng::new(7);
    let dtypes = dtypes();
    for rank in 0..=3 {
        let mut stored = HashSet::new();
        for (k, format) in formats(rank).iter().enumerate() {
            let pattern = Format { leaf: LeafKind::Pattern, ..format.clone() };
            for case in 0..6 {
                let shape: Vec<u64> =
                    (0..rank).map(|mode| if case < 4 { case } else { random.below(5 + mode as u64) }).collect();
                let is_pattern = case % 2 == 1 && k % 3 == 0;
                let dtype = if is_pattern { DType::BOOL } else { random.pick(&dtypes).clone() };
                let format = if is_pattern { &pattern } else { format };
                let Some(tensor) = random_tensor(&mut random, &shape, &dtype, format) else { continue };
                stored.insert(format.clone());
                let bytes = write_tensor_bytes("a.rpt", &tensor, &WriteOptions::default()).unwrap();
                let opened = open_bytes("a.rpt", &bytes, &ReadOptions::default(), None).unwrap();
                assert_same(&opened.tensor, &tensor);
                assert_eq!(opened.info.stored, tensor.count_stored().unwrap());
                check_with_arrow(&bytes, &tensor);
            }
        }
        assert!(2 * stored.len() > formats_of_rank(rank).len(), "{} formats of rank {rank}", stored.len());
    }
}

/// Asserts that a file has the entries of its tensor, also if the file is opened in another storage
/// format, and that a file can be opened in another dtype.
#[test]
fn entries_are_those_of_the_tensor() {
    let mut random = Rng::new(8);
    for format in [Format::csr(), Format::dense(2), Format::coo(2), Format::bcsr(2, 3), Format::csc()] {
        let tensor = random_tensor(&mut random, &[4, 5], &DType::Prim(Prim::I32), &format).unwrap();
        let bytes = write_tensor_bytes("a.rpt.zst", &tensor, &WriteOptions::default()).unwrap();
        let loaded = read_bytes("a.rpt.zst", &bytes, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.default_format(), format);
        let (again, repeated) = loaded.into_tensor(None).unwrap();
        assert_eq!((again.to_dense_scalars().unwrap(), repeated), (tensor.to_dense_scalars().unwrap(), 0));
        let csf = open_bytes("a.rpt.zst", &bytes, &ReadOptions::default(), Some(Format::csf(2))).unwrap().tensor;
        assert_eq!(
            (&csf.ty().format, csf.to_dense_scalars().unwrap()),
            (&Format::csf(2), tensor.to_dense_scalars().unwrap())
        );
    }
    let small = random_tensor(&mut random, &[3], &DType::Prim(Prim::U8), &Format::dense(1)).unwrap();
    let bytes = write_tensor_bytes("a.rpt", &small, &WriteOptions::default()).unwrap();
    let wide = ReadOptions { dtype: Some(Prim::F64), ..ReadOptions::default() };
    assert_eq!(open_bytes("a.rpt", &bytes, &wide, None).unwrap().tensor.ty().dtype, DType::F64);
}

/// Asserts that opening a file on disk gives the tensor that was written, and that [`info`] and
/// [`open`] return the same header.
#[test]
fn files_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Rng::new(9);
    for (k, format) in formats(2).iter().enumerate().step_by(11) {
        let Some(tensor) = random_tensor(&mut random, &[3, 4], &DType::F64, format) else { continue };
        let path = folder.path().join(format!("{k}.rpt"));
        write(&path, &tensor, &WriteOptions::default()).unwrap();
        let opened = open(&path, &ReadOptions::default(), None).unwrap();
        assert_same(&opened.tensor, &tensor);
        assert_eq!(format!("{:?}", info(&path).unwrap()), format!("{:?}", opened.info));
    }
}

/// Returns the message for a file in which `to` replaces the text `from` of the same length.
fn message_with(tensor: &Tensor, from: &str, to: &str) -> String {
    assert_eq!(from.len(), to.len());
    let mut bytes = write_tensor_bytes("a.rpt", tensor, &WriteOptions::default()).unwrap();
    let at = (0..bytes.len()).find(|&at| bytes[at..].starts_with(from.as_bytes())).expect("the text occurs");
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    open_bytes("a.rpt", &bytes, &ReadOptions::default(), None).unwrap_err().to_string()
}

#[test]
fn faults_are_named() {
    let ptr = Array::from_vec(vec![0i32, 1, 3]);
    let idx = Array::from_vec(vec![2u32, 0, 1]);
    let ty = TensorType { shape: vec![2, 3], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::csr() };
    let tensor = Tensor::try_new(ty, vec![vec![], vec![ptr, idx]], vec![Array::from_vec(vec![1.5, 2.5, 3.5])]).unwrap();
    let message = |from: &str, to: &str| message_with(&tensor, from, to);
    let bytes = write_tensor_bytes("a.rpt", &tensor, &WriteOptions::default()).unwrap();
    let error = |bytes: &[u8]| open_bytes("a.rpt", bytes, &ReadOptions::default(), None).unwrap_err().to_string();
    let mut messages = vec![
        message("2 3", "2 x"),
        message("2 3", "2 2"),
        message("redpoll:version", "redqoll:version"),
        message("(dense (sparse-list (element)))", "(dense (sparse-list (ellment)))"),
        message("(lit f64 0.0)", "(lit f64 1.0)"),
        message("1.ptr", "1.pos"),
        error(&bytes[..bytes.len() - 1]),
        error(&bytes[..bytes.len() / 2]),
        error(b"ARROW1\0\0"),
        error(b"PAR1 and more"),
    ];
    let mut damaged = bytes.clone();
    let at = (0..bytes.len()).rfind(|&at| bytes[at..].starts_with(&[2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0])).unwrap();
    damaged[at] = 9;
    messages.push(error(&damaged));
    expect![[r#"
        a.rpt: expected a valid `redpoll:shape`, found `2 x`
        a.rpt: expected the arrays of a tensor, found invalid tensor: level 1 (sparse-list): idx[0] = 2 is out of range, the dimension is 2
        a.rpt: not supported: an Arrow file without the type of a tensor; to query the file as a table in SQL, name it .arrow
        a.rpt: expected a valid `redpoll:format`, found `(dense (sparse-list (ellment)))`
        a.rpt: expected a valid `redpoll:fill-bits`, found `0`
        a.rpt: expected the column `1.ptr`, found `1.pos`
        a.rpt: expected `ARROW1` at the end of the file, found other bytes; the file may be truncated
        a.rpt: expected `ARROW1` at the end of the file, found other bytes; the file may be truncated
        a.rpt: expected 8 bytes of a message, found 0; the file is truncated or its header is wrong
        a.rpt: expected an Arrow file, which starts with `ARROW1`, found other bytes
        a.rpt: expected the arrays of a tensor, found invalid tensor: level 1 (sparse-list): idx[0] = 9 is out of range, the dimension is 3"#]].assert_eq(&messages.join("\n"));
}

#[test]
fn structs_have_no_entries() {
    let mut random = Rng::new(10);
    let tensor = random_tensor(&mut random, &[3], &dtypes()[11], &Format::csf(1)).unwrap();
    let bytes = write_tensor_bytes("a.rpt", &tensor, &WriteOptions::default()).unwrap();
    let error: Error = read_bytes("a.rpt", &bytes, &ReadOptions::default()).unwrap_err();
    expect!["a.rpt: not supported: entries of dtype (struct (value f64) (rest (struct (flag bool) (at u16)))); open the file as a tensor"].assert_eq(&error.to_string());
    check_bytes("a.rpt", &bytes).unwrap();
}

/// Returns options that store records in a subfolder of `folder`.
fn with_records(folder: &std::path::Path) -> (ReadOptions, WriteOptions) {
    let records = RecordFolder::At(folder.join("records"));
    let read = ReadOptions { records: records.clone(), ..ReadOptions::default() };
    (read, WriteOptions { records, ..WriteOptions::default() })
}

/// Asserts that a file is opened as the written tensor, for every storage format of up to two
/// modes, and for some of three modes. The file is opened without a record, with the record that
/// the first opening stored, and with the record that the writer stored.
#[test]
fn recorded_files_are_the_same_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let (read, write_options) = with_records(folder.path());
    let without = WriteOptions { records: RecordFolder::Off, ..WriteOptions::default() };
    let mut random = Rng::new(11);
    let dtypes = dtypes();
    for rank in 0..=3 {
        for (k, format) in formats(rank).iter().enumerate().step_by(if rank < 3 { 1 } else { 9 }) {
            let shape: Vec<u64> = (0..rank).map(|_| random.below(5)).collect();
            let dtype = random.pick(&dtypes).clone();
            let Some(tensor) = random_tensor(&mut random, &shape, &dtype, format) else { continue };
            let path = folder.path().join(format!("{rank}-{k}.rpt"));
            let recorded = folder.path().join(format!("{rank}-{k}-recorded.rpt"));
            write(&path, &tensor, &without).unwrap();
            write(&recorded, &tensor, &write_options).unwrap();
            for path in [&path, &path, &recorded] {
                let opened = open(path, &read, None).unwrap();
                opened.tensor.fetch().unwrap();
                opened.tensor.validate().unwrap();
                assert_same(&opened.tensor, &tensor);
                assert_eq!(opened.tensor.special(), tensor.special());
                opened.tensor.check_files().unwrap();
            }
        }
    }
}

/// Changes each byte of a file that has a record, and asserts the outcomes. A tensor that was
/// opened before the change loads the old arrays or fails. Opening the file after the change gives
/// a valid tensor or an error.
#[test]
fn changed_files_are_validated_again_or_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let (read, write_options) = with_records(folder.path());
    let path = folder.path().join("a.rpt");
    let mut random = Rng::new(12);
    let tensor = random_tensor(&mut random, &[4, 5], &DType::Prim(Prim::U8), &Format::csr()).unwrap();
    write(&path, &tensor, &write_options).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let (mut valid, mut rejected) = (0, 0);
    for at in 0..bytes.len() {
        // The tensor is opened before the change, and loaded after it.
        std::fs::write(&path, &bytes).unwrap();
        open(&path, &read, None).unwrap();
        let early = open(&path, &read, None).unwrap().tensor;
        let mut changed = bytes.clone();
        changed[at] ^= 1 << random.below(8);
        std::fs::write(&path, &changed).unwrap();
        match early.fetch() {
            Ok(()) => assert_same(&early, &tensor),
            Err(error) => {
                rejected += 1;
                assert!(error.to_string().contains("has changed since it was opened"), "{error}");
            }
        }
        if let Ok(opened) = open(&path, &read, None) {
            valid += 1;
            opened.tensor.validate().unwrap();
        }
    }
    assert!(valid > 50 && rejected > 20, "{valid} valid, {rejected} rejected");
}

/// Asserts that reading a truncated file is an error, whether the file is opened after the
/// truncation or, on Linux, before it.
#[test]
fn cut_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let (read, write_options) = with_records(folder.path());
    let path = folder.path().join("a.rpt");
    let mut random = Rng::new(13);
    let tensor = random_tensor(&mut random, &[40, 50], &DType::F64, &Format::csr()).unwrap();
    write(&path, &tensor, &write_options).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for length in (0..bytes.len()).step_by(97) {
        std::fs::write(&path, &bytes).unwrap();
        open(&path, &read, None).unwrap();
        let early = open(&path, &read, None).unwrap().tensor;
        std::fs::File::options().write(true).open(&path).unwrap().set_len(length as u64).unwrap();
        let sum = early.sum().and_then(|sum| early.check_files().map(|()| sum));
        assert!(sum.is_err() || !cfg!(target_os = "linux"), "{length} bytes");
        assert!(open(&path, &read, None).is_err(), "{length} bytes");
    }
}
