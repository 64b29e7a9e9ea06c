//! Flows as text: one paragraph per query, with the measurements below the decisions.

use super::{Flow, FlowQuery, FlowRead, Size};
use crate::profile::OutputProfile;
use redpoll_logic::physical::{Access, FormatWords, Protocol, Workspace};
use redpoll_physical::assembly::Counts;
use std::fmt;

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.queries.iter().try_for_each(|query| query.fmt(f))
    }
}

impl fmt::Display for FlowQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.decision.fmt(f)?;
        if self.converts {
            writeln!(f, "  converts storage, runs no loops")?;
        }
        self.reads.iter().try_for_each(|read| writeln!(f, "  reads {read}"))?;
        match &self.chunks {
            Some(Ok(index)) => writeln!(f, "  threads take chunks of {index}")?,
            Some(Err(obstacle)) => writeln!(f, "  runs on one thread: {obstacle}")?,
            None => {}
        }
        if let Some(measured) = &self.measured {
            writeln!(f, "  took {:.1?}, cost {:.0} was estimated", measured.time, self.decision.cost)?;
            measured.outputs.iter().try_for_each(|output| writeln!(f, "  {output}"))?;
            if let Some(counts) = &measured.counts {
                let Counts { iterations, loads, stores, allocated_bytes } = counts;
                writeln!(f, "  {iterations} iterations, {loads} loads, {stores} stores, {allocated_bytes} bytes")?;
            }
        }
        self.adaptation.iter().try_for_each(|adaptation| writeln!(f, "  {adaptation}"))
    }
}

impl fmt::Display for OutputProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has {} values", self.alias, self.stored)?;
        match (self.estimated, self.q_error()) {
            (Some(estimated), Some(q)) => write!(f, ", {estimated:.0} were estimated, q-error {q:.2}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for FlowRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} stored as {}, {}", self.tensor, FormatWords(&self.ty.format), self.size)?;
        let places: Vec<String> = self.accesses.iter().map(protocols).filter(|p| !p.is_empty()).collect();
        if places.is_empty() { Ok(()) } else { write!(f, ": {}", places.join("; ")) }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Known(stored) => write!(f, "{stored} values"),
            Size::Estimated(estimated) => write!(f, "about {estimated:.0} values"),
            Size::Measured { estimated, stored } => write!(f, "{stored} values, {estimated:.0} were estimated"),
        }
    }
}

/// Describes an access by the protocols of its storage modes, such as `walk i, follow k`, and its
/// workspace.
pub(super) fn protocols(access: &Access) -> String {
    let through = access.protocols.iter().zip(&access.subscripts).map(|(protocol, place)| {
        let verb = match protocol {
            Protocol::Walk => "walk",
            Protocol::Gallop => "gallop",
            Protocol::Follow => "follow",
        };
        format!("{verb} {place}")
    });
    let through = through.collect::<Vec<_>>().join(", ");
    match &access.workspace {
        None => through,
        Some(Workspace { depth, format }) => {
            format!("{through} through a workspace {} inside {depth} loops", FormatWords(format))
        }
    }
}
