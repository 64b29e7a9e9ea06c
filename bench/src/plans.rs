//! Plan files of the tests, with inputs generated from their headers.
//!
//! ```text
//! ; input NAME DIMENSIONS DTYPE fill F ..
//! ; sizes m=7 n=5 | ..
//! ; formats A=csr x=(sparse-list (element)) | ..
//! ```
//! Dimensions are numbers or letters joined by `x`. A bar separates alternatives of sizes and
//! formats; only the first alternative is used. Inputs without a format are dense.

use anyhow::{Context, Result};
use redpoll::Bindings;
use redpoll::datasets::generate::random::Random;
use redpoll_logic::literal::read_value;
use redpoll_logic::sexpr::read_one;
use redpoll_logic::text::parse_format;
use redpoll_logic::{DType, Format, Prim, Scalar, TensorType};
use redpoll_storage::{Tensor, Values, convert};
use std::collections::HashMap;
use std::path::Path;

/// A plan with its inputs.
pub struct PlanFile {
    /// The name of the file, without its extension.
    pub name: String,
    /// The text of the plan.
    pub text: String,
    /// The inputs.
    pub bindings: Bindings,
}

impl PlanFile {
    /// Reads a file and generates its inputs.
    ///
    /// # Errors
    /// If the file cannot be read, or its header is invalid.
    pub fn read(path: &Path) -> Result<PlanFile> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let bindings = bindings(&text).with_context(|| format!("invalid header of {}", path.display()))?;
        Ok(PlanFile { name, text, bindings })
    }
}

fn bindings(text: &str) -> Result<Bindings> {
    let lines = |word: &'static str| text.lines().filter_map(move |l| l.strip_prefix("; ")?.strip_prefix(word));
    let first = |word| lines(word).next().and_then(|rest| rest.split('|').next()).unwrap_or_default();
    let sizes: HashMap<&str, u64> =
        pairs(first("sizes ")).map(|(letter, size)| Ok((letter, size.parse()?))).collect::<Result<_>>()?;
    let formats: HashMap<&str, &str> = pairs(first("formats ")).collect();
    let mut random = Random::new(1, 0);
    lines("input ").map(|line| input(line, &sizes, &formats, &mut random)).collect()
}

/// Splits `A=x B=(y (z))` into pairs. Spaces within parentheses belong to a value.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut depth = 0;
    let parts = text.split(move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && c.is_whitespace()
    });
    parts.filter_map(|part| part.split_once('='))
}

/// Parses an input such as `A mxn f64 fill 0 density 0.3` or `s scalar i64`. About a third
/// of its values are drawn from 1 to 3, and all others are the fill value, whatever the density.
fn input(
    line: &str,
    sizes: &HashMap<&str, u64>,
    formats: &HashMap<&str, &str>,
    random: &mut Random,
) -> Result<(String, Tensor)> {
    let mut words = line.split_whitespace().peekable();
    let name = words.next().context("an input has no name")?;
    let prim = |word: &str| Prim::ALL.into_iter().find(|p| p.name() == word);
    let dimensions = words.next_if(|word| prim(word).is_none()).unwrap_or_default();
    let dtype = words.next().and_then(prim).with_context(|| format!("input `{name}` has no valid dtype"))?;
    let rest: Vec<&str> = words.collect();
    let after = |word: &str| rest.iter().position(|w| *w == word).and_then(|at| rest.get(at + 1));
    let fill = read_value(&DType::Prim(dtype), &read_one(after("fill").unwrap_or(&"0"))?)?;
    let size = |d: &str| {
        d.parse()
            .ok()
            .or_else(|| sizes.get(d).copied())
            .with_context(|| format!("no size for dimension `{d}` of input `{name}`"))
    };
    let shape =
        dimensions.split('x').filter(|d| !d.is_empty() && *d != "scalar").map(size).collect::<Result<Vec<u64>>>()?;
    let elements: u64 = shape.iter().product();
    let value = |random: &mut Random| match random.below(3) {
        0 => Scalar::I64(1 + random.below(3) as i64).cast(dtype).unwrap_or(fill.clone()),
        _ => fill.clone(),
    };
    let values: Vec<Scalar> = (0..elements).map(|_| value(random)).collect();
    let values = Values::from_scalars(DType::Prim(dtype), &values)?;
    let rank = shape.len();
    let format = parse_format(formats.get(name).unwrap_or(&"dense"), rank)?;
    let ty = TensorType { shape, dtype: DType::Prim(dtype), fill, format: Format::dense(rank) };
    Ok((name.to_owned(), convert(&Tensor::from_dense(ty, &values)?, &format)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_declare_inputs() {
        let text = "; input A mxn f64 fill inf density 0.3\n; input x 4 i32 fill 0\n; input s i64\n\
                    ; sizes m=2 n=3 | m=1 n=1\n; formats A=(dense (sparse-list (element))) x=(sparse-list (element)) | A=csr x=dense\n";
        let bindings = bindings(text).unwrap();
        let ty = |name: &str| bindings.get(name).unwrap().ty().clone();
        assert_eq!((ty("A").shape.clone(), ty("A").fill.clone()), (vec![2, 3], Scalar::F64(f64::INFINITY)));
        assert_eq!(ty("x").format, parse_format("(sparse-list (element))", 1).unwrap());
        assert_eq!((ty("s").shape.len(), ty("s").dtype.clone()), (0, DType::I64));
    }
}
