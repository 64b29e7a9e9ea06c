//! Tests of the caches and their faults, of missing and failing compilers, and of edited texts.

use super::{DiskCache, Toolchain, ToolchainCounters, ToolchainOptions, emit};
use crate::CacheFolder;
use crate::Error;
use crate::testing::case::{FunctionCase, toolchain};
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::Signature;
use redpoll_compiler::testing::examples::{DOT, SPMV, function};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

fn at(folder: &Path) -> Toolchain {
    Toolchain::new(ToolchainOptions { cache: CacheFolder::At(folder.to_owned()), ..ToolchainOptions::default() })
}

/// Returns an inner product of two vectors.
fn dot() -> FunctionCase {
    let values = || ArrowBuffer::from_vec((0..20).map(f64::from).collect::<Vec<f64>>());
    FunctionCase::new(function(DOT), &[values(), values()], &[], 0..20)
}

/// Compiles and runs the inner product, and returns the counters of the toolchain.
fn run(toolchain: &Toolchain) -> ToolchainCounters {
    let case = dot();
    let kernels = toolchain.compile(&[&case.function]).unwrap();
    case.assert_agrees(&kernels[0], &case.interpret());
    toolchain.counters()
}

/// Returns the entries of a cache: libraries, or notes on compilers.
fn entries(folder: &Path, notes: bool) -> Vec<PathBuf> {
    let is_note = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("compiler-");
    let all = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    all.filter(|path| is_note(path) == notes).collect()
}

/// Returns the only file of the only entry.
fn only_file(entries: &[PathBuf]) -> PathBuf {
    assert_eq!(entries.len(), 1, "{entries:?}");
    let files: Vec<PathBuf> = fs::read_dir(&entries[0]).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Returns the only library of a cache.
fn library(folder: &Path) -> PathBuf {
    only_file(&entries(folder, false))
}

/// Kernels compile once: later they are found in memory, or on disk by another toolchain.
#[test]
fn kernels_are_found_in_memory_and_on_disk() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("cache");
    let first = at(&folder);
    assert_eq!(run(&first), ToolchainCounters { memory: 0, disk: 0, compiled: 1 });
    assert_eq!(run(&first), ToolchainCounters { memory: 1, disk: 0, compiled: 1 });
    assert_eq!(run(&at(&folder)), ToolchainCounters { memory: 0, disk: 1, compiled: 0 });
    let mode = fs::metadata(&folder).unwrap().permissions();
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o700);
    // Another function has another key.
    let spmv = function(SPMV);
    first.compile(&[&spmv]).unwrap();
    assert_eq!(first.counters().compiled, 2);
    assert_eq!(entries(&folder, false).len(), 2);
}

/// Truncated or altered libraries are compiled again.
#[test]
fn altered_entries_are_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    run(&at(folder.path()));
    let whole = fs::read(library(folder.path())).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for broken in [&whole[..whole.len() / 2], &[], &changed] {
        fs::write(library(folder.path()), broken).unwrap();
        assert_eq!(run(&at(folder.path())), ToolchainCounters { memory: 0, disk: 0, compiled: 1 });
        assert_eq!(run(&at(folder.path())), ToolchainCounters { memory: 0, disk: 1, compiled: 0 });
    }
}

/// Writes a compiler that reports the given version and records each of its starts.
#[cfg(unix)]
fn counting_compiler(folder: &Path, version: &str) -> PathBuf {
    let starts = folder.join("starts");
    let text = format!(
        "#!/bin/sh\necho start >> '{}'\ncase \"$*\" in *--version*) echo '{version}'; exit;; esac\nexec cc \"$@\"\n",
        starts.display()
    );
    script(folder, &text)
}

/// Writes a program `cc` into a folder.
#[cfg(unix)]
fn script(folder: &Path, text: &str) -> PathBuf {
    let script = folder.join("cc");
    // Another process writes the file. If this process opened the file for writing, a child that
    // another thread starts could inherit the open file, and the file could not be executed.
    let write = format!("printf %s \"$1\" > '{0}.new' && chmod +x '{0}.new' && mv '{0}.new' '{0}'", script.display());
    let written = std::process::Command::new("sh").args(["-c", &write, "sh", text]).status().unwrap();
    assert!(written.success());
    script
}

