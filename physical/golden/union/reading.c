static inline int64_t min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

void kernel(
    int64_t n_i,
    const int32_t *A_ptr,
    const uint32_t *A_idx,
    const double *A_val,
    const int32_t *B_ptr,
    const uint32_t *B_idx,
    const double *B_val,
    int32_t *C_ptr,
    uint32_t *C_idx,
    double *C_val) {
    int64_t len, pA, pA_end, iA, pB, pB_end, iB, p;
    int64_t stop, stop_2, p_2;
    len = 0;
    if (0 < n_i) {
        pA = A_ptr[0];
        pA_end = A_ptr[1];
        pB = B_ptr[0];
        pB_end = B_ptr[1];
        while (pA < pA_end && pB < pB_end) {
            // along level 0 of A and level 0 of B
            iA = A_idx[pA];
            iB = B_idx[pB];
            p = min(iA, iB);
            if (n_i < p + 1) {
                break;
            }
            if (iA == iB) {
                C_val[len] = A_val[pA] + B_val[pB];
                C_idx[len] = iA;
                len = len + 1;
                pA = pA + 1;
                pB = pB + 1;
            } else if (iA < iB) {
                C_val[len] = A_val[pA];
                C_idx[len] = iA;
                len = len + 1;
                pA = pA + 1;
            } else {
                C_val[len] = B_val[pB];
                C_idx[len] = iB;
                len = len + 1;
                pB = pB + 1;
            }
        }
        // until every list has ended
        while (pA < pA_end || pB < pB_end) {
            // along level 0 of A and level 0 of B
            if (pA < pA_end) {
                iA = A_idx[pA];
                stop = iA;
            } else {
                stop = INT64_C(4611686018427387903);
            }
            if (pB < pB_end) {
                iB = B_idx[pB];
                stop_2 = iB;
            } else {
                stop_2 = INT64_C(4611686018427387903);
            }
            p_2 = min(stop, stop_2);
            if (n_i < p_2 + 1) {
                break;
            }
            if (stop == stop_2) {
                C_val[len] = A_val[pA] + B_val[pB];
                C_idx[len] = stop;
                len = len + 1;
                pA = pA + 1;
                pB = pB + 1;
            } else if (stop < stop_2) {
                C_val[len] = A_val[pA];
                C_idx[len] = stop;
                len = len + 1;
                pA = pA + 1;
            } else {
                C_val[len] = B_val[pB];
                C_idx[len] = stop_2;
                len = len + 1;
                pB = pB + 1;
            }
        }
        C_ptr[1] = len;
    }
    C_ptr[1] = len;
}
