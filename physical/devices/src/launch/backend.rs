//! Grids as backends: on a CUDA device, or interpreted.

use super::Grids;
use crate::cuda::{self, Cuda};
use crate::grid::{Grid, GridPlan, GridProgram, GridRunner, TeamSize};
use redpoll_compiler::lower::Draft;
use redpoll_kernels::Error;
use redpoll_kernels::backend::{Backend, Code};
use redpoll_storage::Tensor;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

/// The number of lanes of the interpreter's teams.
const LANES: u32 = 4;

/// The interpreter of grids, which runs teams and lanes in random orders and reports races.
#[derive(Clone, Copy, Debug)]
struct GridInterpreterBackend {
    lanes: u32,
}

/// Returns the interpreter of grids with small teams.
pub fn grid_interpreter() -> Arc<dyn Backend> {
    static BACKEND: LazyLock<Arc<dyn Backend>> = LazyLock::new(|| grid_interpreter_in_teams(LANES));
    BACKEND.clone()
}

/// Returns the interpreter of grids with teams of this many lanes, a power of two up to 256.
pub(crate) fn grid_interpreter_in_teams(lanes: u32) -> Arc<dyn Backend> {
    Arc::new(GridInterpreterBackend { lanes })
}

impl Backend for GridInterpreterBackend {
    fn name(&self) -> Cow<'static, str> {
        "grid interpreter".into()
    }

    /// Makes the grids of drafts for the interpreter.
    ///
    /// # Errors
    /// [`InvalidAssembly`](redpoll_compiler::Error::InvalidAssembly) when a verifier rejects a
    /// grid.
    fn compile(&self, drafts: &[&Draft]) -> Result<Vec<Box<dyn Code>>, Error> {
        let program = |grid| Ok::<_, Error>(Box::new(GridProgram::new(grid)?) as Box<dyn GridRunner>);
        let grids = |draft: &&Draft| {
            let plan = GridPlan::of(draft, TeamSize::Exact(self.lanes));
            Ok(Box::new(Grids::new(plan, Arc::new(*self), program)?) as Box<dyn Code>)
        };
        drafts.iter().map(grids).collect()
    }

    fn forms(&self, draft: &Draft) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(grid_texts(GridPlan::of(draft, TeamSize::Exact(self.lanes))))
    }

    fn converts(&self, _source: &Tensor) -> bool {
        true
    }
}

/// Returns the texts of grids with their names.
fn grid_texts(GridPlan { count, run, .. }: GridPlan) -> Vec<(&'static str, String)> {
    let counting = count.map(|grid| ("counting grid", grid.to_string()));
    counting.into_iter().chain([("grid", run.to_string())]).collect()
}

/// Number of CUDA devices for which there are targets.
pub const MAX_DEVICES: u32 = 16;

/// The backend of one CUDA device, given by its number.
#[derive(Clone, Copy, Debug)]
pub struct CudaBackend {
    ordinal: u32,
}

impl CudaBackend {
    /// Makes the backend of the device with this number. The device need not exist until kernels
    /// are compiled.
    pub fn new(ordinal: u32) -> CudaBackend {
        CudaBackend { ordinal }
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> Cow<'static, str> {
        format!("cuda:{}", self.ordinal).into()
    }

    /// Makes the grids of drafts for the device, with a unit for each draft.
    ///
    /// # Errors
    /// [`NoDevice`](crate::Error::NoDevice) when the device cannot be used; [`Error::Compile`] when
    /// the device declines the grids or their text does not compile;
    /// [`InvalidAssembly`](redpoll_compiler::Error::InvalidAssembly) when a verifier rejects a
    /// grid.
    fn compile(&self, drafts: &[&Draft]) -> Result<Vec<Box<dyn Code>>, Error> {
        let cuda = Cuda::open(self.ordinal)?;
        let grids = |draft: &&Draft| {
            let plan = GridPlan::of(draft, TeamSize::Automatic);
            let mut runners = cuda.runners(&plan.grids().collect::<Vec<_>>())?.into_iter();
            let next = |_| Ok::<_, Error>(runners.next().expect("each grid has a runner"));
            Ok(Box::new(Grids::new(plan, Arc::new(*self), next)?) as Box<dyn Code>)
        };
        drafts.iter().map(grids).collect()
    }

    fn forms(&self, draft: &Draft) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(grid_texts(GridPlan::of(draft, TeamSize::Automatic)))
    }

    /// Prints the text of all grids, or the reason why a device declines them.
    fn unit(&self, drafts: &[&Draft]) -> Result<Option<(&'static str, String)>, Error> {
        let plans: Vec<GridPlan> = drafts.iter().map(|draft| GridPlan::of(draft, TeamSize::Automatic)).collect();
        let grids: Vec<&Grid> = plans.iter().flat_map(GridPlan::grids).collect();
        let text = cuda::emit(&grids).unwrap_or_else(|e| format!("// {e}\n"));
        Ok(Some(("cuda", text)))
    }

    fn check(&self) -> Result<(), Error> {
        Ok(Cuda::open(self.ordinal).map(drop)?)
    }

    fn missing_bytes(&self, inputs: &[&Tensor]) -> u64 {
        Cuda::open(self.ordinal).map_or(0, |cuda| cuda.missing_bytes(inputs))
    }

    fn converts(&self, source: &Tensor) -> bool {
        !source.is_on_host()
    }
}
