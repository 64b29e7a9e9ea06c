//! What levels promise while they are written: runs whose children are fibers join, one entry or run a fiber is held
//! to, and what is declared again is empty.

use super::{Engine, Kernel, Rng, check, tensor};
use crate::Error;
use crate::assembly::Status;
use crate::levels::level;
use crate::lower::Options;
use crate::lower::level::lowering;
use crate::notation::{normalize, parse, places_of};
use crate::run::Limits;
use crate::storage::{Tensor, convert};
use crate::testing::concordant_formats_of_rank;
use redpoll_logic::text::format_to_sexpr;
use redpoll_logic::{Format, LeafKind, LevelKind, Scalar};
use std::sync::Arc;

/// The copy that a kernel makes of a tensor of integers, by lists of its rows, in another format.
fn copied(shape: &[u64], format: &Format, value: &mut dyn FnMut(&[u64]) -> i64) -> Result<(Tensor, Tensor), Error> {
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let (sizes, indices) = (sizes.join(" "), ["i", "j", "k"][..shape.len()].join(" "));
    let loops: String = indices.split(' ').map(|i| format!("(for {i} ")).collect();
    let lists = format_to_sexpr(&Format::dense_above(LevelKind::SparseList, shape.len()));
    let format = format_to_sexpr(format);
    let text = format!(
        "(program (input A (type (shape {sizes}) i64 0 {lists})) (output B (type (shape {sizes}) i64 0 {format}))
           {loops} (init (B {indices}) (A {indices})){})",
        ")".repeat(shape.len()),
    );
    let program = Arc::new(normalize(parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))).unwrap());
    let places = places_of(&program.tensors[0].ty, &mut |place| Scalar::I64(value(place)));
    let input = tensor(&program.tensors[0].ty, &places);
    let kernel = Kernel::with_options(&program, &[], Options::default(), Engine::Interpreter).unwrap();
    let mut outputs = kernel.run(&[&input], &Limits::default())?.outputs;
    Ok((input, outputs.pop().unwrap()))
}

fn is_comparable(kind: LevelKind) -> bool {
    lowering(level(kind).written_as()).comparable().is_some()
}

/// Protects the joining of runs: as many are stored as a conversion, which sees whole fibers, stores.
#[test]
fn runs_of_equal_fibers_join() {
    let comparable = || LevelKind::general().filter(|k| is_comparable(*k));
    assert!(comparable().count() >= 7, "most kinds are compared while they are written");
    let mut nestings: Vec<Vec<LevelKind>> = Vec::new();
    for upper in [LevelKind::RunLength, LevelKind::SparseRunLength] {
        for middle in comparable() {
            nestings.push(vec![upper, middle]);
            nestings.extend(comparable().map(|last| vec![upper, middle, last]));
        }
    }
    for kinds in nestings {
        // Of each row, which is the same as some before: a b a a - - a b b - c.
        let mut rng = Rng(11);
        let rows: Vec<Vec<i64>> =
            (0..4).map(|r| (0..12).map(|_| (rng.below(3) as i64) * i64::from(r > 0)).collect()).collect();
        let order = [1, 2, 1, 1, 0, 0, 1, 2, 2, 0, 3];
        let shape = [order.len() as u64, 3, 4];
        let value = |place: &[u64]| {
            let at = place[1..].iter().zip([4, 1]).map(|(i, by)| i * by).sum::<u64>();
            rows[order[place[0] as usize]][at as usize]
        };
        let format = Format::of_kinds(&kinds, LeafKind::Element);
        let (input, output) = copied(&shape[..kinds.len()], &format, &mut { value }).unwrap();
        output.validate().unwrap();
        assert_eq!(output.to_dense_scalars().unwrap(), input.to_dense_scalars().unwrap(), "{kinds:?}");
        let expected = convert(&input, &format).unwrap();
        let runs = |t: &Tensor| t.levels()[0].last().unwrap().len();
        assert_eq!(runs(&output), runs(&expected), "{kinds:?}");
    }
}

/// Protects single entries: one that is written is kept, a second one is told.
#[test]
fn one_entry_or_run_a_fiber_is_held_to() {
    for (single, status) in [(LevelKind::Pinpoint, Status::SecondEntry), (LevelKind::Interval, Status::SecondRun)] {
        for below in LevelKind::general() {
            for above in [LevelKind::Dense, LevelKind::SparseList, LevelKind::Hash] {
                let format = Format::of_kinds(&[above, single, below], LeafKind::Element);
                let run = |last: u64| {
                    move |place: &[u64]| match place {
                        [i, j, k] if *i != 1 && (2..last).contains(j) => (k % 2) as i64 * (1 + *i as i64),
                        _ => 0,
                    }
                };
                let (input, output) = copied(&[4, 5, 3], &format, &mut run(3)).unwrap();
                output.validate().unwrap();
                assert_eq!(output.to_dense_scalars().unwrap(), input.to_dense_scalars().unwrap(), "{format:?}");
                let joins = single == LevelKind::Interval && is_comparable(below);
                match copied(&[4, 5, 3], &format, &mut run(5)) {
                    Ok((input, output)) => {
                        assert!(joins, "{format:?}");
                        output.validate().unwrap();
                        assert_eq!(output.to_dense_scalars().unwrap(), input.to_dense_scalars().unwrap(), "{format:?}");
                    }
                    Err(error) => {
                        assert!(!joins, "{format:?}: {error}");
                        assert!(matches!(error, Error::KernelStopped(s) if s == status), "{format:?}: {error}");
                    }
                }
            }
        }
    }
}

/// Protects tensors that are declared again in every round of a loop, in every format.
#[test]
fn what_is_declared_again_is_empty() {
    for format in concordant_formats_of_rank(2) {
        let format = format_to_sexpr(&format);
        let text = format!(
            "(program (input A (type (shape 5 4 3) i64 0 csf)) (output y (type (shape 5 4) i64 0 dense))
               (local w (type (shape 4 3) i64 0 {format}))
               (for i (where (for j (for k (+= (y i j) (* (+ k 1) (w j k)))))
                             (for j (for k (init (w j k) (A i j k)))))))"
        );
        check(&text, 3);
    }
}
