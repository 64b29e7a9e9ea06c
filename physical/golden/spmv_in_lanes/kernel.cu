
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
    int64_t chunk_2, chunk_3, q, q_end, first, last;
    double acc;
    uint32_t rounds = 0;
    first = launch.sections ? launch.sections[2 * chunk] : INT64_MIN / 2;
    last = launch.sections ? launch.sections[2 * chunk + 1] : INT64_MAX / 2;
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n4, chunk_hi);
    if (chunk_2 < chunk_3) {
        for (int64_t i = chunk_2; i < chunk_3; i++) {
            RP_POLL(4);
            acc = 0.0;
            q = rp_max_i64(A_ptr1[i], first);
            q_end = rp_min_i64(A_ptr1[i + 1], last);
            {
                double acc__0 = 0.0;
                const int64_t q_2__from = q, q_2__end = q_end;
                for (int64_t q_2 = q_2__from + lane; q_2 < q_2__end; q_2 += 4) acc__0 = acc__0 + A_val[q_2] * x_val[A_idx1[q_2]];
                acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 2, 4);
                acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 1, 4);
                acc = acc + (double)__shfl_sync(mask, acc__0, 0, 4);
            }
            if (lane == 0) y_val[i] = acc;
        }
    }
    return RP_DONE;
}

extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
    const uint32_t lane = RP_LANE(4), mask = RP_MASK(4);
    const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 4;
    if (team >= launch.team_count) return;
    int64_t chunk = team;
    while (chunk < launch.chunk_count) {
        const int32_t status = rp_cancelled(launch, lane, mask, 4) ? RP_CANCELLED
            : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
        rp_barrier(mask, 4);
        if (lane == 0) launch.status[chunk] = status;
        chunk = rp_next_chunk(launch, lane, mask, 4);
    }
}
