//! Scenes and images as PNG.
//!
//! The images are plain: 8 bits a channel, no filters, no interlacing. Such a file has three
//! chunks, one of which is a zlib stream. So the only library needed is `flate2`, which also
//! computes the checksums of chunks.

use super::font;
use super::scene::{PAPER, Part, Raster, Scene};
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use std::io::Write;

/// Returns a scene as an image.
pub(super) fn paint(scene: &Scene) -> Raster {
    let mut page = Raster::new(scene.width, scene.height, PAPER);
    for part in &scene.parts {
        match part {
            Part::Rectangle { at, colour, .. } => page.fill(*at, *colour),
            Part::Text(text) => font::write(&mut page, text),
            Part::Raster { x, y, raster } => {
                let width = raster.width as usize;
                for (k, row) in raster.pixels.chunks_exact(width.max(1)).enumerate() {
                    let start = (*y as usize + k) * page.width as usize + *x as usize;
                    page.pixels[start..start + width].copy_from_slice(row);
                }
            }
        }
    }
    page
}

/// Returns the bytes of a PNG file (<https://www.w3.org/TR/png-3/>).
pub(super) fn encode(raster: &Raster) -> Vec<u8> {
    const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
    // 8 bits a channel; channels of red, green and blue; zlib; one filter for each row; no
    // interlacing.
    const KIND: [u8; 5] = [8, 2, 0, 0, 0];
    let size = [raster.width.to_be_bytes(), raster.height.to_be_bytes()].concat();
    let compress = || {
        let mut stream = ZlibEncoder::new(Vec::new(), Compression::default());
        for row in raster.pixels.chunks_exact(raster.width.max(1) as usize) {
            // The filter of the row: none.
            stream.write_all(&[0])?;
            stream.write_all(row.as_flattened())?;
        }
        stream.finish()
    };
    let data = compress().expect("writing to memory cannot fail");
    let chunks = [chunk(*b"IHDR", &[&size[..], &KIND].concat()), chunk(*b"IDAT", &data), chunk(*b"IEND", &[])];
    [SIGNATURE, &chunks.concat()].concat()
}

/// Returns a chunk: length, name, data, checksum of name and data.
fn chunk(name: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut checksum = Crc::new();
    checksum.update(&name);
    checksum.update(data);
    [&(data.len() as u32).to_be_bytes()[..], &name, data, &checksum.sum().to_be_bytes()].concat()
}
