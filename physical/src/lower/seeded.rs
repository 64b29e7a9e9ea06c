//! Seeded faults: deliberate mistakes in the rules of lowering, which show that the tests would
//! detect them.
//!
//! Faults are active in this crate's tests only; elsewhere the checks compile to nothing.

/// A mistake in a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seeded {
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
    StepAll,
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
    HeldStore,
    /// Short circuit: the rest of the loop is dropped once a fold is decided.
    DecidedRest,
    /// Masks: `>=` is treated as `>`.
    MaskEqual,
    /// Shift: a slice is taken at the wrong end.
    ShiftSign,
    /// Stride: entries between two indices are read, too.
    StrideMisses,
    /// Permissive reads: coordinates out of bounds are not read.
    Outside,
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
    TakenBack,
    /// Bit map: the word after one without further bits is skipped.
    BitMapWord,
    /// Pinpoint: the coordinate is off by one.
    PinpointPlace,
    /// Fixed width: padding is read as entries.
    Padding,
    /// Integration: several writes of one tensor are repeated each by itself.
    RepeatedApart,
    /// Integration: rounds that read the writes of earlier rounds are treated as equal.
    CarriedRead,
    /// Variables stay bound after their statement.
    VariableStays,
    /// Simplification: the binding of a literal variable is dropped although a subscript needs it.
    OpenSubscript,
    /// Permissive reads: an access whose outer mode is out of bounds is treated as a fiber that is
    /// not stored.
    OutsideIsFill,
    /// Simplification: an unwritten tensor reads as its fill value out of bounds, too.
    UntouchedOutside,
    /// Masks: a condition on a value that the loop changes is decided before the loop.
    ChangedMask,
    /// Hash: a lookup adds no entry until the coordinate is written.
    SharedEntry,
    /// While: only one round runs.
    WhileOnce,
    /// In `where`, the consumer runs before the producer.
    ConsumerFirst,
    /// Overwrite: the old value is kept unless it is zero.
    OverwriteKept,
    /// A fold is kept in a register while other statements overwrite its element.
    HeldMixed,
    /// Several folds of one tensor are each kept in a register.
    HeldTwice,
    /// Variables are computed at each use.
    LateBinding,
    /// Swap: levels are exchanged, values are not.
    SwapLeaf,
    /// Concordization: accesses share a loop of one round, whatever their coordinates.
    SharedRound,
    /// Split: the last block is not cut to the extent.
    LastBlock,
}

/// Returns whether the fault is active.
#[cfg(not(test))]
pub(crate) const fn is(_: Seeded) -> bool {
    false
}

#[cfg(test)]
thread_local! {
    static ACTIVE: std::cell::Cell<Option<Seeded>> = const { std::cell::Cell::new(None) };
}

/// Returns whether the fault is active.
#[cfg(test)]
pub(crate) fn is(fault: Seeded) -> bool {
    ACTIVE.get() == Some(fault)
}

/// Runs `f` with the fault active.
#[cfg(test)]
pub(crate) fn with<T>(fault: Seeded, f: impl FnOnce() -> T) -> T {
    /// A guard that ends the fault, also when `f` panics.
    struct Active;
    impl Drop for Active {
        fn drop(&mut self) {
            ACTIVE.set(None);
        }
    }
    ACTIVE.set(Some(fault));
    let _active = Active;
    f()
}

#[cfg(test)]
impl Seeded {
    /// The faults that plans can expose.
    pub(crate) const ALL: [Seeded; 40] = [
        Seeded::ThunkEpilogue,
        Seeded::SwitchSides,
        Seeded::SelectPresence,
        Seeded::PhaseStop,
        Seeded::LastPhase,
        Seeded::SpikeRun,
        Seeded::SpikeTail,
        Seeded::TruncatedSpike,
        Seeded::StartSeek,
        Seeded::StepAll,
        Seeded::Remainder,
        Seeded::BeyondExtent,
        Seeded::SegmentGap,
        Seeded::SegmentBlock,
        Seeded::CatchUp,
        Seeded::LeadEntry,
        Seeded::LeadEnd,
        Seeded::FirstCoordinate,
        Seeded::RunLength,
        Seeded::LastOfRun,
        Seeded::HeldStore,
        Seeded::DecidedRest,
        Seeded::MaskEqual,
        Seeded::ShiftSign,
        Seeded::StrideMisses,
        Seeded::Outside,
        Seeded::FoldIdentity,
        Seeded::WorkspaceReset,
        Seeded::HashParent,
        Seeded::FiberEnds,
        Seeded::BlockStart,
        Seeded::BlockEnds,
        Seeded::BandEnd,
        Seeded::BandGap,
        Seeded::BlockFromEnd,
        Seeded::RunFromEnd,
        Seeded::TakenBack,
        Seeded::BitMapWord,
        Seeded::PinpointPlace,
        Seeded::Padding,
    ];

    /// The faults that only programs can expose, since plans never use their constructs.
    pub(crate) const OF_PROGRAMS: [Seeded; 17] = [
        Seeded::OpenSubscript,
        Seeded::RepeatedApart,
        Seeded::CarriedRead,
        Seeded::VariableStays,
        Seeded::OutsideIsFill,
        Seeded::UntouchedOutside,
        Seeded::ChangedMask,
        Seeded::HeldMixed,
        Seeded::HeldTwice,
        Seeded::LateBinding,
        Seeded::SwapLeaf,
        Seeded::SharedEntry,
        Seeded::WhileOnce,
        Seeded::ConsumerFirst,
        Seeded::OverwriteKept,
        Seeded::SharedRound,
        Seeded::LastBlock,
    ];
}
