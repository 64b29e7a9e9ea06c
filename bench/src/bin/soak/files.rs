//! Damaged files: a matrix is written in a format, some bytes of the file change, and the file is
//! read again.

use crate::kinds::{Verdict, Wrong};
use redpoll::datasets::{Content, read_bytes, write_bytes};
use redpoll::logic::{DType, Format, Prim, Scalar, TensorType};
use redpoll::physical::storage::{Tensor, Values};
use redpoll_testing::engines::{Failure, phase};
use redpoll_testing::rng::Rng;

/// Largest number of coordinates of a tensor that is built from a file.
const MOST_PLACES: u64 = 1 << 20;

/// Extensions of the formats that can be written.
const EXTENSIONS: [&str; 10] = ["mtx", "tns", "csv", "tsv", "npy", "npz", "mtx.gz", "tns.zst", "npy.gz", "csv.zst"];

/// Damages the file of a seed and reads it: an error is fine, a panic or an invalid tensor is not.
pub(crate) fn run(seed: u64) -> Verdict {
    let Some((name, bytes)) = damaged(seed) else { return Verdict::Passed };
    let Err(Failure { phase, what }) = read(&name, &bytes) else { return Verdict::Sound };
    let shrink = move || describe(&name, &fewest_bytes(&name, bytes, phase));
    Verdict::Wrong(Wrong { phase, what, shrink: Box::new(shrink) })
}

/// Returns the file of a seed as a text.
pub(crate) fn text(seed: u64) -> String {
    damaged(seed).map_or_else(|| "no file".to_owned(), |(name, bytes)| describe(&name, &bytes))
}

fn describe(name: &str, bytes: &[u8]) -> String {
    format!("{name}, as text {:?}, as bytes {bytes:?}", String::from_utf8_lossy(bytes))
}

/// Writes a matrix to a file and damages the file; returns its name and bytes, or nothing if the
/// format cannot hold the matrix.
fn damaged(seed: u64) -> Option<(String, Vec<u8>)> {
    let mut rng = Rng::new(seed ^ 0xf11e);
    let shape = vec![1 + rng.below(6), 1 + rng.below(6)];
    let prim = *rng.pick(&[Prim::F64, Prim::I64, Prim::F32, Prim::I32]);
    let fill = Scalar::zero(prim);
    let values: Vec<Scalar> = (0..shape.iter().product())
        .map(|_| Scalar::I64(rng.below(5) as i64 - 1).cast(prim).expect("a primitive"))
        .collect();
    let format = if rng.chance(50) { Format::csr() } else { Format::coo(2) };
    let ty = TensorType { shape, dtype: DType::Prim(prim), fill, format };
    let values = Values::from_scalars(ty.dtype.clone(), &values).expect("values of the dtype");
    let tensor = Tensor::from_dense(ty, &values).expect("a matrix");
    let name = format!("a.{}", rng.pick(&EXTENSIONS));
    let written = Content::of_tensor(&name, &tensor).and_then(|c| write_bytes(&name, &c, &Default::default()));
    let bytes = mutated(&mut rng, written.ok()?);
    Some((name, bytes))
}

/// Reads a file of that name.
fn read(name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let load = || match read_bytes(name, bytes, &Default::default()) {
        Ok(loaded) => Ok(Some(loaded)),
        Err(_) => Ok(None),
    };
    let Some(loaded) = phase("reader", load)? else { return Ok(()) };
    let places = loaded.info.shape.iter().try_fold(1u64, |n, m| n.checked_mul(*m));
    if places.is_none_or(|places| places >= MOST_PLACES) {
        return Ok(());
    }
    phase("tensor of a file", || match loaded.into_tensor(None) {
        Ok((tensor, _)) => tensor.validate().map_err(|e| format!("the tensor that was read is not valid: {e}")),
        Err(_) => Ok(()),
    })
}

/// Removes bytes, in ever shorter pieces, while reading fails in the same phase.
fn fewest_bytes(name: &str, mut bytes: Vec<u8>, phase: &str) -> Vec<u8> {
    let mut piece = bytes.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        while at < bytes.len() {
            let end = (at + piece).min(bytes.len());
            let fewer = [&bytes[..at], &bytes[end..]].concat();
            match read(name, &fewer) {
                Err(failure) if failure.phase == phase => bytes = fewer,
                _ => at = end,
            }
        }
        piece = if piece == 1 { 0 } else { piece.div_ceil(2) };
    }
    bytes
}

/// Changes, removes, doubles or adds some bytes.
fn mutated(rng: &mut Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    for _ in 0..1 + rng.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.index(bytes.len());
        let end = (at + 1 + rng.index(8)).min(bytes.len());
        match rng.below(6) {
            0 => bytes[at] = rng.bits() as u8,
            1 => bytes[at] ^= 1 << rng.below(8),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            4 => bytes.truncate(at),
            _ => {
                let words: [&[u8]; 8] = [b"-1", b"0", b"9223372036854775808", b"nan", b"\n", b" ", b"\"", b"1e400"];
                let word = *rng.pick(&words);
                bytes.splice(at..at, word.iter().copied());
            }
        }
    }
    bytes
}
