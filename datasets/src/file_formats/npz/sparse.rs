//! The sparse layouts of SciPy and PyData, converted to triples.

use super::archive::{Archive, modes};
use super::binsparse::{self, Descriptor};
use super::header::NpyHeader;
use crate::content::{Data, Info, Layout, MAX_DIMENSION, MAX_RANK, element_count};
use crate::error::{Count, Fault, LocatedFault, Location};
use crate::memory::bytes_of;
use crate::values::{Values, map_values};
use redpoll_logic::{Prim, Scalar, plural};

/// Scheme by which a sparse array lists its entries.
pub(super) enum Scheme {
    /// Coordinates.
    Coo,
    /// Compressed rows.
    Csr,
    /// Compressed columns.
    Csc,
    /// Compressed rows of dense blocks with the given rows and columns.
    Bsr([u64; 2]),
    /// Diagonals.
    Dia,
    /// The scheme of PyData, with the compressed modes. All other modes together form one fiber for
    /// each coordinate in the compressed modes.
    Gcxs(Vec<usize>),
    /// Levels of Binsparse.
    Binsparse(Box<Descriptor>),
}

impl Scheme {
    /// Returns the closest layout for an array of the given rank.
    pub(super) fn layout(&self, rank: usize) -> Layout {
        match self {
            _ if rank == 0 => Layout::Array,
            Scheme::Csr => Layout::Csr,
            Scheme::Csc => Layout::Csc,
            Scheme::Bsr([rows, columns]) => Layout::Bsr { rows: *rows, columns: *columns },
            Scheme::Dia => Layout::Dia,
            Scheme::Binsparse(descriptor) => descriptor.layout(),
            Scheme::Gcxs(modes) if rank == 2 => {
                if modes[..] == [0] {
                    Layout::Csr
                } else {
                    Layout::Csc
                }
            }
            Scheme::Coo | Scheme::Gcxs(_) => Layout::Coordinate,
        }
    }
}

/// Returns the scheme named by `format`. The size of blocks is read from `data`, the header of the
/// values.
pub(super) fn scheme(archive: &mut Archive<'_>, format: &str, data: &NpyHeader) -> Result<Scheme, LocatedFault> {
    let (scheme, rank) = match format {
        "coo" => (Scheme::Coo, 1),
        "csr" => (Scheme::Csr, 1),
        "csc" => (Scheme::Csc, 1),
        "dia" => (Scheme::Dia, 2),
        "bsr" => match data.shape[..] {
            [_, rows, columns] if rows > 0 && columns > 0 => (Scheme::Bsr([rows, columns]), 3),
            _ => (Scheme::Bsr([1, 1]), 3),
        },
        "gcxs" => (Scheme::Gcxs(compressed_axes(archive)?), 1),
        other => {
            let expected = "a sparse format (coo, csr, csc, bsr, dia, gcxs)";
            return Err(
                Fault::malformed(expected, format!("`{}`", other.escape_debug())).at(Location::Array("format".into()))
            );
        }
    };
    if data.shape.len() != rank || (rank == 3 && data.shape[1..].contains(&0)) {
        let found = format!("the shape {:?}", data.shape);
        return Err(Fault::malformed(format!("values of {rank} {} for {format}", modes(rank as u64)), found)
            .at(Location::Array("data".into())));
    }
    Ok(scheme)
}

/// Reads and checks the compressed modes: at least one mode and not all modes, without repetitions;
/// none if the array has fewer than two modes.
fn compressed_axes(archive: &mut Archive<'_>) -> Result<Vec<usize>, LocatedFault> {
    const NAME: &str = "compressed_axes";
    let rank = archive.naturals("shape", 1)?.1.len();
    let (_, modes) = archive.naturals(NAME, 1)?;
    let once = (1..modes.len()).all(|k| !modes[..k].contains(&modes[k]));
    let fits = if rank < 2 { modes.is_empty() } else { (1..rank).contains(&modes.len()) };
    if !fits || !once || modes.iter().any(|&mode| mode >= rank as u64) {
        let expected =
            format!("distinct modes, at least one and fewer than the rank {rank}, or none if the rank is below 2");
        return Err(Fault::malformed(expected, format!("{modes:?}")).at(Location::Array(NAME.into())));
    }
    Ok(modes.into_iter().map(|mode| mode as usize).collect())
}

