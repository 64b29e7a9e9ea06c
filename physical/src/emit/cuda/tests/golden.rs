//! Golden text of small grids.

use super::emulated::{LONG, draft};
use super::grids;
use crate::emit::cuda::emit;
use crate::emit::cuda::unit::HEAD;
use crate::grid::{Grid, TeamSize};
use crate::testing::{normal_form, skewed};
use expect_test::{Expect, expect};

/// Checks the text of a program without the common head of units.
fn check(text: &str, expected: Expect) {
    check_grids(&grids(text), expected);
}

#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn check_grids(grids: &[Grid], expected: Expect) {
    let text = emit(&grids.iter().collect::<Vec<_>>()).unwrap();
    assert!(text.starts_with(HEAD));
    let (_, kernels) = text.split_once("\n};\n\nenum").map_or(("", &text[..]), |(head, rest)| (head, rest));
    let kernels = kernels.split_once("RP_OUT_OF_BOUNDS = 7,\n};\n").unwrap().1;
    expected.assert_eq(kernels);
}

/// The lanes of a team share a row if rows are long.
#[test]
fn long_rows() {
    let (draft, _) = skewed::draft(skewed::PROGRAMS[0]);
    check_grids(
        &[draft.grids(TeamSize::Automatic).run],
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
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const A_ptr1 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const A_idx1 = (const uint32_t *)launch.windows[1][0].data;
                const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
                const double *__restrict__ const x_val = (const double *)launch.windows[3][0].data;
                double *const y_val = (double *)launch.windows[4][chunk].data;
                rp_window *const lengths__window = launch.windows[5] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n7 = launch.params[0];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t chunk_2, chunk_3, q, q_end, first, last;
                double acc;
                uint32_t rounds = 0;
                first = launch.sections[2 * chunk];
                last = launch.sections[2 * chunk + 1];
                RP_GROW(lengths, 1);
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n7, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2; i < chunk_3; i++) {
                        RP_POLL(16);
                        acc = 0.0;
                        q = rp_max_i64(A_ptr1[i], first);
                        q_end = rp_min_i64(A_ptr1[i + 1], last);
                        {
                            double acc__0 = 0.0;
                            const int64_t q_2__from = q, q_2__end = q_end;
                            for (int64_t q_2 = q_2__from + lane; q_2 < q_2__end; q_2 += 16) acc__0 = acc__0 + A_val[q_2] * x_val[A_idx1[q_2]];
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 8, 16);
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 4, 16);
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 2, 16);
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 1, 16);
                            acc = acc + (double)__shfl_sync(mask, acc__0, 0, 16);
                        }
                        if (lane == 0) y_val[i] = acc;
                    }
                }
                if (lane == 0) lengths[0] = n7;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(16), mask = RP_MASK(16);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 16;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 16) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 16);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

/// A block intersects long lists: its lanes search, and their folds are combined.
#[test]
fn longer_lists() {
    let (draft, _) = draft(normal_form(LONG[4].0));
    check_grids(
        &[draft.grids(TeamSize::Automatic).run],
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
                rp_window *const lengths__window = launch.windows[7] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n3 = launch.params[0];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t chunk_2, chunk_3, q, q_end, i_2, q_2, q_end_2, i_3;
                int64_t q_3, step, hi, mid;
                double acc;
                uint32_t rounds = 0;
                RP_GROW(lengths, 1);
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
                if (lane == 0) lengths[0] = n3;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(64), mask = RP_MASK(32);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 64;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 64) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 64);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

/// A block shares a row if rows are longer.
#[test]
fn longer_rows() {
    let (draft, _) = draft(normal_form(LONG[1].0));
    check_grids(
        &[draft.grids(TeamSize::Automatic).run],
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
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const A_ptr1 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const A_idx1 = (const uint32_t *)launch.windows[1][0].data;
                const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
                const double *__restrict__ const x_val = (const double *)launch.windows[3][0].data;
                double *const y_val = (double *)launch.windows[4][chunk].data;
                rp_window *const lengths__window = launch.windows[5] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n3 = launch.params[0];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t chunk_2, chunk_3, q, q_end, first, last;
                double acc;
                uint32_t rounds = 0;
                first = launch.sections[2 * chunk];
                last = launch.sections[2 * chunk + 1];
                RP_GROW(lengths, 1);
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n3, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2; i < chunk_3; i++) {
                        RP_POLL(64);
                        acc = 0.0;
                        q = rp_max_i64(A_ptr1[i], first);
                        q_end = rp_min_i64(A_ptr1[i + 1], last);
                        {
                            double acc__0 = 0.0, acc__1 = 0.0;
                            const int64_t q_2__from = q, q_2__end = q_end;
                            for (int64_t q_2 = q_2__from + lane; q_2 < q_2__end; q_2 += 64) acc__0 = acc__0 + A_val[q_2] * x_val[A_idx1[q_2]];
                            rp_publish(acc__0, lane);
                            rp_barrier(mask, 64);
                            acc__0 = rp_published<double>(lane % 32);
                            acc__1 = rp_published<double>(lane % 32 + 32);
                            rp_barrier(mask, 64);
                            acc__0 = acc__0 + acc__1;
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 16, 32);
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 8, 32);
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 4, 32);
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 2, 32);
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 1, 32);
                            acc = acc + (double)__shfl_sync(mask, acc__0, 0, 32);
                        }
                        if (lane == 0) y_val[i] = acc;
                    }
                }
                if (lane == 0) lengths[0] = n3;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(64), mask = RP_MASK(32);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 64;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 64) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 64);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