/// A compiler that hangs is killed, together with its children, at each of the calls that the
/// toolchain makes itself.
#[cfg(unix)]
#[test]
fn a_compiler_that_hangs_is_stopped() {
    // The compiler hangs in calls that match the pattern, with a child that would run for a day.
    let seconds = Duration::from_secs;
    let cases = [("*", true, seconds(1)), ("*--version*", true, seconds(3)), ("*-shared*", false, seconds(3))];
    for (hangs, is_unusable, compiler_time) in cases {
        let place = tempfile::tempdir().unwrap();
        let child = place.path().join("child");
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in {hangs}) sleep 86400 & echo $! > '{}'; wait;; esac\nexec cc \"$@\"\n",
            child.display()
        );
        let compiler = Some(script(place.path(), &text));
        let cache = CacheFolder::At(place.path().join("cache"));
        let options = ToolchainOptions { compiler, cache, compiler_time, ..ToolchainOptions::default() };
        let error = Toolchain::new(options).compile(&[&function(DOT)]).err().unwrap();
        match is_unusable {
            true => assert!(matches!(&error, Error::NoCompiler(why) if why.contains("does not answer")), "{error}"),
            false => assert!(matches!(&error, Error::CompilerTimeout { .. }), "{error}"),
        }
        let number = fs::read_to_string(&child).unwrap();
        let has_ended = || {
            // A killed process may remain as a zombie.
            let state = fs::read_to_string(format!("/proc/{}/stat", number.trim()));
            state.map_or(true, |state| state.contains(") Z "))
        };
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        while cfg!(target_os = "linux") && !has_ended() {
            assert!(std::time::Instant::now() < deadline, "{hangs}: the child still runs");
            std::thread::yield_now();
        }
        let entries_left: Vec<PathBuf> = entries(&place.path().join("cache"), false);
        assert!(entries_left.is_empty(), "{hangs}: {entries_left:?}");
    }
}

/// The first kernel of a process does not wait for a compiler that is not needed, and a changed
/// compiler is noticed.
#[cfg(unix)]
#[test]
fn with_kernels_on_disk_the_compiler_is_not_started() {
    let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let compiler = counting_compiler(place.path(), "one 1.0");
    let starts = || fs::read_to_string(place.path().join("starts")).unwrap().lines().count();
    let with = || {
        let cache = CacheFolder::At(folder.path().to_owned());
        Toolchain::new(ToolchainOptions { compiler: Some(compiler.clone()), cache, ..ToolchainOptions::default() })
    };
    let found = |expected: ToolchainCounters, started: bool| {
        let (before, toolchain) = (starts(), with());
        assert_eq!(run(&toolchain), expected);
        assert_eq!(starts() > before, started);
        toolchain.compiler().unwrap().to_owned()
    };
    let (compiled, on_disk) =
        (ToolchainCounters { memory: 0, disk: 0, compiled: 1 }, ToolchainCounters { memory: 0, disk: 1, compiled: 0 });
    assert_eq!(run(&with()), compiled);
    assert_eq!(found(on_disk, false), "one 1.0");

    // A truncated or altered note is ignored.
    let note = || only_file(&entries(folder.path(), true));
    let whole = fs::read(note()).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for broken in [&whole[..whole.len() / 2], &[], &changed] {
        fs::write(note(), broken).unwrap();
        found(on_disk, true);
        found(on_disk, false);
    }

    // A compiler whose file was rewritten is queried again.
    counting_compiler(place.path(), "one 1.0");
    found(on_disk, true);
    counting_compiler(place.path(), "two 2.0");
    assert_eq!(found(compiled, true), "two 2.0");
    assert_eq!(found(on_disk, false), "two 2.0");

    fs::remove_file(&compiler).unwrap();
    let error = with().compile(&[&function(DOT)]).err().unwrap();
    assert!(matches!(&error, Error::NoCompiler(_)), "{error}");
}

/// A cache folder of another user is refused.
#[cfg(unix)]
#[test]
fn a_folder_of_another_user_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(folder.path(), Some(12345), None).unwrap();
        folder.path()
    } else {
        Path::new("/")
    };
    let toolchain = at(foreign);
    assert_eq!(run(&toolchain), ToolchainCounters { memory: 0, disk: 0, compiled: 1 });
    assert!(toolchain.cache_fault().unwrap().contains("belongs to user"), "{:?}", toolchain.cache_fault());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Kernels compile if the cache is off, cannot be used, or cannot be written.
