//! Text of tensors: nested lists of values, or a list of entries if the format lists coordinates
//! and has no runs.

use super::Tensor;
use redpoll_logic::Scalar;
use redpoll_logic::physical::FormatDisplay;
use std::collections::VecDeque;
use std::fmt;

/// Maximum number of elements of a tensor that is written in full.
const MAX_ELEMENTS: u64 = 1000;
/// Number of coordinates written at each end of a long mode, if the tensor has more than
/// [`MAX_ELEMENTS`] elements. A mode is long if it has more than twice this number of coordinates.
const EDGE: u64 = 3;
/// Maximum number of entries of a list that is written in full.
const MAX_ENTRIES: usize = 20;
/// Number of entries written at each end of a longer list.
const EDGE_ENTRIES: usize = 6;
/// Maximum number of columns of a line of values, as in NumPy.
const COLUMNS: usize = 75;
/// Maximum number of decimals, unless the caller asks for a precision.
const DECIMALS: usize = 8;

impl fmt::Display for Tensor {
    /// Writes shape, dtype, fill value and format, and then the values. A tensor of rank 0 is
    /// written as its value alone.
    ///
    /// A tensor whose format lists coordinates and has no runs is written entry by entry, in
    /// storage order. Other tensors are written as nested lists, as in NumPy. The middle of a large
    /// tensor is left out. Floats outside of structs have at most eight decimals; `{:.3}` writes
    /// three. If the values cannot be read, the error is written instead.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Err(error) = self.fetch() {
            return write!(f, "the values cannot be read: {error}");
        }
        let ty = self.ty();
        if ty.shape.is_empty() {
            let value = self.get(&[]).map_err(|_| fmt::Error)?;
            return f.write_str(&decimal_text(&value, f.precision()));
        }
        let shape: Vec<String> = ty.shape.iter().map(u64::to_string).collect();
        let (fill, format) = (decimal_text(&ty.fill, f.precision()), FormatDisplay(&ty.format));
        write!(f, "{} {}, fill {fill}, {format}", shape.join(" x "), ty.dtype)?;
        let mut traits = ty.format.levels.iter().map(|level| level.kind.traits());
        let lists_coordinates = traits.clone().any(|level| level.explicit && !level.full);
        // A run may have more coordinates than fit any list.
        match lists_coordinates && !traits.any(|level| level.runs) {
            true => self.fmt_entries(f),
            false => self.fmt_elements(f),
        }
    }
}

impl Tensor {
    /// Writes the number of entries, then the entries of [`Tensor::to_triples`], one in each line.
    /// If there are more than [`MAX_ENTRIES`], writes only the first and the last.
    fn fmt_entries(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skip = (!self.is_listed()).then(|| self.fill_test());
        let (mut first, mut last) = (Vec::new(), VecDeque::new());
        let mut count = 0usize;
        self.for_each_stored(|coordinates, p| {
            if skip.as_ref().is_some_and(|fill| fill.is_fill(p)) {
                return;
            }
            count += 1;
            if first.len() < MAX_ENTRIES {
                first.push((coordinates.to_vec(), p));
            } else {
                last.push_back((coordinates.to_vec(), p));
                if last.len() > EDGE_ENTRIES {
                    last.pop_front();
                }
            }
        });
        write!(f, ", {count} stored")?;
        let is_cut = count > MAX_ENTRIES;
        if is_cut {
            // If the list is only slightly too long, `last` has fewer entries than are written at
            // the end.
            let tail = first.split_off(EDGE_ENTRIES);
            let missing = EDGE_ENTRIES - last.len().min(EDGE_ENTRIES);
            tail.into_iter().rev().take(missing).for_each(|entry| last.push_front(entry));
        }
        let column = NumberColumn::of(first.iter().chain(&last).map(|(_, p)| self.value_at(*p)), f.precision());
        let entries = first.iter().map(Some).chain(is_cut.then_some(None)).chain(last.iter().map(Some));
        let coordinates = |entry: &(Vec<u64>, u64)| {
            let texts: Vec<String> = entry.0.iter().map(u64::to_string).collect();
            format!("({})", texts.join(", "))
        };
        let width = first.iter().chain(&last).map(|entry| coordinates(entry).len()).max().unwrap_or(0);
        for entry in entries {
            match entry {
                None => f.write_str("\n  ..")?,
                Some(entry) => {
                    let value = column.pad(&self.value_at(entry.1));
                    write!(f, "\n  {:<width$}  {}", coordinates(entry), value.trim_end())?;
                }
            }
        }
        Ok(())
    }

