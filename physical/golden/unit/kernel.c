// Kernels of redpoll, interface 6fbd031ddf905c5c.


enum {
    RP_DONE = 0,
    RP_OUT_OF_MEMORY = 1,
    RP_CANCELLED = 2,
    RP_POSITION_OVERFLOW = 3,
    RP_CHECKED_OVERFLOW = 4,
    RP_SECOND_RUN = 5,
    RP_SECOND_ENTRY = 6,
    RP_OUT_OF_BOUNDS = 7,
};

// Vectors have the alignment of their elements.
typedef double rp_f64x4 __attribute__((vector_size(32), aligned(8), may_alias));

// spmv
//   buffer 0, A_ptr: input indices of i32, `A.ptr`
//   buffer 1, A_idx: input indices of u32, `A.idx`
//   buffer 2, A_val: input values of f64, `A.val`
//   buffer 3, x_val: input values of f64, `x.val`
//   buffer 4, y_val: owned values of f64, `y.val`
static RP_NOINLINE int32_t redpoll_kernel_0_body(rp_frame *frame,
    const int32_t *restrict A_ptr,
    const uint32_t *restrict A_idx,
    const double *restrict A_val,
    const double *restrict x_val) {
    double *y_val = frame->buffers[4].data;
    int64_t y_val__capacity = frame->buffers[4].len;
    const int64_t rows = frame->params[0];
    int64_t lo = frame->chunk_lo;
    int64_t hi = frame->chunk_hi;
    int64_t p, q;
    double acc;
    RP_GROW(y_val, 4, rows);
    for (int64_t i = lo; i < hi; i++) {
        RP_POLL();
        p = A_ptr[i];
        q = A_ptr[i + 1];
        acc = 0.0;
        while (p < q) {
            acc = acc + A_val[p] * x_val[A_idx[p]];
            p = p + 1;
        }
        y_val[i] = acc;
    }
    return RP_DONE;
}

int32_t redpoll_kernel_0(rp_frame *frame) {
    return redpoll_kernel_0_body(frame,
        frame->buffers[0].data,
        frame->buffers[1].data,
        frame->buffers[2].data,
        frame->buffers[3].data);
}

// dot
//   buffer 0, a: input values of f64, `a`
//   buffer 1, b: input values of f64, `b`
//   buffer 2, c: owned values of f64, `c`
static RP_NOINLINE int32_t redpoll_kernel_1_body(rp_frame *frame,
    const double *restrict a,
    const double *restrict b) {
    double *c = frame->buffers[2].data;
    int64_t c__capacity = frame->buffers[2].len;
    int64_t lo = frame->chunk_lo;
    int64_t hi = frame->chunk_hi;
    double acc;
    RP_GROW(c, 2, 1);
    acc = 0.0;
    {
        rp_f64x4 acc__0 = {0.0, 0.0, 0.0, 0.0}, acc__1 = acc__0;
        const int64_t p__from = lo, p__end = hi;
        const int64_t p__rest = p__from < p__end ? (p__end - p__from) & 7 : 0;
        const int64_t p__full_end = p__from < p__end ? p__end - p__rest : p__from;
        int64_t p = p__from;
        for (; p != p__full_end; p += 8) {
            acc__0 = acc__0 + *(const rp_f64x4 *)&a[p] * *(const rp_f64x4 *)&b[p];
            acc__1 = acc__1 + *(const rp_f64x4 *)&a[p + 4] * *(const rp_f64x4 *)&b[p + 4];
        }
        if (p__rest >= 4) acc__0 = acc__0 + *(const rp_f64x4 *)&a[p] * *(const rp_f64x4 *)&b[p];
        if (p__rest & 3) {
            rp_f64x4 acc__partial = {0.0, 0.0, 0.0, 0.0};
            p += p__rest & 4;
            acc__partial[0] = a[p] * b[p];
            if ((p__rest & 3) > 1) acc__partial[1] = a[p + 1] * b[p + 1];
            if ((p__rest & 3) > 2) acc__partial[2] = a[p + 2] * b[p + 2];
            if (p__rest < 4) acc__0 = acc__0 + acc__partial;
            else acc__1 = acc__1 + acc__partial;
        }
        acc__0 = acc__0 + acc__1;
        double acc__2 = acc__0[0], acc__3 = acc__0[1], acc__4 = acc__0[2], acc__5 = acc__0[3];
        acc__2 = acc__2 + acc__4;
        acc__3 = acc__3 + acc__5;
        acc__2 = acc__2 + acc__3;
        acc = acc + acc__2;
    }
    c[0] = acc;
    return RP_DONE;
}

int32_t redpoll_kernel_1(rp_frame *frame) {
    return redpoll_kernel_1_body(frame,
        frame->buffers[0].data,
        frame->buffers[1].data);
}
