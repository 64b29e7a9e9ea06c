
// The host of kernels under a sanitizer: buffers come from the system's allocator and have exactly
// the elements that were given or asked for. For each kernel, the input file has the numbers of
// buffers and parameters, the chunk, the parameters, the declarations of the buffers, and their
// bytes.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t size, is_signed, is_input, unused;
    uint64_t fill, bytes;
} rp_decl;

typedef struct {
    rp_slot *slots;
    rp_decl *decls;
} rp_host;

// Limit of elements in a buffer.
#define RP_MAX_ELEMENTS (1 << 24)

static int32_t rp_host_grow(void *host, uint32_t buffer, int64_t len) {
    rp_slot *slot = &((rp_host *)host)->slots[buffer];
    const rp_decl *decl = &((rp_host *)host)->decls[buffer];
    if (len <= (int64_t)slot->len) return RP_DONE;
    if (len > RP_MAX_ELEMENTS) return RP_OUT_OF_MEMORY;
    uint8_t *data = malloc(len * decl->size);
    memcpy(data, slot->data, slot->len * decl->size);
    for (uint64_t k = slot->len; k < (uint64_t)len; k++) memcpy(data + k * decl->size, &decl->fill, decl->size);
    free(slot->data);
    slot->data = data;
    slot->len = len;
    return RP_DONE;
}

static int64_t rp_index(const rp_host *host, uint32_t buffer, int64_t at) {
    const rp_decl *decl = &host->decls[buffer];
    int64_t value = 0;
    memcpy(&value, (uint8_t *)host->slots[buffer].data + at * decl->size, decl->size);
    const int unused = 64 - 8 * decl->size;
    return decl->is_signed ? (int64_t)((uint64_t)value << unused) >> unused : value;
}

static void rp_set(const rp_host *host, uint32_t buffer, int64_t at, int64_t value) {
    const uint32_t size = host->decls[buffer].size;
    memcpy((uint8_t *)host->slots[buffer].data + at * size, &value, size);
}

// Insertion sort, since lists are short here.
static void rp_host_sort(void *host, uint32_t buffer, int64_t lo, int64_t hi) {
    for (int64_t k = lo + 1; k < hi; k++) {
        const int64_t moved = rp_index(host, buffer, k);
        int64_t at = k;
        for (; at > lo && rp_index(host, buffer, at - 1) > moved; at--) rp_set(host, buffer, at, rp_index(host, buffer, at - 1));
        rp_set(host, buffer, at, moved);
    }
}

static bool rp_before(const rp_host *host, uint32_t major, uint32_t minor, int64_t a, int64_t b) {
    const int64_t x = rp_index(host, major, a), y = rp_index(host, major, b);
    if (x != y) return x < y;
    const int64_t z = rp_index(host, minor, a), w = rp_index(host, minor, b);
    return z != w ? z < w : a < b;
}

static void rp_host_sort_by(void *host, uint32_t perm, uint32_t major, uint32_t minor, int64_t lo, int64_t hi) {
    for (int64_t k = lo + 1; k < hi; k++) {
        const int64_t moved = rp_index(host, perm, k);
        int64_t at = k;
        for (; at > lo && rp_before(host, major, minor, moved, rp_index(host, perm, at - 1)); at--)
            rp_set(host, perm, at, rp_index(host, perm, at - 1));
        rp_set(host, perm, at, moved);
    }
}

static void rp_host_swap(void *host, uint32_t a, uint32_t b) {
    rp_slot *slots = ((rp_host *)host)->slots;
    const rp_slot kept = slots[a];
    slots[a] = slots[b];
    slots[b] = kept;
}

static double host_ldexp_f64(double x, double n) { return ldexp(x, (int)n); }
static float host_ldexp_f32(float x, float n) { return ldexpf(x, (int)n); }

static void *rp_read(FILE *file, size_t bytes) {
    void *data = malloc(bytes);
    if (fread(data, 1, bytes, file) != bytes) exit(3);
    return data;
}

int main(int count, char **args) {
    FILE *file = count == 2 ? fopen(args[1], "rb") : NULL;
    if (!file) return 2;
    const rp_callbacks callbacks = {rp_host_grow, rp_host_sort, rp_host_sort_by, rp_host_swap};
    const uint8_t cancel = 0;
    for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
        fprintf(stderr, "kernel %zu\n", k);
        uint64_t *counts = rp_read(file, 4 * sizeof(uint64_t));
        int64_t *params = rp_read(file, counts[1] * sizeof(int64_t));
        rp_decl *decls = rp_read(file, counts[0] * sizeof(rp_decl));
        rp_slot *slots = malloc(counts[0] * sizeof(rp_slot));
        for (uint64_t b = 0; b < counts[0]; b++) {
            slots[b] = (rp_slot){rp_read(file, decls[b].bytes), decls[b].bytes / decls[b].size};
        }
        rp_host host = {slots, decls};
        rp_frame frame = {
            .buffers = slots, .params = params, .chunk_lo = counts[2], .chunk_hi = counts[3],
            .host = &host, .callbacks = &callbacks, .math = math, .cancel = &cancel,
        };
        printf("%d\n", entries[k](&frame));
        fflush(stdout);
        for (uint64_t b = 0; b < counts[0]; b++) free(slots[b].data);
        free(slots);
        free(decls);
        free(params);
        free(counts);
    }
    return 0;
}
