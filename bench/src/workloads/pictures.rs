//! Images for workloads: generated and real ones, in original size and magnified.

use super::arrays::generate_mask;
use crate::data::{dense_of, missing_file};
use crate::files::dataset;
use crate::workload::{DataSize, MakeOutcome};
use anyhow::{Context, Result, bail};
use redpoll::datasets::generate::random::Random;
use redpoll::datasets::{Content, Data, ReadOptions, Values, read};

/// Images in original size and magnified eight times, so that runs are eight times as long. At the
/// tiny size, the factor is 2.
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

/// Real images: the name, the file, the smallest value of a set pixel, and the largest number of
/// images of a stack that are placed below each other.
const REAL_IMAGES: &[(&str, &str, u8, usize)] = &[
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
    /// Returns the image with each pixel repeated as a square of `factor` by `factor` pixels.
    pub(super) fn magnify(&self, factor: usize) -> Picture<T> {
        let mut pixels = Vec::with_capacity(self.pixels.len() * factor * factor);
        for row in self.pixels.chunks_exact(self.width.max(1)) {
            let wide: Vec<T> = row.iter().flat_map(|pixel| std::iter::repeat_n(*pixel, factor)).collect();
            (0..factor).for_each(|_| pixels.extend_from_slice(&wide));
        }
        Picture { height: self.height * factor, width: self.width * factor, pixels }
    }

    /// Returns the upper left corner of at most `max` rows and columns.
    fn crop(&self, max: usize) -> Picture<T> {
        let (height, width) = (self.height.min(max), self.width.min(max));
        let rows = self.pixels.chunks_exact(self.width.max(1)).take(height);
        Picture { height, width, pixels: rows.flat_map(|row| row[..width].iter().copied()).collect() }
    }

    pub(super) fn map<U>(&self, function: impl Fn(T) -> U) -> Picture<U> {
        Picture { height: self.height, width: self.width, pixels: self.pixels.iter().map(|p| function(*p)).collect() }
    }

    fn content(&self, values: impl Fn(&[T]) -> Values) -> Content {
        dense_of(&[self.height as u64, self.width as u64], values(&self.pixels))
    }
}

/// Returns the bytes of an image in the collection, or the reason why the image is missing. The
/// first `max_images` images of a stack are placed below each other. At small sizes, returns the
/// upper left corner of large images.
pub(super) fn read_bytes(file: &str, max_images: usize, size: DataSize) -> Result<Result<Picture<u8>, MakeOutcome>> {
    let Some(path) = dataset(file) else {
        return Ok(Err(MakeOutcome::Missing(missing_file(file))));
    };
    let loaded = read(&path, &ReadOptions::default()).with_context(|| format!("cannot read {}", path.display()))?;
    let pixels: Vec<u8> = match loaded.data {
        Data::Dense(Values::U8(bytes)) => bytes,
        Data::Dense(Values::Bool(bits)) => bits.into_iter().map(u8::from).collect(),
        _ => bail!("{}: expected pixels of bytes or bits", path.display()),
    };
    let (images, height, width) = match loaded.info.shape[..] {
        [height, width] => (1, height as usize, width as usize),
        [images, height, width] => (max_images.min(images as usize), height as usize, width as usize),
        _ => bail!("{}: expected one image or a stack of images", path.display()),
    };
    let image = Picture { height: images * height, width, pixels: pixels[..images * height * width].to_vec() };
    Ok(Ok(image.crop(size.pick(usize::MAX, 300, 11))))
}

/// Returns the magnification in the name of data, and the name without it.
pub(super) fn magnification(data: &str) -> (usize, &str) {
    data.strip_suffix(" x8").map_or((1, data), |name| (8, name))
}

pub(super) fn to_bytes(content: &Content) -> Result<Picture<u8>> {
    let [height, width] = content.shape[..] else { bail!("expected an image of two modes") };
    let pixels = match &content.data {
        Data::Dense(Values::U8(bytes)) => bytes.clone(),
        Data::Dense(Values::Bool(bits)) => bits.iter().map(|bit| u8::from(*bit)).collect(),
        _ => bail!("expected an image of bytes or bits"),
    };
    Ok(Picture { height: height as usize, width: width as usize, pixels })
}

/// Returns the binary image of the given name; at the tiny size, generated blobs replace real
/// images.
pub(super) fn binary_image(data: &str, size: DataSize) -> Result<Result<Picture<bool>, MakeOutcome>> {
    let (by, name) = magnification(data);
    let image = match REAL_IMAGES.iter().find(|(real, ..)| *real == name && size != DataSize::Tiny) {
        Some((_, file, threshold, max_images)) => match read_bytes(file, *max_images, size)? {
            Ok(image) => image.map(|pixel| pixel >= *threshold),
            Err(missing) => return Ok(Err(missing)),
        },
        None => to_bytes(&generate_mask(size.pick(1024, 256, 11), 130)?)?.map(|pixel| pixel > 0),
    };
    let by = if size == DataSize::Tiny { by.min(2) } else { by };
    Ok(Ok(image.magnify(by)))
}

pub(super) fn to_content(image: &Picture<bool>) -> Content {
    image.content(|pixels| Values::Bool(pixels.to_vec()))
}

/// Returns the inputs of a masked histogram: an image of random grey levels, the mask, and 16 bins
/// of zero.
pub(super) fn mask_inputs(mask: &Picture<bool>) -> [Content; 3] {
    let mut random = Random::new(131, 1);
    let grey = mask.map(|_| ()).pixels.iter().map(|()| random.below(256) as u8).collect();
    let image = dense_of(&[mask.height as u64, mask.width as u64], Values::U8(grey));
    [image, to_content(mask), dense_of(&[16], Values::I64(vec![0; 16]))]
}
