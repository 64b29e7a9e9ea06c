//! Tables of the names of operators in text.

use crate::assembly::{BinaryOp, CompareOp, UnaryOp};

macro_rules! name_table {
    ($type:ident, $doc:literal: $($variant:ident $text:literal),*) => {
        impl $type {
            #[doc = $doc]
            pub const ALL: &[$type] = &[$($type::$variant),*];

            /// Returns the name in text forms.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $text,)*
                }
            }
        }
    };
}

name_table!(UnaryOp, "Every operator, in the order of declaration.":
    Neg "neg", Abs "abs", Not "not", Sqrt "sqrt", Floor "floor", Ceil "ceil", Trunc "trunc", Round "round",
    TrailingZeros "ctz", LeadingZeros "clz");

name_table!(BinaryOp, "Every operator, in the order of declaration.":
    Add "+", Sub "-", Mul "*", Div "/", Rem "%", Min "min", Max "max", And "&", Or "|", Xor "^", Shl "<<", Shr ">>");

name_table!(CompareOp, "Every comparison, in the order of declaration.":
    Eq "==", Ne "!=", Lt "<", Le "<=");

/// Words that are not printed as names. A declaration quotes a name that equals such a word, and
/// references to the declared entry are printed as numbers.
const RESERVED: &[&str] = &[
    "break", "by", "chunk", "else", "false", "fill", "fn", "fold", "for", "from", "grow", "if", "in", "inf", "input",
    "lanes", "local", "nan", "owned", "return", "sort", "sort_by", "swap", "true", "while",
];

/// Returns whether a name needs no quotes: it is an identifier, and not reserved.
pub(super) fn is_identifier(name: &str) -> bool {
    let word =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '\'');
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.split('.').all(word)
        && !RESERVED.contains(&name)
        && !name.starts_with("inf_")
        && !name.starts_with("nan_")
}
