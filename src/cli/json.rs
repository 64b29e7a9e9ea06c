//! The JSON object of `redpoll run --json`.
//!
//! ```text
//! {"outputs": {NAME: {"shape": [..], "dtype": "..", "fill": x, "stored": n, "nonfill": n, "sum": s,
//!               "value": x}},
//!  "engine": {"target": "cpu", "reason": ".."},
//!  "notes": [".."],
//!  "held": n,
//!  "seconds": {"read": s, "optimize": s, "compile": s, "cold": s, "warm_best": s, "warm_median": s}}
//! ```
//! - `stored` is the number of stored values, `nonfill` the number of values that differ from the
//!   fill value. `sum` is the sum of all elements: an integer for integers and booleans, unless the
//!   sum exceeds 64 bits, otherwise an `f64`.
//! - `value` is the value of a result without indices; other results have no `value`.
//! - Infinities and NaN are the strings `"inf"`, `"-inf"` and `"nan"`. Values of structs are arrays
//!   and have no sum (`null`).
//! - `engine` is the placement of the first run with its reason. `notes` are the notes for the
//!   author of the plan.
//! - `held` is [`Run::peak_bytes`] in bytes. `seconds` has the [`StepTimes`]; the warm times are
//!   `null` without `--repeat`.

use super::failure::CommandFailure;
use super::summary::StepTimes;
use crate::logic::Scalar;
use crate::storage::Tensor;
use crate::{Placement, Prepared, Run};
use serde_json::{Number, Value, json};
use std::time::Duration;

pub(super) fn report_json(
    prepared: &Prepared,
    placement: &Placement,
    run: &Run,
    times: &StepTimes,
) -> Result<Value, CommandFailure> {
    let outputs = run
        .outputs
        .iter()
        .map(|(name, tensor)| {
            let ty = tensor.ty();
            let mut output = json!({
                "shape": ty.shape,
                "dtype": ty.dtype.to_string(),
                "fill": scalar(&ty.fill),
                "stored": tensor.count_stored()?,
                "nonfill": tensor.count_differing_from_fill()?,
                "sum": sum(tensor)?,
            });
            if ty.shape.is_empty() {
                output["value"] = scalar(&tensor.get(&[])?);
            }
            Ok((name.to_string(), output))
        })
        .collect::<Result<serde_json::Map<String, Value>, CommandFailure>>()?;
    let warm = |t: Option<Duration>| t.map(|t| t.as_secs_f64());
    Ok(json!({
        "outputs": outputs,
        "engine": { "target": placement.target.to_string(), "reason": placement.reason.to_string() },
        "notes": prepared.notes().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "held": run.peak_bytes,
        "seconds": {
            "read": times.read.as_secs_f64(),
            "optimize": times.optimize.as_secs_f64(),
            "compile": times.compile.as_secs_f64(),
            "cold": times.cold.as_secs_f64(),
            "warm_best": warm(times.warm_best),
            "warm_median": warm(times.warm_median),
        },
    }))
}

/// Returns the sum of all elements.
fn sum(tensor: &Tensor) -> Result<Value, CommandFailure> {
    let exact = tensor.integer_sum()?.and_then(Number::from_i128).map(Value::Number);
    Ok(match exact {
        Some(exact) => exact,
        None => tensor.sum()?.map_or(Value::Null, number),
    })
}

fn number(x: f64) -> Value {
    match x {
        _ if x.is_nan() => json!("nan"),
        _ if x.is_infinite() => json!(if x > 0.0 { "inf" } else { "-inf" }),
        _ => json!(x),
    }
}

pub(super) fn scalar(value: &Scalar) -> Value {
    match value {
        Scalar::Bool(b) => json!(b),
        Scalar::F32(x) => number(f64::from(*x)),
        Scalar::F64(x) => number(*x),
        other => match (other.prim(), other.to_i128()) {
            (Some(_), Some(n)) => Number::from_i128(n).map_or(Value::Null, Value::Number),
            _ => Value::Array(other.flatten().iter().map(scalar).collect()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts the JSON form of fill values, such as the largest integers, infinities and NaN.
    #[test]
    fn fills_are_json() {
        let cases = [
            (Scalar::Bool(true), "true"),
            (Scalar::I8(-3), "-3"),
            (Scalar::U64(u64::MAX), "18446744073709551615"),
            (Scalar::I64(i64::MIN), "-9223372036854775808"),
            (Scalar::F64(0.5), "0.5"),
            (Scalar::F64(f64::INFINITY), "\"inf\""),
            (Scalar::F32(f32::NEG_INFINITY), "\"-inf\""),
            (Scalar::F64(f64::NAN), "\"nan\""),
        ];
        for (value, expected) in cases {
            assert_eq!(scalar(&value).to_string(), expected);
        }
    }
}
