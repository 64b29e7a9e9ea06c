//! CUDA devices: the driver and the run-time compiler, located on first use, and the kernels that
//! devices run.
//!
//! The build needs no CUDA. A library that is missing or too old is an error, not a panic.

use super::block::{BLOCK_THREADS, Multiprocessor, teams, threads};
use super::interface::{Address, DeviceBlock, DeviceFailure, DeviceInterface, DeviceKernel, LaunchShape};
use super::launch::Argument;
use super::memory::DevicePool;
use super::ptx::{Unit, disk, ptx};
use super::runner::DeviceRunner;
use super::unit::{OPTIONS, emit, entry_name};
use crate::Error;
use crate::grid::{Grid, GridRunner, WARP};
use cudarc::driver::result::device::get_default_mem_pool;
use cudarc::driver::result::{mem_pool, memcpy_dtod_async, memcpy_dtoh_sync, memcpy_htod_sync, memset_d8_async};
use cudarc::driver::sys::{CUdevice_attribute, CUevent_flags, CUmemPool_attribute, CUresult};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, LaunchConfig,
    PushKernelArg,
};
use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts};
use redpoll_kernels::Error as KernelError;
use redpoll_storage::{Array, Tensor};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The fraction of a device's memory that this process may use, because other processes use the
/// device as well.
const MEMORY_FRACTION: (usize, usize) = (3, 4);
/// The kernel that stitches arrays, and its name.
const STITCH: &str = include_str!("stitch.cu");
const STITCH_ENTRY: &str = "redpoll_stitch";
/// Duration of the sleep between two checks whether a launch has ended. The first checks only yield
/// the thread. The nominal wait begins with [`FIRST_WAIT`] and grows with each check; once it has
/// reached this duration, the thread sleeps.
const SLEEP: Duration = Duration::from_micros(100);
/// The initial nominal wait for a launch; the wait grows by an eighth with each check.
const FIRST_WAIT: Duration = Duration::from_nanos(100);
/// The minimum major number of the compute capability. From this number on, threads of a warp are
/// scheduled independently, so teams within a warp may diverge.
const MIN_CAPABILITY: i32 = 7;

/// A device, or the reason why it cannot be used.
type FoundDevice = Result<Arc<Cuda>, String>;

/// A CUDA device.
pub struct Cuda {
    driver: Arc<Driver>,
    pool: Arc<DevicePool>,
}

impl Cuda {
    /// Returns the device with the number `ordinal`. Each number is looked up once per process; its
    /// device, or the reason why the device cannot be used, is remembered.
    ///
    /// # Errors
    /// [`Error::NoDevice`] with the reason.
    pub fn open(ordinal: u32) -> Result<Arc<Cuda>, Error> {
        static FOUND: LazyLock<Mutex<HashMap<u32, FoundDevice>>> = LazyLock::new(Mutex::default);
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        let device = found.entry(ordinal).or_insert_with(|| catch_panics(|| Cuda::find(ordinal)).map(Arc::new));
        device.clone().map_err(|reason| Error::NoDevice { ordinal, reason })
    }

    /// Turns on or off the poisoning of new memory with bytes that no test computes. Elements that
    /// a kernel does not write, or reads too early, then show in its results.
    pub fn set_poison(&self, enabled: bool) {
        self.pool.set_poison(enabled);
    }

