//! Expansions as lists of steps, from which backends generate code.

use super::real::{Real, Word};
use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Shl, Shr, Sub};

/// A function of a float as a list of steps.
#[derive(Clone, PartialEq, Debug)]
pub struct Expansion {
    /// The steps, each after its operands. The last one is the result.
    pub steps: Vec<Step>,
}

/// A step of an [`Expansion`].
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// The operation.
    pub operation: Operation,
    /// The numbers of the steps that compute the operands.
    pub operands: Vec<usize>,
}

/// The operation of a [`Step`]. Its values are floats, unsigned integers of 64 bits, and truth
/// values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operation {
    /// The argument of the function.
    Argument,
    /// A constant float, by its bits.
    Number(u64),
    /// The magnitude of a float.
    Abs,
    /// The square root of a float.
    Sqrt,
    /// The magnitude of the first float with the sign of the second one.
    Copysign,
    /// The sum of two floats.
    Add,
    /// The difference of two floats.
    Sub,
    /// The product of two floats.
    Mul,
    /// The quotient of two floats.
    Div,
    /// Whether the first float is less than the second one.
    Less,
    /// The second operand if the first one is true, otherwise the third one. The first operand is a
    /// truth value; the others are floats.
    Select,
    /// The bits of a float.
    Bits,
    /// The float with the bits of an integer.
    Float,
    /// A constant integer.
    Integer(u64),
    /// The sum of two integers, modulo 2^64.
    AddBits,
    /// The difference of two integers, modulo 2^64.
    SubBits,
    /// The bitwise conjunction of two integers.
    And,
    /// The bitwise disjunction of two integers.
    Or,
    /// An integer shifted to the left.
    Shl(u32),
    /// An integer shifted to the right; the vacated bits are 0.
    Shr(u32),
}

impl Expansion {
    /// Records the steps of a function. Keeps equal steps once, and drops steps on which the result
    /// does not depend.
    pub(super) fn record(function: impl for<'a> FnOnce(Recorded<'a>) -> Recorded<'a>) -> Expansion {
        let recorder = Recorder::default();
        let result = function(Recorded(recorder.push(Operation::Argument, &[]))).0.step;
        let mut steps = recorder.0.into_inner();
        steps.truncate(result + 1);
        let mut needed = vec![false; steps.len()];
        needed[result] = true;
        for (number, step) in steps.iter().enumerate().rev() {
            if needed[number] {
                step.operands.iter().for_each(|operand| needed[*operand] = true);
            }
        }
        let mut numbers = Vec::with_capacity(steps.len());
        let mut kept = Vec::new();
        for (mut step, needed) in steps.into_iter().zip(needed) {
            numbers.push(kept.len());
            if needed {
                step.operands.iter_mut().for_each(|operand| *operand = numbers[*operand]);
                kept.push(step);
            }
        }
        Expansion { steps: kept }
    }
}

/// The steps that have been recorded.
#[derive(Default)]
struct Recorder(RefCell<Vec<Step>>);

impl Recorder {
    /// Records a step, or finds an equal one.
    fn push(&self, operation: Operation, operands: &[usize]) -> Handle<'_> {
        let mut steps = self.0.borrow_mut();
        let equal = |step: &Step| step.operation == operation && step.operands == operands;
        let step = steps.iter().position(equal).unwrap_or_else(|| {
            steps.push(Step { operation, operands: operands.to_vec() });
            steps.len() - 1
        });
        Handle { recorder: self, step }
    }
}

#[derive(Clone, Copy)]
struct Handle<'a> {
    recorder: &'a Recorder,
    step: usize,
}

impl<'a> Handle<'a> {
    fn apply(self, operation: Operation, others: &[Handle<'a>]) -> Handle<'a> {
        let operands: Vec<usize> = std::iter::once(self.step).chain(others.iter().map(|other| other.step)).collect();
        self.recorder.push(operation, &operands)
    }

    fn constant(self, operation: Operation) -> Handle<'a> {
        self.recorder.push(operation, &[])
    }
}

/// A float that is recorded instead of computed.
#[derive(Clone, Copy)]
pub(super) struct Recorded<'a>(Handle<'a>);

/// The bits of a [`Recorded`] float.
#[derive(Clone, Copy)]
pub(super) struct RecordedBits<'a>(Handle<'a>);

/// A recorded truth value.
#[derive(Clone, Copy)]
pub(super) struct RecordedTest<'a>(Handle<'a>);

impl<'a> Real for Recorded<'a> {
    type Bits = RecordedBits<'a>;
    type Test = RecordedTest<'a>;

    fn number(self, value: f64) -> Self {
        Recorded(self.0.constant(Operation::Number(value.to_bits())))
    }

    fn abs(self) -> Self {
        Recorded(self.0.apply(Operation::Abs, &[]))
    }

    fn sqrt(self) -> Self {
        Recorded(self.0.apply(Operation::Sqrt, &[]))
    }

    fn copysign(self, sign: Self) -> Self {
        Recorded(self.0.apply(Operation::Copysign, &[sign.0]))
    }

    fn is_less(self, other: Self) -> RecordedTest<'a> {
        RecordedTest(self.0.apply(Operation::Less, &[other.0]))
    }

    fn select(test: RecordedTest<'a>, yes: Self, no: Self) -> Self {
        Recorded(test.0.apply(Operation::Select, &[yes.0, no.0]))
    }

    fn bits(self) -> RecordedBits<'a> {
        RecordedBits(self.0.apply(Operation::Bits, &[]))
    }
}

impl<'a> Word for RecordedBits<'a> {
    type Float = Recorded<'a>;

    fn float(self) -> Recorded<'a> {
        Recorded(self.0.apply(Operation::Float, &[]))
    }
}

macro_rules! float_operators {
    ($($trait:ident $method:ident;)*) => {
        $(
            impl $trait for Recorded<'_> {
                type Output = Self;

                fn $method(self, other: Self) -> Self {
                    Recorded(self.0.apply(Operation::$trait, &[other.0]))
                }
            }

            impl $trait<f64> for Recorded<'_> {
                type Output = Self;

                fn $method(self, other: f64) -> Self {
                    Recorded(self.0.apply(Operation::$trait, &[self.number(other).0]))
                }
            }
        )*
    };
}

float_operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

macro_rules! bit_operators {
    ($($trait:ident $method:ident $operation:ident;)*) => {
        $(
            impl $trait for RecordedBits<'_> {
                type Output = Self;

                fn $method(self, other: Self) -> Self {
                    RecordedBits(self.0.apply(Operation::$operation, &[other.0]))
                }
            }

            impl $trait<u64> for RecordedBits<'_> {
                type Output = Self;

                fn $method(self, other: u64) -> Self {
                    let other = self.0.constant(Operation::Integer(other));
                    RecordedBits(self.0.apply(Operation::$operation, &[other]))
                }
            }
        )*
    };
}

bit_operators! {
    Add add AddBits;
    Sub sub SubBits;
    BitAnd bitand And;
    BitOr bitor Or;
}

impl Shl<u32> for RecordedBits<'_> {
    type Output = Self;

    fn shl(self, count: u32) -> Self {
        RecordedBits(self.0.apply(Operation::Shl(count), &[]))
    }
}

impl Shr<u32> for RecordedBits<'_> {
    type Output = Self;

    fn shr(self, count: u32) -> Self {
        RecordedBits(self.0.apply(Operation::Shr(count), &[]))
    }
}
