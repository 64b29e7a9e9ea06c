//! Random lazy arrays of any format, dtype and fill value, with their values in `ndarray` arrays.
//! In a program, some operands are results of earlier operations.

use super::choices::Choices;
use super::oracle;
use ndarray::{ArrayD, IxDyn};
use redpoll::logic::op::Op;
use redpoll::logic::{FloatMode, Format, Prim, Scalar, TensorType};
use redpoll::physical::storage::{Tensor, Values, convert};
use redpoll::physical::testing::formats_of_rank;
use redpoll::{Array, Config, Session};

/// The dense values of an array of any dtype, as `f64`.
pub type Dense = ArrayD<f64>;

/// Draws operands and parameters, and records them for messages.
pub struct Draw {
    pub rng: Choices,
    pub session: Session,
    mode: FloatMode,
    pub record: Vec<String>,
    /// The earlier results that can be operands, in a program.
    pool: Option<Pool>,
}

/// The earlier results and dimensions of a program.
#[derive(Default)]
struct Pool {
    nodes: Vec<Node>,
    /// The dimensions to draw from: few, so that many shapes are equal.
    sizes: Vec<usize>,
}

/// A result of an earlier operation.
#[derive(Clone)]
pub struct Node {
    pub name: String,
    pub array: Array,
    pub dense: Dense,
    pub prim: Prim,
}

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw {
            rng: Choices::of_seed(seed),
            session: Session::default(),
            mode: FloatMode::Relaxed,
            record: Vec::new(),
            pool: None,
        }
    }

    /// Starts a program in a session of its own.
    pub fn program(mut rng: Choices, config: Config) -> Draw {
        let sizes = (0..3).map(|_| *rng.pick(&[2, 3, 1, 0, 2, 1, 4])).collect();
        let mode = config.optimizer.float_mode;
        Draw {
            rng,
            session: Session::new(config),
            mode,
            record: Vec::new(),
            pool: Some(Pool { nodes: Vec::new(), sizes }),
        }
    }

    /// Returns whether operands may be results of earlier operations.
    pub fn is_program(&self) -> bool {
        self.pool.is_some()
    }

    /// Continues in a new session with the given float mode.
    pub fn in_mode(&mut self, mode: FloatMode) {
        let mut config = Config::default();
        config.optimizer.float_mode = mode;
        (self.session, self.mode) = (Session::new(config), mode);
    }

    /// Applies an operator at every coordinate, to arguments of the given dtypes.
    pub fn op(&self, op: impl Into<Op>, arrays: &[(&Dense, Prim)]) -> Dense {
        oracle::op(op, arrays, self.mode)
    }

    /// Adds a result that later operations may take.
    pub fn keep(&mut self, node: Node) {
        self.pool.get_or_insert_default().nodes.push(node);
    }

    /// Draws an earlier result of the given shape whose values are exact in the dtype and within
    /// `low..high`; `None` if there is none, or at random.
    fn earlier(&mut self, shape: &[usize], prim: Option<Prim>, range: Option<(i64, i64)>) -> Option<(Array, Dense)> {
        let nodes = &self.pool.as_ref()?.nodes;
        let inside = |v: f64| range.is_none_or(|(low, high)| v >= low as f64 && v < high as f64);
        let fits = |node: &&Node| {
            let dtype = prim.is_none_or(|prim| node.prim == prim || node.dense.iter().all(|v| is_tame(*v, prim, true)));
            node.dense.shape() == shape && dtype && node.dense.iter().all(|v| inside(*v))
        };
        let fitting: Vec<Node> = nodes.iter().filter(fits).cloned().collect();
        if fitting.is_empty() || !self.rng.chance(85) {
            return None;
        }
        let node = self.rng.pick(&fitting).clone();
        match prim {
            Some(prim) if prim != node.prim => {
                self.record.push(format!("{}.astype({prim})", node.name));
                Some((node.array.astype(prim), node.dense))
            }
            _ => {
                self.record.push(node.name);
                Some((node.array, node.dense))
            }
        }
    }

    /// Draws a number in `low..high`.
    pub fn within(&mut self, low: i64, high: i64) -> i64 {
        let number = low + self.rng.below((high - low) as u64) as i64;
        self.record.push(number.to_string());
        number
    }

    /// Draws a size: mostly small, sometimes 0 or 1.
    pub fn size(&mut self) -> usize {
        if let Some(pool) = &self.pool {
            return *self.rng.pick(&pool.sizes);
        }
        *self.rng.pick(&[0, 1, 1, 2, 3, 3, 4, 5])
    }

    /// Draws a size other than 0.
    pub fn some(&mut self) -> usize {
        if let Some(pool) = &self.pool {
            return (*self.rng.pick(&pool.sizes)).max(1);
        }
        *self.rng.pick(&[1, 2, 3, 4, 5])
    }

    /// Draws a shape of the given rank.
    pub fn shape(&mut self, rank: usize) -> Vec<usize> {
        (0..rank).map(|_| self.size()).collect()
    }

    /// Draws a shape with a rank in `low..high`.
    pub fn any_shape(&mut self, low: usize, high: usize) -> Vec<usize> {
        let shapes = self.pool.iter().flat_map(|pool| &pool.nodes).map(|node| node.dense.shape());
        let fitting: Vec<Vec<usize>> =
            shapes.filter(|s| (low..high).contains(&s.len())).map(<[usize]>::to_vec).collect();
        if !fitting.is_empty() && self.rng.chance(80) {
            return self.rng.pick(&fitting).clone();
        }
        let rank = low + self.rng.index(high - low);
        self.shape(rank)
    }

    /// Draws an array of small whole numbers, mostly of dtype `i64` or `f64`.
    pub fn array(&mut self, shape: &[usize]) -> (Array, Dense) {
        if let Some(earlier) = self.earlier(shape, None, None) {
            return earlier;
        }
        let prim = *self.rng.pick(&[Prim::I64, Prim::I64, Prim::F64, Prim::F64, Prim::F32, Prim::I8, Prim::I32]);
        self.array_of(shape, prim)
    }

    /// Draws an array of small whole numbers of the given dtype.
    pub fn array_of(&mut self, shape: &[usize], prim: Prim) -> (Array, Dense) {
        if let Some(earlier) = self.earlier(shape, Some(prim), None) {
            return earlier;
        }
        let fill = *self.rng.pick(&[0, 0, 0, 1, 2]);
        self.array_from(shape, prim, fill, if prim.is_signed() { -3 } else { 0 }, 4)
    }

    /// Draws an array of numbers in `low..high`, with a fill value.
    pub fn array_from(&mut self, shape: &[usize], prim: Prim, fill: i64, low: i64, high: i64) -> (Array, Dense) {
        if let Some(earlier) = self.earlier(shape, Some(prim), Some((low, high))) {
            return earlier;
        }
        let value = |v: i64| Scalar::I64(v).cast(prim).expect("a primitive");
        self.stored(shape, &value(fill), &|rng| value(low + rng.below((high - low) as u64) as i64))
    }

    /// Draws a float array of small whole numbers and NaN, which may be the fill value.
    pub fn array_with_nan(&mut self, shape: &[usize], prim: Prim) -> (Array, Dense) {
        let value = |v: f64| Scalar::F64(v).cast(prim).expect("a primitive");
        let fill = *self.rng.pick(&[0.0, 0.0, 2.0, f64::NAN]);
        let share = *self.rng.pick(&[10, 40, 100]);
        let number = |rng: &mut Choices| if rng.chance(share) { f64::NAN } else { rng.below(7) as f64 - 3.0 };
        self.stored(shape, &value(fill), &|rng| value(number(rng)))
    }

    /// Draws an array whose values are drawn or the fill value, in a random format.
    fn stored(&mut self, shape: &[usize], fill: &Scalar, value: &dyn Fn(&mut Choices) -> Scalar) -> (Array, Dense) {
        let density = *self.rng.pick(&[0, 20, 50, 80, 100]);
        let prim = fill.prim().expect("a primitive");
        let places: usize = shape.iter().product();
        let draw = |rng: &mut Choices| if rng.chance(density) { value(rng) } else { fill.clone() };
        let scalars: Vec<Scalar> = (0..places).map(|_| draw(&mut self.rng)).collect();
        let format = self.rng.pick(&formats_of_rank(shape.len())).clone();
        let ty = TensorType {
            shape: shape.iter().map(|n| *n as u64).collect(),
            dtype: prim.into(),
            fill: fill.clone(),
            format: format.clone(),
        };
        let values = Values::from_scalars(prim.into(), &scalars).unwrap();
        let tensor = Tensor::from_dense(ty, &values).unwrap();
        self.record.push(format!(
            "{prim} {shape:?} fill {fill} {} {scalars:?}",
            redpoll::logic::text::format_to_sexpr(&format)
        ));
        let dense = scalars.iter().map(|s| s.to_f64().expect("a number")).collect();
        (self.session.array(tensor), ArrayD::from_shape_vec(IxDyn(shape), dense).unwrap())
    }

    /// Draws a shape with a rank in `low..high`, without dimensions of 0.
    pub fn any_shape_of_some(&mut self, low: usize, high: usize) -> Vec<usize> {
        let shape = self.any_shape(low, high);
        shape.into_iter().map(|n| n.max(1)).collect()
    }

    /// Draws one of the variants of an operation.
    pub fn variant(&mut self, count: usize) -> usize {
        let variant = self.rng.index(count);
        self.record.push(format!("variant {variant}"));
        variant
    }

    /// Draws an axis of an array; returns its number, which may count from the end, and its index.
    pub fn axis(&mut self, rank: usize) -> (i64, usize) {
        let k = self.rng.index(rank);
        let number = if self.rng.chance(50) { k as i64 } else { k as i64 - rank as i64 };
        self.record.push(format!("axis {number}"));
        (number, k)
    }
}

