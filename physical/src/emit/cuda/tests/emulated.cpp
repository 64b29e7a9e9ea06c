// What text of CUDA needs of a device, on threads of the host: a thread for each lane, and barriers between those of a team.
// The words of C++ come first; the types that units define themselves are called otherwise from here on.
#include <cmath>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>

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
static thread_local emulated_index threadIdx, blockIdx;
static emulated_index blockDim, gridDim;

// The lanes of a team, or of a warp of it: where they meet, and what they show each other.
struct emulated_team {
    pthread_barrier_t barrier;
    unsigned long long shown[32];
};
static std::vector<emulated_team> emulated_teams;
static unsigned emulated_lanes;
// Where the threads of a block meet that is one team of several warps.
static pthread_barrier_t *emulated_block;

static emulated_team &emulated_own() {
    return emulated_teams[threadIdx.x / emulated_lanes];
}

static void __syncwarp(unsigned mask) {
    // All lanes of the team are named, and no others.
    const unsigned first = threadIdx.x % 32 / emulated_lanes * emulated_lanes;
    if (mask != (0xffffffffu >> (32 - emulated_lanes)) << first) std::abort();
    pthread_barrier_wait(&emulated_own().barrier);
}

static void __syncthreads() {
    if (!emulated_block) std::abort();
    pthread_barrier_wait(emulated_block);
}

static int emulated_any;
static int __syncthreads_or(int holds) {
    if (holds) __atomic_store_n(&emulated_any, 1, __ATOMIC_RELAXED);
    __syncthreads();
    const int any = __atomic_load_n(&emulated_any, __ATOMIC_RELAXED);
    __syncthreads();
    if (threadIdx.x == 0) emulated_any = 0;
    __syncthreads();
    return any;
}

template <typename T> static T __shfl_sync(unsigned mask, T value, unsigned from, unsigned lanes) {
    emulated_team &team = emulated_own();
    if (lanes != emulated_lanes) std::abort();
    std::memcpy(&team.shown[threadIdx.x % lanes], &value, sizeof value);
    __syncwarp(mask);
    if (from < lanes) std::memcpy(&value, &team.shown[from], sizeof value);
    __syncwarp(mask);
    return value;
}

template <typename T> static T __shfl_down_sync(unsigned mask, T value, unsigned by, unsigned lanes) {
    return __shfl_sync(mask, value, threadIdx.x % lanes + by, lanes);
}

static int __any_sync(unsigned mask, int value) {
    int any = 0;
    for (unsigned lane = 0; lane < emulated_lanes; lane++) any |= __shfl_sync(mask, value, lane, emulated_lanes);
    return any != 0;
}

static std::mutex emulated_memory;
template <typename T, typename Op> static T emulated_atomic(T *at, Op op) {
    const std::lock_guard<std::mutex> held(emulated_memory);
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
    unsigned long long words[9];
};

// The memory of a block. As new it holds what nobody has written.
unsigned long long rp_shared[1 << 16];

// Runs a kernel by so many teams of lanes, which have so many bytes of the memory of their block each. Teams of several warps
// are blocks, which are run one after the other; others are one block together.
extern "C" void emulated_launch(void (*kernel)(emulated_argument), const emulated_argument *argument, unsigned lanes,
                                unsigned teams, unsigned share) {
    const bool are_blocks = lanes > 32;
    emulated_lanes = are_blocks ? 32 : lanes;
    blockDim.x = are_blocks ? lanes : lanes * teams;
    gridDim.x = are_blocks ? teams : 1;
    if (teams / gridDim.x * share > sizeof rp_shared) std::abort();
    for (unsigned block = 0; block < gridDim.x; block++) {
        std::memset(rp_shared, 0x55, sizeof rp_shared);
        emulated_teams = std::vector<emulated_team>(blockDim.x / emulated_lanes);
        for (emulated_team &team : emulated_teams) pthread_barrier_init(&team.barrier, nullptr, emulated_lanes);
        pthread_barrier_t all;
        pthread_barrier_init(&all, nullptr, blockDim.x);
        emulated_block = are_blocks ? &all : nullptr;
        std::vector<std::thread> threads;
        for (unsigned k = 0; k < blockDim.x; k++) {
            threads.emplace_back([=] {
                threadIdx.x = k;
                blockIdx.x = block;
                kernel(*argument);
            });
        }
        for (std::thread &thread : threads) thread.join();
    }
}
