//! The C text of small kernels, to be reviewed like code. `UPDATE_EXPECT=1` rewrites it.

use super::emit;
use super::unit::HEAD;
use crate::assembly::examples::{DOT, SPMV, function};
use crate::lower::{LoweringOptions, lower};
use crate::testing::normal_form;
use expect_test::{Expect, expect};

/// Checks the text of a program's kernel, without the common head of units, which ends with the
/// names of statuses.
#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn check(text: &str, expected: Expect) {
    let text = emit(&[&lower(&normal_form(text), &[], LoweringOptions::default()).function]).unwrap();
    let (_, kernel) = text.split_once("\n};\n\n").unwrap();
    expected.assert_eq(kernel);
}

/// A whole unit, with the helpers that it uses.
#[test]
fn a_unit() {
    let text = emit(&[&function(SPMV), &function(DOT)]).unwrap();
    assert!(text.contains(HEAD));
    expect![[r#"
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
                double acc__0 = 0.0, acc__1 = 0.0, acc__2 = 0.0, acc__3 = 0.0;
                double acc__4 = 0.0, acc__5 = 0.0, acc__6 = 0.0, acc__7 = 0.0;
                const int64_t p__from = lo, p__end = hi;
                const int64_t p__rest = p__from < p__end ? (p__end - p__from) & 7 : 0;
                const int64_t p__full_end = p__from < p__end ? p__end - p__rest : p__from;
                int64_t p = p__from;
                for (; p != p__full_end; p += 8) {
                    acc__0 = acc__0 + a[p] * b[p];
                    acc__1 = acc__1 + a[p + 1] * b[p + 1];
                    acc__2 = acc__2 + a[p + 2] * b[p + 2];
                    acc__3 = acc__3 + a[p + 3] * b[p + 3];
                    acc__4 = acc__4 + a[p + 4] * b[p + 4];
                    acc__5 = acc__5 + a[p + 5] * b[p + 5];
                    acc__6 = acc__6 + a[p + 6] * b[p + 6];
                    acc__7 = acc__7 + a[p + 7] * b[p + 7];
                }
                if (p__rest > 0) acc__0 = acc__0 + a[p] * b[p];
                if (p__rest > 1) acc__1 = acc__1 + a[p + 1] * b[p + 1];
                if (p__rest > 2) acc__2 = acc__2 + a[p + 2] * b[p + 2];
                if (p__rest > 3) acc__3 = acc__3 + a[p + 3] * b[p + 3];
                if (p__rest > 4) acc__4 = acc__4 + a[p + 4] * b[p + 4];
                if (p__rest > 5) acc__5 = acc__5 + a[p + 5] * b[p + 5];
                if (p__rest > 6) acc__6 = acc__6 + a[p + 6] * b[p + 6];
                acc__0 = acc__0 + acc__4;
                acc__1 = acc__1 + acc__5;
                acc__2 = acc__2 + acc__6;
                acc__3 = acc__3 + acc__7;
                acc__0 = acc__0 + acc__2;
                acc__1 = acc__1 + acc__3;
                acc__0 = acc__0 + acc__1;
                acc = acc + acc__0;
            }
            c[0] = acc;
            return RP_DONE;
        }

        int32_t redpoll_kernel_1(rp_frame *frame) {
            return redpoll_kernel_1_body(frame,
                frame->buffers[0].data,
                frame->buffers[1].data);
        }
    "#]]
    .assert_eq(&text.replace(HEAD, ""));
}

#[test]
fn spmv() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
           (output y (type (shape 4) f64 0.0 dense))
           (for i (for j (+= (y i) (* (A i j) (x j))))))",
        expect![[r#"
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
        "#]],
    );
}

#[test]
fn union() {
    check(
        "(program (input a (type (shape 9) f64 0.0 (sparse-list (element))))
           (input b (type (shape 9) f64 0.0 (sparse-list (element))))
           (output c (type (shape 9) f64 0.0 (sparse-list (element))))
           (for i (init (c i) (+ (a i) (b i)))))",
        expect![[r#"
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
        "#]],
    );
}

#[test]
fn spgemm() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
           (output C (type (shape 4 3) f64 0.0 csr)) (local w (type (shape 3) f64 0.0 (byte-map (element))))
           (for i (where (for j (init (C i j) (w j)))
                         (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
        expect![[r#"
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
        "#]],
    );
}
