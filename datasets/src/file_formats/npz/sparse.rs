//! SciPy's sparse layouts as triples.

use super::archive::Archive;
use super::header::Header;
use crate::content::{Data, Layout, MAX_DIMENSION, MAX_RANK};
use crate::error::{At, Count, Fault, Located};
use crate::values::{Values, map_values};

/// The layout that `format` names; a block's size is that of `data`.
pub(super) fn layout(format: &str, data: &Header) -> Result<Layout, Located> {
    let (layout, rank) = match format {
        "coo" => (Layout::Coordinate, 1),
        "csr" => (Layout::Csr, 1),
        "csc" => (Layout::Csc, 1),
        "dia" => (Layout::Dia, 2),
        "bsr" => match data.shape[..] {
            [_, rows, columns] if rows > 0 && columns > 0 => (Layout::Bsr { rows, columns }, 3),
            _ => (Layout::Bsr { rows: 1, columns: 1 }, 3),
        },
        other => {
            let expected = "a sparse format (coo, csr, csc, bsr, dia)";
            return Err(
                Fault::malformed(expected, format!("`{}`", other.escape_debug())).at(At::Array("format".into()))
            );
        }
    };
    if data.shape.len() != rank || (rank == 3 && data.shape[1..].contains(&0)) {
        let found = format!("the shape {:?}", data.shape);
        return Err(
            Fault::malformed(format!("values of {rank} modes for {format}"), found).at(At::Array("data".into()))
        );
    }
    Ok(layout)
}

/// The shape of the tensor.
pub(super) fn shape(archive: &mut Archive<'_>, layout: Layout) -> Result<Vec<u64>, Located> {
    let (_, shape) = archive.naturals("shape", 1)?;
    let expected = match layout {
        Layout::Coordinate => 1..=MAX_RANK,
        Layout::Csr => 1..=2,
        _ => 2..=2,
    };
    let here = At::Array("shape".into());
    if !expected.contains(&shape.len()) {
        let (least, most) = (expected.start(), expected.end());
        return Err(Fault::malformed(format!("{least} to {most} modes for {layout}"), shape.len().to_string()).at(here));
    }
    if let Some(&size) = shape.iter().find(|&&d| d > MAX_DIMENSION) {
        return Err(Fault::TooLarge { what: "a dimension", size: Count(Some(size)), limit: MAX_DIMENSION }.at(here));
    }
    Ok(shape)
}

/// The entries.
pub(super) fn read(archive: &mut Archive<'_>, layout: Layout, shape: &[u64]) -> Result<Data, Located> {
    match layout {
        Layout::Csr => compressed(archive, shape, shape.len() - 1),
        Layout::Csc => compressed(archive, shape, 0),
        Layout::Bsr { rows, columns } => blocks(archive, shape, [rows, columns]),
        Layout::Dia => diagonals(archive, shape),
        _ => coordinates(archive, shape),
    }
}

fn check_length(name: &str, expected: u64, found: usize) -> Result<(), Located> {
    if expected == found as u64 {
        return Ok(());
    }
    Err(Fault::malformed(format!("{expected} entries"), found.to_string()).at(At::Array(name.into())))
}

/// Checks coordinates against the size of their mode.
fn check_range(name: &str, mode: usize, dimension: u64, coordinates: &[u64]) -> Result<(), Located> {
    match coordinates.iter().position(|&i| i >= dimension) {
        None => Ok(()),
        Some(k) => {
            let coordinate = coordinates[k];
            Err(Fault::OutOfRange { mode, coordinate, first: 0, dimension }.at(At::Entry(name.into(), k as u64)))
        }
    }
}

fn truncated(values: Values, length: usize) -> Values {
    map_values!(values, v => { let mut v = v; v.truncate(length); v })
}

fn coordinates(archive: &mut Archive<'_>, shape: &[u64]) -> Result<Data, Located> {
    let values = archive.array("data")?.values;
    let entries = values.len();
    let mut coordinates = Vec::with_capacity(shape.len());
    if archive.contains("coords") {
        let (extent, all) = archive.naturals("coords", 2)?;
        if extent != [shape.len() as u64, entries as u64] {
            let expected = format!("the shape [{}, {entries}]", shape.len());
            return Err(Fault::malformed(expected, format!("{extent:?}")).at(At::Array("coords".into())));
        }
        for (mode, &dimension) in shape.iter().enumerate() {
            let of_mode = all[mode * entries..(mode + 1) * entries].to_vec();
            check_range("coords", mode, dimension, &of_mode)?;
            coordinates.push(of_mode);
        }
    } else {
        if shape.len() != 2 {
            return Err(Fault::malformed("an array of that name, as the shape has not two modes", "none")
                .at(At::Array("coords".into())));
        }
        for (mode, name) in ["row", "col"].into_iter().enumerate() {
            let (_, of_mode) = archive.naturals(name, 1)?;
            check_length(name, entries as u64, of_mode.len())?;
            check_range(name, mode, shape[mode], &of_mode)?;
            coordinates.push(of_mode);
        }
    }
    Ok(Data::Triples { coordinates, values })
}

