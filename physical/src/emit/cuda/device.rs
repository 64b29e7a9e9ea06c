//! Devices of CUDA: driver and run-time compiler, found when they are asked for, and the kernels that they run.
//!
//! Nothing here is needed to build; where something is missing, or older than what this was built for, that is an error and
//! no panic.

use super::launch::{Address, Argument, Device, run};
use super::ptx::{Unit, disk, ptx};
use super::unit::{OPTIONS, emit, entry_name};
use super::uploads::Uploads;
use crate::Error;
use crate::assembly::Status;
use crate::grid::{Grid, Launch, Launched, Runner, WARP};
use arrow::buffer::Buffer as ArrowBuffer;
use cudarc::driver::result::memcpy_dtoh_sync;
use cudarc::driver::sys::{CUdevice_attribute, CUresult};
use cudarc::driver::{
    CudaContext, CudaModule, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// The threads of a block.
const BLOCK: u32 = 128;
/// The share of the memory of a device that arrays of inputs may take between launches, as a divisor.
const KEPT: usize = 2;
/// The warps that a multiprocessor has work for; their windows take memory, so it is not given more.
const WARPS: usize = 16;

/// From this one on threads of a warp go on by themselves, so teams that share one may part.
const LEAST_CAPABILITY: i32 = 7;

/// A device that can be used.
pub struct Cuda {
    ordinal: u32,
    stream: Arc<CudaStream>,
    context: Arc<CudaContext>,
    architecture: String,
    /// The version of the run-time compiler.
    compiler: String,
    multiprocessors: usize,
    /// The arrays of inputs that it has.
    uploads: Uploads<CudaSlice<u8>>,
}

impl Cuda {
    /// The device of that number, the same for all who ask in this process.
    ///
    /// # Errors
    /// [`Error::NoDevice`] with what is missing.
    pub fn open(ordinal: u32) -> Result<Arc<Cuda>, Error> {
        static OPEN: Mutex<Option<HashMap<u32, Arc<Cuda>>>> = Mutex::new(None);
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        if let Some(cuda) = open.get(&ordinal) {
            return Ok(cuda.clone());
        }
        let cuda = Arc::new(caught(|| Cuda::find(ordinal)).map_err(|why| Error::NoDevice { ordinal, why })?);
        open.insert(ordinal, cuda.clone());
        Ok(cuda)
    }

    fn find(ordinal: u32) -> Result<Cuda, String> {
        // SAFETY: the initializers of NVIDIA's libraries may run in any process.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return Err("the driver (libcuda) is not installed".into());
        }
        // SAFETY: as above.
        if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
            return Err("the run-time compiler (libnvrtc) is not installed".into());
        }
        let context = CudaContext::new(ordinal as usize).map_err(|e| said(&e))?;
        let (major, minor) = context.compute_capability().map_err(|e| said(&e))?;
        if major < LEAST_CAPABILITY {
            return Err(format!("its compute capability is {major}.{minor}, and {LEAST_CAPABILITY}.0 is the least"));
        }
        let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = context.attribute(attribute).map_err(|e| said(&e))?;
        let multiprocessors = usize::try_from(multiprocessors).unwrap_or(1).max(1);
        let architecture = format!("compute_{major}{minor}");
        let uploads = Uploads::of_at_most(context.total_mem().map_err(|e| said(&e))? / KEPT);
        let stream = context.default_stream();
        Ok(Cuda { ordinal, stream, context, architecture, compiler: compiler()?, multiprocessors, uploads })
    }

    /// A unit of text, compiled now or before.
    fn compile(&self, text: &str) -> Result<Arc<CudaModule>, String> {
        let unit = Unit { text, architecture: &self.architecture, compiler: &self.compiler };
        let ptx = ptx(unit, disk(), || compiled(unit))?;
        self.context.load_module(Ptx::from_src(ptx)).map_err(|e| said(&e))
    }

    /// What runs grids, all compiled at once.
    ///
    /// # Errors
    /// As [`emit`]; [`Error::Compile`] with the words of the compiler.
    pub(crate) fn runners(self: &Arc<Cuda>, grids: &[&Grid]) -> Result<Vec<Box<dyn Runner>>, Error> {
        let text = emit(grids)?;
        let name = grids.first().map_or_else(String::new, |grid| grid.function.name.clone());
        let module =
            caught(|| self.compile(&text)).map_err(|message| Error::Compile { function: name.clone(), message })?;
        let runner = |(number, grid): (usize, &&Grid)| {
            let (cuda, module, grid) = (self.clone(), module.clone(), Grid::clone(grid));
            Box::new(Kernel { cuda, module, number, grid }) as Box<dyn Runner>
        };
        Ok(grids.iter().enumerate().map(runner).collect())
    }
}