/// The table of a row begins in the memory of a block.
#[test]
fn spgemm_by_hash() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
           (output C (type (shape 4 3) f64 0.0 dense)) (local w (type (shape 3) f64 0.0 (hash (element))))
           (for i (where (for j (+= (C i j) (w j))) (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
        expect![[r#"

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
            //   buffer 0, A_ptr1: input indices of i32, `A.ptr1`
            //   buffer 1, A_idx1: input indices of u32, `A.idx1`
            //   buffer 2, A_val: input values of f64, `A.val`
            //   buffer 3, B_ptr1: input indices of i32, `B.ptr1`
            //   buffer 4, B_idx1: input indices of u32, `B.idx1`
            //   buffer 5, B_val: input values of f64, `B.val`
            //   buffer 6, C_val: owned values of f64, `C.val`
            //   buffer 7, w_ptr0: owned indices of i32, `w.ptr0`
            //   buffer 8, w_idx0: owned indices of u32, `w.idx0`
            //   buffer 9, w_pos0: owned indices of i32, `w.pos0`
            //   buffer 10, w_table0: owned indices of i32, `w.table0`
            //   buffer 11, w_parent0: owned indices of i32, `w.parent0`
            //   buffer 12, w_coordinate0: owned indices of u32, `w.coordinate0`
            //   buffer 13, w_val: owned values of f64, `w.val`
            //   buffer 14, lengths: owned indices of i64, `lengths`
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const A_ptr1 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const A_idx1 = (const uint32_t *)launch.windows[1][0].data;
                const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
                const int32_t *__restrict__ const B_ptr1 = (const int32_t *)launch.windows[3][0].data;
                const uint32_t *__restrict__ const B_idx1 = (const uint32_t *)launch.windows[4][0].data;
                const double *__restrict__ const B_val = (const double *)launch.windows[5][0].data;
                double *const C_val = (double *)launch.windows[6][0].data;
                rp_window *const w_ptr0__window = launch.windows[7] + team;
                int64_t w_ptr0__requested = w_ptr0__window->requested;
                int64_t w_ptr0__capacity = w_ptr0__window->capacity;
                int64_t w_ptr0__share = w_ptr0__window->share;
                int32_t *w_ptr0 = (int32_t *)w_ptr0__window->data;
                rp_window *const w_idx0__window = launch.windows[8] + team;
                int64_t w_idx0__requested = w_idx0__window->requested;
                int64_t w_idx0__capacity = w_idx0__window->capacity;
                int64_t w_idx0__share = w_idx0__window->share;
                uint32_t *w_idx0 = (uint32_t *)w_idx0__window->data;
                rp_window *const w_pos0__window = launch.windows[9] + team;
                int64_t w_pos0__requested = w_pos0__window->requested;
                int64_t w_pos0__capacity = w_pos0__window->capacity;
                int64_t w_pos0__share = w_pos0__window->share;
                int32_t *w_pos0 = (int32_t *)w_pos0__window->data;
                rp_window *const w_table0__window = launch.windows[10] + team;
                int64_t w_table0__requested = w_table0__window->requested;
                int64_t w_table0__capacity = w_table0__window->capacity;
                int64_t w_table0__share = w_table0__window->share;
                int32_t *w_table0 = (int32_t *)w_table0__window->data;
                rp_window *const w_parent0__window = launch.windows[11] + team;
                int64_t w_parent0__requested = w_parent0__window->requested;
                int64_t w_parent0__capacity = w_parent0__window->capacity;
                int64_t w_parent0__share = w_parent0__window->share;
                int32_t *w_parent0 = (int32_t *)w_parent0__window->data;
                rp_window *const w_coordinate0__window = launch.windows[12] + team;
                int64_t w_coordinate0__requested = w_coordinate0__window->requested;
                int64_t w_coordinate0__capacity = w_coordinate0__window->capacity;
                int64_t w_coordinate0__share = w_coordinate0__window->share;
                uint32_t *w_coordinate0 = (uint32_t *)w_coordinate0__window->data;
                rp_window *const w_val__window = launch.windows[13] + team;
                int64_t w_val__requested = w_val__window->requested;
                int64_t w_val__capacity = w_val__window->capacity;
                int64_t w_val__share = w_val__window->share;
                double *w_val = (double *)w_val__window->data;
                rp_window *const lengths__window = launch.windows[14] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                rp_barrier(mask, 32);
                const int64_t n4 = launch.params[0];
                const int64_t n3 = launch.params[2];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t entries, slots, p, chunk_2, chunk_3, q, q_end, i_2;
                int64_t q_2, q_end_2, i_3, entry, slot, slot_2, found, q_3;
                int64_t q_end_3, entry_2, i_4, row, positions;
                uint32_t rounds = 0;
                entries = 0;
                RP_GROW(lengths, 1);
                p = rp_mul_i64(n4, n3);
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n4, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2; i < chunk_3; i++) {
                        RP_POLL(32);
                        entries = 0;
                        slots = 0;
                        q = A_ptr1[i];
                        q_end = A_ptr1[i + 1];
                        while (q < q_end) {
                            RP_POLL(32);
                            i_2 = A_idx1[q];
                            q_2 = B_ptr1[i_2];
                            q_end_2 = B_ptr1[i_2 + 1];
                            while (q_2 < q_end_2) {
                                RP_POLL(32);
                                i_3 = B_idx1[q_2];
                                if (slots < rp_mul_i64(entries + 1, 2)) {
                                    slots = rp_max_i64(rp_mul_i64(slots, 2), 16);
                                    RP_GROW_OR_MOVE(w_table0, slots, 32);
                                    rp_barrier(mask, 32);
                                    for (int64_t p_2 = 0 + (int64_t)lane; p_2 < slots; p_2 += 32) {
                                        w_table0[p_2] = 0;
                                    }
                                    for (int64_t e = 0; e < entries; e++) {
                                        RP_POLL(32);
                                        slot = rp_shr_i64(rp_mul_i64(rp_add_i64(rp_mul_i64(w_parent0[e], -INT64_C(4417276706812531889)), w_coordinate0[e]), -INT64_C(7046029254386353131)), 32) & (slots + (-1));
                                        while (true) {
                                            rp_barrier(mask, 32);
                                            if ((int64_t)w_table0[slot] == 0) {
                                                break;
                                            }
                                            slot = rp_add_i64(slot, 1) & (slots + (-1));
                                        }
                                        rp_barrier(mask, 32);
                                        if (lane == 0) w_table0[slot] = e + 1;
                                    }
                                }
                                entry = -1;
                                slot_2 = rp_shr_i64(rp_mul_i64(i_3, -INT64_C(7046029254386353131)), 32) & (slots + (-1));
                                while (true) {
                                    rp_barrier(mask, 32);
                                    found = w_table0[slot_2];
                                    if (found == 0) {
                                        break;
                                    }
                                    if ((w_coordinate0[found + (-1)] == i_3) & ((int64_t)w_parent0[found + (-1)] == 0)) {
                                        entry = found + (-1);
                                        break;
                                    }
                                    slot_2 = rp_add_i64(slot_2, 1) & (slots + (-1));
                                }
                                if (entry < 0) {
                                    entry = entries;
                                    RP_GROW_OR_MOVE(w_val, entry + 1, 32);
                                    if (lane == 0) w_val[entry] = 0.0;
                                }
                                if (lane == 0) w_val[entry] = w_val[entry] + A_val[q] * B_val[q_2];
                                if (entry == entries) {
                                    RP_GROW_OR_MOVE(w_parent0, entries + 1, 32);
                                    RP_GROW_OR_MOVE(w_coordinate0, entries + 1, 32);
                                    rp_barrier(mask, 32);
                                    if (lane == 0) w_parent0[entries] = 0;
                                    if (lane == 0) w_coordinate0[entries] = i_3;
                                    if (lane == 0) w_table0[slot_2] = entries + 1;
                                    entries = entries + 1;
                                }
                                q_2 = q_2 + 1;
                            }
                            q = q + 1;
                        }
                        if (!(rp_max_i64(entries, slots) < INT64_C(2147483648))) {
                            return RP_POSITION_OVERFLOW;
                        }
                        RP_GROW_OR_MOVE(w_ptr0, 2, 32);
                        rp_barrier(mask, 32);
                        for (int64_t p_3 = 0 + (int64_t)lane; p_3 < 2; p_3 += 32) {
                            w_ptr0[p_3] = 0;
                        }
                        RP_GROW_OR_MOVE(w_pos0, entries, 32);
                        RP_GROW_OR_MOVE(w_idx0, entries, 32);
                        for (int64_t e_2 = 0; e_2 < entries; e_2++) {
                            RP_POLL(32);
                            if (lane == 0) w_pos0[e_2] = e_2;
                            rp_barrier(mask, 32);
                            if (lane == 0) w_ptr0[(int64_t)w_parent0[e_2] + 1] = (int64_t)w_ptr0[(int64_t)w_parent0[e_2] + 1] + 1;
                        }
                        for (int64_t p_4 = 0; p_4 < 1; p_4++) {
                            rp_barrier(mask, 32);
                            if (lane == 0) w_ptr0[p_4 + 1] = (int64_t)w_ptr0[p_4] + w_ptr0[p_4 + 1];
                        }
                        rp_sort_by(w_pos0, w_parent0, w_coordinate0, 0, entries, lane, mask, 32);
                        for (int64_t k = 0 + (int64_t)lane; k < entries; k += 32) {
                            w_idx0[k] = w_coordinate0[w_pos0[k]];
                        }
                        row = rp_mul_i64(i, n3);
                        q_3 = w_ptr0[0];
                        q_end_3 = w_ptr0[1];
                        while (q_3 < q_end_3) {
                            RP_POLL(32);
                            rp_barrier(mask, 32);
                            i_4 = w_idx0[q_3];
                            entry_2 = w_pos0[q_3];
                            if (lane == 0) C_val[row + i_4] = C_val[row + i_4] + w_val[entry_2];
                            q_3 = q_3 + 1;
                        }
                    }
                }
                positions = rp_mul_i64(n4, n3);
                if (lane == 0) lengths[0] = positions;
                entries = 0;
                slots = 0;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(32), mask = RP_MASK(32);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
                if (team >= launch.team_count) return;
                uint64_t *next = rp_shared + threadIdx.x / 32 * (launch.share / 8);
                rp_begin_window(launch.windows[7][team], (int32_t)0, next, lane, 32);
                rp_begin_window(launch.windows[8][team], (uint32_t)0, next, lane, 32);
                rp_begin_window(launch.windows[9][team], (int32_t)0, next, lane, 32);
                rp_begin_window(launch.windows[10][team], (int32_t)0, next, lane, 32);
                rp_begin_window(launch.windows[11][team], (int32_t)0, next, lane, 32);
                rp_begin_window(launch.windows[12][team], (uint32_t)0, next, lane, 32);
                rp_begin_window(launch.windows[13][team], (double)0.0, next, lane, 32);
                rp_barrier(mask, 32);
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    if (status != RP_OUT_OF_CAPACITY) status = rp_cancelled(launch, lane, mask, 32) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 32);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

#[test]
fn spmv() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
           (output y (type (shape 4) f64 0.0 dense))
           (for i (for j (+= (y i) (* (A i j) (x j))))))",
        expect![[r#"

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

            // kernel
            //   buffer 0, A_ptr1: input indices of i32, `A.ptr1`
            //   buffer 1, A_idx1: input indices of u32, `A.idx1`
            //   buffer 2, A_val: input values of f64, `A.val`
            //   buffer 3, x_val: input values of f64, `x.val`
            //   buffer 4, y_val: owned values of f64, `y.val`
            //   buffer 5, lengths: owned indices of i64, `lengths`
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const A_ptr1 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const A_idx1 = (const uint32_t *)launch.windows[1][0].data;
                const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
                const double *__restrict__ const x_val = (const double *)launch.windows[3][0].data;
                double *const y_val = (double *)launch.windows[4][chunk].data;
                rp_window *const lengths__window = launch.windows[5] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n4 = launch.params[0];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t chunk_2, chunk_3, q, q_end, i_2, first, last;
                double acc;
                uint32_t own_rounds = 0;
                int stopped = 0;
                first = launch.sections[2 * chunk];
                last = launch.sections[2 * chunk + 1];
                RP_GROW(lengths, 1);
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n4, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2 + (int64_t)lane; i < chunk_3; i += 32) {
                        RP_POLL_ALONE();
                        acc = 0.0;
                        q = rp_max_i64(A_ptr1[i], first);
                        q_end = rp_min_i64(A_ptr1[i + 1], last);
                        while (q < q_end) {
                            i_2 = A_idx1[q];
                            acc = acc + A_val[q] * x_val[i_2];
                            q = rp_add_i64(q, 1);
                        }
                        y_val[i] = acc;
                    }
                    if (rp_any(stopped, mask, 32)) return RP_CANCELLED;
                }
                if (lane == 0) lengths[0] = n4;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(32), mask = RP_MASK(32);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 32) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 32);
                    if (lane == 0) launch.status[chunk] = status;
                }
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
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const A_ptr1 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const A_idx1 = (const uint32_t *)launch.windows[1][0].data;
                const int32_t *__restrict__ const B_ptr1 = (const int32_t *)launch.windows[3][0].data;
                const uint32_t *__restrict__ const B_idx1 = (const uint32_t *)launch.windows[4][0].data;
                rp_window *const C_ptr1__window = launch.windows[6] + chunk;
                int64_t C_ptr1__requested = C_ptr1__window->requested;
                rp_window *const C_idx1__window = launch.windows[7] + chunk;
                int64_t C_idx1__requested = C_idx1__window->requested;
                rp_window *const C_val__window = launch.windows[8] + chunk;
                int64_t C_val__requested = C_val__window->requested;
                rp_window *const w_ptr0__window = launch.windows[9] + team;
                int64_t w_ptr0__requested = w_ptr0__window->requested;
                int64_t w_ptr0__capacity = w_ptr0__window->capacity;
                int64_t w_ptr0__share = w_ptr0__window->share;
                int32_t *w_ptr0 = (int32_t *)w_ptr0__window->data;
                rp_window *const w_idx0__window = launch.windows[10] + team;
                int64_t w_idx0__requested = w_idx0__window->requested;
                int64_t w_idx0__capacity = w_idx0__window->capacity;
                int64_t w_idx0__share = w_idx0__window->share;
                uint32_t *w_idx0 = (uint32_t *)w_idx0__window->data;
                rp_window *const w_map0__window = launch.windows[11] + team;
                int64_t w_map0__requested = w_map0__window->requested;
                int64_t w_map0__capacity = w_map0__window->capacity;
                int64_t w_map0__share = w_map0__window->share;
                uint8_t *w_map0 = (uint8_t *)w_map0__window->data;
                rp_window *const w_val__window = launch.windows[12] + chunk;
                int64_t w_val__requested = w_val__window->requested;
                rp_window *const lengths__window = launch.windows[13] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n4 = launch.params[0];
                const int64_t n3 = launch.params[2];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t len, touched, chunk_2, chunk_3, p, q, q_end, i_2;
                int64_t q_2, q_end_2, i_3, q_3, q_end_3, p_3;
                uint32_t rounds = 0;
                touched = 0;
                RP_GROW(lengths, 3);
                len = lengths[1];
                RP_MEASURE(C_ptr1, n4 + 1);
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n4, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2; i < chunk_3; i++) {
                        RP_POLL(1);
                        for (int64_t k = 0; k < touched; k++) {
                            RP_POLL(1);
                            p = w_idx0[k];
                            w_map0[p] = 0;
                        }
                        touched = 0;
                        RP_GROW_OR_MOVE(w_map0, n3, 1);
                        RP_MEASURE(w_val, n3);
                        q = A_ptr1[i];
                        q_end = A_ptr1[i + 1];
                        while (q < q_end) {
                            RP_POLL(1);
                            i_2 = A_idx1[q];
                            q_2 = B_ptr1[i_2];
                            q_end_2 = B_ptr1[i_2 + 1];
                            while (q_2 < q_end_2) {
                                RP_POLL(1);
                                i_3 = B_idx1[q_2];
                                if (!(w_map0[i_3] != 0)) {
                                    RP_GROW_OR_MOVE(w_idx0, touched + 1, 1);
                                    w_idx0[touched] = i_3;
                                    touched = touched + 1;
                                    w_map0[i_3] = 1;
                                }
                                q_2 = q_2 + 1;
                            }
                            q = q + 1;
                        }
                        rp_sort(w_idx0, 0, touched, lane, mask, 1);
                        RP_GROW_OR_MOVE(w_ptr0, 2, 1);
                        if (!(touched < INT64_C(2147483648))) {
                            return RP_POSITION_OVERFLOW;
                        }
                        w_ptr0[1] = touched;
                        q_3 = w_ptr0[0];
                        q_end_3 = w_ptr0[1];
                        while (q_3 < q_end_3) {
                            RP_POLL(1);
                            RP_MEASURE(C_val, len + 1);
                            RP_MEASURE(C_idx1, len + 1);
                            len = len + 1;
                            q_3 = q_3 + 1;
                        }
                    }
                }
                if (!(len < INT64_C(2147483648))) {
                    return RP_POSITION_OVERFLOW;
                }
                RP_MEASURE(C_ptr1, n4 + 1);
                lengths[0] = n4 + 1;
                lengths[1] = len;
                lengths[2] = len;
                for (int64_t k_2 = 0; k_2 < touched; k_2++) {
                    RP_POLL(1);
                    p_3 = w_idx0[k_2];
                    w_map0[p_3] = 0;
                }
                touched = 0;
                RP_GROW_OR_MOVE(w_map0, n3, 1);
                RP_MEASURE(w_val, n3);
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(1), mask = RP_MASK(1);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 1;
                if (team >= launch.team_count) return;
                uint64_t *next = rp_shared + threadIdx.x / 1 * (launch.share / 8);
                rp_begin_window(launch.windows[9][team], (int32_t)0, next, lane, 1);
                rp_begin_window(launch.windows[10][team], (uint32_t)0, next, lane, 1);
                rp_begin_window(launch.windows[11][team], (uint8_t)0, next, lane, 1);
                rp_barrier(mask, 1);
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    if (status != RP_OUT_OF_CAPACITY) status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 1);
                    if (lane == 0) launch.status[chunk] = status;
                }
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
            static int32_t redpoll_grid_1_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const A_ptr1 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const A_idx1 = (const uint32_t *)launch.windows[1][0].data;
                const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
                const int32_t *__restrict__ const B_ptr1 = (const int32_t *)launch.windows[3][0].data;
                const uint32_t *__restrict__ const B_idx1 = (const uint32_t *)launch.windows[4][0].data;
                const double *__restrict__ const B_val = (const double *)launch.windows[5][0].data;
                int32_t *const C_ptr1 = (int32_t *)launch.windows[6][chunk].data;
                rp_window *const C_idx1__window = launch.windows[7] + chunk;
                int64_t C_idx1__requested = C_idx1__window->requested;
                int64_t C_idx1__capacity = C_idx1__window->capacity;
                uint32_t *C_idx1 = (uint32_t *)C_idx1__window->data;
                rp_window *const C_val__window = launch.windows[8] + chunk;
                int64_t C_val__requested = C_val__window->requested;
                int64_t C_val__capacity = C_val__window->capacity;
                double *C_val = (double *)C_val__window->data;
                rp_window *const w_ptr0__window = launch.windows[9] + team;
                int64_t w_ptr0__requested = w_ptr0__window->requested;
                int64_t w_ptr0__capacity = w_ptr0__window->capacity;
                int64_t w_ptr0__share = w_ptr0__window->share;
                int32_t *w_ptr0 = (int32_t *)w_ptr0__window->data;
                rp_window *const w_idx0__window = launch.windows[10] + team;
                int64_t w_idx0__requested = w_idx0__window->requested;
                int64_t w_idx0__capacity = w_idx0__window->capacity;
                int64_t w_idx0__share = w_idx0__window->share;
                uint32_t *w_idx0 = (uint32_t *)w_idx0__window->data;
                rp_window *const w_map0__window = launch.windows[11] + team;
                int64_t w_map0__requested = w_map0__window->requested;
                int64_t w_map0__capacity = w_map0__window->capacity;
                int64_t w_map0__share = w_map0__window->share;
                uint8_t *w_map0 = (uint8_t *)w_map0__window->data;
                rp_window *const w_val__window = launch.windows[12] + team;
                int64_t w_val__requested = w_val__window->requested;
                int64_t w_val__capacity = w_val__window->capacity;
                int64_t w_val__share = w_val__window->share;
                double *w_val = (double *)w_val__window->data;
                rp_window *const lengths__window = launch.windows[13] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n4 = launch.params[0];
                const int64_t n3 = launch.params[2];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t len, touched, chunk_2, chunk_3, p, q, q_end, i_2;
                int64_t q_2, q_end_2, i_3, q_3, q_end_3, i_4, written, written_2;
                int64_t end, p_3;
                uint32_t rounds = 0;
                touched = 0;
                RP_GROW(lengths, 3);
                len = lengths[1];
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n4, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2; i < chunk_3; i++) {
                        RP_POLL(1);
                        for (int64_t k = 0; k < touched; k++) {
                            RP_POLL(1);
                            p = w_idx0[k];
                            w_map0[p] = 0;
                            w_val[p] = 0.0;
                        }
                        touched = 0;
                        RP_GROW_OR_MOVE(w_map0, n3, 1);
                        RP_GROW_OR_MOVE(w_val, n3, 1);
                        q = A_ptr1[i];
                        q_end = A_ptr1[i + 1];
                        while (q < q_end) {
                            RP_POLL(1);
                            i_2 = A_idx1[q];
                            q_2 = B_ptr1[i_2];
                            q_end_2 = B_ptr1[i_2 + 1];
                            while (q_2 < q_end_2) {
                                RP_POLL(1);
                                i_3 = B_idx1[q_2];
                                w_val[i_3] = w_val[i_3] + A_val[q] * B_val[q_2];
                                if (!(w_map0[i_3] != 0)) {
                                    RP_GROW_OR_MOVE(w_idx0, touched + 1, 1);
                                    w_idx0[touched] = i_3;
                                    touched = touched + 1;
                                    w_map0[i_3] = 1;
                                }
                                q_2 = q_2 + 1;
                            }
                            q = q + 1;
                        }
                        rp_sort(w_idx0, 0, touched, lane, mask, 1);
                        RP_GROW_OR_MOVE(w_ptr0, 2, 1);
                        if (!(touched < INT64_C(2147483648))) {
                            return RP_POSITION_OVERFLOW;
                        }
                        w_ptr0[1] = touched;
                        q_3 = w_ptr0[0];
                        q_end_3 = w_ptr0[1];
                        while (q_3 < q_end_3) {
                            RP_POLL(1);
                            i_4 = w_idx0[q_3];
                            RP_GROW(C_val, len + 1);
                            C_val[len] = w_val[i_4];
                            RP_GROW(C_idx1, len + 1);
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
                end = C_ptr1[written];
                for (int64_t p_2 = written; p_2 < written_2; p_2++) {
                    RP_POLL(1);
                    end = rp_max_i64(end, C_ptr1[p_2 + 1]);
                    C_ptr1[p_2 + 1] = end;
                }
                lengths[0] = n4 + 1;
                lengths[1] = len;
                lengths[2] = len;
                for (int64_t k_2 = 0; k_2 < touched; k_2++) {
                    RP_POLL(1);
                    p_3 = w_idx0[k_2];
                    w_map0[p_3] = 0;
                    w_val[p_3] = 0.0;
                }
                touched = 0;
                RP_GROW_OR_MOVE(w_map0, n3, 1);
                RP_GROW_OR_MOVE(w_val, n3, 1);
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_1(const rp_launch launch) {
                const uint32_t lane = RP_LANE(1), mask = RP_MASK(1);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 1;
                if (team >= launch.team_count) return;
                uint64_t *next = rp_shared + threadIdx.x / 1 * (launch.share / 8);
                rp_begin_window(launch.windows[9][team], (int32_t)0, next, lane, 1);
                rp_begin_window(launch.windows[10][team], (uint32_t)0, next, lane, 1);
                rp_begin_window(launch.windows[11][team], (uint8_t)0, next, lane, 1);
                rp_begin_window(launch.windows[12][team], (double)0.0, next, lane, 1);
                rp_barrier(mask, 1);
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    if (status != RP_OUT_OF_CAPACITY) status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
                        : redpoll_grid_1_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 1);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

#[test]
fn mttkrp() {
    check(
        "(program (input B (type (shape 4 5 6) f64 0.0 csf)) (input C (type (shape 5 8) f64 0.0 dense))
           (input D (type (shape 6 8) f64 0.0 dense)) (output A (type (shape 4 8) f64 0.0 dense))
           (for i (for k (for l (for j (+= (A i j) (* (B i k l) (* (C k j) (D l j)))))))))",
        expect![[r#"

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
                double *const A_val = (double *)launch.windows[9][chunk].data;
                rp_window *const lengths__window = launch.windows[10] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n4 = launch.params[0];
                const int64_t n8 = launch.params[3];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t p, chunk_2, chunk_3, q, q_end, i, step, hi;
                int64_t mid, q_2, q_end_2, i_2, q_3, q_end_3, i_3, row;
                int64_t row_2, row_3, positions, first, last;
                uint32_t rounds = 0;
                first = launch.sections[2 * chunk];
                last = launch.sections[2 * chunk + 1];
                RP_GROW(lengths, 1);
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
                        while (q_2 < q_end_2) {
                            RP_POLL(32);
                            i_2 = B_idx1[q_2];
                            q_3 = B_ptr2[q_2];
                            q_end_3 = B_ptr2[rp_add_i64(q_2, 1)];
                            while (q_3 < q_end_3) {
                                RP_POLL(32);
                                i_3 = B_idx2[q_3];
                                row = rp_mul_i64(i_2, n8);
                                row_2 = rp_mul_i64(i_3, n8);
                                row_3 = rp_mul_i64(i, n8);
                                rp_barrier(mask, 32);
                                for (int64_t j = 0 + (int64_t)lane; j < n8; j += 32) {
                                    A_val[row_3 + j] = A_val[row_3 + j] + B_val[q_3] * (C_val[row + j] * D_val[row_2 + j]);
                                }
                                q_3 = q_3 + 1;
                            }
                            q_2 = rp_add_i64(q_2, 1);
                        }
                        q = q + 1;
                    }
                }
                positions = rp_mul_i64(n4, n8);
                if (lane == 0) lengths[0] = positions;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(32), mask = RP_MASK(32);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 32) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 32);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

#[test]
fn triangles() {
    check(
        "(program (input E (type (shape 6 6) i64 0 csr)) (output n (type (shape) i64 0 dense))
           (for i (for j (for k (+= (n) (* (E i j) (* (E j k) (E i k))))))))",
        expect![[r#"

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

            // kernel
            //   buffer 0, E_ptr1: input indices of i32, `E.ptr1`
            //   buffer 1, E_idx1: input indices of u32, `E.idx1`
            //   buffer 2, E_val: input values of i64, `E.val`
            //   buffer 3, n_val: owned values of i64, `n.val`
            //   buffer 4, lengths: owned indices of i64, `lengths`
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const E_ptr1 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const E_idx1 = (const uint32_t *)launch.windows[1][0].data;
                const int64_t *__restrict__ const E_val = (const int64_t *)launch.windows[2][0].data;
                rp_window *const n_val__window = launch.windows[3] + chunk;
                int64_t n_val__requested = n_val__window->requested;
                int64_t n_val__capacity = n_val__window->capacity;
                int64_t *n_val = (int64_t *)n_val__window->data;
                rp_window *const lengths__window = launch.windows[4] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n6 = launch.params[0];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t n, chunk_2, chunk_3, q, q_end, i_2, q_2, q_end_2;
                int64_t i_3, q_3, q_end_3, i_4, p;
                uint32_t rounds = 0;
                RP_GROW(lengths, 1);
                n = 0;
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n6, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2; i < chunk_3; i++) {
                        RP_POLL(1);
                        q = E_ptr1[i];
                        q_end = E_ptr1[i + 1];
                        while (q < q_end) {
                            RP_POLL(1);
                            i_2 = E_idx1[q];
                            q_2 = E_ptr1[i_2];
                            q_end_2 = E_ptr1[i_2 + 1];
                            q_3 = E_ptr1[i];
                            q_end_3 = E_ptr1[i + 1];
                            while (q_2 < q_end_2 && q_3 < q_end_3) {
                                RP_POLL(1);
                                i_3 = E_idx1[q_2];
                                i_4 = E_idx1[q_3];
                                p = rp_min_i64(i_3, i_4);
                                if (((uint64_t)i_3 <= (uint64_t)i_4) & ((uint64_t)i_4 <= (uint64_t)i_3)) {
                                    n = rp_add_i64(n, rp_mul_i64(E_val[q], rp_mul_i64(E_val[q_2], E_val[q_3])));
                                }
                                q_2 = q_2 + (int64_t)((uint64_t)i_3 <= (uint64_t)i_4);
                                q_3 = q_3 + (int64_t)((uint64_t)i_4 <= (uint64_t)i_3);
                            }
                            q = q + 1;
                        }
                    }
                }
                RP_GROW(n_val, 1);
                n_val[0] = n;
                lengths[0] = 1;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(1), mask = RP_MASK(1);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 1;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 1);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

#[test]
fn sddmm() {
    check(
        "(program (input S (type (shape 4 5) f64 0.0 csr)) (input A (type (shape 4 6) f64 0.0 dense))
           (input B (type (shape 5 6) f64 0.0 dense)) (output C (type (shape 4 5) f64 0.0 csr))
           (for i (for j (for k (+= (C i j) (* (S i j) (* (A i k) (B j k))))))))",
        expect![[r#"

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

            // kernel
            //   buffer 0, S_ptr1: input indices of i32, `S.ptr1`
            //   buffer 1, S_idx1: input indices of u32, `S.idx1`
            //   buffer 2, S_val: input values of f64, `S.val`
            //   buffer 3, A_val: input values of f64, `A.val`
            //   buffer 4, B_val: input values of f64, `B.val`
            //   buffer 5, C_ptr1: owned indices of i32, `C.ptr1`
            //   buffer 6, C_idx1: owned indices of u32, `C.idx1`
            //   buffer 7, C_val: owned values of f64, `C.val`
            //   buffer 8, lengths: owned indices of i64, `lengths`
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const S_ptr1 = (const int32_t *)launch.windows[0][0].data;
                rp_window *const C_ptr1__window = launch.windows[5] + chunk;
                int64_t C_ptr1__requested = C_ptr1__window->requested;
                rp_window *const C_idx1__window = launch.windows[6] + chunk;
                int64_t C_idx1__requested = C_idx1__window->requested;
                rp_window *const C_val__window = launch.windows[7] + chunk;
                int64_t C_val__requested = C_val__window->requested;
                rp_window *const lengths__window = launch.windows[8] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n4 = launch.params[0];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t len, chunk_2, chunk_3, q, q_end;
                uint32_t rounds = 0;
                RP_GROW(lengths, 3);
                len = lengths[1];
                RP_MEASURE(C_ptr1, n4 + 1);
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n4, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2; i < chunk_3; i++) {
                        RP_POLL(1);
                        q = S_ptr1[i];
                        q_end = S_ptr1[i + 1];
                        while (q < q_end) {
                            RP_POLL(1);
                            RP_MEASURE(C_val, len + 1);
                            RP_MEASURE(C_idx1, len + 1);
                            len = len + 1;
                            q = q + 1;
                        }
                    }
                }
                if (!(len < INT64_C(2147483648))) {
                    return RP_POSITION_OVERFLOW;
                }
                RP_MEASURE(C_ptr1, n4 + 1);
                lengths[0] = n4 + 1;
                lengths[1] = len;
                lengths[2] = len;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(1), mask = RP_MASK(1);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 1;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 1);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }

            // kernel
            //   buffer 0, S_ptr1: input indices of i32, `S.ptr1`
            //   buffer 1, S_idx1: input indices of u32, `S.idx1`
            //   buffer 2, S_val: input values of f64, `S.val`
            //   buffer 3, A_val: input values of f64, `A.val`
            //   buffer 4, B_val: input values of f64, `B.val`
            //   buffer 5, C_ptr1: owned indices of i32, `C.ptr1`
            //   buffer 6, C_idx1: owned indices of u32, `C.idx1`
            //   buffer 7, C_val: owned values of f64, `C.val`
            //   buffer 8, lengths: owned indices of i64, `lengths`
            static int32_t redpoll_grid_1_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const S_ptr1 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const S_idx1 = (const uint32_t *)launch.windows[1][0].data;
                const double *__restrict__ const S_val = (const double *)launch.windows[2][0].data;
                const double *__restrict__ const A_val = (const double *)launch.windows[3][0].data;
                const double *__restrict__ const B_val = (const double *)launch.windows[4][0].data;
                int32_t *const C_ptr1 = (int32_t *)launch.windows[5][chunk].data;
                rp_window *const C_idx1__window = launch.windows[6] + chunk;
                int64_t C_idx1__requested = C_idx1__window->requested;
                int64_t C_idx1__capacity = C_idx1__window->capacity;
                uint32_t *C_idx1 = (uint32_t *)C_idx1__window->data;
                rp_window *const C_val__window = launch.windows[7] + chunk;
                int64_t C_val__requested = C_val__window->requested;
                int64_t C_val__capacity = C_val__window->capacity;
                double *C_val = (double *)C_val__window->data;
                rp_window *const lengths__window = launch.windows[8] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n4 = launch.params[0];
                const int64_t n6 = launch.params[2];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t len, chunk_2, chunk_3, q, q_end, i_2, row, row_2;
                int64_t written, written_2, end;
                double acc;
                uint32_t rounds = 0;
                RP_GROW(lengths, 3);
                len = lengths[1];
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n4, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2; i < chunk_3; i++) {
                        RP_POLL(16);
                        q = S_ptr1[i];
                        q_end = S_ptr1[i + 1];
                        while (q < q_end) {
                            RP_POLL(16);
                            i_2 = S_idx1[q];
                            RP_GROW(C_val, len + 1);
                            acc = 0.0;
                            row = rp_mul_i64(i, n6);
                            row_2 = rp_mul_i64(i_2, n6);
                            {
                                double acc__0 = 0.0;
                                const int64_t k__from = 0, k__end = n6;
                                for (int64_t k = k__from + lane; k < k__end; k += 16) acc__0 = acc__0 + S_val[q] * (A_val[row + k] * B_val[row_2 + k]);
                                acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 8, 16);
                                acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 4, 16);
                                acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 2, 16);
                                acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 1, 16);
                                acc = acc + (double)__shfl_sync(mask, acc__0, 0, 16);
                            }
                            if (lane == 0) C_val[len] = acc;
                            RP_GROW(C_idx1, len + 1);
                            if (lane == 0) C_idx1[len] = i_2;
                            len = len + 1;
                            q = q + 1;
                        }
                        if (lane == 0) C_ptr1[i + 1] = len;
                    }
                }
                written = rp_max_i64(rp_min_i64(chunk_lo, n4), 0);
                written_2 = rp_max_i64(rp_min_i64(chunk_hi, n4), 0);
                if (!(len < INT64_C(2147483648))) {
                    return RP_POSITION_OVERFLOW;
                }
                rp_barrier(mask, 16);
                end = C_ptr1[written];
                for (int64_t p = written; p < written_2; p++) {
                    RP_POLL(16);
                    rp_barrier(mask, 16);
                    end = rp_max_i64(end, C_ptr1[p + 1]);
                    rp_barrier(mask, 16);
                    if (lane == 0) C_ptr1[p + 1] = end;
                }
                if (lane == 0) lengths[0] = n4 + 1;
                if (lane == 0) lengths[1] = len;
                if (lane == 0) lengths[2] = len;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_1(const rp_launch launch) {
                const uint32_t lane = RP_LANE(16), mask = RP_MASK(16);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 16;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 16) ? RP_CANCELLED
                        : redpoll_grid_1_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 16);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

