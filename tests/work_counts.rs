//! Tests that the work and memory of plans grow in proportion to the work that the structure of the
//! inputs requires. The interpreter of Assembly counts work and memory at sizes n and 4n.
//!
//! In most tests, the number of entries grows with n, and dimensions grow with n^2 or faster, so
//! that a loop over a dimension is detected.

use redpoll::{Bindings, Session, Target};
use redpoll_logic::{FloatMode, Format, Prim, Scalar, TensorType};
use redpoll_storage::{Array, Duplicates, Tensor, Triples, Values};
use redpoll_testing::counted::{coordinates_by_row, count, distinct_below, list, matrix, vector};
use redpoll_testing::rng::Rng;
use std::collections::BTreeSet;

const SIZES: [u64; 2] = [40, 160];

/// Checks that a count is at most 64 plus `per_unit` for each unit of work at both sizes, and grows
/// at most 1.5 times as fast as the work. `found` has the count and the work at each size.
fn check(name: &str, per_unit: f64, found: [(u64, u64); 2]) {
    for ((found, work), n) in found.iter().zip(SIZES) {
        let max_count = per_unit * *work as f64 + 64.0;
        assert!(
            *found as f64 <= max_count,
            "{name} at {n}: {found} for {work} units of work, expected at most {max_count}"
        );
    }
    let growth = found[1].0 as f64 / found[0].0.max(1) as f64;
    let expected = found[1].1 as f64 / found[0].1 as f64;
    assert!(growth <= 1.5 * expected, "{name} grows by {growth}, the work by {expected}: {found:?}");
}

/// Returns `n`, and two lists of `n` entries each, in a dimension of 10 n^2.
fn two_lists(n: u64) -> (u64, [(&'static str, Tensor); 2]) {
    let (mut rng, size) = (Rng::new(n), n * n * 10);
    let list = |rng: &mut Rng| vector(size, distinct_below(rng, size, n), list());
    (n, [("x", list(&mut rng)), ("y", list(&mut rng))])
}

#[test]
fn element_wise_programs_visit_stored_entries() {
    for (name, body) in [
        ("union", "(mapjoin + (table x i) (table y i))"),
        ("intersection", "(mapjoin * (table x i) (table y i))"),
        ("symmetric difference", "(mapjoin ne (table x i) (table y i))"),
        ("sum of a union", "(aggregate + 0 (mapjoin max (table x i) (table y i)) i)"),
    ] {
        let mut bytes = Vec::new();
        let found = SIZES.map(|n| {
            let (n, inputs) = two_lists(n);
            let (counts, _) = count(&format!("(plan (query z {body}) (produces z))"), &inputs);
            bytes.push((counts.allocated_bytes, inputs.iter().map(|(_, t)| size_of_arrays(t)).sum::<u64>()));
            (counts.iterations, 2 * n)
        });
        check(name, 2.0, found);
        assert!(bytes.iter().all(|(allocated, inputs)| *allocated <= 3 * inputs + 256), "bytes of {name}: {bytes:?}");
    }
}

#[test]
fn coordinates_beyond_the_diagonal_are_not_visited() {
    // Each of n rows has up to n entries, at most two of which are on the selected side of the
    // diagonal.
    for (name, order) in [("above", "lt"), ("below", "gt")] {
        let found = SIZES.map(|n| {
            let size = n * n;
            let column = |i: u64, k: u64| match order {
                "lt" => (i * n + 2).checked_sub(k),
                _ => (i * n + k).checked_sub(2),
            };
            let row = |i: u64| (0..n).filter_map(move |k| Some([i * n, column(i, k)?]));
            let coordinates: BTreeSet<[u64; 2]> = (0..n).flat_map(row).collect();
            let coordinates: Vec<[u64; 2]> = coordinates.into_iter().collect();
            let is_selected = |[i, j]: &[u64; 2]| if order == "lt" { i < j } else { i > j };
            let work = coordinates.iter().filter(|p| is_selected(p)).count() as u64;
            let text = format!(
                "(plan (query s (aggregate + 0
                    (mapjoin ifelse (mapjoin {order} (coordinate i) (coordinate j)) (table A i j) 0) i j)) (produces s))"
            );
            let (counts, _) = count(&text, &[("A", matrix([size, size], &coordinates, Format::csf(2)))]);
            (counts.iterations, work + 10 * n)
        });
        check(name, 2.0, found);
    }
}

