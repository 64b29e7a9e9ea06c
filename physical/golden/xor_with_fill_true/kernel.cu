
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

// Shifts by the width or more give 0 or -1, by the sign.
static inline int64_t rp_shr_i64(int64_t a, int64_t b) {
    return (uint64_t)b < 64 ? a >> b : a < 0 ? -1 : 0;
}

// kernel
//   buffer 0, A_ptr0: input indices of i32, `A.ptr0`
//   buffer 1, A_idx0: input indices of u32, `A.idx0`
//   buffer 2, A_val: input values of bool, `A.val`
//   buffer 3, B_ptr0: input indices of i32, `B.ptr0`
//   buffer 4, B_idx0: input indices of u32, `B.idx0`
//   buffer 5, B_val: input values of bool, `B.val`
//   buffer 6, C_ptr0: owned indices of i32, `C.ptr0`
//   buffer 7, C_idx0: owned indices of u32, `C.idx0`
//   buffer 8, C_val: owned values of bool, `C.val`
//   buffer 9, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const int32_t *__restrict__ const A_ptr0 = (const int32_t *)launch.windows[0][0].data;
    const uint32_t *__restrict__ const A_idx0 = (const uint32_t *)launch.windows[1][0].data;
    const int32_t *__restrict__ const B_ptr0 = (const int32_t *)launch.windows[3][0].data;
    const uint32_t *__restrict__ const B_idx0 = (const uint32_t *)launch.windows[4][0].data;
    rp_window *const C_ptr0__window = launch.windows[6] + chunk;
    int64_t C_ptr0__requested = C_ptr0__window->requested;
    rp_window *const C_idx0__window = launch.windows[7] + chunk;
    int64_t C_idx0__requested = C_idx0__window->requested;
    rp_window *const C_val__window = launch.windows[8] + chunk;
    int64_t C_val__requested = C_val__window->requested;
    rp_window *const lengths__window = launch.windows[9] + chunk;
    int64_t lengths__requested = lengths__window->requested;
    int64_t lengths__capacity = lengths__window->capacity;
    int64_t *lengths = (int64_t *)lengths__window->data;
    const int64_t n9 = launch.params[0];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t len, chunk_2, chunk_3, q, q_end, i, q_2, q_end_2;
    int64_t i_2, step, hi, mid, step_2, hi_2, mid_2, p;
    int64_t stop, stop_2, p_2;
    uint32_t rounds = 0;
    RP_GROW(lengths, 3);
    len = lengths[1];
    RP_MEASURE(C_ptr0, 2);
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
            p = rp_min_i64(i, i_2);
            if (chunk_3 < p + 1) {
                break;
            }
            if ((uint64_t)i <= (uint64_t)i_2) {
                if ((uint64_t)i_2 <= (uint64_t)i) {
                    RP_MEASURE(C_val, len + 1);
                    RP_MEASURE(C_idx0, len + 1);
                    len = len + 1;
                    q = q + 1;
                    q_2 = q_2 + 1;
                } else {
                    RP_MEASURE(C_val, len + 1);
                    RP_MEASURE(C_idx0, len + 1);
                    len = len + 1;
                    q = q + 1;
                }
            } else {
                if ((uint64_t)i_2 <= (uint64_t)i) {
                    RP_MEASURE(C_val, len + 1);
                    RP_MEASURE(C_idx0, len + 1);
                    len = len + 1;
                    q_2 = q_2 + 1;
                }
            }
        }
        while ((q < q_end) | (q_2 < q_end_2)) {
            RP_POLL(1);
            if (q < q_end) {
                i = A_idx0[q];
                stop = i;
            } else {
                stop = INT64_C(4611686018427387903);
            }
            if (q_2 < q_end_2) {
                i_2 = B_idx0[q_2];
                stop_2 = i_2;
            } else {
                stop_2 = INT64_C(4611686018427387903);
            }
            p_2 = rp_min_i64(stop, stop_2);
            if (chunk_3 < rp_add_i64(p_2, 1)) {
                break;
            }
            if ((uint64_t)stop <= (uint64_t)stop_2) {
                if ((uint64_t)stop_2 <= (uint64_t)stop) {
                    RP_MEASURE(C_val, len + 1);
                    RP_MEASURE(C_idx0, len + 1);
                    len = len + 1;
                    q = q + 1;
                    q_2 = q_2 + 1;
                } else {
                    RP_MEASURE(C_val, len + 1);
                    RP_MEASURE(C_idx0, len + 1);
                    len = len + 1;
                    q = q + 1;
                }
            } else {
                if ((uint64_t)stop_2 <= (uint64_t)stop) {
                    RP_MEASURE(C_val, len + 1);
                    RP_MEASURE(C_idx0, len + 1);
                    len = len + 1;
                    q_2 = q_2 + 1;
                }
            }
        }
    }
    if (!(len < INT64_C(2147483648))) {
        return RP_POSITION_OVERFLOW;
    }
    RP_MEASURE(C_ptr0, 2);
    lengths[0] = 2;
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
//   buffer 0, A_ptr0: input indices of i32, `A.ptr0`
//   buffer 1, A_idx0: input indices of u32, `A.idx0`
//   buffer 2, A_val: input values of bool, `A.val`
//   buffer 3, B_ptr0: input indices of i32, `B.ptr0`
//   buffer 4, B_idx0: input indices of u32, `B.idx0`
//   buffer 5, B_val: input values of bool, `B.val`
//   buffer 6, C_ptr0: owned indices of i32, `C.ptr0`
//   buffer 7, C_idx0: owned indices of u32, `C.idx0`
//   buffer 8, C_val: owned values of bool, `C.val`
//   buffer 9, lengths: owned indices of i64, `lengths`
static int32_t redpoll_grid_1_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                    const uint32_t mask) {
    const int32_t *__restrict__ const A_ptr0 = (const int32_t *)launch.windows[0][0].data;
    const uint32_t *__restrict__ const A_idx0 = (const uint32_t *)launch.windows[1][0].data;
    const uint8_t *__restrict__ const A_val = (const uint8_t *)launch.windows[2][0].data;
    const int32_t *__restrict__ const B_ptr0 = (const int32_t *)launch.windows[3][0].data;
    const uint32_t *__restrict__ const B_idx0 = (const uint32_t *)launch.windows[4][0].data;
    const uint8_t *__restrict__ const B_val = (const uint8_t *)launch.windows[5][0].data;
    rp_window *const C_ptr0__window = launch.windows[6] + chunk;
    int64_t C_ptr0__requested = C_ptr0__window->requested;
    int64_t C_ptr0__capacity = C_ptr0__window->capacity;
    int32_t *C_ptr0 = (int32_t *)C_ptr0__window->data;
    rp_window *const C_idx0__window = launch.windows[7] + chunk;
    int64_t C_idx0__requested = C_idx0__window->requested;
    int64_t C_idx0__capacity = C_idx0__window->capacity;
    uint32_t *C_idx0 = (uint32_t *)C_idx0__window->data;
    rp_window *const C_val__window = launch.windows[8] + chunk;
    int64_t C_val__requested = C_val__window->requested;
    int64_t C_val__capacity = C_val__window->capacity;
    uint8_t *C_val = (uint8_t *)C_val__window->data;
    rp_window *const lengths__window = launch.windows[9] + chunk;
    int64_t lengths__requested = lengths__window->requested;
    int64_t lengths__capacity = lengths__window->capacity;
    int64_t *lengths = (int64_t *)lengths__window->data;
    const int64_t n9 = launch.params[0];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t len, chunk_2, chunk_3, q, q_end, i, q_2, q_end_2;
    int64_t i_2, step, hi, mid, step_2, hi_2, mid_2, p;
    int64_t stop, stop_2, p_2;
    uint32_t rounds = 0;
    RP_GROW(lengths, 3);
    len = lengths[1];
    RP_GROW(C_ptr0, 2);
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
            p = rp_min_i64(i, i_2);
            if (chunk_3 < p + 1) {
                break;
            }
            if ((uint64_t)i <= (uint64_t)i_2) {
                if ((uint64_t)i_2 <= (uint64_t)i) {
                    RP_GROW(C_val, len + 1);
                    C_val[len] = A_val[q] ^ B_val[q_2];
                    RP_GROW(C_idx0, len + 1);
                    C_idx0[len] = p;
                    len = len + 1;
                    q = q + 1;
                    q_2 = q_2 + 1;
                } else {
                    RP_GROW(C_val, len + 1);
                    C_val[len] = A_val[q];
                    RP_GROW(C_idx0, len + 1);
                    C_idx0[len] = p;
                    len = len + 1;
                    q = q + 1;
                }
            } else {
                if ((uint64_t)i_2 <= (uint64_t)i) {
                    RP_GROW(C_val, len + 1);
                    C_val[len] = true ^ B_val[q_2];
                    RP_GROW(C_idx0, len + 1);
                    C_idx0[len] = p;
                    len = len + 1;
                    q_2 = q_2 + 1;
                }
            }
        }
        while ((q < q_end) | (q_2 < q_end_2)) {
            RP_POLL(1);
            if (q < q_end) {
                i = A_idx0[q];
                stop = i;
            } else {
                stop = INT64_C(4611686018427387903);
            }
            if (q_2 < q_end_2) {
                i_2 = B_idx0[q_2];
                stop_2 = i_2;
            } else {
                stop_2 = INT64_C(4611686018427387903);
            }
            p_2 = rp_min_i64(stop, stop_2);
            if (chunk_3 < rp_add_i64(p_2, 1)) {
                break;
            }
            if ((uint64_t)stop <= (uint64_t)stop_2) {
                if ((uint64_t)stop_2 <= (uint64_t)stop) {
                    RP_GROW(C_val, len + 1);
                    C_val[len] = A_val[q] ^ B_val[q_2];
                    RP_GROW(C_idx0, len + 1);
                    C_idx0[len] = p_2;
                    len = len + 1;
                    q = q + 1;
                    q_2 = q_2 + 1;
                } else {
                    RP_GROW(C_val, len + 1);
                    C_val[len] = A_val[q];
                    RP_GROW(C_idx0, len + 1);
                    C_idx0[len] = p_2;
                    len = len + 1;
                    q = q + 1;
                }
            } else {
                if ((uint64_t)stop_2 <= (uint64_t)stop) {
                    RP_GROW(C_val, len + 1);
                    C_val[len] = true ^ B_val[q_2];
                    RP_GROW(C_idx0, len + 1);
                    C_idx0[len] = p_2;
                    len = len + 1;
                    q_2 = q_2 + 1;
                }
            }
        }
        C_ptr0[1] = len;
    }
    if (!(len < INT64_C(2147483648))) {
        return RP_POSITION_OVERFLOW;
    }
    RP_GROW(C_ptr0, 2);
    C_ptr0[1] = len;
    lengths[0] = 2;
    lengths[1] = len;
    lengths[2] = len;
    return RP_DONE;
}

extern "C" __global__ void redpoll_grid_1(const rp_launch launch) {
    const uint32_t lane = RP_LANE(1), mask = RP_MASK(1);
    const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 1;
    if (team >= launch.team_count) return;
    int64_t chunk = team;
    while (chunk < launch.chunk_count) {
        const int32_t status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
            : redpoll_grid_1_chunk(launch, chunk, team, lane, mask);
        rp_barrier(mask, 1);
        if (lane == 0) launch.status[chunk] = status;
        chunk = rp_next_chunk(launch, lane, mask, 1);
    }
}
