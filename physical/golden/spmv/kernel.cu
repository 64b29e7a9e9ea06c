
// Wraps.
static inline int64_t rp_add_i64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t rp_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static inline int64_t rp_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// kernel
//   buffer 0, A_ptr1: input indices of i32, `A.ptr1`
//   buffer 1, A_idx1: input indices of u32, `A.idx1`
//   buffer 2, A_val: input values of f64, `A.val`
//   buffer 3, x_val: input values of f64, `x.val`
//   buffer 4, y_val: owned values of f64, `y.val`
//   buffer 5, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const int32_t *__restrict__ const A_ptr1 = (const int32_t *)launch.windows[0][0].data;
    const uint32_t *__restrict__ const A_idx1 = (const uint32_t *)launch.windows[1][0].data;
    const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
    const double *__restrict__ const x_val = (const double *)launch.windows[3][0].data;
    double *const y_val = (double *)launch.windows[4][launch.sections ? chunk : 0].data;
    const int64_t n4 = launch.params[0];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t chunk_2, chunk_3, q, q_end, i_2, first, last;
    double acc;
    uint32_t own_rounds = 0;
    int stopped = 0;
    first = launch.sections ? launch.sections[2 * chunk] : INT64_MIN / 2;
    last = launch.sections ? launch.sections[2 * chunk + 1] : INT64_MAX / 2;
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n4, chunk_hi);
    if (chunk_2 < chunk_3) {
        for (int64_t i = chunk_2 + (int64_t)lane; i < chunk_3; i += 32) {
            RP_POLL_ALONE();
            acc = 0.0;
            q = rp_max_i64(A_ptr1[i], first);
            q_end = rp_min_i64(A_ptr1[i + 1], last);
            while (q < q_end) {
                i_2 = A_idx1[q];
                acc = acc + A_val[q] * x_val[i_2];
                q = rp_add_i64(q, 1);
            }
            y_val[i] = acc;
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
