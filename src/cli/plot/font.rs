//! Texts of images, drawn with the glyphs of a bitmap font, so that no font of the system is
//! needed.

use super::scene::{Anchor, CHARACTER_WIDTH, Colour, Raster, Text, text_width};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster};

/// The glyph of characters that the font does not have.
const MISSING: char = '?';

/// Draws a line of text.
pub(super) fn write(page: &mut Raster, text: &Text) {
    let width = text_width(&text.text);
    let before = match text.anchor {
        Anchor::Start => 0,
        Anchor::Middle => width / 2,
        Anchor::End => width,
    };
    let top = text.y.saturating_sub(RasterHeight::Size16.val() as u32 / 2);
    for (k, character) in (0..).zip(text.text.chars()) {
        let left = (text.x + k * CHARACTER_WIDTH).saturating_sub(before);
        for (y, row) in (top..page.height).zip(glyph(character).raster()) {
            for (x, coverage) in (left..page.width).zip(row.iter()) {
                let pixel = &mut page.pixels[y as usize * page.width as usize + x as usize];
                *pixel = blend(*pixel, text.colour, *coverage);
            }
        }
    }
}

fn glyph(character: char) -> RasterizedChar {
    let of = |character| get_raster(character, FontWeight::Regular, RasterHeight::Size16);
    of(character).or_else(|| of(MISSING)).expect("the font has a question mark")
}

/// Mixes two colours by the coverage of the upper colour.
fn blend(below: Colour, above: Colour, coverage: u8) -> Colour {
    let mix = |k: usize| {
        let (below, above, coverage) = (u32::from(below[k]), u32::from(above[k]), u32::from(coverage));
        ((below * (255 - coverage) + above * coverage + 127) / 255) as u8
    };
    [mix(0), mix(1), mix(2)]
}
