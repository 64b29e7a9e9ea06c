//! Random programs in which some arrays are computed, kept and evicted, compared with the same
//! programs without kept tensors.

use super::RecordedChoices;
use super::draw::dense_values;
use super::program::{ProgramStep, compare, draw_program};
use crate::engines::{error_chain, run_phase};
use crate::rng::Rng;
use redpoll::Session;
use redpoll::logic::physical::FormatDisplay;
use redpoll::logic::{Format, TensorType};
use redpoll::storage::{Account, Tensor};

/// Evicts all tensors that the session keeps and can compute again.
pub fn evict_kept(session: &Session) {
    let budget = &session.limits().memory;
    if budget.charge(budget.limit()) {
        budget.release(budget.limit());
    }
}

/// Draws a program twice. Computes random arrays of the second copy, some while the program is
/// drawn and some afterwards, and evicts the kept tensors at random times in between. Returns the
/// number of computations that succeed; an array may be computed several times.
///
/// # Errors
/// Returns a description of the results that differ between the two copies.
pub fn check_computed(seed: u64) -> Result<usize, String> {
    let plain = draw_program(RecordedChoices::from_seed(seed), &mut |_| ());
    let (mut rng, mut log, mut computed) = (Rng::new(seed ^ 0x5eed), String::new(), 0);
    let mut visit = |step: &ProgramStep, percent: u64| {
        if rng.below(100) < percent {
            let is_kept = run_phase("compute", || step.array.compute().map_err(|error| error_chain(&error))).is_ok();
            log += &format!("\n{} is{} computed", step.name, if is_kept { "" } else { " not" });
            computed += usize::from(is_kept);
        }
        if rng.below(100) < 10 {
            log += "\nevict";
            evict_kept(step.array.session());
        }
    };
    let program = draw_program(RecordedChoices::from_seed(seed), &mut |step| visit(step, 35));
    if program.failure.is_none() {
        for _ in 0..2 {
            program.steps.iter().for_each(|step| visit(step, 25));
        }
    }
    let steps = program.steps.iter().zip(&plain.steps);
    let differences: Vec<String> = steps.filter_map(|(step, plain)| difference(step, plain)).collect();
    match differences.is_empty() {
        true => Ok(computed),
        false => Err(format!("seed {seed}: {}{log}\n{}", program.text, differences.join("\n"))),
    }
}

/// Compares an array with its copy without kept tensors. Returns the first difference: other
/// values, another type, or a failure of only one of the two. The arrays are compared twice: in the
/// formats that the optimizer chooses by cost, which may differ, and in a requested format, which
/// must be the same. If only the array can be computed in the requested format, this is no
/// difference.
fn difference(step: &ProgramStep, plain: &ProgramStep) -> Option<String> {
    let format = Format::csf(step.array.rank().unwrap_or_default());
    let collect = |step: &ProgramStep, is_formatted| {
        let array = if is_formatted { step.array.reformat(format.clone()) } else { step.array.clone() };
        run_phase("collect", || array.collect().map_err(|error| error_chain(&error)))
    };
    [false, true].into_iter().find_map(|is_formatted| {
        let (found, expected) = match (collect(step, is_formatted), collect(plain, is_formatted)) {
            (Ok(found), Ok(expected)) => (found, expected),
            (Err(_), Err(_)) => return None,
            (Ok(_), Err(_)) if is_formatted => return None,
            (Err(failure), Ok(_)) | (Ok(_), Err(failure)) => {
                return Some(format!("{}: only one copy fails: {}", step.name, failure.message));
            }
        };
        let type_of = |tensor: &Tensor| {
            let TensorType { shape, dtype, fill, format } = &**tensor.ty();
            let format = if is_formatted { FormatDisplay(format).to_string() } else { String::new() };
            format!("{shape:?} of {dtype} with fill value {fill} {format}")
        };
        let (ty, expected_ty) = (type_of(&found), type_of(&expected));
        if ty != expected_ty {
            return Some(format!("{} is {ty}, expected {expected_ty}", step.name));
        }
        let expected = ProgramStep { dense: dense_values(&expected), ..plain.clone() };
        compare("values", &expected, &dense_values(&found)).err().map(|failure| failure.message)
    })
}