/// Reads the shape of the tensor.
pub(super) fn shape(archive: &mut Archive<'_>, format: &str) -> Result<Vec<u64>, LocatedFault> {
    let (_, shape) = archive.naturals("shape", 1)?;
    let expected = match format {
        "coo" | "gcxs" => 0..=MAX_RANK,
        "csr" => 1..=2,
        _ => 2..=2,
    };
    let location = Location::Array("shape".into());
    if !expected.contains(&shape.len()) {
        let (min, max) = (expected.start(), expected.end());
        return Err(
            Fault::malformed(format!("{min} to {max} modes for {format}"), shape.len().to_string()).at(location)
        );
    }
    if let Some(&size) = shape.iter().find(|&&d| d > MAX_DIMENSION) {
        return Err(
            Fault::TooLarge { quantity: "a dimension", size: Count(Some(size)), limit: MAX_DIMENSION }.at(location)
        );
    }
    Ok(shape)
}

/// Reads the fill value in the dtype of the values.
pub(super) fn fill(archive: &mut Archive<'_>, dtype: Prim) -> Result<Scalar, LocatedFault> {
    const NAME: &str = "fill_value";
    let location = || Location::Array(NAME.into());
    let array = archive.array(NAME)?;
    if array.values.len() != 1 {
        return Err(Fault::malformed("one value", array.values.len().to_string()).at(location()));
    }
    let hint = "the fill value must fit the dtype of the values";
    let overflow =
        |(_, value): (usize, Scalar)| Fault::Overflow { value: value.to_string(), dtype, hint }.at(location());
    Ok(array.values.convert(dtype).map_err(overflow)?.get(0))
}

/// Reads the entries.
pub(super) fn read(archive: &mut Archive<'_>, scheme: &Scheme, info: &Info) -> Result<Data, LocatedFault> {
    let shape = &info.shape[..];
    let data = match scheme {
        Scheme::Csr => compressed(archive, shape, shape.len() - 1),
        Scheme::Csc => compressed(archive, shape, 0),
        Scheme::Bsr(block) => blocks(archive, shape, *block),
        Scheme::Dia => diagonals(archive, shape),
        Scheme::Gcxs(modes) => fibers(archive, shape, modes),
        Scheme::Coo => coordinates(archive, shape),
        Scheme::Binsparse(descriptor) => return binsparse::read(archive, descriptor),
    }?;
    if !shape.is_empty() {
        return Ok(data);
    }
    // The only element of an array without modes is either given or the fill value.
    match data.values().len() {
        0 => Ok(Data::Dense(Values::single(&info.fill))),
        1 => Ok(Data::Dense(data.values().clone())),
        n => Err(Fault::malformed("at most one value of an array without modes", n.to_string())
            .at(Location::Array("data".into()))),
    }
}

pub(super) fn check_length(name: &str, expected: u64, found: usize) -> Result<(), LocatedFault> {
    if expected == found as u64 {
        return Ok(());
    }
    let expected = format!("{expected} {}", plural(expected, "entry", "entries"));
    Err(Fault::malformed(expected, found.to_string()).at(Location::Array(name.into())))
}

/// Checks coordinates against the size of their mode.
pub(super) fn check_range(name: &str, mode: usize, dimension: u64, coordinates: &[u64]) -> Result<(), LocatedFault> {
    match coordinates.iter().position(|&i| i >= dimension) {
        None => Ok(()),
        Some(k) => {
            let coordinate = coordinates[k];
            Err(Fault::OutOfRange { mode, coordinate, first: 0, dimension }.at(Location::Entry(name.into(), k as u64)))
        }
    }
}

fn truncate(values: Values, length: usize) -> Values {
    map_values!(values, v => { let mut v = v; v.truncate(length); v })
}

