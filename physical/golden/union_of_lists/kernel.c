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
//   buffer 0, a_ptr0: input indices of i32, `a.ptr0`
//   buffer 1, a_idx0: input indices of u32, `a.idx0`
//   buffer 2, a_val: input values of f64, `a.val`
//   buffer 3, b_ptr0: input indices of i32, `b.ptr0`
//   buffer 4, b_idx0: input indices of u32, `b.idx0`
//   buffer 5, b_val: input values of f64, `b.val`
//   buffer 6, c_ptr0: owned indices of i32, `c.ptr0`
//   buffer 7, c_idx0: owned indices of u32, `c.idx0`
//   buffer 8, c_val: owned values of f64, `c.val`
//   buffer 9, lengths: owned indices of i64, `lengths`
static RP_NOINLINE int32_t redpoll_kernel_0_body(rp_frame *frame,
    const int32_t *restrict a_ptr0,
    const uint32_t *restrict a_idx0,
    const double *restrict a_val,
    const int32_t *restrict b_ptr0,
    const uint32_t *restrict b_idx0,
    const double *restrict b_val) {
    int32_t *c_ptr0 = frame->buffers[6].data;
    int64_t c_ptr0__capacity = frame->buffers[6].len;
    uint32_t *c_idx0 = frame->buffers[7].data;
    int64_t c_idx0__capacity = frame->buffers[7].len;
    double *c_val = frame->buffers[8].data;
    int64_t c_val__capacity = frame->buffers[8].len;
    int64_t *lengths = frame->buffers[9].data;
    int64_t lengths__capacity = frame->buffers[9].len;
    const int64_t n9 = frame->params[0];
    int64_t chunk_lo = frame->chunk_lo;
    int64_t chunk_hi = frame->chunk_hi;
    int64_t len, chunk, chunk_2, q, q_end, i, q_2, q_end_2;
    int64_t i_2, step, hi, mid, step_2, hi_2, mid_2, p;
    int64_t stop, stop_2, p_2;
    RP_GROW(lengths, 9, 3);
    len = lengths[1];
    RP_GROW(c_ptr0, 6, 2);
    chunk = rp_max_i64(0, chunk_lo);
    chunk_2 = rp_min_i64(n9, chunk_hi);
    if (chunk < chunk_2) {
        q = a_ptr0[0];
        q_end = a_ptr0[1];
        q_2 = b_ptr0[0];
        q_end_2 = b_ptr0[1];
        if (q < q_end) {
            if (a_idx0[q] < chunk) {
                step = 1;
                while (q + step < q_end) {
                    if (!(a_idx0[q + step] < chunk)) {
                        break;
                    }
                    q = q + step;
                    step = step + step;
                }
                hi = rp_min_i64(q + step, q_end);
                while (q + 1 < hi) {
                    mid = rp_shr_i64(q + hi, 1);
                    if (a_idx0[mid] < chunk) {
                        q = mid;
                    } else {
                        hi = mid;
                    }
                }
                q = hi;
            }
        }
        if (q_2 < q_end_2) {
            if (b_idx0[q_2] < chunk) {
                step_2 = 1;
                while (q_2 + step_2 < q_end_2) {
                    if (!(b_idx0[q_2 + step_2] < chunk)) {
                        break;
                    }
                    q_2 = q_2 + step_2;
                    step_2 = step_2 + step_2;
                }
                hi_2 = rp_min_i64(q_2 + step_2, q_end_2);
                while (q_2 + 1 < hi_2) {
                    mid_2 = rp_shr_i64(q_2 + hi_2, 1);
                    if (b_idx0[mid_2] < chunk) {
                        q_2 = mid_2;
                    } else {
                        hi_2 = mid_2;
                    }
                }
                q_2 = hi_2;
            }
        }
        while (q < q_end && q_2 < q_end_2) {
            i = a_idx0[q];
            i_2 = b_idx0[q_2];
            p = rp_min_i64(i, i_2);
            if (chunk_2 < p + 1) {
                break;
            }
            if ((uint64_t)i <= (uint64_t)i_2) {
                if ((uint64_t)i_2 <= (uint64_t)i) {
                    RP_GROW(c_val, 8, len + 1);
                    c_val[len] = a_val[q] + b_val[q_2];
                    RP_GROW(c_idx0, 7, len + 1);
                    c_idx0[len] = p;
                    len = len + 1;
                    q = q + 1;
                    q_2 = q_2 + 1;
                } else {
                    RP_GROW(c_val, 8, len + 1);
                    c_val[len] = a_val[q];
                    RP_GROW(c_idx0, 7, len + 1);
                    c_idx0[len] = p;
                    len = len + 1;
                    q = q + 1;
                }
            } else {
                if ((uint64_t)i_2 <= (uint64_t)i) {
                    RP_GROW(c_val, 8, len + 1);
                    c_val[len] = b_val[q_2];
                    RP_GROW(c_idx0, 7, len + 1);
                    c_idx0[len] = p;
                    len = len + 1;
                    q_2 = q_2 + 1;
                }
            }
        }
        while ((q < q_end) | (q_2 < q_end_2)) {
            if (q < q_end) {
                i = a_idx0[q];
                stop = i;
            } else {
                stop = INT64_C(4611686018427387903);
            }
            if (q_2 < q_end_2) {
                i_2 = b_idx0[q_2];
                stop_2 = i_2;
            } else {
                stop_2 = INT64_C(4611686018427387903);
            }
            p_2 = rp_min_i64(stop, stop_2);
            if (chunk_2 < p_2 + 1) {
                break;
            }
            if ((uint64_t)stop <= (uint64_t)stop_2) {
                if ((uint64_t)stop_2 <= (uint64_t)stop) {
                    RP_GROW(c_val, 8, len + 1);
                    c_val[len] = a_val[q] + b_val[q_2];
                    RP_GROW(c_idx0, 7, len + 1);
                    c_idx0[len] = p_2;
                    len = len + 1;
                    q = q + 1;
                    q_2 = q_2 + 1;
                } else {
                    RP_GROW(c_val, 8, len + 1);
                    c_val[len] = a_val[q];
                    RP_GROW(c_idx0, 7, len + 1);
                    c_idx0[len] = p_2;
                    len = len + 1;
                    q = q + 1;
                }
            } else {
                if ((uint64_t)stop_2 <= (uint64_t)stop) {
                    RP_GROW(c_val, 8, len + 1);
                    c_val[len] = b_val[q_2];
                    RP_GROW(c_idx0, 7, len + 1);
                    c_idx0[len] = p_2;
                    len = len + 1;
                    q_2 = q_2 + 1;
                }
            }
        }
        c_ptr0[1] = len;
    }
    if (!(len < INT64_C(2147483648))) {
        return RP_POSITION_OVERFLOW;
    }
    RP_GROW(c_ptr0, 6, 2);
    c_ptr0[1] = len;
    lengths[0] = 2;
    lengths[1] = len;
    lengths[2] = len;
    return RP_DONE;
}

int32_t redpoll_kernel_0(rp_frame *frame) {
    return redpoll_kernel_0_body(frame,
        frame->buffers[0].data,
        frame->buffers[1].data,
        frame->buffers[2].data,
        frame->buffers[3].data,
        frame->buffers[4].data,
        frame->buffers[5].data);
}
