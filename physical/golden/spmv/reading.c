void kernel(
    int64_t n_i,
    const int32_t *A_ptr,
    const uint32_t *A_idx,
    const double *A_val,
    const double *x,
    double *y) {
    int64_t jA;
    double acc;
    // parallel: threads share the rounds
    for (int64_t i = 0; i < n_i; i++) {
        acc = 0.0;
        for (int64_t pA = A_ptr[i]; pA < A_ptr[i + 1]; pA++) {
            // along level 1 of A
            jA = A_idx[pA];
            acc = acc + A_val[pA] * x[jA];
        }
        y[i] = acc;
    }
}
