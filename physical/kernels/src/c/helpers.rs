//! Helper functions for operators that C lacks, or defines differently for edge values, and for
//! functions of the mathematical library; types of vectors.
//!
//! If an operator has special results for edge values, a comment above its helper states these
//! results. If an operand is a constant, the compiler removes the branches that the constant
//! decides.

use super::elementary;
use super::types::{c_type, greatest, least, unsigned};
use redpoll_compiler::assembly::{BinaryOp, MathFn, UnaryOp};
use redpoll_logic::Prim;
use redpoll_logic::op::elementary::Expansion;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The target language of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// C11 with wrapping integers, for gcc or clang.
    C,
    /// C for readers, which is never compiled: standard functions, and casts without saturation.
    Reading,
    /// CUDA C++, in which signed integers must not overflow and helpers are device functions.
    Cuda,
}

/// The helpers that a translation unit uses, each with its name and text.
pub struct Helpers {
    pub dialect: Dialect,
    texts: BTreeMap<String, String>,
}

impl Helpers {
    /// Creates an empty set of helpers.
    pub fn new(dialect: Dialect) -> Helpers {
        Helpers { dialect, texts: BTreeMap::new() }
    }

    /// Returns the texts, sorted by name.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.values().map(String::as_str)
    }

    fn add(&mut self, name: String, text: impl FnOnce(&str) -> String) -> String {
        let name = match self.dialect {
            Dialect::Reading => name.trim_start_matches("rp_").to_owned(),
            Dialect::C | Dialect::Cuda => name,
        };
        if !self.texts.contains_key(&name) {
            let text = text(&name);
            self.texts.insert(name.clone(), text);
        }
        name
    }

    /// Returns the name of the helper for a binary operator on a type. `& | ^` need no helper.
    pub fn binary(&mut self, op: BinaryOp, prim: Prim) -> String {
        let verb = match op {
            BinaryOp::Min => "min",
            BinaryOp::Max => "max",
            BinaryOp::Div => "div",
            BinaryOp::Rem => "rem",
            BinaryOp::Shl => "shl",
            BinaryOp::Shr => "shr",
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            _ => unreachable!("C has the other operators"),
        };
        let dialect = self.dialect;
        let name = match dialect {
            // In C23, `fminimum` and `fmaximum` are NaN if either operand is NaN, and -0 < 0.
            Dialect::Reading if prim.is_float() => return format!("f{verb}imum{}", float_suffix(prim)),
            Dialect::Reading if prim == Prim::I64 && matches!(op, BinaryOp::Min | BinaryOp::Max) => verb.to_owned(),
            _ => format!("rp_{verb}_{prim}"),
        };
        self.add(name, |name| {
            let ty = c_type(prim);
            let head = format!("static inline {ty} {name}({ty} a, {ty} b) {{\n");
            let body = if prim.is_float() { float_min_max(op, prim) } else { integer(op, prim, dialect) };
            format!("{}{head}{body}}}\n", comment(op, prim))
        })
    }

    /// Returns the name of the helper for the minimum or maximum of floats in a fold, where each
    /// step depends on the previous one.
    pub(crate) fn fold_min_max(&mut self, op: BinaryOp, prim: Prim) -> String {
        if self.dialect != Dialect::C {
            return self.binary(op, prim);
        }
        let verb = if op == BinaryOp::Min { "min" } else { "max" };
        self.add(format!("rp_fold_{verb}_{prim}"), |name| {
            let (ty, bits) = (c_type(prim), unsigned(prim));
            let (negate, sign) = if op == BinaryOp::Min { ("", "") } else { ("    a = -a, b = -b;\n", "-") };
            let before = if op == BinaryOp::Min { "<" } else { ">" };
            format!(
                "{}// Zeros and NaN are rare or predictable; other numbers take one dependent instruction.\n\
                 // Both values stay in vector registers; a union would move them.\n\
                 static inline {ty} {name}({ty} a, {ty} b) {{\n    \
                 const _Bool plain = __builtin_islessgreater(b, 0) && !__builtin_isunordered(a, a);\n    \
                 if (!RP_UNLIKELY(!plain)) return a {before} b ? a : b;\n    \
                 typedef {ty} values __attribute__((vector_size(16)));\n    \
                 typedef {bits} bits __attribute__((vector_size(16)));\n{negate}    \
                 const values x = {{ a < b ? a : b }}, y = {{ b < a ? b : a }};\n    \
                 const values both = (values)((bits)x | (bits)y);\n    \
                 return {sign}both[0];\n}}\n",
                comment(op, prim)
            )
        })
    }

    /// Returns the name of the type of vectors with this many elements.
    pub(super) fn vector(&mut self, prim: Prim, width: usize) -> String {
        self.add(format!("rp_{prim}x{width}"), |name| {
            let (ty, bytes) = (c_type(prim), prim.bytes());
            format!(
                "// Vectors have the alignment of their elements.\n\
                 typedef {ty} {name} __attribute__((vector_size({}), aligned({bytes}), may_alias));\n",
                bytes * width
            )
        })
    }

    /// Returns the name of the helper for the minimum or maximum of vectors.
    pub(super) fn vector_min_max(&mut self, op: BinaryOp, prim: Prim, width: usize) -> String {
        let (ty, mask) = (self.vector(prim, width), self.mask(prim, width));
        let verb = if op == BinaryOp::Min { "min" } else { "max" };
        self.add(format!("rp_vector_{verb}_{prim}x{width}"), |name| {
            let select = |test: &str, then: &str, other: &str| {
                format!("({test} & ({mask}){then}) | (~{test} & ({mask}){other})")
            };
            let body = match prim.is_float() {
                true => {
                    let (negate, sign) = if op == BinaryOp::Min { ("", "") } else { ("    a = -a, b = -b;\n", "-") };
                    format!(
                        "{negate}    const {mask} less = ({mask})(a < b), greater = ({mask})(b < a);\n    \
                         const {mask} x = {}, y = {};\n    return {sign}({ty})(x | y);\n",
                        select("less", "a", "b"),
                        select("greater", "b", "a")
                    )
                }
                false => {
                    let before = if op == BinaryOp::Min { "<" } else { ">" };
                    let selected = select("before", "a", "b");
                    format!("    const {mask} before = ({mask})(a {before} b);\n    return ({ty})({selected});\n")
                }
            };
            format!("{}static inline {ty} {name}({ty} a, {ty} b) {{\n{body}}}\n", comment(op, prim))
        })
    }

    /// Returns the name of the helper for the absolute values of a vector of floats.
    pub(super) fn vector_abs(&mut self, prim: Prim, width: usize) -> String {
        let (ty, mask) = (self.vector(prim, width), self.mask(prim, width));
        let number = greatest(if prim == Prim::F32 { Prim::I32 } else { Prim::I64 });
        self.add(format!("rp_vector_abs_{prim}x{width}"), |name| {
            format!("static inline {ty} {name}({ty} a) {{\n    return ({ty})(({mask})a & {number});\n}}\n")
        })
    }

    /// Returns the name of the type of comparisons of vectors: vectors of signed integers, with
    /// elements of the same number and size. An element is -1 where the comparison is true, else 0.
    fn mask(&mut self, prim: Prim, width: usize) -> String {
        self.vector(if prim.bytes() == 4 { Prim::I32 } else { Prim::I64 }, width)
    }

    /// Returns the name of the helper for `0 - x` of floats.
    pub(crate) fn sub_from_zero(&mut self, prim: Prim) -> String {
        self.add(format!("rp_sub_from_zero_{prim}"), |name| {
            let ty = c_type(prim);
            format!(
                "// 0 - 0 is 0. GCC 12 replaces 0 - x by -x if it can prove that x is never -0, which it cannot\n\
                 // for a parameter.\n\
                 static inline {ty} {name}({ty} x) {{\n    return 0 - x;\n}}\n"
            )
        })
    }

    /// Returns the name of the helper for the absolute value of a signed integer.
    pub fn abs(&mut self, prim: Prim) -> String {
        let negation = negation(prim, self.dialect);
        self.add(format!("rp_abs_{prim}"), |name| {
            let ty = c_type(prim);
            format!(
                "// The smallest value is its own absolute value.\nstatic inline {ty} {name}({ty} a) {{\n    \
                 return a < 0 ? {negation} : a;\n}}\n"
            )
        })
    }

    /// Returns the name of the helper for the negation of a signed integer, for dialects in which
    /// an overflow of minus is undefined.
    pub fn neg(&mut self, prim: Prim) -> String {
        let negation = negation(prim, self.dialect);
        self.add(format!("rp_neg_{prim}"), |name| {
            let ty = c_type(prim);
            format!("// The smallest value is its own negation.\nstatic inline {ty} {name}({ty} a) {{\n    return {negation};\n}}\n")
        })
    }

    /// Returns the name of the helper that counts the leading or trailing zeros of an integer.
    pub(crate) fn count_zeros(&mut self, op: UnaryOp, prim: Prim) -> String {
        self.add(format!("rp_{}_{prim}", op.name()), |name| {
            let (ty, bits, width) = (c_type(prim), unsigned(prim), prim.bits());
            let count = match (op, 64 - width) {
                (UnaryOp::LeadingZeros, 0) => format!("__builtin_clzll(({bits})a)"),
                (UnaryOp::LeadingZeros, above) => format!("__builtin_clzll(({bits})a) - {above}"),
                _ => format!("__builtin_ctzll(({bits})a)"),
            };
            format!(
                "// 0 gives the width; the instruction is undefined for 0.\nstatic inline {ty} {name}({ty} a) {{\n    \
                 return a == 0 ? {width} : ({ty})({count});\n}}\n"
            )
        })
    }

    /// Returns the name of the helper that casts floats to integers.
    pub(crate) fn float_to_int(&mut self, from: Prim, to: Prim) -> String {
        let dialect = self.dialect;
        self.add(format!("rp_{to}_of_{from}"), |name| {
            let (ty, source, suffix) = (c_type(to), c_type(from), if from == Prim::F32 { "f" } else { "" });
            let power = to.bits() - u32::from(to.is_signed());
            let above = format!("{:?}{suffix}", 2f64.powi(power as i32));
            let below = if to.is_signed() { format!("x < -{above}") } else { format!("x < 0.0{suffix}") };
            let (low, high) = (least(to), greatest(to));
            if dialect == Dialect::Cuda {
                return format!(
                    "// Rounds towards zero and saturates; NaN gives 0.\nstatic inline {ty} {name}({source} x) {{\n    \
                     return x != x ? 0 : {below} ? {low} : x >= {above} ? {high} : ({ty})x;\n}}\n"
                );
            }
            format!(
                "// Rounds towards zero and saturates; NaN gives 0. GCC 12 replaces a cast to an integer and back by trunc,\n\
                 // which keeps the sign of a zero; the empty instruction prevents that.\n\
                 static inline {ty} {name}({source} x) {{\n    \
                 {ty} y = x != x ? 0 : {below} ? {low} : x >= {above} ? {high} : ({ty})x;\n    \
                 __asm__(\"\" : \"+r\"(y));\n    return y;\n}}\n"
            )
        })
    }

    /// Returns the name of the helper for a function of the mathematical library. The helper of an
    /// elementary function computes its steps. Other helpers call the function that all backends of
    /// this machine call; C code finds it in a table of the frame, which is the first argument of
    /// the helper. Text for readers calls functions of the standard library.
    pub fn math(&mut self, function: MathFn, prim: Prim) -> String {
        if self.dialect == Dialect::Reading {
            return format!("{}{}", function.name(), float_suffix(prim));
        }
        match function.expansion() {
            Some(expansion) => self.elementary(function.name(), expansion, prim),
            None => self.call(function, prim),
        }
    }

    fn elementary(&mut self, name: &str, expansion: &Expansion, prim: Prim) -> String {
        let double = format!("rp_{name}_f64");
        if prim == Prim::F32 {
            self.elementary(name, expansion, Prim::F64);
            // Texts are sorted by name, so the other function may follow.
            return self.add(format!("rp_{name}_f32"), |name| {
                format!(
                    "static inline double {double}(double x);\n\nstatic inline float {name}(float x) {{\n    \
                     return (float){double}((double)x);\n}}\n"
                )
            });
        }
        let select = self.add("rp_select_f64".into(), elementary::select);
        self.add(double, |name| elementary::function(expansion, name, &select))
    }

    fn call(&mut self, function: MathFn, prim: Prim) -> String {
        self.add(format!("rp_{}_{prim}", function.name()), |name| {
            let ty = c_type(prim);
            let names = if function.implementation().arity() == 1 { vec!["x"] } else { vec!["x", "y"] };
            let types = vec![ty; names.len()].join(", ");
            let params: Vec<String> = names.iter().map(|name| format!("{ty} {name}")).collect();
            let (params, args, at) = (params.join(", "), names.join(", "), math_index(function, prim));
            let mut text = format!("static inline {ty} {name}(const rp_frame *frame, {params}) {{\n");
            let _ = writeln!(text, "    {ty} (*call)({types}) __attribute__((const)) = (void *)frame->math[{at}];");
            let _ = write!(text, "    return call({args});\n}}\n");
            text
        })
    }
}