#[test]
fn union() {
    check(
        "(program (input A (type (shape 9) f64 0.0 csf)) (input B (type (shape 9) f64 0.0 csf))
           (output C (type (shape 9) f64 0.0 csf)) (for i (init (C i) (+ (A i) (B i)))))",
        expect![[r#"

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
            //   buffer 2, A_val: input values of f64, `A.val`
            //   buffer 3, B_ptr0: input indices of i32, `B.ptr0`
            //   buffer 4, B_idx0: input indices of u32, `B.idx0`
            //   buffer 5, B_val: input values of f64, `B.val`
            //   buffer 6, C_ptr0: owned indices of i32, `C.ptr0`
            //   buffer 7, C_idx0: owned indices of u32, `C.idx0`
            //   buffer 8, C_val: owned values of f64, `C.val`
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
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 1);
                    if (lane == 0) launch.status[chunk] = status;
                }
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
            static int32_t redpoll_grid_1_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const A_ptr0 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const A_idx0 = (const uint32_t *)launch.windows[1][0].data;
                const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
                const int32_t *__restrict__ const B_ptr0 = (const int32_t *)launch.windows[3][0].data;
                const uint32_t *__restrict__ const B_idx0 = (const uint32_t *)launch.windows[4][0].data;
                const double *__restrict__ const B_val = (const double *)launch.windows[5][0].data;
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
                double *C_val = (double *)C_val__window->data;
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
                                C_val[len] = A_val[q] + B_val[q_2];
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
                                C_val[len] = B_val[q_2];
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
                                C_val[len] = A_val[q] + B_val[q_2];
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
                                C_val[len] = B_val[q_2];
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
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
                        : redpoll_grid_1_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 1);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

