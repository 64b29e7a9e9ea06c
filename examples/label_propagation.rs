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
    // Degrees are raised to at least 1, so that 0 divided by a degree is 0 and the quotient stays
    // sparse.
    let degree = edges.sum(1).maximum(1.0);
    let mean = &edges / degree.expand_dims(1);
    mean.compute()?;
    let mut scores = labels.clone();
    for _ in 0..30 {
        scores = fixed.where_(&labels, mean.matmul(&scores));
        scores.compute()?;
    }

    // Side 0 is the side of the instructor.
    let side = scores.argmax(1);
    side.compute()?;
    let with_president = side.sum(..).item::<i64>()? as u64;
    println!("{} members with the instructor, {with_president} with the president", n - with_president);
    let is_right = session.arange(1, n as i64 + 1, 1).isin(session.vector(INSTRUCTOR))?.equal(side.equal(0));
    println!("{} of {n} match the split of 1977", is_right.count_nonzero(..));
    println!("scores of member 3: {:.3?}", scores.slice(index![2]).to_vec::<f64>()?);
    Ok(())
}
