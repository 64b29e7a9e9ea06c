//! The error type of this crate.

/// Errors of grids and of the devices that run them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of a kernel, whatever its target.
    #[error(transparent)]
    Kernels(#[from] redpoll_kernels::Error),
    /// The interpreter of grids found a fault in a grid, such as a race. A bug of the mapping.
    #[error("interpreting a grid: {0}")]
    Grid(#[from] crate::grid::GridFault),
    /// A CUDA device, or a library that the device needs, is missing, too old, or fails to start;
    /// or this build lacks the feature `cuda`. Nobody's fault; the CPU needs none of these.
    #[error("CUDA device {ordinal} cannot be used: {reason}; correct this, or run on the CPU")]
    NoDevice {
        /// The number of the device.
        ordinal: u32,
        /// The reason why the device cannot be used.
        reason: String,
    },
    /// A CUDA device failed to run a kernel, or to allocate or copy its memory. The fault of this
    /// crate or of the device.
    #[error("kernel `{kernel}` on CUDA device {ordinal}: {message}")]
    Device {
        /// The number of the device.
        ordinal: u32,
        /// The name of the kernel.
        kernel: String,
        /// The message of the driver.
        message: String,
    },
    /// A kernel would exceed the memory limit of a device, or the device has no free memory
    /// although its limit is not reached. The caller's fault, or nobody's.
    #[error(
        "kernel `{kernel}` on CUDA device {ordinal} requests {requested} bytes, but {used} of {limit} bytes are in use and \
         cannot be evicted, or other processes fill the device; raise the limit of the device's memory, or run on the \
         CPU"
    )]
    DeviceMemory {
        /// The number of the device.
        ordinal: u32,
        /// The name of the kernel.
        kernel: String,
        /// The requested bytes.
        requested: usize,
        /// The bytes in use that cannot be evicted.
        used: usize,
        /// The limit in bytes.
        limit: usize,
    },
}

impl From<redpoll_storage::Error> for Error {
    fn from(error: redpoll_storage::Error) -> Error {
        Error::Kernels(error.into())
    }
}

impl From<redpoll_compiler::Error> for Error {
    fn from(error: redpoll_compiler::Error) -> Error {
        Error::Kernels(error.into())
    }
}

impl From<Error> for redpoll_kernels::Error {
    fn from(error: Error) -> redpoll_kernels::Error {
        match error {
            Error::Kernels(error) => error,
            fault @ Error::Grid(_) => redpoll_kernels::Error::Target(Box::new(fault)),
            device => redpoll_kernels::Error::Device(Box::new(device)),
        }
    }
}

impl From<Error> for redpoll_storage::Error {
    fn from(error: Error) -> redpoll_storage::Error {
        match error {
            Error::Kernels(redpoll_kernels::Error::KernelStopped(status)) => redpoll_storage::Error::Stopped(status),
            other => redpoll_storage::Error::OnDevice(Box::new(other)),
        }
    }
}