/// Folds with the lanes of a team.
#[test]
fn dense_products() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 dense)) (input x (type (shape 5) f64 0.0 dense))
           (output y (type (shape 4) f64 0.0 dense)) (for i (for j (+= (y i) (* (A i j) (x j))))))",
        expect![[r#"

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

            // kernel
            //   buffer 0, A_val: input values of f64, `A.val`
            //   buffer 1, x_val: input values of f64, `x.val`
            //   buffer 2, y_val: owned values of f64, `y.val`
            //   buffer 3, lengths: owned indices of i64, `lengths`
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const double *__restrict__ const A_val = (const double *)launch.windows[0][0].data;
                const double *__restrict__ const x_val = (const double *)launch.windows[1][0].data;
                double *const y_val = (double *)launch.windows[2][0].data;
                rp_window *const lengths__window = launch.windows[3] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n4 = launch.params[0];
                const int64_t n5 = launch.params[1];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t chunk_2, chunk_3, row;
                double acc;
                uint32_t rounds = 0;
                RP_GROW(lengths, 1);
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n4, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2; i < chunk_3; i++) {
                        RP_POLL(16);
                        acc = 0.0;
                        row = rp_mul_i64(i, n5);
                        {
                            double acc__0 = 0.0;
                            const int64_t j__from = 0, j__end = n5;
                            for (int64_t j = j__from + lane; j < j__end; j += 16) acc__0 = acc__0 + A_val[row + j] * x_val[j];
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 8, 16);
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 4, 16);
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 2, 16);
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 1, 16);
                            acc = acc + (double)__shfl_sync(mask, acc__0, 0, 16);
                        }
                        if (lane == 0) y_val[i] = acc;
                    }
                }
                if (lane == 0) lengths[0] = n4;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(16), mask = RP_MASK(16);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 16;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 16) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 16);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

