//! From C text to kernels in memory: finds or compiles libraries, loads them and caches them.
//!
//! A [`Toolchain`] has a C compiler and two caches, in memory and on disk. The key of both is a
//! hash of the text, the compiler with its version and flags, the processor if the flags depend on
//! it, and the version of this crate. The text begins with a hash that changes with the calling
//! convention.

mod compiler;
mod compiler_note;
mod cpu;
mod library;
mod process;
#[cfg(test)]
mod tests;

use super::unit::{emit, entry_name, interface};
use crate::c::options::{ToolchainCounters, ToolchainOptions};
use crate::cache::{self, DiskCache, EntryKind};
use crate::{CompiledKernel, Error};
use compiler::Compiler;
use library::Library;
use lru::LruCache;
use redpoll_compiler::assembly::{Function, Signature};
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

pub use process::stop_compilers;

/// Maximum number of libraries in the cache in memory.
const MAX_LOADED: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// A C compiler with its caches. The compiler is looked up at its first use.
#[derive(Debug)]
pub struct Toolchain {
    options: ToolchainOptions,
    compiler: OnceLock<Result<Compiler, String>>,
    disk: OnceLock<Option<Result<DiskCache, String>>>,
    /// Libraries by key; the least recently used are evicted first.
    loaded: Mutex<LruCache<String, Arc<Library>>>,
    counters: [AtomicU64; 3],
}

impl Toolchain {
    /// True if the build can compile and load C.
    pub const AVAILABLE: bool = true;

    /// Creates a toolchain with its own caches.
    pub fn new(options: ToolchainOptions) -> Toolchain {
        Toolchain {
            options,
            compiler: OnceLock::new(),
            disk: OnceLock::new(),
            loaded: Mutex::new(LruCache::new(MAX_LOADED)),
            counters: Default::default(),
        }
    }

    /// Returns the toolchain of this process, with the default options.
    pub fn host() -> &'static Arc<Toolchain> {
        static HOST: LazyLock<Arc<Toolchain>> = LazyLock::new(|| Arc::new(Toolchain::new(ToolchainOptions::default())));
        &HOST
    }

    /// Returns the compiler and its version, in one line.
    ///
    /// # Errors
    /// [`Error::NoCompiler`] if there is none that can be used.
    pub fn compiler(&self) -> Result<&str, Error> {
        self.find_compiler().map(Compiler::name)
    }

    /// Returns the reason why the cache on disk cannot be used, or the first refused entry with the
    /// reason; `None` if there is no such fault or no cache.
    pub fn cache_fault(&self) -> Option<&str> {
        match self.open_disk()? {
            Ok(disk) => disk.refused_entry(),
            Err(fault) => Some(fault),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> ToolchainCounters {
        let [memory, disk, compiled] = [0, 1, 2].map(|k: usize| self.counters[k].load(Ordering::Relaxed));
        ToolchainCounters { memory, disk, compiled }
    }

    /// Compiles functions as one translation unit; returns the kernels in the order of the
    /// functions.
    ///
    /// # Errors
    /// [`InvalidAssembly`](redpoll_compiler::Error::InvalidAssembly) if the verifier rejects a
    /// function; [`Error::NoCompiler`], [`Error::CompileC`], [`Error::CompilerTimeout`] and
    /// [`Error::LoadLibrary`] if this machine cannot compile or load the text.
    pub fn compile(&self, functions: &[&Function]) -> Result<Vec<CompiledKernel>, Error> {
        let signatures: Vec<_> = functions.iter().map(|f| Signature::of(f)).collect();
        self.compile_text(&emit(functions)?, &signatures)
    }

    /// Compiles an edited version of the text that [`emit`] prints for functions with these
    /// signatures. The author of the text is responsible for its effects.
    ///
    /// # Errors
    /// [`Error::InterfaceMismatch`] if the text was printed for functions with other buffers or
    /// parameters, or for another calling convention; otherwise like
    /// [`compile`](Toolchain::compile).
    pub fn compile_edited(&self, text: &str, signatures: &[Arc<Signature>]) -> Result<Vec<CompiledKernel>, Error> {
        let expected = interface(signatures);
        if !text.lines().any(|line| line == expected) {
            return Err(Error::InterfaceMismatch(expected));
        }
        self.compile_text(text, signatures)
    }

    fn compile_text(&self, text: &str, signatures: &[Arc<Signature>]) -> Result<Vec<CompiledKernel>, Error> {
        let library = self.library(text)?;
        signatures.iter().enumerate().map(|(k, signature)| library.kernel(&entry_name(k), signature)).collect()
    }

    fn library(&self, text: &str) -> Result<Arc<Library>, Error> {
        let compiler = self.find_compiler()?;
        let key = key(text, compiler);
        if let Some(library) = self.loaded_library(&key) {
            self.count(0);
            return Ok(library);
        }
        let disk = self.usable_disk();
        // An entry may vanish between lookup and load.
        let cached = disk.and_then(|disk| disk.find(&key)).and_then(|path| Library::load(&path, None).ok());
        let library = match cached {
            Some(library) => {
                self.count(1);
                library
            }
            None => {
                self.count(2);
                Compilation { text, compiler, time: self.options.compiler_time }.library(&key, disk)?
            }
        };
        Ok(self.insert_loaded(key, Arc::new(library)))
    }

    fn find_compiler(&self) -> Result<&Compiler, Error> {
        let found = self.compiler.get_or_init(|| {
            Compiler::find(self.options.compiler.as_deref(), self.usable_disk(), self.options.compiler_time)
        });
        found.as_ref().map_err(|reason| Error::NoCompiler(reason.clone()))
    }

    fn open_disk(&self) -> Option<&Result<DiskCache, String>> {
        self.disk.get_or_init(|| cache::open(&self.options.cache, self.options.cache_bytes)).as_ref()
    }

    fn usable_disk(&self) -> Option<&DiskCache> {
        self.open_disk().and_then(|disk| disk.as_ref().ok())
    }

    fn count(&self, counter: usize) {
        self.counters[counter].fetch_add(1, Ordering::Relaxed);
    }

    fn loaded_library(&self, key: &str) -> Option<Arc<Library>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Caches a library in memory and returns the cached library, which is an earlier one if the
    /// key was present.
    fn insert_loaded(&self, key: String, library: Arc<Library>) -> Arc<Library> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(key, || library).clone()
    }
}