/// Returns whether a value is exact in a dtype, with room for products and sums of several such
/// values. If `whole` is set, an `f64` must be a whole number.
pub fn is_tame(value: f64, prim: Prim, whole: bool) -> bool {
    let (most, steps): (f64, f64) = match prim {
        Prim::Bool => (1.0, 1.0),
        Prim::F32 => (256.0, 1.0),
        Prim::F64 => (65536.0, if whole { 1.0 } else { 256.0 }),
        Prim::I64 => (65536.0, 1.0),
        Prim::I32 => (30_000.0, 1.0),
        _ => (100.0, 1.0),
    };
    let low = if prim.is_signed() || matches!(prim, Prim::F32 | Prim::F64) { -most } else { 0.0 };
    value >= low && value <= most && (value * steps).fract() == 0.0 && (value != 0.0 || value.is_sign_positive())
}

/// Returns the dense values of a result as `f64`.
pub fn numbers(tensor: &Tensor) -> Dense {
    let shape: Vec<usize> = tensor.ty().shape.iter().map(|n| *n as usize).collect();
    let dense = convert(tensor, &Format::dense(shape.len())).unwrap();
    let values = dense.to_dense_scalars().unwrap().iter().map(|s| s.to_f64().expect("a number")).collect();
    ArrayD::from_shape_vec(IxDyn(&shape), values).unwrap()
}
