
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
//   buffer 0, A_ptr1: input indices of i32, `A.ptr1`
//   buffer 1, A_idx1: input indices of u32, `A.idx1`
//   buffer 2, A_val: input values of f64, `A.val`
//   buffer 3, B_ptr1: input indices of i32, `B.ptr1`
//   buffer 4, B_idx1: input indices of u32, `B.idx1`
//   buffer 5, B_val: input values of f64, `B.val`
//   buffer 6, y_val: owned values of f64, `y.val`
//   buffer 7, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const int32_t *__restrict__ const A_ptr1 = (const int32_t *)launch.windows[0][0].data;
    const uint32_t *__restrict__ const A_idx1 = (const uint32_t *)launch.windows[1][0].data;
    const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
    const int32_t *__restrict__ const B_ptr1 = (const int32_t *)launch.windows[3][0].data;
    const uint32_t *__restrict__ const B_idx1 = (const uint32_t *)launch.windows[4][0].data;
    const double *__restrict__ const B_val = (const double *)launch.windows[5][0].data;
    double *const y_val = (double *)launch.windows[6][0].data;
    const int64_t n3 = launch.params[0];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t chunk_2, chunk_3, q, q_end, i_2, q_2, q_end_2, i_3;
    int64_t q_3, step, hi, mid;
    double acc;
    uint32_t rounds = 0;
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n3, chunk_hi);
    if (chunk_2 < chunk_3) {
        for (int64_t i = chunk_2; i < chunk_3; i++) {
            RP_POLL(64);
            acc = 0.0;
            q = A_ptr1[i];
            q_end = A_ptr1[i + 1];
            q_2 = B_ptr1[i];
            q_end_2 = B_ptr1[i + 1];
            {
                const double acc__from = acc;
                acc = 0.0;
                for (int64_t q__from = q, q = q__from + (int64_t)lane; q < q_end; q += 64) {
                    q_3 = q_2;
                    i_2 = A_idx1[q];
                    if (q_3 < q_end_2) {
                        if (B_idx1[q_3] < i_2) {
                            step = 1;
                            while (q_3 + step < q_end_2) {
                                if (!(B_idx1[q_3 + step] < i_2)) {
                                    break;
                                }
                                q_3 = q_3 + step;
                                step = step + step;
                            }
                            hi = rp_min_i64(q_3 + step, q_end_2);
                            while (q_3 + 1 < hi) {
                                mid = rp_shr_i64(q_3 + hi, 1);
                                if (B_idx1[mid] < i_2) {
                                    q_3 = mid;
                                } else {
                                    hi = mid;
                                }
                            }
                            q_3 = hi;
                        }
                    }
                    if (q_3 < q_end_2) {
                        i_3 = B_idx1[q_3];
                        if (i_3 == i_2) {
                            acc = acc + A_val[q] * B_val[q_3];
                        }
                    }
                }
                double acc__1;
                rp_publish(acc, lane);
                rp_barrier(mask, 64);
                acc = rp_published<double>(lane % 32);
                acc__1 = rp_published<double>(lane % 32 + 32);
                rp_barrier(mask, 64);
                acc = acc + acc__1;
                acc = acc + (double)__shfl_down_sync(mask, acc, 16, 32);
                acc = acc + (double)__shfl_down_sync(mask, acc, 8, 32);
                acc = acc + (double)__shfl_down_sync(mask, acc, 4, 32);
                acc = acc + (double)__shfl_down_sync(mask, acc, 2, 32);
                acc = acc + (double)__shfl_down_sync(mask, acc, 1, 32);
                acc = (double)__shfl_sync(mask, acc, 0, 32);
                acc = acc__from + acc;
            }
            if (lane == 0) y_val[i] = acc;
        }
    }
    return RP_DONE;
}

extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
    const uint32_t lane = RP_LANE(64), mask = RP_MASK(32);
    const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 64;
    if (team >= launch.team_count) return;
    int64_t chunk = team;
    while (chunk < launch.chunk_count) {
        const int32_t status = rp_cancelled(launch, lane, mask, 64) ? RP_CANCELLED
            : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
        rp_barrier(mask, 64);
        if (lane == 0) launch.status[chunk] = status;
        chunk = rp_next_chunk(launch, lane, mask, 64);
    }
}
