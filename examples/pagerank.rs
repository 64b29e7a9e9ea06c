//! PageRank of the karate club: a random walk along edges with occasional restarts.
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use redpoll::prelude::*;

fn main() -> Result<(), Error> {
    let session = Session::default();
    let edges = session.sample("karate")?.astype(Prim::F64);
    let n = edges.shape()?[0];

    // The walk leaves a node along each of its edges with equal probability. Degrees are raised to
    // at least 1, so that 0 divided by a degree is 0 and the quotient stays sparse.
    let walk = (&edges / edges.sum(1).maximum(1.0).expand_dims(1)).t().to_csr();
    walk.compute()?;
    let mut rank = session.full([n], 1.0 / n as f64);
    for step in 1.. {
        let next = 0.85 * walk.matmul(&rank) + 0.15 / n as f64;
        next.compute()?;
        let change = (&next - &rank).norm(1.0, ..).item::<f64>()?;
        rank = next;
        if change < 1e-10 {
            println!("converged after {step} steps");
            break;
        }
    }

    println!("the ranks sum to {:.6}", rank.sum(..));
    let (ranks, nodes) = rank.top_k(5, 0)?;
    for (node, rank) in nodes.to_vec::<i64>()?.iter().zip(ranks.to_vec::<f64>()?) {
        println!("node {:>2} has rank {rank:.4}", node + 1);
    }
    Ok(())
}