fn coordinates(archive: &mut Archive<'_>, shape: &[u64]) -> Result<Data, LocatedFault> {
    let values = archive.array("data")?.values;
    let entries = values.len();
    let mut coordinates = Vec::with_capacity(shape.len());
    if archive.contains("coords") {
        let (extent, all) = archive.naturals("coords", 2)?;
        if extent != [shape.len() as u64, entries as u64] {
            let expected = format!("the shape [{}, {entries}]", shape.len());
            return Err(Fault::malformed(expected, format!("{extent:?}")).at(Location::Array("coords".into())));
        }
        for (mode, &dimension) in shape.iter().enumerate() {
            archive.charge("coordinates", bytes_of(entries, size_of::<u64>()))?;
            let mode_coordinates = all[mode * entries..(mode + 1) * entries].to_vec();
            check_range("coords", mode, dimension, &mode_coordinates)?;
            coordinates.push(mode_coordinates);
        }
    } else {
        if shape.len() != 2 {
            return Err(Fault::malformed("this array, because the shape does not have two modes", "none")
                .at(Location::Array("coords".into())));
        }
        for (mode, name) in ["row", "col"].into_iter().enumerate() {
            let (_, mode_coordinates) = archive.naturals(name, 1)?;
            check_length(name, entries as u64, mode_coordinates.len())?;
            check_range(name, mode, shape[mode], &mode_coordinates)?;
            coordinates.push(mode_coordinates);
        }
    }
    Ok(Data::Triples { coordinates, values })
}

/// Reads pointers, and checks that there are `fibers + 1` of them, that the first pointer is 0, and
/// that pointers ascend to at most the number of entries.
pub(super) fn pointers(
    archive: &mut Archive<'_>,
    name: &str,
    fibers: u64,
    entries: usize,
) -> Result<Vec<u64>, LocatedFault> {
    let (_, ptr) = archive.naturals(name, 1)?;
    check_length(name, fibers + 1, ptr.len())?;
    let entry = |k: usize| Location::Entry(name.into(), k as u64);
    if ptr[0] != 0 {
        return Err(Fault::malformed("0", ptr[0].to_string()).at(entry(0)));
    }
    if let Some(k) = (1..ptr.len()).find(|&k| ptr[k] < ptr[k - 1]) {
        return Err(
            Fault::malformed(format!("at least {}, the previous entry", ptr[k - 1]), ptr[k].to_string()).at(entry(k))
        );
    }
    let last = ptr[ptr.len() - 1];
    if last > entries as u64 {
        return Err(Fault::malformed(format!("at most {entries}, the number of entries"), last.to_string())
            .at(entry(ptr.len() - 1)));
    }
    Ok(ptr)
}

/// Returns the fiber of each entry.
pub(super) fn expand(archive: &Archive<'_>, ptr: &[u64]) -> Result<Vec<u64>, LocatedFault> {
    let entries = ptr[ptr.len() - 1] as usize;
    archive.charge("coordinates", bytes_of(entries, size_of::<u64>()))?;
    let mut fibers = Vec::with_capacity(entries);
    for (fiber, bounds) in ptr.windows(2).enumerate() {
        fibers.resize(bounds[1] as usize, fiber as u64);
    }
    Ok(fibers)
}

/// Reads compressed fibers along mode `inner`: rows of csr, columns of csc. A vector has one fiber.
fn compressed(archive: &mut Archive<'_>, shape: &[u64], inner: usize) -> Result<Data, LocatedFault> {
    let values = archive.array("data")?.values;
    let (_, mut indices) = archive.naturals("indices", 1)?;
    let fibers = if shape.len() == 1 { 1 } else { shape[1 - inner] };
    let ptr = pointers(archive, "indptr", fibers, indices.len().min(values.len()))?;
    let outer = expand(archive, &ptr)?;
    // SciPy may leave unused space after the last entry.
    indices.truncate(outer.len());
    check_range("indices", inner, shape[inner], &indices)?;
    let values = truncate(values, outer.len());
    let coordinates = match (shape.len(), inner) {
        (1, _) => vec![indices],
        (_, 1) => vec![outer, indices],
        _ => vec![indices, outer],
    };
    Ok(Data::Triples { coordinates, values })
}

