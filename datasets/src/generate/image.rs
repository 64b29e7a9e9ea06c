//! Images of blobs: long runs of one value, as in masks and drawings.

use super::distribution::DefaultValues;
use super::{Distribution, Draw, DrawContext, Generator, RandomStream, check_shape};
use crate::content::{Content, Data, Layout, element_count};
use crate::error::Fault;
use crate::values::map_values;
use redpoll_logic::{Prim, Scalar};

/// An image of ellipses over a background of 0. Each ellipse has one value, and later ellipses
/// cover earlier ones. The content is dense, because images are meant for dense and run-length
/// formats. Values: grey levels from 1 to 255.
#[derive(Clone, PartialEq, Debug)]
pub struct Image {
    /// The number of rows.
    pub height: u64,
    /// The number of columns.
    pub width: u64,
    /// The number of blobs.
    pub blobs: u64,
    /// The upper bound of the half-axes of blobs, in pixels. The lower bound is an eighth of this
    /// length.
    pub radius: f64,
}

impl Image {
    /// Returns an image of 32 blobs. Height and width of a blob are at most half of the shorter
    /// side of the image.
    pub fn new(height: u64, width: u64) -> Image {
        Image { height, width, blobs: 32, radius: height.min(width) as f64 / 4.0 }
    }
}

impl Generator for Image {
    fn name(&self) -> &'static str {
        "image"
    }
}

impl Draw for Image {
    fn draw(&self, ctx: &mut DrawContext<'_>) -> Result<Content, Fault> {
        let shape = vec![self.height, self.width];
        check_shape(&shape)?;
        let pixels = element_count(&shape);
        ctx.check_bytes("pixels", pixels, 8)?;
        ctx.check_bytes("blobs", Some(self.blobs), 8)?;
        if !(self.radius > 0.0 && self.radius <= 1e9) {
            return Err(Fault::malformed("a radius above 0, up to 1e9", self.radius.to_string()));
        }
        let pixels = pixels.expect("few enough for the memory") as usize;
        let default_values = DefaultValues::Distribution(Distribution::Integer { low: 1, high: 255 }, Prim::U8);
        let colours = ctx.values(default_values, self.blobs as usize)?;
        let mut random = ctx.random(RandomStream::Coordinates);
        let ellipses: Vec<Ellipse> = (0..self.blobs).map(|_| self.ellipse(&mut random)).collect();
        let fill = Scalar::zero(colours.prim());
        let width = self.width as usize;
        let values = map_values!(colours, colours => {
            let mut image = vec![Default::default(); pixels];
            for (k, (ellipse, colour)) in ellipses.iter().zip(colours).enumerate() {
                (ctx.progress)(super::Progress { step: "blobs", done: k as u64, total: self.blobs });
                for (row, columns) in ellipse.rows(self.height, self.width) {
                    image[row as usize * width..][columns.start as usize..columns.end as usize].fill(colour);
                }
            }
            image
        });
        Ok(Content { shape, fill, layout: Layout::Array, data: Data::Dense(values) })
    }
}

/// An ellipse with axes along rows and columns.
struct Ellipse {
    centre: [f64; 2],
    half_axes: [f64; 2],
}

impl Image {
    fn ellipse(&self, random: &mut super::Random) -> Ellipse {
        let centre = [self.height as f64 * random.unit(), self.width as f64 * random.unit()];
        let half_axes = [(); 2].map(|()| self.radius * (0.125 + 0.875 * random.unit()));
        Ellipse { centre, half_axes }
    }
}

impl Ellipse {
    /// Returns the columns that the ellipse covers in each row of an image of the given size.
    fn rows(&self, height: u64, width: u64) -> impl Iterator<Item = (u64, std::ops::Range<u64>)> {
        let [y, x] = self.centre;
        let [half_height, half_width] = self.half_axes;
        // Casts of negative floats saturate to 0.
        let (top, bottom) = ((y - half_height) as u64, ((y + half_height) as u64 + 1).min(height));
        (top..bottom).filter_map(move |row| {
            let offset = (row as f64 - y) / half_height;
            let half_chord = half_width * libm::sqrt((1.0 - offset * offset).max(0.0));
            let (start, end) =
                (libm::ceil(x - half_chord).max(0.0) as u64, (libm::floor(x + half_chord) as u64 + 1).min(width));
            (half_chord > 0.0 && x + half_chord >= 0.0 && start < end).then_some((row, start..end))
        })
    }
}
