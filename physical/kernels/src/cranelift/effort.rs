//! Compilation effort: a long kernel with little work is compiled in fewer passes.

use cranelift::codegen::isa::OwnedTargetIsa;
use cranelift::prelude::{Configurable, settings};
use redpoll_compiler::assembly::{Function, Stmt};
use redpoll_compiler::lower::Draft;
use std::sync::OnceLock;

/// Number of statements above which less effort can pay. Shorter functions compile in a fraction of
/// a millisecond, and may consist of innermost loops only.
const LONG: usize = 40;

/// Number of steps per statement and run up to which less effort pays. Less effort saves about 6
/// microseconds per statement. Less effort loses about 2 nanoseconds per step, in each of the about
/// 200 runs before the optimizing tier replaces the kernel. So the two efforts are equal at about
/// 15 steps; the limit is a little lower.
const STEPS_PER_STATEMENT: f64 = 12.0;

/// The effort spent on the machine code of a function, which does not change the bits of results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effort {
    /// No optimizations, and registers allocated in a single pass. Compilation takes about half of
    /// the time. The code runs at about half of the speed, or less in innermost loops of few
    /// instructions.
    Quick,
    /// Optimizations, and registers allocated with regard to loops and uses.
    Full,
}

impl Effort {
    /// Returns the effort that pays for a function whose runs take `steps` steps of loops.
    fn for_steps(function: &Function, steps: f64) -> Effort {
        let statements: usize = function.body.iter().map(Stmt::count).sum();
        let pays = statements > LONG && steps <= STEPS_PER_STATEMENT * statements as f64;
        if pays { Effort::Quick } else { Effort::Full }
    }

    /// Returns the effort that pays for the expected steps of a draft; full effort if they are
    /// unknown.
    pub(crate) fn for_draft(draft: &Draft) -> Effort {
        Effort::for_steps(draft.function(), draft.expected_steps().unwrap_or(f64::INFINITY))
    }

    /// Returns the instruction set of this machine with all its features and the settings of this
    /// effort. The machine is examined once for each effort.
    pub(super) fn isa(self) -> Result<&'static OwnedTargetIsa, String> {
        static ISAS: [OnceLock<Result<OwnedTargetIsa, String>>; 2] = [OnceLock::new(), OnceLock::new()];
        let (isa, level, allocator) = match self {
            Effort::Quick => (&ISAS[0], "none", "single_pass"),
            Effort::Full => (&ISAS[1], "speed", "backtracking"),
        };
        isa.get_or_init(|| isa_with(level, allocator)).as_ref().map_err(String::clone)
    }
}

fn isa_with(level: &str, allocator: &str) -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let checks = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", level),
        ("regalloc_algorithm", allocator),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("unwind_info", "false"),
        ("enable_verifier", checks),
    ] {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let isa = cranelift::native::builder()?;
    isa.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_compiler::assembly::text::parse;

    #[test]
    fn less_effort_is_for_long_functions_with_little_to_do() {
        let function = |statements: usize| {
            let body = "  x = x + 1\n".repeat(statements - 1);
            let locals = "  local lo: i64\n  local hi: i64\n  local x: i64\n  chunk lo, hi\n";
            let text = format!("fn f() {{\n{locals}  x = 0\n{body}}}\n");
            parse(&text).unwrap()
        };
        for (statements, steps, expected) in [
            (LONG + 1, 0.0, Effort::Quick),
            (LONG + 1, 100.0, Effort::Quick),
            (LONG + 1, 1e6, Effort::Full),
            (LONG + 1, f64::INFINITY, Effort::Full),
            (LONG, 0.0, Effort::Full),
            (10 * LONG, 100.0 * LONG as f64, Effort::Quick),
        ] {
            assert_eq!(Effort::for_steps(&function(statements), steps), expected, "{statements} statements, {steps}");
        }
    }
}
