//! The engine that answered a call, or would answer it, for `EXPLAIN`.

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
    /// DataFusion, before the region was prepared.
    DataFusionFirst,
    /// DataFusion: the region cannot be prepared.
    DataFusionOnly,
    /// DataFusion: claiming is off, the rows of the region are left to DataFusion, or the session
    /// that would prepare the region has ended.
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

/// The engine that would answer a call now, as `EXPLAIN` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExpectedAnswer {
    /// An engine that is known in advance. Its text is the same as in `EXPLAIN ANALYZE`.
    Certain(AnswerSource),
    /// Redpoll, which prepares the region in the call.
    InCall,
    /// DataFusion, unless redpoll prepares and runs the region first.
    Race,
    /// DataFusion, unless the preparation that an earlier call has started ends first.
    InPreparation,
}

impl fmt::Display for ExpectedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExpectedAnswer::Certain(source) => return source.fmt(f),
            ExpectedAnswer::InCall => "prepared=no, a call prepares the region and answers with it",
            ExpectedAnswer::Race => {
                "prepared=no, a call is answered by DataFusion while the region is prepared, unless the region is faster"
            }
            ExpectedAnswer::InPreparation => {
                "prepared=no, the region is being prepared, and until then calls are answered by DataFusion"
            }
        })
    }
}
