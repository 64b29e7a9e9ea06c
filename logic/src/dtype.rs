//! Dtypes of values: machine primitives and structs of them.
//!
//! [`Prim`] is the type of a machine register or an Arrow buffer; [`DType`] is the type of a
//! tensor's values, a primitive or a struct of dtypes with named members. Functions that handle
//! only primitives take a `Prim`.

use std::fmt;
use std::sync::Arc;

/// A machine primitive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Prim {
    /// One byte, 0 or 1.
    Bool,
    /// Signed 8 bits.
    I8,
    /// Signed 16 bits.
    I16,
    /// Signed 32 bits.
    I32,
    /// Signed 64 bits.
    I64,
    /// Unsigned 8 bits.
    U8,
    /// Unsigned 16 bits.
    U16,
    /// Unsigned 32 bits.
    U32,
    /// Unsigned 64 bits.
    U64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl Prim {
    /// All primitives, in the order of declaration.
    pub const ALL: [Prim; 11] = [
        Prim::Bool,
        Prim::I8,
        Prim::I16,
        Prim::I32,
        Prim::I64,
        Prim::U8,
        Prim::U16,
        Prim::U32,
        Prim::U64,
        Prim::F32,
        Prim::F64,
    ];

    /// Returns the primitive in which index notation and lazy arrays reduce values by sums and
    /// products: integers in 64 bits, booleans as `i64`, floats as they are.
    pub fn widened(self) -> Prim {
        match self {
            Prim::Bool | Prim::I8 | Prim::I16 | Prim::I32 => Prim::I64,
            Prim::U8 | Prim::U16 | Prim::U32 => Prim::U64,
            Prim::I64 | Prim::U64 | Prim::F32 | Prim::F64 => self,
        }
    }

    /// Returns the name in text forms: `bool`, `i8`, .., `f64`.
    pub fn name(self) -> &'static str {
        match self {
            Prim::Bool => "bool",
            Prim::I8 => "i8",
            Prim::I16 => "i16",
            Prim::I32 => "i32",
            Prim::I64 => "i64",
            Prim::U8 => "u8",
            Prim::U16 => "u16",
            Prim::U32 => "u32",
            Prim::U64 => "u64",
            Prim::F32 => "f32",
            Prim::F64 => "f64",
        }
    }

    /// Returns the primitive with the given name; `None` if no primitive has that name.
    pub fn from_name(name: &str) -> Option<Prim> {
        Prim::ALL.into_iter().find(|p| p.name() == name)
    }

    /// Returns the size of one value in a buffer, in bytes.
    pub fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// Returns the number of bits of one value; 1 for `bool`, although a buffer uses a byte for it.
    pub fn bits(self) -> u32 {
        match self {
            Prim::Bool => 1,
            Prim::I8 | Prim::U8 => 8,
            Prim::I16 | Prim::U16 => 16,
            Prim::I32 | Prim::U32 | Prim::F32 => 32,
            Prim::I64 | Prim::U64 | Prim::F64 => 64,
        }
    }

    /// Returns whether the primitive is `f32` or `f64`.
    pub fn is_float(self) -> bool {
        matches!(self, Prim::F32 | Prim::F64)
    }

    /// Returns whether the primitive is a signed or unsigned integer. `bool` is not an integer.
    pub fn is_int(self) -> bool {
        !self.is_float() && self != Prim::Bool
    }

    /// Returns whether the primitive is a signed integer or a float.
    pub fn is_signed(self) -> bool {
        matches!(self, Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64 | Prim::F32 | Prim::F64)
    }
}

impl fmt::Display for Prim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of a tensor's values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DType {
    /// A primitive.
    Prim(Prim),
    /// A struct of named members, such as `(value, coordinate)` of an argmin.
    Struct(Arc<StructType>),
}

/// The members of a struct dtype, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StructType {
    /// Name and dtype of each member.
    pub members: Vec<(String, DType)>,
}

impl DType {
    /// The dtype `bool`.
    pub const BOOL: DType = DType::Prim(Prim::Bool);
    /// The dtype `i64`.
    pub const I64: DType = DType::Prim(Prim::I64);
    /// The dtype `f64`.
    pub const F64: DType = DType::Prim(Prim::F64);

    /// Creates a struct dtype of the given members.
    pub fn structure<S: Into<String>>(members: impl IntoIterator<Item = (S, DType)>) -> DType {
        let members = members.into_iter().map(|(n, t)| (n.into(), t)).collect();
        DType::Struct(Arc::new(StructType { members }))
    }

    /// Returns the primitive, or `None` for a struct.
    pub fn prim(&self) -> Option<Prim> {
        match self {
            DType::Prim(p) => Some(*p),
            DType::Struct(_) => None,
        }
    }

    /// Returns the primitives of the dtype, depth first. Each primitive has its own register, and
    /// its own buffer in a leaf that stores values.
    pub fn prims(&self) -> Vec<Prim> {
        match self {
            DType::Prim(p) => vec![*p],
            DType::Struct(s) => s.members.iter().flat_map(|(_, t)| t.prims()).collect(),
        }
    }
}

impl From<Prim> for DType {
    fn from(p: Prim) -> DType {
        DType::Prim(p)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DType::Prim(p) => p.fmt(f),
            DType::Struct(s) => {
                f.write_str("(struct")?;
                for (name, dtype) in &s.members {
                    write!(f, " ({name} {dtype})")?;
                }
                f.write_str(")")
            }
        }
    }
}
