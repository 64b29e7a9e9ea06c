
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
    rp_barrier(mask, 8);
    const int64_t n7 = launch.params[0];
    const int64_t n40 = launch.params[2];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t len, touched, chunk_2, chunk_3, p, q, q_end, i_2;
    int64_t q_2, q_end_2, i_3, q_3, q_end_3, i_4, written, written_2;
    int64_t end, p_3;
    uint32_t rounds = 0;
    uint32_t own_rounds = 0;
    int stopped = 0;
    touched = 0;
    RP_GROW(lengths, 3);
    len = lengths[1];
    chunk_2 = rp_max_i64(0, chunk_lo);
    chunk_3 = rp_min_i64(n7, chunk_hi);
    if (chunk_2 < chunk_3) {
        for (int64_t i = chunk_2; i < chunk_3; i++) {
            RP_POLL(8);
            rp_barrier(mask, 8);
            for (int64_t k = 0 + (int64_t)lane; k < touched; k += 8) {
                p = w_idx0[k];
                w_map0[p] = 0;
                w_val[p] = 0.0;
            }
            touched = 0;
            RP_GROW_OR_MOVE(w_map0, n40, 8);
            RP_GROW_OR_MOVE(w_val, n40, 8);
            q = A_ptr1[i];
            q_end = A_ptr1[i + 1];
            while (q < q_end) {
                RP_POLL(8);
                i_2 = A_idx1[q];
                q_2 = B_ptr1[i_2];
                q_end_2 = B_ptr1[i_2 + 1];
                rp_barrier(mask, 8);
                for (int64_t q_2__from = q_2, q_2__end = q_end_2; q_2__from < q_2__end; q_2__from += 8) {
                    const int64_t q_2 = q_2__from + (int64_t)lane;
                    int q_2__stage = 0;
                    if (q_2 < q_2__end) {
                        i_3 = B_idx1[q_2];
                        w_val[i_3] = w_val[i_3] + A_val[q] * B_val[q_2];
                        q_2__stage = 1;
                        if (!(w_map0[i_3] != 0)) {
                            q_2__stage = 2;
                        }
                    }
                    int64_t q_2__count;
                    const int64_t q_2__rank = rp_rank(q_2__stage == 2, q_2__count, lane, mask, 8);
                    const int64_t touched__from = touched;
                    if (q_2__count > 0) {
                        touched = touched__from + (q_2__count - 1);
                        RP_GROW_OR_MOVE(w_idx0, touched + 1, 8);
                    }
                    touched = touched__from + q_2__rank;
                    if (q_2__stage > 0) {
                        if (q_2__stage > 1) {
                            w_idx0[touched] = i_3;
                            touched = touched + 1;
                            w_map0[i_3] = 1;
                        }
                    }
                    touched = touched__from + q_2__count;
                }
                q = q + 1;
            }
            rp_sort(w_idx0, 0, touched, lane, mask, 8);
            RP_GROW_OR_MOVE(w_ptr0, 2, 8);
            if (!(touched < INT64_C(2147483648))) {
                return RP_POSITION_OVERFLOW;
            }
            if (lane == 0) w_ptr0[1] = touched;
            rp_barrier(mask, 8);
            q_3 = w_ptr0[0];
            q_end_3 = w_ptr0[1];
            for (int64_t q_3__from = q_3, q_3__end = q_end_3; q_3__from < q_3__end; q_3__from += 8) {
                const int64_t q_3 = q_3__from + (int64_t)lane;
                const int64_t q_3__count = q_3__end - q_3__from < 8 ? q_3__end - q_3__from : 8;
                const int64_t len__from = len;
                len = len__from + (q_3__count - 1);
                RP_GROW(C_val, len + 1);
                RP_GROW(C_idx1, len + 1);
                len = len__from + (int64_t)lane;
                if (q_3 < q_3__end) {
                    i_4 = w_idx0[q_3];
                    C_val[len] = w_val[i_4];
                    C_idx1[len] = i_4;
                    len = len + 1;
                }
                len = len__from + q_3__count;
            }
            if (lane == 0) C_ptr1[i + 1] = len;
        }
    }
    written = rp_max_i64(rp_min_i64(chunk_lo, n7), 0);
    written_2 = rp_max_i64(rp_min_i64(chunk_hi, n7), 0);
    if (!(len < INT64_C(2147483648))) {
        return RP_POSITION_OVERFLOW;
    }
    rp_barrier(mask, 8);
    end = C_ptr1[written];
    for (int64_t p_2 = written; p_2 < written_2; p_2++) {
        RP_POLL(8);
        rp_barrier(mask, 8);
        end = rp_max_i64(end, C_ptr1[p_2 + 1]);
        rp_barrier(mask, 8);
        if (lane == 0) C_ptr1[p_2 + 1] = end;
    }
    if (lane == 0) lengths[0] = n7 + 1;
    if (lane == 0) lengths[1] = len;
    if (lane == 0) lengths[2] = len;
    for (int64_t k_2 = 0 + (int64_t)lane; k_2 < touched; k_2 += 8) {
        RP_POLL_ALONE();
        p_3 = w_idx0[k_2];
        w_map0[p_3] = 0;
        w_val[p_3] = 0.0;
    }
    if (rp_any(stopped, mask, 8)) return RP_CANCELLED;
    touched = 0;
    RP_GROW_OR_MOVE(w_map0, n40, 8);
    RP_GROW_OR_MOVE(w_val, n40, 8);
    return RP_DONE;
}

extern "C" __global__ void redpoll_grid_0(const rp_launch launch) {
    const uint32_t lane = RP_LANE(8), mask = RP_MASK(8);
    const int64_t team = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 8;
    if (team >= launch.team_count) return;
    uint64_t *next = rp_shared + threadIdx.x / 8 * (launch.share / 8);
    rp_begin_window(launch.windows[9][team], (int32_t)0, next, lane, 8);
    rp_begin_window(launch.windows[10][team], (uint32_t)0, next, lane, 8);
    rp_begin_window(launch.windows[11][team], (uint8_t)0, next, lane, 8);
    rp_begin_window(launch.windows[12][team], (double)0.0, next, lane, 8);
    rp_barrier(mask, 8);
    int64_t chunk = team;
    while (chunk < launch.chunk_count) {
        const int32_t status = rp_cancelled(launch, lane, mask, 8) ? RP_CANCELLED
            : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
        rp_barrier(mask, 8);
        if (lane == 0) launch.status[chunk] = status;
        if (status == RP_OUT_OF_CAPACITY) return;
        chunk = rp_next_chunk(launch, lane, mask, 8);
    }
}
