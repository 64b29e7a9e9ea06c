//! Functions in Cranelift's representation: entry, variables, buffers.

use super::trampoline;
use crate::run::{Frame, Slot};
use cranelift::codegen::ir::{AliasRegionData, Function as ClifFunction, SigRef};
use cranelift::codegen::isa::TargetIsa;
use cranelift::prelude::{
    AbiParam, Block, FunctionBuilder, FunctionBuilderContext, InstBuilder, MemFlagsData, Signature, Type, Value,
    Variable, types,
};
use redpoll_compiler::assembly::{Buffer, BufferDecl, BufferRole, Expr, Function, Local, Status, Stmt};
use redpoll_logic::Prim;
use std::mem::offset_of;

/// Returns the signature of [`EntryPoint`](crate::run::EntryPoint).
pub(super) fn signature(isa: &dyn TargetIsa) -> Signature {
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params.push(AbiParam::new(isa.pointer_type()));
    signature.returns.push(AbiParam::new(types::I32));
    signature
}

/// Writes a verified function into `code`, whose signature is already set.
pub(super) fn build(
    function: &Function,
    isa: &dyn TargetIsa,
    code: &mut ClifFunction,
    context: &mut FunctionBuilderContext,
) {
    let mut builder = FunctionBuilder::new(code, context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    let frame = builder.block_params(entry)[0];
    let grow = builder.import_signature(trampoline::signature(isa));
    let mut emitter = FunctionEmitter {
        function,
        pointer: isa.pointer_type(),
        params: vec![],
        pointers: vec![],
        flags: vec![],
        locals: vec![],
        scopes: vec![],
        exits: vec![],
        hoisted: vec![],
        lane: None,
        grow,
        signatures: Signatures::default(),
        builder,
        frame,
    };
    emitter.enter();
    if emitter.block(&function.body) {
        emitter.return_status(Status::Done);
    }
    emitter.builder.finalize(isa.frontend_config());
}

/// Returns the Cranelift type of a primitive in a register.
pub(super) fn register(prim: Prim) -> Type {
    match prim {
        Prim::Bool | Prim::I8 | Prim::U8 => types::I8,
        Prim::I16 | Prim::U16 => types::I16,
        Prim::I32 | Prim::U32 => types::I32,
        Prim::I64 | Prim::U64 => types::I64,
        Prim::F32 => types::F32,
        Prim::F64 => types::F64,
    }
}

/// The base address of a buffer.
#[derive(Clone, Copy)]
pub(super) enum Pointer {
    /// A value, since the function does not change the base.
    Fixed(Value),
    /// A load from the slot at each use, since the function grows or swaps the buffer. Inside an
    /// innermost loop that uses the buffer, the base is in the variable.
    Growing(Option<Variable>),
}

/// Signatures of calls, imported at first use.
#[derive(Default)]
pub(super) struct Signatures {
    pub(super) sort: Option<SigRef>,
    pub(super) sort_by: Option<SigRef>,
    pub(super) swap: Option<SigRef>,
    /// Signatures of mathematical functions, by the number of arguments minus one, and whether the
    /// arguments are `f64`.
    pub(super) math: [[Option<SigRef>; 2]; 2],
}

/// The state of writing one function.
pub(super) struct FunctionEmitter<'a> {
    pub(super) function: &'a Function,
    pub(super) builder: FunctionBuilder<'a>,
    pub(super) pointer: Type,
    pub(super) frame: Value,
    pub(super) params: Vec<Value>,
    pub(super) pointers: Vec<Pointer>,
    /// For each buffer, the flags of accesses to single elements.
    pub(super) flags: Vec<MemFlagsData>,
    pub(super) locals: Vec<Variable>,
    /// For each enclosing loop, the locals that it assigns.
    pub(super) scopes: Vec<Vec<bool>>,
    /// For each enclosing loop, the target of `break`, and whether the loop has a `break`.
    pub(super) exits: Vec<(Block, bool)>,
    /// Loads hoisted out of the innermost loop, and their values.
    pub(super) hoisted: Vec<(Expr, Value)>,
    /// The variable of a loop with several elements per round, with a value and an offset whose sum
    /// is the variable's value for the current element. `None` in other loops.
    pub(super) lane: Option<(Local, Value, i64)>,
    /// The signature of the trampoline.
    pub(super) grow: SigRef,
    pub(super) signatures: Signatures,
}

/// Returns the flags of an access that is aligned and cannot trap.
fn trusted_flags() -> MemFlagsData {
    MemFlagsData::trusted()
}

