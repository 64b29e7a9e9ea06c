
static inline int64_t rp_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static inline int64_t rp_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// Shifts by the width or more give 0 or -1, by the sign.
static inline int64_t rp_shr_i64(int64_t a, int64_t b) {
    return (uint64_t)b < 64 ? a >> b : a < 0 ? -1 : 0;
}

// kernel
//   buffer 0, A_ptr0: input indices of i32, `A.ptr0`
//   buffer 1, A_idx0: input indices of u32, `A.idx0`
//   buffer 2, A_val: input values of f64, `A.val`
//   buffer 3, s_val: owned values of f64, `s.val`
//   buffer 4, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const int32_t *__restrict__ const A_ptr0 = (const int32_t *)launch.windows[0][0].data;
    const uint32_t *__restrict__ const A_idx0 = (const uint32_t *)launch.windows[1][0].data;
    const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
    rp_window *const s_val__window = launch.windows[3] + chunk;
    int64_t s_val__requested = s_val__window->requested;
    int64_t s_val__capacity = s_val__window->capacity;
    double *s_val = (double *)s_val__window->data;
    rp_window *const lengths__window = launch.windows[4] + chunk;
    int64_t lengths__requested = lengths__window->requested;
    int64_t lengths__capacity = lengths__window->capacity;
    int64_t *lengths = (int64_t *)lengths__window->data;
    const int64_t n9 = launch.params[0];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t chunk_2, chunk_3, q, q_end, i, step, hi, mid;
    int64_t cur, n, n_2;
    double s;
    uint32_t rounds = 0;
    RP_GROW(lengths, 1);
    s = 0.0;
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n9, chunk_hi);
    if (chunk_2 < chunk_3) {
        q = A_ptr0[0];
        q_end = A_ptr0[1];
        if (q < q_end) {
            if (A_idx0[q] < chunk_2) {
                step = 1;
                while (q + step < q_end) {
                    if (!(A_idx0[q + step] < chunk_2)) {
                        break;
                    }
                    q = q + step;
                    step = step + step;
                }
                hi = rp_min_i64(q + step, q_end);
                while (q + 1 < hi) {
                    mid = rp_shr_i64(q + hi, 1);
                    if (A_idx0[mid] < chunk_2) {
                        q = mid;
                    } else {
                        hi = mid;
                    }
                }
                q = hi;
            }
        }
        cur = chunk_2;
        while (q < q_end) {
            RP_POLL(1);
            i = A_idx0[q];
            if (chunk_3 < i + 1) {
                break;
            }
            if (cur < i) {
                n = i - cur;
                s = s + 2.0 * (double)n;
            }
            s = s + A_val[q];
            q = q + 1;
            cur = i + 1;
        }
        if (cur < chunk_3) {
            n_2 = chunk_3 - cur;
            s = s + 2.0 * (double)n_2;
        }
    }
    RP_GROW(s_val, 1);
    s_val[0] = s;
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
