//! Seeded faults: deliberate mistakes in the rules of lowering, which show that the tests would
//! detect them.
//!
//! Faults are active in this crate's tests only; elsewhere the checks compile to nothing.

/// A mistake in a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SeededFault {
    /// Thunk: the epilogue is dropped.
    ThunkEpilogue,
    /// Switch: the two sides are exchanged.
    SwitchSides,
    /// Switch: a select ignores the presence flag.
    SelectPresence,
    /// Sequence: a phase ends one coordinate late.
    PhaseStop,
    /// Sequence: the last phase is dropped.
    LastPhase,
    /// Spike: the run before the tail is dropped.
    SpikeRun,
    /// Spike: the tail is dropped.
    SpikeTail,
    /// Truncation: a spike that may be cut is treated as whole.
    TruncatedSpike,
    /// Stepper: the seek at the start is dropped.
    StartSeek,
    /// Stepper: every access steps in every round.
    StepCondition,
    /// Stepper: the extent after the last entry is dropped.
    Remainder,
    /// Stepper: an entry beyond the extent is consumed.
    BeyondExtent,
    /// Segments: a gap covers the entry after it.
    SegmentGap,
    /// Segments: a gap covers the block after it.
    SegmentBlock,
    /// Jumper: accesses that lag do not catch up.
    CatchUp,
    /// Lead: the entry found is treated as the one searched for.
    LeadEntry,
    /// Lead: an entry beyond the extent is consumed.
    LeadEnd,
    /// Lookup: the first coordinate is skipped.
    FirstCoordinate,
    /// Integration: a run has one round too many.
    RunLength,
    /// Integration: a pair takes the last coordinate of its run.
    LastOfRun,
    /// Accumulators are not stored after their loop.
    PromotedStore,
    /// Short circuit: the rest of the loop is dropped once a fold is decided.
    RestOfLoop,
    /// Masks: `>=` is treated as `>`.
    MaskEqual,
    /// Shift: a slice is taken at the wrong end.
    ShiftSign,
    /// Stride: entries between two indices are read, too.
    StrideSkip,
    /// Permissive reads: coordinates out of bounds are not read.
    BoundsGuard,
    /// Simplification: a fold of the fill value is dropped for every operator.
    FoldIdentity,
    /// Byte map: written coordinates are not cleared when the tensor is declared again.
    WorkspaceReset,
    /// Hash: probing compares coordinates only.
    HashParent,
    /// Sparse list: the ends of fibers that were not written are not set.
    FiberEnds,
    /// Block list: a block begins one coordinate late.
    BlockStart,
    /// Block list: every coordinate extends the last block.
    BlockEnds,
    /// Band: the block ends one coordinate early.
    BandEnd,
    /// Band: coordinates between written ones get no positions.
    BandGap,
    /// Block list: from the end, a block begins one coordinate late.
    BlockFromEnd,
    /// Runs: from the end, a run ends one coordinate early.
    RunFromEnd,
    /// Runs that join: writes below the removed run are still counted.
    JoinRollback,
    /// Bit map: the word after one without further bits is skipped.
    BitMapWord,
    /// Pinpoint: the coordinate is off by one.
    PinpointCoordinate,
    /// Fixed width: padding is read as entries.
    Padding,
    /// Integration: several writes of one tensor are repeated each by itself.
    RepeatedWrites,
    /// Integration: rounds that read the writes of earlier rounds are treated as equal.
    CarriedRead,
    /// Variables stay bound after their statement.
    VariableScope,
    /// Simplification: the binding of a literal variable is dropped although a subscript needs it.
    OpenSubscript,
    /// Permissive reads: an access whose outer mode is out of bounds is treated as a fiber that is
    /// not stored.
    OutsideIsFill,
    /// Simplification: an unwritten tensor reads as its fill value out of bounds, too.
    UnassignedOutside,
    /// Masks: a condition on a value that the loop changes is decided before the loop.
    ChangedMask,
    /// Hash: a lookup adds no entry until the coordinate is written.
    SharedEntry,
    /// While: only one round runs.
    WhileOnce,
    /// In `where`, the consumer runs before the producer.
    ConsumerFirst,
    /// Overwrite: the old value is kept unless it is zero.
    OverwriteChoice,
    /// A fold is kept in a register while other statements overwrite its element.
    PromotedOverwrite,
    /// Several folds of one tensor are each kept in a register.
    PromotedTwice,
    /// Variables are computed at each use.
    LateBinding,
    /// Swap: levels are exchanged, values are not.
    SwapLeaf,
    /// Concordization: accesses share a loop of one round, whatever their coordinates.
    SharedRound,
    /// Split: the last block is not cut to the extent.
    LastBlock,
}

