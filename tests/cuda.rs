//! Every program file on a CUDA device, where there is one: it gives the values of the CPU, or is declined for a reason that the
//! table in `physical/README.md` has. Without a device the text is made all the same, so what is declined is known anywhere.

mod common;

use common::data::Kind;
use common::program::{Choice, ProgramFile};
use redpoll::physical::emit::cuda::Cuda;
use redpoll::{Bindings, Detail, Engine, Prepared, Session};
use redpoll_logic::{FloatMode, Format, Scalar};
use std::path::Path;

/// Why a device declines a program, in the words of its error.
const REASON: &str = "is a function of the host; run this query on the CPU";

/// Protects devices from programs that they decline silently, or compute otherwise.
#[test]
fn program_files_run_on_a_device_or_are_declined() {
    // Who runs what was built on another machine says where the sources are.
    let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let folder = Path::new(&root).join("tests/files");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "rp"));
    paths.sort();
    let device = Cuda::first();
    if let Err(why) = &device {
        eprintln!("nothing ran on a device: {why}");
    }
    let (mut taken, mut declined) = (0, Vec::new());
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let file = ProgramFile::parse(&name, &std::fs::read_to_string(&path).unwrap());
        let prepared = prepared(&file);
        let text = cuda_text(&prepared);
        if text.starts_with("// ") {
            assert!(text.contains(REASON), "{name}: {text}");
            declined.push(name);
            continue;
        }
        assert!(text.contains("__global__") || !has_loops(&prepared), "{name}");
        taken += 1;
        if device.is_ok() {
            let [cpu, found] = [Engine::Cpu, Engine::Cuda(0)].map(|engine| values(&prepared, engine));
            assert_eq!(found, cpu, "{name}");
        }
    }
    eprintln!("{taken} programs are taken, declined: {}", declined.join(", "));
    assert!(taken > 3 * declined.len() && taken > 40, "{taken} taken, {declined:?} declined");
}

/// The program on exact data, in its first formats and sizes, or in dense ones.
fn prepared(file: &ProgramFile) -> Prepared {
    let dense = || file.ranks().into_iter().map(Format::dense).collect();
    let formats = file.formats.first().cloned().unwrap_or_else(dense);
    let choice = Choice { size: 0, formats, kind: Kind::Exact, mode: FloatMode::Relaxed, seed: 3 };
    let case = file.case(&choice).unwrap_or_else(|e| panic!("{}: {e}", file.name));
    let session = Session::default();
    let bindings: Bindings = case.inputs.into_iter().map(|(name, tensor, _)| (name, tensor)).collect();
    session.prepare_plan(case.plan, &bindings).unwrap_or_else(|e| panic!("{}: {e}", file.name))
}

fn cuda_text(prepared: &Prepared) -> String {
    let sections = prepared.explain(Detail::Cuda).unwrap();
    sections.into_iter().find(|section| section.title == "cuda").unwrap().text
}

fn has_loops(prepared: &Prepared) -> bool {
    prepared.flow().unwrap().queries.iter().any(|query| !query.converts)
}

/// The values of all results; zeros have no sign, as chunks may begin sums with one that has.
fn values(prepared: &Prepared, engine: Engine) -> Vec<Vec<Scalar>> {
    let run = prepared.run_with(engine).unwrap();
    let unsigned = |value: Scalar| match value {
        Scalar::F64(x) => Scalar::F64(x + 0.0),
        Scalar::F32(x) => Scalar::F32(x + 0.0),
        other => other,
    };
    let all = |tensor: &redpoll::physical::storage::Tensor| tensor.to_dense_scalars().unwrap();
    run.outputs.iter().map(|(_, tensor)| all(tensor).into_iter().map(unsigned).collect()).collect()
}