/// The PTX of a unit, by the run-time compiler.
fn compiled(unit: Unit<'_>) -> Result<String, String> {
    let options = OPTIONS.iter().map(|o| (*o).to_owned()).chain([format!("--gpu-architecture={}", unit.architecture)]);
    let options = CompileOptions { options: options.collect(), ..CompileOptions::default() };
    let ptx = compile_ptx_with_opts(unit.text, options).map_err(|e| match e {
        CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
        other => format!("{other:?}"),
    })?;
    Ok(ptx.to_src())
}

/// The version of the run-time compiler.
fn compiler() -> Result<String, String> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are places for a number.
    unsafe { cudarc::nvrtc::sys::nvrtcVersion(&raw mut major, &raw mut minor) }
        .result()
        .map_err(|e| format!("{e:?}"))?;
    Ok(format!("{major}.{minor}"))
}

/// Calls the bindings, which panic where the driver lacks a function that they know.
fn caught<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it gives no reason");
        Err(format!("the installed driver or compiler does not do: {text}"))
    })
}

fn said(error: &DriverError) -> String {
    error.error_string().map_or_else(|_| format!("{error:?}"), |text| text.to_string_lossy().into_owned())
}

/// A grid compiled for a device.
struct Kernel {
    cuda: Arc<Cuda>,
    module: Arc<CudaModule>,
    number: usize,
    grid: Grid,
}

impl Runner for Kernel {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn teams(&self) -> usize {
        // Teams of fewer lanes share a warp with others.
        self.cuda.multiprocessors * WARPS * (WARP / self.grid.lanes) as usize
    }

    fn memory(&self) -> usize {
        caught(|| self.cuda.context.mem_get_info().map_err(|e| said(&e))).map_or(usize::MAX, |(free, _)| free)
    }

    fn run(&self, launch: &Launch<'_>) -> Result<Launched, Error> {
        // What is this launch's alone is freed with this.
        let mut memory = Memory { kernel: self, held: Vec::new(), inputs: Vec::new() };
        run(&mut memory, &self.grid, launch)
    }
}

/// The memory of one launch.
struct Memory<'a> {
    kernel: &'a Kernel,
    held: Vec<CudaSlice<u8>>,
    inputs: Vec<Arc<CudaSlice<u8>>>,
}

impl Memory<'_> {
    /// What the driver says, as an error of this kernel.
    fn checked<T>(&self, what: impl FnOnce() -> Result<T, DriverError>) -> Result<T, Error> {
        let mut full = false;
        let result = caught(|| {
            what().map_err(|e| {
                full = e.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY;
                said(&e)
            })
        });
        result.map_err(|message| match full {
            true => Error::KernelStopped(Status::OutOfMemory),
            false => {
                let (ordinal, kernel) = (self.kernel.cuda.ordinal, self.kernel.grid.function.name.clone());
                Error::Device { ordinal, kernel, message }
            }
        })
    }

    /// Memory that the driver gives, if need be once arrays of inputs that this launch does not read have left.
    fn allocated(&self, what: impl Fn() -> Result<CudaSlice<u8>, DriverError>) -> Result<CudaSlice<u8>, Error> {
        match self.checked(&what) {
            Err(Error::KernelStopped(Status::OutOfMemory)) => {
                self.kernel.cuda.uploads.clear();
                self.checked(&what)
            }
            result => result,
        }
    }

    fn put(&self, bytes: &[u8]) -> Result<CudaSlice<u8>, Error> {
        // There is no memory of no bytes.
        let bytes = if bytes.is_empty() { &[0] } else { bytes };
        self.allocated(|| self.kernel.cuda.stream.clone_htod(bytes))
    }

    fn hold(&mut self, slice: CudaSlice<u8>) -> Address {
        let address = self.address(&slice);
        self.held.push(slice);
        address
    }

    fn address(&self, slice: &CudaSlice<u8>) -> Address {
        slice.device_ptr(&self.kernel.cuda.stream).0
    }
}