#[test]
fn runs_are_combined_as_runs() {
    let rle = redpoll_logic::text::parse_format("(run-length (element))", 1).expect("a format");
    for (name, body) in [
        ("sum of runs", "(mapjoin + (table x i) (table y i))"),
        ("product of runs", "(mapjoin * (table x i) (table y i))"),
        ("inner product of runs", "(aggregate + 0 (mapjoin * (table x i) (table y i)) i)"),
        ("maximum of runs", "(aggregate max -inf (mapjoin + (table x i) (table y i)) i)"),
    ] {
        let mut bytes = Vec::new();
        let found = SIZES.map(|n| {
            let (mut rng, size) = (Rng::new(n), n * n * 4);
            let runs = |rng: &mut Rng| {
                let ends: Vec<u64> =
                    distinct_below(rng, size - 1, n - 1).into_iter().map(|end| end + 1).chain([size]).collect();
                let starts = [0].into_iter().chain(ends.iter().copied());
                let values = starts.zip(&ends).enumerate();
                let values = values.flat_map(|(k, (start, end))| vec![(1 + k % 7) as f64; (end - start) as usize]);
                let fill = Scalar::zero(Prim::F64);
                let ty = TensorType { shape: vec![size], dtype: fill.dtype(), fill, format: rle.clone() };
                let values = Values::from(values.collect::<Vec<f64>>());
                let triples = Triples { shape: vec![size], coordinates: vec![(0..size).collect()], values };
                Tensor::from_triples(ty, &triples, Duplicates::Error).expect("valid entries").0
            };
            let inputs = [("x", runs(&mut rng)), ("y", runs(&mut rng))];
            let format = if body.contains("aggregate") { "(element)" } else { "(run-length (element))" };
            let text = format!("(plan (query z (reformat {format} {body})) (produces z))");
            let (counts, _) = count(&text, &inputs);
            bytes.push((counts.allocated_bytes, inputs.iter().map(|(_, t)| size_of_arrays(t)).sum::<u64>()));
            (counts.iterations, 2 * n)
        });
        check(name, 2.0, found);
        assert!(bytes.iter().all(|(allocated, inputs)| *allocated <= 4 * inputs + 256), "bytes of {name}: {bytes:?}");
    }
}

#[test]
fn conditions_on_runs_and_on_blocks_skip_their_coordinates() {
    // Two of the n runs, and one of the n blocks, satisfy the condition. Each run and each block
    // has 16 coordinates.
    for (name, condition) in [("runs", "(gt (x i) (- n 2))"), ("blocks", "(eq (floordiv i 16) 3)")] {
        let found = SIZES.map(|n| {
            let size = 16 * n;
            let fill = Scalar::zero(Prim::F64);
            let format = redpoll_logic::text::parse_format("(run-length (element))", 1).expect("a format");
            let ty = TensorType { shape: vec![size], dtype: fill.dtype(), fill, format };
            let values = Values::from((0..size).map(|i| (i / 16 + 1) as f64).collect::<Vec<f64>>());
            let triples = Triples { shape: vec![size], coordinates: vec![(0..size).collect()], values };
            let x = Tensor::from_triples(ty, &triples, Duplicates::Error).expect("valid entries").0;
            let condition = condition.replace("(- n 2)", &(n - 2).to_string());
            let text = format!(
                "(program (input x (type (shape {size}) f64 0.0 (run-length (element)))) (output s (type (shape) i64 0 (element)))
                   (output y (type (shape {size}) f64 0.0 (sparse-list (element))))
                   (for i (range 0 {size}) (if {condition} (+= (s) (* i i)) (+= (y i) (+ (x i) i)))))"
            );
            (count(&text, &[("x", x)]).0.iterations, n + 32)
        });
        check(name, 4.0, found);
    }
}

