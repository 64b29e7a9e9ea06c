//! Validation of [`Format`]s and [`TensorType`]s, and the tensor coordinates and padding that
//! belong to storage coordinates.

use crate::dtype::DType;
use crate::format::{Format, LeafKind, StorageMode, TensorType};
use crate::level::LevelKind;
use crate::scalar::Scalar;

/// The reason why a format, or its combination with shape, dtype and fill value, is invalid. The
/// caller is at fault.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The number of storage modes differs from the number of levels.
    #[error("a format has one storage mode per level, found {levels} levels and {modes} storage modes")]
    ModeCount {
        /// Number of levels.
        levels: usize,
        /// Number of storage modes.
        modes: usize,
    },
    /// A tensor mode is not determined exactly once by the storage modes, or has an invalid block
    /// size.
    #[error(
        "mode {mode} must be stored whole, as an outer part followed by an inner part of the same block, or skewed by a \
         mode that is stored whole; found: {found}"
    )]
    Mode {
        /// Tensor mode.
        mode: usize,
        /// Description of the storage modes found instead.
        found: String,
    },
    /// A level has a flag that its kind does not allow.
    #[error("level {level} is a {} level, which cannot be {flag}", .kind.traits().name)]
    Flag {
        /// Index of the level.
        level: usize,
        /// Kind of the level.
        kind: LevelKind,
        /// Flag: `unordered` or `non-unique`.
        flag: &'static str,
    },
    /// A singleton level does not lie directly below a non-unique level. The fibers of a singleton
    /// are the ranges of positions that such a level passes down.
    #[error("level {level} is a singleton, which must lie directly below a non-unique level")]
    SingletonUnderUnique {
        /// Index of the level.
        level: usize,
    },
    /// A non-unique level passes ranges of positions to a level or leaf that cannot take them.
    #[error("level {level} is non-unique, so level {below} must be a singleton, found {found}", below = level + 1)]
    NonUnique {
        /// Index of the level.
        level: usize,
        /// Description of the storage below the level.
        found: String,
    },
    /// The shape and the format differ in the number of modes.
    #[error("the shape has {shape} modes, but the format has {format}")]
    Rank {
        /// Number of modes of the shape.
        shape: usize,
        /// Number of modes of the format.
        format: usize,
    },
    /// A dimension exceeds the range of index arithmetic.
    #[error("mode {mode} has dimension {dimension}, above the limit {max}", max = i64::MAX)]
    Dimension {
        /// Tensor mode.
        mode: usize,
        /// Dimension of the mode, or of a storage mode derived from the mode.
        dimension: u64,
    },
    /// The dtype of the fill value differs from that of the tensor.
    #[error("the fill value {fill} has dtype {found}, but the tensor has dtype {expected}")]
    Fill {
        /// Fill value.
        fill: Scalar,
        /// Dtype of the tensor.
        expected: DType,
        /// Dtype of the fill value.
        found: DType,
    },
    /// A pattern leaf cannot store the dtype or the fill value.
    #[error("a pattern leaf requires dtype bool and fill value false, found {dtype} and {fill}; use an element leaf")]
    Pattern {
        /// Dtype of the tensor.
        dtype: DType,
        /// Fill value.
        fill: Scalar,
    },
    /// A pattern leaf that has no level above it, or that lies below a level that also stores
    /// coordinates with the fill value. All these coordinates would read as `true`.
    #[error("a pattern leaf requires a level above it that lists coordinates, found {found}; use an element leaf")]
    PatternLevel {
        /// Description of the level above the leaf.
        found: &'static str,
    },
}

impl Format {
    /// Checks five rules. There is one storage mode per level. A level has only the flags that its
    /// kind allows. The levels can be nested in this order. The storage modes determine every
    /// tensor mode exactly once. A pattern leaf lies below a level that lists coordinates.
    ///
    /// # Errors
    /// Returns the first broken rule.
    pub fn validate(&self) -> Result<(), FormatError> {
        if self.levels.len() != self.modes.len() {
            return Err(FormatError::ModeCount { levels: self.levels.len(), modes: self.modes.len() });
        }
        for mode in 0..self.rank() {
            self.check_mode(mode)?;
        }
        for level in 0..self.levels.len() {
            self.check_level(level)?;
        }
        let found = match self.levels.last().map(|l| l.kind) {
            None => "no level",
            Some(kind) if !kind.traits().explicit => "a level that does not list coordinates",
            Some(_) => return Ok(()),
        };
        if self.leaf == LeafKind::Pattern { Err(FormatError::PatternLevel { found }) } else { Ok(()) }
    }

