
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
//   buffer 0, S_ptr1: input indices of i32, `S.ptr1`
//   buffer 1, S_idx1: input indices of u32, `S.idx1`
//   buffer 2, S_val: input values of f64, `S.val`
//   buffer 3, A_val: input values of f64, `A.val`
//   buffer 4, B_val: input values of f64, `B.val`
//   buffer 5, C_ptr1: owned indices of i32, `C.ptr1`
//   buffer 6, C_idx1: owned indices of u32, `C.idx1`
//   buffer 7, C_val: owned values of f64, `C.val`
//   buffer 8, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const int32_t *__restrict__ const S_ptr1 = (const int32_t *)launch.windows[0][0].data;
    rp_window *const C_ptr1__window = launch.windows[5] + chunk;
    int64_t C_ptr1__requested = C_ptr1__window->requested;
    rp_window *const C_idx1__window = launch.windows[6] + chunk;
    int64_t C_idx1__requested = C_idx1__window->requested;
    rp_window *const C_val__window = launch.windows[7] + chunk;
    int64_t C_val__requested = C_val__window->requested;
    rp_window *const lengths__window = launch.windows[8] + chunk;
    int64_t lengths__requested = lengths__window->requested;
    int64_t lengths__capacity = lengths__window->capacity;
    int64_t *lengths = (int64_t *)lengths__window->data;
    const int64_t n4 = launch.params[0];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t len, chunk_2, chunk_3, q, q_end;
    uint32_t rounds = 0;
    RP_GROW(lengths, 3);
    len = lengths[1];
    RP_MEASURE(C_ptr1, n4 + 1);
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n4, chunk_hi);
    if (chunk_2 < chunk_3) {
        for (int64_t i = chunk_2; i < chunk_3; i++) {
            RP_POLL(1);
            q = S_ptr1[i];
            q_end = S_ptr1[i + 1];
            while (q < q_end) {
                RP_POLL(1);
                RP_MEASURE(C_val, len + 1);
                RP_MEASURE(C_idx1, len + 1);
                len = len + 1;
                q = q + 1;
            }
        }
    }
    if (!(len < INT64_C(2147483648))) {
        return RP_POSITION_OVERFLOW;
    }
    RP_MEASURE(C_ptr1, n4 + 1);
    lengths[0] = n4 + 1;
    lengths[1] = len;
    lengths[2] = len;
    return RP_DONE;
}

extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
    const uint32_t lane = RP_LANE(1), mask = RP_MASK(1);
    const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 1;
    if (team >= launch.team_count) return;
    int64_t chunk = team;
    while (chunk < launch.chunk_count) {
        const int32_t status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
            : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
        rp_barrier(mask, 1);
        if (lane == 0) launch.status[chunk] = status;
        chunk = rp_next_chunk(launch, lane, mask, 1);
    }
}

