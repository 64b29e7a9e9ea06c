//! Tests of pictures, which are read back as pixels and as XML.

use super::scene::{Anchor, INK, PAPER, Part, Raster, Rectangle, Scene};
use super::*;
use crate::logic::{Format, Scalar, TensorType};
use crate::storage::{Duplicates, Triples, Values};
use clap::Parser;
use expect_test::{Expect, expect};
use quick_xml::Reader;
use quick_xml::events::Event;

/// The command line of a picture.
#[derive(Parser)]
struct PlotCommand {
    #[command(flatten)]
    args: Args,
}

/// Returns a sparse tensor of ones.
fn tensor(shape: &[u64], entries: &[&[u64]]) -> Tensor {
    let format = Format::coo(shape.len());
    let ty = TensorType { shape: shape.to_vec(), dtype: crate::logic::DType::F64, fill: Scalar::F64(0.0), format };
    let coordinates = (0..shape.len()).map(|mode| entries.iter().map(|entry| entry[mode]).collect()).collect();
    let triples = Triples { shape: shape.to_vec(), coordinates, values: Values::from(vec![1.0; entries.len()]) };
    Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap().0
}

/// Draws a tensor with the options of a command line.
fn scene(tensor: &Tensor, options: &[&str]) -> Scene {
    let args = PlotCommand::parse_from([&["plot", "a<b>.mtx"], options].concat()).args;
    let shape = shape_text(tensor);
    draw(tensor, &args, Caption { name: "a<b>.mtx", shape: &shape }).unwrap_or_else(|_| panic!("{options:?}"))
}

/// Returns the image of the pattern within a scene.
fn image(scene: &Scene) -> &Raster {
    let mut images = scene.parts.iter().filter_map(|part| match part {
        Part::Raster { raster, .. } => Some(raster),
        _ => None,
    });
    images.next_back().expect("a pattern has an image")
}

/// Returns the texts of a scene.
fn texts(scene: &Scene) -> Vec<&str> {
    scene.parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(&*text.text) } else { None }).collect()
}

/// Asserts that a scene can be written as well-formed SVG and as PNG, that the PNG has the pixels
/// of the scene, and that no rectangle leaves the page.
fn check(scene: &Scene) {
    let svg = String::from_utf8(PictureFormat::Svg.encode(scene)).unwrap();
    let mut reader = Reader::from_str(&svg);
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error} in\n{svg}")) {
            Event::Start(start) => start.attributes().for_each(|attribute| drop(attribute.unwrap())),
            Event::Eof => break,
            _ => {}
        }
    }
    let painted = png::paint(scene);
    let png = PictureFormat::Png.encode(scene);
    let header = minipng::decode_png_header(&png).unwrap();
    let mut buffer = vec![0; header.required_bytes_rgba8bpc()];
    let mut decoded = minipng::decode_png(&png, &mut buffer).unwrap();
    assert_eq!((decoded.width(), decoded.height()), (scene.width, scene.height));
    decoded.convert_to_rgba8bpc().unwrap();
    let pixels: Vec<_> = decoded.pixels().chunks_exact(4).map(|p| [p[0], p[1], p[2]]).collect();
    assert!(pixels == painted.pixels, "the pixels of the file are those of the scene");
    for part in &scene.parts {
        if let Part::Rectangle { at, .. } = part {
            assert!(at.x + at.width <= scene.width && at.y + at.height <= scene.height, "a rectangle leaves the page");
        }
    }
}

/// Asserts that every entry is a dark square at its coordinates, and that nothing else is dark.
#[test]
fn entries_are_at_their_places() {
    let entries: [&[u64]; 4] = [&[0, 0], &[1, 4], &[2, 1], &[2, 2]];
    let scene = scene(&tensor(&[3, 5], &entries), &["--size", "100"]);
    check(&scene);
    let image = image(&scene);
    assert_eq!((image.width, image.height), (100, 60));
    for (k, pixel) in image.pixels.iter().enumerate() {
        let (y, x) = (k as u64 / 100, k as u64 % 100);
        let (row, column) = (y / 20, x / 20);
        // Squares are one pixel apart.
        let is_dark = entries.contains(&&[row, column][..]) && y % 20 < 19 && x % 20 < 19;
        assert_eq!(*pixel != PAPER, is_dark, "row {row}, column {column}");
    }
}

