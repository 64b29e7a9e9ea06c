//! Loops that process several elements per round: the code before, between and after the rounds.

use super::function::FunctionEmitter;
use cranelift::prelude::{Block, InstBuilder, IntCC, Value, Variable, types};
use redpoll_compiler::assembly::Local;

/// A loop over full rounds whose entry has been written.
pub(super) struct VectorRounds {
    header: Block,
    /// The index of the first element of the current round.
    at: Variable,
    end: Value,
}

impl FunctionEmitter<'_> {
    /// Enters a loop over `lo..end`, or branches to `empty` if the range is empty. Code emitted
    /// before [`round`](FunctionEmitter::round) runs once before the first round.
    pub(super) fn enter_rounds(&mut self, (lo, end): (Value, Value), empty: Block) -> VectorRounds {
        let enter = self.builder.create_block();
        let header = self.builder.create_block();
        let at = self.builder.declare_var(types::I64);
        self.builder.def_var(at, lo);
        let is_entered = self.builder.ins().icmp(IntCC::NotEqual, lo, end);
        self.builder.ins().brif(is_entered, enter, &[], empty, &[]);
        self.builder.seal_block(enter);
        self.builder.switch_to_block(enter);
        VectorRounds { header, at, end }
    }

    /// Opens the scope of a loop that assigns nothing but its variable.
    pub(super) fn push_loop_scope(&mut self, var: Local) {
        let mut assigned = vec![false; self.locals.len()];
        assigned[var.index()] = true;
        self.scopes.push(assigned);
    }

    /// Begins a round; returns the index of its first element.
    pub(super) fn round(&mut self, rounds: &VectorRounds) -> Value {
        self.builder.ins().jump(rounds.header, &[]);
        self.builder.switch_to_block(rounds.header);
        self.builder.use_var(rounds.at)
    }

    /// Ends a round of `step` elements from `base` on, closes the scope of the loop, and continues
    /// in `exit`.
    pub(super) fn end_round(&mut self, rounds: &VectorRounds, (base, step): (Value, i64), exit: Block) {
        self.lane = None;
        self.forget();
        self.scopes.pop();
        let next = self.builder.ins().iadd_imm_s(base, step);
        self.builder.def_var(rounds.at, next);
        let again = self.builder.ins().icmp(IntCC::NotEqual, next, rounds.end);
        self.builder.ins().brif(again, rounds.header, &[], exit, &[]);
        self.builder.seal_block(rounds.header);
        self.builder.seal_block(exit);
        self.builder.switch_to_block(exit);
    }
}
