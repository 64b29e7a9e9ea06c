//! The caches and their faults, compilers that are missing or fail, edited texts.

use super::{CacheFolder, Disk, Options, Toolchain, Uses, emit};
use crate::Error;
use crate::assembly::examples::{Case, DOT, SPMV, function, toolchain};
use crate::run::Signature;
use arrow::buffer::Buffer as ArrowBuffer;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

fn at(folder: &Path) -> Toolchain {
    Toolchain::new(Options { cache: CacheFolder::At(folder.to_owned()), ..Options::default() })
}

/// An inner product of two vectors.
fn dot() -> Case {
    let values = || ArrowBuffer::from_vec((0..20).map(f64::from).collect::<Vec<f64>>());
    Case::new(function(DOT), &[values(), values()], &[], 0..20)
}

/// Compiles and runs the inner product.
fn run(toolchain: &Toolchain) -> Uses {
    let case = dot();
    let kernels = toolchain.compile(&[&case.function]).unwrap();
    case.assert_agrees(&kernels[0], &case.interpret());
    toolchain.uses()
}

/// The one library of a cache.
fn library(folder: &Path) -> PathBuf {
    let entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    let files: Vec<PathBuf> = fs::read_dir(&entries[0]).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Protects from compiling twice: the second time it is memory, in another process it is the disk.
#[test]
fn kernels_are_found_in_memory_and_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let first = at(folder.path());
    assert_eq!(run(&first), Uses { memory: 0, disk: 0, compiled: 1 });
    assert_eq!(run(&first), Uses { memory: 1, disk: 0, compiled: 1 });
    assert_eq!(run(&at(folder.path())), Uses { memory: 0, disk: 1, compiled: 0 });
    let mode = fs::metadata(folder.path()).unwrap().permissions();
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o700);
    // Another function is another key.
    let spmv = function(SPMV);
    first.compile(&[&spmv]).unwrap();
    assert_eq!(first.uses().compiled, 2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// Protects from loading what was cut off or changed.
#[test]
fn altered_entries_are_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    run(&at(folder.path()));
    let whole = fs::read(library(folder.path())).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for broken in [&whole[..whole.len() / 2], &[], &changed] {
        fs::write(library(folder.path()), broken).unwrap();
        assert_eq!(run(&at(folder.path())), Uses { memory: 0, disk: 0, compiled: 1 });
        assert_eq!(run(&at(folder.path())), Uses { memory: 0, disk: 1, compiled: 0 });
    }
}

/// Protects users from code that others can put into their cache.
#[cfg(unix)]
#[test]
fn a_folder_of_somebody_else_is_refused() {
    let mine = tempfile::tempdir().unwrap();
    let foreign = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(mine.path(), Some(12345), None).unwrap();
        mine.path()
    } else {
        Path::new("/")
    };
    let toolchain = at(foreign);
    assert_eq!(run(&toolchain), Uses { memory: 0, disk: 0, compiled: 1 });
    assert!(toolchain.cache_fault().unwrap().contains("belongs to user"), "{:?}", toolchain.cache_fault());
    assert_eq!(fs::read_dir(mine.path()).unwrap().count(), 0);
}

/// Protects kernels from a cache that cannot be written.
#[test]
fn without_a_usable_folder_kernels_are_made_all_the_same() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for folder in [file.path().to_owned(), file.path().join("below")] {
        let toolchain = at(&folder);
        assert_eq!(run(&toolchain), Uses { memory: 0, disk: 0, compiled: 1 });
        assert!(toolchain.cache_fault().unwrap().contains("cannot be used"), "{:?}", toolchain.cache_fault());
    }
    let off = Toolchain::new(Options { cache: CacheFolder::Off, ..Options::default() });
    assert_eq!((run(&off).compiled, off.cache_fault()), (1, None));
    // The place of the entry is taken by a file, as if the disk were full.
    let folder = tempfile::tempdir().unwrap();
    run(&at(folder.path()));
    let entry = library(folder.path()).parent().unwrap().to_owned();
    fs::remove_dir_all(&entry).unwrap();
    fs::write(&entry, "").unwrap();
    assert_eq!(run(&at(folder.path())), Uses { memory: 0, disk: 0, compiled: 1 });
}

/// Protects the disk: the oldest entries go first, and what killed compilations have left goes too.
#[test]
fn the_cache_keeps_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::open(folder.path(), 1000).unwrap();
    let work = disk.work_folder().unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3 * 3600);
    let dated = |path: &Path, time: SystemTime| fs::File::open(path).unwrap().set_modified(time).unwrap();
    let left = disk.work_folder().unwrap().keep();
    dated(&left, long_ago);
    let add = |key: &str| {
        let library = work.path().join("library");
        fs::write(&library, [key.as_bytes(), &[0; 290]].concat()).unwrap();
        disk.keep(key, &library).unwrap();
    };
    for (age, key) in ["aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc"].iter().enumerate() {
        add(key);
        dated(&folder.path().join(key), long_ago + Duration::from_secs(age as u64));
    }
    assert!(!left.exists(), "the work of a killed compilation is left");
    assert!(work.path().exists(), "work that goes on was removed");
    assert!(disk.find("aaaaaaaaaa").is_some(), "used, so it is not the oldest any more");
    add("dddddddddd");
    let found = ["aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "dddddddddd"].map(|key| disk.find(key).is_some());
    assert_eq!(found, [true, false, false, true]);
}

/// Protects users without a compiler, or with one that is none, from anything but a clear error.
#[test]
fn a_missing_compiler_is_a_clear_error() {
    let with = |compiler: &str| {
        let options = Options { compiler: Some(compiler.into()), cache: CacheFolder::Off, ..Options::default() };
        Toolchain::new(options).compile(&[&function(DOT)]).err().unwrap()
    };
    for compiler in ["/nowhere/cc", "no-such-compiler", "/bin/false"] {
        let error = with(compiler);
        assert!(matches!(&error, Error::NoCompiler(reason) if reason.contains(compiler)), "{error}");
        assert!(error.to_string().contains("instant tier"), "{error}");
    }
}

/// Protects edited texts: they run if they fit, and what is wrong with them is said.
#[test]
fn edited_texts_run_back() {
    let case = dot();
    let text = emit(&[&case.function]).unwrap();
    let signature = Signature::of(&case.function);
    let edited = text.replace("a[p] * b[p]", "b[p] * a[p]");
    assert_ne!(edited, text);
    let kernel = &toolchain().compile_edited(&edited, std::slice::from_ref(&signature)).unwrap()[0];
    case.assert_agrees(kernel, &case.interpret());

    let other = [Signature::of(&function(SPMV))];
    let error = toolchain().compile_edited(&edited, &other).err().unwrap();
    assert!(matches!(error, Error::OtherInterface(_)), "{error}");

    let broken = text.replace("acc = 0.0;", "acc = nonsense;");
    let error = toolchain().compile_edited(&broken, std::slice::from_ref(&signature)).err().unwrap();
    let Error::CompileC { source_file, message, .. } = &error else { panic!("{error}") };
    assert!(message.contains("nonsense"), "{message}");
    assert_eq!(fs::read_to_string(source_file).unwrap(), broken, "the text is kept");
    fs::remove_dir_all(source_file.parent().unwrap()).unwrap();

    let odd = text.replace("return RP_DONE;", "return 77;");
    let kernel = &toolchain().compile_edited(&odd, &[signature]).unwrap()[0];
    // SAFETY: the text differs in its status only.
    let error = unsafe { kernel.call(&mut case.invocation(), case.chunk.clone()) }.unwrap_err();
    assert!(matches!(error, Error::UnknownStatus(77)), "{error}");
}
