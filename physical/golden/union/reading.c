int kernel(
    int64_t n9,
    const int32_t *A_ptr,
    const uint32_t *A_idx,
    const double *A_val,
    const int32_t *B_ptr,
    const uint32_t *B_idx,
    const double *B_val,
    int32_t *C_ptr,
    uint32_t *C_idx,
    double *C_val,
    int64_t *lengths) {
    int64_t len, pA, pA_end, iA, pB, pB_end, iB, p;
    int64_t stop, stop_2, p_2;
    len = lengths[1];
    if (0 < n9) {
        pA = A_ptr[0];
        pA_end = A_ptr[1];
        pB = B_ptr[0];
        pB_end = B_ptr[1];
        while (pA < pA_end && pB < pB_end) {
            // along level 0 of A and level 0 of B
            iA = A_idx[pA];
            iB = B_idx[pB];
            p = rp_min_i64(iA, iB);
            if (n9 < p + 1) {
                break;
            }
            if ((uint64_t)iA <= (uint64_t)iB) {
                if ((uint64_t)iB <= (uint64_t)iA) {
                    C_val[len] = A_val[pA] + B_val[pB];
                    C_idx[len] = p;
                    len = len + 1;
                    pA = pA + 1;
                    pB = pB + 1;
                } else {
                    C_val[len] = A_val[pA];
                    C_idx[len] = p;
                    len = len + 1;
                    pA = pA + 1;
                }
            } else {
                if ((uint64_t)iB <= (uint64_t)iA) {
                    C_val[len] = B_val[pB];
                    C_idx[len] = p;
                    len = len + 1;
                    pB = pB + 1;
                }
            }
        }
        while ((pA < pA_end) | (pB < pB_end)) {
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
            p_2 = rp_min_i64(stop, stop_2);
            if (n9 < p_2 + 1) {
                break;
            }
            if ((uint64_t)stop <= (uint64_t)stop_2) {
                if ((uint64_t)stop_2 <= (uint64_t)stop) {
                    C_val[len] = A_val[pA] + B_val[pB];
                    C_idx[len] = p_2;
                    len = len + 1;
                    pA = pA + 1;
                    pB = pB + 1;
                } else {
                    C_val[len] = A_val[pA];
                    C_idx[len] = p_2;
                    len = len + 1;
                    pA = pA + 1;
                }
            } else {
                if ((uint64_t)stop_2 <= (uint64_t)stop) {
                    C_val[len] = B_val[pB];
                    C_idx[len] = p_2;
                    len = len + 1;
                    pB = pB + 1;
                }
            }
        }
        C_ptr[1] = len;
    }
    if (!(len < INT64_C(2147483648))) {
        return RP_POSITION_OVERFLOW;
    }
    C_ptr[1] = len;
    lengths[0] = 2;
    lengths[1] = len;
    lengths[2] = len;
    return RP_DONE;
}
