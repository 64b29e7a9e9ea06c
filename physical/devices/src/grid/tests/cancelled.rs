//! Cancelled launches: the lanes of a team end their chunk together.

use super::broken::{HISTOGRAM, NEIGHBOURS, THROUGH_MEMORY, changed, faults, numbers};
use super::{grid, launch_until, one};
use crate::Error;
use crate::grid::{ActiveLanes, Grid, GridFault, LaunchOutcome, MemorySpace, Stmt, TeamStmt, verify};
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::Status;

/// Returns the outcome of a launch of three chunks by two teams, cancelled after `step` steps.
fn outcome(grid: &Grid, inputs: &[ArrowBuffer], (step, seed): (u64, u64)) -> Result<LaunchOutcome, Error> {
    let chunks = [0..6, 6..11, 11..16];
    launch_until(grid, inputs, &chunks, (16, 2, seed), step).map(|launched| launched.outcome)
}

/// Asserts that the lanes of a team end their chunk together, inside and outside spread loops: no
/// lane waits at a barrier for a lane that has left.
#[test]
fn lanes_leave_together() {
    let cases = [
        (NEIGHBOURS, vec![MemorySpace::Team, MemorySpace::Shared], numbers(16).to_vec()),
        (HISTOGRAM, vec![MemorySpace::Shared], numbers(16).to_vec()),
        (THROUGH_MEMORY, vec![MemorySpace::Team, MemorySpace::Shared], vec![]),
    ];
    for ((text, owned, inputs), (lanes, steps)) in
        cases.iter().flat_map(|case| [(4, 1), (64, 4)].map(|team| (case, team)))
    {
        let valid = grid(text, owned, lanes);
        assert_eq!(verify(&valid), [], "{valid}");
        for seed in 0..48 {
            let early = outcome(&valid, inputs, (seed * steps, seed)).unwrap_or_else(|e| panic!("{e}\n{valid}"));
            assert_eq!(early, LaunchOutcome::Status(Status::Cancelled), "{valid}");
            assert_eq!(outcome(&valid, inputs, (u64::MAX, seed)).unwrap(), LaunchOutcome::Status(Status::Done));
        }
    }
}

/// Asserts that polls in loops, and nothing else, end a cancelled chunk before its last round.
#[test]
fn loops_without_polls_run_to_their_end() {
    let valid = grid(THROUGH_MEMORY, &[MemorySpace::Team, MemorySpace::Shared], 4);
    let chunk = one(1);
    let outcome_of = |grid: &Grid| launch_until(grid, &[], &chunk, (16, 1, 0), 40).unwrap().outcome;
    assert_eq!(outcome_of(&valid), LaunchOutcome::Status(Status::Cancelled));
    let without_polls = changed(&valid, &mut |body, k| {
        let is_poll = body[k] == Stmt::Extension(TeamStmt::Poll(ActiveLanes::Lead));
        if is_poll {
            body.remove(k);
        }
        is_poll
    });
    assert_eq!(outcome_of(&without_polls), LaunchOutcome::Status(Status::Done));
}

/// Asserts that the verifier and the interpreter reject polls by each lane outside spread loops: if
/// one lane left alone, the other lanes would wait at a barrier.
#[test]
fn a_poll_by_each_lane_is_found() {
    let valid = grid(THROUGH_MEMORY, &[MemorySpace::Team, MemorySpace::Shared], 4);
    let broken = changed(&valid, &mut |body, k| match &mut body[k] {
        Stmt::Extension(TeamStmt::Poll(active)) => {
            *active = ActiveLanes::Each;
            true
        }
        _ => false,
    });
    assert!(
        faults(&broken).contains("a poll for cancellation by each lane, expected the first lane"),
        "{}",
        faults(&broken)
    );
    let outcomes = (0..64).map(|seed| outcome(&broken, &[], (100 + seed, seed)));
    assert!(
        outcomes.into_iter().any(|outcome| matches!(outcome, Err(Error::Grid(GridFault::Divergence(_))))),
        "{broken}"
    );
}

/// Asserts that the verifier rejects polls after the start of a round of a spread loop, by each
/// lane or by the first lane.
#[test]
fn polls_within_rounds_are_found() {
    let valid = grid(NEIGHBOURS, &[MemorySpace::Team, MemorySpace::Shared], 4);
    for (active, fault) in [
        (ActiveLanes::Each, "in the middle of a round"),
        (ActiveLanes::Lead, "a poll for cancellation by the first lane, expected each lane"),
    ] {
        let broken = changed(&valid, &mut |body, k| {
            let Stmt::Extension(TeamStmt::Spread { body: rounds, .. }) = &mut body[k] else { return false };
            rounds.push(Stmt::Extension(TeamStmt::Poll(active)));
            true
        });
        assert!(faults(&broken).contains(fault), "{}", faults(&broken));
    }
}
