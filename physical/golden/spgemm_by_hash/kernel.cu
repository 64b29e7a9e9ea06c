
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
    rp_barrier(mask, 32);
    const int64_t n4 = launch.params[0];
    const int64_t n3 = launch.params[2];
    int64_t chunk_lo = launch.chunks[2 * chunk];
    int64_t chunk_hi = launch.chunks[2 * chunk + 1];
    int64_t entries, slots, p, chunk_2, chunk_3, q, q_end, i_2;
    int64_t q_2, q_end_2, i_3, entry, slot, slot_2, found, q_3;
    int64_t q_end_3, entry_2, i_4, row;
    uint32_t rounds = 0;
    entries = 0;
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
                        rp_barrier(mask, 32);
                        if (lane == 0) w_val[entry] = 0.0;
                    }
                    rp_barrier(mask, 32);
                    if (lane == 0) w_val[entry] = w_val[entry] + A_val[q] * B_val[q_2];
                    if (entry == entries) {
                        RP_GROW_OR_MOVE(w_parent0, entries + 1, 32);
                        RP_GROW_OR_MOVE(w_coordinate0, entries + 1, 32);
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
            for (int64_t p_3 = 0 + (int64_t)lane; p_3 < 2; p_3 += 32) {
                w_ptr0[p_3] = 0;
            }
            RP_GROW_OR_MOVE(w_pos0, entries, 32);
            RP_GROW_OR_MOVE(w_idx0, entries, 32);
            for (int64_t e_2 = 0; e_2 < entries; e_2++) {
                RP_POLL(32);
                rp_barrier(mask, 32);
                if (lane == 0) w_pos0[e_2] = e_2;
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
            rp_barrier(mask, 32);
            for (int64_t q_3__from = q_3, q_3 = q_3__from + (int64_t)lane; q_3 < q_end_3; q_3 += 32) {
                i_4 = w_idx0[q_3];
                entry_2 = w_pos0[q_3];
                C_val[row + i_4] = C_val[row + i_4] + w_val[entry_2];
            }
        }
    }
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
    int64_t chunk = team;
    while (chunk < launch.chunk_count) {
        const int32_t status = rp_cancelled(launch, lane, mask, 32) ? RP_CANCELLED
            : redpoll_grid_0_chunk(launch, chunk, team, lane, mask);
        rp_barrier(mask, 32);
        if (lane == 0) launch.status[chunk] = status;
        if (status == RP_OUT_OF_CAPACITY) return;
        chunk = rp_next_chunk(launch, lane, mask, 32);
    }
}