#[test]
fn sparse_masks_restrict_dense_operands() {
    let found = SIZES.map(|n| {
        let (mut rng, size) = (Rng::new(n), n * n);
        let mask = vector(size, distinct_below(&mut rng, size, n), list());
        let (x, y) = (vector(size, 0..size, Format::dense(1)), vector(size, 0..size, Format::dense(1)));
        let text = "(plan (query z (mapjoin * (table m i) (mapjoin + (table x i) (table y i)))) (produces z))";
        let (counts, _) = count(text, &[("m", mask), ("x", x), ("y", y)]);
        (counts.iterations + counts.loads, n)
    });
    check("iterations and loads under a mask", 10.0, found);
}

#[test]
fn windows_of_lists_visit_only_the_window() {
    // All coordinates are stored, and a window of constant size is read. Only the rounds of a
    // search grow with n.
    let iterations = SIZES.map(|n| {
        let size = n * n;
        let x = vector(size, 0..size, list());
        let (low, high) = (size / 2, size / 2 + 20);
        let text =
            format!("(plan (query s (aggregate + 0 (index (window i {low} {high}) (table x i)) i)) (produces s))");
        let (counts, outputs) = count(&text, &[("x", x)]);
        assert_eq!(outputs[0].sum().unwrap(), Some(30.0));
        counts.iterations
    });
    assert!(iterations[0] <= 20 + 40 && iterations[1] <= iterations[0] + 20, "{iterations:?}");
}

const SPGEMM: &str =
    "(plan (query C (reformat csr (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k))) (produces C))";

#[test]
fn gustavson_takes_one_round_per_product() {
    let mut bytes = Vec::new();
    let found = SIZES.map(|n| {
        let mut rng = Rng::new(n);
        let (a, b) = (coordinates_by_row(&mut rng, n, n, 4), coordinates_by_row(&mut rng, n, n, 4));
        let products = a.len() as u64 * 4;
        let [a, b] = [a, b].map(|coordinates| matrix([n, n], &coordinates, Format::csr()));
        let inputs = size_of_arrays(&a) + size_of_arrays(&b);
        let (counts, outputs) = count(SPGEMM, &[("A", a), ("B", b)]);
        bytes.push((counts.allocated_bytes, inputs + size_of_arrays(&outputs[0])));
        (counts.iterations, products + outputs[0].count_stored().unwrap() + 2 * n)
    });
    // In each row, the computed coordinates are sorted, or all coordinates are visited. Both take a
    // few rounds for each coordinate.
    check("iterations of SpGEMM", 6.0, found);
    check("bytes of SpGEMM", 3.0, [bytes[0], bytes[1]]);
}

fn size_of_arrays(tensor: &Tensor) -> u64 {
    let bytes = |a: &Array| a.len() as u64 * a.prim().bytes() as u64;
    tensor.levels().iter().flatten().chain(tensor.leaf()).map(bytes).sum()
}

#[test]
fn outer_products_need_no_dense_result() {
    // The result has n^4 coordinates; a hash workspace stores only its entries.
    let found = SIZES.map(|n| {
        let (mut rng, size) = (Rng::new(n), n * n);
        let (a, b) = (coordinates_by_row(&mut rng, n, size, 2), coordinates_by_row(&mut rng, n, size, 2));
        let csr = |coordinates: &[[u64; 2]]| matrix([n, size], coordinates, Format::csr());
        let text =
            "(plan (query C (reformat dcsr (aggregate + 0 (reorder (mapjoin * (table A k i) (table B k j)) k i j) k)))
                (produces C))";
        let (a, b) = (csr(&a), csr(&b));
        let inputs = size_of_arrays(&a) + size_of_arrays(&b);
        let (counts, outputs) = count(text, &[("A", a), ("B", b)]);
        (counts.allocated_bytes, inputs + size_of_arrays(&outputs[0]) + size)
    });
    check("bytes of outer products", 40.0, found);
}

#[test]
fn sddmm_computes_only_coordinates_of_the_mask() {
    let found = SIZES.map(|n| {
        let (mut rng, depth) = (Rng::new(n), 8);
        let mask = coordinates_by_row(&mut rng, n, n, 3);
        let dense = |m: u64, k: u64| {
            let coordinates: Vec<_> = (0..m).flat_map(|i| (0..k).map(move |j| [i, j])).collect();
            matrix([m, k], &coordinates, Format::dense(2))
        };
        let text = "(plan (query C (mapjoin * (table S i j)
            (aggregate + 0 (mapjoin * (table A i k) (table B j k)) k))) (produces C))";
        let work = mask.len() as u64 * depth;
        let inputs = [("S", matrix([n, n], &mask, Format::csr())), ("A", dense(n, depth)), ("B", dense(n, depth))];
        (count(text, &inputs).0.iterations, work)
    });
    check("iterations of SDDMM", 2.0, found);
}