    /// Writes the values as nested lists.
    fn fmt_elements(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_cut = self.element_count() > MAX_ELEMENTS;
        let shown = |size: &u64| match is_cut && *size > 2 * EDGE {
            true => (0..EDGE).map(Some).chain([None]).chain((size - EDGE..*size).map(Some)).collect(),
            false => (0..*size).map(Some).collect::<Vec<_>>(),
        };
        // A tensor with an empty mode may have any size in its other modes, so it is written as one
        // empty list.
        let modes: Vec<Vec<Option<u64>>> = match self.element_count() {
            0 => vec![Vec::new()],
            _ => self.ty().shape.iter().map(shown).collect(),
        };
        let mut coordinates = Vec::with_capacity(modes.len());
        let mut values = Vec::new();
        self.shown_values(&modes, &mut coordinates, &mut values);
        let column = NumberColumn::of(values.iter().cloned(), f.precision());
        f.write_str("\n")?;
        write_list(f, &modes, 0, &mut values.iter().map(|value| column.pad(value)))
    }

    /// Collects the values at the coordinates in `modes`, row-major.
    fn shown_values(&self, modes: &[Vec<Option<u64>>], coordinates: &mut Vec<u64>, values: &mut Vec<Scalar>) {
        let Some(mode) = modes.get(coordinates.len()) else {
            return values.push(self.get(coordinates).expect("the coordinates are within the shape"));
        };
        for i in mode.iter().copied().flatten() {
            coordinates.push(i);
            self.shown_values(modes, coordinates, values);
            coordinates.pop();
        }
    }
}

/// Writes a nested list of texts; `None` in `modes` stands for coordinates that are left out.
fn write_list(
    f: &mut fmt::Formatter<'_>,
    modes: &[Vec<Option<u64>>],
    depth: usize,
    texts: &mut dyn Iterator<Item = String>,
) -> fmt::Result {
    let Some(mode) = modes.get(depth) else { return f.write_str(&texts.next().unwrap_or_default()) };
    f.write_str("[")?;
    if depth + 1 == modes.len() {
        return write_row(f, mode, depth, texts);
    }
    for (k, i) in mode.iter().enumerate() {
        if k > 0 {
            // Matrices, and lists of matrices, are separated by an empty line.
            let lines = if depth + 2 == modes.len() { 1 } else { 2 };
            write!(f, ",{}{:indent$}", "\n".repeat(lines), "", indent = depth + 1)?;
        }
        match i {
            None => f.write_str("..")?,
            Some(_) => write_list(f, modes, depth + 1, texts)?,
        }
    }
    f.write_str("]")
}

/// Writes an innermost list without its opening bracket, in lines of at most [`COLUMNS`] unless a
/// text is longer.
fn write_row(
    f: &mut fmt::Formatter<'_>,
    mode: &[Option<u64>],
    depth: usize,
    texts: &mut dyn Iterator<Item = String>,
) -> fmt::Result {
    let indent = depth + 1;
    let mut column = indent;
    for (k, i) in mode.iter().enumerate() {
        let text = if i.is_some() { texts.next().unwrap_or_default() } else { "..".to_owned() };
        let width = text.chars().count();
        // A comma or a bracket follows each text.
        if k > 0 && column + 2 + width + 1 > COLUMNS {
            write!(f, ",\n{:indent$}", "")?;
            column = indent;
        } else if k > 0 {
            f.write_str(", ")?;
            column += 2;
        }
        f.write_str(&text)?;
        column += width;
    }
    f.write_str("]")
}

/// A column of numbers, aligned at their decimal points.
struct NumberColumn {
    /// Number of characters before the point.
    whole: usize,
    /// Number of characters from the point on.
    fraction: usize,
    precision: Option<usize>,
}

impl NumberColumn {
    fn of(values: impl Iterator<Item = Scalar>, precision: Option<usize>) -> NumberColumn {
        let widths = values.map(|value| {
            let text = decimal_text(&value, precision);
            let whole = text.find('.').unwrap_or(text.len());
            (whole, text.len() - whole)
        });
        let (whole, fraction) = widths.fold((0, 0), |(a, b), (whole, fraction)| (a.max(whole), b.max(fraction)));
        NumberColumn { whole, fraction, precision }
    }

    fn pad(&self, value: &Scalar) -> String {
        let text = decimal_text(value, self.precision);
        let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
        format!("{whole:>a$}{fraction:<b$}", a = self.whole, b = self.fraction)
    }
}