#[cfg(not(test))]
impl SeededFault {
    /// Returns whether the fault is active.
    pub(crate) const fn is_active(self) -> bool {
        false
    }
}

#[cfg(test)]
thread_local! {
    static ACTIVE: std::cell::Cell<Option<SeededFault>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
impl SeededFault {
    /// Returns whether the fault is active.
    pub(crate) fn is_active(self) -> bool {
        ACTIVE.get() == Some(self)
    }

    /// Calls `f` with the fault active.
    pub(crate) fn run<T>(self, f: impl FnOnce() -> T) -> T {
        /// A guard that ends the fault, also when `f` panics.
        struct FaultGuard;
        impl Drop for FaultGuard {
            fn drop(&mut self) {
                ACTIVE.set(None);
            }
        }
        ACTIVE.set(Some(self));
        let _guard = FaultGuard;
        f()
    }

    /// The faults that plans can expose.
    pub(crate) const PLAN_FAULTS: [SeededFault; 40] = [
        SeededFault::ThunkEpilogue,
        SeededFault::SwitchSides,
        SeededFault::SelectPresence,
        SeededFault::PhaseStop,
        SeededFault::LastPhase,
        SeededFault::SpikeRun,
        SeededFault::SpikeTail,
        SeededFault::TruncatedSpike,
        SeededFault::StartSeek,
        SeededFault::StepCondition,
        SeededFault::Remainder,
        SeededFault::BeyondExtent,
        SeededFault::SegmentGap,
        SeededFault::SegmentBlock,
        SeededFault::CatchUp,
        SeededFault::LeadEntry,
        SeededFault::LeadEnd,
        SeededFault::FirstCoordinate,
        SeededFault::RunLength,
        SeededFault::LastOfRun,
        SeededFault::PromotedStore,
        SeededFault::RestOfLoop,
        SeededFault::MaskEqual,
        SeededFault::ShiftSign,
        SeededFault::StrideSkip,
        SeededFault::BoundsGuard,
        SeededFault::FoldIdentity,
        SeededFault::WorkspaceReset,
        SeededFault::HashParent,
        SeededFault::FiberEnds,
        SeededFault::BlockStart,
        SeededFault::BlockEnds,
        SeededFault::BandEnd,
        SeededFault::BandGap,
        SeededFault::BlockFromEnd,
        SeededFault::RunFromEnd,
        SeededFault::JoinRollback,
        SeededFault::BitMapWord,
        SeededFault::PinpointCoordinate,
        SeededFault::Padding,
    ];

    /// The faults that only programs can expose, since plans never use their constructs.
    pub(crate) const PROGRAM_FAULTS: [SeededFault; 17] = [
        SeededFault::OpenSubscript,
        SeededFault::RepeatedWrites,
        SeededFault::CarriedRead,
        SeededFault::VariableScope,
        SeededFault::OutsideIsFill,
        SeededFault::UnassignedOutside,
        SeededFault::ChangedMask,
        SeededFault::PromotedOverwrite,
        SeededFault::PromotedTwice,
        SeededFault::LateBinding,
        SeededFault::SwapLeaf,
        SeededFault::SharedEntry,
        SeededFault::WhileOnce,
        SeededFault::ConsumerFirst,
        SeededFault::OverwriteChoice,
        SeededFault::SharedRound,
        SeededFault::LastBlock,
    ];
}
