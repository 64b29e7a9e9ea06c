
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

// Wraps.
static inline int64_t rp_mul_i64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

// kernel
//   buffer 0, E_ptr1: input indices of i32, `E.ptr1`
//   buffer 1, E_idx1: input indices of u32, `E.idx1`
//   buffer 2, E_val: input values of i64, `E.val`
//   buffer 3, n_val: owned values of i64, `n.val`
//   buffer 4, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const int32_t *__restrict__ const E_ptr1 = (const int32_t *)launch.windows[0][0].data;
    const uint32_t *__restrict__ const E_idx1 = (const uint32_t *)launch.windows[1][0].data;
    const int64_t *__restrict__ const E_val = (const int64_t *)launch.windows[2][0].data;
    rp_window *const n_val__window = launch.windows[3] + chunk;
    int64_t n_val__requested = n_val__window->requested;
    int64_t n_val__capacity = n_val__window->capacity;
    int64_t *n_val = (int64_t *)n_val__window->data;
    rp_window *const lengths__window = launch.windows[4] + chunk;
    int64_t lengths__requested = lengths__window->requested;
    int64_t lengths__capacity = lengths__window->capacity;
    int64_t *lengths = (int64_t *)lengths__window->data;
    const int64_t n6 = launch.params[0];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t n, chunk_2, chunk_3, q, q_end, i_2, q_2, q_end_2;
    int64_t i_3, q_3, q_end_3, i_4, p;
    uint32_t rounds = 0;
    RP_GROW(lengths, 1);
    n = 0;
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n6, chunk_hi);
    if (chunk_2 < chunk_3) {
        for (int64_t i = chunk_2; i < chunk_3; i++) {
            RP_POLL(1);
            q = E_ptr1[i];
            q_end = E_ptr1[i + 1];
            while (q < q_end) {
                RP_POLL(1);
                i_2 = E_idx1[q];
                q_2 = E_ptr1[i_2];
                q_end_2 = E_ptr1[i_2 + 1];
                q_3 = E_ptr1[i];
                q_end_3 = E_ptr1[i + 1];
                while (q_2 < q_end_2 && q_3 < q_end_3) {
                    RP_POLL(1);
                    i_3 = E_idx1[q_2];
                    i_4 = E_idx1[q_3];
                    p = rp_min_i64(i_3, i_4);
                    if (((uint64_t)i_3 <= (uint64_t)i_4) & ((uint64_t)i_4 <= (uint64_t)i_3)) {
                        n = rp_add_i64(n, rp_mul_i64(E_val[q], rp_mul_i64(E_val[q_2], E_val[q_3])));
                    }
                    q_2 = q_2 + (int64_t)((uint64_t)i_3 <= (uint64_t)i_4);
                    q_3 = q_3 + (int64_t)((uint64_t)i_4 <= (uint64_t)i_3);
                }
                q = q + 1;
            }
        }
    }
    RP_GROW(n_val, 1);
    n_val[0] = n;
    lengths[0] = 1;
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
