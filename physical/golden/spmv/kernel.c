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
//   buffer 3, x_val: input values of f64, `x.val`
//   buffer 4, y_val: owned values of f64, `y.val`
//   buffer 5, lengths: owned indices of i64, `lengths`
static RP_NOINLINE int32_t redpoll_kernel_0_body(rp_frame *frame,
    const int32_t *restrict A_ptr1,
    const uint32_t *restrict A_idx1,
    const double *restrict A_val,
    const double *restrict x_val) {
    double *y_val = frame->buffers[4].data;
    int64_t y_val__capacity = frame->buffers[4].len;
    int64_t *lengths = frame->buffers[5].data;
    int64_t lengths__capacity = frame->buffers[5].len;
    const int64_t n4 = frame->params[0];
    int64_t chunk_lo = frame->chunk_lo;
    int64_t chunk_hi = frame->chunk_hi;
    int64_t chunk, chunk_2, q, q_end, i_2;
    double acc;
    RP_GROW(lengths, 5, 1);
    RP_GROW(y_val, 4, n4);
    chunk = rp_max_i64(0, chunk_lo);
    chunk_2 = rp_min_i64(n4, chunk_hi);
    if (chunk < chunk_2) {
        for (int64_t i = chunk; i < chunk_2; i++) {
            RP_POLL();
            acc = 0.0;
            q = A_ptr1[i];
            q_end = A_ptr1[i + 1];
            while (q < q_end) {
                i_2 = A_idx1[q];
                acc = acc + A_val[q] * x_val[i_2];
                q = q + 1;
            }
            y_val[i] = acc;
        }
    }
    lengths[0] = n4;
    return RP_DONE;
}

int32_t redpoll_kernel_0(rp_frame *frame) {
    return redpoll_kernel_0_body(frame,
        frame->buffers[0].data,
        frame->buffers[1].data,
        frame->buffers[2].data,
        frame->buffers[3].data);
}
