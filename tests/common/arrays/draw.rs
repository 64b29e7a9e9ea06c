//! Random lazy arrays with random formats, dtypes and fill values, and their values in `ndarray`
//! arrays. In a program, some operands are results of earlier operations.

use super::choices::RecordedChoices;
use super::oracle;
use ndarray::{ArrayD, IxDyn};
use redpoll::logic::op::Op;
use redpoll::logic::{FloatMode, Format, Prim, Scalar, TensorType};
use redpoll::storage::testing::formats_of_rank;
use redpoll::storage::{Tensor, Values, convert};
use redpoll::{Array, Config, Session};

/// The dense values of an array of any dtype, as `f64`.
pub type DenseArray = ArrayD<f64>;

/// A source of random operands and parameters, which are recorded for messages.
pub struct OperandSource {
    pub rng: RecordedChoices,
    pub session: Session,
    mode: FloatMode,
    pub record: Vec<String>,
    /// The earlier results that can be operands, in a program.
    earlier_results: Option<EarlierResults>,
}

/// The earlier results and dimensions of a program.
#[derive(Default)]
struct EarlierResults {
    results: Vec<EarlierResult>,
    /// The dimensions to draw from; there are few dimensions, so that many shapes are equal.
    sizes: Vec<usize>,
}

/// A result of an earlier operation.
#[derive(Clone)]
pub struct EarlierResult {
    pub name: String,
    pub array: Array,
    pub dense: DenseArray,
    pub prim: Prim,
}

impl OperandSource {
    pub fn new(seed: u64) -> OperandSource {
        OperandSource {
            rng: RecordedChoices::from_seed(seed),
            session: Session::default(),
            mode: FloatMode::Relaxed,
            record: Vec::new(),
            earlier_results: None,
        }
    }

    /// Starts a program in a session of its own.
    pub fn program(mut rng: RecordedChoices, config: Config) -> OperandSource {
        let sizes = (0..3).map(|_| *rng.pick(&[2, 3, 1, 0, 2, 1, 4])).collect();
        let mode = config.optimizer.float_mode;
        OperandSource {
            rng,
            session: Session::new(config),
            mode,
            record: Vec::new(),
            earlier_results: Some(EarlierResults { results: Vec::new(), sizes }),
        }
    }

    /// Returns whether operands may be results of earlier operations.
    pub fn is_program(&self) -> bool {
        self.earlier_results.is_some()
    }

    /// Continues in a new session with the given float mode.
    pub fn set_mode(&mut self, mode: FloatMode) {
        let mut config = Config::default();
        config.optimizer.float_mode = mode;
        (self.session, self.mode) = (Session::new(config), mode);
    }

    /// Applies an operator at every coordinate, to arguments of the given dtypes.
    pub fn op(&self, op: impl Into<Op>, arrays: &[(&DenseArray, Prim)]) -> DenseArray {
        oracle::op(op, arrays, self.mode)
    }

    /// Adds a result that later operations may use as an operand.
    pub fn add_result(&mut self, result: EarlierResult) {
        self.earlier_results.get_or_insert_default().results.push(result);
    }

    /// Draws an earlier result of the given shape. If `prim` is given, the values of the result are
    /// exact in that dtype. If `range` is given, the values lie in that half-open range. Returns
    /// `None` if no result fits, and otherwise with a probability of 15%.
    fn pick_earlier(
        &mut self,
        shape: &[usize],
        prim: Option<Prim>,
        range: Option<(i64, i64)>,
    ) -> Option<(Array, DenseArray)> {
        let results = &self.earlier_results.as_ref()?.results;
        let inside = |v: f64| range.is_none_or(|(low, high)| v >= low as f64 && v < high as f64);
        let fits = |result: &&EarlierResult| {
            let dtype =
                prim.is_none_or(|prim| result.prim == prim || result.dense.iter().all(|v| is_exact_in(*v, prim, true)));
            result.dense.shape() == shape && dtype && result.dense.iter().all(|v| inside(*v))
        };
        let fitting: Vec<EarlierResult> = results.iter().filter(fits).cloned().collect();
        if fitting.is_empty() || !self.rng.chance(85) {
            return None;
        }
        let result = self.rng.pick(&fitting).clone();
        match prim {
            Some(prim) if prim != result.prim => {
                self.record.push(format!("{}.astype({prim})", result.name));
                Some((result.array.astype(prim), result.dense))
            }
            _ => {
                self.record.push(result.name);
                Some((result.array, result.dense))
            }
        }
    }

    /// Draws a number in `low..high`.
    pub fn number_in(&mut self, low: i64, high: i64) -> i64 {
        let number = low + self.rng.below((high - low) as u64) as i64;
        self.record.push(number.to_string());
        number
    }

    /// Draws a size from 0 to 5 or, in a program, one of the sizes of the program.
    pub fn size(&mut self) -> usize {
        if let Some(earlier_results) = &self.earlier_results {
            return *self.rng.pick(&earlier_results.sizes);
        }
        *self.rng.pick(&[0, 1, 1, 2, 3, 3, 4, 5])
    }

    /// Draws a size other than 0.
    pub fn nonzero_size(&mut self) -> usize {
        if let Some(earlier_results) = &self.earlier_results {
            return (*self.rng.pick(&earlier_results.sizes)).max(1);
        }
        *self.rng.pick(&[1, 2, 3, 4, 5])
    }

    /// Draws a shape of the given rank.
    pub fn shape(&mut self, rank: usize) -> Vec<usize> {
        (0..rank).map(|_| self.size()).collect()
    }

