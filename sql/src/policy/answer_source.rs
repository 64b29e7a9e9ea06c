//! The engine that answered a call, for `EXPLAIN`.

use std::fmt;

/// The engine that answered a call, as `EXPLAIN ANALYZE` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AnswerSource {
    /// Redpoll, with a cached region.
    Cached,
    /// Redpoll: this call prepared the region.
    InCall,
    /// Redpoll: the region was prepared in the background before DataFusion answered.
    Background,
    /// DataFusion, while the region is prepared.
    DataFusionFirst,
    /// DataFusion: the region cannot be prepared.
    DataFusionOnly,
    /// DataFusion: claiming is off, or the rows of the region are left to DataFusion.
    Fallback,
}

impl fmt::Display for AnswerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AnswerSource::Cached => "prepared=yes",
            AnswerSource::InCall => "prepared=no, prepared by this call",
            AnswerSource::Background => "prepared=no, prepared by this call before DataFusion answered",
            AnswerSource::DataFusionFirst => "prepared=no, answered by DataFusion while the region is prepared",
            AnswerSource::DataFusionOnly => "prepared=no, answered by DataFusion because the region cannot be prepared",
            AnswerSource::Fallback => "left to DataFusion",
        })
    }
}