/// Returns the index of a function in the table of the frame: the `f64` variant of each function is
/// followed by the `f32` variant.
fn math_index(function: MathFn, prim: Prim) -> usize {
    function as usize * 2 + usize::from(prim == Prim::F32)
}

/// Returns the suffix of functions of the standard library for a float type.
fn float_suffix(prim: Prim) -> &'static str {
    if prim == Prim::F32 { "f" } else { "" }
}

/// Returns the text of the wrapping negation of `a`.
fn negation(prim: Prim, dialect: Dialect) -> String {
    match dialect {
        Dialect::C | Dialect::Reading => "-a".into(),
        Dialect::Cuda => {
            format!("({})(0 - ({})a)", c_type(prim), if prim.bits() == 64 { "uint64_t" } else { "uint32_t" })
        }
    }
}

fn comment(op: BinaryOp, prim: Prim) -> &'static str {
    match op {
        BinaryOp::Div if prim.is_signed() => "// x / 0 = 0; MIN / -1 = MIN.\n",
        BinaryOp::Rem if prim.is_signed() => "// x % 0 = 0; MIN % -1 = 0.\n",
        BinaryOp::Div => "// x / 0 = 0.\n",
        BinaryOp::Rem => "// x % 0 = 0.\n",
        BinaryOp::Shr if prim.is_signed() => "// Shifts by the width or more give 0 or -1, by the sign.\n",
        BinaryOp::Shl | BinaryOp::Shr => "// Shifts by the width or more give 0.\n",
        BinaryOp::Min if prim.is_float() => "// NaN if either operand is NaN; -0 < 0.\n",
        BinaryOp::Max if prim.is_float() => "// NaN if either operand is NaN; -0 < 0.\n",
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => "// Wraps.\n",
        _ => "",
    }
}

