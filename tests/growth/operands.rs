//! Hypersparse operands of any size, with the same few entries at coordinates in proportion to the
//! size.

use redpoll::{Array, Config, Session, Target};
use redpoll_logic::{Format, LevelKind, Prim, Scalar, StorageMode, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples, Values};
use redpoll_testing::counted::distinct_below;
use redpoll_testing::rng::Rng;

/// The sizes of the modes that grow. From the first size on, sparse workspaces and results of a few
/// hundred entries are cheaper than dense arrays.
pub(crate) const SIZES: [u64; 3] = [1 << 23, 1 << 25, 1 << 27];

/// The size of modes that a format stores as arrays. These modes do not grow.
const FIXED: u64 = 64;

/// Number of different coordinates of each mode.
const POOL: u64 = 40;

/// Bytes that one run may allocate, so that dense results fail fast.
const MEMORY_LIMIT: usize = 400 << 20;

/// The operands of one run.
pub(crate) struct Operands {
    pub(crate) session: Session,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    /// Two matrices of floats, and a matrix of integers.
    pub(crate) a: Array,
    pub(crate) b: Array,
    pub(crate) i: Array,
    /// A vector along the columns, and a vector along the rows.
    pub(crate) v: Array,
    pub(crate) w: Array,
    /// A tensor of order 3, and factors of its last two modes.
    pub(crate) t: Array,
    pub(crate) f: Array,
    pub(crate) g: Array,
    /// The bytes of all operands.
    pub(crate) bytes: u64,
    /// The tensors of the matrices and of the vector along the columns, with their names in plans.
    pub(crate) tensors: [(&'static str, Tensor); 4],
}

impl Operands {
    /// Makes the operands for growing modes of size `n`.
    pub(crate) fn new(n: u64, format: &Format) -> Operands {
        let config = Config { target: Target::ASSEMBLY, memory_limit: Some(MEMORY_LIMIT), ..Config::default() };
        let (session, mut rng) = (Session::new(config), Rng::new(7));
        let base: Vec<u64> = distinct_below(&mut rng, SIZES[0], POOL).into_iter().collect();
        let pool = |size: u64| match size <= FIXED {
            true => (0..size.min(POOL)).collect(),
            false => base.iter().map(|p| p * (n / SIZES[0])).collect::<Vec<u64>>(),
        };
        let mut bytes = 0;
        let mut draw = |shape: &[u64], entries: u64, prim: Prim, format: &Format| {
            let pools: Vec<Vec<u64>> = shape.iter().map(|size| pool(*size)).collect();
            let made = tensor(shape, &draw_entries(&mut rng, &pools, entries), prim, format);
            bytes += made.bytes();
            made
        };
        let shape = shape_in(format, n);
        let (rows, columns) = (shape[0], shape[1]);
        let [a, b] = [(); 2].map(|()| draw(&shape, 200, Prim::F64, format));
        let i = draw(&shape, 200, Prim::I64, format);
        let [v, w] = [columns, rows].map(|size| draw(&[size], 20, Prim::F64, &Format::csf(1)));
        let t = draw(&[n, FIXED, n], 200, Prim::F64, &Format::csf(3));
        let f = draw(&[FIXED, 8], 200, Prim::F64, &Format::dense(2));
        let g = draw(&[n, 8], 200, Prim::F64, &Format::csf(2));
        let tensors = [("A", a.clone()), ("B", b.clone()), ("x", v.clone()), ("I", i.clone())];
        let [a, b, i, v, w, t, f, g] = [a, b, i, v, w, t, f, g].map(|t| session.array(t));
        Operands { session, rows, columns, a, b, i, v, w, t, f, g, bytes, tensors }
    }
}

/// Returns the shape of a matrix whose modes have size `n`, or size [`FIXED`] if the format stores
/// them as arrays.
pub(crate) fn shape_in(format: &Format, n: u64) -> [u64; 2] {
    let is_array = |kind| matches!(kind, LevelKind::Dense | LevelKind::ByteMap | LevelKind::BitMap | LevelKind::Band);
    let mut shape = [n; 2];
    for (level, mode) in format.levels.iter().zip(&format.modes) {
        if let (true, StorageMode::Whole { mode }) = (is_array(level.kind), mode) {
            shape[*mode] = FIXED;
        }
    }
    shape
}

/// Draws the coordinates of `entries` distinct entries, by mode, from the pool of each mode.
fn draw_entries(rng: &mut Rng, pools: &[Vec<u64>], entries: u64) -> Vec<Vec<u64>> {
    let shape: Vec<u64> = pools.iter().map(|pool| pool.len() as u64).collect();
    let places = distinct_below(rng, shape.iter().product(), entries);
    let below = |mode: usize| shape[mode + 1..].iter().product::<u64>();
    let coordinate = |mode: usize, place: &u64| pools[mode][(place / below(mode) % shape[mode]) as usize];
    (0..shape.len()).map(|mode| places.iter().map(|place| coordinate(mode, place)).collect()).collect()
}

fn tensor(shape: &[u64], coordinates: &[Vec<u64>], prim: Prim, format: &Format) -> Tensor {
    let fill = Scalar::zero(prim);
    let ty = TensorType { shape: shape.to_vec(), dtype: prim.into(), fill, format: format.clone() };
    let values = (0..coordinates[0].len() as i64).map(|k| 1 + k % 3);
    let values = match prim {
        Prim::I64 => Values::from(values.collect::<Vec<i64>>()),
        _ => Values::from(values.map(|v| v as f64).collect::<Vec<f64>>()),
    };
    let triples = Triples { shape: shape.to_vec(), coordinates: coordinates.to_vec(), values };
    Tensor::from_triples(ty, &triples, Duplicates::Error).expect("valid entries").0
}