#[test]
fn counts_of_columns() {
    check(
        "(program (input A (type (shape 4 5) i64 0 csr)) (output s (type (shape 5) i64 0 dense))
           (for i (for j (+= (s j) (A i j)))))",
        expect![[r#"

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

            // kernel
            //   buffer 0, A_ptr1: input indices of i32, `A.ptr1`
            //   buffer 1, A_idx1: input indices of u32, `A.idx1`
            //   buffer 2, A_val: input values of i64, `A.val`
            //   buffer 3, s_val: owned values of i64, `s.val`
            //   buffer 4, lengths: owned indices of i64, `lengths`
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const A_ptr1 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const A_idx1 = (const uint32_t *)launch.windows[1][0].data;
                const int64_t *__restrict__ const A_val = (const int64_t *)launch.windows[2][0].data;
                int64_t *const s_val = (int64_t *)launch.windows[3][0].data;
                rp_window *const lengths__window = launch.windows[4] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n4 = launch.params[0];
                const int64_t n5 = launch.params[1];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t chunk_2, chunk_3, q, q_end, i_2, first, last;
                uint32_t own_rounds = 0;
                int stopped = 0;
                first = launch.sections[2 * chunk];
                last = launch.sections[2 * chunk + 1];
                RP_GROW(lengths, 1);
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n4, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2 + (int64_t)lane; i < chunk_3; i += 32) {
                        RP_POLL_ALONE();
                        q = rp_max_i64(A_ptr1[i], first);
                        q_end = rp_min_i64(A_ptr1[i + 1], last);
                        while (q < q_end) {
                            i_2 = A_idx1[q];
                            atomicAdd((unsigned long long *)&s_val[i_2], (unsigned long long)(A_val[q]));
                            q = rp_add_i64(q, 1);
                        }
                    }
                    if (rp_any(stopped, mask, 32)) return RP_CANCELLED;
                }
                if (lane == 0) lengths[0] = n5;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(32), mask = RP_MASK(32);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 32) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 32);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

