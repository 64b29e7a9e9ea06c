//! Tests of the tiers: the optimizing tier takes over with the same bits, the instant tier
//! continues without a compiler, and dumped kernels can be edited and run.

use redpoll::kernels::CacheFolder;
use redpoll::kernels::c::{Toolchain, ToolchainOptions};
use redpoll::logic::{Format, Scalar, TensorType};
use redpoll::storage::{Tensor, Values};
use redpoll::{Bindings, Config, Detail, Prepared, Run, Session, Target};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const RESIDUAL: &str = "(plan
    (query y (aggregate + 0 (mapjoin * (table A i k) (table x k)) k))
    (query n (aggregate + 0 (mapjoin * (table y i) (table y i)) i))
    (query r (mapjoin / (table y i) (table n)))
    (produces r n))";

/// Number of runs after which the compilation of [`RESIDUAL`] in the background has started.
const RUNS: usize = 1000;

fn tensor(shape: &[u64], format: Format) -> Tensor {
    let count: u64 = shape.iter().product();
    let value = |k: u64| if k.is_multiple_of(3) { 0.1 * k as f64 + 0.3 } else { 0.0 };
    let values: Vec<Scalar> = (0..count).map(|k| Scalar::F64(value(k))).collect();
    let fill = Scalar::F64(0.0);
    let ty = TensorType { shape: shape.to_vec(), dtype: fill.dtype(), fill, format };
    Tensor::from_dense(ty.clone(), &Values::from_scalars(ty.dtype, &values).unwrap()).unwrap()
}

fn bindings() -> Bindings {
    Bindings::new().with("A", tensor(&[20, 30], Format::csr())).with("x", tensor(&[30], Format::dense(1)))
}

fn config(compiler: Option<&str>, folder: &Path) -> Config {
    let cache = CacheFolder::At(folder.join("kernels"));
    let options = ToolchainOptions { compiler: compiler.map(PathBuf::from), cache, ..ToolchainOptions::default() };
    Config { toolchain: Arc::new(Toolchain::new(options)), dump: None, load: None, ..Config::default() }
}

fn prepare(config: Config) -> Prepared {
    Session::new(config).prepare(RESIDUAL, &bindings()).unwrap()
}

fn bits(run: &Run) -> Vec<u64> {
    let scalars = run.outputs.iter().flat_map(|(_, t)| t.to_dense_scalars().unwrap());
    scalars.map(|s| s.to_bits().unwrap()).collect()
}

/// Runs a plan until its compilation in the background must have started, and waits for the
/// compilation. Checks that all runs give the same bits, and returns these bits.
fn repeat(prepared: &Prepared) -> Vec<u64> {
    let first = bits(&prepared.run().unwrap());
    for _ in 0..RUNS {
        assert_eq!(bits(&prepared.run().unwrap()), first);
    }
    prepared.wait_for_optimizing_tier();
    assert_eq!(bits(&prepared.run().unwrap()), first);
    first
}

/// Results have the same bits after the optimizing tier takes over, and the kernels of a plan are
/// compiled together.
#[test]
fn the_optimizing_tier_takes_over_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(None, folder.path());
    let prepared = prepare(config.clone());
    assert_eq!(prepared.tier(), Target::INSTANT);
    let expected = repeat(&prepared);
    assert_eq!((prepared.tier(), prepared.tier_note()), (Target::OPTIMIZING, None));
    assert_eq!(config.toolchain.counters().compiled, 1);

    let pinned = prepare(Config { target: Target::OPTIMIZING, ..config.clone() });
    assert_eq!(bits(&pinned.run().unwrap()), expected);
    assert_eq!((config.toolchain.counters().memory, config.toolchain.counters().compiled), (1, 1));
    let instant = prepare(Config { target: Target::INSTANT, ..config });
    for _ in 0..RUNS {
        instant.run().unwrap();
    }
    instant.wait_for_optimizing_tier();
    assert_eq!(instant.tier(), Target::INSTANT, "the instant tier was pinned");
}

