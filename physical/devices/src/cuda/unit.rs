//! Translation units: the text of grids.

use super::function;
use crate::Error;
use crate::grid::{Grid, verify};
use redpoll_compiler::assembly::{Expr, Function, MathFn, Status};
use redpoll_kernels::Error as KernelError;
use redpoll_kernels::c::helpers::{Dialect, Helpers};
use redpoll_kernels::c::stmt::status_name;
use std::fmt::Write;

/// Compiler options that the compilation or the results depend on.
pub const OPTIONS: &[&str] =
    &["--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--device-as-default-execution-space"];

/// Returns the name under which a unit exports the grid with this number.
pub fn entry_name(number: usize) -> String {
    format!("redpoll_grid_{number}")
}

/// The head of every unit: the types and macros of C's headers, the structures of a launch, and the
/// macros and functions that kernels use.
pub(super) const HEAD: &str = "\
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MIN (-9223372036854775807ll - 1)
#define INT64_MAX 9223372036854775807ll
#define UINT64_MAX 18446744073709551615ull
#define INT64_C(number) number##ll
#define UINT64_C(number) number##ull

#define __builtin_copysign copysign
#define __builtin_fabs fabs
#define __builtin_fabsf fabsf
#define __builtin_sqrt sqrt
#define __builtin_sqrtf sqrtf
#define __builtin_floor floor
#define __builtin_floorf floorf
#define __builtin_ceil ceil
#define __builtin_ceilf ceilf
#define __builtin_trunc trunc
#define __builtin_truncf truncf
#define __builtin_rint rint
#define __builtin_rintf rintf
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000ll)
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_nan(text) __longlong_as_double(0x7ff8000000000000ll)
#define __builtin_nanf(text) __int_as_float(0x7fc00000)
#define __builtin_clzll(number) __clzll((int64_t)(number))
#define __builtin_ctzll(number) (__ffsll((int64_t)(number)) - 1)

// A window of memory: of an array, of a chunk or of a team.
struct rp_window {
    // Address of position 0, which may lie outside of the window.
    void *data;
    // Capacity in elements, and the number of elements requested.
    int64_t capacity, requested;
    // Number of elements in the memory of the block, 0 after the window has moved out; address of
    // the window in device memory.
    int64_t share;
    void *outside;
};

struct rp_launch {
    // Windows of each buffer.
    rp_window *const *windows;
    const int64_t *params;
    // Bounds of the chunks.
    const int64_t *chunks;
    // Range of positions of each chunk, in the list that its rounds iterate over; absent if no
    // round is cut into sections.
    const int64_t *sections;
    int64_t chunk_count;
    // Number of teams with windows; threads beyond them are idle.
    int64_t team_count;
    // Status of each chunk.
    int32_t *status;
    // Bytes of block memory per team.
    int64_t share;
    // Not 0 after the launch is cancelled.
    const volatile int32_t *cancel;
    // The next chunk that no team has taken.
    uint32_t *next_chunk;
};

// Memory of a block, divided among its teams.
extern __shared__ uint64_t rp_shared[];
// Exchange buffer between the lanes of a team of several warps.
static __shared__ uint64_t rp_parts[256];

// Index of a lane in its team, and the mask of the lanes of the team within their warp.
#define RP_LANE(lanes) (threadIdx.x % (lanes))
#define RP_MASK(lanes) ((0xffffffffu >> (32 - (lanes))) << (threadIdx.x % 32 / (lanes) * (lanes)))

