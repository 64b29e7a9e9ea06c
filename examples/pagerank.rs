//! PageRank of the karate club: a random walk along edges with occasional restarts.
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use redpoll::datasets::{read_bytes, sample};
use redpoll::logic::Prim;
use redpoll::{Error, Session};

fn main() -> Result<(), Error> {
    let session = Session::default();
    let karate = sample("karate").expect("the sample ships with redpoll");
    let (edges, _) = read_bytes(karate.file_name, karate.bytes, &Default::default())?.into_tensor(None)?;
    let edges = session.array(edges).astype(Prim::F64);
    let n = edges.shape()?[0];

    // The walk leaves a node along each of its edges with equal probability. Degrees are at least
    // 1, so that 0 divided by a degree is 0 and the quotient stays sparse.
    let degree = edges.sum(1).maximum(1.0);
    let walk = (&edges / degree.expand_dims(1)).t().to_csr();
    walk.compute()?;
    let mut rank = session.full([n], 1.0 / n as f64);
    for step in 1.. {
        let next = 0.85 * walk.matmul(&rank) + 0.15 / n as f64;
        next.compute()?;
        let change = (&next - &rank).norm(1.0, ..).get::<f64>([])?;
        rank = next;
        if change < 1e-10 {
            println!("converged after {step} steps");
            break;
        }
    }

    let values = rank.to_vec::<f64>()?;
    println!("the ranks sum to {:.6}", values.iter().sum::<f64>());
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    for node in &order[..5] {
        println!("node {:>2} has rank {:.4}", node + 1, values[*node]);
    }
    Ok(())
}
