//! Transformation `bound`: states the number of rounds of a loop.

use super::super::linear::Linear;
use super::super::order::max_rounds;
use super::super::{Expr, Program, RoundBound, Stmt};
use super::extent::{min, plus};
use super::nest::{ForLoop, find, new_variable, replace_once};
use super::new_index;
use super::unroll::rename_locals;

/// Checks the number of rounds of the loop of `name`. If the number is computed at run time,
/// `rounds` must be a maximum. Unless the loop provably keeps to this maximum, rounds beyond it
/// move to a second loop, so that the first loop has a constant bound.
pub(super) fn bound(program: Program, name: &str, rounds: RoundBound) -> Result<Program, String> {
    let at = find(&program, name)?;
    replace_once(program, at, |program, l| {
        let maximum = match (l.length(), rounds) {
            (Some(n), RoundBound::Exactly(rounds)) if n == i128::from(rounds) => return Ok(l.into()),
            (Some(n), RoundBound::AtMost(rounds)) if n <= i128::from(rounds) => return Ok(l.into()),
            (Some(n), _) => return Err(format!("the loop of `{name}` has {n} rounds")),
            (None, RoundBound::Exactly(_)) => {
                return Err(format!(
                    "the number of rounds of the loop of `{name}` is computed at run time; give an upper bound, \
                     `at-most(N)`"
                ));
            }
            (None, RoundBound::AtMost(rounds)) => {
                i64::try_from(rounds).map_err(|_| format!("{rounds} rounds do not fit an i64"))?
            }
        };
        let (begin, hi) = l.extent.clone();
        // If the begin of the loop is not a linear form, such as a value that is read, no constant
        // distance from the begin can be proved. So a variable takes this value: a distance from a
        // variable can be proved constant.
        let variable = match Linear::of(&begin) {
            Some(_) => None,
            None => Some(new_variable(program, "begin", &begin)?),
        };
        let lo = variable.map_or_else(|| begin.clone(), Expr::Var);
        if max_rounds(&lo, &hi).is_some_and(|n| n <= maximum) {
            return Ok(l.into());
        }
        let rest = new_index(program, &format!("{name}_rest"))?;
        let limit = plus(&lo, &Expr::int(maximum));
        let body = rename_locals(program, l.body.clone().with_index(at, &Expr::Index(rest)));
        let remaining = (limit.clone(), hi.clone());
        let remaining = ForLoop { index: rest, extent: remaining, rounds: l.rounds, body: Box::new(body) };
        let first = ForLoop { extent: (lo, min(limit, hi)), ..l };
        let loops = Stmt::block([first.into(), remaining.into()]);
        Ok(match variable {
            Some(var) => Stmt::Let { var, value: begin, body: Box::new(loops) },
            None => loops,
        })
    })
}
