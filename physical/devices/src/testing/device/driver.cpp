// The driver of an emulated device: the functions that the bindings call, over memory and threads
// of the host.
//
// A stream is a thread of the host that runs operations in order. Copies without a stream wait for
// the default stream, as copies of pageable memory do.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>

enum result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
};

typedef uint64_t address;
typedef std::chrono::steady_clock watch;
typedef std::unique_lock<std::mutex> lock;

static const int DEVICES = 2;
static const size_t MEMORY = size_t(2) << 30, GUARD = 256, ALIGNMENT = 256;
static const unsigned MAX_SHARED = 48 << 10, MAX_THREADS = 1024;
static const unsigned char POISON = 0x55, FENCE = 0xa7;

[[noreturn]] static void fault(const char *what) {
    std::fprintf(stderr, "the emulated driver: %s\n", what);
    std::abort();
}

// A stream, which runs its operations in order.
struct stream {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
    uint64_t enqueued = 0, done = 0;
    bool ends = false;
    std::thread thread;

    stream() : thread([this] { work(); }) {}
    ~stream() {
        {
            lock held(mutex);
            ends = true;
        }
        changed.notify_all();
        thread.join();
    }
    void enqueue(std::function<void()> what) {
        {
            lock held(mutex);
            waiting.push_back(std::move(what));
            enqueued++;
        }
        changed.notify_all();
    }
    void drain() {
        lock held(mutex);
        const uint64_t until = enqueued;
        changed.wait(held, [&] { return done >= until; });
    }
    void work() {
        for (;;) {
            std::function<void()> next;
            {
                lock held(mutex);
                changed.wait(held, [&] { return ends || !waiting.empty(); });
                if (waiting.empty()) return;
                next = std::move(waiting.front());
                waiting.pop_front();
            }
            next();
            {
                lock held(mutex);
                done++;
            }
            changed.notify_all();
        }
    }
};

// A point in a stream.
struct point {
    std::mutex mutex;
    std::condition_variable changed;
    bool reached = false;
    watch::time_point time;

    void reach() {
        {
            lock held(mutex);
            reached = true;
            time = watch::now();
        }
        changed.notify_all();
    }
    void wait() {
        lock held(mutex);
        changed.wait(held, [&] { return reached; });
    }
    bool is_reached() {
        lock held(mutex);
        return reached;
    }
};

struct event {
    bool timed;
    std::shared_ptr<point> recorded;
};

struct context {
    int device;
    size_t used = 0;
    // Never joined: the process ends first.
    stream *main = new stream;
    std::set<stream *> streams;
};

typedef void (*kernel)(void *);
typedef void (*launcher)(kernel, const void *, unsigned, unsigned, unsigned);

struct module {
    void *library;
};

struct function {
    kernel entry;
    launcher launch;
};

struct block {
    size_t bytes;
    context *of;
    unsigned char *memory;
};

// The state of all devices.
static std::mutex known;
static context *contexts[DEVICES];
static std::map<address, block> blocks;
static std::set<event *> events;
static std::set<module *> modules;
static std::set<function *> functions;
// Held during a launch, since launches of one library share its variables.
static std::mutex launching;
static thread_local context *current;
static std::atomic<int64_t> calls_left{-1};
static std::atomic<uint64_t> counted{0};

extern "C" void emulated_fail_after(int64_t calls) {
    calls_left = calls;
}

extern "C" uint64_t emulated_calls() {
    return counted;
}

extern "C" uint64_t emulated_used() {
    // The bindings free memory in the default streams, which are drained until all frees have run.
    for (context *of : contexts) {
        if (of) of->main->drain();
    }
    lock held(known);
    uint64_t used = 0;
    for (const auto &[at, block] : blocks) used += block.bytes;
    return used;
}

// Counts a call; returns whether the device is lost.
static bool device_is_lost() {
    counted++;
    int64_t now = calls_left;
    while (now > 0 && !calls_left.compare_exchange_weak(now, now - 1)) {}
    return now == 0;
}

#define CALL()                                        \
    do {                                              \
        if (device_is_lost()) return ILLEGAL_ADDRESS; \
        if (!current) return INVALID_CONTEXT;         \
    } while (0)

// Returns whether `bytes` bytes from an address on belong to the device.
static bool is_memory(address at, size_t bytes) {
    lock held(known);
    auto next = blocks.upper_bound(at);
    if (next == blocks.begin()) return false;
    const auto &[start, block] = *--next;
    return block.of == current && at - start <= block.bytes && bytes <= block.bytes - (at - start);
}

static stream *stream_of(stream *of) {
    lock held(known);
    if (!of) return current->main;
    return current->streams.count(of) ? of : nullptr;
}

template <typename T> static bool is_known(const std::set<T *> &of, T *what) {
    lock held(known);
    return of.count(what) != 0;
}

// Returns a new object and registers it.
template <typename T> static result add_object(std::set<T *> &of, T **made, T *what) {
    lock held(known);
    of.insert(what);
    *made = what;
    return SUCCESS;
}

