//! Constraints on the storage of results: formats, fill values, and whether computed values that
//! equal the fill value are stored.

use super::Array;
use redpoll_logic::{ComputedFills, Format, Scalar};

macro_rules! formats {
    ($($name:ident $format:expr, $doc:literal;)*) => {
        impl Array {$(
            #[doc = $doc]
            ///
            /// ```
            /// # let session = redpoll::Session::default();
            /// let a = session.dense([2, 2], [0, 1, 0, 2]);
            #[doc = concat!("let stored = a.", stringify!($name), "().collect()?;")]
            /// assert_eq!(session.array(stored).to_vec::<i32>()?, [0, 1, 0, 2]);
            /// # Ok::<(), redpoll::Error>(())
            /// ```
            #[track_caller]
            #[must_use]
            pub fn $name(&self) -> Array {
                self.derive(stringify!($name), |state| {
                    let format: fn(usize) -> Format = $format;
                    Ok(state.with_expr(state.expr.clone().reformat(format(state.rank()))?))
                })
            }
        )*}
    };
}

formats! {
    to_csr |_| Format::csr(), "Stores the matrix with compressed rows.";
    to_csc |_| Format::csc(), "Stores the matrix with compressed columns.";
    to_csf Format::csf, "Stores the array with every mode compressed.";
    to_coo Format::coo, "Stores the array as a list of coordinates.";
    to_dense Format::dense, "Stores all elements of the array, in row-major order.";
}

impl Array {
    /// Stores the array in a format; mode `k` of the format is mode `k` of the array. A sparse
    /// format may also store computed values that equal the fill value, such as the difference of
    /// equal values; [`Array::drop_fills`] drops them.
    ///
    /// ```
    /// use redpoll::logic::Format;
    ///
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([4, 4], (0..16).map(|i| i % 5));
    /// assert_eq!(a.reformat(Format::bcsr(2, 2)).collect()?.ty().format, Format::bcsr(2, 2));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn reformat(&self, format: Format) -> Array {
        self.derive("reformat", |state| Ok(state.with_expr(state.expr.clone().reformat(format)?)))
    }

    /// Changes the fill value of the stored array. The values stay the same, and those equal to the
    /// new fill value need not be stored.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.vector([0.0, 2.0, 0.0]).exp().log().refill(f64::NEG_INFINITY);
    /// assert_eq!(a.to_vec::<f64>()?.len(), 3);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn refill(&self, fill: impl Into<Scalar>) -> Array {
        let fill = fill.into();
        self.derive("refill", |state| Ok(state.with_expr(state.expr.clone().refill(Some(fill), ComputedFills::Keep)?)))
    }

    /// Drops computed values that equal the fill value, where the format can omit them. If the fill
    /// value is a zero, zeros of the other sign are kept.
    ///
    /// ```
    /// use redpoll::logic::Format;
    ///
    /// # let session = redpoll::Session::default();
    /// let (a, b) = (session.dense([2, 2], [1, 2, 0, 4]), session.dense([2, 2], [1, 5, 0, 4]));
    /// let difference = (&a - &b).reformat(Format::csr());
    /// assert_eq!(difference.drop_fills().collect()?.count_stored()?, 1);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn drop_fills(&self) -> Array {
        self.derive("drop_fills", |state| Ok(state.with_expr(state.expr.clone().refill(None, ComputedFills::Drop)?)))
    }
}
