//! Each invalid construction gets its own clear error.