/// Reads the fibers of PyData. There is a fiber for each row-major position in the outer modes; its
/// indices are row-major positions in the inner modes.
fn fibers(archive: &mut Archive<'_>, shape: &[u64], outer: &[usize]) -> Result<Data, LocatedFault> {
    let values = archive.array("data")?.values;
    let (_, indices) = archive.naturals("indices", 1)?;
    check_length("indices", values.len() as u64, indices.len())?;
    let inner: Vec<usize> = (0..shape.len()).filter(|mode| !outer.contains(mode)).collect();
    let sizes = |modes: &[usize]| modes.iter().map(|&mode| shape[mode]).collect::<Vec<u64>>();
    let count = |modes: &[usize]| {
        let too_large = Fault::TooLarge { quantity: "the number of elements", size: Count(None), limit: MAX_DIMENSION };
        element_count(&sizes(modes))
            .filter(|&n| n <= MAX_DIMENSION)
            .ok_or_else(|| too_large.at(Location::Array("shape".into())))
    };
    let ptr = pointers(archive, "indptr", count(outer)?, values.len())?;
    check_length("indptr", indices.len() as u64, ptr[ptr.len() - 1] as usize)?;
    let length = count(&inner)?;
    if let Some(k) = indices.iter().position(|&i| i >= length) {
        let expected = format!("a position in a fiber, below {length}");
        return Err(Fault::malformed(expected, indices[k].to_string()).at(Location::Entry("indices".into(), k as u64)));
    }
    archive.charge("coordinates", bytes_of(indices.len(), size_of_val(shape)))?;
    let mut coordinates = vec![Vec::new(); shape.len()];
    let outer_positions = expand(archive, &ptr)?;
    for (modes, mut rest) in [(outer, outer_positions), (&inner, indices)] {
        for &mode in modes.iter().rev() {
            coordinates[mode] = rest.iter().map(|position| position % shape[mode]).collect();
            rest.iter_mut().for_each(|position| *position /= shape[mode]);
        }
    }
    Ok(Data::Triples { coordinates, values })
}

fn blocks(archive: &mut Archive<'_>, shape: &[u64], block: [u64; 2]) -> Result<Data, LocatedFault> {
    let data = archive.array("data")?;
    let (_, indices) = archive.naturals("indices", 1)?;
    for mode in 0..2 {
        if !shape[mode].is_multiple_of(block[mode]) {
            let expected = format!("a multiple of the block size {} in mode {mode}", block[mode]);
            return Err(Fault::malformed(expected, shape[mode].to_string()).at(Location::Array("shape".into())));
        }
    }
    let available = indices.len().min(data.shape[0] as usize);
    let ptr = pointers(archive, "indptr", shape[0] / block[0], available)?;
    let block_rows = expand(archive, &ptr)?;
    check_range("indices", 1, shape[1] / block[1], &indices[..block_rows.len()])?;
    // If there are blocks, their values were read, so the block size is valid. Without blocks, the
    // block size in the header is arbitrary, and the product may overflow.
    let count = block_rows.len() * block[0].saturating_mul(block[1]) as usize;
    archive.charge("coordinates", bytes_of(count, 2 * size_of::<u64>()))?;
    let (mut i, mut j) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (&row, &column) in block_rows.iter().zip(&indices) {
        for r in 0..block[0] {
            for c in 0..block[1] {
                i.push(row * block[0] + r);
                j.push(column * block[1] + c);
            }
        }
    }
    Ok(Data::Triples { coordinates: vec![i, j], values: truncate(data.values, count) })
}

/// Reads diagonals: `data[d, j]` is the value at row `j - offsets[d]` and column `j`.
fn diagonals(archive: &mut Archive<'_>, shape: &[u64]) -> Result<Data, LocatedFault> {
    let data = archive.array("data")?;
    let offsets = archive.array("offsets")?.values;
    if offsets.prim().is_float() {
        return Err(Fault::malformed("integers", offsets.prim().to_string()).at(Location::Array("offsets".into())));
    }
    check_length("offsets", data.shape[0], offsets.len())?;
    let width = data.shape[1];
    let zero = Scalar::zero(data.values.prim());
    // Each nonzero element has two coordinates and a position, in vectors that grow to twice their
    // size.
    archive.charge("coordinates", bytes_of(data.values.len(), 6 * size_of::<u64>()))?;
    let (mut i, mut j, mut positions) = (Vec::new(), Vec::new(), Vec::new());
    for d in 0..offsets.len() {
        let offset = offsets.get(d).to_i128().expect("an integer");
        for column in 0..width.min(shape[1]) {
            let position = d * width as usize + column as usize;
            let row = u64::try_from(i128::from(column) - offset).ok().filter(|&row| row < shape[0]);
            if let Some(row) = row.filter(|_| data.values.get(position) != zero) {
                i.push(row);
                j.push(column);
                positions.push(position);
            }
        }
    }
    Ok(Data::Triples { coordinates: vec![i, j], values: data.values.gather(&positions) })
}
