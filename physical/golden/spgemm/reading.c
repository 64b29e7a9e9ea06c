static inline int64_t max(int64_t a, int64_t b) {
    return a > b ? a : b;
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
    double *C_val,
    int32_t *w_ptr,
    uint32_t *w_idx,
    uint8_t *w_map0,
    double *w_val) {
    int64_t len, pw_end, iw, jA, jB, pw_end_2, iw_2, end;
    int64_t iw_3;
    pw_end = 0;
    len = 0;
    // parallel: threads share the rounds
    for (int64_t i = 0; i < n_i; i++) {
        for (int64_t pw = 0; pw < pw_end; pw++) {
            // along level 0 of w
            iw = w_idx[pw];
            w_map0[iw] = 0;
            w_val[iw] = 0.0;
        }
        pw_end = 0;
        for (int64_t pA = A_ptr[i]; pA < A_ptr[i + 1]; pA++) {
            // along level 1 of A
            jA = A_idx[pA];
            for (int64_t pB = B_ptr[jA]; pB < B_ptr[jA + 1]; pB++) {
                // along level 1 of B
                jB = B_idx[pB];
                w_val[jB] = w_val[jB] + A_val[pA] * B_val[pB];
                if (w_map0[jB] == 0) {
                    w_idx[pw_end] = jB;
                    pw_end = pw_end + 1;
                    w_map0[jB] = 1;
                }
            }
        }
        sort(w_idx, 0, pw_end);
        w_ptr[1] = pw_end;
        pw_end_2 = w_ptr[1];
        for (int64_t pw_2 = w_ptr[0]; pw_2 < pw_end_2; pw_2++) {
            // along level 0 of w
            iw_2 = w_idx[pw_2];
            C_val[len] = w_val[iw_2];
            C_idx[len] = iw_2;
            len = len + 1;
        }
        C_ptr[i + 1] = len;
    }
    end = C_ptr[0];
    for (int64_t p = 0; p < n_i; p++) {
        end = max(end, C_ptr[p + 1]);
        C_ptr[p + 1] = end;
    }
    for (int64_t pw_3 = 0; pw_3 < pw_end; pw_3++) {
        // along level 0 of w
        iw_3 = w_idx[pw_3];
        w_map0[iw_3] = 0;
        w_val[iw_3] = 0.0;
    }
}