#[test]
fn masked_products_are_computed_only_under_the_mask() {
    // The whole product takes 400 n rounds: each of the 20 entries of a row of A is multiplied by
    // the 20 entries of a row of B.
    let found = SIZES.map(|n| {
        let mut rng = Rng::new(n);
        let (mask, a, b) = (
            coordinates_by_row(&mut rng, n, n, 1),
            coordinates_by_row(&mut rng, n, n, 20),
            coordinates_by_row(&mut rng, n, n, 20),
        );
        let work = 60 * n;
        let text = "(plan (query C (reformat csr (mapjoin ifelse (mapjoin ne (table M i j) 0)
            (aggregate min inf (mapjoin + (table A i k) (table B k j)) k) inf))) (produces C))";
        // `A` is stored by rows and `B` by columns, so that no copy is needed. A copy would cost
        // more than this small product.
        let distances = |coordinates: &[[u64; 2]], format: Format| {
            let lengths = matrix([n, n], coordinates, format);
            let ty = TensorType { fill: Scalar::F64(f64::INFINITY), ..lengths.ty().as_ref().clone() };
            Tensor::from_triples(ty, &lengths.to_triples().expect("its entries"), Duplicates::Error).expect("valid").0
        };
        let mask = matrix([n, n], &mask, Format::csr());
        let (counts, _) =
            count(text, &[("M", mask), ("A", distances(&a, Format::csr())), ("B", distances(&b, Format::csc()))]);
        (counts.iterations, work)
    });
    check("iterations of a masked product", 4.0, found);
}

#[test]
fn triangles_intersect_the_lists_of_edges() {
    let found = SIZES.map(|n| {
        let mut rng = Rng::new(n);
        let coordinates = coordinates_by_row(&mut rng, n, n, 5);
        // For each edge, two lists of five entries are merged.
        let work = coordinates.len() as u64 * 10;
        let text = "(plan (query t (aggregate + 0
            (mapjoin * (table A i j) (table A j k) (table A i k)) i j k)) (produces t))";
        (count(text, &[("A", matrix([n, n], &coordinates, Format::csr()))]).0.iterations, work)
    });
    check("iterations of triangles", 2.0, found);
}

/// Returns the coordinates of a band with up to `width` entries on each side of the diagonal.
fn band(n: u64, width: u64) -> Vec<[u64; 2]> {
    (0..n).flat_map(|i| (i.saturating_sub(width)..(i + width + 1).min(n)).map(move |j| [i, j])).collect()
}

#[test]
fn blocks_and_bands_visit_only_their_entries() {
    for name in ["vbl", "band"] {
        let format = redpoll_logic::text::parse_format(name, 2).expect("a shorthand");
        let found = SIZES.map(|n| {
            let coordinates = band(n, 3);
            let x = vector(n, 0..n, Format::dense(1));
            let text = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces y))";
            let work = coordinates.len() as u64;
            let (counts, _) = count(text, &[("A", matrix([n, n], &coordinates, format.clone())), ("x", x)]);
            (counts.iterations, work)
        });
        check(name, 1.5, found);
    }
}

#[test]
fn bit_maps_and_fixed_widths_visit_only_their_entries() {
    // In addition to the entries, a bit map has a word for every 64 coordinates.
    for (format, coordinates_per_unit) in [("(dense (bit-map (element)))", 64), ("ell", u64::MAX)] {
        for body in
            ["(mapjoin * (table A i j) (table x j))", "(mapjoin * (index (reverse j) (table A i j)) (table x j))"]
        {
            let format = redpoll_logic::text::parse_format(format, 2).expect("a format");
            let found = SIZES.map(|n| {
                let (mut rng, size) = (Rng::new(n), 64 * 40);
                let coordinates = coordinates_by_row(&mut rng, n, size, 20);
                let x = vector(size, 0..size, Format::dense(1));
                let text = format!("(plan (query y (aggregate + 0 {body} j)) (produces y))");
                let work = coordinates.len() as u64 + n * (size / coordinates_per_unit);
                let (counts, _) = count(&text, &[("A", matrix([n, size], &coordinates, format.clone())), ("x", x)]);
                (counts.iterations, work)
            });
            check(body, 1.5, found);
        }
    }
}