static result allocate(address *at, size_t bytes) {
    if (bytes == 0) return INVALID_VALUE;
    lock held(known);
    if (bytes > MEMORY - current->used) return OUT_OF_MEMORY;
    void *memory;
    if (posix_memalign(&memory, ALIGNMENT, bytes + 2 * GUARD) != 0) return OUT_OF_MEMORY;
    unsigned char *const start = (unsigned char *)memory;
    std::memset(start, FENCE, GUARD);
    std::memset(start + GUARD, POISON, bytes);
    std::memset(start + GUARD + bytes, FENCE, GUARD);
    current->used += bytes;
    *at = (address)(start + GUARD);
    blocks[*at] = block{bytes, current, start};
    return SUCCESS;
}

static void release(address at) {
    lock held(known);
    const auto found = blocks.find(at);
    if (found == blocks.end()) fault("freed memory is not the device's");
    const block of = found->second;
    for (size_t k = 0; k < GUARD; k++) {
        const bool kept = of.memory[k] == FENCE && of.memory[GUARD + of.bytes + k] == FENCE;
        if (!kept) fault("a kernel wrote beyond its memory");
    }
    of.of->used -= of.bytes;
    blocks.erase(found);
    std::free(of.memory);
}

extern "C" {

result cuInit(unsigned flags) {
    return flags == 0 ? SUCCESS : INVALID_VALUE;
}

result cuGetErrorName(result of, const char **name) {
    *name = of == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
    return SUCCESS;
}

result cuGetErrorString(result of, const char **words) {
    switch (of) {
    case OUT_OF_MEMORY: *words = "out of memory"; break;
    case INVALID_DEVICE: *words = "invalid device ordinal"; break;
    case INVALID_CONTEXT: *words = "invalid device context"; break;
    case ILLEGAL_ADDRESS: *words = "an illegal memory access was encountered"; break;
    default: *words = "not supported by the emulated driver";
    }
    return SUCCESS;
}

result cuDeviceGet(int *device, int ordinal) {
    if (ordinal < 0 || ordinal >= DEVICES) return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

result cuDeviceTotalMem_v2(size_t *bytes, int) {
    *bytes = MEMORY;
    return SUCCESS;
}

result cuDeviceGetAttribute(int *value, int attribute, int device) {
    if (device < 0 || device >= DEVICES) return INVALID_DEVICE;
    switch (attribute) {
    case 8: *value = MAX_SHARED; break;  // bytes that a block shares at most
    case 16: *value = 1; break;           // multiprocessors
    case 75: *value = 9; break;           // compute capability
    case 76: *value = 0; break;
    case 81: *value = 64 << 10; break;    // bytes that blocks of a multiprocessor share
    case 115: *value = 1; break;          // memory can be allocated in a stream
    default: *value = 0;
    }
    return SUCCESS;
}

result cuDeviceGetDefaultMemPool(context **pool, int device) {
    *pool = contexts[device];
    return SUCCESS;
}

result cuMemPoolSetAttribute(context *, int attribute, void *) {
    return attribute == 4 ? SUCCESS : INVALID_VALUE;
}

result cuDevicePrimaryCtxRetain(context **of, int device) {
    lock held(known);
    if (!contexts[device]) contexts[device] = new context{device};
    *of = contexts[device];
    return SUCCESS;
}

result cuDevicePrimaryCtxRelease_v2(int) {
    return SUCCESS;
}

result cuCtxGetCurrent(context **of) {
    *of = current;
    return SUCCESS;
}

result cuCtxSetCurrent(context *of) {
    current = of;
    return SUCCESS;
}

result cuMemAllocAsync(address *at, size_t bytes, stream *in) {
    CALL();
    if (!stream_of(in)) return INVALID_HANDLE;
    return allocate(at, bytes);
}

result cuMemFreeAsync(address at, stream *in) {
    // Memory of a lost device is freed all the same.
    const bool was_lost = device_is_lost();
    if (!current) return INVALID_CONTEXT;
    stream *const to = stream_of(in);
    if (!to) return INVALID_HANDLE;
    to->enqueue([=] { release(at); });
    return was_lost ? ILLEGAL_ADDRESS : SUCCESS;
}

result cuMemcpyHtoD_v2(address to, const void *from, size_t bytes) {
    CALL();
    if (!is_memory(to, bytes)) return INVALID_VALUE;
    current->main->drain();
    std::memcpy((void *)to, from, bytes);
    return SUCCESS;
}

result cuMemcpyDtoH_v2(void *to, address from, size_t bytes) {
    CALL();
    if (!is_memory(from, bytes)) return INVALID_VALUE;
    current->main->drain();
    std::memcpy(to, (const void *)from, bytes);
    return SUCCESS;
}

result cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, stream *in) {
    CALL();
    stream *const by = stream_of(in);
    if (!by) return INVALID_HANDLE;
    if (!is_memory(to, bytes) || !is_memory(from, bytes)) return INVALID_VALUE;
    by->enqueue([=] { std::memcpy((void *)to, (const void *)from, bytes); });
    return SUCCESS;
}

result cuMemsetD8Async(address at, unsigned char byte, size_t bytes, stream *in) {
    CALL();
    stream *const to = stream_of(in);
    if (!to) return INVALID_HANDLE;
    if (!is_memory(at, bytes)) return INVALID_VALUE;
    to->enqueue([=] { std::memset((void *)at, byte, bytes); });
    return SUCCESS;
}

result cuStreamCreate(stream **made, unsigned) {
    CALL();
    return add_object(current->streams, made, new stream);
}

result cuStreamDestroy_v2(stream *of) {
    if (!current) return INVALID_CONTEXT;
    if (!of || !stream_of(of)) return INVALID_HANDLE;
    {
        lock held(known);
        current->streams.erase(of);
    }
    of->drain();
    delete of;
    return SUCCESS;
}

result cuStreamSynchronize(stream *of) {
    CALL();
    stream *const to = stream_of(of);
    if (!to) return INVALID_HANDLE;
    to->drain();
    return SUCCESS;
}

result cuEventCreate(event **made, unsigned flags) {
    CALL();
    return add_object(events, made, new event{(flags & 2) == 0, nullptr});
}

result cuEventDestroy_v2(event *of) {
    lock held(known);
    if (events.erase(of) == 0) return INVALID_HANDLE;
    delete of;
    return SUCCESS;
}

result cuEventRecord(event *of, stream *in) {
    CALL();
    stream *const to = stream_of(in);
    if (!to || !is_known(events, of)) return INVALID_HANDLE;
    const auto recorded = std::make_shared<point>();
    of->recorded = recorded;
    to->enqueue([=] { recorded->reach(); });
    return SUCCESS;
}

result cuEventQuery(event *of) {
    // The number of queries depends on timing, so queries are not counted as calls.
    if (calls_left == 0) return ILLEGAL_ADDRESS;
    if (!current) return INVALID_CONTEXT;
    if (!is_known(events, of)) return INVALID_HANDLE;
    return !of->recorded || of->recorded->is_reached() ? SUCCESS : NOT_READY;
}

result cuEventSynchronize(event *of) {
    CALL();
    if (!is_known(events, of)) return INVALID_HANDLE;
    if (of->recorded) of->recorded->wait();
    return SUCCESS;
}

result cuEventElapsedTime_v2(float *milliseconds, event *start, event *end) {
    CALL();
    if (!is_known(events, start) || !is_known(events, end) || !start->timed || !end->timed) return INVALID_HANDLE;
    if (!start->recorded || !end->recorded) return INVALID_HANDLE;
    if (!start->recorded->is_reached() || !end->recorded->is_reached()) return NOT_READY;
    *milliseconds = std::chrono::duration<float, std::milli>(end->recorded->time - start->recorded->time).count();
    return SUCCESS;
}

result cuModuleLoadData(module **made, const void *ptx) {
    CALL();
    const char *digits = (const char *)ptx;
    std::string path = EMULATED_FOLDER "/module-XXXXXX";
    const int file = mkstemp(&path[0]);
    if (file < 0) return OUT_OF_MEMORY;
    close(file);
    std::ofstream library_file(path, std::ios::binary);
    const auto digit = [](char of) { return of < 'a' ? of - '0' : of - 'a' + 10; };
    for (; digits[0] && digits[1]; digits += 2) library_file.put((char)(digit(digits[0]) << 4 | digit(digits[1])));
    library_file.close();
    void *const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    unlink(path.c_str());
    if (!library) return INVALID_IMAGE;
    return add_object(modules, made, new module{library});
}

result cuModuleUnload(module *of) {
    lock held(known);
    if (modules.erase(of) == 0) return INVALID_HANDLE;
    // The library stays loaded, since its functions may be running.
    delete of;
    return SUCCESS;
}

result cuModuleGetFunction(function **made, module *of, const char *name) {
    CALL();
    if (!is_known(modules, of)) return INVALID_HANDLE;
    const auto entry = (kernel)dlsym(of->library, name);
    const auto launch = (launcher)dlsym(of->library, "emulated_launch");
    if (!entry || !launch) return NOT_FOUND;
    return add_object(functions, made, new function{entry, launch});
}

result cuLaunchKernel(function *of, unsigned blocks, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz,
                      unsigned shared, stream *in, void **arguments, void **extra) {
    CALL();
    stream *const to = stream_of(in);
    if (!to || !is_known(functions, of)) return INVALID_HANDLE;
    const bool is_flat = y == 1 && z == 1 && ty == 1 && tz == 1 && !extra;
    if (!is_flat || blocks == 0 || threads == 0 || threads > MAX_THREADS || shared > MAX_SHARED) return INVALID_VALUE;
    // All kernels have one argument of this size.
    struct argument {
        uint64_t words[10];
    } kept;
    std::memcpy(&kept, arguments[0], sizeof kept);
    const function run = *of;
    to->enqueue([=] {
        lock held(launching);
        run.launch(run.entry, &kept, blocks, threads, shared);
    });
    return SUCCESS;
}
}
