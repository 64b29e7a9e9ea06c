void kernel(
    int64_t n_i,
    const int32_t *E_ptr,
    const uint32_t *E_idx,
    const int64_t *E_val,
    int64_t *n,
    int64_t *lengths) {
    int64_t n_2, pE, pE_end, jE, pE_2, pE_end_2, jE_2, pE_3;
    int64_t pE_end_3, jE_3, p;
    n_2 = 0;
    for (int64_t i = 0; i < n_i; i++) {
        pE = E_ptr[i];
        pE_end = E_ptr[i + 1];
        while (pE < pE_end) {
            // along level 1 of E
            jE = E_idx[pE];
            pE_2 = E_ptr[jE];
            pE_end_2 = E_ptr[jE + 1];
            pE_3 = E_ptr[i];
            pE_end_3 = E_ptr[i + 1];
            while (pE_2 < pE_end_2 && pE_3 < pE_end_3) {
                // along level 1 of E
                jE_2 = E_idx[pE_2];
                jE_3 = E_idx[pE_3];
                p = rp_min_i64(jE_2, jE_3);
                if (((uint64_t)jE_2 <= (uint64_t)jE_3) & ((uint64_t)jE_3 <= (uint64_t)jE_2)) {
                    n_2 = n_2 + E_val[pE] * (E_val[pE_2] * E_val[pE_3]);
                }
                pE_2 = pE_2 + (int64_t)((uint64_t)jE_2 <= (uint64_t)jE_3);
                pE_3 = pE_3 + (int64_t)((uint64_t)jE_3 <= (uint64_t)jE_2);
            }
            pE = pE + 1;
        }
    }
    n[0] = n_2;
    lengths[0] = 1;
}