/// The lanes in the program are those of a team.
#[test]
fn spmv_in_lanes() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
           (output y (type (shape 4) f64 0.0 dense))
           (for i (lanes-for 4 j (+= (y i) (* (A i j) (x j))))))",
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
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const A_ptr1 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const A_idx1 = (const uint32_t *)launch.windows[1][0].data;
                const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
                const double *__restrict__ const x_val = (const double *)launch.windows[3][0].data;
                double *const y_val = (double *)launch.windows[4][chunk].data;
                rp_window *const lengths__window = launch.windows[5] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n4 = launch.params[0];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t chunk_2, chunk_3, q, q_end, first, last;
                double acc;
                uint32_t rounds = 0;
                first = launch.sections[2 * chunk];
                last = launch.sections[2 * chunk + 1];
                RP_GROW(lengths, 1);
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n4, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2; i < chunk_3; i++) {
                        RP_POLL(4);
                        acc = 0.0;
                        q = rp_max_i64(A_ptr1[i], first);
                        q_end = rp_min_i64(A_ptr1[i + 1], last);
                        {
                            double acc__0 = 0.0;
                            const int64_t q_2__from = q, q_2__end = q_end;
                            for (int64_t q_2 = q_2__from + lane; q_2 < q_2__end; q_2 += 4) acc__0 = acc__0 + A_val[q_2] * x_val[A_idx1[q_2]];
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 2, 4);
                            acc__0 = acc__0 + (double)__shfl_down_sync(mask, acc__0, 1, 4);
                            acc = acc + (double)__shfl_sync(mask, acc__0, 0, 4);
                        }
                        if (lane == 0) y_val[i] = acc;
                    }
                }
                if (lane == 0) lengths[0] = n4;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(4), mask = RP_MASK(4);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 4;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 4) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 4);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

