
static inline int64_t rp_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static inline int64_t rp_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// Wraps.
static inline int64_t rp_mul_i64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

// kernel
//   buffer 0, A_val: input values of f64, `A.val`
//   buffer 1, x_val: input values of f64, `x.val`
//   buffer 2, y_val: owned values of f64, `y.val`
//   buffer 3, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const double *__restrict__ const A_val = (const double *)launch.windows[0][0].data;
    const double *__restrict__ const x_val = (const double *)launch.windows[1][0].data;
    double *const y_val = (double *)launch.windows[2][0].data;
    const int64_t n4 = launch.params[0];
    const int64_t n5 = launch.params[1];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t chunk_2, chunk_3, row;
    double acc;
    uint32_t rounds = 0;
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n4, chunk_hi);
    if (chunk_2 < chunk_3) {
        for (int64_t i = chunk_2; i < chunk_3; i++) {
            RP_POLL(16);
            acc = 0.0;
            row = rp_mul_i64(i, n5);
            {
                double acc__0 = 0.0;
                const int64_t j__from = 0, j__end = n5;
                for (int64_t j = j__from + lane; j < j__end; j += 16) acc__0 = acc__0 + A_val[row + j] * x_val[j];
                acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 8, 16);
                acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 4, 16);
                acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 2, 16);
                acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 1, 16);
                acc = acc + (double)__shfl_sync(mask, acc__0, 0, 16);
            }
            if (lane == 0) y_val[i] = acc;
        }
    }
    return RP_DONE;
}

extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
    const uint32_t lane = RP_LANE(16), mask = RP_MASK(16);
    const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 16;
    if (team >= launch.team_count) return;
    int64_t chunk = team;
    while (chunk < launch.chunk_count) {
        const int32_t status = rp_cancelled(launch, lane, mask, 16) ? RP_CANCELLED
            : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
        rp_barrier(mask, 16);
        if (lane == 0) launch.status[chunk] = status;
        chunk = rp_next_chunk(launch, lane, mask, 16);
    }
}
