// Hand-written kernels, optimized as a C programmer would: with the algorithms, formats, index
// widths and guarantees of the kernels that redpoll emits for the same programs. The head of a unit
// of redpoll precedes this text and defines the calling convention. BUFFER(name) is the number of a
// buffer; FIRST_SIZE and LAST_SIZE are the outermost and innermost size of the program.

static int32_t room(rp_frame *frame, uint32_t buffer, int64_t length) {
    if ((int64_t)frame->buffers[buffer].len >= length) return RP_DONE;
    return frame->callbacks->grow(frame->host, buffer, length);
}

#define ROOM(name, length)                                            \
    do {                                                              \
        const int32_t status = room(frame, BUFFER(name), length);     \
        if (status) return status;                                    \
    } while (0)

#define DATA(name) frame->buffers[BUFFER(name)].data

// The bounds of the range of rows of this call.
static int64_t first_row(const rp_frame *frame) { return frame->chunk_lo > 0 ? frame->chunk_lo : 0; }
static int64_t end_row(const rp_frame *frame, int64_t rows) { return frame->chunk_hi < rows ? frame->chunk_hi : rows; }

#ifdef SPMV
// y_i = sum_j A_ij x_j with one sum per row, in the order of the entries.
static void spmv(int64_t lo, int64_t hi, const int32_t *restrict ptr, const uint32_t *restrict idx,
                 const double *restrict val, const double *restrict x, double *restrict y) {
    for (int64_t i = lo; i < hi; i++) {
        double sum = 0.0;
        for (int64_t q = ptr[i]; q < ptr[i + 1]; q++) sum += val[q] * x[idx[q]];
        y[i] = sum;
    }
}

int32_t redpoll_kernel_0(rp_frame *frame) {
    const int64_t rows = FIRST_SIZE;
    ROOM(lengths, 1);
    ROOM(y_val, rows);
    spmv(first_row(frame), end_row(frame, rows), DATA(A_ptr1), DATA(A_idx1), DATA(A_val), DATA(x_val), DATA(y_val));
    ((int64_t *)DATA(lengths))[0] = rows;
    return RP_DONE;
}
#endif

#ifdef SPGEMM
// C_ij = sum_k A_ik B_kj row by row (Gustavson), with a dense row of values, a dense row of marks,
// and a list of touched columns. The list is sorted before the row is appended. The memory for a
// row is allocated at once.
static int64_t touch(int64_t lo, int64_t hi, const uint32_t *restrict a_idx, const double *restrict a_val,
                     const int32_t *restrict b_ptr, const uint32_t *restrict b_idx, const double *restrict b_val,
                     uint8_t *restrict mark, double *restrict row, uint32_t *restrict list) {
    int64_t touched = 0;
    for (int64_t p = lo; p < hi; p++) {
        const int64_t k = a_idx[p];
        const double scale = a_val[p];
        for (int64_t q = b_ptr[k]; q < b_ptr[k + 1]; q++) {
            const uint32_t j = b_idx[q];
            row[j] += scale * b_val[q];
            if (!mark[j]) {
                mark[j] = 1;
                list[touched++] = j;
            }
        }
    }
    return touched;
}

static void append(int64_t touched, const uint32_t *restrict list, uint8_t *restrict mark, double *restrict row,
                   uint32_t *restrict idx, double *restrict val) {
    for (int64_t k = 0; k < touched; k++) {
        const uint32_t j = list[k];
        idx[k] = j;
        val[k] = row[j];
        row[j] = 0.0;
        mark[j] = 0;
    }
}