#[test]
fn galloping_intersection() {
    check(
        "(program (input A (type (shape 9) f64 0.0 csf)) (input B (type (shape 9) f64 0.0 csf))
           (output s (type (shape) f64 0.0 dense))
           (for i (+= (s) (* (A (gallop i)) (B (gallop i))))))",
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
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 1);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

#[test]
fn sum_of_runs() {
    check(
        "(program (input A (type (shape 9) f64 2.0 csf)) (output s (type (shape) f64 0.0 dense))
           (for i (+= (s) (A i))))",
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
            //   buffer 0, A_ptr0: input indices of i32, `A.ptr0`
            //   buffer 1, A_idx0: input indices of u32, `A.idx0`
            //   buffer 2, A_val: input values of f64, `A.val`
            //   buffer 3, s_val: owned values of f64, `s.val`
            //   buffer 4, lengths: owned indices of i64, `lengths`
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const int32_t *__restrict__ const A_ptr0 = (const int32_t *)launch.windows[0][0].data;
                const uint32_t *__restrict__ const A_idx0 = (const uint32_t *)launch.windows[1][0].data;
                const double *__restrict__ const A_val = (const double *)launch.windows[2][0].data;
                rp_window *const s_val__window = launch.windows[3] + chunk;
                int64_t s_val__requested = s_val__window->requested;
                int64_t s_val__capacity = s_val__window->capacity;
                double *s_val = (double *)s_val__window->data;
                rp_window *const lengths__window = launch.windows[4] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n9 = launch.params[0];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t chunk_2, chunk_3, q, q_end, i, step, hi, mid;
                int64_t cur, n, n_2;
                double s;
                uint32_t rounds = 0;
                RP_GROW(lengths, 1);
                s = 0.0;
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n9, chunk_hi);
                if (chunk_2 < chunk_3) {
                    q = A_ptr0[0];
                    q_end = A_ptr0[1];
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
                    cur = chunk_2;
                    while (q < q_end) {
                        RP_POLL(1);
                        i = A_idx0[q];
                        if (chunk_3 < i + 1) {
                            break;
                        }
                        if (cur < i) {
                            n = i - cur;
                            s = s + 2.0 * (double)n;
                        }
                        s = s + A_val[q];
                        q = q + 1;
                        cur = i + 1;
                    }
                    if (cur < chunk_3) {
                        n_2 = chunk_3 - cur;
                        s = s + 2.0 * (double)n_2;
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
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 1);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

#[test]
fn xor_with_fill_true() {
    check(
        "(program (input A (type (shape 9) bool true csf)) (input B (type (shape 9) bool false csf))
           (output C (type (shape 9) bool true csf))
           (for i (init (C i) (xor (A i) (B i)))))",
        expect![[r#"

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
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 1);
                    if (lane == 0) launch.status[chunk] = status;
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
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 1) ? RP_CANCELLED
                        : redpoll_grid_1_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 1);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

#[test]
fn histogram_of_bytes() {
    check(
        "(program (input P (type (shape 5) u8 0 dense)) (output y (type (shape 256) i64 0 dense))
           (output z (type (shape 9) i64 0 dense))
           (for i (let p (cast-i64 (P i)) (block
             (if (and (ge p 0) (lt p 256)) (+= (y p) 1)) (if (and (ge p 0) (lt p 9)) (+= (z p) 1))))))",
        expect![[r#"

            static inline int64_t rp_max_i64(int64_t a, int64_t b) {
                return a > b ? a : b;
            }

            static inline int64_t rp_min_i64(int64_t a, int64_t b) {
                return a < b ? a : b;
            }

            // kernel
            //   buffer 0, P_val: input values of u8, `P.val`
            //   buffer 1, y_val: owned values of i64, `y.val`
            //   buffer 2, z_val: owned values of i64, `z.val`
            //   buffer 3, lengths: owned indices of i64, `lengths`
            static int32_t redpoll_grid_0_chunk(const rp_launch &launch, const int64_t chunk, const int64_t team, const uint32_t lane,
                                                const uint32_t mask) {
                const uint8_t *__restrict__ const P_val = (const uint8_t *)launch.windows[0][0].data;
                int64_t *const y_val = (int64_t *)launch.windows[1][0].data;
                int64_t *const z_val = (int64_t *)launch.windows[2][0].data;
                rp_window *const lengths__window = launch.windows[3] + chunk;
                int64_t lengths__requested = lengths__window->requested;
                int64_t lengths__capacity = lengths__window->capacity;
                int64_t *lengths = (int64_t *)lengths__window->data;
                const int64_t n5 = launch.params[0];
                const int64_t n256 = launch.params[1];
                const int64_t n9 = launch.params[2];
                int64_t chunk_lo = launch.chunks[2 * chunk];
                int64_t chunk_hi = launch.chunks[2 * chunk + 1];
                int64_t chunk_2, chunk_3, v;
                uint32_t own_rounds = 0;
                int stopped = 0;
                RP_GROW(lengths, 2);
                chunk_2 = rp_max_i64(0, chunk_lo);
                chunk_3 = rp_min_i64(n5, chunk_hi);
                if (chunk_2 < chunk_3) {
                    for (int64_t i = chunk_2 + (int64_t)lane; i < chunk_3; i += 32) {
                        RP_POLL_ALONE();
                        v = (int64_t)P_val[i];
                        atomicAdd((unsigned long long *)&y_val[v], (unsigned long long)(1));
                        if (v < 9) {
                            atomicAdd((unsigned long long *)&z_val[v], (unsigned long long)(1));
                        }
                    }
                    if (rp_any(stopped, mask, 32)) return RP_CANCELLED;
                }
                if (lane == 0) lengths[0] = n256;
                if (lane == 0) lengths[1] = n9;
                return RP_DONE;
            }

            extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
                const uint32_t lane = RP_LANE(32), mask = RP_MASK(32);
                const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
                if (team >= launch.team_count) return;
                int32_t status = RP_DONE;
                for (int64_t chunk = team; chunk < launch.chunk_count; chunk += launch.team_count) {
                    status = rp_cancelled(launch, lane, mask, 32) ? RP_CANCELLED
                        : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
                    rp_barrier(mask, 32);
                    if (lane == 0) launch.status[chunk] = status;
                }
            }
        "#]],
    );
}

/// Queries that the device cannot run with the same bits are rejected by name.
#[test]
fn functions_of_the_host_are_declined() {
    let grids = grids(
        "(program (input x (type (shape 5) f64 0.0 dense)) (output y (type (shape 5) f64 1.0 dense))
           (for i (init (y i) (exp (x i)))))",
    );
    let error = emit(&grids.iter().collect::<Vec<_>>()).unwrap_err().to_string();
    assert_eq!(error, "compiling `kernel`: `exp` is a function of the host; run this query on the CPU");
}