/// `indptr`, checked: one more than there are fibers, from 0, not descending, within the entries.
fn pointers(archive: &mut Archive<'_>, fibers: u64, entries: usize) -> Result<Vec<u64>, Located> {
    let (_, ptr) = archive.naturals("indptr", 1)?;
    check_length("indptr", fibers + 1, ptr.len())?;
    let at = |k: usize| At::Entry("indptr".into(), k as u64);
    if ptr[0] != 0 {
        return Err(Fault::malformed("0", ptr[0].to_string()).at(at(0)));
    }
    if let Some(k) = (1..ptr.len()).find(|&k| ptr[k] < ptr[k - 1]) {
        return Err(
            Fault::malformed(format!("at least {}, the entry before", ptr[k - 1]), ptr[k].to_string()).at(at(k))
        );
    }
    let last = ptr[ptr.len() - 1];
    if last > entries as u64 {
        return Err(Fault::malformed(format!("at most {entries}, the number of entries"), last.to_string())
            .at(at(ptr.len() - 1)));
    }
    Ok(ptr)
}

/// The fiber of each entry.
fn expand(ptr: &[u64]) -> Vec<u64> {
    let mut fibers = Vec::with_capacity(ptr[ptr.len() - 1] as usize);
    for (fiber, bounds) in ptr.windows(2).enumerate() {
        fibers.resize(bounds[1] as usize, fiber as u64);
    }
    fibers
}

/// Compressed fibers along mode `inner`: rows of csr, columns of csc. Of one mode there is one fiber.
fn compressed(archive: &mut Archive<'_>, shape: &[u64], inner: usize) -> Result<Data, Located> {
    let values = archive.array("data")?.values;
    let (_, mut indices) = archive.naturals("indices", 1)?;
    let fibers = if shape.len() == 1 { 1 } else { shape[1 - inner] };
    let ptr = pointers(archive, fibers, indices.len().min(values.len()))?;
    let outer = expand(&ptr);
    // SciPy leaves room behind the last entry sometimes.
    indices.truncate(outer.len());
    check_range("indices", inner, shape[inner], &indices)?;
    let values = truncated(values, outer.len());
    let coordinates = match (shape.len(), inner) {
        (1, _) => vec![indices],
        (_, 1) => vec![outer, indices],
        _ => vec![indices, outer],
    };
    Ok(Data::Triples { coordinates, values })
}

fn blocks(archive: &mut Archive<'_>, shape: &[u64], block: [u64; 2]) -> Result<Data, Located> {
    let data = archive.array("data")?;
    let (_, indices) = archive.naturals("indices", 1)?;
    for mode in 0..2 {
        if !shape[mode].is_multiple_of(block[mode]) {
            let expected = format!("a multiple of the block's {} in mode {mode}", block[mode]);
            return Err(Fault::malformed(expected, shape[mode].to_string()).at(At::Array("shape".into())));
        }
    }
    let available = indices.len().min(data.shape[0] as usize);
    let ptr = pointers(archive, shape[0] / block[0], available)?;
    let block_rows = expand(&ptr);
    check_range("indices", 1, shape[1] / block[1], &indices[..block_rows.len()])?;
    // Blocks that are there were read, so their size is sound; without any it may be whatever the header says.
    let count = block_rows.len() * block[0].saturating_mul(block[1]) as usize;
    let (mut i, mut j) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (&row, &column) in block_rows.iter().zip(&indices) {
        for r in 0..block[0] {
            for c in 0..block[1] {
                i.push(row * block[0] + r);
                j.push(column * block[1] + c);
            }
        }
    }
    Ok(Data::Triples { coordinates: vec![i, j], values: truncated(data.values, count) })
}

/// `data[d, j]` is the value at row `j - offsets[d]` and column `j`.
fn diagonals(archive: &mut Archive<'_>, shape: &[u64]) -> Result<Data, Located> {
    let data = archive.array("data")?;
    let offsets = archive.array("offsets")?.values;
    if offsets.prim().is_float() {
        return Err(Fault::malformed("integers", offsets.prim().to_string()).at(At::Array("offsets".into())));
    }
    check_length("offsets", data.shape[0], offsets.len())?;
    let width = data.shape[1];
    let zero = redpoll_logic::Scalar::zero(data.values.prim());
    let (mut i, mut j, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for d in 0..offsets.len() {
        let offset = offsets.get(d).to_i128().expect("an integer");
        for column in 0..width.min(shape[1]) {
            let place = d * width as usize + column as usize;
            let row = u64::try_from(i128::from(column) - offset).ok().filter(|&row| row < shape[0]);
            if let Some(row) = row.filter(|_| data.values.get(place) != zero) {
                i.push(row);
                j.push(column);
                kept.push(place);
            }
        }
    }
    Ok(Data::Triples { coordinates: vec![i, j], values: data.values.gather(&kept) })
}
