//! Runs the plans of the folder `plans` in every engine, with the formats and sizes in their
//! headers.

use redpoll_logic::FloatMode;
use redpoll_testing::data::ValueKind;
use redpoll_testing::engines::check;
use redpoll_testing::program::{CaseChoice, ProgramFile};
use redpoll_testing::{optimizing, rng};
use std::path::Path;

/// Each plan agrees with the reference interpreter on every engine.
#[test]
fn plans_agree_on_every_engine() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "rp"));
    paths.sort();
    assert!(paths.len() > 10, "the folder of plans has {} plans", paths.len());
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let file = ProgramFile::parse(&name, &std::fs::read_to_string(&path).unwrap());
        assert!(!file.formats.is_empty(), "{name}: its header names no formats");
        let mut rng = rng::named(&name, 1);
        for formats in &file.formats {
            for size in 0..file.sizes.len() {
                for (kind, mode) in
                    [(ValueKind::Exact, FloatMode::Relaxed), (ValueKind::General, FloatMode::StrictIeee)]
                {
                    let choice = CaseChoice { size, formats: formats.clone(), kind, mode, seed: rng.bits() };
                    let case = file.case(&choice).unwrap_or_else(|message| panic!("{name}: {message}"));
                    check(&case).unwrap_or_else(|failure| panic!("{name}, {choice:?}: {}", failure.message));
                }
            }
        }
    }
    let wrong: Vec<String> = optimizing::check_recorded().failures.into_iter().map(|(_, message)| message).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
