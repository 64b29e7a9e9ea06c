//! Label propagation: finds the two factions of the karate club from one labelled member of each
//! faction.
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use redpoll::prelude::*;

/// Numbers, from 1, of the members who stayed with the instructor when the club split (Zachary, "An
/// information flow model for conflict and fission in small groups", 1977).
const INSTRUCTOR: [i64; 17] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22];

fn main() -> Result<(), Error> {
    let session = Session::default();
    let edges = session.sample("karate")?.astype(Prim::F64);
    let n = edges.shape()?[0];
    // One row of scores per member; the instructor (1) and the president (34) are labelled.
    let labels = session.triples([n, 2], Format::csf(2), [([0, 0], 1.0), ([33, 1], 1.0)]);
    let fixed = labels.any(1).expand_dims(1);
    let mean = &edges / edges.sum(1).expand_dims(1);
    mean.compute()?;
    let mut scores = labels.clone();
    for _ in 0..30 {
        scores = fixed.where_(&labels, mean.matmul(&scores));
        scores.compute()?;
    }
    let with_instructor = scores.argmax(1).equal(0);
    let is_right = session.arange(1, n as i64 + 1, 1).isin(session.vector(INSTRUCTOR))?.equal(&with_instructor);
    println!("{} of {n} members with the instructor", with_instructor.count_nonzero(..));
    println!("{} match the split in the paper", is_right.count_nonzero(..));
    Ok(())
}