    /// Draws a shape with a rank in `low..high`.
    pub fn any_shape(&mut self, low: usize, high: usize) -> Vec<usize> {
        let shapes = self
            .earlier_results
            .iter()
            .flat_map(|earlier_results| &earlier_results.results)
            .map(|result| result.dense.shape());
        let fitting: Vec<Vec<usize>> =
            shapes.filter(|s| (low..high).contains(&s.len())).map(<[usize]>::to_vec).collect();
        if !fitting.is_empty() && self.rng.chance(80) {
            return self.rng.pick(&fitting).clone();
        }
        let rank = low + self.rng.index(high - low);
        self.shape(rank)
    }

    /// Draws an array of small whole numbers, mostly of dtype `i64` or `f64`. In a program, most
    /// often returns an earlier result of the shape instead, if there is one.
    pub fn array(&mut self, shape: &[usize]) -> (Array, DenseArray) {
        if let Some(earlier) = self.pick_earlier(shape, None, None) {
            return earlier;
        }
        let prim = *self.rng.pick(&[Prim::I64, Prim::I64, Prim::F64, Prim::F64, Prim::F32, Prim::I8, Prim::I32]);
        self.array_with_dtype(shape, prim)
    }

    /// Draws an array of small whole numbers of the given dtype. In a program, most often returns
    /// an earlier result instead, if one fits the shape and the dtype.
    pub fn array_with_dtype(&mut self, shape: &[usize], prim: Prim) -> (Array, DenseArray) {
        if let Some(earlier) = self.pick_earlier(shape, Some(prim), None) {
            return earlier;
        }
        let fill = *self.rng.pick(&[0, 0, 0, 1, 2]);
        self.array_in_range(shape, prim, fill, if prim.is_signed() { -3 } else { 0 }, 4)
    }

    /// Draws an array of small whole numbers with fill value 0. Never returns an earlier result.
    pub fn new_array(&mut self, shape: &[usize], prim: Prim) -> (Array, DenseArray) {
        let value = |v: i64| Scalar::I64(v).cast(prim).expect("a primitive");
        let least = if prim.is_signed() { -3 } else { 0 };
        self.array_with_values(shape, &value(0), &|rng| value(least + rng.below(7) as i64))
    }

    /// Draws an array of numbers in `low..high`, with a fill value. In a program, most often
    /// returns an earlier result instead, of any fill value, if one fits the shape, the dtype and
    /// the range.
    pub fn array_in_range(
        &mut self,
        shape: &[usize],
        prim: Prim,
        fill: i64,
        low: i64,
        high: i64,
    ) -> (Array, DenseArray) {
        if let Some(earlier) = self.pick_earlier(shape, Some(prim), Some((low, high))) {
            return earlier;
        }
        let value = |v: i64| Scalar::I64(v).cast(prim).expect("a primitive");
        self.array_with_values(shape, &value(fill), &|rng| value(low + rng.below((high - low) as u64) as i64))
    }

    /// Draws a float array of small whole numbers and NaN, which may be the fill value.
    pub fn array_with_nan(&mut self, shape: &[usize], prim: Prim) -> (Array, DenseArray) {
        let value = |v: f64| Scalar::F64(v).cast(prim).expect("a primitive");
        let fill = *self.rng.pick(&[0.0, 0.0, 2.0, f64::NAN]);
        let nan_percent = *self.rng.pick(&[10, 40, 100]);
        let number =
            |rng: &mut RecordedChoices| if rng.chance(nan_percent) { f64::NAN } else { rng.below(7) as f64 - 3.0 };
        self.array_with_values(shape, &value(fill), &|rng| value(number(rng)))
    }

    /// Draws an array in a random format. Each element is drawn by `value`, or is the fill value.
    fn array_with_values(
        &mut self,
        shape: &[usize],
        fill: &Scalar,
        value: &dyn Fn(&mut RecordedChoices) -> Scalar,
    ) -> (Array, DenseArray) {
        let density = *self.rng.pick(&[0, 20, 50, 80, 100]);
        let prim = fill.prim().expect("a primitive");
        let elements: usize = shape.iter().product();
        let draw = |rng: &mut RecordedChoices| if rng.chance(density) { value(rng) } else { fill.clone() };
        let scalars: Vec<Scalar> = (0..elements).map(|_| draw(&mut self.rng)).collect();
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
    pub fn any_nonempty_shape(&mut self, low: usize, high: usize) -> Vec<usize> {
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

/// Returns whether a value is exact in a dtype and small: a product of two such values, and a sum
/// of several such values, is exact in floats and in wide integers. The value must be a whole
/// number, except that an `f64` may be a multiple of 1/256 unless `whole` is set. A zero must be
/// positive.
pub fn is_exact_in(value: f64, prim: Prim, whole: bool) -> bool {
    let (max_magnitude, steps): (f64, f64) = match prim {
        Prim::Bool => (1.0, 1.0),
        Prim::F32 => (256.0, 1.0),
        Prim::F64 => (65536.0, if whole { 1.0 } else { 256.0 }),
        Prim::I64 => (65536.0, 1.0),
        Prim::I32 => (30_000.0, 1.0),
        _ => (100.0, 1.0),
    };
    let low = if prim.is_signed() || matches!(prim, Prim::F32 | Prim::F64) { -max_magnitude } else { 0.0 };
    value >= low
        && value <= max_magnitude
        && (value * steps).fract() == 0.0
        && (value != 0.0 || value.is_sign_positive())
}

/// Returns the dense values of a result as `f64`.
pub fn dense_values(tensor: &Tensor) -> DenseArray {
    let shape: Vec<usize> = tensor.ty().shape.iter().map(|n| *n as usize).collect();
    let dense = convert(tensor, &Format::dense(shape.len())).unwrap();
    let values = dense.to_dense_scalars().unwrap().iter().map(|s| s.to_f64().expect("a number")).collect();
    ArrayD::from_shape_vec(IxDyn(&shape), values).unwrap()
}