#[test]
fn reversed_blocks_and_runs_visit_only_their_entries() {
    for format in ["(block-list (element))", "(sparse-run-length (element))", "(run-length (element))"] {
        let format = redpoll_logic::text::parse_format(format, 1).expect("a format");
        let found = SIZES.map(|n| {
            let size = n * n * 10;
            let x = vector(size, (0..n).map(|k| k * n * 10), format.clone());
            let text = "(plan (query s (aggregate + 0 (mapjoin * (index (reverse i) (table x i)) (table y i)) i)) (produces s))";
            let y = vector(size, (0..n).map(|k| k * n * 10 + 1), list());
            (count(text, &[("x", x), ("y", y)]).0.iterations, n)
        });
        check("from the end", 14.0, found);
    }
}

#[test]
fn index_maps_visit_stored_entries() {
    // Each case applies index maps to a matrix with n entries in n * n columns. In addition to the
    // entries, rows of the operand and of the result may be visited.
    for (name, body) in [
        ("stride", "(index (stride j 2) (table A i j))"),
        ("stride from an offset", "(index (map ((j (+ (* 3 j) 1))) ((j 30))) (table A i j))"),
        ("reverse", "(index (reverse j) (table A i j))"),
        ("reverse of rows", "(index (reverse i) (table A i j))"),
        ("every second from the end", "(index (reverse j) (stride j 2) (table A i j))"),
        ("reversed and itself", "(mapjoin + (index (reverse j) (table A i j)) (table A i j))"),
        ("tile", "(index (map ((j (mod j SIZE))) ((j TWICE))) (table A i j))"),
        ("repeat", "(index (map ((j (quot j 2))) ((j TWICE))) (table A i j))"),
        ("flatten", "(index (merge i j k) (table A i j))"),
    ] {
        let found = SIZES.map(|n| {
            let (mut rng, size) = (Rng::new(n), n * n);
            let coordinates = coordinates_by_row(&mut rng, n, size, 1);
            let body = body.replace("SIZE", &size.to_string()).replace("TWICE", &(2 * size).to_string());
            let format = if name == "flatten" { "(sparse-list (element))" } else { "csr" };
            let text = format!("(plan (query B (reformat {format} {body})) (produces B))");
            let (counts, _) = count(&text, &[("A", matrix([n, size], &coordinates, Format::csr()))]);
            (counts.iterations, 2 * n)
        });
        check(name, 6.0, found);
    }
}

#[test]
fn scans_are_linear() {
    // Scans of a list, and of a matrix along each mode and along both modes. All results are dense.
    let found = SIZES.map(|n| {
        let size = n * n;
        let x = vector(size, distinct_below(&mut Rng::new(n), size, n), list());
        let (counts, _) = count("(plan (query y (scan + (table x i) i)) (produces y))", &[("x", x)]);
        (counts.iterations, size)
    });
    check("a scan of a list", 1.5, found);
    for (name, body) in [
        ("along rows", "(scan + (table A i j) j)"),
        ("along columns", "(scan + (table A i j) i)"),
        ("along both", "(scan max (scan + (table A i j) j) i)"),
        ("of sums of rows", "(scan + (aggregate + 0 (table A i j) j) i)"),
        ("from the end", "(index (reverse j) (scan + (index (reverse j) (table A i j)) j))"),
    ] {
        let found = SIZES.map(|n| {
            let a = matrix([n, n], &coordinates_by_row(&mut Rng::new(n), n, n, 4), Format::csr());
            let (counts, _) = count(&format!("(plan (query B {body}) (produces B))"), &[("A", a)]);
            (counts.iterations, if name == "of sums of rows" { 5 * n } else { n * n })
        });
        check(name, 4.0, found);
    }
}

