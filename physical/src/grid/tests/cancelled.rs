//! Cancelled launches: the lanes of a team leave together, and teams that have not polled continue.

use super::broken::{HISTOGRAM, NEIGHBOURS, THROUGH_MEMORY, changed, faults, numbers};
use super::{grid, launch_until, one};
use crate::Error;
use crate::assembly::Status;
use crate::grid::{End, Fault, Grid, Place, Stmt, Writer, verify};
use arrow::buffer::Buffer as ArrowBuffer;

/// Returns the outcome of a launch of three chunks by two teams, cancelled after `step` steps.
fn end(grid: &Grid, inputs: &[ArrowBuffer], (step, seed): (u64, u64)) -> Result<End, Error> {
    let chunks = [0..6, 6..11, 11..16];
    launch_until(grid, inputs, &chunks, (16, 2, seed), step).map(|launched| launched.end)
}

/// The lanes of a team leave loops of every kind together, so that none waits for another.
#[test]
fn lanes_leave_together() {
    let cases = [
        (NEIGHBOURS, vec![Place::Team, Place::Shared], numbers(16).to_vec()),
        (HISTOGRAM, vec![Place::Shared], numbers(16).to_vec()),
        (THROUGH_MEMORY, vec![Place::Team, Place::Shared], vec![]),
    ];
    for ((text, owned, inputs), (lanes, steps)) in
        cases.iter().flat_map(|case| [(4, 1), (64, 4)].map(|team| (case, team)))
    {
        let whole = grid(text, owned, lanes);
        assert_eq!(verify(&whole), [], "{whole}");
        for seed in 0..48 {
            let early = end(&whole, inputs, (seed * steps, seed)).unwrap_or_else(|e| panic!("{e}\n{whole}"));
            assert_eq!(early, End::Status(Status::Cancelled), "{whole}");
            assert_eq!(end(&whole, inputs, (u64::MAX, seed)).unwrap(), End::Status(Status::Done));
        }
    }
}

/// Long chunks end in the middle only because their loops poll.
#[test]
fn loops_that_do_not_ask_run_to_their_end() {
    let whole = grid(THROUGH_MEMORY, &[Place::Team, Place::Shared], 4);
    let chunk = one(1);
    let ended = |grid: &Grid| launch_until(grid, &[], &chunk, (16, 1, 0), 40).unwrap().end;
    assert_eq!(ended(&whole), End::Status(Status::Cancelled));
    let deaf = changed(&whole, &mut |body, k| {
        let asks = body[k] == Stmt::Ask(Writer::Lead);
        if asks {
            body.remove(k);
        }
        asks
    });
    assert_eq!(ended(&deaf), End::Status(Status::Done));
}

/// A lane that ends alone is found, because others wait for it at a barrier.
#[test]
fn a_lane_that_asks_for_itself_alone_is_found() {
    let whole = grid(THROUGH_MEMORY, &[Place::Team, Place::Shared], 4);
    let broken = changed(&whole, &mut |body, k| match &mut body[k] {
        Stmt::Ask(by) => {
            *by = Writer::Each;
            true
        }
        _ => false,
    });
    assert!(faults(&broken).contains("here the first lane asks"), "{}", faults(&broken));
    let ends = (0..64).map(|seed| end(&broken, &[], (100 + seed, seed)));
    assert!(ends.into_iter().any(|end| matches!(end, Err(Error::Grid(Fault::Apart(_))))), "{broken}");
}

/// Polls in the middle of a round of a spread loop are rejected.
#[test]
fn questions_within_rounds_that_lanes_share_are_found() {
    let whole = grid(NEIGHBOURS, &[Place::Team, Place::Shared], 4);
    for (by, fault) in [(Writer::Each, "in the middle of a round"), (Writer::Lead, "here each lane asks")] {
        let broken = changed(&whole, &mut |body, k| {
            let Stmt::Spread { body: rounds, .. } = &mut body[k] else { return false };
            rounds.push(Stmt::Ask(by));
            true
        });
        assert!(faults(&broken).contains(fault), "{}", faults(&broken));
    }
}
