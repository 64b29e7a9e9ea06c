// The text before CUDA text that lets the CUDA text compile as C++. The result runs the blocks of a
// device on one thread of the host.
//
// Each thread of a block is a context, which runs until it waits for other threads or ends; the
// next thread to run is drawn at random. The first switch to a thread sets its context. Later
// switches are jumps, because a switch of contexts is a system call that saves the mask of signals.
// Synchronization is checked by the rules of the programming guide. Lanes of one warp synchronize
// if each of them passes a mask that names exactly these lanes. A block synchronizes if all of its
// threads arrive.
//
// The headers of C++ come first. After them, the types that units define get other names, because
// the headers define the same types.
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>

#define int8_t rp_int8_t
#define int16_t rp_int16_t
#define int32_t rp_int32_t
#define int64_t rp_int64_t
#define uint8_t rp_uint8_t
#define uint16_t rp_uint16_t
#define uint32_t rp_uint32_t
#define uint64_t rp_uint64_t
#undef INT8_MIN
#undef INT8_MAX
#undef UINT8_MAX
#undef INT16_MIN
#undef INT16_MAX
#undef UINT16_MAX
#undef INT32_MIN
#undef INT32_MAX
#undef UINT32_MAX
#undef INT64_MIN
#undef INT64_MAX
#undef UINT64_MAX
#undef INT64_C
#undef UINT64_C

#define __global__
#define __shared__

struct emulated_index {
    unsigned x;
};
static emulated_index threadIdx, blockIdx, blockDim, gridDim;

static const unsigned emulated_max_threads = 1024;
// Bytes of a stack.
static const unsigned long emulated_stack = 1 << 17;
// The byte in uninitialized memory.
static const unsigned char emulated_poison = 0x55;

// A synchronization of threads, and the values that they exchange.
struct emulated_barrier {
    unsigned size, arrived, mask;
    const char *what;
    unsigned long long published[32], received[32];
};

struct emulated_thread {
    // The place where the thread continues once it has started.
    jmp_buf place;
    const emulated_barrier *waits;
    bool started, ended;
};

// `emulated_lanes` has, for each thread, the synchronization of the lanes of a mask that begins
// with this thread. `emulated_block` is the synchronization of all threads.
static emulated_barrier emulated_lanes[emulated_max_threads], emulated_block;
static emulated_thread emulated_threads[emulated_max_threads];
static jmp_buf emulated_scheduler;
static unsigned emulated_alive;
static void (*emulated_run)();

// The memory of a block, poisoned at first.
unsigned long long rp_shared[1 << 18];

