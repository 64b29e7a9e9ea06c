//! The text of a grid: the function that a team runs for a chunk, and the kernel that calls this
//! function.

use super::stmt::TeamDialect;
use crate::grid::{ActiveLanes, Grid, MemorySpace, Stmt, TeamStmt, WARP};
use redpoll_compiler::assembly::{Buffer, Stmt as SerialStmt};
use redpoll_kernels::c::expr::ExprWriter;
use redpoll_kernels::c::facts::LocalFacts;
use redpoll_kernels::c::function::{TableUses, comment, declare_locals};
use redpoll_kernels::c::helpers::Helpers;
use redpoll_kernels::c::names::{Identifiers, capacity, requested, share, window};
use redpoll_kernels::c::stmt::StmtWriter;
use redpoll_kernels::c::types::{Typing, c_type, literal};
use std::fmt::Write;

/// Words that C++ reserves and C before C23 does not, and names in the text of a grid.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "bitand",
    "bitor",
    "blockDim",
    "blockIdx",
    "bool",
    "catch",
    "ceil",
    "char16_t",
    "char32_t",
    "char8_t",
    "chunk",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "fabs",
    "false",
    "floor",
    "fmax",
    "fmin",
    "friend",
    "full",
    "gridDim",
    "lane",
    "launch",
    "mask",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "own_rounds",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "requires",
    "rint",
    "rounds",
    "sqrt",
    "static_assert",
    "static_cast",
    "stopped",
    "team",
    "template",
    "this",
    "threadIdx",
    "thread_local",
    "throw",
    "true",
    "trunc",
    "try",
    "typeid",
    "typename",
    "using",
    "virtual",
    "warpSize",
    "wchar_t",
    "xor",
    "xor_eq",
];

/// Writes a verified grid as a kernel with the given name.
pub(super) fn write(grid: &Grid, entry: &str, helpers: &mut Helpers, out: &mut String) {
    let function = &grid.function;
    let (names, lanes) = (Identifiers::avoiding(function, RESERVED), grid.lanes);
    let mut uses = TableUses::of(function);
    mark_sorted(&function.body, &mut uses);
    comment(function, &names, out);
    let _ = writeln!(
        out,
        "static int32_t {entry}_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,\n\
         {:indent$}const uint32_t mask) {{",
        "",
        indent = entry.len() + 22
    );
    for k in 0..function.buffers.len() {
        declare_buffer(grid, k, &names, &uses, out);
    }
    // Every lane reads the fields of its team's windows here. The first lane later changes these
    // fields, when a window grows or two buffers are swapped, so it must wait for the other lanes.
    let is_grown = |k: usize| grid.spaces[k] == MemorySpace::Team && uses.grown[k];
    if lanes > 1 && (0..function.buffers.len()).any(|k| is_grown(k) || is_swapped(&function.body, k)) {
        let _ = writeln!(out, "    rp_barrier(mask, {lanes});");
    }
    for (k, name) in names.params.iter().enumerate().filter(|(k, _)| uses.params[*k]) {
        let _ = writeln!(out, "    const int64_t {name} = launch.params[{k}];");
    }
    for (local, number) in [(function.chunk.0, "2 * chunk"), (function.chunk.1, "2 * chunk + 1")] {
        let _ = writeln!(out, "    int64_t {} = launch.chunks[{number}];", names.locals[local.index()]);
    }
    declare_locals(function, &names, &uses, out);
    declare_poll_counters(grid, out);
    let exprs =
        ExprWriter { function, names: &names, helpers, facts: LocalFacts::new(function), lane: None, vector: None };
    let dialect = TeamDialect { grid, spread: false };
    let mut stmts = StmtWriter { exprs, depth: 1, out: std::mem::take(out), dialect };
    stmts.block(&grid.body);
    *out = stmts.out;
    if !matches!(function.body.last(), Some(SerialStmt::Return(_))) {
        out.push_str("    return RP_DONE;\n");
    }
    let (beginnings, warp) = (window_beginnings(grid, &uses), lanes.min(WARP));
    // A chunk that ends for lack of capacity leaves invalid contents in the workspaces of the team,
    // so the team takes no other chunk.
    let guard = if grid.spaces.contains(&MemorySpace::Team) {
        "if (status == RP_OUT_OF_CAPACITY) return;\n        "
    } else {
        ""
    };
    let _ = write!(
        out,
        "}}\n\n\
         extern \"C\" __global__ void {entry}(const rp_launch launch) {{\n    \
         const uint32_t lane = RP_LANE({lanes}), mask = RP_MASK({warp});\n    \
         const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / {lanes};\n    \
         if (team >= launch.team_count) return;\n\
         {beginnings}    \
         int64_t chunk = team;\n    \
         while (chunk < launch.chunk_count) {{\n        \
         const int32_t status = rp_cancelled(launch, lane, mask, {lanes}) ? RP_CANCELLED\n            \
         : {entry}_chunk(launch, chunk, team, lane, mask);\n        \
         rp_barrier(mask, {lanes});\n        \
         if (lane == 0) launch.status[chunk] = status;\n        \
         {guard}chunk = rp_next_chunk(launch, lane, mask, {lanes});\n    \
         }}\n}}\n"
    );
}