// kernel
//   buffer 0, S_ptr1: input indices of i32, `S.ptr1`
//   buffer 1, S_idx1: input indices of u32, `S.idx1`
//   buffer 2, S_val: input values of f64, `S.val`
//   buffer 3, A_val: input values of f64, `A.val`
//   buffer 4, B_val: input values of f64, `B.val`
//   buffer 5, C_ptr1: owned indices of i32, `C.ptr1`
//   buffer 6, C_idx1: owned indices of u32, `C.idx1`
//   buffer 7, C_val: owned values of f64, `C.val`
//   buffer 8, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_1_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const int32_t *__restrict__ const S_ptr1 = (const int32_t *)launch.windows[0][0].data;
    const uint32_t *__restrict__ const S_idx1 = (const uint32_t *)launch.windows[1][0].data;
    const double *__restrict__ const S_val = (const double *)launch.windows[2][0].data;
    const double *__restrict__ const A_val = (const double *)launch.windows[3][0].data;
    const double *__restrict__ const B_val = (const double *)launch.windows[4][0].data;
    int32_t *const C_ptr1 = (int32_t *)launch.windows[5][chunk].data;
    rp_window *const C_idx1__window = launch.windows[6] + chunk;
    int64_t C_idx1__requested = C_idx1__window->requested;
    int64_t C_idx1__capacity = C_idx1__window->capacity;
    uint32_t *C_idx1 = (uint32_t *)C_idx1__window->data;
    rp_window *const C_val__window = launch.windows[7] + chunk;
    int64_t C_val__requested = C_val__window->requested;
    int64_t C_val__capacity = C_val__window->capacity;
    double *C_val = (double *)C_val__window->data;
    rp_window *const lengths__window = launch.windows[8] + chunk;
    int64_t lengths__requested = lengths__window->requested;
    int64_t lengths__capacity = lengths__window->capacity;
    int64_t *lengths = (int64_t *)lengths__window->data;
    const int64_t n4 = launch.params[0];
    const int64_t n6 = launch.params[2];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t len, chunk_2, chunk_3, q, q_end, i_2, row, row_2;
    int64_t written, written_2, end;
    double acc;
    uint32_t rounds = 0;
    RP_GROW(lengths, 3);
    len = lengths[1];
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n4, chunk_hi);
    if (chunk_2 < chunk_3) {
        for (int64_t i = chunk_2; i < chunk_3; i++) {
            RP_POLL(16);
            q = S_ptr1[i];
            q_end = S_ptr1[i + 1];
            while (q < q_end) {
                RP_POLL(16);
                i_2 = S_idx1[q];
                RP_GROW(C_val, len + 1);
                acc = 0.0;
                row = rp_mul_i64(i, n6);
                row_2 = rp_mul_i64(i_2, n6);
                {
                    double acc__0 = 0.0;
                    const int64_t k__from = 0, k__end = n6;
                    for (int64_t k = k__from + lane; k < k__end; k += 16) acc__0 = acc__0 + S_val[q] * (A_val[row + k] * B_val[row_2 + k]);
                    acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 8, 16);
                    acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 4, 16);
                    acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 2, 16);
                    acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 1, 16);
                    acc = acc + (double)__shfl_sync(mask, acc__0, 0, 16);
                }
                if (lane == 0) C_val[len] = acc;
                RP_GROW(C_idx1, len + 1);
                if (lane == 0) C_idx1[len] = i_2;
                len = len + 1;
                q = q + 1;
            }
            if (lane == 0) C_ptr1[i + 1] = len;
        }
    }
    written = rp_max_i64(rp_min_i64(chunk_lo, n4), 0);
    written_2 = rp_max_i64(rp_min_i64(chunk_hi, n4), 0);
    if (!(len < INT64_C(2147483648))) {
        return RP_POSITION_OVERFLOW;
    }
    rp_barrier(mask, 16);
    end = C_ptr1[written];
    for (int64_t p = written; p < written_2; p++) {
        RP_POLL(16);
        rp_barrier(mask, 16);
        end = rp_max_i64(end, C_ptr1[p + 1]);
        rp_barrier(mask, 16);
        if (lane == 0) C_ptr1[p + 1] = end;
    }
    if (lane == 0) lengths[0] = n4 + 1;
    if (lane == 0) lengths[1] = len;
    if (lane == 0) lengths[2] = len;
    return RP_DONE;
}

extern "C" __global__ void redpoll_grid_1(const rp_launch launch) {
    const uint32_t lane = RP_LANE(16), mask = RP_MASK(16);
    const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 16;
    if (team >= launch.team_count) return;
    int64_t chunk = team;
    while (chunk < launch.chunk_count) {
        const int32_t status = rp_cancelled(launch, lane, mask, 16) ? RP_CANCELLED
            : redpoll_grid_1_chunk(launch, chunk, team, lane, mask);
        rp_barrier(mask, 16);
        if (lane == 0) launch.status[chunk] = status;
        chunk = rp_next_chunk(launch, lane, mask, 16);
    }
}
