//! Nests that satisfy the rules for their targets: outputs that are appended to, workspaces, double
//! buffers, `while`.

use super::Usage;
use super::statements::Scope;
use super::tensors::Draw;
use redpoll_logic::{DType, Scalar};
use redpoll_physical::notation::Role;

impl Draw<'_> {
    /// Draws the only nest that writes a tensor, through one access with ascending coordinates.
    pub(super) fn home(&mut self, tensor: usize, scope: &Scope) -> String {
        let (shape, order) = (self.tensors[tensor].shape.clone(), self.tensors[tensor].order.clone());
        let mut scope = scope.clone();
        scope.writes.remove(&tensor);
        let mut subscripts = vec![String::new(); shape.len()];
        let (mut open, mut closed) = (String::new(), 0);
        let once = self.tensors[tensor].once;
        for (depth, mode) in order.iter().enumerate() {
            if !once && self.rng.chance(25) {
                // A loop whose index is no subscript. Most such loops have at most one round; with
                // more, the program may be refused.
                let index = self.fresh('i');
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
                scope = scope.within((index, lo, hi));
                closed += 1;
            }
            if self.rng.chance(10) {
                let condition = self.condition(&scope, 1);
                open += &format!("(if {condition} ");
                scope.depth += 1;
                closed += 1;
            }
            if self.rng.chance(8)
                && let Some(other) = self.assignment(&scope)
            {
                open += &format!("(block {other} ");
                closed += 1;
            }
            let n = shape[*mode] as i64;
            let last = depth + 1 == order.len();
            let constant = !once && n > 0 && self.rng.chance(if last { 14 } else { 8 });
            if constant {
                subscripts[*mode] = self.rng.below(n as u64).to_string();
                self.tensors[tensor].single |= last;
                continue;
            }
            let index = self.fresh('i');
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
            scope = scope.within((index, lo, hi));
            subscripts[*mode] = at;
            closed += 1;
        }
        let name = &self.tensors[tensor].name;
        let place = if shape.is_empty() { name.clone() } else { format!("({name} {})", subscripts.join(" ")) };
        let inside = if once {
            self.assign(&scope, tensor, &place)
        } else {
            scope.home = Some((tensor, place.clone()));
            let mut inside = self.body(&scope);
            if !inside.contains(&place) {
                inside = format!("{inside} {}", self.assign(&scope, tensor, &place));
            }
            inside
        };
        self.tensors[tensor].done = true;
        format!("{open}{inside}{}", ")".repeat(closed))
    }

    /// Draws statements that write a tensor in any order.
    pub(super) fn writing(&mut self, tensor: usize, scope: &Scope) -> String {
        let name = self.tensors[tensor].name.clone();
        let mut text = self.statement(scope);
        let writes = |text: &str| text.contains(&format!("= {name} ")) || text.contains(&format!("= ({name} "));
        if !writes(&text) {
            // Add one loop per mode.
            let shape = self.tensors[tensor].shape.clone();
            let (mut inner, mut open) = (scope.clone(), String::new());
            let mut subscripts = Vec::new();
            for n in &shape {
                let index = self.fresh('i');
                open += &format!("(for {index} (range 0 {n}) ");
                inner = inner.within((index.clone(), 0, *n as i64));
                subscripts.push(index);
            }
            let place = if shape.is_empty() { name } else { format!("({name} {})", subscripts.join(" ")) };
            inner.home = Some((tensor, place.clone()));
            let body = format!("{} {}", self.body(&inner), self.assign(&inner, tensor, &place));
            text += &format!("\n{open}{body}{}", ")".repeat(shape.len()));
        }
        text
    }

    /// Adds a local that only one template uses.
    fn own(&mut self, shape: Vec<u64>, usage: Usage) -> usize {
        let name = self.fresh('w');
        let local = self.add(name, Role::Local, shape, usage);
        self.tensors[local].done = true;
        local
    }

    /// Draws a `where`: statements that write a local, and statements that read it.
    pub(super) fn workspace(&mut self, scope: &Scope) -> String {
        let rank = [0, 1, 1, 1, 2][self.rng.index(5)];
        let shape = (0..rank).map(|_| self.any_size()).collect();
        let usage = match (rank, self.rng.below(3)) {
            (0, _) => Usage::Free,
            (_, 0) => Usage::Appended,
            _ => Usage::Table,
        };
        let local = self.own(shape, usage);
        let mut producer = Scope { home: None, depth: scope.depth + 1, ..scope.clone() };
        producer.reads.remove(&local);
        if self.rng.chance(80) {
            producer.writes.clear();
        }
        let produced = match usage {
            Usage::Appended => self.home(local, &producer),
            _ => {
                producer.writes.insert(local);
                self.writing(local, &producer)
            }
        };
        let mut consumer = scope.deeper();
        consumer.reads.insert(local);
        consumer.writes.remove(&local);
        consumer.favourite = Some(local);
        let consumed = match self.statement(&consumer) {
            text if text.is_empty() => "(block)".to_owned(),
            text => text,
        };
        format!("(where (block {consumed}) (block {produced}))")
    }

    /// Draws a `while` with a counter. Some have a condition on tensors that the body writes.
    pub(super) fn turns(&mut self, scope: &Scope) -> String {
        let counter = self.own(Vec::new(), Usage::Free);
        let tensor = &mut self.tensors[counter];
        (tensor.dtype, tensor.fill) = (DType::I64, Scalar::I64(0));
        let name = tensor.name.clone();
        let mut inner = scope.deeper();
        inner.reads.insert(counter);
        inner.whiles += 1;
        // A tensor that is appended to must not be written in several rounds.
        inner.home = None;
        let most = 1 + self.rng.below(3);
        let condition = match self.rng.below(3) {
            0 => {
                let reads = scope.reads.iter().copied().filter(|t| self.tensors[*t].shape.is_empty()).collect();
                let condition =
                    self.condition(&Scope { loops: Vec::new(), vars: Vec::new(), reads, ..scope.clone() }, 1);
                format!("(and (lt {name} {most}) {condition})")
            }
            _ => format!("(lt {name} {most})"),
        };
        let nested = inner.whiles == 1 && self.budget > 0 && self.rng.chance(12);
        let body = if nested { self.turns(&inner) } else { self.body(&inner) };
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
    pub(super) fn buffers(&mut self, scope: &Scope) -> String {
        let shape: Vec<u64> = (0..1 + self.rng.index(5) / 4).map(|_| self.any_size()).collect();
        let old = self.own(shape.clone(), Usage::Table);
        let new = self.own(shape, Usage::Table);
        let (dtype, fill) = (self.tensors[old].dtype.clone(), self.tensors[old].fill.clone());
        let name = self.tensors[old].name.clone();
        let tensor = &mut self.tensors[new];
        (tensor.dtype, tensor.fill, tensor.twin) = (dtype, fill, Some(name));
        let counter = self.own(Vec::new(), Usage::Free);
        (self.tensors[counter].dtype, self.tensors[counter].fill) = (DType::I64, Scalar::I64(0));
        let [old_name, new_name, count] = [old, new, counter].map(|t| self.tensors[t].name.clone());
        let only = |scope: &Scope, tensor: usize| {
            let mut only = Scope { home: None, ..scope.deeper() };
            only.writes.clear();
            only.writes.insert(tensor);
            only
        };
        let first = self.writing(old, &only(scope, old));
        let mut step = only(scope, new);
        step.reads.insert(old);
        step.favourite = Some(old);
        step.whiles += 1;
        let next = self.writing(new, &step);
        let mut last = scope.deeper();
        last.reads.insert(old);
        last.favourite = Some(old);
        let result = self.statement(&last);
        let most = 1 + self.rng.below(3);
        format!(
            "(declare {old_name}) {first} (declare {count}) (= {count} 0) (while (lt {count} {most}) (declare {new_name}) {next} \
             (swap {old_name} {new_name}) (+= {count} 1)) {result}"
        )
    }
}
