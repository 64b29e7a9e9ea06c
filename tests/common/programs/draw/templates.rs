//! Templates of statements that satisfy the rules for the tensors that they write: appended
//! outputs, workspaces, counters of `while`, double buffers.

use super::Usage;
use super::statements::StatementScope;
use super::tensors::ProgramDraft;
use redpoll_compiler::notation::Role;
use redpoll_logic::{DType, Scalar};

impl ProgramDraft<'_> {
    /// Draws the only nest that writes a tensor, through one access with ascending coordinates.
    pub(super) fn appending_nest(&mut self, tensor: usize, scope: &StatementScope) -> String {
        let (shape, order) = (self.tensors[tensor].shape.clone(), self.tensors[tensor].order.clone());
        let mut scope = scope.clone();
        scope.writes.remove(&tensor);
        let mut subscripts = vec![String::new(); shape.len()];
        let (mut open, mut nesting) = (String::new(), 0);
        let written_once = self.tensors[tensor].written_once;
        for (depth, mode) in order.iter().enumerate() {
            if !written_once && self.rng.chance(25) {
                // A loop whose index is no subscript. Most such loops have at most one round; with
                // more rounds, the program may be rejected.
                let index = self.new_name('i');
                let (range, lo, hi) = match self.rng.below(10) {
                    0 if scope.depth == 0 => self.range(&scope),
                    1 => ("(range 0 0)".to_owned(), 0, 0),
                    2..=4 => match self.gather(&scope, 8) {
                        Some(at) => (format!("(range {at} (+ {at} 1))"), 0, 8),
                        None => ("(range 0 1)".to_owned(), 0, 1),
                    },
                    _ => {
                        let at = self.rng.below(4) as i64;
                        (format!("(range {at} {})", at + 1), at, at + 1)
                    }
                };
                open += &format!("(for {index} {range} ");
                scope = scope.with_loop((index, lo, hi));
                nesting += 1;
            }
            if self.rng.chance(10) {
                let condition = self.condition(&scope, 1);
                open += &format!("(if {condition} ");
                scope.depth += 1;
                nesting += 1;
            }
            if self.rng.chance(8)
                && let Some(other) = self.assignment(&scope)
            {
                open += &format!("(block {other} ");
                nesting += 1;
            }
            let n = shape[*mode] as i64;
            let last = depth + 1 == order.len();
            let constant = !written_once && n > 0 && self.rng.chance(if last { 14 } else { 8 });
            if constant {
                subscripts[*mode] = self.rng.below(n as u64).to_string();
                self.tensors[tensor].is_single |= last;
                continue;
            }
            let index = self.new_name('i');
            let (lo, hi, at) = match self.rng.below(12) {
                0 => {
                    let lo = self.rng.below(n as u64 + 1) as i64;
                    (lo, lo + self.rng.below((n - lo) as u64 + 1) as i64, index.clone())
                }
                1 if n > 0 => (-1, n - 1, format!("(+ {index} 1)")),
                2 if n > 0 => (0, (n + 1) / 2, format!("(* 2 {index})")),
                3 if n > 0 => {
                    let lo = self.rng.below(n as u64) as i64;
                    (lo, lo + 1, index.clone())
                }
                _ => (0, n, index.clone()),
            };
            open += &format!("(for {index} (range {lo} {hi}) ");
            scope = scope.with_loop((index, lo, hi));
            subscripts[*mode] = at;
            nesting += 1;
        }
        let name = &self.tensors[tensor].name;
        let access = if shape.is_empty() { name.clone() } else { format!("({name} {})", subscripts.join(" ")) };
        let inside = if written_once {
            self.assign(&scope, tensor, &access)
        } else {
            scope.target = Some((tensor, access.clone()));
            let mut inside = self.body(&scope);
            if !inside.contains(&access) {
                inside = format!("{inside} {}", self.assign(&scope, tensor, &access));
            }
            inside
        };
        self.tensors[tensor].is_complete = true;
        format!("{open}{inside}{}", ")".repeat(nesting))
    }

    /// Draws statements that write a tensor in any order.
    pub(super) fn writing_statements(&mut self, tensor: usize, scope: &StatementScope) -> String {
        let name = self.tensors[tensor].name.clone();
        let mut text = self.statement(scope);
        let writes = |text: &str| text.contains(&format!("= {name} ")) || text.contains(&format!("= ({name} "));
        if !writes(&text) {
            // The statement may write other tensors only, so add a nest that writes this tensor.
            let shape = self.tensors[tensor].shape.clone();
            let (mut inner, mut open) = (scope.clone(), String::new());
            let mut subscripts = Vec::new();
            for n in &shape {
                let index = self.new_name('i');
                open += &format!("(for {index} (range 0 {n}) ");
                inner = inner.with_loop((index.clone(), 0, *n as i64));
                subscripts.push(index);
            }
            let access = if shape.is_empty() { name } else { format!("({name} {})", subscripts.join(" ")) };
            inner.target = Some((tensor, access.clone()));
            let body = format!("{} {}", self.body(&inner), self.assign(&inner, tensor, &access));
            text += &format!("\n{open}{body}{}", ")".repeat(shape.len()));
        }
        text
    }

    /// Adds a local that only one template uses.
    fn template_local(&mut self, shape: Vec<u64>, usage: Usage) -> usize {
        let name = self.new_name('w');
        let local = self.add(name, Role::Local, shape, usage);
        self.tensors[local].is_complete = true;
        local
    }

    /// Draws a `where`: statements that write a local, and statements that read it.
    pub(super) fn workspace(&mut self, scope: &StatementScope) -> String {
        let rank = [0, 1, 1, 1, 2][self.rng.index(5)];
        let shape = (0..rank).map(|_| self.pick_size()).collect();
        let usage = match (rank, self.rng.below(3)) {
            (0, _) => Usage::Mutable,
            (_, 0) => Usage::Append,
            _ => Usage::Random,
        };
        let local = self.template_local(shape, usage);
        let mut producer = StatementScope { target: None, depth: scope.depth + 1, ..scope.clone() };
        producer.reads.remove(&local);
        if self.rng.chance(80) {
            producer.writes.clear();
        }
        let produced = match usage {
            Usage::Append => self.appending_nest(local, &producer),
            _ => {
                producer.writes.insert(local);
                self.writing_statements(local, &producer)
            }
        };
        let mut consumer = scope.nested();
        consumer.reads.insert(local);
        consumer.writes.remove(&local);
        consumer.preferred_read = Some(local);
        let consumed = match self.statement(&consumer) {
            text if text.is_empty() => "(block)".to_owned(),
            text => text,
        };
        format!("(where (block {consumed}) (block {produced}))")
    }

    /// Draws a `while` with a counter. Some conditions also test scalars, which the body may write.
    pub(super) fn counted_while(&mut self, scope: &StatementScope) -> String {
        let counter = self.template_local(Vec::new(), Usage::Mutable);
        let tensor = &mut self.tensors[counter];
        (tensor.dtype, tensor.fill) = (DType::I64, Scalar::I64(0));
        let name = tensor.name.clone();
        let mut inner = scope.nested();
        inner.reads.insert(counter);
        inner.whiles += 1;
        // A tensor that is appended to must not be written in several rounds.
        inner.target = None;
        let max_rounds = 1 + self.rng.below(3);
        let condition = match self.rng.below(3) {
            0 => {
                let reads = scope.reads.iter().copied().filter(|t| self.tensors[*t].shape.is_empty()).collect();
                let condition =
                    self.condition(&StatementScope { loops: Vec::new(), vars: Vec::new(), reads, ..scope.clone() }, 1);
                format!("(and (lt {name} {max_rounds}) {condition})")
            }
            _ => format!("(lt {name} {max_rounds})"),
        };
        let nested = inner.whiles == 1 && self.budget > 0 && self.rng.chance(12);
        let body = if nested { self.counted_while(&inner) } else { self.body(&inner) };
        let step = if self.rng.chance(70) {
            format!("(+= {name} 1)")
        } else {
            format!("(+= {name} {})", 1 + self.rng.below(2))
        };
        if self.rng.chance(70) {
            format!("(block (= {name} 0) (while {condition} {body} {step}))")
        } else {
            format!("(block (= {name} 0) (while {condition} {step} {body}))")
        }
    }

    /// Draws a `while` that swaps two locals in each round.
    pub(super) fn swapping_while(&mut self, scope: &StatementScope) -> String {
        let shape: Vec<u64> = (0..1 + self.rng.index(5) / 4).map(|_| self.pick_size()).collect();
        let old = self.template_local(shape.clone(), Usage::Random);
        let new = self.template_local(shape, Usage::Random);
        let (dtype, fill) = (self.tensors[old].dtype.clone(), self.tensors[old].fill.clone());
        let name = self.tensors[old].name.clone();
        let tensor = &mut self.tensors[new];
        (tensor.dtype, tensor.fill, tensor.swapped_with) = (dtype, fill, Some(name));
        let counter = self.template_local(Vec::new(), Usage::Mutable);
        (self.tensors[counter].dtype, self.tensors[counter].fill) = (DType::I64, Scalar::I64(0));
        let [old_name, new_name, count] = [old, new, counter].map(|t| self.tensors[t].name.clone());
        let only = |scope: &StatementScope, tensor: usize| {
            let mut only = StatementScope { target: None, ..scope.nested() };
            only.writes.clear();
            only.writes.insert(tensor);
            only
        };
        let first = self.writing_statements(old, &only(scope, old));
        let mut step = only(scope, new);
        step.reads.insert(old);
        step.preferred_read = Some(old);
        step.whiles += 1;
        let next = self.writing_statements(new, &step);
        let mut last = scope.nested();
        last.reads.insert(old);
        last.preferred_read = Some(old);
        let result = self.statement(&last);
        let max_rounds = 1 + self.rng.below(3);
        format!(
            "(declare {old_name}) {first} (declare {count}) (= {count} 0) (while (lt {count} {max_rounds}) (declare {new_name}) {next} \
             (swap {old_name} {new_name}) (+= {count} 1)) {result}"
        )
    }
}
