//! Seeded faults: mistakes that the rules of lowering can be told to make, so that tests show that they would be seen.
//!
//! Outside of this crate's tests no fault is ever active, and the questions compile to nothing.

/// A mistake in a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seeded {
    /// Thunk: the epilogue is dropped.
    ThunkEpilogue,
    /// Switch: the sides are exchanged.
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
    /// Truncation: a spike that may be cut is taken for whole.
    TruncatedSpike,
    /// Stepper: no seek at the start.
    StartSeek,
    /// Stepper: every access steps in every round.
    StepAll,
    /// Stepper: nothing after the last entry.
    Remainder,
    /// Stepper: entries beyond the extent are not left alone.
    BeyondExtent,
    /// Segments: a gap reaches to the end of the entry after it.
    SegmentGap,
    /// Segments: a gap reaches to the end of the block after it.
    SegmentBlock,
    /// Jumper: those behind do not catch up.
    CatchUp,
    /// Lead: what was found is taken for the entry that was searched for.
    LeadEntry,
    /// Lead: entries beyond the extent are not left alone.
    LeadEnd,
    /// Lookup: the first coordinate is left out.
    FirstCoordinate,
    /// Integration: a run counts one round too many.
    RunLength,
    /// Integration: a pair takes the last coordinate of a run.
    LastOfRun,
    /// Accumulators are not stored after their loop.
    HeldStore,
    /// Short circuit: the rest of the loop is dropped once a fold is decided.
    DecidedRest,
    /// Masks: `>=` is taken for `>`.
    MaskEqual,
    /// Shift: a slice is taken at the wrong end.
    ShiftSign,
    /// Stride: entries between two indices are met too.
    StrideMisses,
    /// Permissive reads: nothing is met outside.
    Outside,
    /// Simplification: a fold of the fill value is dropped whatever the operator.
    FoldIdentity,
    /// Byte map: what was touched is not cleared when it is declared again.
    WorkspaceReset,
    /// Hash: probing compares coordinates alone.
    HashParent,
    /// Sparse list: ends of fibers that were not written are left.
    FiberEnds,
    /// Block list: a block begins one coordinate late.
    BlockStart,
    /// Block list: every coordinate extends the last block.
    BlockEnds,
    /// Band: the block ends one coordinate early.
    BandEnd,
    /// Band: what lies between coordinates that are written gets no positions.
    BandGap,
    /// Block list: from the end, a block begins one coordinate late.
    BlockFromEnd,
    /// Runs: from the end, a run ends one coordinate early.
    RunFromEnd,
    /// Runs that join: what was written below the second is counted still.
    TakenBack,
    /// Bit map: the word behind one without further bits is passed over.
    BitMapWord,
    /// Pinpoint: the coordinate is met one place late.
    PinpointPlace,
    /// Fixed width: padding is met, too.
    Padding,
    /// Integration: several writes of one tensor are repeated each by itself.
    RepeatedApart,
    /// Integration: rounds are taken for equal that see what earlier ones have written.
    CarriedRead,
    /// Variables stay bound after their statement.
    VariableStays,
    /// Simplification: a variable that is a literal is forgotten, although a subscript waits for it.
    OpenSubscript,
    /// Permissive reads: what an outer mode reads out of bounds is taken for a fiber that is not stored.
    OutsideIsFill,
    /// Simplification: a tensor that nothing was written to has no places out of bounds.
    UntouchedOutside,
    /// Masks: a condition on what the loop changes is decided before the loop.
    ChangedMask,
    /// Hash: a coordinate that is looked up has no entry until it is written.
    SharedEntry,
    /// While: there is one round.
    WhileOnce,
    /// Where: what the producer writes is not seen.
    ConsumerFirst,
    /// Overwrites keep what is there, unless it is zero.
    OverwriteKept,
    /// A fold is held in a register while other statements overwrite its place.
    HeldMixed,
    /// Several folds of one tensor are each held in a register.
    HeldTwice,
    /// Variables are computed where they are used.
    LateBinding,
    /// Swap: levels are exchanged, values are not.
    SwapLeaf,
    /// Concordization: accesses share a loop of one round, whatever their coordinates.
    SharedRound,
    /// Split: the last block is as long as the others.
    LastBlock,
}

/// Whether the mistake is to be made.
#[cfg(not(test))]
pub(crate) const fn is(_: Seeded) -> bool {
    false
}

#[cfg(test)]
thread_local! {
    static ACTIVE: std::cell::Cell<Option<Seeded>> = const { std::cell::Cell::new(None) };
}

/// Whether the mistake is to be made.
#[cfg(test)]
pub(crate) fn is(fault: Seeded) -> bool {
    ACTIVE.get() == Some(fault)
}

/// Runs `f` with lowering making the mistake.
#[cfg(test)]
pub(crate) fn with<T>(fault: Seeded, f: impl FnOnce() -> T) -> T {
    /// Ends the fault, also when `f` panics.
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
    /// The faults of what plans are made of.
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

    /// The faults of what programs say and plans never do.
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
