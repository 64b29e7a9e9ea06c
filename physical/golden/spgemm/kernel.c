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
//   buffer 3, B_ptr1: input indices of i32, `B.ptr1`
//   buffer 4, B_idx1: input indices of u32, `B.idx1`
//   buffer 5, B_val: input values of f64, `B.val`
//   buffer 6, C_ptr1: owned indices of i32, `C.ptr1`
//   buffer 7, C_idx1: owned indices of u32, `C.idx1`
//   buffer 8, C_val: owned values of f64, `C.val`
//   buffer 9, w_ptr0: owned indices of i32, `w.ptr0`
//   buffer 10, w_idx0: owned indices of u32, `w.idx0`
//   buffer 11, w_map0: owned values of u8, `w.map0`
//   buffer 12, w_val: owned values of f64, `w.val`
//   buffer 13, lengths: owned indices of i64, `lengths`
static RP_NOINLINE int32_t redpoll_kernel_0_body(rp_frame *frame,
    const int32_t *restrict A_ptr1,
    const uint32_t *restrict A_idx1,
    const double *restrict A_val,
    const int32_t *restrict B_ptr1,
    const uint32_t *restrict B_idx1,
    const double *restrict B_val) {
    int32_t *C_ptr1 = frame->buffers[6].data;
    int64_t C_ptr1__capacity = frame->buffers[6].len;
    uint32_t *C_idx1 = frame->buffers[7].data;
    int64_t C_idx1__capacity = frame->buffers[7].len;
    double *C_val = frame->buffers[8].data;
    int64_t C_val__capacity = frame->buffers[8].len;
    int32_t *w_ptr0 = frame->buffers[9].data;
    int64_t w_ptr0__capacity = frame->buffers[9].len;
    uint32_t *w_idx0 = frame->buffers[10].data;
    int64_t w_idx0__capacity = frame->buffers[10].len;
    uint8_t *w_map0 = frame->buffers[11].data;
    int64_t w_map0__capacity = frame->buffers[11].len;
    double *w_val = frame->buffers[12].data;
    int64_t w_val__capacity = frame->buffers[12].len;
    int64_t *lengths = frame->buffers[13].data;
    int64_t lengths__capacity = frame->buffers[13].len;
    const int64_t n4 = frame->params[0];
    const int64_t n3 = frame->params[2];
    int64_t chunk_lo = frame->chunk_lo;
    int64_t chunk_hi = frame->chunk_hi;
    int64_t len, touched, chunk, chunk_2, p, q, q_end, i_2;
    int64_t q_2, q_end_2, i_3, q_3, q_end_3, i_4, written, written_2;
    int64_t end, p_3;
    touched = 0;
    RP_GROW(lengths, 13, 3);
    len = lengths[1];
    RP_GROW(C_ptr1, 6, n4 + 1);
    chunk = rp_max_i64(0, chunk_lo);
    chunk_2 = rp_min_i64(n4, chunk_hi);
    if (chunk < chunk_2) {
        for (int64_t i = chunk; i < chunk_2; i++) {
            RP_POLL();
            for (int64_t k = 0; k < touched; k++) {
                p = w_idx0[k];
                w_map0[p] = 0;
                w_val[p] = 0.0;
            }
            touched = 0;
            RP_GROW(w_map0, 11, n3);
            RP_GROW(w_val, 12, n3);
            q = A_ptr1[i];
            q_end = A_ptr1[i + 1];
            while (q < q_end) {
                RP_POLL();
                i_2 = A_idx1[q];
                q_2 = B_ptr1[i_2];
                q_end_2 = B_ptr1[i_2 + 1];
                while (q_2 < q_end_2) {
                    i_3 = B_idx1[q_2];
                    w_val[i_3] = w_val[i_3] + A_val[q] * B_val[q_2];
                    if (!(w_map0[i_3] != 0)) {
                        RP_GROW(w_idx0, 10, touched + 1);
                        w_idx0[touched] = i_3;
                        touched = touched + 1;
                        w_map0[i_3] = 1;
                    }
                    q_2 = q_2 + 1;
                }
                q = q + 1;
            }
            frame->callbacks->sort(frame->host, 10, 0, touched);
            RP_GROW(w_ptr0, 9, 2);
            if (!(touched < INT64_C(2147483648))) {
                return RP_POSITION_OVERFLOW;
            }
            w_ptr0[1] = touched;
            q_3 = w_ptr0[0];
            q_end_3 = w_ptr0[1];
            while (q_3 < q_end_3) {
                i_4 = w_idx0[q_3];
                RP_GROW(C_val, 8, len + 1);
                C_val[len] = w_val[i_4];
                RP_GROW(C_idx1, 7, len + 1);
                C_idx1[len] = i_4;
                len = len + 1;
                q_3 = q_3 + 1;
            }
            C_ptr1[i + 1] = len;
        }
    }
    written = rp_max_i64(rp_min_i64(chunk_lo, n4), 0);
    written_2 = rp_max_i64(rp_min_i64(chunk_hi, n4), 0);
    if (!(len < INT64_C(2147483648))) {
        return RP_POSITION_OVERFLOW;
    }
    RP_GROW(C_ptr1, 6, n4 + 1);
    end = C_ptr1[written];
    for (int64_t p_2 = written; p_2 < written_2; p_2++) {
        end = rp_max_i64(end, C_ptr1[p_2 + 1]);
        C_ptr1[p_2 + 1] = end;
    }
    lengths[0] = n4 + 1;
    lengths[1] = len;
    lengths[2] = len;
    for (int64_t k_2 = 0; k_2 < touched; k_2++) {
        p_3 = w_idx0[k_2];
        w_map0[p_3] = 0;
        w_val[p_3] = 0.0;
    }
    touched = 0;
    RP_GROW(w_map0, 11, n3);
    RP_GROW(w_val, 12, n3);
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