/// Declares the variables of polls: the number of rounds so far, and a flag for a lane that has
/// stopped.
fn declare_poll_counters(grid: &Grid, out: &mut String) {
    let polls =
        |active: ActiveLanes| grid.body.iter().any(|s| s.any(&mut |s| *s == Stmt::Extension(TeamStmt::Poll(active))));
    if polls(ActiveLanes::Lead) {
        out.push_str("    uint32_t rounds = 0;\n");
    }
    if polls(ActiveLanes::Each) {
        out.push_str("    uint32_t own_rounds = 0;\n    int stopped = 0;\n");
    }
}

/// Returns whether a buffer is swapped with another one.
fn is_swapped(body: &[SerialStmt], k: usize) -> bool {
    let is = |b: &Buffer| b.index() == k;
    body.iter().any(|s| s.any(&mut |s| matches!(s, SerialStmt::Swap(a, b) if is(a) || is(b))))
}

/// Returns the text that places the beginning of each growing window of a team in the memory of the
/// team's block, where the window has room for its share of elements.
fn window_beginnings(grid: &Grid, uses: &TableUses) -> String {
    let mut out = String::new();
    for (k, decl) in grid.function.buffers.iter().enumerate() {
        if grid.spaces[k] == MemorySpace::Team && uses.grown[k] {
            let (ty, fill) = (c_type(decl.prim), literal(&decl.fill, Typing::Weak).0);
            let _ = writeln!(
                out,
                "    rp_begin_window(launch.windows[{k}][team], ({ty}){fill}, next, lane, {});",
                grid.lanes
            );
        }
    }
    if !out.is_empty() {
        let lanes = grid.lanes;
        let next = format!("    uint64_t *next = rp_shared + threadIdx.x / {lanes} * (launch.share / 8);\n");
        out = format!("{next}{out}    rp_barrier(mask, {lanes});\n");
    }
    out
}

/// Marks sorted buffers and the keys of sorts as used, because a kernel sorts on the device,
/// without the host.
fn mark_sorted(body: &[SerialStmt], uses: &mut TableUses) {
    for stmt in body {
        stmt.any(&mut |s| {
            match s {
                SerialStmt::Sort { buffer, .. } => uses.buffers[buffer.index()] = true,
                SerialStmt::SortBy { perm, major, minor, .. } => {
                    [perm, major, minor].iter().for_each(|b| uses.buffers[b.index()] = true);
                }
                _ => {}
            }
            false
        });
    }
}

/// Declares a pointer to the elements of a buffer, if the buffer has memory and is used, and the
/// variables for its growth, if it grows.
fn declare_buffer(grid: &Grid, k: usize, names: &Identifiers, uses: &TableUses, out: &mut String) {
    let (name, space) = (&names.buffers[k], grid.spaces[k]);
    let ty = c_type(grid.function.buffers[k].prim);
    let number = match space {
        MemorySpace::Input | MemorySpace::Shared | MemorySpace::Unused => "0",
        MemorySpace::Sections => "launch.sections ? chunk : 0",
        MemorySpace::Rounds | MemorySpace::Chunk | MemorySpace::Measured => "chunk",
        MemorySpace::Team => "team",
    };
    let grows = uses.grown[k] && matches!(space, MemorySpace::Chunk | MemorySpace::Team | MemorySpace::Measured);
    if grows {
        let window = window(name);
        let _ = writeln!(out, "    rp_window *const {window} = launch.windows[{k}] + {number};");
        let _ = writeln!(out, "    int64_t {} = {window}->requested;", requested(name));
        if space != MemorySpace::Measured {
            let _ = writeln!(out, "    int64_t {} = {window}->capacity;", capacity(name));
            if space == MemorySpace::Team {
                let _ = writeln!(out, "    int64_t {} = {window}->share;", share(name));
            }
            let _ = writeln!(out, "    {ty} *{name} = ({ty} *){window}->data;");
        }
    } else if uses.buffers[k] {
        let data = format!("launch.windows[{k}][{number}].data");
        let _ = match space {
            MemorySpace::Input => writeln!(out, "    const {ty} *__restrict__ const {name} = (const {ty} *){data};"),
            _ => writeln!(out, "    {ty} *const {name} = ({ty} *){data};"),
        };
    }
}
