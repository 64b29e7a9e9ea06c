//! Elementary functions as text: their steps in plain arithmetic, which C compilers inline into
//! loops and compute on vectors.

use super::types::{Typing, c_type, literal};
use redpoll_logic::op::elementary::{Expansion, Operation, Step};
use redpoll_logic::{Prim, Scalar};
use std::fmt::Write;

/// Greatest length of an expression that is written within another one. Each level of parentheses
/// takes two characters or more, so expressions have about 200 levels at most. Clang accepts 256.
const MAX_NESTED: usize = 400;

/// Returns the text of a helper that selects one of two floats. Both are computed before the
/// selection, so nested selections need no branches, and compilers can use vectors.
pub(super) fn select(name: &str) -> String {
    format!("{} {{\n    return condition ? yes : no;\n}}\n", select_head(name))
}

fn select_head(name: &str) -> String {
    format!("static inline double {name}({} condition, double yes, double no)", c_type(Prim::Bool))
}

/// Returns the text of a function of a `double`, by its name and the name of the helper for
/// selections. The text declares the helper, which may be defined later.
pub(super) fn function(expansion: &Expansion, name: &str, select: &str) -> String {
    let mut uses = vec![0; expansion.steps.len()];
    let operands = expansion.steps.iter().flat_map(|step| &step.operands);
    operands.for_each(|operand| uses[*operand] += 1);
    let mut text = format!("{};\n\nstatic inline double {name}(double x) {{\n", select_head(select));
    let mut values: Vec<String> = Vec::with_capacity(expansion.steps.len());
    for (number, step) in expansion.steps.iter().enumerate() {
        let value = value(step, &values, select);
        let once = uses[number] == 1 && value.len() <= MAX_NESTED;
        values.push(match step.operation {
            Operation::Bits => {
                let _ = writeln!(text, "    const union {{ double value; uint64_t bits; }} t{number} = {{ {value} }};");
                format!("t{number}.bits")
            }
            Operation::Float => {
                let _ = writeln!(text, "    const union {{ uint64_t bits; double value; }} t{number} = {{ {value} }};");
                format!("t{number}.value")
            }
            _ if step.operands.is_empty() => value,
            _ if once && step.operands.len() == 1 => value,
            _ if once && step.operation == Operation::Select => value,
            _ if once => format!("({value})"),
            operation => {
                let _ = writeln!(text, "    const {} t{number} = {value};", type_of(operation));
                format!("t{number}")
            }
        });
    }
    let _ = write!(text, "    return {};\n}}\n", values.last().expect("an expansion has steps"));
    text
}

/// Returns the C type of the result of an operation that is not written as a union.
fn type_of(operation: Operation) -> &'static str {
    match operation {
        Operation::Less => c_type(Prim::Bool),
        Operation::AddBits | Operation::SubBits | Operation::And | Operation::Or => "uint64_t",
        Operation::Shl(_) | Operation::Shr(_) => "uint64_t",
        _ => "double",
    }
}

/// Returns the text of a step, given the texts of its operands and the name of the helper for
/// selections.
fn value(step: &Step, values: &[String], select: &str) -> String {
    let operand = |k: usize| &values[step.operands[k]];
    let infix = |symbol: &str| format!("{} {symbol} {}", operand(0), operand(1));
    match step.operation {
        Operation::Argument => "x".into(),
        Operation::Number(bits) => literal(&Scalar::F64(f64::from_bits(bits)), Typing::Exact).0,
        Operation::Integer(value) => literal(&Scalar::U64(value), Typing::Exact).0,
        Operation::Bits | Operation::Float => operand(0).clone(),
        Operation::Abs => format!("__builtin_fabs({})", operand(0)),
        Operation::Sqrt => format!("__builtin_sqrt({})", operand(0)),
        Operation::Copysign => format!("__builtin_copysign({}, {})", operand(0), operand(1)),
        Operation::Add | Operation::AddBits => infix("+"),
        Operation::Sub | Operation::SubBits => infix("-"),
        Operation::Mul => infix("*"),
        Operation::Div => infix("/"),
        Operation::Less => infix("<"),
        Operation::Select => format!("{select}({}, {}, {})", operand(0), operand(1), operand(2)),
        Operation::And => infix("&"),
        Operation::Or => infix("|"),
        Operation::Shl(count) => format!("({} << {count})", operand(0)),
        Operation::Shr(count) => format!("({} >> {count})", operand(0)),
    }
}