#[test]
fn scans_fold_runs_at_once() {
    // Scans of lists of n entries, in a dimension of 10 n^2, are read at the entries of another
    // list or stored as runs.
    for (name, body) in [
        ("read at few coordinates", "(mapjoin * (table x i) (scan + (table y i) i))"),
        ("folded", "(aggregate + 0 (mapjoin * (table x i) (scan max (table y i) i)) i)"),
        ("of a fill value that counts", "(mapjoin * (table x i) (scan + (mapjoin + (table y i) 1.0) i))"),
        (
            "of runs, into runs",
            "(reformat (run-length (element)) (scan max (reformat (run-length (element)) (table y i)) i))",
        ),
    ] {
        let found = SIZES.map(|n| {
            let (n, inputs) = two_lists(n);
            let (counts, _) = count(&format!("(plan (query z {body}) (produces z))"), &inputs);
            (counts.iterations, 2 * n)
        });
        check(name, 4.0, found);
    }
}

#[test]
fn iteration_algebras_visit_only_their_coordinates() {
    // Two lists of n entries in a dimension of 10 n^2.
    let define = "(define-op (f (x f64) (y f64)) f64 (+ (* x y) 1)";
    for (name, clauses, per_unit) in [
        ("intersection", "(iteration (intersection x y)) (elsewhere 0)", 1.5),
        ("union", "(iteration (union x y)) (elsewhere 0)", 1.5),
        ("left", "(iteration x) (elsewhere 0)", 1.5),
        ("without", "(iteration (intersection x (complement y))) (elsewhere 0)", 1.5),
        ("either", "(iteration (intersection x y)) (case (union x y) 3) (elsewhere 7)", 1.5),
    ] {
        let found = SIZES.map(|n| {
            let (n, inputs) = two_lists(n);
            let text = format!("(plan {define} {clauses}) (query z (mapjoin f (table x i) (table y i))) (produces z))");
            let (counts, _) = count(&text, &inputs);
            (counts.iterations, 2 * n)
        });
        check(name, per_unit, found);
    }
}

#[test]
fn bodies_that_depend_on_fills_need_no_declaration() {
    let gcd = "(define-op (gcd (x f64) (y f64)) f64 (while ((a (abs x)) (b (abs y))) (ne b 0) (b (rem a b)) a))";
    let found = SIZES.map(|n| {
        let (n, inputs) = two_lists(n);
        let text = format!("(plan {gcd} (query z (mapjoin gcd (table x i) (table y i))) (produces z))");
        (count(&text, &inputs).0.iterations, 2 * n)
    });
    // A round for each entry, plus the rounds of Euclid's algorithm.
    check("gcd", 6.0, found);
}

#[test]
fn empty_folds_are_not_stored() {
    let found = SIZES.map(|n| {
        let (mut rng, size) = (Rng::new(n), n * n);
        let coordinates: Vec<[u64; 2]> = distinct_below(&mut rng, size, n).into_iter().map(|i| [i, i % 7]).collect();
        let a = matrix([size, 7], &coordinates, Format::csf(2));
        let text = "(plan (query y (reformat (sparse-list (element)) (mapjoin sqrt (aggregate + 0 (table A i j) j))))
            (query z (refill 0 drop (reformat (sparse-list (element)) (mapjoin - (table x i) (table x i))))) (produces y z))";
        let (counts, outputs) = count(text, &[("A", a), ("x", vector(size, distinct_below(&mut rng, size, n), list()))]);
        assert_eq!((outputs[0].count_stored().unwrap(), outputs[1].count_stored().unwrap()), (n, 0));
        (counts.iterations, 4 * n)
    });
    check("folds of nothing", 2.0, found);
}