    /// Returns the total number of bytes of those arrays of the tensors that are not in the memory
    /// of this device.
    pub fn missing_bytes(&self, tensors: &[&Tensor]) -> u64 {
        let arrays = tensors.iter().flat_map(|tensor| tensor.arrays());
        let is_resident = |array: &&Array| match array.device_bytes() {
            Some(bytes) => self.pool.resident(bytes).is_some(),
            None => self.pool.has_input(array.buffer()),
        };
        arrays.filter(|array| !is_resident(array)).map(|array| array.bytes() as u64).sum()
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
        let context = CudaContext::new(ordinal as usize).map_err(|e| driver_message(&e))?;
        // SAFETY: memory is allocated and freed in the default stream. All uses of memory are in
        // this stream, or the host waits for their end before the memory is freed.
        unsafe { context.disable_event_tracking() };
        keep_freed(&context).map_err(|e| driver_message(&e))?;
        let (major, minor) = context.compute_capability().map_err(|e| driver_message(&e))?;
        if major < MIN_CAPABILITY {
            return Err(format!("its compute capability is {major}.{minor}, expected at least {MIN_CAPABILITY}.0"));
        }
        let number = |attribute: CUdevice_attribute| {
            let number = context.attribute(attribute).map_err(|e| driver_message(&e))?;
            Ok::<_, String>(usize::try_from(number).unwrap_or(0))
        };
        let multiprocessor_count = number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(1);
        let threads = number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        let multiprocessor = Multiprocessor {
            threads: u32::try_from(threads).unwrap_or(0),
            memory: number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            block_memory: number(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        };
        let architecture = format!("compute_{major}{minor}");
        let limit = context.total_mem().map_err(|e| driver_message(&e))? / MEMORY_FRACTION.1 * MEMORY_FRACTION.0;
        let driver = Arc::new(Driver {
            ordinal,
            stream: context.default_stream(),
            cancel_stream: context.new_stream().map_err(|e| driver_message(&e))?,
            context,
            stitch: OnceLock::new(),
            architecture,
            compiler: compiler()?,
            multiprocessor_count,
            multiprocessor,
        });
        Ok(Cuda { pool: DevicePool::of(driver.clone(), limit), driver })
    }

    /// Compiles grids as one unit; returns their runners.
    ///
    /// # Errors
    /// The errors of [`emit`]; [`KernelError::Compile`] with the messages of the compiler, or with
    /// the reason why the compiler or the driver failed.
    pub(crate) fn runners(self: &Arc<Cuda>, grids: &[&Grid]) -> Result<Vec<Box<dyn GridRunner>>, Error> {
        let text = emit(grids)?;
        let name = grids.first().map_or_else(String::new, |grid| grid.function.name.clone());
        let module = catch_panics(|| self.driver.compile(&text))
            .map_err(|message| Error::Kernels(KernelError::Compile { function: name.clone(), message }))?;
        let runner = |(number, grid): (usize, &&Grid)| {
            let grid = Grid::clone(grid);
            // Several teams share a warp if their lanes are fewer than those of a warp.
            let teams =
                self.driver.multiprocessor_count * (self.driver.multiprocessor.warps() * WARP / grid.lanes) as usize;
            let share = self.driver.multiprocessor.bytes_of_team(grid.lanes);
            let (driver, module) = (self.driver.clone(), module.clone());
            let entry = Box::new(CudaKernel { driver, module, number, function: OnceLock::new() });
            Box::new(DeviceRunner { pool: self.pool.clone(), entry, grid, teams, share }) as Box<dyn GridRunner>
        };
        Ok(grids.iter().enumerate().map(runner).collect())
    }
}

/// Makes the driver keep freed memory for later allocations of this process, if the device
/// allocates from a memory pool. By default, the driver returns all freed memory of the pool to the
/// system whenever a stream is synchronized.
fn keep_freed(context: &CudaContext) -> Result<(), DriverError> {
    if context.has_async_alloc() {
        // SAFETY: the device belongs to the context, and the attribute is a number of 64 bits.
        unsafe {
            let pool = get_default_mem_pool(context.cu_device())?;
            let mut threshold = u64::MAX;
            let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            mem_pool::set_attribute(pool, attribute, (&raw mut threshold).cast())?;
        }
    }
    Ok(())
}

/// Compiles a unit to PTX with the run-time compiler.
fn compile_ptx(unit: Unit<'_>) -> Result<String, String> {
    let options = OPTIONS.iter().map(|o| (*o).to_owned()).chain([format!("--gpu-architecture={}", unit.architecture)]);
    let options = CompileOptions { options: options.collect(), ..CompileOptions::default() };
    let ptx = compile_ptx_with_opts(unit.text, options).map_err(|e| match e {
        CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
        other => format!("{other:?}"),
    })?;
    Ok(ptx.to_src())
}

/// Returns the version of the run-time compiler.
fn compiler() -> Result<String, String> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both pointers are to integers.
    unsafe { cudarc::nvrtc::sys::nvrtcVersion(&raw mut major, &raw mut minor) }
        .result()
        .map_err(|e| format!("{e:?}"))?;
    Ok(format!("{major}.{minor}"))
}

/// Calls the bindings and converts panics to errors, because the bindings panic if the driver lacks
/// a function.
fn catch_panics<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("unknown reason");
        Err(format!("the installed driver or compiler is incompatible: {text}"))
    })
}

/// Returns the message of the driver for an error.
fn driver_message(error: &DriverError) -> String {
    error.error_string().map_or_else(|_| format!("{error:?}"), |text| text.to_string_lossy().into_owned())
}

