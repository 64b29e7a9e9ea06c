void kernel(
    int64_t n_i,
    const int32_t *A_ptr,
    const uint32_t *A_idx,
    const double *A_val,
    const double *x,
    double *y) {
    int64_t pA_begin, pA_end;
    double acc;
    // parallel: threads share the rounds
    for (int64_t i = 0; i < n_i; i++) {
        acc = 0.0;
        pA_begin = A_ptr[i];
        pA_end = A_ptr[i + 1];
        // along level 1 of A, in 4 lanes
        for (int64_t pA = pA_begin; pA < pA_end; pA++) {
            acc = acc + A_val[pA] * x[A_idx[pA]];
        }
        y[i] = acc;
    }
}
