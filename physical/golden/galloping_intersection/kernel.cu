
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
//   buffer 3, B_ptr0: input indices of i32, `B.ptr0`
//   buffer 4, B_idx0: input indices of u32, `B.idx0`
//   buffer 5, B_val: input values of f64, `B.val`
//   buffer 6, s_val: owned values of f64, `s.val`
//   buffer 7, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const int32_t *__restrict__ const A_ptr0 = (const int32_t *)launch.windows[0][0].data;
    const uint32_t *__restrict__ const A_idx0 = (const uint32_t *)launch.windows[1][0].data;
    const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
    const int32_t *__restrict__ const B_ptr0 = (const int32_t *)launch.windows[3][0].data;
    const uint32_t *__restrict__ const B_idx0 = (const uint32_t *)launch.windows[4][0].data;
    const double *__restrict__ const B_val = (const double *)launch.windows[5][0].data;
    rp_window *const s_val__window = launch.windows[6] + chunk;
    int64_t s_val__requested = s_val__window->requested;
    int64_t s_val__capacity = s_val__window->capacity;
    double *s_val = (double *)s_val__window->data;
    rp_window *const lengths__window = launch.windows[7] + chunk;
    int64_t lengths__requested = lengths__window->requested;
    int64_t lengths__capacity = lengths__window->capacity;
    int64_t *lengths = (int64_t *)lengths__window->data;
    const int64_t n9 = launch.params[0];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t chunk_2, chunk_3, q, q_end, i, q_2, q_end_2, i_2;
    int64_t step, hi, mid, step_2, hi_2, mid_2, p, step_3;
    int64_t hi_3, mid_3, step_4, hi_4, mid_4;
    double s;
    uint32_t rounds = 0;
    RP_GROW(lengths, 1);
    s = 0.0;
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n9, chunk_hi);
    if (chunk_2 < chunk_3) {
        q = A_ptr0[0];
        q_end = A_ptr0[1];
        q_2 = B_ptr0[0];
        q_end_2 = B_ptr0[1];
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
        if (q_2 < q_end_2) {
            if (B_idx0[q_2] < chunk_2) {
                step_2 = 1;
                while (q_2 + step_2 < q_end_2) {
                    if (!(B_idx0[q_2 + step_2] < chunk_2)) {
                        break;
                    }
                    q_2 = q_2 + step_2;
                    step_2 = step_2 + step_2;
                }
                hi_2 = rp_min_i64(q_2 + step_2, q_end_2);
                while (q_2 + 1 < hi_2) {
                    mid_2 = rp_shr_i64(q_2 + hi_2, 1);
                    if (B_idx0[mid_2] < chunk_2) {
                        q_2 = mid_2;
                    } else {
                        hi_2 = mid_2;
                    }
                }
                q_2 = hi_2;
            }
        }
        while (q < q_end && q_2 < q_end_2) {
            RP_POLL(1);
            i = A_idx0[q];
            i_2 = B_idx0[q_2];
            p = rp_max_i64(i, i_2);
            if (chunk_3 < p + 1) {
                break;
            }
            if (i < p) {
                if (q < q_end) {
                    if (A_idx0[q] < p) {
                        step_3 = 1;
                        while (q + step_3 < q_end) {
                            if (!(A_idx0[q + step_3] < p)) {
                                break;
                            }
                            q = q + step_3;
                            step_3 = step_3 + step_3;
                        }
                        hi_3 = rp_min_i64(q + step_3, q_end);
                        while (q + 1 < hi_3) {
                            mid_3 = rp_shr_i64(q + hi_3, 1);
                            if (A_idx0[mid_3] < p) {
                                q = mid_3;
                            } else {
                                hi_3 = mid_3;
                            }
                        }
                        q = hi_3;
                    }
                }
                if (!(q < q_end)) {
                    break;
                }
                i = A_idx0[q];
            }
            if (i_2 < p) {
                if (q_2 < q_end_2) {
                    if (B_idx0[q_2] < p) {
                        step_4 = 1;
                        while (q_2 + step_4 < q_end_2) {
                            if (!(B_idx0[q_2 + step_4] < p)) {
                                break;
                            }
                            q_2 = q_2 + step_4;
                            step_4 = step_4 + step_4;
                        }
                        hi_4 = rp_min_i64(q_2 + step_4, q_end_2);
                        while (q_2 + 1 < hi_4) {
                            mid_4 = rp_shr_i64(q_2 + hi_4, 1);
                            if (B_idx0[mid_4] < p) {
                                q_2 = mid_4;
                            } else {
                                hi_4 = mid_4;
                            }
                        }
                        q_2 = hi_4;
                    }
                }
                if (!(q_2 < q_end_2)) {
                    break;
                }
                i_2 = B_idx0[q_2];
            }
            if ((i == p) & (i_2 == p)) {
                s = s + A_val[q] * B_val[q_2];
            }
            q = q + (int64_t)(i == p);
            q_2 = q_2 + (int64_t)(i_2 == p);
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
