//! Index maps: inference, the proof that reads are in bounds, and the shorthands.

use super::{Expr, IndexMap, Info};
use crate::affine::{Affine, Subscript};
use crate::error::Error;
use crate::field::Field;
use crate::scalar::Scalar;

/// Infers the properties of a table that is read through an index map.
pub(super) fn infer_index(map: &IndexMap, arg: &Expr) -> Result<Info, Error> {
    let info = arg.info();
    check_names(map, info)?;
    let (fields, dimensions) = result_fields(map, info);
    let result = Info { fields, dimensions, weak: false, ..info.clone() };
    if let Some(outside) = map.outside.as_ref().filter(|o| o.dtype() != info.dtype) {
        return Err(Error::Value {
            role: "value of reads out of bounds",
            value: outside.to_string(),
            dtype: info.dtype.clone(),
            advice: "give a value of that dtype",
        });
    }
    check_bounds(map, info, &result)?;
    Ok(result)
}

fn check_names(map: &IndexMap, arg: &Info) -> Result<(), Error> {
    let fail = |problem: String| Err(Error::Index(problem));
    let mapped = |f: &Field| map.coordinates.iter().any(|(m, _)| m == f);
    for (k, (field, subscript)) in map.coordinates.iter().enumerate() {
        if !arg.fields.contains(field) {
            return Err(Error::MissingField { node: "index", field: field.clone(), fields: arg.fields.clone() });
        }
        if map.coordinates[..k].iter().any(|(f, _)| f == field) {
            return fail(format!("field `{field}` is mapped twice"));
        }
        for (f, _) in &subscript.form().terms {
            let is_unmapped = arg.fields.contains(f) && !mapped(f);
            if !is_unmapped && !map.dimensions.iter().any(|(d, _)| d == f) {
                return fail(format!(
                    "field `{field}` is read at {subscript}, but `{f}` is neither an introduced field nor an unmapped one"
                ));
            }
        }
        if let Subscript::Outer(_, block) | Subscript::Inner(_, block) = subscript
            && (*block == 0 || i64::try_from(*block).is_err())
        {
            return fail(format!("field `{field}` is read in blocks of size {block}, expected 1 to 2^63 - 1"));
        }
    }
    for (k, (field, size)) in map.dimensions.iter().enumerate() {
        if map.dimensions[..k].iter().any(|(f, _)| f == field) {
            return fail(format!("field `{field}` is introduced twice"));
        }
        if arg.fields.contains(field) && !mapped(field) {
            return fail(format!("field `{field}` is introduced, but it is also an unmapped field of the argument"));
        }
        if i64::try_from(*size).is_err() {
            return fail(format!("field `{field}` has size {size}, above the limit 2^63 - 1"));
        }
    }
    Ok(())
}

fn result_fields(map: &IndexMap, arg: &Info) -> (Vec<Field>, Vec<Option<u64>>) {
    let mut fields: Vec<(Field, Option<u64>)> = Vec::new();
    for (field, &size) in arg.fields.iter().zip(&arg.dimensions) {
        let Some((_, subscript)) = map.coordinates.iter().find(|(f, _)| f == field) else {
            fields.push((field.clone(), size));
            continue;
        };
        for (new, size) in &map.dimensions {
            if subscript.form().coefficient(new) != 0 && fields.iter().all(|(f, _)| f != new) {
                fields.push((new.clone(), Some(*size)));
            }
        }
    }
    for (new, size) in &map.dimensions {
        if fields.iter().all(|(f, _)| f != new) {
            fields.push((new.clone(), Some(*size)));
        }
    }
    fields.into_iter().unzip()
}

