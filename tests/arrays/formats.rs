//! Formats of results.

use redpoll::Session;
use redpoll::logic::{Format, Prim};

/// The last of several requests for a format counts, whether the array is stored or not.
#[test]
fn the_last_request_for_a_format_counts() {
    let session = Session::default();
    let csr = session.triples([3, 2], Format::csr(), [([0, 1], 1.0), ([2, 0], 2.0)]);
    let lazy = csr.to_csc();
    let stored = session.array(lazy.collect().unwrap());
    for csc in [lazy, stored, csr.to_coo().to_csc()] {
        for array in [csc.to_csr(), csc.refill(0.0).to_csr(), csc.astype(Prim::F64).to_csr(), csc.refill(1.0).to_csr()]
        {
            assert_eq!(array.collect().unwrap().ty().format, Format::csr());
        }
        assert_eq!(csc.collect().unwrap().ty().format, Format::csc());
        assert_eq!((&csc * 2.0).to_csr().to_vec::<f64>().unwrap(), [0.0, 2.0, 0.0, 0.0, 4.0, 0.0]);
    }
}