/// Each kernel is tried in both tiers, with the same bits, and stays in the faster tier.
/// Explanations and profiles report this tier.
#[test]
fn each_kernel_stays_in_its_faster_tier() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepare(config(None, folder.path()));
    let expected = repeat(&prepared);
    assert!(prepared.tier_choices().is_empty(), "one run in both tiers is no trial");
    for _ in 0..RUNS {
        assert_eq!(bits(&prepared.run().unwrap()), expected);
    }
    let choices = prepared.tier_choices();
    let kernels = prepared.physical().unwrap().queries.len();
    assert_eq!(choices.len(), kernels, "{choices:?}");
    for choice in &choices {
        let slower = choice.optimizing > choice.instant;
        assert_eq!(choice.tier, if slower { Target::INSTANT } else { Target::OPTIMIZING }, "{choice}");
    }
    let sections = prepared.explain(Detail::Notation).unwrap();
    let tiers = sections.iter().find(|section| section.title == "tiers").expect("the choices are explained");
    assert!(choices.iter().all(|choice| tiers.text.contains(&choice.to_string())), "{}", tiers.text);
    let profile = prepared.profile(Target::CPU).unwrap();
    let of_queries = profile.queries.iter().map(|query| query.target);
    assert_eq!(of_queries.collect::<Vec<_>>(), choices.iter().map(|choice| Some(choice.tier)).collect::<Vec<_>>());
}

/// Without a C compiler, the instant tier continues, and a note gives the reason. Only an explicit
/// request for the optimizing tier fails.
#[test]
fn the_instant_tier_continues_without_a_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(Some("/nowhere/cc"), folder.path());
    let prepared = prepare(config.clone());
    repeat(&prepared);
    assert_eq!(prepared.tier(), Target::INSTANT);
    let note = prepared.tier_note().unwrap();
    assert!(
        note.contains("the instant tier remains in use") && note.contains("no usable C compiler: `/nowhere/cc`"),
        "{note}"
    );
    let pinned = Session::new(Config { target: Target::OPTIMIZING, ..config }).prepare(RESIDUAL, &bindings());
    let error = pinned.err().unwrap().to_string();
    assert!(error.contains("no usable C compiler") && error.contains("instant tier"), "{error}");
}

/// A dumped kernel can be edited and run.
#[test]
fn dumped_kernels_can_be_edited_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, dumps) = (config(None, folder.path()), folder.path().join("dumps"));
    let expected = prepare(Config { dump: Some(dumps.clone()), ..plain.clone() }).run().unwrap();

    let plans: Vec<PathBuf> = fs::read_dir(&dumps).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(plans.len(), 1, "one folder a plan: {plans:?}");
    let files = fs::read_dir(&plans[0]).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let files: Vec<String> = files.collect();
    for part in ["00-logic", "notation-of-y", "assembly-of-y", "clif-of-y", "kernels.c"] {
        assert!(files.iter().any(|f| f.contains(part)), "no {part}: {files:?}");
    }
    let kernels = plans[0].join("kernels.c");
    let text = fs::read_to_string(&kernels).unwrap();
    let edited = text.replace("* x_val[", "* -1.0 * x_val[");
    assert_ne!(edited, text, "{text}");

    let back = Config { load: Some(dumps.clone()), ..plain };
    let n = |run: &Run| run.get("n").unwrap().sum().unwrap();
    let r = |run: &Run| run.get("r").unwrap().sum().unwrap();
    fs::write(&kernels, &edited).unwrap();
    let loaded = prepare(back.clone());
    assert_eq!(loaded.tier(), Target::OPTIMIZING, "edited kernels run in the optimizing tier");
    let run = loaded.run().unwrap();
    assert_eq!((n(&run), r(&run)), (n(&expected), r(&expected).map(|r| -r)));

    fs::write(&kernels, edited.replace("* -1.0", "* nonsense")).unwrap();
    let error = Session::new(back.clone()).prepare(RESIDUAL, &bindings()).err().unwrap().to_string();
    assert!(error.contains("nonsense"), "{error}");

    let other = "(plan (query s (aggregate + 0 (table A i k) i k)) (produces s))";
    let session = Session::new(back.clone());
    assert_eq!(session.prepare(other, &bindings()).unwrap().tier(), Target::INSTANT, "another plan is not touched");

    // Edited kernels do not apply to a plan with other names of inputs either, although sessions
    // cache both plans as one.
    let renamed = RESIDUAL.replace("(table A", "(table B");
    let both = bindings().with("B", tensor(&[20, 30], Format::csr()));
    let in_order = |texts: [&str; 2]| {
        fs::write(&kernels, &edited).unwrap();
        let session = Session::new(back.clone());
        texts.map(|text| r(&session.prepare(text, &both).unwrap().run().unwrap()))
    };
    let (plain, negative) = (r(&expected), r(&expected).map(|r| -r));
    assert_eq!(in_order([&renamed, RESIDUAL]), [plain, negative]);
    assert_eq!(in_order([RESIDUAL, &renamed]), [negative, plain]);
}