/// Returns the text of a value. A finite float has the given number of decimals, or at most
/// [`DECIMALS`].
fn decimal_text(value: &Scalar, precision: Option<usize>) -> String {
    let float = match value {
        Scalar::F32(v) => f64::from(*v),
        Scalar::F64(v) => *v,
        _ => return value.to_string(),
    };
    if !float.is_finite() {
        return value.to_string();
    }
    if let Some(decimals) = precision {
        return format!("{float:.decimals$}");
    }
    let text = value.to_string();
    let (digits, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
    let decimals = digits.find('.').map_or(0, |point| digits.len() - point - 1);
    if decimals <= DECIMALS {
        return text;
    }
    let rounded = format!("{:.DECIMALS$}", digits.parse::<f64>().unwrap_or(float));
    let trimmed = rounded.trim_end_matches('0');
    let zero = if trimmed.ends_with('.') { "0" } else { "" };
    format!("{trimmed}{zero}{exponent}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Duplicates, Triples, Values};
    use expect_test::{Expect, expect};
    use redpoll_logic::{DType, Format, Prim, TensorType};

    fn tensor(shape: &[u64], format: Format, values: &[f64]) -> Tensor {
        let scalars: Vec<Scalar> = values.iter().map(|v| Scalar::F64(*v)).collect();
        let values = Values::from_scalars(DType::F64, &scalars).unwrap();
        let ty = TensorType { shape: shape.to_vec(), dtype: DType::F64, fill: 0.0.into(), format };
        Tensor::from_dense(ty, &values).unwrap()
    }

    fn check(tensor: &Tensor, expect: &Expect) {
        expect.assert_eq(&tensor.to_string());
    }

    /// The text of small tensors has every value, aligned at the decimal points.
    #[test]
    fn small_tensors_are_written_whole() {
        let values = [1.0, 0.25, -30.0, 1.0 / 3.0, f64::NAN, 1e-9 / 3.0];
        check(
            &tensor(&[2, 3], Format::dense(2), &values),
            &expect![[r#"
                2 x 3 f64, fill 0.0, (dense dense)
                [[  1.0           ,   0.25          , -30.0           ],
                 [  0.33333333    , nan             ,   3.33333333e-10]]"#]],
        );
        check(
            &tensor(&[2, 3], Format::csr(), &values),
            &expect![[r#"
            2 x 3 f64, fill 0.0, (dense sparse-list), 6 stored
              (0, 0)    1.0
              (0, 1)    0.25
              (0, 2)  -30.0
              (1, 0)    0.33333333
              (1, 1)  nan
              (1, 2)    3.33333333e-10"#]],
        );
        check(&tensor(&[], Format::dense(0), &[2.5]), &expect!["2.5"]);
        check(
            &tensor(&[2, 1, 2], Format::dense(3), &[1.0, 2.0, 3.0, 4.0]),
            &expect![[r#"
            2 x 1 x 2 f64, fill 0.0, (dense dense dense)
            [[[1.0, 2.0]],

             [[3.0, 4.0]]]"#]],
        );
        check(
            &tensor(&[0, 4], Format::dense(2), &[]),
            &expect![[r#"
            0 x 4 f64, fill 0.0, (dense dense)
            []"#]],
        );
        check(
            &tensor(&[2, 2], Format::csr(), &[0.0; 4]),
            &expect!["2 x 2 f64, fill 0.0, (dense sparse-list), 0 stored"],
        );
    }

    /// The text of a large tensor has the corners, or the first and last entries.
    #[test]
    fn large_tensors_are_cut() {
        let values: Vec<f64> = (0..1200).map(f64::from).collect();
        check(
            &tensor(&[30, 40], Format::dense(2), &values),
            &expect![[r#"
            30 x 40 f64, fill 0.0, (dense dense)
            [[   0.0,    1.0,    2.0, ..,   37.0,   38.0,   39.0],
             [  40.0,   41.0,   42.0, ..,   77.0,   78.0,   79.0],
             [  80.0,   81.0,   82.0, ..,  117.0,  118.0,  119.0],
             ..,
             [1080.0, 1081.0, 1082.0, .., 1117.0, 1118.0, 1119.0],
             [1120.0, 1121.0, 1122.0, .., 1157.0, 1158.0, 1159.0],
             [1160.0, 1161.0, 1162.0, .., 1197.0, 1198.0, 1199.0]]"#]],
        );
        let coordinates = (0..24u64).map(|k| k * k * 1_000_000_000).collect();
        let values = Values::repeat(&Scalar::F32(0.1), 24).unwrap();
        let shape = vec![1 << 40];
        let ty =
            TensorType { shape: shape.clone(), dtype: Prim::F32.into(), fill: 1f32.into(), format: Format::csf(1) };
        let triples = Triples { shape, coordinates: vec![coordinates], values };
        check(
            &Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap().0,
            &expect![[r#"
            1099511627776 f32, fill 1.0, (sparse-list), 24 stored
              (0)             0.1
              (1000000000)    0.1
              (4000000000)    0.1
              (9000000000)    0.1
              (16000000000)   0.1
              (25000000000)   0.1
              ..
              (324000000000)  0.1
              (361000000000)  0.1
              (400000000000)  0.1
              (441000000000)  0.1
              (484000000000)  0.1
              (529000000000)  0.1"#]],
        );
    }

    /// A precision sets the number of decimals.
    #[test]
    fn a_precision_rounds() {
        let text = format!("{:.2}", tensor(&[2], Format::dense(1), &[0.125, 2.0]));
        expect![[r#"
            2 f64, fill 0.00, (dense)
            [0.12, 2.00]"#]]
        .assert_eq(&text);
    }
}
