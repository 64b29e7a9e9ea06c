// Stitches arrays together from windows by moves of elements, each with a number that is added to
// its elements. Each block takes moves of bounded size; its threads take adjacent elements.

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
    // The arguments of all kernels have one size.
    long long unused[6];
};

template <typename T> static inline void rp_moved(const rp_move &move) {
    const T *const from = (const T *)move.from;
    T *const to = (T *)move.to;
    for (long long k = threadIdx.x; k < move.elements; k += blockDim.x) to[k] = (T)(from[k] + (T)move.shift);
}

extern "C" __global__ void redpoll_stitch(const rp_stitch stitch) {
    for (long long k = blockIdx.x; k < stitch.count; k += gridDim.x) {
        const rp_move &move = stitch.moves[k];
        if (stitch.size == 1) rp_moved<unsigned char>(move);
        if (stitch.size == 2) rp_moved<unsigned short>(move);
        if (stitch.size == 4) rp_moved<unsigned int>(move);
        if (stitch.size == 8) rp_moved<unsigned long long>(move);
    }
}