/// Converts an error of the driver to a failure of the device.
fn failure(error: &DriverError) -> DeviceFailure {
    match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => DeviceFailure::OutOfMemory,
        _ => DeviceFailure::Driver(driver_message(error)),
    }
}

/// The driver of a device.
struct Driver {
    ordinal: u32,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// A second stream, by which running launches are cancelled.
    cancel_stream: Arc<CudaStream>,
    /// The kernel that stitches arrays, or the reason why it cannot be used; compiled at its first
    /// use.
    stitch: OnceLock<Result<CudaFunction, String>>,
    architecture: String,
    /// The version of the run-time compiler.
    compiler: String,
    multiprocessor_count: usize,
    multiprocessor: Multiprocessor,
}

/// A block of device memory.
struct CudaBlock {
    address: Address,
    /// The allocation, which frees the memory on drop.
    slice: CudaSlice<u8>,
}

impl Drop for CudaBlock {
    fn drop(&mut self) {
        // The memory is freed in the current context of the dropping thread, so the context is made
        // current here. An error of the driver recurs at the next call.
        let _ = self.slice.context().bind_to_thread();
    }
}

impl DeviceBlock for CudaBlock {
    fn address(&self) -> Address {
        self.address
    }
}

impl Driver {
    /// Calls the driver, and converts its errors and panics.
    fn call<T>(&self, call: impl FnOnce() -> Result<T, DriverError>) -> Result<T, DeviceFailure> {
        let mut failed = None;
        let result = catch_panics(|| {
            call().map_err(|e| {
                failed = Some(failure(&e));
                driver_message(&e)
            })
        });
        result.map_err(|text| failed.unwrap_or(DeviceFailure::Driver(text)))
    }

    /// Compiles a unit, or takes it from the cache, and loads it.
    fn compile(&self, text: &str) -> Result<Arc<CudaModule>, String> {
        let unit = Unit { text, architecture: &self.architecture, compiler: &self.compiler };
        let ptx = ptx(unit, disk(), || compile_ptx(unit))?;
        self.context.load_module(Ptx::from_src(ptx)).map_err(|e| driver_message(&e))
    }

    fn stitch(&self) -> Result<&CudaFunction, DeviceFailure> {
        let function = self.stitch.get_or_init(|| {
            catch_panics(|| {
                let module = self.compile(STITCH)?;
                module.load_function(STITCH_ENTRY).map_err(|e| driver_message(&e))
            })
        });
        function.as_ref().map_err(|message| DeviceFailure::Driver(message.clone()))
    }
}

impl DeviceInterface for Driver {
    fn ordinal(&self) -> u32 {
        self.ordinal
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn DeviceBlock>, DeviceFailure> {
        // SAFETY: the caller writes each byte before it is read. The first write is in the stream
        // of the allocation; copies without a stream use this stream, too.
        let slice = self.call(|| unsafe { self.stream.alloc::<u8>(bytes) })?;
        let address = slice.device_ptr(&self.stream).0;
        Ok(Box::new(CudaBlock { address, slice }))
    }

    fn upload(&self, bytes: &[u8], to: Address) -> Result<(), DeviceFailure> {
        self.call(|| {
            self.context.bind_to_thread()?;
            // SAFETY: the caller has allocated at least `bytes.len()` bytes from the address on.
            unsafe { memcpy_htod_sync(to, bytes) }
        })
    }

    fn download(&self, from: Address, to: &mut [u8]) -> Result<(), DeviceFailure> {
        self.call(|| {
            self.context.bind_to_thread()?;
            // SAFETY: as in `upload`; earlier launches have ended.
            unsafe { memcpy_dtoh_sync(to, from) }
        })
    }

    fn copy(&self, from: Address, to: Address, bytes: usize) -> Result<(), DeviceFailure> {
        self.call(|| {
            self.context.bind_to_thread()?;
            // SAFETY: as in `upload`; all other accesses to the memory are in the same stream.
            unsafe { memcpy_dtod_async(to, from, bytes, self.stream.cu_stream()) }
        })
    }

    fn set(&self, at: Address, bytes: usize, byte: u8) -> Result<(), DeviceFailure> {
        self.call(|| {
            self.context.bind_to_thread()?;
            // SAFETY: as in `copy`.
            unsafe { memset_d8_async(at, byte, bytes, self.stream.cu_stream()) }
        })
    }

    fn stitch(&self, stitch: &Argument, moves: usize) -> Result<(), DeviceFailure> {
        let function = Driver::stitch(self)?;
        let blocks = moves.min(self.multiprocessor_count * self.multiprocessor.warps() as usize).max(1);
        self.call(|| {
            let mut launch = self.stream.launch_builder(function);
            launch.arg(stitch);
            // SAFETY: the kernel takes an argument of this size; the caller keeps the table in the
            // argument, and the memory that the table refers to, until the kernel has ended.
            unsafe { launch.launch(launch_config((blocks, BLOCK_THREADS), 0)) }?;
            self.stream.synchronize()
        })
    }
}

/// Returns the configuration of a launch, with `bytes` bytes of shared memory for each block.
fn launch_config((blocks, threads): (usize, u32), bytes: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1),
        block_dim: (threads, 1, 1),
        shared_mem_bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
    }
}

