//! PageRank of the karate club: a random walk along edges with occasional restarts.
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use redpoll::prelude::*;

fn main() -> Result<(), Error> {
    let session = Session::default();
    let edges = session.sample("karate")?.astype(Prim::F64);
    let n = edges.shape()?[0] as f64;
    // The walk leaves a node along each of its edges with equal probability.
    let walk = (&edges / edges.sum(1).expand_dims(1)).t().to_csr();
    walk.compute()?;
    let (mut rank, mut change) = (session.full([n as u64], 1.0 / n), 1.0);
    while change > 1e-10 {
        let next = 0.85 * walk.matmul(&rank) + 0.15 / n;
        next.compute()?;
        change = (&next - &rank).norm(1.0, ..).item::<f64>()?;
        rank = next;
    }
    let (ranks, nodes) = rank.top_k(5, 0)?;
    println!("the ranks sum to {:.6}\nhighest ranks: {ranks:.4}\nof the nodes, from 0: {nodes}", rank.sum(..));
    Ok(())
}
