//! Construction of tensors from arrays, and the checks of all properties that kernels rely on.
//! Arrays that redpoll built are checked in debug builds only; arrays that were validated earlier
//! are not checked again.

use super::values::check_bools;
use super::{Array, Tensor};
use crate::Error;
use crate::levels::{self, Fibers, level};
use redpoll_logic::{LeafKind, TensorType, plural};
use std::sync::Arc;

impl Tensor {
    /// Returns a tensor from the arrays of its levels, outermost first, and of its leaf. The leaf
    /// has one array for each primitive of the dtype, or none for a pattern.
    ///
    /// # Errors
    /// When the type is invalid, arrays are missing or have wrong types or lengths, or the arrays
    /// of a level contradict each other. Also when coordinates are out of range, violate the flags
    /// of their level or are stored twice; when booleans are not 0 or 1; or when the padding of a
    /// ragged block or a diagonal is not the fill value.
    pub fn try_new(ty: impl Into<Arc<TensorType>>, levels: Vec<Vec<Array>>, leaf: Vec<Array>) -> Result<Tensor, Error> {
        let tensor = Tensor::of_parts(ty.into(), levels, leaf);
        tensor.validate()?;
        Ok(tensor)
    }

    /// Returns a tensor from arrays that redpoll built; they are validated in debug builds only.
    pub fn new_unchecked(ty: Arc<TensorType>, levels: Vec<Vec<Array>>, leaf: Vec<Array>) -> Tensor {
        let tensor = Tensor::of_parts(ty, levels, leaf);
        tensor.assert_valid();
        tensor
    }

    /// Returns a tensor from arrays of a file that were validated earlier. Loaders reject bytes
    /// that have changed since then; [`Tensor::check_files`] reports changes of mapped arrays.
    pub fn of_validated_file(ty: Arc<TensorType>, levels: Vec<Vec<Array>>, leaf: Vec<Array>) -> Tensor {
        Tensor::of_parts(ty, levels, leaf)
    }

    /// Asserts in debug builds that a tensor built by redpoll is valid. A tensor left on a device
    /// is checked after it is fetched.
    pub(super) fn assert_valid(&self) {
        if cfg!(debug_assertions)
            && self.is_on_host()
            && let Err(error) = self.validate()
        {
            panic!("redpoll built an invalid tensor of type {:?}: {error}", self.ty);
        }
    }

    /// Checks the requirements of [`Tensor::try_new`].
    ///
    /// # Errors
    /// The first fault found.
    pub fn validate(&self) -> Result<(), Error> {
        self.ty.validate()?;
        let format = &self.ty.format;
        if self.levels.len() != format.levels.len() {
            let (found, expected) = (self.levels.len(), format.levels.len());
            let levels = plural(expected as u64, "level", "levels");
            return Err(Error::InvalidTensor(format!("the format has {expected} {levels}, found arrays for {found}")));
        }
        let mut fibers = Fibers::single(1);
        for k in 0..self.levels.len() {
            let kind = format.levels[k].kind;
            let checked = check_arrays(level(kind), &self.levels[k]);
            let below = checked.and_then(|()| level(kind).validate(self.level(k), &fibers));
            fibers = below.map_err(|reason| Error::InvalidLevel { level: k, kind: kind.traits().name, reason })?;
        }
        self.check_leaf(fibers.positions())?;
        self.check_duplicate_coordinates()?;
        self.check_padding()
    }

    fn check_leaf(&self, positions: u64) -> Result<(), Error> {
        let prims = match self.ty.format.leaf {
            LeafKind::Element => self.ty.dtype.prims(),
            LeafKind::Pattern => Vec::new(),
        };
        if prims.len() != self.leaf.len() {
            let (expected, found) = (prims.len(), self.leaf.len());
            let (dtype, arrays) = (&self.ty.dtype, plural(expected as u64, "array", "arrays"));
            return Err(Error::InvalidTensor(format!(
                "the leaf of {dtype} must have {expected} {arrays}, found {found}"
            )));
        }
        for (k, (array, &prim)) in self.leaf.iter().zip(&prims).enumerate() {
            if array.prim() != prim {
                let (expected, found) = (prim.into(), array.prim().into());
                return Err(Error::DTypeMismatch { what: format!("array {k} of the leaf"), expected, found });
            }
            if (array.len() as u64) < positions {
                let (found, values) = (array.len(), plural(positions, "value", "values"));
                return Err(Error::InvalidTensor(format!(
                    "array {k} of the leaf must have {positions} {values}, one for each position of the last level, found {found}"
                )));
            }
        }
        check_bools(&self.leaf, positions as usize).map_err(|e| Error::InvalidTensor(format!("leaf: {e}")))
    }

    /// Checks for coordinates that are stored twice. Equal coordinates of a level that is neither
    /// unique nor ordered may lie apart, so uniqueness of the levels below does not exclude
    /// duplicates.
    fn check_duplicate_coordinates(&self) -> Result<(), Error> {
        if self.ty.format.levels.iter().all(|l| l.unique || l.ordered) {
            return Ok(());
        }
        let mut elements = Vec::new();
        self.for_each_stored(|coordinates, _| elements.push(coordinates.to_vec()));
        elements.sort_unstable();
        let Some(pair) = elements.windows(2).find(|pair| pair[0] == pair[1]) else { return Ok(()) };
        Err(Error::InvalidTensor(format!("coordinates {:?} are stored more than once", pair[0])))
    }

    /// Checks that padding outside the shape has fill values only. A last level that lists its
    /// coordinates must list none outside the shape.
    fn check_padding(&self) -> Result<(), Error> {
        let TensorType { format, shape, fill, .. } = &*self.ty;
        if !format.has_padding(shape) {
            return Ok(());
        }
        let lists_entries = format.levels.last().is_some_and(|l| l.kind.traits().explicit);
        let mut error = None;
        self.for_each_position(|coordinates, p| {
            if error.is_none() && coordinates.iter().zip(shape).any(|(i, n)| i >= n) {
                if lists_entries {
                    error =
                        Some(format!("coordinates {coordinates:?} are stored, but lie outside the shape {shape:?}"));
                } else if self.value_at(p) != *fill {
                    let found = self.value_at(p);
                    error =
                        Some(format!("the padding at {coordinates:?} must be the fill value {fill}, found {found}"));
                }
            }
        });
        error.map_or(Ok(()), |e| Err(Error::InvalidTensor(e)))
    }
}

fn check_arrays(kind: &dyn levels::Level, arrays: &[Array]) -> Result<(), String> {
    let specs = kind.arrays();
    if specs.len() != arrays.len() {
        let names: Vec<&str> = specs.iter().map(|s| s.name).collect();
        let (expected, found) = (specs.len(), arrays.len());
        let noun = plural(expected as u64, "array", "arrays");
        return Err(format!("expected {expected} {noun} ({}), found {found}", names.join(", ")));
    }
    for (spec, array) in specs.iter().zip(arrays) {
        if !levels::can_store(spec.class, array.prim()) {
            let wide = levels::array_prim(spec.class, u64::MAX, u64::MAX);
            let narrow = levels::array_prim(spec.class, 0, 0);
            let expected = if narrow == wide { wide.to_string() } else { format!("{narrow} or {wide}") };
            return Err(format!("{} must be of {expected}, found {}", spec.name, array.prim()));
        }
    }
    Ok(())
}