    fn check_mode(&self, mode: usize) -> Result<(), FormatError> {
        let stored: Vec<StorageMode> = self.modes.iter().copied().filter(|m| m.mode() == mode).collect();
        let found = match stored[..] {
            [StorageMode::Whole { .. }] => return Ok(()),
            [StorageMode::Skew { by, .. }] if self.modes.contains(&StorageMode::Whole { mode: by }) => return Ok(()),
            [StorageMode::Outer { block: a, .. }, StorageMode::Inner { block: b, .. }] if a == b => {
                if (1..=i64::MAX as u64).contains(&a) {
                    return Ok(());
                }
                format!("a block size of {a}, expected 1 to 2^63 - 1")
            }
            [StorageMode::Outer { block: a, .. }, StorageMode::Inner { block: b, .. }] => {
                format!("block sizes of {a} and {b}")
            }
            [StorageMode::Inner { .. }, StorageMode::Outer { .. }] => {
                "the inner part further out than the outer part".into()
            }
            [] => "no storage mode".into(),
            _ => {
                let names: Vec<String> = stored.iter().map(ToString::to_string).collect();
                names.join(", ")
            }
        };
        Err(FormatError::Mode { mode, found })
    }

    fn check_level(&self, level: usize) -> Result<(), FormatError> {
        let format = self.levels[level];
        for (set, flag) in [(format.ordered, "unordered"), (format.unique, "non-unique")] {
            if !set && !format.kind.traits().flexible {
                return Err(FormatError::Flag { level, kind: format.kind, flag });
            }
        }
        if format.kind == LevelKind::Singleton && (level == 0 || self.levels[level - 1].unique) {
            return Err(FormatError::SingletonUnderUnique { level });
        }
        if !format.unique {
            let found = match self.levels.get(level + 1) {
                Some(below) if below.kind == LevelKind::Singleton => return Ok(()),
                Some(below) => format!("a {} level", below.kind.traits().name),
                None => "the leaf".into(),
            };
            return Err(FormatError::NonUnique { level, found });
        }
        Ok(())
    }

    /// Writes the tensor coordinates for the given storage coordinates to `tensor`, which is as
    /// long as `shape`. In padding, a tensor coordinate is out of bounds; a negative coordinate
    /// wraps around.
    pub fn tensor_coordinates(&self, shape: &[u64], storage: &[u64], tensor: &mut [u64]) {
        tensor.fill(0);
        for (mode, &i) in self.modes.iter().zip(storage) {
            let part = match *mode {
                StorageMode::Whole { .. } | StorageMode::Inner { .. } => i,
                StorageMode::Outer { block, .. } => i * block,
                StorageMode::Skew { by, .. } => {
                    let level = self.modes.iter().position(|m| *m == StorageMode::Whole { mode: by });
                    let along = storage[level.expect("a mode that skews another is stored whole")];
                    i.wrapping_add(along).wrapping_sub(shape[by] - 1)
                }
            };
            tensor[mode.mode()] = tensor[mode.mode()].wrapping_add(part);
        }
    }

    /// Returns whether a tensor of the given shape may have padding: storage coordinates outside
    /// the tensor. Blocks that do not divide the dimension cause padding. So does a mode that is
    /// skewed by a mode with more than one coordinate.
    pub fn has_padding(&self, shape: &[u64]) -> bool {
        self.modes.iter().any(|m| match *m {
            StorageMode::Outer { mode, block } => !shape[mode].is_multiple_of(block),
            StorageMode::Skew { by, .. } => shape[by] > 1,
            StorageMode::Whole { .. } | StorageMode::Inner { .. } => false,
        })
    }
}

impl TensorType {
    /// Checks the format and the limits of dimensions, and that the shape, the dtype and the fill
    /// value agree with the format and with each other.
    ///
    /// # Errors
    /// Returns the first broken rule.
    pub fn validate(&self) -> Result<(), FormatError> {
        self.format.validate()?;
        if self.shape.len() != self.format.rank() {
            return Err(FormatError::Rank { shape: self.shape.len(), format: self.format.rank() });
        }
        if let Some(mode) = self.shape.iter().position(|&n| n > i64::MAX as u64) {
            return Err(FormatError::Dimension { mode, dimension: self.shape[mode] });
        }
        let sizes = self.format.storage_shape(&self.shape);
        if let Some(k) = sizes.iter().position(|&n| n > i64::MAX as u64) {
            return Err(FormatError::Dimension { mode: self.format.modes[k].mode(), dimension: sizes[k] });
        }
        let (fill, expected) = (self.fill.clone(), self.dtype.clone());
        if fill.dtype() != expected {
            let found = fill.dtype();
            return Err(FormatError::Fill { fill, expected, found });
        }
        if self.format.leaf == LeafKind::Pattern && fill != Scalar::Bool(false) {
            return Err(FormatError::Pattern { dtype: expected, fill });
        }
        Ok(())
    }
}

