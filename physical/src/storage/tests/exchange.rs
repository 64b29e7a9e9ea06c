//! Record batches out and in.
