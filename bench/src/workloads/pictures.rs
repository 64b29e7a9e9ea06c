//! Images for workloads: generated and real ones, in original size and magnified.

use super::arrays::stencil;
use crate::data::dense_of;
use crate::files::dataset;
use crate::workload::{Made, Size};
use anyhow::{Context, Result, bail};
use redpoll::datasets::generate::random::Random;
use redpoll::datasets::{Content, Data, ReadOptions, Values, read};

/// Images in original size and magnified eight times, so that runs are eight times as long.
pub(super) const DATA: &[&str] = &[
    "blobs",
    "blobs x8",
    "mnist",
    "mnist x8",
    "omniglot",
    "omniglot x8",
    "horse",
    "horse x8",
    "turingtest",
    "turingtest x8",
];

/// The format of runs of set pixels.
pub(super) const RUNS: &str = "(dense (sparse-run-length (pattern)))";

/// Real images: name, file, the smallest value of a set pixel, and the number of images of a stack
/// that are placed below each other.
const REAL: &[(&str, &str, u8, usize)] = &[
    ("mnist", "images/mnist_t10k_images.idx3-ubyte.zst", 3, 100),
    ("omniglot", "images/omniglot_small1.idx3-ubyte.zst", 1, 100),
    ("horse", "images/mask_horse.pbm.zst", 1, 1),
    ("turingtest", "images/scan_turingtest.pbm.zst", 1, 1),
];

/// An image, with row-major pixels.
pub(super) struct Picture<T> {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) pixels: Vec<T>,
}

impl<T: Copy> Picture<T> {
    /// Returns the image with each pixel repeated as a square of `by` by `by` pixels.
    pub(super) fn magnified(&self, by: usize) -> Picture<T> {
        let mut pixels = Vec::with_capacity(self.pixels.len() * by * by);
        for row in self.pixels.chunks_exact(self.width.max(1)) {
            let wide: Vec<T> = row.iter().flat_map(|pixel| std::iter::repeat_n(*pixel, by)).collect();
            (0..by).for_each(|_| pixels.extend_from_slice(&wide));
        }
        Picture { height: self.height * by, width: self.width * by, pixels }
    }

    /// Returns the upper left corner of at most `most` rows and columns.
    fn corner(&self, most: usize) -> Picture<T> {
        let (height, width) = (self.height.min(most), self.width.min(most));
        let rows = self.pixels.chunks_exact(self.width.max(1)).take(height);
        Picture { height, width, pixels: rows.flat_map(|row| row[..width].iter().copied()).collect() }
    }

    pub(super) fn map<U>(&self, of: impl Fn(T) -> U) -> Picture<U> {
        Picture { height: self.height, width: self.width, pixels: self.pixels.iter().map(|p| of(*p)).collect() }
    }

    fn content(&self, values: impl Fn(&[T]) -> Values) -> Content {
        dense_of(&[self.height as u64, self.width as u64], values(&self.pixels))
    }
}

/// Returns the bytes of an image in the collection, or the reason why the image is missing. At
/// small sizes, returns the upper left corner of large images.
pub(super) fn bytes_of(file: &str, most: usize, size: Size) -> Result<Result<Picture<u8>, Made>> {
    let Some(path) = dataset(file) else {
        return Ok(Err(Made::Absent(format!("there is no file shared/datasets/{file} beside or above the checkout"))));
    };
    let loaded = read(&path, &ReadOptions::default()).with_context(|| format!("reading {}", path.display()))?;
    let pixels: Vec<u8> = match loaded.data {
        Data::Dense(Values::U8(bytes)) => bytes,
        Data::Dense(Values::Bool(bits)) => bits.into_iter().map(u8::from).collect(),
        _ => bail!("{}: expected pixels of bytes or bits", path.display()),
    };
    let (images, height, width) = match loaded.info.shape[..] {
        [height, width] => (1, height as usize, width as usize),
        [images, height, width] => (most.min(images as usize), height as usize, width as usize),
        _ => bail!("{}: expected one image or a stack of them", path.display()),
    };
    let image = Picture { height: images * height, width, pixels: pixels[..images * height * width].to_vec() };
    Ok(Ok(image.corner(size.pick(usize::MAX, 300, 11))))
}

/// Returns the magnification in the name of data, and the name without it.
pub(super) fn magnification(data: &str) -> (usize, &str) {
    data.strip_suffix(" x8").map_or((1, data), |name| (8, name))
}

pub(super) fn bytes(content: &Content) -> Result<Picture<u8>> {
    let [height, width] = content.shape[..] else { bail!("an image has two modes") };
    let pixels = match &content.data {
        Data::Dense(Values::U8(bytes)) => bytes.clone(),
        Data::Dense(Values::Bool(bits)) => bits.iter().map(|bit| u8::from(*bit)).collect(),
        _ => bail!("an image has bytes or bits"),
    };
    Ok(Picture { height: height as usize, width: width as usize, pixels })
}

/// Returns the binary image of the given name; at the tiny size, generated blobs replace real
/// images.
pub(super) fn binary(data: &str, size: Size) -> Result<Result<Picture<bool>, Made>> {
    let (by, name) = magnification(data);
    let image = match REAL.iter().find(|(known, ..)| *known == name && size != Size::Tiny) {
        Some((_, file, least, most)) => match bytes_of(file, *most, size)? {
            Ok(image) => image.map(|pixel| pixel >= *least),
            Err(absent) => return Ok(Err(absent)),
        },
        None => bytes(&stencil(size.pick(1024, 256, 11), 130)?)?.map(|pixel| pixel > 0),
    };
    let by = if size == Size::Tiny { by.min(2) } else { by };
    Ok(Ok(image.magnified(by)))
}

pub(super) fn bits(image: &Picture<bool>) -> Content {
    image.content(|pixels| Values::Bool(pixels.to_vec()))
}

/// Returns random grey levels, a mask of them, and 16 zeros.
pub(super) fn masked(mask: &Picture<bool>) -> [Content; 3] {
    let mut random = Random::new(131, 1);
    let grey = mask.map(|_| ()).pixels.iter().map(|()| random.below(256) as u8).collect();
    let image = dense_of(&[mask.height as u64, mask.width as u64], Values::U8(grey));
    [image, bits(mask), dense_of(&[16], Values::I64(vec![0; 16]))]
}
