//! Nearest neighbours of each row of a sparse matrix by cosine similarity: the women who attended
//! the same events.
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use redpoll::datasets::{read_bytes, sample};
use redpoll::logic::Prim;
use redpoll::{Error, Session};

/// Number of neighbours of each row.
const NEIGHBOURS: usize = 3;

fn main() -> Result<(), Error> {
    let session = Session::default();
    let davis = sample("davis").expect("the sample ships with redpoll");
    let (attended, _) = read_bytes(davis.file_name, davis.bytes, &Default::default())?.into_tensor(None)?;
    let attended = session.array(attended).astype(Prim::F64);
    let women = attended.shape()?[0];

    // cos(a, b) = a.b / |a| |b|. A row is not its own neighbour.
    let length = attended.norm(2.0, 1);
    let cosine = attended.matmul(attended.t()) / length.outer(&length);
    let is_diagonal = session.eye(women, women, 0, Prim::Bool);
    let mut similarity = is_diagonal.where_(-1.0, cosine);

    let mut nearest: Vec<(Vec<i64>, Vec<f64>)> = Vec::new();
    for _ in 0..NEIGHBOURS {
        similarity.compute()?;
        let (best, most) = (similarity.argmax(1), similarity.max(1));
        session.compute_all([&best, &most])?;
        nearest.push((best.to_vec()?, most.to_vec()?));
        // Neighbours found so far are excluded from the next round.
        let is_found = session.arange(0, women as i64, 1).equal(best.expand_dims(1));
        similarity = is_found.where_(-1.0, &similarity);
    }

    for row in 0..5 {
        let near: Vec<String> = nearest
            .iter()
            .map(|(members, similarities)| format!("{} ({:.3})", members[row] + 1, similarities[row]))
            .collect();
        println!("woman {:>2}: {}", row + 1, near.join(", "));
    }
    let first: f64 = nearest[0].1.iter().sum::<f64>() / women as f64;
    println!("mean similarity to the nearest: {first:.4}");
    Ok(())
}
