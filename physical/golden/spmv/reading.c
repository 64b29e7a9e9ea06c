void kernel(
    int64_t n_i,
    const int32_t *A_ptr,
    const uint32_t *A_idx,
    const double *A_val,
    const double *x,
    double *y,
    int64_t *lengths) {
    int64_t pA, pA_end, jA;
    double acc;
    for (int64_t i = 0; i < n_i; i++) {
        acc = 0.0;
        pA = A_ptr[i];
        pA_end = A_ptr[i + 1];
        while (pA < pA_end) {
            // along level 1 of A
            jA = A_idx[pA];
            acc = acc + A_val[pA] * x[jA];
            pA = pA + 1;
        }
        y[i] = acc;
    }
    lengths[0] = n_i;
}
