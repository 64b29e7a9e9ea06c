void kernel(
    int64_t n_i,
    const int32_t *E_ptr,
    const uint32_t *E_idx,
    const int64_t *E_val,
    int64_t *n) {
    int64_t n_2, jE, pE_2, pE_end, jE_2, pE_3, pE_end_2, jE_3;
    n_2 = 0;
    // parallel: threads share the rounds
    for (int64_t i = 0; i < n_i; i++) {
        for (int64_t pE = E_ptr[i]; pE < E_ptr[i + 1]; pE++) {
            // along level 1 of E
            jE = E_idx[pE];
            pE_2 = E_ptr[jE];
            pE_end = E_ptr[jE + 1];
            pE_3 = E_ptr[i];
            pE_end_2 = E_ptr[i + 1];
            while (pE_2 < pE_end && pE_3 < pE_end_2) {
                // along level 1 of E
                jE_2 = E_idx[pE_2];
                jE_3 = E_idx[pE_3];
                if (jE_2 == jE_3) {
                    n_2 = n_2 + E_val[pE] * (E_val[pE_2] * E_val[pE_3]);
                }
                pE_2 = pE_2 + (jE_2 <= jE_3);
                pE_3 = pE_3 + (jE_3 <= jE_2);
            }
        }
    }
    n[0] = n_2;
}
