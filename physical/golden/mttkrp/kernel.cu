
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

// Shifts by the width or more give 0 or -1, by the sign.
static inline int64_t rp_shr_i64(int64_t a, int64_t b) {
    return (uint64_t)b < 64 ? a >> b : a < 0 ? -1 : 0;
}

// kernel
//   buffer 0, B_ptr0: input indices of i32, `B.ptr0`
//   buffer 1, B_idx0: input indices of u32, `B.idx0`
//   buffer 2, B_ptr1: input indices of i32, `B.ptr1`
//   buffer 3, B_idx1: input indices of u32, `B.idx1`
//   buffer 4, B_ptr2: input indices of i32, `B.ptr2`
//   buffer 5, B_idx2: input indices of u32, `B.idx2`
//   buffer 6, B_val: input values of f64, `B.val`
//   buffer 7, C_val: input values of f64, `C.val`
//   buffer 8, D_val: input values of f64, `D.val`
//   buffer 9, A_val: owned values of f64, `A.val`
//   buffer 10, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const int32_t *__restrict__ const B_ptr0 = (const int32_t *)launch.windows[0][0].data;
    const uint32_t *__restrict__ const B_idx0 = (const uint32_t *)launch.windows[1][0].data;
    const int32_t *__restrict__ const B_ptr1 = (const int32_t *)launch.windows[2][0].data;
    const uint32_t *__restrict__ const B_idx1 = (const uint32_t *)launch.windows[3][0].data;
    const int32_t *__restrict__ const B_ptr2 = (const int32_t *)launch.windows[4][0].data;
    const uint32_t *__restrict__ const B_idx2 = (const uint32_t *)launch.windows[5][0].data;
    const double *__restrict__ const B_val = (const double *)launch.windows[6][0].data;
    const double *__restrict__ const C_val = (const double *)launch.windows[7][0].data;
    const double *__restrict__ const D_val = (const double *)launch.windows[8][0].data;
    double *const A_val = (double *)launch.windows[9][launch.sections ? chunk : 0].data;
    const int64_t n4 = launch.params[0];
    const int64_t n8 = launch.params[3];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t p, chunk_2, chunk_3, q, q_end, i, step, hi;
    int64_t mid, q_2, q_end_2, i_2, q_3, q_end_3, i_3, row;
    int64_t row_2, row_3, first, last, lane_q;
    double acc;
    uint32_t rounds = 0;
    first = launch.sections ? launch.sections[2 * chunk] : INT64_MIN / 2;
    last = launch.sections ? launch.sections[2 * chunk + 1] : INT64_MAX / 2;
    p = rp_mul_i64(n4, n8);
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n4, chunk_hi);
    if (chunk_2 < chunk_3) {
        q = B_ptr0[0];
        q_end = B_ptr0[1];
        if (q < q_end) {
            if (B_idx0[q] < chunk_2) {
                step = 1;
                while (q + step < q_end) {
                    if (!(B_idx0[q + step] < chunk_2)) {
                        break;
                    }
                    q = q + step;
                    step = step + step;
                }
                hi = rp_min_i64(q + step, q_end);
                while (q + 1 < hi) {
                    mid = rp_shr_i64(q + hi, 1);
                    if (B_idx0[mid] < chunk_2) {
                        q = mid;
                    } else {
                        hi = mid;
                    }
                }
                q = hi;
            }
        }
        while (q < q_end) {
            RP_POLL(32);
            i = B_idx0[q];
            if (chunk_3 < i + 1) {
                break;
            }
            q_2 = rp_max_i64(B_ptr1[q], first);
            q_end_2 = rp_min_i64(B_ptr1[q + 1], last);
            row_3 = rp_mul_i64(i, n8);
            if (q_2 < q_end_2) {
                rp_barrier(mask, 32);
                for (int64_t j = 0 + (int64_t)lane; j < n8; j += 32) {
                    lane_q = q_2;
                    acc = A_val[row_3 + j];
                    while (lane_q < q_end_2) {
                        i_2 = B_idx1[lane_q];
                        q_3 = B_ptr2[lane_q];
                        q_end_3 = B_ptr2[rp_add_i64(lane_q, 1)];
                        while (q_3 < q_end_3) {
                            i_3 = B_idx2[q_3];
                            row = rp_mul_i64(i_2, n8);
                            row_2 = rp_mul_i64(i_3, n8);
                            acc = acc + B_val[q_3] * (C_val[row + j] * D_val[row_2 + j]);
                            q_3 = q_3 + 1;
                        }
                        lane_q = rp_add_i64(lane_q, 1);
                    }
                    A_val[row_3 + j] = acc;
                }
            }
            q = q + 1;
        }
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
