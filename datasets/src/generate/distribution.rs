//! Distributions of values.

use super::GenerateOptions;
use super::random::Random;
use crate::error::Fault;
use crate::values::Values;
use redpoll_logic::{Prim, Scalar};
use std::fmt;
use std::str::FromStr;

/// Distribution of the values of entries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// The constant 1 (`true` for booleans).
    One,
    /// Integers from `low` to `high`, both included, except 0, all equally likely. Sums and
    /// products of few small integers are exact in every numeric dtype, so results can be compared
    /// bit by bit.
    Integer {
        /// The smallest value.
        low: i64,
        /// The largest value.
        high: i64,
    },
    /// Real numbers from `low` (included) to `high` (excluded, except by rounding to `f32`).
    Uniform {
        /// The smallest value.
        low: f64,
        /// The excluded upper bound.
        high: f64,
    },
    /// Normally distributed real numbers.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
}

const EXPECTED: &str = "one, integer:LOW:HIGH, uniform:LOW:HIGH or normal:MEAN:DEVIATION";

impl FromStr for Distribution {
    type Err = String;

    /// Parses `one`, `integer:-8:8`, `uniform:0:1` or `normal:0:1`.
    fn from_str(text: &str) -> Result<Distribution, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let integer = |s: &str| s.parse::<i64>().ok();
        let real = |s: &str| s.parse::<f64>().ok().filter(|x| x.is_finite());
        let found = match parts[..] {
            ["one"] => Some(Distribution::One),
            ["integer", low, high] => {
                integer(low).zip(integer(high)).map(|(low, high)| Distribution::Integer { low, high })
            }
            ["uniform", low, high] => real(low).zip(real(high)).map(|(low, high)| Distribution::Uniform { low, high }),
            ["normal", mean, deviation] => {
                real(mean).zip(real(deviation)).map(|(mean, deviation)| Distribution::Normal { mean, deviation })
            }
            _ => None,
        };
        found.ok_or_else(|| format!("expected {EXPECTED}"))
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::One => f.write_str("one"),
            Distribution::Integer { low, high } => write!(f, "integer:{low}:{high}"),
            Distribution::Uniform { low, high } => write!(f, "uniform:{low}:{high}"),
            Distribution::Normal { mean, deviation } => write!(f, "normal:{mean}:{deviation}"),
        }
    }
}

/// The default values of a generator.
pub(super) enum DefaultValues {
    /// Values drawn from a distribution, in a dtype.
    Distribution(Distribution, Prim),
    /// Given values.
    Values(Values),
}

/// Returns `count` values of the requested distribution, or the default values if no distribution
/// is requested. A requested dtype replaces the default dtype. `report` is called at intervals with
/// the number of values drawn so far, unless the values are given or are booleans.
pub(super) fn values(
    default_values: DefaultValues,
    count: usize,
    options: &GenerateOptions,
    mut random: Random,
    report: &mut dyn FnMut(u64),
) -> Result<Values, Fault> {
    let (distribution, default_prim) = match (options.values, default_values) {
        (None, DefaultValues::Values(values)) => {
            let prim = options.dtype.unwrap_or(values.prim());
            return values.convert(prim).map_err(|(_, value)| overflow(&value, prim));
        }
        (None, DefaultValues::Distribution(distribution, prim)) => (distribution, prim),
        (Some(Distribution::One), DefaultValues::Distribution(Distribution::One, prim)) => (Distribution::One, prim),
        (Some(Distribution::Integer { .. }), _) => (options.values.expect("just matched"), Prim::I64),
        (Some(distribution), _) => (distribution, Prim::F64),
    };
    let prim = options.dtype.unwrap_or(default_prim);
    check(distribution, prim)?;
    const PERIOD: usize = 1 << 16;
    let mut next = |k: usize| {
        if k.is_multiple_of(PERIOD) {
            report(k as u64);
        }
        match distribution {
            Distribution::One => RandomNumber::Integer(1),
            Distribution::Integer { low, high } => RandomNumber::Integer(integer(low, high, &mut random)),
            Distribution::Uniform { low, high } => {
                let number = low + (high - low) * random.unit();
                // Rounding may reach the upper bound.
                RandomNumber::Real(if number < high { number } else { low })
            }
            Distribution::Normal { mean, deviation } => RandomNumber::Real(mean + deviation * random.normal()),
        }
    };
    macro_rules! collect {
        ($($variant:ident $t:ty),*) => {
            match prim {
                Prim::Bool => Values::Bool(vec![true; count]),
                $(Prim::$variant => Values::$variant((0..count).map(|k| match next(k) {
                    RandomNumber::Integer(x) => x as $t,
                    RandomNumber::Real(x) => x as $t,
                }).collect()),)*
            }
        };
    }
    Ok(collect!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64))
}

/// A number before its conversion to a dtype.
enum RandomNumber {
    Integer(i64),
    Real(f64),
}

/// Draws an integer from `low` to `high`, except 0.
fn integer(low: i64, high: i64, random: &mut Random) -> i64 {
    // A range that includes 0 has `span` other integers. A range that excludes 0 is not the full
    // range, so `span + 1` does not overflow.
    let span = high.wrapping_sub(low) as u64;
    if low <= 0 && high >= 0 {
        let number = low.wrapping_add(random.below(span) as i64);
        if number >= 0 { number + 1 } else { number }
    } else {
        low.wrapping_add(random.below(span + 1) as i64)
    }
}

