//! Seeded faults: deliberate mistakes in the rules of lowering and in passes over Notation. A test
//! turns on one fault at a time, to show that other tests would detect such a mistake.
//!
//! Only tests and the feature `faults` activate faults; elsewhere the checks compile to nothing.

/// Defines [`SeededFault`] from lists of faults. A row is the name of a fault, the file with the
/// rule that it breaks, and its effect.
macro_rules! faults {
    ($($(#[$meta:meta])* $list:ident { $($name:ident in $file:literal: $effect:literal;)* })*) => {
        /// A mistake in a rule.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum SeededFault {
            $($(#[doc = $effect] $name,)*)*
        }

        #[cfg(any(test, feature = "faults"))]
        impl SeededFault {
            $($(#[$meta])* pub const $list: &[SeededFault] = &[$(SeededFault::$name),*];)*

            /// The faults and the files with the rules that they break, in this crate's sources.
            #[cfg(test)]
            const FILES: &[(SeededFault, &str)] = &[$($((SeededFault::$name, $file),)*)*];
        }
    };
}

faults! {
    /// The faults that plans can expose.
    PLAN_FAULTS {
        ThunkEpilogue in "lower/looplets/thunk.rs": "Thunk: the epilogue is dropped.";
        SwitchSides in "lower/looplets/switch.rs": "Switch: the two sides are exchanged.";
        SelectPresence in "lower/looplets/switch.rs": "Switch: a select ignores the presence flag.";
        PhaseStop in "lower/looplets/sequence.rs": "Sequence: a phase ends one coordinate late.";
        LastPhase in "lower/looplets/sequence.rs": "Sequence: the last phase is dropped.";
        SpikeRun in "lower/looplets/spike.rs": "Spike: the run before the tail is dropped.";
        SpikeTail in "lower/looplets/spike.rs": "Spike: the tail is dropped.";
        TruncatedSpike in "lower/looplets/truncate.rs": "Truncation: a spike that may be cut is treated as whole.";
        StartSeek in "lower/looplets/stepper.rs": "Stepper: the seek at the start is dropped.";
        StepCondition in "lower/looplets/stepper.rs": "Stepper: every access steps in every round.";
        Remainder in "lower/looplets/stepper.rs": "Stepper: the extent after the last entry is dropped.";
        BeyondExtent in "lower/looplets/stepper.rs": "Stepper: an entry beyond the extent is consumed.";
        CollapsedEnd in "lower/collapse/mod.rs": "Collapse: the fiber of the last round is left out.";
        GapCount in "lower/looplets/gaps.rs": "Gaps: the entries of a list count as gaps, too.";
        CatchUp in "lower/looplets/stepper.rs": "Jumper: accesses that lag do not catch up.";
        SegmentGap in "lower/looplets/segments.rs": "Segments: a gap covers the entry after it.";
        SegmentBlock in "lower/looplets/segments.rs": "Segments: a gap covers the block after it.";
        LeadEntry in "lower/looplets/lead.rs": "Lead: the entry found is treated as the one searched for.";
        LeadEnd in "lower/looplets/lead.rs": "Lead: an entry beyond the extent is consumed.";
        FirstCoordinate in "lower/looplets/lookup.rs": "Lookup: the first coordinate is skipped.";
        RunLength in "lower/integrate.rs": "Integration: a run has one round too many.";
        LastOfRun in "lower/integrate.rs": "Integration: a pair takes the last coordinate of its run.";
        PromotedStore in "lower/stmt.rs": "Accumulators are not stored after their loop.";
        UnguardedFold in "lower/unguarded.rs": "A loop without guards is not run again if its fold is NaN.";
        RestOfLoop in "lower/stmt.rs": "Short circuit: the rest of the loop is dropped once a fold is decided.";
        MaskEqual in "lower/unfurl.rs": "Masks: `>=` is treated as `>`.";
        ShiftSign in "lower/looplets/shift.rs": "Shift: the ends of chunks move in the wrong direction.";
        StrideSkip in "lower/looplets/shift.rs": "Stride: entries between two indices are read, too.";
        BoundsGuard in "lower/looplets/shift.rs": "Permissive reads: coordinates out of bounds are not guarded.";
        FoldIdentity in "lower/simplify.rs": "Simplification: a fold of 0 is dropped for every operator.";
        WorkspaceReset in "lower/levels/byte_map.rs":
            "Byte map: written coordinates are not cleared when the tensor is declared again.";
        HashParent in "lower/levels/hash.rs": "Hash: probing compares coordinates only.";
        FiberEnds in "lower/levels/shared/list.rs":
            "Lists: the ends of fibers that were not written are not set.";
        BlockStart in "lower/levels/block_list.rs": "Block list: a block begins one coordinate late.";
        BlockEnds in "lower/levels/block_list.rs": "Block list: every coordinate extends the last block.";
        BlockFromEnd in "lower/levels/block_list.rs": "Block list: read backward, a block begins one coordinate late.";
        BandEnd in "lower/levels/band.rs": "Band: the block ends one coordinate early.";
        BandGap in "lower/levels/band.rs": "Band: coordinates between written ones get no positions.";
        RunFromEnd in "lower/levels/shared/runs.rs": "Runs: read backward, a run ends one coordinate early.";
        JoinRollback in "lower/levels/shared/join.rs":
            "Runs that join: writes below the removed run are still counted.";
        BitMapWord in "lower/levels/bit_map.rs": "Bit map: the word after one without further bits is skipped.";
        PinpointCoordinate in "lower/levels/pinpoint.rs": "Pinpoint: the coordinate is off by one.";
        Padding in "lower/levels/fixed_width.rs": "Fixed width: padding is read as entries.";
    }

    /// The faults that only programs can expose, since plans never use their constructs.
    PROGRAM_FAULTS {
        RepeatedWrites in "lower/integrate.rs":
            "Integration: several writes of one tensor are repeated separately.";
        CarriedRead in "lower/integrate.rs":
            "Integration: rounds that read the writes of earlier rounds are treated as equal.";
        VariableScope in "lower/stmt.rs": "Variables stay bound after their statement.";
        WhileOnce in "lower/stmt.rs": "While: only one round runs.";
        ConsumerFirst in "lower/stmt.rs": "In `where`, the consumer runs before the producer.";
        PromotedOverwrite in "lower/stmt.rs":
            "A fold is kept in a register while other statements overwrite its element.";
        PromotedTwice in "lower/stmt.rs": "Several folds of one tensor are each kept in a register.";
        LateBinding in "lower/stmt.rs": "Variables are computed at each use.";
        OpenSubscript in "lower/simplify.rs":
            "Simplification: the binding of a literal variable is dropped although a subscript needs it.";
        UnassignedOutside in "lower/simplify.rs":
            "Simplification: an unwritten tensor reads as its fill value out of bounds, too.";
        OutsideIsFill in "lower/unfurl.rs":
            "Permissive reads: an access whose outer mode is out of bounds is treated as a fiber that is not stored.";
        ChangedMask in "lower/unfurl.rs":
            "Masks: a condition on a value that the loop changes is decided before the loop.";
        SharedEntry in "lower/levels/hash.rs": "Hash: a lookup adds no entry until the coordinate is written.";
        OverwriteChoice in "lower/assign.rs": "Overwrite: the old value is kept unless it is zero.";
        SwapLeaf in "lower/storage.rs": "Swap: levels are exchanged, values are not.";
        SharedRound in "notation/concordize.rs":
            "Concordization: accesses share a loop of one round, whatever their coordinates.";
        LastBlock in "notation/schedule/split.rs": "Split: the last block is not cut to the extent.";
    }
}

#[cfg(not(any(test, feature = "faults")))]
impl SeededFault {
    /// Returns whether the fault is active.
    pub(crate) const fn is_active(self) -> bool {
        false
    }
}

#[cfg(any(test, feature = "faults"))]
thread_local! {
    static ACTIVE: std::cell::Cell<Option<SeededFault>> = const { std::cell::Cell::new(None) };
}

#[cfg(any(test, feature = "faults"))]
impl SeededFault {
    /// Returns whether the fault is active.
    pub(crate) fn is_active(self) -> bool {
        ACTIVE.get() == Some(self)
    }

    /// Calls `f` with the fault active.
    pub fn run<T>(self, f: impl FnOnce() -> T) -> T {
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
}

#[cfg(test)]
mod tests {
    use super::SeededFault;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    /// Adds the faults that occur in the sources below `folder`, except in folders named `tests`,
    /// with their files.
    fn collect(sources: &Path, folder: &Path, found: &mut BTreeSet<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with("tests") {
                    collect(sources, &path, found);
                }
                continue;
            }
            let file = path.strip_prefix(sources).unwrap().to_str().unwrap().replace('\\', "/");
            if file == "lower/seeded_fault.rs" || !file.ends_with(".rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for after in text.split("SeededFault::").skip(1) {
                let fault = after.split(|c: char| !c.is_alphanumeric()).next().unwrap();
                found.insert((fault.to_string(), file.clone()));
            }
        }
    }

    /// Each fault occurs in the file that its row names, and in no other file.
    #[test]
    fn rows_name_the_files_of_their_faults() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = BTreeSet::new();
        collect(&sources, &sources, &mut found);
        let rows = SeededFault::FILES.iter().map(|(fault, file)| (format!("{fault:?}"), (*file).to_string()));
        let rows: BTreeSet<(String, String)> = rows.collect();
        assert_eq!(rows.len(), SeededFault::PLAN_FAULTS.len() + SeededFault::PROGRAM_FAULTS.len());
        let differing: Vec<_> = rows.symmetric_difference(&found).collect();
        assert!(differing.is_empty(), "in the table or in a source, but not in both: {differing:?}");
    }
}
