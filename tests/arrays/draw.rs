//! Random arrays: lazy, of any format, dtype and fill value, beside the same values in an `ndarray` array.

use ndarray::{ArrayD, IxDyn};
use redpoll::logic::testing::Rng;
use redpoll::logic::{Format, Prim, Scalar, TensorType};
use redpoll::physical::storage::{Tensor, Values, convert};
use redpoll::physical::testing::formats_of_rank;
use redpoll::{Array, Session};

/// The dense values of an array, whatever its dtype.
pub(crate) type Dense = ArrayD<f64>;

/// Draws operands and parameters, and keeps a record of them for messages.
pub(crate) struct Draw {
    pub(crate) rng: Rng,
    pub(crate) session: Session,
    pub(crate) record: Vec<String>,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw { rng: Rng::new(seed), session: Session::default(), record: Vec::new() }
    }

    /// A number of `low..high`.
    pub(crate) fn within(&mut self, low: i64, high: i64) -> i64 {
        let number = low + self.rng.below((high - low) as u64) as i64;
        self.record.push(number.to_string());
        number
    }

    /// A size: mostly small, at times 0 or 1.
    pub(crate) fn size(&mut self) -> usize {
        *self.rng.pick(&[0, 1, 1, 2, 3, 3, 4, 5])
    }

    /// A size that is not 0.
    pub(crate) fn some(&mut self) -> usize {
        *self.rng.pick(&[1, 2, 3, 4, 5])
    }

    /// A shape of that many modes.
    pub(crate) fn shape(&mut self, rank: usize) -> Vec<usize> {
        (0..rank).map(|_| self.size()).collect()
    }

    /// A shape of `low..high` modes.
    pub(crate) fn any_shape(&mut self, low: usize, high: usize) -> Vec<usize> {
        let rank = low + self.rng.index(high - low);
        self.shape(rank)
    }

    /// An array of small whole numbers, in `i64`, `f64`, or now and then another dtype.
    pub(crate) fn array(&mut self, shape: &[usize]) -> (Array, Dense) {
        let prim = *self.rng.pick(&[Prim::I64, Prim::I64, Prim::F64, Prim::F64, Prim::F32, Prim::I8, Prim::I32]);
        self.array_of(shape, prim)
    }

    /// An array of small whole numbers of that dtype.
    pub(crate) fn array_of(&mut self, shape: &[usize], prim: Prim) -> (Array, Dense) {
        let fill = *self.rng.pick(&[0, 0, 0, 1, 2]);
        self.array_from(shape, prim, fill, if prim.is_signed() { -3 } else { 0 }, 4)
    }

    /// An array of numbers of `low..high` and a fill value.
    pub(crate) fn array_from(&mut self, shape: &[usize], prim: Prim, fill: i64, low: i64, high: i64) -> (Array, Dense) {
        let value = |v: i64| Scalar::I64(v).cast(prim).expect("a primitive");
        self.stored(shape, &value(fill), &|rng| value(low + rng.below((high - low) as u64) as i64))
    }

    /// An array of small whole numbers in that dtype of floats and of NaN, stored or as the fill value.
    pub(crate) fn array_with_nan(&mut self, shape: &[usize], prim: Prim) -> (Array, Dense) {
        let value = |v: f64| Scalar::F64(v).cast(prim).expect("a primitive");
        let fill = *self.rng.pick(&[0.0, 0.0, 2.0, f64::NAN]);
        let share = *self.rng.pick(&[10, 40, 100]);
        let number = |rng: &mut Rng| if rng.chance(share) { f64::NAN } else { rng.below(7) as f64 - 3.0 };
        self.stored(shape, &value(fill), &|rng| value(number(rng)))
    }

    /// An array of drawn values and of a fill value.
    fn stored(&mut self, shape: &[usize], fill: &Scalar, value: &dyn Fn(&mut Rng) -> Scalar) -> (Array, Dense) {
        let density = *self.rng.pick(&[0, 20, 50, 80, 100]);
        let prim = fill.prim().expect("a primitive");
        let places: usize = shape.iter().product();
        let draw = |rng: &mut Rng| if rng.chance(density) { value(rng) } else { fill.clone() };
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

    /// One of the axes of a rank, as a number that may count from the end.
    pub(crate) fn axis(&mut self, rank: usize) -> (i64, usize) {
        let k = self.rng.index(rank);
        let number = if self.rng.chance(50) { k as i64 } else { k as i64 - rank as i64 };
        self.record.push(format!("axis {number}"));
        (number, k)
    }
}

/// The values of a result as numbers.
pub(crate) fn numbers(tensor: &Tensor) -> Dense {
    let shape: Vec<usize> = tensor.ty().shape.iter().map(|n| *n as usize).collect();
    let dense = convert(tensor, &Format::dense(shape.len())).unwrap();
    let values = dense.to_dense_scalars().unwrap().iter().map(|s| s.to_f64().expect("a number")).collect();
    ArrayD::from_shape_vec(IxDyn(&shape), values).unwrap()
}
