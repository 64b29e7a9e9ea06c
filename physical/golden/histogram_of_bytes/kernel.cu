
static inline int64_t rp_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static inline int64_t rp_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// kernel
//   buffer 0, P_val: input values of u8, `P.val`
//   buffer 1, y_val: owned values of i64, `y.val`
//   buffer 2, z_val: owned values of i64, `z.val`
//   buffer 3, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const uint8_t *__restrict__ const P_val = (const uint8_t *)launch.windows[0][0].data;
    int64_t *const y_val = (int64_t *)launch.windows[1][0].data;
    int64_t *const z_val = (int64_t *)launch.windows[2][0].data;
    const int64_t n5 = launch.params[0];
    const int64_t n256 = launch.params[1];
    const int64_t n9 = launch.params[2];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t chunk_2, chunk_3, v;
    uint32_t own_rounds = 0;
    int stopped = 0;
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n5, chunk_hi);
    if (chunk_2 < chunk_3) {
        for (int64_t i = chunk_2 + (int64_t)lane; i < chunk_3; i += 32) {
            RP_POLL_ALONE();
            v = (int64_t)P_val[i];
            atomicAdd((unsigned long long *)&y_val[v], (unsigned long long)(1));
            if (v < 9) {
                atomicAdd((unsigned long long *)&z_val[v], (unsigned long long)(1));
            }
        }
        if (rp_any(stopped, mask, 32)) return RP_CANCELLED;
    }
    return RP_DONE;
}

extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
    const uint32_t lane = RP_LANE(32), mask = RP_MASK(32);
    const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (team >= launch.team_count) return;
    int64_t chunk = team;
    while (chunk < launch.chunk_count) {
        const int32_t status = rp_cancelled(launch, lane, mask, 32) ? RP_CANCELLED
            : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
        rp_barrier(mask, 32);
        if (lane == 0) launch.status[chunk] = status;
        chunk = rp_next_chunk(launch, lane, mask, 32);
    }
}