impl std::fmt::Display for StorageMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            StorageMode::Whole { .. } => f.write_str("whole"),
            StorageMode::Outer { block, .. } => write!(f, "outer of blocks of {block}"),
            StorageMode::Inner { block, .. } => write!(f, "inner of blocks of {block}"),
            StorageMode::Skew { by, .. } => write!(f, "skewed by mode {by}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::LevelFormat;
    use LevelKind::{Dense, Hash, Singleton, SparseList};
    use StorageMode::{Inner, Outer, Skew, Whole};

    fn check(levels: &[LevelFormat], modes: &[StorageMode], expect: &str) {
        let format = Format { levels: levels.to_vec(), modes: modes.to_vec(), leaf: LeafKind::Element };
        let found = format.validate().map_or_else(|e| e.to_string(), |()| "valid".into());
        assert_eq!(found, expect);
    }

    /// Asserts that a format is rejected if lowering cannot read its nesting of levels, or if it
    /// does not store each mode once.
    #[test]
    fn formats_are_checked() {
        let list = LevelFormat::new(SparseList);
        let dense = LevelFormat::new(Dense);
        let single = LevelFormat::new(Singleton);
        let (i, j) = (Whole { mode: 0 }, Whole { mode: 1 });
        let outer = |block| Outer { mode: 0, block };
        let inner = |block| Inner { mode: 0, block };
        let once = "mode 0 must be stored whole, as an outer part followed by an inner part of the same block, or \
                    skewed by a mode that is stored whole; found: ";
        let skew = |mode, by| Skew { mode, by };
        check(&[], &[], "valid");
        check(&[dense, list], &[j, i], "valid");
        check(&[list.non_unique(), single], &[i, j], "valid");
        check(&[dense, dense], &[outer(3), inner(3)], "valid");
        check(&[dense], &[], "a format has one storage mode per level, found 1 levels and 0 storage modes");
        check(&[dense], &[j], &format!("{once}no storage mode"));
        check(&[dense, dense], &[i, i], &format!("{once}whole, whole"));
        check(&[dense, dense], &[inner(2), outer(2)], &format!("{once}the inner part further out than the outer part"));
        check(&[dense, dense], &[outer(2), inner(3)], &format!("{once}block sizes of 2 and 3"));
        check(&[dense, dense], &[outer(0), inner(0)], &format!("{once}a block size of 0, expected 1 to 2^63 - 1"));
        check(&[dense], &[outer(2)], &format!("{once}outer of blocks of 2"));
        check(&[list, dense], &[skew(1, 0), i], "valid");
        check(&[dense, list], &[j, skew(0, 1)], "valid");
        check(&[list, dense], &[skew(0, 1), skew(1, 0)], &format!("{once}skewed by mode 1"));
        check(&[list], &[skew(0, 0)], &format!("{once}skewed by mode 0"));
        check(&[single], &[i], "level 0 is a singleton, which must lie directly below a non-unique level");
        check(&[list, single], &[i, j], "level 1 is a singleton, which must lie directly below a non-unique level");
        let below = "level 0 is non-unique, so level 1 must be a singleton, found ";
        check(&[list.non_unique()], &[i], &format!("{below}the leaf"));
        check(&[list.non_unique(), dense], &[i, j], &format!("{below}a dense level"));
        let hash = LevelFormat { ordered: false, ..LevelFormat::new(Hash) };
        check(&[hash], &[i], "level 0 is a hash level, which cannot be unordered");
        check(&[dense.non_unique()], &[i], "level 0 is a dense level, which cannot be non-unique");
    }

    /// Asserts that a pattern leaf is rejected below levels that store coordinates with the fill
    /// value, because these coordinates would read as `true`.
    #[test]
    fn a_pattern_requires_a_level_that_lists_coordinates() {
        let pattern = |format: Format| Format { leaf: LeafKind::Pattern, ..format };
        let found = |format: Format| pattern(format).validate().unwrap_err().to_string();
        let expected = |found: &str| {
            format!(
                "a pattern leaf requires a level above it that lists coordinates, found {found}; use an element leaf"
            )
        };
        assert_eq!(found(Format::dense(0)), expected("no level"));
        assert_eq!(found(Format::dense(2)), expected("a level that does not list coordinates"));
        assert_eq!(found(Format::bcsr(2, 3)), expected("a level that does not list coordinates"));
        assert_eq!(pattern(Format::coo(2)).validate(), Ok(()));
    }

    #[test]
    fn tensor_types_are_checked() {
        let ty =
            |shape: &[u64], fill: Scalar, format| TensorType { shape: shape.to_vec(), dtype: DType::F64, fill, format };
        let check = |ty: &TensorType, expect: &str| assert_eq!(ty.validate().unwrap_err().to_string(), expect);
        check(&ty(&[2], 0.0.into(), Format::csr()), "the shape has 1 modes, but the format has 2");
        check(&ty(&[2, 2], 0i64.into(), Format::csr()), "the fill value 0 has dtype i64, but the tensor has dtype f64");
        let pattern = Format { leaf: LeafKind::Pattern, ..Format::csr() };
        check(
            &ty(&[2, 2], 0.0.into(), pattern),
            "a pattern leaf requires dtype bool and fill value false, found f64 and 0.0; use an element leaf",
        );
        check(
            &ty(&[1 << 63, 2], 0.0.into(), Format::csr()),
            "mode 0 has dimension 9223372036854775808, above the limit 9223372036854775807",
        );
    }
}