fn integer(op: BinaryOp, prim: Prim, dialect: Dialect) -> String {
    let (ty, bits, signed) = (c_type(prim), prim.bits(), prim.is_signed());
    let (number, wide) = (unsigned(prim), if bits == 64 { "uint64_t" } else { "uint32_t" });
    let negation = negation(prim, dialect);
    let wrapped = |symbol: &str| format!("({ty})(({wide})a {symbol} ({wide})b)");
    let expr = match op {
        BinaryOp::Add => wrapped("+"),
        BinaryOp::Sub => wrapped("-"),
        BinaryOp::Mul => wrapped("*"),
        BinaryOp::Min => "a < b ? a : b".to_owned(),
        BinaryOp::Max => "a > b ? a : b".to_owned(),
        // Division by -1 is a wrapping negation; the machine would trap for MIN / -1.
        BinaryOp::Div if signed => format!("b == 0 ? 0 : b == -1 ? {negation} : a / b"),
        BinaryOp::Rem if signed => "b == 0 || b == -1 ? 0 : a % b".to_owned(),
        BinaryOp::Div => "b == 0 ? 0 : a / b".to_owned(),
        BinaryOp::Rem => "b == 0 ? 0 : a % b".to_owned(),
        // Left shifts of signed integers are undefined, and narrow types would be promoted to
        // signed `int`.
        BinaryOp::Shl => format!("({number})b < {bits} ? ({ty})(({wide})a << b) : 0"),
        BinaryOp::Shr if signed => format!("({number})b < {bits} ? a >> b : a < 0 ? -1 : 0"),
        BinaryOp::Shr => format!("b < {bits} ? a >> b : 0"),
        _ => unreachable!("C has the other operators"),
    };
    format!("    return {expr};\n")
}

/// Returns the body of a minimum or maximum without a branch. Both orders of the comparison choose
/// the same value except for zeros and NaN. For these, the bitwise `or` of the two values is right:
/// -0 if either zero is negative, and NaN if either operand is NaN.
fn float_min_max(op: BinaryOp, prim: Prim) -> String {
    let (ty, bits) = (c_type(prim), unsigned(prim));
    let least = |a: &str, b: &str| {
        format!(
            "    union {{ {ty} value; {bits} bits; }} x = {{ {a} < {b} ? {a} : {b} }}, y = {{ {b} < {a} ? {b} : {a} }};\n    \
             x.bits |= y.bits;\n"
        )
    };
    match op {
        BinaryOp::Min => least("a", "b") + "    return x.value;\n",
        // The maximum is the negated minimum of the negated numbers.
        BinaryOp::Max => format!("    a = -a, b = -b;\n{}    return -x.value;\n", least("a", "b")),
        _ => unreachable!("C has the other operators"),
    }
}