impl FunctionEmitter<'_> {
    /// Loads the parameters, the bounds of the chunk and the base addresses of buffers that stay in
    /// place, and declares a variable for each local.
    fn enter(&mut self) {
        let function = self.function;
        // During a call, the parameters do not change. The slots of buffers that the function
        // neither grows nor swaps do not change either.
        let fixed = trusted_flags().with_readonly().with_can_move();
        let slots = self.frame_field(offset_of!(Frame, buffers), self.pointer);
        let mut grows = vec![false; function.buffers.len()];
        for stmt in &function.body {
            stmt.any(&mut |s| {
                match s {
                    Stmt::Grow { buffer, .. } => grows[buffer.index()] = true,
                    Stmt::Swap(a, b) => [a, b].iter().for_each(|buffer| grows[buffer.index()] = true),
                    _ => {}
                }
                false
            });
        }
        for (k, decl) in function.buffers.iter().enumerate() {
            let flags = self.buffer_flags(k, decl);
            self.flags.push(flags);
            if grows[k] {
                self.pointers.push(Pointer::Growing(None));
            } else {
                let base = self.builder.ins().load(self.pointer, fixed, slots, slot_offset(k));
                self.pointers.push(Pointer::Fixed(base));
            }
        }
        if !function.params.is_empty() {
            let params = self.frame_field(offset_of!(Frame, params), self.pointer);
            for k in 0..function.params.len() {
                let value = self.builder.ins().load(types::I64, fixed, params, (k * 8) as i32);
                self.params.push(value);
            }
        }
        for decl in &function.locals {
            let variable = self.builder.declare_var(register(decl.prim));
            self.locals.push(variable);
        }
        let chunk = [(function.chunk.0, offset_of!(Frame, chunk_lo)), (function.chunk.1, offset_of!(Frame, chunk_hi))];
        for (local, offset) in chunk {
            let value = self.frame_field(offset, types::I64);
            self.builder.def_var(self.locals[local.index()], value);
        }
    }

    /// Loads the base of a growing buffer from its slot.
    pub(super) fn slot_base(&mut self, buffer: Buffer) -> Value {
        let slots = self.frame_field(offset_of!(Frame, buffers), self.pointer);
        self.builder.ins().load(self.pointer, trusted_flags(), slots, slot_offset(buffer.index()))
    }

    /// Loads the capacity of a buffer in elements. A growth statement compares with the capacity
    /// once, so the capacity is loaded at the comparison and occupies no register elsewhere.
    pub(super) fn capacity(&mut self, buffer: Buffer) -> Value {
        let slots = self.frame_field(offset_of!(Frame, buffers), self.pointer);
        let at = slot_offset(buffer.index()) + (offset_of!(Slot, len) - offset_of!(Slot, data)) as i32;
        self.builder.ins().load(types::I64, trusted_flags(), slots, at)
    }

    /// Loads a field of the frame at its use, so that a field for cold code occupies no register
    /// elsewhere.
    pub(super) fn frame_field(&mut self, offset: usize, ty: Type) -> Value {
        self.builder.ins().load(ty, trusted_flags(), self.frame, offset as i32)
    }

    /// Returns the flags of a buffer. Every buffer is an alias region of its own: owned buffers
    /// have memory of their own, and inputs are never written, so two inputs may share memory.
    fn buffer_flags(&mut self, number: usize, decl: &BufferDecl) -> MemFlagsData {
        let description = format!("buffer {number}").into();
        let region =
            self.builder.func.dfg.alias_regions.insert(AliasRegionData { user_id: number as u32, description });
        // Loads must not move out of the enclosing conditions, which keep the loads in bounds.
        let flags = trusted_flags().with_alias_region(Some(region));
        if decl.role == BufferRole::Input { flags.with_readonly() } else { flags }
    }

    /// Returns the address of a buffer's first element.
    pub(super) fn base(&mut self, buffer: Buffer) -> Value {
        match self.pointers[buffer.index()] {
            Pointer::Fixed(base) => base,
            Pointer::Growing(Some(base)) => self.builder.use_var(base),
            Pointer::Growing(None) => self.slot_base(buffer),
        }
    }

    /// Writes a return with a status.
    pub(super) fn return_status(&mut self, status: Status) {
        let code = self.builder.ins().iconst(types::I32, i64::from(status as i32));
        self.builder.ins().return_(&[code]);
    }

    /// Returns an `i64` constant.
    pub(super) fn int(&mut self, value: i64) -> Value {
        self.builder.ins().iconst(types::I64, value)
    }
}

/// Returns the offset of a buffer's slot in the array of slots.
fn slot_offset(buffer: usize) -> i32 {
    (buffer * size_of::<Slot>() + offset_of!(Slot, data)) as i32
}