/// Rejects distributions with invalid parameters, and distributions with values that the dtype
/// cannot represent.
fn check(distribution: Distribution, prim: Prim) -> Result<(), Fault> {
    let fits = |value: Scalar| match Values::single(&value).convert(prim) {
        Ok(_) => Ok(()),
        Err((_, value)) => Err(overflow(&value, prim)),
    };
    match distribution {
        Distribution::One => Ok(()),
        Distribution::Integer { low, high } if low > high || (low, high) == (0, 0) => {
            Err(Fault::malformed("a range with a nonzero integer", format!("{low} to {high}")))
        }
        Distribution::Uniform { low, high } if !(low < high && (high - low).is_finite()) => {
            let expected = "a lower bound below the upper bound, at a finite distance";
            Err(Fault::malformed(expected, format!("{low} to {high}")))
        }
        Distribution::Normal { mean, deviation } if !(mean.is_finite() && (0.0..1e300).contains(&deviation)) => {
            let expected = "a finite mean, and a deviation from 0 to below 1e300";
            Err(Fault::malformed(expected, format!("{mean} and {deviation}")))
        }
        _ if prim == Prim::Bool => Err(Fault::unsupported(
            format!("the distribution {distribution} of booleans"),
            "choose the distribution `one`, or another dtype",
        )),
        Distribution::Integer { low, high } => fits(Scalar::I64(low)).and_then(|()| fits(Scalar::I64(high))),
        _ if !prim.is_float() => Err(Fault::unsupported(
            format!("the distribution {distribution} of {prim}"),
            "choose integer:LOW:HIGH, or the dtype f32 or f64",
        )),
        Distribution::Uniform { low, high } => fits(Scalar::F64(low)).and_then(|()| fits(Scalar::F64(high))),
        Distribution::Normal { mean, deviation } => {
            // Numbers of the Box-Muller transform are within 9 deviations of their mean.
            fits(Scalar::F64(mean.abs() + 9.0 * deviation))
        }
    }
}

fn overflow(value: &Scalar, dtype: Prim) -> Fault {
    Fault::Overflow { value: value.to_string(), dtype, hint: "choose a wider dtype, or other values" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(values: Distribution, dtype: Prim) -> Result<Values, String> {
        let options = GenerateOptions { values: Some(values), dtype: Some(dtype), ..GenerateOptions::default() };
        let default_values = DefaultValues::Distribution(Distribution::One, Prim::Bool);
        super::values(default_values, 2000, &options, Random::new(0, 0), &mut |_| ()).map_err(|e| e.to_string())
    }

    #[test]
    fn integers_take_every_value_but_zero() {
        let Ok(Values::I8(numbers)) = draw(Distribution::Integer { low: -2, high: 3 }, Prim::I8) else { panic!() };
        for value in -3..5i8 {
            let expected = matches!(value, -2..=3) && value != 0;
            assert_eq!(numbers.contains(&value), expected, "{value}");
        }
        for (low, high) in [(i64::MIN, i64::MAX), (1, i64::MAX), (5, 5), (0, 1), (-1, 0)] {
            let Ok(Values::I64(numbers)) = draw(Distribution::Integer { low, high }, Prim::I64) else { panic!() };
            assert!(numbers.iter().all(|&x| x != 0 && x >= low && x <= high), "{low} {high}");
        }
    }

    #[test]
    fn real_numbers_stay_in_their_range() {
        let Ok(Values::F32(numbers)) = draw(Distribution::Uniform { low: -1.0, high: 2.0 }, Prim::F32) else {
            panic!()
        };
        assert!(numbers.iter().all(|x| (-1.0..=2.0).contains(x)) && numbers.iter().any(|&x| x > 1.9));
    }

    #[test]
    fn invalid_distributions_are_rejected() {
        let cases = [
            (Distribution::Integer { low: -1, high: 3 }, Prim::U8, "value -1 does not fit u8"),
            (Distribution::Integer { low: 1, high: 300 }, Prim::U8, "value 300 does not fit u8"),
            (Distribution::Integer { low: 0, high: 0 }, Prim::U8, "with a nonzero integer, found 0 to 0"),
            (Distribution::Uniform { low: 0.0, high: 1.0 }, Prim::I64, "choose integer:LOW:HIGH"),
            (Distribution::Uniform { low: 1.0, high: 1.0 }, Prim::F64, "found 1 to 1"),
            (Distribution::Normal { mean: 0.0, deviation: -1.0 }, Prim::F64, "found 0 and -1"),
            (Distribution::Normal { mean: 1e39, deviation: 1.0 }, Prim::F32, "does not fit f32"),
            (
                Distribution::Integer { low: 1, high: 2 },
                Prim::Bool,
                "not supported: the distribution integer:1:2 of booleans",
            ),
        ];
        for (distribution, prim, expected) in cases {
            let message = draw(distribution, prim).unwrap_err();
            assert!(message.contains(expected), "{distribution} {prim}: {message}");
        }
    }

    #[test]
    fn text_is_parsed_back() {
        for text in ["one", "integer:-8:8", "uniform:0:1.5", "normal:3:0.25"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        for text in ["", "two", "integer:1", "integer:1:2:3", "uniform:a:b", "normal:0:inf"] {
            assert!(text.parse::<Distribution>().is_err(), "{text}");
        }
    }
}
