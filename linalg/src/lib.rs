//! Factorizations of dense and sparse tensors by faer.
