//! Random schedules, and loops whose ranges are implied by their accesses.

use super::forms::{normal_form, written_program};
use super::{ProgramCase, Usage};
use redpoll_compiler::notation::Role;
use redpoll_logic::sexpr::{Sexpr, read_one};
use redpoll_logic::testing::Rng;

/// A loop of the program text.
struct TextLoop {
    name: String,
    /// Half-open bounds, if they are constant.
    bounds: Option<(i64, i64)>,
    /// Name of the inner loop, if the body is exactly one loop.
    inner: Option<String>,
}

/// Adds random transformations to the schedule of a program, and drops each transformation that
/// makes the program invalid.
pub(super) fn draw_schedule(rng: &mut Rng, case: &mut ProgramCase) {
    let mut loops = Vec::new();
    case.body.iter().for_each(|s| collect(s, &mut loops));
    if loops.is_empty() || normal_form(case).is_err() {
        return;
    }
    for _ in 0..1 + rng.index(4) {
        let before = case.schedule.len();
        let steps = transformation(rng, case, &loops);
        case.schedule.extend(steps.iter().map(|s| read_one(s).expect("well-formed")));
        if normal_form(case).is_err() {
            case.schedule.truncate(before);
        }
    }
}

/// Omits some of the ranges that accesses imply.
pub(super) fn omit_ranges(rng: &mut Rng, case: &mut ProgramCase) {
    let mut loops = Vec::new();
    case.body.iter().for_each(|s| collect(s, &mut loops));
    let Ok(complete) = written_program(case) else { return };
    for l in loops.iter().filter(|l| l.bounds.is_some_and(|(lo, _)| lo == 0)) {
        if !rng.chance(60) {
            continue;
        }
        case.implied_ranges.push(l.name.clone());
        let same = case.program_with_inferred_ranges().is_ok_and(|program| program.body == complete.body);
        if !same || normal_form(case).is_err() {
            case.implied_ranges.pop();
        }
    }
}

fn collect(s: &Sexpr, loops: &mut Vec<TextLoop>) {
    let Some(items) = s.as_list() else { return };
    if let [head, index, range, body @ ..] = items
        && head.as_atom() == Some("for")
        && let Some(name) = index.as_atom()
    {
        let bounds = match range.as_form() {
            Some(("range", [lo, hi])) => number(lo).zip(number(hi)),
            _ => None,
        };
        let inner = match body {
            [one] => match one.as_form() {
                Some(("for", [index, ..])) => index.as_atom().map(str::to_owned),
                _ => None,
            },
            _ => None,
        };
        loops.push(TextLoop { name: name.to_owned(), bounds, inner });
    }
    items.iter().for_each(|item| collect(item, loops));
}

fn number(s: &Sexpr) -> Option<i64> {
    s.as_atom()?.parse().ok()
}

/// Draws a transformation, or two transformations that belong together.
fn transformation(rng: &mut Rng, case: &ProgramCase, loops: &[TextLoop]) -> Vec<String> {
    let l = rng.pick(loops);
    let (name, number) = (&l.name, case.schedule.len());
    let (outer, inner) = (format!("o{number}"), format!("n{number}"));
    let input = case.tensors.iter().filter(|t| t.constraints.usage == Usage::Input && !t.ty.shape.is_empty());
    let inputs: Vec<&str> = input.map(|t| t.name.as_str()).collect();
    let blocks = |rng: &mut Rng| match rng.below(4) {
        0 | 1 => format!("{}", 1 + rng.below(4)),
        2 if !inputs.is_empty() => {
            let blocks = if rng.chance(50) { "into" } else { "of" };
            format!("({blocks} {} (stored {}))", 1 + rng.below(3), rng.pick(&inputs))
        }
        _ => format!("(into {})", 1 + rng.below(3)),
    };
    match rng.below(10) {
        0 | 1 => vec![format!("(split {name} {outer} {inner} {})", blocks(rng))],
        2 => match &l.inner {
            Some(other) => vec![format!("(reorder {other} {name})")],
            None => vec![format!("(bound {name} (at-most {}))", rng.below(6))],
        },
        3 | 4 => match &l.inner {
            Some(other) => vec![
                format!("(collapse {name} {other} p{number})"),
                format!("(split p{number} {outer} {inner} {})", blocks(rng)),
            ],
            None => vec![format!("(unroll {name})")],
        },
        5 => {
            let outputs = case.tensors.iter().filter(|t| t.role == Role::Output);
            let outputs: Vec<&str> = outputs.map(|t| t.name.as_str()).collect();
            let of: Vec<&str> = inputs.iter().copied().filter(|_| rng.chance(60)).collect();
            let format = if rng.chance(40) { " (byte-map (element))" } else { "" };
            let over = l.inner.as_ref().filter(|_| rng.chance(70)).unwrap_or(name);
            let target = *rng.pick(&outputs);
            vec![format!("(precompute u{number} {target} ({}) ({over} {over}c {over}p){format})", of.join(" "))]
        }
        6 => vec![format!("(parallel {name})")],
        7 => vec![format!("(lanes {name} {})", 2 << rng.below(3))],
        8 => match rng.below(3) {
            0 => vec![format!("(unroll {name})")],
            _ => vec![format!("(unroll {name} {})", 1 + rng.below(4))],
        },
        _ => {
            let rounds = l.bounds.map_or_else(|| rng.below(4) as i64, |(lo, hi)| (hi - lo).max(0));
            match rng.below(2) {
                0 => vec![format!("(bound {name} (at-most {}))", rounds + rng.below(2) as i64)],
                _ => vec![format!("(bound {name} {rounds})")],
            }
        }
    }
}
