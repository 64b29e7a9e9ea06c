//! From functions to kernels: compiles functions, loads the code and frees it.

use super::effort::Effort;
use super::function::{build, signature};
use super::trampoline;
use crate::run::EntryPoint;
use crate::{CompiledKernel, Error};
use cranelift::codegen::Context;
use cranelift::codegen::control::ControlPlane;
use cranelift::codegen::isa::TargetIsa;
use cranelift::jit::{JITBuilder, JITModule};
use cranelift::module::{FuncId, Module, ModuleError, default_libcall_names};
use cranelift::prelude::FunctionBuilderContext;
use redpoll_compiler::assembly::{Function, Signature, Stmt, verify};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

/// The memory with the code of one module's kernels.
struct ModuleMemory {
    /// The module; `None` only during the drop. A module is only `Send`; the mutex, which is never
    /// locked, makes this struct `Sync` as well.
    module: Mutex<Option<JITModule>>,
}

impl Drop for ModuleMemory {
    fn drop(&mut self) {
        let module = self.module.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(module) = module {
            // SAFETY: every kernel keeps its code alive and is borrowed while it runs, so no kernel
            // of this module runs or will run.
            unsafe { module.free_memory() };
        }
    }
}

/// Compiles one function.
///
/// # Errors
/// [`InvalidAssembly`](redpoll_compiler::Error::InvalidAssembly) if the verifier rejects the
/// function; [`Error::Compile`] if Cranelift cannot compile the function or does not support this
/// machine.
pub fn compile(function: &Function, effort: Effort) -> Result<CompiledKernel, Error> {
    let mut kernels = compile_all(&[function], effort)?;
    Ok(kernels.pop().expect("one function makes one kernel"))
}

/// Compiles functions into one module; returns the kernels in the order of the functions.
///
/// # Errors
/// The errors of [`compile`].
pub fn compile_all(functions: &[&Function], effort: Effort) -> Result<Vec<CompiledKernel>, Error> {
    let name = functions.first().map_or("", |f| f.name.as_str());
    let isa = effort.isa().map_err(|message| Error::Compile { function: name.into(), message })?;
    let mut builder = JITBuilder::with_isa(isa.clone(), default_libcall_names());
    builder.symbol_lookup_fn(Box::new(libcall));
    let mut module = JITModule::new(builder);
    let ids = BUILDER.with_borrow_mut(|state| -> Result<Vec<_>, Error> {
        functions.iter().map(|function| state.define(function, &mut module)).collect()
    });
    let finalized = ids.and_then(|ids| match module.finalize_definitions() {
        Ok(()) => Ok(ids),
        Err(error) => Err(Error::Compile { function: name.into(), message: error.to_string() }),
    });
    let ids = match finalized {
        Ok(ids) => ids,
        Err(error) => {
            // SAFETY: no pointer into the module's memory was handed out.
            unsafe { module.free_memory() };
            return Err(error);
        }
    };
    let entries: Vec<*const u8> = ids.into_iter().map(|id| module.get_finalized_function(id)).collect();
    let code = Arc::new(ModuleMemory { module: Mutex::new(Some(module)) });
    let kernel = |(function, entry): (&&Function, *const u8)| {
        // SAFETY: the code at `entry` was compiled with the parameters, result and calling
        // convention of `EntryPoint`.
        let entry = unsafe { std::mem::transmute::<*const u8, EntryPoint>(entry) };
        CompiledKernel::new(entry, Signature::of(function), code.clone())
    };
    Ok(functions.iter().zip(entries).map(kernel).collect())
}

/// Returns the function in Cranelift's intermediate representation, before optimization, for
/// readers.
///
/// # Errors
/// The errors of [`compile`].
pub fn clif(function: &Function) -> Result<String, Error> {
    let isa = Effort::Full.isa().map_err(|message| Error::Compile { function: function.name.clone(), message })?;
    let mut state = FunctionBuilderState::default();
    state.build(function, isa.as_ref())?;
    Ok(state.context.func.display().to_string())
}

/// Returns the function in machine instructions, for readers.
///
/// # Errors
/// The errors of [`compile`].
pub fn disassemble(function: &Function) -> Result<String, Error> {
    let error = |message| Error::Compile { function: function.name.clone(), message };
    let isa = Effort::Full.isa().map_err(error)?;
    let mut state = FunctionBuilderState::default();
    state.build(function, isa.as_ref())?;
    state.context.set_disasm(true);
    let code = state.context.compile(isa.as_ref(), &mut ControlPlane::default());
    let code = code.map_err(|failure| error(failure.inner.to_string()))?;
    Ok(code.vcode.clone().unwrap_or_default())
}

thread_local! {
    /// The state of compilations, reused to save allocations.
    static BUILDER: RefCell<FunctionBuilderState> = RefCell::default();
}

struct FunctionBuilderState {
    context: Context,
    builder: FunctionBuilderContext,
}

impl Default for FunctionBuilderState {
    fn default() -> FunctionBuilderState {
        FunctionBuilderState { context: Context::new(), builder: FunctionBuilderContext::new() }
    }
}

impl FunctionBuilderState {
    /// Verifies the function and writes it into the context.
    fn build(&mut self, function: &Function, isa: &dyn TargetIsa) -> Result<(), Error> {
        let faults = verify(function);
        if !faults.is_empty() {
            return Err(redpoll_compiler::Error::invalid_assembly(&function.name, &faults).into());
        }
        if function.body.iter().any(|s| s.any(&mut |s| matches!(s, Stmt::Grow { .. }))) {
            trampoline::ensure_compiled()
                .map_err(|message| Error::Compile { function: function.name.clone(), message })?;
        }
        self.context.clear();
        self.context.func.signature = signature(isa);
        build(function, isa, &mut self.context.func, &mut self.builder);
        Ok(())
    }

    fn define(&mut self, function: &Function, module: &mut JITModule) -> Result<FuncId, Error> {
        self.build(function, module.isa())?;
        let error = |error: ModuleError| Error::Compile { function: function.name.clone(), message: error.to_string() };
        let id = module.declare_anonymous_function(&self.context.func.signature).map_err(error)?;
        module.define_function(id, &mut self.context).map_err(error)?;
        Ok(id)
    }
}

/// Returns the rounding function with this name, which Cranelift calls on machines without an
/// instruction for this rounding.
fn libcall(name: &str) -> Option<*const u8> {
    macro_rules! table {
        ($($name:literal $double:ident $t:ty;)*) => {
            match name {
                $($name => {
                    extern "C" fn call(x: $t) -> $t {
                        libm::$double(x)
                    }
                    Some(call as *const u8)
                })*
                _ => None,
            }
        };
    }
    table! {
        "floor" floor f64;
        "floorf" floorf f32;
        "ceil" ceil f64;
        "ceilf" ceilf f32;
        "trunc" trunc f64;
        "truncf" truncf f32;
        "nearbyint" rint f64;
        "nearbyintf" rintf f32;
    }
}