/// Checks by interval arithmetic that no subscript overflows and, if the map has no value for reads
/// out of bounds, that all reads are in bounds. Does not check reads along fields of unknown size,
/// nor subscripts over such fields if the map has a value for reads out of bounds. If a field of
/// the result has size 0, nothing is read, and nothing is checked.
fn check_bounds(map: &IndexMap, arg: &Info, result: &Info) -> Result<(), Error> {
    if result.dimensions.contains(&Some(0)) {
        return Ok(());
    }
    for (field, subscript) in &map.coordinates {
        let range = subscript.range(&|f| result.dimension(f));
        let unsized_field = subscript.form().terms.iter().find(|(f, _)| result.dimension(f).is_none());
        match (arg.dimension(field), range, &map.outside) {
            (None, ..) => {}
            (_, None, None) if unsized_field.is_some() => {
                let field = unsized_field.map(|(f, _)| f.clone()).expect("the guard found an unsized field");
                return Err(Error::UnknownSize { field, location: format!("the subscript {subscript}") });
            }
            (_, None, _) if unsized_field.is_some() => {}
            (_, None, _) => {
                return Err(Error::Index(format!(
                    "the values of {subscript} overflow 64 bits, or one of its parameters has no possible value"
                )));
            }
            (Some(size), Some((low, high)), None) if low < 0 || high >= size as i64 => {
                let subscript = subscript.to_string();
                return Err(Error::OutOfBounds { field: field.clone(), size, subscript, low, high });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Shorthands for index maps, and [`Expr::label`]. `field` is a field of the expression.
impl Expr {
    /// Restricts `field` to the coordinates `low..high`, renumbered from 0.
    ///
    /// # Errors
    /// Returns an error if the argument lacks the field, the window ends before it starts, or a
    /// read would be out of bounds. A window without coordinates reads nothing.
    pub fn window(self, field: impl Into<Field>, low: u64, high: u64) -> Result<Expr, Error> {
        let field = field.into();
        if high < low {
            return Err(Error::Index(format!("the window {low}..{high} of field `{field}` ends before it starts")));
        }
        let form = Affine::field(field.clone()).plus(&Affine::constant(low as i64));
        self.index(single_field_map(field.clone(), form, [(field, high - low)], None))
    }

    /// Restricts `field` like [`Expr::window`], with bounds that may be outside the field; reads
    /// outside the field give `outside`.
    ///
    /// # Errors
    /// Returns an error if the argument lacks the field, the window ends before it starts or has
    /// more than `i64::MAX` coordinates, or `outside` does not fit the dtype.
    pub fn permissive(
        self,
        field: impl Into<Field>,
        (low, high): (i64, i64),
        outside: impl Into<Scalar>,
    ) -> Result<Expr, Error> {
        let field = field.into();
        let size = high.checked_sub(low).and_then(|n| u64::try_from(n).ok()).ok_or_else(|| {
            Error::Index(format!(
                "the window {low}..{high} of field `{field}` ends before it starts, or has more than 2^63 - 1 coordinates"
            ))
        })?;
        let form = Affine::field(field.clone()).plus(&Affine::constant(low));
        self.index(single_field_map(field.clone(), form, [(field, size)], Some(outside.into())))
    }

    /// Reads `field` at the coordinate plus `by`. The size of the field stays the same; reads out
    /// of bounds give `outside`.
    ///
    /// # Errors
    /// Returns an error if the argument lacks the field or its size, `outside` does not fit the
    /// dtype, or a coordinate overflows 64 bits.
    pub fn offset(self, field: impl Into<Field>, by: i64, outside: impl Into<Scalar>) -> Result<Expr, Error> {
        let field = field.into();
        let size = self.size_of(&field, "offset")?;
        let form = Affine::field(field.clone()).plus(&Affine::constant(by));
        self.index(single_field_map(field.clone(), form, [(field, size)], Some(outside.into())))
    }

    /// Reads every `step`-th coordinate of `field`, starting at 0.
    ///
    /// # Errors
    /// Returns an error if the argument lacks the field or its size, or `step` is 0 or exceeds
    /// `i64::MAX`.
    pub fn stride(self, field: impl Into<Field>, step: u64) -> Result<Expr, Error> {
        let field = field.into();
        let size = self.size_of(&field, "stride")?;
        if step == 0 || i64::try_from(step).is_err() {
            return Err(Error::Index(format!("field `{field}` has stride {step}, expected 1 to 2^63 - 1")));
        }
        let form = Affine::field(field.clone()).times(step as i64);
        self.index(single_field_map(field.clone(), form, [(field, size.div_ceil(step))], None))
    }

    /// Reads `field` in descending order.
    ///
    /// # Errors
    /// Returns an error if the argument lacks the field or its size.
    pub fn reverse(self, field: impl Into<Field>) -> Result<Expr, Error> {
        let field = field.into();
        let size = self.size_of(&field, "reverse")?;
        let form = Affine::field(field.clone()).times(-1).plus(&Affine::constant(size as i64 - 1));
        self.index(single_field_map(field.clone(), form, [(field, size)], None))
    }

    /// Reads `field` at `i + j`, for a convolution with a kernel of size `kernel` along `j`. The
    /// size of `i` is the number of kernel positions within the field.
    ///
    /// # Errors
    /// Returns an error if the argument lacks the field or its size, `i` or `j` is already taken,
    /// or the size of the kernel exceeds the size of the field by more than 1.
    pub fn toeplitz(
        self,
        field: impl Into<Field>,
        (i, j): (impl Into<Field>, impl Into<Field>),
        kernel: u64,
    ) -> Result<Expr, Error> {
        let (field, i, j) = (field.into(), i.into(), j.into());
        let size = self.size_of(&field, "toeplitz")?;
        let positions = (size + 1).checked_sub(kernel).ok_or_else(|| {
            Error::Index(format!("a kernel of size {kernel} does not fit field `{field}` of size {size}"))
        })?;
        let form = Affine::field(i.clone()).plus(&Affine::field(j.clone()));
        self.index(single_field_map(field, form, [(i, positions), (j, kernel)], None))
    }

    /// Splits `field` into blocks, by reading it at `block * outer + inner`. If the last block is
    /// ragged, reads beyond the end give `outside`.
    ///
    /// # Errors
    /// Returns an error if the argument lacks the field or its size, `outer` or `inner` is already
    /// taken, or `block` is 0 or exceeds `i64::MAX`. Also returns an error if the last block is
    /// ragged and there is no `outside`, or `outside` does not fit the dtype.
    pub fn split(
        self,
        field: impl Into<Field>,
        (outer, inner): (impl Into<Field>, impl Into<Field>),
        block: u64,
        outside: Option<Scalar>,
    ) -> Result<Expr, Error> {
        let (field, outer, inner) = (field.into(), outer.into(), inner.into());
        let size = self.size_of(&field, "split")?;
        if block == 0 || i64::try_from(block).is_err() {
            return Err(Error::Index(format!(
                "field `{field}` is split into blocks of size {block}, expected 1 to 2^63 - 1"
            )));
        }
        let form = Affine::field(outer.clone()).times(block as i64).plus(&Affine::field(inner.clone()));
        self.index(single_field_map(field, form, [(outer, size.div_ceil(block)), (inner, block)], outside))
    }

    /// Merges two fields into one, by reading `i` and `j` at `(merged / nj, merged % nj)`, where
    /// `nj` is the size of `j`.
    ///
    /// # Errors
    /// Returns an error if the argument lacks a field or its size, `merged` is already taken, or
    /// the product of the sizes exceeds `i64::MAX`.
    pub fn merge(self, (i, j): (impl Into<Field>, impl Into<Field>), merged: impl Into<Field>) -> Result<Expr, Error> {
        let (i, j, merged) = (i.into(), j.into(), merged.into());
        let (ni, nj) = (self.size_of(&i, "merge")?, self.size_of(&j, "merge")?);
        let size = ni.checked_mul(nj).ok_or_else(|| {
            Error::Index(format!("fields `{i}` and `{j}` of sizes {ni} and {nj} are too large to merge"))
        })?;
        let form = Affine::field(merged.clone());
        let block = nj.max(1);
        self.index(IndexMap {
            coordinates: vec![(i, Subscript::Outer(form.clone(), block)), (j, Subscript::Inner(form, block))],
            dimensions: vec![(merged, size)],
            outside: None,
        })
    }

    /// Reads the diagonal of two fields: `both` is the coordinate of `i` and of `j`, and has the
    /// smaller of their sizes.
    ///
    /// # Errors
    /// Returns an error if the argument lacks a field or its size, or `both` is already taken.
    pub fn diagonal(self, (i, j): (impl Into<Field>, impl Into<Field>), both: impl Into<Field>) -> Result<Expr, Error> {
        let (i, j, both) = (i.into(), j.into(), both.into());
        let size = self.size_of(&i, "diagonal")?.min(self.size_of(&j, "diagonal")?);
        let subscript = Subscript::field(both.clone());
        self.index(IndexMap {
            coordinates: vec![(i, subscript.clone()), (j, subscript)],
            dimensions: vec![(both, size)],
            outside: None,
        })
    }

    /// Renames the fields of a table, by position. A repeated name selects the diagonal of the
    /// fields that it names.
    ///
    /// # Errors
    /// Returns an error if the number of names differs from the number of fields, or a field with a
    /// repeated name has no size.
    pub fn label(self, names: &[Field]) -> Result<Expr, Error> {
        // Each repetition of a name is a diagonal of its field and the field of the first
        // occurrence.
        let (mut labels, mut repeats): (Vec<Field>, Vec<_>) = (Vec::with_capacity(names.len()), Vec::new());
        for (k, name) in names.iter().enumerate() {
            if names[..k].contains(name) {
                let label = Field::from(format!("{name}'{k}"));
                labels.push(label.clone());
                repeats.push((name.clone(), label));
            } else {
                labels.push(name.clone());
            }
        }
        let labelled = if self.info().fields == labels { self } else { self.relabel(labels)? };
        repeats.into_iter().try_fold(labelled, |expr, (name, label)| expr.diagonal((name.clone(), label), name))
    }

    fn size_of(&self, field: &Field, node: &'static str) -> Result<u64, Error> {
        if !self.info().fields.contains(field) {
            return Err(Error::MissingField { node, field: field.clone(), fields: self.info().fields.clone() });
        }
        let location = || format!("({node} {field} ..)");
        self.info().dimension(field).ok_or_else(|| Error::UnknownSize { field: field.clone(), location: location() })
    }
}

fn single_field_map(
    field: Field,
    form: Affine,
    dimensions: impl IntoIterator<Item = (Field, u64)>,
    outside: Option<Scalar>,
) -> IndexMap {
    let coordinates = vec![(field, Subscript::Affine(form))];
    IndexMap { coordinates, dimensions: dimensions.into_iter().collect(), outside }
}