int32_t redpoll_kernel_0(rp_frame *frame) {
    const int64_t rows = FIRST_SIZE, columns = LAST_SIZE;
    ROOM(lengths, 3);
    ROOM(C_ptr1, rows + 1);
    ROOM(w_map0, columns);
    ROOM(w_val, columns);
    ROOM(w_idx0, columns);
    int32_t *ptr = DATA(C_ptr1);
    int64_t length = 0;
    const int32_t *a_ptr = DATA(A_ptr1);
    const int64_t end = end_row(frame, rows);
    for (int64_t i = first_row(frame); i < end; i++) {
        const int64_t touched = touch(a_ptr[i], a_ptr[i + 1], DATA(A_idx1), DATA(A_val), DATA(B_ptr1), DATA(B_idx1),
                                      DATA(B_val), DATA(w_map0), DATA(w_val), DATA(w_idx0));
        frame->callbacks->sort(frame->host, BUFFER(w_idx0), 0, touched);
        ROOM(C_idx1, length + touched);
        ROOM(C_val, length + touched);
        append(touched, DATA(w_idx0), DATA(w_map0), DATA(w_val), (uint32_t *)DATA(C_idx1) + length,
               (double *)DATA(C_val) + length);
        length += touched;
        if (length > INT32_MAX) return RP_POSITION_OVERFLOW;
        ptr[i + 1] = (int32_t)length;
    }
    int64_t *lengths = DATA(lengths);
    lengths[0] = rows + 1;
    lengths[1] = length;
    lengths[2] = length;
    return RP_DONE;
}
#endif

#ifdef TRIANGLES
// sum_ijk E_ij E_jk E_ik by merging rows, without a branch on equal coordinates.
static int64_t triangles(int64_t lo, int64_t hi, const int32_t *restrict ptr, const uint32_t *restrict idx) {
    int64_t n = 0;
    for (int64_t i = lo; i < hi; i++) {
        for (int64_t e = ptr[i]; e < ptr[i + 1]; e++) {
            const int64_t j = idx[e];
            int64_t p = ptr[j], q = ptr[i];
            const int64_t p_end = ptr[j + 1], q_end = ptr[i + 1];
            while (p < p_end && q < q_end) {
                const uint32_t a = idx[p], b = idx[q];
                n += a == b;
                p += a <= b;
                q += b <= a;
            }
        }
    }
    return n;
}

int32_t redpoll_kernel_0(rp_frame *frame) {
    ROOM(lengths, 1);
    ROOM(n_val, 1);
    const int64_t rows = FIRST_SIZE;
    ((int64_t *)DATA(n_val))[0] = triangles(first_row(frame), end_row(frame, rows), DATA(E_ptr1), DATA(E_idx1));
    ((int64_t *)DATA(lengths))[0] = 1;
    return RP_DONE;
}
#endif

#ifdef MTTKRP
// M_ir = sum_jk X_ijk B_jr C_kr with all products in the innermost loop.
static void mttkrp(const int32_t *restrict ptr0, const uint32_t *restrict idx0, const int32_t *restrict ptr1,
                   const uint32_t *restrict idx1, const int32_t *restrict ptr2, const uint32_t *restrict idx2,
                   const double *restrict val, const double *restrict b, const double *restrict c, int64_t rank,
                   int64_t lo, int64_t hi, double *restrict m) {
    for (int64_t p0 = ptr0[0]; p0 < ptr0[1]; p0++) {
        const int64_t i = idx0[p0];
        if (i < lo || i >= hi) continue;
        double *restrict out = m + i * rank;
        for (int64_t p1 = ptr1[p0]; p1 < ptr1[p0 + 1]; p1++) {
            const double *restrict b_row = b + idx1[p1] * rank;
            for (int64_t p2 = ptr2[p1]; p2 < ptr2[p1 + 1]; p2++) {
                const double *restrict c_row = c + idx2[p2] * rank;
                const double value = val[p2];
                for (int64_t r = 0; r < rank; r++) out[r] += value * b_row[r] * c_row[r];
            }
        }
    }
}

int32_t redpoll_kernel_0(rp_frame *frame) {
    const int64_t rows = FIRST_SIZE, rank = LAST_SIZE;
    ROOM(lengths, 1);
    ROOM(M_val, rows * rank);
    mttkrp(DATA(X_ptr0), DATA(X_idx0), DATA(X_ptr1), DATA(X_idx1), DATA(X_ptr2), DATA(X_idx2), DATA(X_val), DATA(B_val),
           DATA(C_val), rank, first_row(frame), end_row(frame, rows), DATA(M_val));
    ((int64_t *)DATA(lengths))[0] = rows * rank;
    return RP_DONE;
}
#endif
