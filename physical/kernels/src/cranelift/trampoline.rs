//! The trampoline, through which kernels call `grow` without a cost for the surrounding loops.
//!
//! A call in the platform's convention clobbers most registers. So in every round of a loop that
//! appends, the values that live across the call would be in memory, although the call is rare. The
//! trampoline preserves all registers: it saves the registers that the callback may clobber, at a
//! cost for the call only. Its convention has no result, so the status passes through the frame.

use super::effort::Effort;
use crate::run::{Callbacks, Frame};
use cranelift::codegen::Context;
use cranelift::codegen::isa::{CallConv, TargetIsa};
use cranelift::jit::{JITBuilder, JITModule};
use cranelift::module::{Module, ModuleError, default_libcall_names};
use cranelift::prelude::{
    AbiParam, FunctionBuilder, FunctionBuilderContext, InstBuilder, MemFlagsData, Signature, types,
};
use std::ffi::c_void;
use std::mem::offset_of;
use std::sync::OnceLock;

/// Returns the signature of the trampoline: frame, number of the buffer, number of elements.
pub(super) fn signature(isa: &dyn TargetIsa) -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature.params.extend([isa.pointer_type(), types::I32, types::I64].map(AbiParam::new));
    signature
}

/// The address of the trampoline, which is compiled once and never freed.
static TRAMPOLINE: OnceLock<Result<usize, String>> = OnceLock::new();

/// Compiles the trampoline, unless it is already compiled.
pub(super) fn ensure_compiled() -> Result<(), String> {
    TRAMPOLINE.get_or_init(compile).as_ref().map(drop).map_err(String::clone)
}

/// Returns the address of the trampoline; null if no function has needed it. Kernels load the
/// address from their frame: a constant would occupy a register in every loop that appends.
pub(crate) fn address() -> *const c_void {
    match TRAMPOLINE.get() {
        Some(Ok(address)) => std::ptr::with_exposed_provenance(*address),
        _ => std::ptr::null(),
    }
}

fn compile() -> Result<usize, String> {
    let isa = Effort::Full.isa()?;
    let mut module = JITModule::new(JITBuilder::with_isa(isa.clone(), default_libcall_names()));
    let mut context = Context::new();
    context.func.signature = signature(isa.as_ref());
    let mut scratch = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut scratch);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    let &[frame, buffer, len] = builder.block_params(entry) else {
        unreachable!("the signature has three parameters");
    };
    let (pointer, flags) = (isa.pointer_type(), MemFlagsData::trusted());
    let host = builder.ins().load(pointer, flags, frame, offset_of!(Frame, host) as i32);
    let callbacks = builder.ins().load(pointer, flags, frame, offset_of!(Frame, callbacks) as i32);
    let callee = builder.ins().load(pointer, flags, callbacks, offset_of!(Callbacks, grow) as i32);
    let mut callback = Signature::new(isa.default_call_conv());
    callback.params.extend([pointer, types::I32, types::I64].map(AbiParam::new));
    callback.returns.push(AbiParam::new(types::I32));
    let callback = builder.import_signature(callback);
    let call = builder.ins().call_indirect(callback, callee, &[host, buffer, len]);
    let status = builder.inst_results(call)[0];
    builder.ins().store(flags, status, frame, offset_of!(Frame, status) as i32);
    builder.ins().return_(&[]);
    builder.finalize(isa.frontend_config());

    let message = |error: ModuleError| error.to_string();
    let id = module.declare_anonymous_function(&context.func.signature).map_err(message)?;
    module.define_function(id, &mut context).map_err(message)?;
    module.finalize_definitions().map_err(message)?;
    // The module is dropped without freeing its memory, so the address stays valid.
    Ok(module.get_finalized_function(id).expose_provenance())
}
