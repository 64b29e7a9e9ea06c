//! Masks of images: erosion, edges and overlap of two shapes, computed by logical operators on
//! whole arrays. Redpoll fuses the operators into few passes.
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use redpoll::prelude::*;

const SIZE: i64 = 24;

fn main() -> Result<(), Error> {
    let session = Session::default();
    let y = session.arange(0, SIZE, 1).expand_dims(1);
    let x = session.arange(0, SIZE, 1);
    let disc = ((&x - 9).square() + (&y - 9).square()).less_equal(49);
    let square = x.greater(10).logical_and(x.less(22)).logical_and(y.greater(10).logical_and(y.less(22)));

    let both = disc.logical_and(&square);
    let edge = disc.logical_xor(eroded(&disc)).logical_or(square.logical_xor(eroded(&square)));
    let picture = both.where_(2, edge.where_(1, 0));

    let pixels = picture.to_vec::<i32>()?;
    for row in pixels.chunks(SIZE as usize) {
        println!("{}", row.iter().map(|p| [' ', '.', '#'][*p as usize]).collect::<String>());
    }
    let [disc, square, both, edge] = [disc, square, both, edge].map(|mask| mask.count_nonzero(..));
    println!("disc {disc}, square {square}, both {both}, edges {edge}");
    Ok(())
}

/// Returns the pixels of the mask whose neighbours above, below, left and right are all in the
/// mask.
fn eroded(mask: &Array) -> Array {
    let moved = |dy: i64, dx: i64| mask.pad([(dy, -dy), (dx, -dx)], false);
    moved(1, 0).logical_and(moved(-1, 0)).logical_and(moved(0, 1)).logical_and(moved(0, -1)).logical_and(mask)
}
