//! Scenes: rectangles, texts and rasters on a white page, which `svg.rs` and `png.rs` write.

/// A colour as red, green and blue.
pub(super) type Colour = [u8; 3];

/// Colour of texts.
pub(super) const INK: Colour = [0x24, 0x29, 0x2f];
/// Colour of secondary texts, and of the lines of axes and frames.
pub(super) const FAINT: Colour = [0x65, 0x6d, 0x76];
/// Colour of the lines of a grid.
pub(super) const GRID: Colour = [0xe4, 0xe7, 0xeb];
/// Colour of the page.
pub(super) const PAPER: Colour = [0xff, 0xff, 0xff];

/// Width of a character of a text, in pixels.
pub(super) const CHARACTER_WIDTH: u32 = 7;
/// Height of a line of text, in pixels.
pub(super) const LINE_HEIGHT: u32 = 18;

/// A drawing of a fixed size in pixels.
pub(super) struct Scene {
    pub(super) width: u32,
    pub(super) height: u32,
    /// The parts, in the order in which they are drawn.
    pub(super) parts: Vec<Part>,
}

/// A part of a scene.
pub(super) enum Part {
    /// A filled rectangle.
    Rectangle {
        at: Rectangle,
        colour: Colour,
        /// A description for readers of an SVG, if the rectangle stands for a number.
        description: Option<String>,
    },
    /// A line of text.
    Text(Text),
    /// An image.
    Raster { x: u32, y: u32, raster: Raster },
}

/// A rectangle of whole pixels.
#[derive(Clone, Copy)]
pub(super) struct Rectangle {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// A line of text.
pub(super) struct Text {
    /// The horizontal position of the anchor.
    pub(super) x: u32,
    /// The vertical position of the middle of the line.
    pub(super) y: u32,
    pub(super) anchor: Anchor,
    pub(super) colour: Colour,
    pub(super) text: String,
}

/// The point of a line of text to which [`Text::x`] refers.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// An image, row by row from the top.
pub(super) struct Raster {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) pixels: Vec<Colour>,
}

impl Raster {
    /// Makes an image of one colour.
    pub(super) fn new(width: u32, height: u32, colour: Colour) -> Raster {
        Raster { width, height, pixels: vec![colour; width as usize * height as usize] }
    }

    /// Fills the part of a rectangle that lies within the image.
    pub(super) fn fill(&mut self, at: Rectangle, colour: Colour) {
        let (end, bottom) = (at.x.saturating_add(at.width), at.y.saturating_add(at.height));
        let columns = at.x.min(self.width) as usize..end.min(self.width) as usize;
        for y in at.y.min(self.height)..bottom.min(self.height) {
            let row = y as usize * self.width as usize;
            self.pixels[row + columns.start..row + columns.end].fill(colour);
        }
    }
}

impl Scene {
    /// Makes an empty scene.
    pub(super) fn new(width: u32, height: u32) -> Scene {
        Scene { width, height, parts: Vec::new() }
    }

    pub(super) fn rectangle(&mut self, at: Rectangle, colour: Colour) {
        self.parts.push(Part::Rectangle { at, colour, description: None });
    }

    pub(super) fn text(&mut self, (x, y): (u32, u32), anchor: Anchor, colour: Colour, text: impl Into<String>) {
        self.parts.push(Part::Text(Text { x, y, anchor, colour, text: text.into() }));
    }

    /// Draws an outline one pixel wide around a rectangle.
    pub(super) fn frame(&mut self, Rectangle { x, y, width, height }: Rectangle, colour: Colour) {
        let (x, y) = (x - 1, y - 1);
        let sides = [(x, y, width + 2, 1), (x, y + height + 1, width + 2, 1), (x, y, 1, height + 2)];
        for (x, y, width, height) in sides.into_iter().chain([(x + width + 1, y, 1, height + 2)]) {
            self.rectangle(Rectangle { x, y, width, height }, colour);
        }
    }
}

/// Returns the width of a text in pixels.
pub(super) fn text_width(text: &str) -> u32 {
    text.chars().count() as u32 * CHARACTER_WIDTH
}

/// Shortens a text to a width in pixels.
pub(super) fn fit(text: &str, width: u32) -> String {
    let count = (width / CHARACTER_WIDTH) as usize;
    if text.chars().count() <= count {
        return text.to_owned();
    }
    text.chars().take(count.saturating_sub(2)).chain("..".chars()).collect()
}
