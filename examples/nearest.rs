//! Nearest neighbours of each row of a sparse matrix by cosine similarity: women are near if they
//! attended the same events.
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use redpoll::prelude::*;

fn main() -> Result<(), Error> {
    let session = Session::default();
    let attended = session.sample("davis")?.astype(Prim::F64);
    let women = attended.shape()?[0];
    // cos(a, b) = a.b / (|a| |b|). A row is not its own neighbour.
    let length = attended.norm(2.0, 1);
    let cosine = attended.matmul(attended.t()) / length.outer(&length);
    let similarity = session.eye(women, women, 0, Prim::Bool).where_(-1.0, cosine);
    let (cosines, neighbours) = similarity.top_k(3, 1)?;
    println!("nearest women, from 0:\n{neighbours}\ncosines:\n{cosines:.3}");
    Ok(())
}
