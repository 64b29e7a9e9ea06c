//! Nearest neighbours of each row of a sparse matrix by cosine similarity: women are near if they
//! attended the same events.
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use redpoll::prelude::*;

/// Number of neighbours of each row.
const NEIGHBOURS: u64 = 3;

fn main() -> Result<(), Error> {
    let session = Session::default();
    let attended = session.sample("davis")?.astype(Prim::F64);
    let women = attended.shape()?[0];

    // cos(a, b) = a.b / |a| |b|. A row is not its own neighbour.
    let length = attended.norm(2.0, 1);
    let cosine = attended.matmul(attended.t()) / length.outer(&length);
    let similarity = session.eye(women, women, 0, Prim::Bool).where_(-1.0, cosine);

    let (similarities, neighbours) = similarity.top_k(NEIGHBOURS, 1)?;
    for row in 0..5 {
        let members = neighbours.slice(index![row]).to_vec::<i64>()?;
        let cosines = similarities.slice(index![row]).to_vec::<f64>()?;
        let near: Vec<String> = members.iter().zip(cosines).map(|(m, cos)| format!("{} ({cos:.3})", m + 1)).collect();
        println!("woman {:>2}: {}", row + 1, near.join(", "));
    }
    println!("mean similarity to the nearest: {:.4}", similarities.slice(index![.., 0]).mean(..));
    Ok(())
}