#[test]
fn results_that_start_elsewhere_than_their_fill_follow_the_entries() {
    // The results have their fill value nearly everywhere, because few rows and columns have
    // entries.
    for (name, body) in [
        ("largest of rows", "(aggregate max -inf (table A i j) j)"),
        ("smallest of columns", "(aggregate min inf (table A i j) i)"),
        ("rows of entries", "(mapjoin ifelse (table A i j) (mapjoin + (coordinate i) 1) 0)"),
        (
            "Laplacian",
            "(mapjoin - (mapjoin ifelse (mapjoin eq (coordinate i) (coordinate j)) (aggregate + 0 (table A i k) k) 0)
                (table A i j))",
        ),
    ] {
        let found = SIZES.map(|n| {
            let (mut rng, size) = (Rng::new(n), n * n * 10);
            let rows = distinct_below(&mut rng, size, n);
            let coordinates: Vec<[u64; 2]> = rows.into_iter().map(|i| [i, i * 7 % size]).collect();
            let a = matrix([size, size], &coordinates, Format::csf(2));
            let (counts, outputs) = count(&format!("(plan (query y {body}) (produces y))"), &[("A", a)]);
            assert!(outputs[0].count_stored().unwrap() <= 2 * n, "{name} at {n}");
            (counts.iterations, n)
        });
        check(name, 8.0, found);
    }
}

#[test]
fn folds_end_when_they_are_decided() {
    // One of the first two values decides the result, for any size.
    for (name, body) in [
        ("any", "(aggregate or false (mapjoin gt (table x i) 0) i)"),
        ("all", "(aggregate and true (mapjoin lt (table x i) 0) i)"),
        ("choose", "(aggregate choose 0 (table x i) i)"),
        ("user-defined", "(aggregate largest 0 (table x i) i)"),
        ("running", "(aggregate or false (scan or (mapjoin gt (table x i) 0) i) i)"),
    ] {
        let largest = "(define-op (largest (x f64) (y f64)) f64 (if (lt x y) y x)
            (associative) (commutative) (identity 0) (annihilator 2))";
        for n in SIZES {
            let x = vector(n * n, 0..n * n, list());
            let (counts, _) = count(&format!("(plan {largest} (query s {body}) (produces s))"), &[("x", x)]);
            assert!(counts.iterations <= 4, "{name} at {n}: {}", counts.iterations);
        }
    }
}

#[test]
fn complements_and_positions_restrict_the_visited_coordinates() {
    // Only coordinates that an operand stores are visited.
    for (name, body) in [
        ("and not", "(mapjoin and (mapjoin gt (table x i) 0) (mapjoin not (mapjoin gt (table y i) 0)))"),
        ("xor", "(mapjoin xor (mapjoin gt (table x i) 0) (mapjoin gt (table y i) 0))"),
        ("xor with a complement", "(mapjoin xor (mapjoin le (table x i) 0) (mapjoin gt (table y i) 0))"),
        ("fill of a dividend", "(mapjoin / (table x i) (mapjoin + (table y i) 1))"),
        ("fill of a base", "(mapjoin pow (table x i) (mapjoin + (table y i) 1))"),
        ("fill of an exponent", "(mapjoin pow (mapjoin + (table y i) 2) (table x i))"),
        ("fill of a count", "(mapjoin shl (mapjoin cast-i64 (table x i)) (mapjoin cast-i64 (table y i)))"),
    ] {
        let found = SIZES.map(|n| {
            let (n, inputs) = two_lists(n);
            let (counts, _) = count(&format!("(plan (query z {body}) (produces z))"), &inputs);
            (counts.iterations, 2 * n)
        });
        check(name, 2.0, found);
    }
}

#[test]
fn strict_floats_visit_coordinates_that_relaxed_ones_skip() {
    // In the strict mode, 0 * x is NaN if x is infinite or NaN.
    let n = SIZES[1];
    let (x, y) = (vector(n, (0..n).step_by(20), list()), vector(n, 0..n, Format::dense(1)));
    let iterations = [FloatMode::Relaxed, FloatMode::StrictIeee].map(|float_mode| {
        let bindings: Bindings = [("x", x.clone()), ("y", y.clone())].into_iter().collect();
        let mut config = redpoll::Config::default();
        config.optimizer.float_mode = float_mode;
        let text = "(plan (query z (mapjoin * (table x i) (table y i))) (produces z))";
        let prepared = Session::new(config).prepare(text, &bindings).expect("a plan");
        let run = prepared.run_with(Target::ASSEMBLY).expect("a run");
        run.counts.expect("the interpreter counts").iterations
    });
    assert!(iterations[0] <= n / 10 && iterations[1] >= n, "{iterations:?}");
}