#[test]
fn kernels_compile_without_a_usable_folder() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for folder in [file.path().to_owned(), file.path().join("below")] {
        let toolchain = at(&folder);
        assert_eq!(run(&toolchain), ToolchainCounters { memory: 0, disk: 0, compiled: 1 });
        assert!(toolchain.cache_fault().unwrap().contains("cannot be used"), "{:?}", toolchain.cache_fault());
    }
    let off = Toolchain::new(ToolchainOptions { cache: CacheFolder::Off, ..ToolchainOptions::default() });
    assert_eq!((run(&off).compiled, off.cache_fault()), (1, None));
    // A file with the name of the entry prevents the creation of the entry, as a full disk would.
    let folder = tempfile::tempdir().unwrap();
    run(&at(folder.path()));
    let entry = library(folder.path()).parent().unwrap().to_owned();
    fs::remove_dir_all(&entry).unwrap();
    fs::write(&entry, "").unwrap();
    assert_eq!(run(&at(folder.path())), ToolchainCounters { memory: 0, disk: 0, compiled: 1 });
}

/// The cache removes the least recently used entries first. It also removes the work folders of
/// killed compilations.
#[test]
fn the_cache_keeps_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskCache::open(folder.path(), 1000).unwrap();
    let work = disk.work_folder().unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3 * 3600);
    let dated = |path: &Path, time: SystemTime| fs::File::open(path).unwrap().set_modified(time).unwrap();
    let stale = disk.work_folder().unwrap().keep();
    dated(&stale, long_ago);
    let add = |key: &str| {
        let library = work.path().join("library");
        fs::write(&library, [&key.as_bytes()[..10], &[0; 290]].concat()).unwrap();
        disk.insert(key, &library).unwrap();
    };
    let keys = ["a", "b", "c", "d"].map(|digit| digit.repeat(64));
    for (age, key) in keys[..3].iter().enumerate() {
        add(key);
        dated(&folder.path().join(key), long_ago + Duration::from_secs(age as u64));
    }
    assert!(!stale.exists(), "the work folder of a killed compilation was not removed");
    assert!(work.path().exists(), "the work folder of a running compilation was removed");
    assert!(disk.find(&keys[0]).is_some(), "the lookup makes it the most recently used entry");
    add(&keys[3]);
    let found = keys.each_ref().map(|key| disk.find(key).is_some());
    assert_eq!(found, [true, false, false, true]);
}

/// A missing or unusable compiler is a clear error.
#[test]
fn a_missing_compiler_is_a_clear_error() {
    let with = |compiler: &str| {
        let options = ToolchainOptions {
            compiler: Some(compiler.into()),
            cache: CacheFolder::Off,
            ..ToolchainOptions::default()
        };
        Toolchain::new(options).compile(&[&function(DOT)]).err().unwrap()
    };
    for compiler in ["/nowhere/cc", "no-such-compiler", "/bin/false"] {
        let error = with(compiler);
        assert!(matches!(&error, Error::NoCompiler(reason) if reason.contains(compiler)), "{error}");
        assert!(error.to_string().contains("instant tier"), "{error}");
    }
}

/// Edited texts run if their interface fits; otherwise the error says why.
#[test]
fn edited_texts_run() {
    let case = dot();
    let text = emit(&[&case.function]).unwrap();
    let signature = Signature::of(&case.function);
    let edited = text.replace("a[p] * b[p]", "b[p] * a[p]");
    assert_ne!(edited, text);
    let kernel = &toolchain().compile_edited(&edited, std::slice::from_ref(&signature)).unwrap()[0];
    case.assert_agrees(kernel, &case.interpret());

    let other = [Signature::of(&function(SPMV))];
    let error = toolchain().compile_edited(&edited, &other).err().unwrap();
    assert!(matches!(error, Error::InterfaceMismatch(_)), "{error}");
    assert!(error.to_string().contains("other buffers or parameters, or for another calling convention"), "{error}");

    let broken = text.replace("acc = 0.0;", "acc = nonsense;");
    let error = toolchain().compile_edited(&broken, std::slice::from_ref(&signature)).err().unwrap();
    let Error::CompileC { source_file, message, .. } = &error else { panic!("{error}") };
    assert!(message.contains("nonsense"), "{message}");
    assert_eq!(fs::read_to_string(source_file).unwrap(), broken, "the text was not kept");
    fs::remove_dir_all(source_file.parent().unwrap()).unwrap();

    let odd = text.replace("return RP_DONE;", "return 77;");
    let kernel = &toolchain().compile_edited(&odd, &[signature]).unwrap()[0];
    // SAFETY: the text differs in its status only.
    let error = unsafe { kernel.call(&mut case.invocation(), case.chunk.clone()) }.unwrap_err();
    assert!(matches!(error, Error::UnknownStatus(77)), "{error}");
}
