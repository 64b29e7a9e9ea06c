// Stitches arrays together from windows. A move copies a bounded number of elements and adds a
// shift to each of them. Blocks share the moves; the threads of a block copy adjacent elements.

struct rp_move {
    const void *from;
    void *to;
    long long elements, shift;
};

struct rp_stitch {
    const rp_move *moves;
    long long count;
    // Bytes of an element.
    long long size;
    // Padding: the arguments of all kernels have the same size.
    long long padding[7];
};

template <typename T> static inline void rp_copy(const rp_move &move) {
    const T *const from = (const T *)move.from;
    T *const to = (T *)move.to;
    for (long long k = threadIdx.x; k < move.elements; k += blockDim.x) to[k] = (T)(from[k] + (T)move.shift);
}

extern "C" __global__ void redpoll_stitch(const rp_stitch stitch) {
    for (long long k = blockIdx.x; k < stitch.count; k += gridDim.x) {
        const rp_move &move = stitch.moves[k];
        if (stitch.size == 1) rp_copy<unsigned char>(move);
        if (stitch.size == 2) rp_copy<unsigned short>(move);
        if (stitch.size == 4) rp_copy<unsigned int>(move);
        if (stitch.size == 8) rp_copy<unsigned long long>(move);
    }
}