impl Device for Memory<'_> {
    fn upload(&mut self, bytes: &[u8]) -> Result<Address, Error> {
        let slice = self.put(bytes)?;
        Ok(self.hold(slice))
    }

    fn input(&mut self, array: &ArrowBuffer) -> Result<Address, Error> {
        let slice = self.kernel.cuda.uploads.memory(array, |bytes| self.put(bytes))?;
        let address = self.address(&slice);
        self.inputs.push(slice);
        Ok(address)
    }

    fn filled(&mut self, elements: usize, size: usize, fill: u64) -> Result<Address, Error> {
        if fill == 0 {
            let slice = self.allocated(|| self.kernel.cuda.stream.alloc_zeros((elements * size).max(1)))?;
            return Ok(self.hold(slice));
        }
        self.upload(&fill.to_le_bytes()[..size].repeat(elements))
    }

    fn download(&self, from: Address, to: &mut [u8]) -> Result<(), Error> {
        if to.is_empty() {
            return Ok(());
        }
        self.checked(|| {
            self.kernel.cuda.context.bind_to_thread()?;
            // SAFETY: the address lies in memory that is held here, with so many bytes behind it; launches were waited for.
            unsafe { memcpy_dtoh_sync(to, from) }
        })
    }

    fn launch(&mut self, grid: &Grid, argument: &Argument, teams: usize) -> Result<(), Error> {
        let blocks = (teams * grid.lanes as usize).div_ceil(BLOCK as usize);
        let config = LaunchConfig {
            grid_dim: (u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        self.checked(|| {
            let stream = &self.kernel.cuda.stream;
            let function = self.kernel.module.load_function(&entry_name(self.kernel.number))?;
            let mut launch = stream.launch_builder(&function);
            launch.arg(argument);
            // SAFETY: the kernel was printed for an argument of this type, which leads to memory held here; grids keep within
            // their windows, as lowering guarantees for validated tensors.
            unsafe { launch.launch(config) }?;
            stream.synchronize()
        })
    }
}

// SAFETY: it is made of words, in the order in which the kernel declares them.
unsafe impl DeviceRepr for Argument {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects machines without a device: what is missing is said, and nothing panics.
    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let error = Cuda::open(4000).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::NoDevice { ordinal: 4000, .. }), "{error}");
        assert!(error.to_string().starts_with("CUDA device 4000 cannot be used: "), "{error}");
    }

    /// Protects what is kept on disk: the text of PTX, and the words of the compiler where there is none.
    #[test]
    fn units_are_compiled_by_the_run_time_compiler() {
        // SAFETY: the initializers of NVIDIA's libraries may run in any process.
        if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
            eprintln!("skipped: the loader of this machine finds no libnvrtc");
            return;
        }
        let compiler = compiler().unwrap();
        let unit = |text| Unit { text, architecture: "compute_90", compiler: &compiler };
        let ptx = compiled(unit("extern \"C\" __global__ void f() {}")).unwrap();
        assert!(ptx.contains(".entry f"), "{ptx}");
        let refused = compiled(unit("__global__ void g() { h(); }")).unwrap_err();
        assert!(refused.contains("\"h\" is undefined"), "{refused}");
    }
}