/// Asserts that tensors of extreme shapes can be drawn as every kind of picture, and that these
/// pictures have a bounded size. Also asserts that the pattern of a scalar can be drawn.
#[test]
fn all_shapes_are_drawn() {
    let n = 1_000_000_000;
    let last = u64::from(u32::MAX) * 4;
    let cases: [(Tensor, &[&str]); 9] = [
        (tensor(&[n, n], &[&[0, 0], &[5, 7], &[n - 1, n - 1]]), &[]),
        (tensor(&[n, 1], &[&[0, 0], &[n - 1, 0]]), &[]),
        (tensor(&[last, 3], &[&[last - 1, 2], &[0, 1]]), &[]),
        (tensor(&[7], &[&[3], &[4]]), &[]),
        (tensor(&[2, 2], &[]), &[]),
        (tensor(&[0, 4], &[]), &[]),
        (tensor(&[1, 1], &[&[0, 0]]), &[]),
        (tensor(&[4, 5, 6], &[&[0, 1, 2], &[0, 1, 3], &[3, 4, 5]]), &[]),
        (tensor(&[4, 5, 6], &[&[0, 1, 2], &[3, 4, 5]]), &["--modes", "2,0"]),
    ];
    for (tensor, modes) in &cases {
        for kind in ["pattern", "degrees", "runs", "blocks"] {
            let modes = if matches!(kind, "pattern" | "degrees") { modes } else { &[][..] };
            let scene = scene(tensor, &[&["--kind", kind, "--size", "200"], modes].concat());
            check(&scene);
            assert!(scene.width < 700 && scene.height < 700, "{} x {}", scene.width, scene.height);
        }
    }
    let scalar = Tensor::scalar(&Scalar::F64(2.0)).unwrap();
    check(&scene(&scalar, &[]));
}

/// Asserts that a pixel with several entries is darker than a pixel with one entry, and that the
/// scale of shades ends with the largest number of entries of a pixel.
#[test]
fn crowded_pixels_are_darker() {
    let mut entries: Vec<Vec<u64>> = (0..50).map(|k| vec![k, k]).collect();
    entries.push(vec![9_999, 0]);
    let entries: Vec<&[u64]> = entries.iter().map(Vec::as_slice).collect();
    let scene = scene(&tensor(&[10_000, 10_000], &entries), &["--size", "100"]);
    check(&scene);
    let image = image(&scene);
    let [crowded, single] =
        [image.pixels[0], image.pixels[99 * 100]].map(|pixel| pixel.map(u32::from).iter().sum::<u32>());
    assert!(crowded < single && single < 3 * 255, "{crowded} {single}");
    assert!(texts(&scene).contains(&"50"), "{:?}", texts(&scene));
}

/// Asserts that the titles name the modes that are drawn, and that the caption has the shape and
/// the number of entries of the whole tensor.
#[test]
fn titles_name_the_modes() {
    let cube = tensor(&[4, 5, 6], &[&[0, 1, 2], &[0, 1, 3], &[3, 4, 5]]);
    let expected: [(&[&str], &[&str]); 3] =
        [(&[], &["mode 0", "mode 1"]), (&["--modes", "2,0"], &["mode 2", "mode 0"]), (&["--modes", "1"], &["mode 1"])];
    for (options, titles) in expected {
        let scene = scene(&cube, options);
        assert!(titles.iter().all(|title| texts(&scene).contains(title)), "{:?}", texts(&scene));
        assert!(texts(&scene).contains(&"4 x 5 x 6, 3 entries"), "{:?}", texts(&scene));
    }
    assert!(texts(&scene(&tensor(&[2, 2], &[]), &[])).contains(&"row"));
}

/// Asserts the descriptions and heights of the bars of a histogram, and the texts of its scene.
fn check_bars(tensor: &Tensor, options: &[&str], expected: &Expect) {
    let scene = scene(tensor, options);
    check(&scene);
    let bars = scene.parts.iter().filter_map(|part| match part {
        Part::Rectangle { at, description: Some(description), .. } => {
            Some(format!("{description} ({} px)\n", at.height))
        }
        _ => None,
    });
    expected.assert_eq(&format!("{}{}\n", bars.collect::<String>(), texts(&scene).join(" | ")));
}

