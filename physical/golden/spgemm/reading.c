int kernel(
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
    double *w_val,
    int64_t *lengths) {
    int64_t len, touched, iw, pA, pA_end, jA, pB, pB_end;
    int64_t jB, pw_2, pw_end, iw_2, end, iw_3;
    touched = 0;
    len = lengths[1];
    for (int64_t i = 0; i < n_i; i++) {
        for (int64_t pw = 0; pw < touched; pw++) {
            // along level 0 of w
            iw = w_idx[pw];
            w_map0[iw] = 0;
            w_val[iw] = 0.0;
        }
        touched = 0;
        pA = A_ptr[i];
        pA_end = A_ptr[i + 1];
        while (pA < pA_end) {
            // along level 1 of A
            jA = A_idx[pA];
            pB = B_ptr[jA];
            pB_end = B_ptr[jA + 1];
            while (pB < pB_end) {
                // along level 1 of B
                jB = B_idx[pB];
                w_val[jB] = w_val[jB] + A_val[pA] * B_val[pB];
                if (!(w_map0[jB] != 0)) {
                    w_idx[touched] = jB;
                    touched = touched + 1;
                    w_map0[jB] = 1;
                }
                pB = pB + 1;
            }
            pA = pA + 1;
        }
        sort(w_idx, 0, touched);
        if (!(touched < INT64_C(2147483648))) {
            return RP_POSITION_OVERFLOW;
        }
        w_ptr[1] = touched;
        pw_2 = w_ptr[0];
        pw_end = w_ptr[1];
        while (pw_2 < pw_end) {
            // along level 0 of w
            iw_2 = w_idx[pw_2];
            C_val[len] = w_val[iw_2];
            C_idx[len] = iw_2;
            len = len + 1;
            pw_2 = pw_2 + 1;
        }
        C_ptr[i + 1] = len;
    }
    if (!(len < INT64_C(2147483648))) {
        return RP_POSITION_OVERFLOW;
    }
    end = C_ptr[0];
    for (int64_t p = 0; p < n_i; p++) {
        end = rp_max_i64(end, C_ptr[p + 1]);
        C_ptr[p + 1] = end;
    }
    lengths[0] = n_i + 1;
    lengths[1] = len;
    lengths[2] = len;
    for (int64_t pw_3 = 0; pw_3 < touched; pw_3++) {
        // along level 0 of w
        iw_3 = w_idx[pw_3];
        w_map0[iw_3] = 0;
        w_val[iw_3] = 0.0;
    }
    touched = 0;
    return RP_DONE;
}
