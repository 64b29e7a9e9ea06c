//! Flows as text: one paragraph per query, with the measurements below the decisions.

use super::{Flow, FlowQuery, FlowRead, Size};
use crate::profile::OutputProfile;
use redpoll_compiler::assembly::Counts;
use redpoll_logic::physical::{Access, FormatDisplay, Protocol, Workspace};
use redpoll_logic::plural;
use std::fmt;

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.queries.iter().try_for_each(|query| query.fmt(f))
    }
}

impl fmt::Display for FlowQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.decision.fmt(f)?;
        match (self.is_conversion, &self.chunks) {
            (true, None) => writeln!(f, "  converts storage, runs no loops")?,
            (true, Some(_)) => writeln!(f, "  converts storage")?,
            (false, _) => {}
        }
        self.reads.iter().try_for_each(|read| writeln!(f, "  reads {read}"))?;
        match &self.chunks {
            Some(Ok(index)) => writeln!(f, "  threads take chunks of {index}")?,
            Some(Err(obstacle)) => writeln!(f, "  runs on one thread: {obstacle}")?,
            None => {}
        }
        if let Some(profile) = &self.profile {
            writeln!(f, "  took {:.1?}, estimated cost {:.0}", profile.time, self.decision.cost)?;
            profile.outputs.iter().try_for_each(|output| writeln!(f, "  {output}"))?;
            if let Some(counts) = &profile.counts {
                let Counts { iterations, loads, stores, allocated_bytes } = counts;
                writeln!(f, "  {iterations} iterations, {loads} loads, {stores} stores, {allocated_bytes} bytes")?;
            }
        }
        self.adaptation.iter().try_for_each(|adaptation| writeln!(f, "  {adaptation}"))
    }
}

impl fmt::Display for OutputProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.alias, self.stored, plural(self.stored, "value", "values"))?;
        match (self.estimated, self.q_error()) {
            (Some(estimated), Some(q)) => write!(f, ", estimated {estimated:.0}, q-error {q:.2}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for FlowRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} stored as {}, {}", self.tensor, FormatDisplay(&self.ty.format), self.size)?;
        let protocols = self.protocols();
        if protocols.is_empty() { Ok(()) } else { write!(f, ": {}", protocols.join("; ")) }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Exact(stored) => write!(f, "{stored} {}", plural(*stored, "value", "values")),
            Size::Estimated(estimated) => {
                let rounded = estimated.round_ties_even();
                write!(f, "about {rounded} {}", plural(rounded as u64, "value", "values"))
            }
            Size::Measured { estimated, stored } => {
                write!(f, "{stored} {}, estimated {estimated:.0}", plural(*stored, "value", "values"))
            }
        }
    }
}

/// Describes an access by the protocols of its storage modes, such as `walk i, follow k`, and by
/// its workspace.
pub(super) fn protocols(access: &Access) -> String {
    let protocols = access.protocols.iter().zip(&access.subscripts).map(|(protocol, subscript)| {
        let verb = match protocol {
            Protocol::Walk => "walk",
            Protocol::Gallop => "gallop",
            Protocol::Follow => "follow",
        };
        format!("{verb} {subscript}")
    });
    let protocols = protocols.collect::<Vec<_>>().join(", ");
    match &access.workspace {
        None => protocols,
        Some(Workspace { depth, format }) => {
            let loops = if *depth == 1 { "loop" } else { "loops" };
            format!("{protocols} through a workspace {} inside {depth} {loops}", FormatDisplay(format))
        }
    }
}