/// Asserts that histograms count rows and columns by their entries, and blocks by their length.
#[test]
fn histograms_have_a_bar_for_each_number() {
    let matrix = tensor(&[4, 4], &[&[0, 0], &[0, 1], &[0, 3], &[2, 1]]);
    check_bars(
        &matrix,
        &["--kind", "degrees", "--size", "160"],
        &expect![[r#"
        0: 2 rows (100 px)
        1: 1 rows (50 px)
        2: 0 rows (0 px)
        3: 1 rows (50 px)
        0: 1 columns (50 px)
        1: 2 columns (100 px)
        2: 1 columns (50 px)
        3: 0 columns (0 px)
        a<b>.mtx | degrees of 4 x 4, 4 entries | rows | columns | number of rows and columns | 0 | 1 | 2 | 0 | 1 | 2 | 3 | entries of a row or column
    "#]],
    );
    check_bars(
        &matrix,
        &["--kind", "blocks", "--size", "160"],
        &expect![[r#"
        1: 2 blocks (100 px)
        2: 1 blocks (50 px)
        a<b>.mtx | blocks of 4 x 4: 3 with 4 entries | number of blocks | 0 | 1 | 2 | 1 | 2 | length of blocks of adjacent entries
    "#]],
    );
    check_bars(
        &matrix,
        &["--kind", "degrees", "--modes", "1", "--size", "160"],
        &expect![[r#"
        0: 1 columns (50 px)
        1: 2 columns (100 px)
        2: 1 columns (50 px)
        a<b>.mtx | degrees of 4 x 4, 4 entries | number of columns | 0 | 1 | 2 | 0 | 1 | 2 | entries of a column
    "#]],
    );
}

/// Asserts that a wide range of numbers has bins between powers of two, and that bars have
/// logarithmic heights if their counts differ much.
#[test]
fn wide_ranges_are_logarithmic() {
    let mut entries: Vec<Vec<u64>> = (0..200).map(|k| vec![0, k]).collect();
    entries.extend((1..400).map(|k| vec![k, 0]));
    let entries: Vec<&[u64]> = entries.iter().map(Vec::as_slice).collect();
    check_bars(
        &tensor(&[500, 500], &entries),
        &["--kind", "degrees", "--modes", "0"],
        &expect![[r#"
        0: 100 rows (297 px)
        1: 399 rows (375 px)
        2 to 3: 0 rows (0 px)
        4 to 7: 0 rows (0 px)
        8 to 15: 0 rows (0 px)
        16 to 31: 0 rows (0 px)
        32 to 63: 0 rows (0 px)
        64 to 127: 0 rows (0 px)
        128 to 255: 1 rows (39 px)
        a<b>.mtx | degrees of 500 x 500, 599 entries | number of rows, logarithmic | 1 | 10 | 100 | 0 | 1 | 2 | 4 | 8 | 16 | 32 | 64 | 128 | entries of a row, in bins that begin at powers of two
    "#]],
    );
}

/// Asserts that texts of images are drawn, with a question mark for characters that the font lacks,
/// and that texts beyond the edges are cut.
#[test]
fn texts_are_drawn() {
    let ink = |text: &str| {
        let mut scene = Scene::new(200, 30);
        scene.text((100, 15), Anchor::Middle, INK, text);
        check(&scene);
        let image = png::paint(&scene);
        image.pixels.iter().filter(|pixel| **pixel != PAPER).count()
    };
    assert_eq!(ink(""), 0);
    assert!(ink("ab") > 20 && ink("abab") > ink("ab"));
    assert_eq!(ink("日"), ink("?"));
    // Texts beyond the edges are cut.
    let mut scene = Scene::new(20, 10);
    scene.text((19, 9), Anchor::Start, INK, "wide text");
    scene.rectangle(Rectangle { x: 0, y: 0, width: 20, height: 1 }, INK);
    check(&scene);
}