/// A C text to compile, with the compiler and its time limit.
#[derive(Clone, Copy)]
struct Compilation<'a> {
    text: &'a str,
    compiler: &'a Compiler,
    time: Duration,
}

impl Compilation<'_> {
    /// Compiles in a work folder of the cache and moves the library into the cache. If the move
    /// fails, the library is loaded from the work folder. Compiles in a folder of temporary files
    /// if there is no work folder, or if the compilation in the work folder fails for another
    /// reason than its time limit.
    fn library(self, key: &str, disk: Option<&DiskCache>) -> Result<Library, Error> {
        match disk.map(|disk| (disk, disk.work_folder())) {
            Some((disk, Ok(folder))) => match self.compile_in(&folder) {
                Ok(library) => match disk.insert(key, &library) {
                    Ok(cached) => Library::load(&cached, None),
                    Err(_) => Library::load(&library, Some(folder)),
                },
                Err(error @ Error::CompilerTimeout { .. }) => Err(error),
                // The disk of the cache may be full, while the disk of temporary files has space.
                Err(_) => self.compile_in_temp(),
            },
            _ => self.compile_in_temp(),
        }
    }

    /// Compiles in a folder of temporary files.
    fn compile_in_temp(self) -> Result<Library, Error> {
        let error = |e: std::io::Error| Error::LoadLibrary { path: std::env::temp_dir(), message: e.to_string() };
        let folder = cache::private_folder("redpoll-", &std::env::temp_dir()).map_err(error)?;
        match self.compile_in(&folder) {
            Ok(library) => Library::load(&library, Some(folder)),
            Err(error) => {
                if matches!(error, Error::CompileC { .. }) {
                    // The source that failed to compile stays for inspection.
                    let _ = folder.keep();
                }
                Err(error)
            }
        }
    }

    fn compile_in(self, folder: &TempDir) -> Result<PathBuf, Error> {
        let source = folder.path().join("kernels.c");
        let error = |e: std::io::Error| Error::LoadLibrary { path: source.clone(), message: e.to_string() };
        fs::write(&source, self.text).map_err(error)?;
        let library = folder.path().join(format!("kernels{}", std::env::consts::DLL_SUFFIX));
        self.compiler.compile(&source, &library, self.time)?;
        Ok(library)
    }
}

fn key(text: &str, compiler: &Compiler) -> String {
    cache::key(EntryKind::Kernels, [&compiler.identity(), text])
}
