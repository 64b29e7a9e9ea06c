//! The text form of Assembly: printed by [`print()`] (and `Display`), read back by [`parse`]. An
//! excerpt, without some of the declarations:
//!
//! ```text
//! fn spmv($rows) {
//!   input A.ptr: index i32
//!   input A.val: value f64
//!   owned y.val: value f64 fill 0.0
//!   local lo: i64
//!   local acc: f64
//!   chunk lo, hi
//!   grow y.val, $rows
//!   for i in lo..hi {
//!     acc = acc + (A.val[p] * x.val[A.idx[p]])
//!     y.val[i] = acc
//!   }
//! }
//! ```
//! - An infix operator within another is in parentheses; there is no precedence. `min(a, b)`,
//!   `select(c, a, b)`, `neg(x)`, `f64(x)` (a cast) and `exp(x)` are calls.
//! - A constant is `true`, `false`, `3` (`i64`), `1.5`, `1e300`, `inf` or `nan` (`f64`), or has its
//!   type as a suffix: `3_u32`, `-inf_f32`.
//! - A lane fold is `fold acc by + from 0.0 lanes 8 for p in lo..hi: value`.
//! - A local, buffer or `$parameter` is written by its name if the name is an identifier, not
//!   reserved and unique in its table; else by its number: `#3`, `$#0`. An identifier consists of
//!   ASCII letters, digits, `_`, `'` and single inner dots, and starts with a letter or `_`.
//!   Reserved are the keywords, `inf`, `nan`, and names that start with `inf_` or `nan_`. In a
//!   declaration, a name that is reserved or not an identifier is quoted.

mod lex;
mod names;
mod parse;
mod print;

pub use parse::parse;
pub use print::{FunctionPrinter, print, print_stmt};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::examples::{DOT, MERGE, SPMV};

    #[test]
    fn printed_text_equals_the_parsed_text() {
        for text in [SPMV, MERGE, DOT] {
            assert_eq!(print(&parse(text).unwrap()), text);
        }
    }

    #[test]
    fn odd_names_and_constants_read_back() {
        let text = "\
fn \"two words\"($n, $\"n n\", $\"for\") {
  input \"A\\n\\u{1}\": value f32 fill -inf_f32
  input A: value u8
  input A: value bool fill true
  owned A.val: index i16 fill -32768_i16
  local \"inf\": i64
  local x.y': i64
  local z: f32
  local z: f64
  chunk #0, x.y'
  #2 = -0.0_f32
  #2 = nan_f32
  #3 = inf
  #3 = 1e300
  #3 = 5e-324
  #0 = -9223372036854775808
  #0 = u64(18446744073709551615_u64)
  #0 = ($#1 + $#2) - $n
  #2 = #0[#1[3]]
  sort_by A.val by A.val, A.val in 0..-1
  fold #3 by max from -inf lanes 16 for #0 in 0..(1 + 1): #0[#0]
  return checked_overflow
}
";
        let function = parse(text).unwrap();
        assert_eq!(print(&function), text.replace("(1 + 1):", "1 + 1:"));
        assert_eq!(parse(&print(&function)).unwrap(), function);
        let signed = text.replace("= nan_f32", "= -nan_f32");
        assert!(signed != text && parse(&signed).unwrap() == function);
    }

    #[test]
    fn errors_have_a_place_and_a_cause() {
        let rows = [
            ("", "assembly text, line 1, column 1: expected `fn`, found the end"),
            ("fn f() {\n  local a: i65", "assembly text, line 2, column 12: expected a type, found `i65`"),
            (
                "fn f() {\n\n local a: i64 chunk a, b }",
                "assembly text, line 3, column 24: expected the name of exactly one local, found `b`",
            ),
            (
                "fn f() { local a: i64 chunk a, a a = 1 + }",
                "assembly text, line 1, column 42: expected an expression, found `}`",
            ),
            (
                "fn f() { local a: i64 chunk a, a a = 300_u8 }",
                "assembly text, line 1, column 38: expected a constant that fits its type, found `300_u8`",
            ),
            (
                "fn f() { local a: i64 chunk a, a a = foo(1) }",
                "assembly text, line 1, column 38: expected a function, found `foo`",
            ),
            (
                "fn f() { local a: i64 chunk a, a a = exp(1, 2) }",
                "assembly text, line 1, column 38: expected 1 argument of `exp`, found 2",
            ),
            (
                "fn f() { local a: i64 chunk a, a 3 }",
                "assembly text, line 1, column 34: expected a statement, found `3`",
            ),
            (
                "fn f() { local a: i64 chunk a, a return 3 }",
                "assembly text, line 1, column 41: expected a status, found `3`",
            ),
            ("fn f() { local a: i64 chunk a, a } ~", "assembly text, line 1, column 36: unexpected character `~`"),
            ("fn \"f", "assembly text, line 1, column 4: a quoted name does not end or has a bad escape"),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        }
        let deep = format!("fn f() {{ local a: i64 chunk a, a a = {}1", "(".repeat(100_000));
        assert!(parse(&deep).unwrap_err().to_string().contains("expected at most 200 levels of nesting"));
    }
}