[[noreturn]] static void emulated_fault(const char *what) {
    std::fprintf(stderr, "block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, what);
    std::abort();
}

// Waits for the other threads of a barrier; afterwards the values of all its lanes are visible.
static void emulated_wait(emulated_barrier &barrier, unsigned first, unsigned size, unsigned mask, const char *what) {
    if (barrier.arrived == 0) {
        barrier.size = size;
        barrier.mask = mask;
        barrier.what = what;
    } else if (barrier.size != size || barrier.mask != mask ||
               (barrier.what != what && std::strcmp(barrier.what, what) != 0)) {
        emulated_fault("the threads of a barrier have different masks or call different functions");
    }
    if (++barrier.arrived < size) {
        const unsigned self = threadIdx.x;
        emulated_threads[self].waits = &barrier;
        if (_setjmp(emulated_threads[self].place) == 0) _longjmp(emulated_scheduler, 1);
        return;
    }
    barrier.arrived = 0;
    std::memcpy(barrier.received, barrier.published, sizeof barrier.received);
    for (unsigned k = first; k < blockDim.x; k++) {
        if (emulated_threads[k].waits == &barrier) emulated_threads[k].waits = nullptr;
    }
}

// Checks that the mask is a range of lanes that includes the calling thread; returns the first
// thread of the range.
static unsigned emulated_first(unsigned mask) {
    if (mask == 0) emulated_fault("a mask without lanes");
    const unsigned low = __builtin_ctz(mask), size = __builtin_popcount(mask), lane = threadIdx.x % 32;
    if (mask >> low != 0xffffffffu >> (32 - size)) emulated_fault("the lanes of a mask are not a range");
    if (lane < low || lane >= low + size) emulated_fault("a mask without the calling lane");
    const unsigned first = threadIdx.x - lane + low;
    if (first + size > blockDim.x) emulated_fault("a mask with lanes that the block does not have");
    return first;
}

static emulated_barrier &emulated_warp(unsigned mask, const char *what) {
    const unsigned first = emulated_first(mask);
    emulated_wait(emulated_lanes[first], first, __builtin_popcount(mask), mask, what);
    return emulated_lanes[first];
}

static void __syncwarp(unsigned mask) {
    emulated_warp(mask, "__syncwarp");
}

static int __syncthreads_or(int holds) {
    if (emulated_alive != blockDim.x) emulated_fault("a barrier of a block, some threads of which have ended");
    if (emulated_block.arrived == 0) emulated_block.published[0] = 0;
    emulated_block.published[0] |= holds != 0;
    emulated_wait(emulated_block, 0, blockDim.x, 0, "__syncthreads");
    return emulated_block.received[0] != 0;
}

static void __syncthreads() {
    __syncthreads_or(0);
}

static int __any_sync(unsigned mask, int holds) {
    emulated_lanes[emulated_first(mask)].published[threadIdx.x % 32] = holds != 0;
    const emulated_barrier &barrier = emulated_warp(mask, "__any_sync");
    unsigned long long any = 0;
    for (unsigned lane = 0; lane < 32; lane++) any |= mask >> lane & 1 ? barrier.received[lane] : 0;
    return any != 0;
}

static unsigned __ballot_sync(unsigned mask, int holds) {
    emulated_lanes[emulated_first(mask)].published[threadIdx.x % 32] = holds != 0;
    const emulated_barrier &barrier = emulated_warp(mask, "__ballot_sync");
    unsigned ballot = 0;
    for (unsigned lane = 0; lane < 32; lane++) ballot |= mask >> lane & 1 && barrier.received[lane] ? 1u << lane : 0;
    return ballot;
}

static int __popc(unsigned number) {
    return __builtin_popcount(number);
}

template <typename T> static T emulated_shuffle(unsigned mask, T value, unsigned from, unsigned lanes, const char *what) {
    if (lanes == 0 || lanes > 32 || (lanes & (lanes - 1)) != 0) emulated_fault("a shuffle whose width is not a power of two");
    const unsigned lane = threadIdx.x % 32;
    std::memcpy(&emulated_lanes[emulated_first(mask)].published[lane], &value, sizeof value);
    const emulated_barrier &barrier = emulated_warp(mask, what);
    if (from >= lanes) return value;
    const unsigned other = lane / lanes * lanes + from;
    if ((mask >> other & 1) == 0) emulated_fault("a shuffle from a lane outside of the mask");
    std::memcpy(&value, &barrier.received[other], sizeof value);
    return value;
}

template <typename T> static T __shfl_sync(unsigned mask, T value, unsigned from, unsigned lanes) {
    return emulated_shuffle(mask, value, from % lanes, lanes, "__shfl_sync");
}

template <typename T> static T __shfl_down_sync(unsigned mask, T value, unsigned by, unsigned lanes) {
    return emulated_shuffle(mask, value, threadIdx.x % lanes + by, lanes, "__shfl_down_sync");
}

template <typename T, typename Op> static T emulated_atomic(T *at, Op op) {
    const T old = *at;
    *at = op(old);
    return old;
}
template <typename T> static T atomicAdd(T *at, T v) {
    return emulated_atomic(at, [=](T old) { return (T)((unsigned long long)old + (unsigned long long)v); });
}
template <typename T> static T atomicMin(T *at, T v) {
    return emulated_atomic(at, [=](T old) { return old < v ? old : v; });
}
template <typename T> static T atomicMax(T *at, T v) {
    return emulated_atomic(at, [=](T old) { return old > v ? old : v; });
}
template <typename T> static T atomicAnd(T *at, T v) {
    return emulated_atomic(at, [=](T old) { return old & v; });
}
template <typename T> static T atomicOr(T *at, T v) {
    return emulated_atomic(at, [=](T old) { return old | v; });
}
template <typename T> static T atomicXor(T *at, T v) {
    return emulated_atomic(at, [=](T old) { return old ^ v; });
}

static double __longlong_as_double(long long bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
static float __int_as_float(int bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
static int __clzll(long long number) {
    return number == 0 ? 64 : __builtin_clzll((unsigned long long)number);
}
static int __ffsll(long long number) {
    return number == 0 ? 0 : __builtin_ctzll((unsigned long long)number) + 1;
}

struct emulated_argument {
    unsigned long long words[10];
};

[[noreturn]] static void emulated_start() {
    emulated_run();
    emulated_threads[threadIdx.x].ended = true;
    emulated_alive--;
    _longjmp(emulated_scheduler, 1);
}

// Runs a thread until it waits or ends.
static void emulated_continue(emulated_thread &thread, unsigned char *stack) {
    if (_setjmp(emulated_scheduler) != 0) return;
    if (thread.started) _longjmp(thread.place, 1);
    thread.started = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_link = nullptr;
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = emulated_stack;
    makecontext(&context, emulated_start, 0);
    setcontext(&context);
}

// Runs the threads of a block until all have ended.
static void emulated_run_block(unsigned char *stacks, unsigned long long &drawn) {
    emulated_alive = blockDim.x;
    emulated_block.arrived = 0;
    for (unsigned k = 0; k < blockDim.x; k++) {
        emulated_thread &thread = emulated_threads[k];
        emulated_lanes[k].arrived = 0;
        thread.waits = nullptr;
        thread.started = thread.ended = false;
    }
    while (emulated_alive > 0) {
        // Draws by xorshift (G. Marsaglia, "Xorshift RNGs", 2003), then takes the next thread that
        // can run.
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        drawn ^= drawn << 17;
        unsigned tried = 0, next = drawn % blockDim.x;
        while (tried < blockDim.x && (emulated_threads[next].ended || emulated_threads[next].waits)) {
            tried++;
            next = (next + 1) % blockDim.x;
        }
        if (tried == blockDim.x) emulated_fault("threads wait for threads that never arrive");
        threadIdx.x = next;
        emulated_continue(emulated_threads[next], stacks + next * emulated_stack);
    }
}

// Runs a kernel by `blocks` blocks of `threads` threads that share `shared` bytes, one block after
// the other. The state is in variables of the library, so only one launch runs at a time.
extern "C" void emulated_launch(void (*kernel)(emulated_argument), const emulated_argument *argument, unsigned blocks,
                                unsigned threads, unsigned shared) {
    static emulated_argument kept;
    static void (*entry)(emulated_argument);
    static unsigned long long drawn = 0x9e3779b97f4a7c15ull;
    static unsigned char *stacks;
    if (!stacks) {
        void *const memory = mmap(nullptr, emulated_max_threads * emulated_stack, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) emulated_fault("there is no memory for stacks");
        stacks = (unsigned char *)memory;
    }
    // Bytes after the memory of the block, to detect writes beyond its end.
    const unsigned long guard = 256;
    if (threads > emulated_max_threads || shared + guard > sizeof rp_shared) emulated_fault("the block is too large");
    kept = *argument;
    entry = kernel;
    emulated_run = [] { entry(kept); };
    blockDim.x = threads;
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        std::memset(rp_shared, emulated_poison, shared + guard);
        emulated_run_block(stacks, drawn);
        const unsigned char *const end = (const unsigned char *)rp_shared + shared;
        for (unsigned k = 0; k < guard; k++) {
            if (end[k] != emulated_poison) emulated_fault("the block wrote beyond its memory");
        }
    }
}