/// A kernel of a module.
struct CudaKernel {
    driver: Arc<Driver>,
    module: Arc<CudaModule>,
    number: usize,
    /// The function of the module, looked up at the first launch.
    function: OnceLock<CudaFunction>,
}

impl CudaKernel {
    fn function(&self) -> Result<&CudaFunction, DriverError> {
        if let Some(function) = self.function.get() {
            return Ok(function);
        }
        let function = self.module.load_function(&entry_name(self.number))?;
        Ok(self.function.get_or_init(|| function))
    }
}

impl DeviceKernel for CudaKernel {
    fn launch(
        &self,
        argument: &Argument,
        shape: LaunchShape,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Duration, DeviceFailure> {
        let Driver { stream, context, cancel_stream, .. } = &*self.driver;
        let (blocks, threads) = (shape.teams.div_ceil(teams(shape.lanes)), threads(shape.lanes));
        self.driver.call(|| {
            let function = self.function()?;
            let timed = Some(CUevent_flags::CU_EVENT_DEFAULT);
            let start = stream.record_event(timed)?;
            let mut launch = stream.launch_builder(function);
            launch.arg(argument);
            // SAFETY: the kernel was printed for an argument of this type, and the caller keeps the
            // memory that the argument refers to. Lowering guarantees that grids over validated
            // tensors stay within their windows.
            unsafe { launch.launch(launch_config((blocks, threads), shape.share * teams(shape.lanes))) }?;
            let end = stream.record_event(timed)?;
            let mut is_cancelled = false;
            let mut wait = FIRST_WAIT;
            while !end.try_is_complete()? {
                if !is_cancelled && cancelled() {
                    context.bind_to_thread()?;
                    // SAFETY: the caller keeps the memory of the word.
                    unsafe { memset_d8_async(argument.cancel, 1, 4, cancel_stream.cu_stream()) }?;
                    is_cancelled = true;
                }
                // Short launches are not delayed by the resolution of the system's sleep.
                match wait < SLEEP {
                    true => std::thread::yield_now(),
                    false => std::thread::sleep(SLEEP),
                }
                wait = SLEEP.min(wait + wait / 8);
            }
            stream.synchronize()?;
            cancel_stream.synchronize()?;
            Ok(Duration::from_secs_f32(start.elapsed_ms(&end)?.max(0.0) / 1e3))
        })
    }
}

// SAFETY: the type consists of words, in the order in which the kernel declares them.
unsafe impl DeviceRepr for Argument {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A missing device is an error with a reason, not a panic.
    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let error = Cuda::open(4000).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::NoDevice { ordinal: 4000, .. }), "{error}");
        assert!(error.to_string().starts_with("CUDA device 4000 cannot be used: "), "{error}");
    }

    /// The result of a compilation is PTX as text, or the messages of the compiler.
    #[test]
    fn units_are_compiled_by_the_run_time_compiler() {
        // SAFETY: the initializers of NVIDIA's libraries may run in any process.
        if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
            eprintln!("skipped: the loader of this machine finds no libnvrtc");
            return;
        }
        let compiler = compiler().unwrap();
        let unit = |text| Unit { text, architecture: "compute_90", compiler: &compiler };
        let ptx = compile_ptx(unit("extern \"C\" __global__ void f() {}")).unwrap();
        assert!(ptx.contains(".entry f"), "{ptx}");
        let error = compile_ptx(unit("__global__ void g() { h(); }")).unwrap_err();
        assert!(error.contains("\"h\" is undefined"), "{error}");
    }
}
