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
//   buffer 6, C_ptr0: owned indices of i32, `C.ptr0`
//   buffer 7, C_idx0: owned indices of u32, `C.idx0`
//   buffer 8, C_val: owned values of f64, `C.val`
//   buffer 9, lengths: owned indices of i64, `lengths`
static RP_NOINLINE int32_t redpoll_kernel_0_body(rp_frame *frame,
    const int32_t *restrict A_ptr0,
    const uint32_t *restrict A_idx0,
    const double *restrict A_val,
    const int32_t *restrict B_ptr0,
    const uint32_t *restrict B_idx0,
    const double *restrict B_val) {
    int32_t *C_ptr0 = frame->buffers[6].data;
    int64_t C_ptr0__capacity = frame->buffers[6].len;
    uint32_t *C_idx0 = frame->buffers[7].data;
    int64_t C_idx0__capacity = frame->buffers[7].len;
    double *C_val = frame->buffers[8].data;
    int64_t C_val__capacity = frame->buffers[8].len;
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
    RP_GROW(C_ptr0, 6, 2);
    chunk = rp_max_i64(0, chunk_lo);
    chunk_2 = rp_min_i64(n9, chunk_hi);
    if (chunk < chunk_2) {
        q = A_ptr0[0];
        q_end = A_ptr0[1];
        q_2 = B_ptr0[0];
        q_end_2 = B_ptr0[1];
        if (q < q_end) {
            if (A_idx0[q] < chunk) {
                step = 1;
                while (q + step < q_end) {
                    if (!(A_idx0[q + step] < chunk)) {
                        break;
                    }
                    q = q + step;
                    step = step + step;
                }
                hi = rp_min_i64(q + step, q_end);
                while (q + 1 < hi) {
                    mid = rp_shr_i64(q + hi, 1);
                    if (A_idx0[mid] < chunk) {
                        q = mid;
                    } else {
                        hi = mid;
                    }
                }
                q = hi;
            }
        }
        if (q_2 < q_end_2) {
            if (B_idx0[q_2] < chunk) {
                step_2 = 1;
                while (q_2 + step_2 < q_end_2) {
                    if (!(B_idx0[q_2 + step_2] < chunk)) {
                        break;
                    }
                    q_2 = q_2 + step_2;
                    step_2 = step_2 + step_2;
                }
                hi_2 = rp_min_i64(q_2 + step_2, q_end_2);
                while (q_2 + 1 < hi_2) {
                    mid_2 = rp_shr_i64(q_2 + hi_2, 1);
                    if (B_idx0[mid_2] < chunk) {
                        q_2 = mid_2;
                    } else {
                        hi_2 = mid_2;
                    }
                }
                q_2 = hi_2;
            }
        }
        while (q < q_end && q_2 < q_end_2) {
            i = A_idx0[q];
            i_2 = B_idx0[q_2];
            p = rp_min_i64(i, i_2);
            if (chunk_2 < p + 1) {
                break;
            }
            if ((uint64_t)i <= (uint64_t)i_2) {
                if ((uint64_t)i_2 <= (uint64_t)i) {
                    RP_GROW(C_val, 8, len + 1);
                    C_val[len] = A_val[q] + B_val[q_2];
                    RP_GROW(C_idx0, 7, len + 1);
                    C_idx0[len] = p;
                    len = len + 1;
                    q = q + 1;
                    q_2 = q_2 + 1;
                } else {
                    RP_GROW(C_val, 8, len + 1);
                    C_val[len] = A_val[q];
                    RP_GROW(C_idx0, 7, len + 1);
                    C_idx0[len] = p;
                    len = len + 1;
                    q = q + 1;
                }
            } else {
                if ((uint64_t)i_2 <= (uint64_t)i) {
                    RP_GROW(C_val, 8, len + 1);
                    C_val[len] = B_val[q_2];
                    RP_GROW(C_idx0, 7, len + 1);
                    C_idx0[len] = p;
                    len = len + 1;
                    q_2 = q_2 + 1;
                }
            }
        }
        while ((q < q_end) | (q_2 < q_end_2)) {
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
            if (chunk_2 < p_2 + 1) {
                break;
            }
            if ((uint64_t)stop <= (uint64_t)stop_2) {
                if ((uint64_t)stop_2 <= (uint64_t)stop) {
                    RP_GROW(C_val, 8, len + 1);
                    C_val[len] = A_val[q] + B_val[q_2];
                    RP_GROW(C_idx0, 7, len + 1);
                    C_idx0[len] = p_2;
                    len = len + 1;
                    q = q + 1;
                    q_2 = q_2 + 1;
                } else {
                    RP_GROW(C_val, 8, len + 1);
                    C_val[len] = A_val[q];
                    RP_GROW(C_idx0, 7, len + 1);
                    C_idx0[len] = p_2;
                    len = len + 1;
                    q = q + 1;
                }
            } else {
                if ((uint64_t)stop_2 <= (uint64_t)stop) {
                    RP_GROW(C_val, 8, len + 1);
                    C_val[len] = B_val[q_2];
                    RP_GROW(C_idx0, 7, len + 1);
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
    RP_GROW(C_ptr0, 6, 2);
    C_ptr0[1] = len;
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