// Grows a window to a number of elements. If the capacity is too small, the chunk ends, and the
// window records the number.
#define RP_GROW(buffer, length)                                                                \\
    do {                                                                                       \\
        const int64_t rp_length = length;                                                      \\
        if (rp_length > buffer##__requested) {                                                 \\
            buffer##__requested = rp_length;                                                   \\
            if (lane == 0) buffer##__window->requested = rp_length;                            \\
        }                                                                                      \\
        if (rp_length > buffer##__capacity) return RP_OUT_OF_CAPACITY;                         \\
    } while (0)

// Like RP_GROW, for a window that may have to move out of the memory of its block.
#define RP_GROW_OR_MOVE(buffer, length, lanes)                                                 \\
    do {                                                                                       \\
        const int64_t rp_length = length, rp_before = buffer##__requested;                     \\
        if (rp_length > rp_before) {                                                           \\
            buffer##__requested = rp_length;                                                   \\
            if (lane == 0) buffer##__window->requested = rp_length;                            \\
            if (rp_length > buffer##__share) {                                                 \\
                if (rp_length > buffer##__capacity) return RP_OUT_OF_CAPACITY;                 \\
                if (buffer##__share > 0) rp_move_out(buffer, *buffer##__window, rp_before, lane, mask, lanes); \\
                buffer##__share = 0;                                                           \\
            }                                                                                  \\
        }                                                                                      \\
    } while (0)

// Records the requested number of elements without growing the window.
#define RP_MEASURE(buffer, length)                                                             \\
    do {                                                                                       \\
        const int64_t rp_length = length;                                                      \\
        if (rp_length > buffer##__requested) {                                                 \\
            buffer##__requested = rp_length;                                                   \\
            if (lane == 0) buffer##__window->requested = rp_length;                            \\
        }                                                                                      \\
    } while (0)

// Exchanges the memory of two windows.
#define RP_SWAP(a, b)                                                                          \\
    do {                                                                                       \\
        rp_swap(a, b);                                                                         \\
        rp_swap(a##__capacity, b##__capacity);                                                 \\
        rp_swap(a##__requested, b##__requested);                                               \\
        if (lane == 0) rp_swap(*a##__window, *b##__window);                                    \\
    } while (0)

template <typename T> static inline void rp_swap(T &a, T &b) {
    const T old = a;
    a = b;
    b = old;
}

// Polls for cancellation once in RP_ROUNDS rounds. RP_POLL: the first lane polls; if the launch is
// cancelled, all lanes end the chunk together. RP_POLL_ALONE: each lane polls, and leaves the loop
// if the launch is cancelled; after the loop, the lanes exchange whether any of them stopped.
#define RP_ROUNDS 256
#define RP_POLL(lanes)                                                                         \\
    do {                                                                                       \\
        if (++rounds % RP_ROUNDS == 0 && rp_cancelled(launch, lane, mask, lanes)) return RP_CANCELLED; \\
    } while (0)
#define RP_POLL_ALONE()                                                                        \\
    if (++own_rounds % RP_ROUNDS == 0 && *launch.cancel != 0) {                                \\
        stopped = 1;                                                                           \\
        break;                                                                                 \\
    }
// Waits until all lanes of the team arrive; accesses before the barrier are visible after it.
static inline void rp_barrier(uint32_t mask, uint32_t lanes) {
    if (lanes > 32) {
        __syncthreads();
    } else {
        __syncwarp(mask);
    }
}

// Publishes a value of a lane, and reads the published value of another lane. The caller places a
// barrier between the two, and another one after the reads.
template <typename T> static inline void rp_publish(T part, uint32_t lane) {
    *(T *)&rp_parts[lane] = part;
}

template <typename T> static inline T rp_published(uint32_t lane) {
    return *(const T *)&rp_parts[lane];
}

// Places the beginning of a window in the memory of a block at `next`, if the window has a share of
// this memory. The caller places a barrier afterwards.
template <typename T>
static inline void rp_begin_window(rp_window &window, T fill, uint64_t *&next, uint32_t lane, uint32_t lanes) {
    const int64_t share = window.share;
    if (share == 0) return;
    T *const inside = (T *)next;
    next += (share * sizeof(T) + 7) / 8;
    for (int64_t k = lane; k < share; k += lanes) inside[k] = fill;
    if (lane == 0) window.data = inside;
}

// Moves the elements of a window out of the memory of its block.
template <typename T>
static inline void rp_move_out(T *&inside, rp_window &window, int64_t len, uint32_t lane, uint32_t mask, uint32_t lanes) {
    rp_barrier(mask, lanes);
    T *const outside = (T *)window.outside;
    for (int64_t k = lane; k < len; k += lanes) outside[k] = inside[k];
    rp_barrier(mask, lanes);
    inside = outside;
    if (lane == 0) {
        window.data = outside;
        window.share = 0;
    }
}

// Returns whether a condition is true in any lane of the team; the result is the same in all lanes.
static inline bool rp_any(int32_t condition, uint32_t mask, uint32_t lanes) {
    return (lanes > 32 ? __syncthreads_or(condition) : __any_sync(mask, condition)) != 0;
}

// Counts the lanes of the team for which a condition is true; returns the number of those before
// this lane.
static inline int64_t rp_rank(int32_t condition, int64_t &count, uint32_t lane, uint32_t mask, uint32_t lanes) {
    const uint32_t holds = __ballot_sync(mask, condition);
    int64_t rank = __popc(holds & ((1u << threadIdx.x % 32) - 1));
    count = __popc(holds);
    if (lanes > 32) {
        if (lane % 32 == 0) rp_publish(count, lane / 32);
        rp_barrier(mask, lanes);
        count = 0;
        for (uint32_t warp = 0; warp < lanes / 32; warp++) {
            const int64_t of_warp = rp_published<int64_t>(warp);
            if (warp < lane / 32) rank += of_warp;
            count += of_warp;
        }
        rp_barrier(mask, lanes);
    }
    return rank;
}

// Returns whether the launch is cancelled; the result is the same in all lanes of the team.
static inline bool rp_cancelled(const rp_launch &launch, uint32_t lane, uint32_t mask, uint32_t lanes) {
    int32_t cancelled = 0;
    if (lane == 0) cancelled = *launch.cancel;
    if (lanes > 32) return __syncthreads_or(cancelled) != 0;
    return __shfl_sync(mask, cancelled, 0, lanes) != 0;
}

// Takes the next chunk; the result is the same in all lanes of the team.
static inline int64_t rp_next_chunk(const rp_launch &launch, uint32_t lane, uint32_t mask, uint32_t lanes) {
    uint32_t chunk = 0;
    if (lane == 0) chunk = atomicAdd(launch.next_chunk, 1u);
    if (lanes <= 32) return __shfl_sync(mask, chunk, 0, lanes);
    if (lane == 0) rp_publish(chunk, 0);
    rp_barrier(mask, lanes);
    chunk = rp_published<uint32_t>(0);
    rp_barrier(mask, lanes);
    return chunk;
}

// Sorts with a merging network whose comparisons all put the larger element last, so that missing
// elements count as larger than all others. Source: K. E. Batcher, \"Sorting networks and their
// applications\", 1968.
template <typename T, typename Above>
static inline void rp_network(T *data, int64_t count, uint32_t lane, uint32_t mask, uint32_t lanes, Above above) {
    rp_barrier(mask, lanes);
    for (int64_t block = 2; block / 2 < count; block *= 2) {
        for (int64_t distance = block - 1; distance > 0; distance = distance == block - 1 ? block / 4 : distance / 2) {
            for (int64_t i = lane; i < count; i += lanes) {
                const int64_t other = i ^ distance;
                if (i < other && other < count && above(data[i], data[other])) rp_swap(data[i], data[other]);
            }
            rp_barrier(mask, lanes);
        }
    }
}

template <typename T>
static inline void rp_sort(T *data, int64_t lo, int64_t hi, uint32_t lane, uint32_t mask, uint32_t lanes) {
    rp_network(data + lo, hi - lo, lane, mask, lanes, [](T a, T b) { return a > b; });
}

template <typename T, typename A, typename B>
static inline void rp_sort_by(T *perm, const A *major, const B *minor, int64_t lo, int64_t hi, uint32_t lane,
                              uint32_t mask, uint32_t lanes) {
    rp_network(perm + lo, hi - lo, lane, mask, lanes, [=](T a, T b) {
        if (major[a] != major[b]) return major[a] > major[b];
        if (minor[a] != minor[b]) return minor[a] > minor[b];
        return a > b;
    });
}
";

/// The status of a chunk that ends because the capacity of a window is too small.
pub(super) const OUT_OF_CAPACITY: i32 = -1;

/// Prints grids as one translation unit; grid `k` is exported as [`entry_name`]`(k)`.
///
/// # Errors
/// [`InvalidAssembly`](redpoll_compiler::Error::InvalidAssembly) if the verifier rejects a grid;
/// [`KernelError::Compile`] if a grid calls a function of the mathematical library that is not
/// expanded into arithmetic, because a device may compute other bits.
pub fn emit(grids: &[&Grid]) -> Result<String, Error> {
    let mut helpers = Helpers::new(Dialect::Cuda);
    let mut kernels = String::new();
    for (k, grid) in grids.iter().enumerate() {
        let faults = verify(grid);
        if !faults.is_empty() {
            return Err(redpoll_compiler::Error::invalid_assembly(&grid.function.name, &faults).into());
        }
        if let Some(called) = host_function(&grid.function) {
            let message = format!("`{}` is a function of the host; run this query on the CPU", called.name());
            return Err(Error::Kernels(KernelError::Compile { function: grid.function.name.clone(), message }));
        }
        kernels.push('\n');
        function::write(grid, &entry_name(k), &mut helpers, &mut kernels);
    }
    let mut text = format!("{HEAD}\nenum {{\n    RP_OUT_OF_CAPACITY = {OUT_OF_CAPACITY},\n");
    for status in Status::ALL {
        let _ = writeln!(text, "    {} = {},", status_name(*status), *status as i32);
    }
    text.push_str("};\n");
    for helper in helpers.texts() {
        text.push('\n');
        text.push_str(helper);
    }
    Ok(text + &kernels)
}

/// Returns a function of the mathematical library that `function` calls and that has no steps, if
/// any.
fn host_function(function: &Function) -> Option<MathFn> {
    let mut called = None;
    for stmt in &function.body {
        stmt.any(&mut |s| {
            s.for_each_expr(&mut |e| {
                e.any(&mut |e| {
                    if let Expr::Math(function, _) = e
                        && function.expansion().is_none()
                    {
                        called = Some(*function);
                    }
                    called.is_some()
                });
            });
            called.is_some()
        });
    }
    called
}
