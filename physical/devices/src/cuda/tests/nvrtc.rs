//! Tests that generated text compiles with NVRTC. The tests need no device.
//!
//! The environment variable `REDPOLL_NVRTC` names the folder of the library. Without the variable,
//! the system's loader searches for the library, and the tests check nothing if it finds none.

use super::emulated::{LONG, draft};
use super::{PROGRAMS, grids};
use crate::cuda::{OPTIONS, emit};
use crate::grid::{Grid, GridPlan, MemorySpace, TeamSize, Walks, map_to};
use crate::tests::assembly::random::random_functions;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};
use redpoll_compiler::assembly::{BufferRole, Function};
use redpoll_compiler::testing::{normal_form, skewed};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::null_mut;

/// Target architectures: the oldest that current compilers know, and a newer one.
const ARCHITECTURES: [&str; 2] = ["compute_75", "compute_90"];

/// The run-time compiler of CUDA.
struct Nvrtc {
    library: Library,
    /// The builtins library, if it is in the folder; it is loaded first, because NVRTC loads it by
    /// its name alone.
    _builtins: Option<Library>,
}

type CreateProgram = unsafe extern "C" fn(
    *mut *mut c_void,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type CompileProgram = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
type LogSize = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
type Log = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;
type DestroyProgram = unsafe extern "C" fn(*mut *mut c_void) -> c_int;

impl Nvrtc {
    fn load() -> Option<Nvrtc> {
        // SAFETY: the initializers of NVIDIA's libraries may run in any process.
        let open = |path: PathBuf| unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.ok();
        let Some(folder) = std::env::var_os("REDPOLL_NVRTC").map(PathBuf::from) else {
            let names = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"];
            let library = names.into_iter().find_map(|name| open(name.into()))?;
            return Some(Nvrtc { library, _builtins: None });
        };
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let files: Vec<PathBuf> = entries.map(|e| e.expect("an entry of the folder").path()).collect();
        let find = |start: &str| {
            let named = |p: &&PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(start));
            files.iter().find(named).cloned()
        };
        let builtins = find("libnvrtc-builtins.so").and_then(open);
        let library = find("libnvrtc.so").and_then(open);
        let library = library.unwrap_or_else(|| panic!("no libnvrtc can be loaded from {}", folder.display()));
        Some(Nvrtc { library, _builtins: builtins })
    }

    /// Returns a function of the library.
    ///
    /// # Safety
    /// The function must have the type `T`.
    unsafe fn get<T>(&self, name: &str) -> Symbol<T> {
        // SAFETY: the caller guarantees the type.
        unsafe { self.library.get(name.as_bytes()) }.unwrap_or_else(|e| panic!("{e}"))
    }

    /// Compiles a text; an error contains the messages of the compiler.
    fn compile(&self, text: &str, architecture: &str) -> Result<(), String> {
        let text = CString::new(text).expect("no text has a NUL");
        let options = OPTIONS.iter().map(|o| (*o).to_owned()).chain([format!("--gpu-architecture={architecture}")]);
        let options: Vec<CString> = options.map(|o| CString::new(o).expect("no option has a NUL")).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        // SAFETY: the types are those of `nvrtc.h`. Texts and options live until the calls return,
        // the log has the size that the library asks for, and the program is destroyed once.
        unsafe {
            let mut program = null_mut();
            let create = self.get::<CreateProgram>("nvrtcCreateProgram");
            let name = c"unit.cu".as_ptr();
            assert_eq!(create(&raw mut program, text.as_ptr(), name, 0, null_mut(), null_mut()), 0);
            let compile = self.get::<CompileProgram>("nvrtcCompileProgram");
            let code = compile(program, pointers.len() as c_int, pointers.as_ptr());
            let mut size = 0;
            assert_eq!(self.get::<LogSize>("nvrtcGetProgramLogSize")(program, &raw mut size), 0);
            let mut log = vec![0u8; size];
            assert_eq!(self.get::<Log>("nvrtcGetProgramLog")(program, log.as_mut_ptr().cast()), 0);
            self.get::<DestroyProgram>("nvrtcDestroyProgram")(&raw mut program);
            if code == 0 { Ok(()) } else { Err(String::from_utf8_lossy(&log).into_owned()) }
        }
    }
}

/// Compiles grids, if NVRTC is found.
fn check(grids: &[Grid]) {
    check_text(&emit(&grids.iter().collect::<Vec<_>>()).unwrap());
}

/// Compiles a text, if NVRTC is found.
fn check_text(text: &str) {
    let Some(nvrtc) = Nvrtc::load() else {
        eprintln!("skipped: NVRTC was not found; set REDPOLL_NVRTC to the folder of its library");
        return;
    };
    for architecture in ARCHITECTURES {
        if let Err(log) = nvrtc.compile(text, architecture) {
            panic!("{architecture}: {log}\n{text}");
        }
    }
}

/// The kernel that stitches arrays compiles.
#[test]
fn the_kernel_that_stitches_compiles() {
    check_text(include_str!("../stitch.cu"));
}

#[test]
fn grids_of_programs_compile() {
    check(&PROGRAMS.iter().flat_map(|text| grids(text)).collect::<Vec<_>>());
    let skewed = skewed::PROGRAMS.iter().chain(skewed::INTERSECTIONS);
    let plans: Vec<GridPlan> = skewed.map(|text| GridPlan::of(&skewed::draft(text).0, TeamSize::Automatic)).collect();
    check(&plans.iter().flat_map(GridPlan::grids).cloned().collect::<Vec<_>>());
}

/// Grids whose teams are blocks compile.
#[test]
fn grids_of_blocks_compile() {
    let long = LONG.iter().map(|(text, _)| GridPlan::of(&draft(normal_form(text)).0, TeamSize::Automatic).run);
    let wide = skewed::PROGRAMS.iter().chain(skewed::INTERSECTIONS);
    let wide = wide.map(|text| GridPlan::of(&skewed::draft(text).0, TeamSize::Exact(64)).run);
    check(&long.chain(wide).collect::<Vec<_>>());
}

/// Grids of random functions compile, for teams of several sizes.
#[test]
fn grids_of_random_functions_compile() {
    let space = |role: BufferRole| if role == BufferRole::Input { MemorySpace::Input } else { MemorySpace::Chunk };
    let of = |function: Function, lanes: u32| {
        let spaces = function.buffers.iter().map(|b| space(b.role)).collect();
        map_to(&function, spaces, lanes, &Walks::none())
    };
    let functions = random_functions(12).into_iter().zip([1, 4, 32, 64, 256].into_iter().cycle());
    let grids: Vec<Grid> = functions.map(|(function, lanes)| of(function, lanes)).collect();
    check(&grids);
}
