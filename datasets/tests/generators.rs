//! Tests of generators: their statistics, reproducibility by seed, and rejected parameters.

use expect_test::expect;
use redpoll_datasets::generate::{
    Amount, Banded, Blocks, Distribution, Edges, ErdosRenyi, GenerateOptions, Generator, Grid, Image, Ratings, Rmat,
    Stencil, Uniform, generate,
};
use redpoll_datasets::{Content, Data, Values, WriteOptions, write_bytes};
use redpoll_logic::Prim;
use redpoll_logic::text::parse_format;
use std::collections::HashSet;

fn generate_with_seed(generator: &dyn Generator, seed: u64) -> Content {
    let options = GenerateOptions { seed, ..GenerateOptions::default() };
    generate(generator, &options, &mut |_| ()).unwrap()
}

fn generate_default(generator: &dyn Generator) -> Content {
    generate_with_seed(generator, 1)
}

fn coordinates(content: &Content) -> &[Vec<u64>] {
    let Data::Triples { coordinates, .. } = &content.data else { panic!("dense content") };
    coordinates
}

fn pairs(content: &Content) -> Vec<(u64, u64)> {
    let [rows, columns] = coordinates(content) else { panic!("not a matrix") };
    rows.iter().copied().zip(columns.iter().copied()).collect()
}

fn reals(content: &Content) -> &[f64] {
    let Values::F64(values) = content.data.values() else { panic!("values of another dtype than f64") };
    values
}

/// Returns the number of entries of each coordinate of a mode, in descending order.
fn degrees(content: &Content, mode: usize) -> Vec<u64> {
    let mut degrees = vec![0; content.shape[mode] as usize];
    coordinates(content)[mode].iter().for_each(|&i| degrees[i as usize] += 1);
    degrees.sort_unstable_by(|a, b| b.cmp(a));
    degrees
}

/// Returns the coordinate with the most entries, of all coordinates of a mode.
fn busiest(content: &Content, mode: usize) -> usize {
    let mut degrees = vec![0; content.shape[mode] as usize];
    coordinates(content)[mode].iter().for_each(|&i| degrees[i as usize] += 1);
    (0..degrees.len()).max_by_key(|&i| degrees[i]).expect("the mode has coordinates")
}

/// Returns one small case of each generator and variant.
fn cases() -> Vec<(&'static str, Box<dyn Generator>)> {
    let undirected = Edges::Undirected;
    let grid = |extents: &[u64], stencil| Grid { extents: extents.to_vec(), stencil };
    let uniform = |shape: &[u64], entries| Uniform { shape: shape.to_vec(), entries };
    let banded = Banded { rows: 30, columns: 25, below: 2, above: 4, density: 0.5 };
    let blocks = Blocks { rows: 33, columns: 20, block_rows: 4, block_columns: 3, blocks: Amount::Count(20) };
    let ratings = Ratings::new(40, 30, 300);
    vec![
        ("rmat", Box::new(Rmat::new(8, 1000))),
        ("rmat undirected, noisy", Box::new(Rmat { noise: 0.1, direction: undirected, ..Rmat::new(7, 600) })),
        ("erdos-renyi", Box::new(ErdosRenyi::with_degree(200, 5.0))),
        ("erdos-renyi undirected", Box::new(ErdosRenyi { direction: undirected, ..ErdosRenyi::with_degree(200, 5.0) })),
        ("grid 2-D star", Box::new(grid(&[12, 9], Stencil::Star))),
        ("grid 3-D box", Box::new(grid(&[4, 5, 6], Stencil::Box))),
        ("banded", Box::new(banded)),
        ("blocks", Box::new(blocks)),
        ("uniform count", Box::new(uniform(&[10, 20, 30], Amount::Count(500)))),
        ("uniform density", Box::new(uniform(&[50, 40], Amount::Density(0.1)))),
        ("uniform wide", Box::new(uniform(&[1 << 40, 1 << 40, 7], Amount::Count(100)))),
        ("uniform crowded", Box::new(uniform(&[30], Amount::Count(28)))),
        ("ratings", Box::new(ratings.clone())),
        ("ratings in stars", Box::new(Ratings { stars: Some(5), ..ratings })),
        ("image", Box::new(Image { blobs: 9, ..Image::new(40, 60) })),
    ]
}

/// Asserts that equal seeds give equal content. The FNV-1a hashes of the written text are the same
/// on every machine.
#[test]
fn equal_seeds_give_equal_bytes() {
    let mut lines = String::new();
    for (name, generator) in cases() {
        let content = generate_default(&*generator);
        assert_eq!(content, generate_default(&*generator), "{name}");
        if !name.starts_with("grid") {
            assert_ne!(content, generate_with_seed(&*generator, 2), "{name}: both seeds give the same content");
        }
        let bytes = write_bytes("a.tns", &content, &WriteOptions::default()).unwrap();
        let fnv = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, fnv);
        lines += &format!("{name}: {} entries, {hash:016x}\n", bytes.iter().filter(|&&b| b == b'\n').count());
    }
    expect![[r#"
        rmat: 828 entries, 3c2f912344a69633
        rmat undirected, noisy: 737 entries, a17be6fbd2c3c01b
        erdos-renyi: 975 entries, 10fe6a05609f755c
        erdos-renyi undirected: 942 entries, d1977c596804a3df
        grid 2-D star: 498 entries, 910c8319709b2277
        grid 3-D box: 2080 entries, 69d8b84e2de2298f
        banded: 97 entries, 69ac0c3c0cc488fa
        blocks: 209 entries, f731707417250658
        uniform count: 500 entries, 1c42d2a08cb0a56f
        uniform density: 182 entries, 3c109dc6e3bcb4b8
        uniform wide: 101 entries, e87e177ef52834a8
        uniform crowded: 28 entries, 8331addfe9fb311a
        ratings: 300 entries, e1aa25d68e8adbae
        ratings in stars: 300 entries, f1d7ae08a2805329
        image: 923 entries, 3f6809bf8f4503bb
    "#]]
    .assert_eq(&lines);
}

/// Asserts that entries are sorted without repetitions and can be stored.
#[test]
fn entries_are_sorted_without_repetitions() {
    for (name, generator) in cases() {
        let content = generate_default(&*generator);
        if let Data::Triples { coordinates, values } = &content.data {
            let coordinates_at = |k: usize| coordinates.iter().map(|c| c[k]).collect::<Vec<_>>();
            assert!((1..values.len()).all(|k| coordinates_at(k - 1) < coordinates_at(k)), "{name}");
            assert!(coordinates.iter().zip(&content.shape).all(|(c, &d)| c.iter().all(|&i| i < d)), "{name}");
        }
        let entries = content.data.values().len();
        let tensor = content.into_tensor(None).unwrap();
        tensor.validate().unwrap();
        assert_eq!(tensor.count_stored().unwrap(), entries as u64, "{name}");
    }
}

/// Asserts that the requested dtype and distribution of values do not change the coordinates of
/// entries.
#[test]
fn values_do_not_change_the_coordinates() {
    for (name, generator) in cases() {
        let values = Some(Distribution::Integer { low: 1, high: 100 });
        let options = GenerateOptions { seed: 1, dtype: Some(Prim::I16), values, ..GenerateOptions::default() };
        let other = generate(&*generator, &options, &mut |_| ()).unwrap();
        let Values::I16(values) = other.data.values() else { panic!("{name}: {}", other.prim()) };
        if let Data::Triples { coordinates: generated, .. } = &other.data {
            assert_eq!(generated, coordinates(&generate_default(&*generator)), "{name}");
            assert!(values.iter().all(|x| (1..=100).contains(x)), "{name}");
        }
    }
}

#[test]
fn rmat_is_skewed_and_optionally_undirected() {
    let graph = generate_default(&Rmat::new(12, 40_000));
    let degrees = degrees(&graph, 0);
    let entries = pairs(&graph).len();
    assert!((34_000..40_000).contains(&entries), "{entries} entries");
    // The first vertex gets (a + b)^12 = 0.037 of the edges drawn, to 696 different neighbours on
    // average.
    assert!((620..770).contains(&degrees[0]), "the largest degree is {}", degrees[0]);
    let busiest: u64 = degrees[..41].iter().sum();
    assert!(busiest * 5 > entries as u64, "a hundredth of the vertices have {busiest} of {entries} edges");
    let even = generate_default(&Rmat { probabilities: [0.25; 4], ..Rmat::new(12, 40_000) });
    assert!(self::degrees(&even, 0)[0] < 35);

    let undirected = pairs(&generate_default(&Rmat { direction: Edges::Undirected, ..Rmat::new(8, 2000) }));
    let all: HashSet<_> = undirected.iter().copied().collect();
    assert!(all.iter().all(|&(i, j)| i != j && all.contains(&(j, i))));
    // Without the lower left quadrant, only the upper triangle can be reached.
    let upper = Rmat { probabilities: [0.4, 0.3, 0.0, 0.3], ..Rmat::new(9, 3000) };
    assert!(pairs(&generate_default(&upper)).iter().all(|(i, j)| i <= j));
}

#[test]
fn erdos_renyi_has_binomial_degrees() {
    let graph = generate_default(&ErdosRenyi::with_degree(5000, 20.0));
    let entries = pairs(&graph).len();
    // The tolerance is six standard deviations of a binomial count with mean 100000.
    assert!(entries.abs_diff(100_000) < 1900, "{entries} entries");
    assert!(pairs(&graph).iter().all(|(i, j)| i != j));
    let degrees = degrees(&graph, 1);
    let variance = degrees.iter().map(|&d| (d as f64 - 20.0).powi(2)).sum::<f64>() / 5000.0;
    assert!((17.0..23.5).contains(&variance), "the variance of the degrees is {variance}");

    let undirected = ErdosRenyi { direction: Edges::Undirected, ..ErdosRenyi::with_degree(2000, 10.0) };
    let edges = pairs(&generate_default(&undirected));
    assert!(edges.len().abs_diff(20_000) < 1200, "{}", edges.len());
    let all: HashSet<_> = edges.iter().copied().collect();
    assert!(all.iter().all(|&(i, j)| i != j && all.contains(&(j, i))));
    let complete = |direction| pairs(&generate_default(&ErdosRenyi { vertices: 7, probability: 1.0, direction })).len();
    assert_eq!((complete(Edges::Directed), complete(Edges::Undirected)), (42, 42));
}

#[test]
fn grids_are_laplacians() {
    let grid = |extents: &[u64], stencil| generate_default(&Grid { extents: extents.to_vec(), stencil });
    let star = grid(&[10, 7], Stencil::Star);
    // The matrix has one entry per point of the grid, and two per edge.
    assert_eq!((star.shape.clone(), pairs(&star).len()), (vec![70, 70], 70 + 2 * (9 * 7 + 10 * 6)));
    let centre: Vec<u64> = pairs(&star).into_iter().filter(|(i, _)| *i == 30).map(|(_, j)| j).collect();
    assert_eq!(centre, [23, 29, 30, 31, 37]);
    let diagonal = pairs(&star).iter().zip(reals(&star)).all(|((i, j), &x)| x == if i == j { 4.0 } else { -1.0 });
    assert!(diagonal);
    let cube = grid(&[3, 3, 3], Stencil::Box);
    let middle = pairs(&cube).into_iter().filter(|(i, _)| *i == 13).count();
    assert_eq!((middle, pairs(&cube).len()), (27, 7 * 7 * 7));
    assert_eq!(reals(&cube).iter().fold(0.0, |a: f64, &b| a.max(b)), 26.0);
    assert_eq!(pairs(&grid(&[0, 5], Stencil::Star)).len(), 0);
}

#[test]
fn bands_have_their_width() {
    let full = Banded { rows: 50, columns: 40, below: 3, above: 2, density: 1.0 };
    let within = |(i, j): &(u64, u64)| *j + 3 >= *i && *j <= *i + 2;
    let expected = (0..50).flat_map(|i| (0..40).map(move |j| (i, j))).filter(within).collect::<Vec<_>>();
    assert_eq!(pairs(&generate_default(&full)), expected);
    let sparse = Banded { rows: 4000, columns: 4000, below: 10, above: 10, density: 0.3 };
    let entries = pairs(&generate_default(&sparse));
    assert!(entries.iter().all(|(i, j)| i.abs_diff(*j) <= 10));
    assert_eq!(entries.iter().filter(|(i, j)| i == j).count(), 4000);
    // The band has 20 off-diagonal coordinates in each row, and fewer in the outer rows. The
    // tolerance is six standard deviations and the missing coordinates of the outer rows.
    assert!((entries.len() - 4000).abs_diff(24_000) < 850, "{} entries", entries.len());
    let wide = Banded { rows: 3, columns: 5, below: u64::MAX, above: u64::MAX, density: 1.0 };
    assert_eq!(pairs(&generate_default(&wide)).len(), 15);
}

#[test]
fn blocks_are_full_or_empty() {
    let blocks = Blocks { rows: 100, columns: 61, block_rows: 8, block_columns: 5, blocks: Amount::Density(0.25) };
    let content = generate_default(&blocks);
    let entries = pairs(&content);
    let full_blocks: HashSet<(u64, u64)> = entries.iter().map(|(i, j)| (i / 8, j / 5)).collect();
    assert_eq!(full_blocks.len(), 42, "a quarter of 13 x 13 blocks, rounded");
    let size = |&(i, j): &(u64, u64)| (100 - i * 8).min(8) * (61 - j * 5).min(5);
    assert_eq!(entries.len() as u64, full_blocks.iter().map(size).sum::<u64>());
    let stored = content.into_tensor(Some(parse_format("(bcsr 8 5)", 2).unwrap())).unwrap();
    assert_eq!(stored.count_stored().unwrap() as usize, entries.len());
}

#[test]
fn uniform_tensors_have_their_entries() {
    let exact = Uniform { shape: vec![100, 90, 80, 3], entries: Amount::Count(20_000) };
    let content = generate_default(&exact);
    assert_eq!(content.data.values().len(), 20_000);
    // Each coordinate of the last mode has a third of the entries. The tolerance is six standard
    // deviations of a binomial count.
    assert!(degrees(&content, 3).iter().all(|&d| d.abs_diff(6667) < 400), "{:?}", degrees(&content, 3));
    assert!(reals(&content).iter().all(|x| (0.0..1.0).contains(x)));
    let density = Uniform { shape: vec![300, 200], entries: Amount::Density(0.25) };
    assert!(generate_default(&density).data.values().len().abs_diff(15_000) < 640);
    let all = Uniform { shape: vec![6, 7], entries: Amount::Density(1.0) };
    assert_eq!(generate_default(&all).data.values().len(), 42);
    let none = Uniform { shape: vec![0, u64::MAX >> 1], entries: Amount::Count(0) };
    assert_eq!(generate_default(&none).data.values().len(), 0);
    let sparse = Uniform { shape: vec![1 << 40, 1 << 20], entries: Amount::Density(1e-15) };
    assert_eq!(generate_default(&sparse).data.values().len(), 1153);
}

/// Returns the rank of a matrix by Gaussian elimination with full pivoting.
fn rank(mut matrix: Vec<Vec<f64>>) -> usize {
    for done in 0..matrix.len().min(matrix[0].len()) {
        let rest = (done..matrix.len()).flat_map(|i| (done..matrix[0].len()).map(move |j| (i, j)));
        let (i, j) = rest.max_by(|a, b| matrix[a.0][a.1].abs().total_cmp(&matrix[b.0][b.1].abs())).unwrap();
        if matrix[i][j].abs() < 1e-9 {
            return done;
        }
        matrix.swap(done, i);
        matrix.iter_mut().for_each(|row| row.swap(done, j));
        let pivot = matrix[done].clone();
        for row in &mut matrix[done + 1..] {
            let factor = row[done] / pivot[done];
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
        }
    }
    matrix.len().min(matrix[0].len())
}

#[test]
fn ratings_are_of_low_rank_and_skewed() {
    let full = Ratings { rank: 4, noise: 0.0, ..Ratings::new(20, 30, 600) };
    let rows = |content: &Content| reals(content).chunks(30).map(<[f64]>::to_vec).collect::<Vec<_>>();
    assert_eq!(rank(rows(&generate_default(&full))), 4);
    assert_eq!(rank(rows(&generate_default(&Ratings { noise: 0.1, ..full }))), 20);

    let ratings = Ratings { stars: Some(5), ..Ratings::new(2000, 1000, 50_000) };
    let content = generate_default(&ratings);
    assert_eq!(content.data.values().len(), 50_000);
    assert!(reals(&content).iter().all(|x| [1.0, 2.0, 3.0, 4.0, 5.0].contains(x)));
    let mean = reals(&content).iter().sum::<f64>() / 50_000.0;
    assert!((2.8..3.2).contains(&mean), "the mean is {mean}");
    // The share of the k-th busiest user is proportional to k^-0.8, but a user has at most one
    // rating for each of the 1000 items.
    let users = degrees(&content, 0);
    let weight: f64 = (1..=2000).map(|k| f64::from(k).powf(-0.8)).sum();
    assert!((users[0] as f64 - (50_000.0 / weight).min(1000.0)).abs() < 2.0, "{}", users[0]);
    assert!((users[9] as f64 / users[99] as f64 - 10f64.powf(0.8)).abs() < 0.5, "{} {}", users[9], users[99]);
    let items = degrees(&content, 1);
    assert!(items[0] > 8 * items[500], "{} {}", items[0], items[500]);
    // Users and items are in random order.
    assert_ne!((busiest(&content, 0), busiest(&content, 1)), (0, 0));

    // Skews and counts at their limits are accepted.
    for (users, items, count) in [(1, 1, 1), (50, 40, 2000), (50, 40, 1999), (0, 5, 0), (300, 2, 301)] {
        let steep = Ratings { user_skew: 8.0, item_skew: 8.0, ..Ratings::new(users, items, count) };
        assert_eq!(generate_default(&steep).data.values().len() as u64, count, "{users} x {items}");
    }
    let flat = Ratings { user_skew: 0.0, item_skew: 0.0, ..Ratings::new(100, 100, 1000) };
    assert!(degrees(&generate_default(&flat), 0).iter().all(|&d| d == 10));
}

#[test]
fn images_have_long_runs() {
    let image = generate_default(&Image { blobs: 12, ..Image::new(200, 300) });
    let Data::Dense(Values::U8(pixels)) = &image.data else { panic!("pixels that are not u8") };
    let runs = pixels.chunk_by(|a, b| a == b).count();
    assert!((200..3000).contains(&runs), "{runs} runs in 60000 pixels");
    let covered = pixels.iter().filter(|&&p| p != 0).count();
    assert!((5_000..55_000).contains(&covered), "{covered} pixels are covered");
    let levels: HashSet<u8> = pixels.iter().copied().collect();
    assert!((4..=13).contains(&levels.len()), "{} values", levels.len());
}

/// Asserts that parameters that exceed memory or are invalid are rejected before generation.
#[test]
fn invalid_parameters_are_rejected() {
    let uniform = |shape: &[u64], entries| Uniform { shape: shape.to_vec(), entries };
    let grid = |extents: &[u64]| Grid { extents: extents.to_vec(), stencil: Stencil::Box };
    let blocks = |block_rows, blocks| Blocks { rows: 10, columns: 10, block_rows, block_columns: 2, blocks };
    let cases: Vec<Box<dyn Generator>> = vec![
        Box::new(Rmat::new(33, 10)),
        Box::new(Rmat::new(20, u64::MAX)),
        Box::new(Rmat { probabilities: [0.5; 4], ..Rmat::new(5, 10) }),
        Box::new(Rmat { probabilities: [f64::NAN, 0.5, 0.25, 0.25], ..Rmat::new(5, 10) }),
        Box::new(Rmat { noise: 0.3, ..Rmat::new(5, 10) }),
        Box::new(ErdosRenyi { vertices: 1 << 32, probability: 0.5, direction: Edges::Directed }),
        Box::new(ErdosRenyi { vertices: 1 << 33, probability: 0.0, direction: Edges::Directed }),
        Box::new(ErdosRenyi { vertices: 5, probability: 1.5, direction: Edges::Directed }),
        Box::new(grid(&[])),
        Box::new(grid(&[1 << 30, 1 << 30, 1 << 30])),
        Box::new(grid(&[2; 9])),
        Box::new(Banded { rows: 1 << 40, columns: 1 << 40, below: 1, above: 1, density: 0.1 }),
        Box::new(Banded { rows: 5, columns: 5, below: 1, above: 1, density: -1.0 }),
        Box::new(blocks(0, Amount::Count(1))),
        Box::new(blocks(5, Amount::Count(11))),
        Box::new(uniform(&[], Amount::Count(0))),
        Box::new(uniform(&[2; 65], Amount::Count(1))),
        Box::new(uniform(&[u64::MAX], Amount::Count(1))),
        Box::new(uniform(&[1 << 62, 1 << 62, 1 << 62], Amount::Count(1))),
        Box::new(uniform(&[1 << 20, 1 << 20], Amount::Density(1.0))),
        Box::new(uniform(&[3, 3], Amount::Count(10))),
        Box::new(uniform(&[3, 3], Amount::Density(f64::NAN))),
        Box::new(Ratings::new(1 << 32, 10, 10)),
        Box::new(Ratings::new(10, 10, 101)),
        Box::new(Ratings { user_skew: 9.0, ..Ratings::new(10, 10, 10) }),
        Box::new(Ratings { rank: u32::MAX, ..Ratings::new(1000, 1000, 10) }),
        Box::new(Ratings { stars: Some(1), ..Ratings::new(10, 10, 10) }),
        Box::new(Image::new(1 << 31, 1 << 31)),
        Box::new(Image { radius: 0.0, ..Image::new(10, 10) }),
    ];
    let message = |generator: &dyn Generator| match generate(generator, &GenerateOptions::default(), &mut |_| ()) {
        Ok(content) => format!("accepted: {:?}\n", content.shape),
        Err(error) => format!("{error}\n"),
    };
    let messages: String = cases.iter().map(|generator| message(&**generator)).collect();
    expect![[r#"
        cannot generate rmat: the scale is too large: 33; the maximum is 32
        cannot generate rmat: 18446744073709551615 entries need at least 2^64 bytes, and the limit is 8589934592; request fewer entries, or raise the limit
        cannot generate rmat: expected four probabilities that add up to 1, found [0.5, 0.5, 0.5, 0.5]
        cannot generate rmat: expected four probabilities that add up to 1, found [NaN, 0.5, 0.25, 0.25]
        cannot generate rmat: expected noise from 0 to 0.19, found 0.3
        cannot generate erdos-renyi: 9223372071151298560 entries need at least 2^64 bytes, and the limit is 8589934592; request fewer entries, or raise the limit
        cannot generate erdos-renyi: the number of vertices is too large: 8589934592; the maximum is 4294967296
        cannot generate erdos-renyi: expected a probability between 0 and 1, found 1.5
        cannot generate grid: expected a shape of at least one mode, found none
        cannot generate grid: at least 2^64 entries need at least 2^64 bytes, and the limit is 8589934592; request fewer entries, or raise the limit
        cannot generate grid: the number of axes is too large: 9; the maximum is 8
        cannot generate banded: 1429372008069 entries need 34304928193656 bytes, and the limit is 8589934592; request fewer entries, or raise the limit
        cannot generate banded: expected a density between 0 and 1, found -1
        cannot generate blocks: expected blocks of at least 1 x 1, found 0 x 2
        cannot generate blocks: the requested count is too large: 11; the maximum is 10
        cannot generate uniform: expected a shape of at least one mode, found none
        cannot generate uniform: the rank is too large: 65; the maximum is 64
        cannot generate uniform: a dimension is too large: 18446744073709551615; the maximum is 9223372036854775807
        cannot generate uniform: not supported: a shape of at least 2^128 elements; choose fewer or smaller modes
        cannot generate uniform: 1099524210688 entries need 35184774742016 bytes, and the limit is 8589934592; request fewer entries, or raise the limit
        cannot generate uniform: the requested count is too large: 10; the maximum is 9
        cannot generate uniform: expected a density between 0 and 1, found NaN
        cannot generate ratings: the number of users is too large: 4294967296; the maximum is 4294967295
        cannot generate ratings: the number of ratings is too large: 101; the maximum is 100
        cannot generate ratings: expected a skew of users from 0 to 8, found 9
        cannot generate ratings: 2000 users and items need 68719476816000 bytes, and the limit is 8589934592; request fewer users and items, or raise the limit
        cannot generate ratings: expected at least 2 stars, found 1
        cannot generate image: 4611686018427387904 pixels need at least 2^64 bytes, and the limit is 8589934592; request fewer pixels, or raise the limit
        cannot generate image: expected a radius above 0, up to 1e9, found 0
    "#]].assert_eq(&messages);
}

#[test]
fn progress_is_reported() {
    let mut steps = Vec::new();
    let generator = Uniform { shape: vec![1000, 1000], entries: Amount::Count(200_000) };
    generate(&generator, &GenerateOptions::default(), &mut |p| {
        assert!(p.done <= p.total);
        steps.push((p.step, p.done));
    })
    .unwrap();
    assert_eq!(steps[..4], [("entries", 0), ("entries", 65_536), ("entries", 131_072), ("entries", 196_608)]);
    assert!(steps.contains(&("values", 131_072)));
}
