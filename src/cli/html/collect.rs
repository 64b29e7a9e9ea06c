//! The content of a page, collected from a prepared plan or program and the profile of a run.

use super::forms::{QueryForms, query_forms};
use super::graph::Graph;
use super::page::{Decisions, Page, QueryMeasurements, QueryPart, ReadRow, RunMeasurements, WriteRow};
use crate::compiler::assembly::Counts;
use crate::logic::physical::FormatDisplay;
use crate::logic::{Alias, TensorType};
use crate::storage::Tensor;
use crate::{Error, Flow, FlowQuery, Prepared, Profile, QueryProfile, Section, Size};

/// Returns the page of a plan or program. `source` is its text. Without a profile, the page says
/// that the plan has not run.
pub(super) fn collect(source: &str, prepared: &Prepared, profile: Option<&Profile>) -> Result<Page, Error> {
    let produces: Vec<String> = prepared.produces().iter().map(Alias::to_string).collect();
    let forms = query_forms(prepared);
    let queries = match (prepared.plan(), profile) {
        (Some(_), Some(profile)) => flow_parts(&profile.flow, forms),
        (Some(_), None) => flow_parts(&prepared.flow()?, forms),
        (None, _) => forms.into_iter().map(|forms| program_part(prepared, forms, profile)).collect(),
    };
    let phases = prepared.report().map_or(&[][..], |report| &report.phases);
    let kind = if prepared.plan().is_some() { "Plan" } else { "Program" };
    Ok(Page {
        kind,
        title: format!("{kind} of {}", produces.join(", ")),
        source: source.trim().to_owned(),
        engine: prepared.placement().to_string(),
        notes: prepared.notes().iter().map(ToString::to_string).collect(),
        graph: Graph::of(&queries, &produces),
        phases: prepared.timings().iter().map(|(phase, time)| (phase.name(), time)).collect(),
        run: profile.map(|profile| RunMeasurements {
            target: profile.target.name(),
            time: profile.time,
            peak_bytes: profile.peak_bytes as u64,
        }),
        queries,
        plans: phases.iter().map(|p| Section { title: p.name.to_owned(), text: p.plan.to_string() }).collect(),
    })
}

/// Returns the part of the page about each query of a flow.
fn flow_parts(flow: &Flow, forms: Vec<QueryForms>) -> Vec<QueryPart> {
    flow.queries.iter().zip(forms).map(|(query, forms)| flow_part(query, forms)).collect()
}

fn flow_part(query: &FlowQuery, forms: QueryForms) -> QueryPart {
    let (decision, profile) = (&query.decision, query.profile.as_ref());
    let loops = |order: &[_]| order.iter().map(ToString::to_string).collect::<Vec<_>>();
    let rejected = decision.priced_orders.iter().filter(|(order, _)| *order != decision.order);
    let reads = query.reads.iter().map(|read| ReadRow {
        tensor: read.tensor.to_string(),
        ty: type_text(&read.ty),
        format: FormatDisplay(&read.ty.format).to_string(),
        size: Some(read.size),
        accesses: read.protocols(),
    });
    let writes = decision.outputs.iter().enumerate().map(|(k, output)| {
        let stored = profile.and_then(|profile| Some(profile.outputs.get(k)?.stored));
        let workspace = output.workspace.as_ref();
        let workspace = workspace.map(|w| format!("through a workspace {}", FormatDisplay(&w.format)));
        let pattern = output.pattern.as_ref().map(|pattern| format!("sharing the levels of {pattern}"));
        WriteRow {
            tensor: output.alias.to_string(),
            ty: type_text(&output.ty),
            format: FormatDisplay(&output.ty.format).to_string(),
            size: Some(Size::of(output.stored(), stored)),
            details: workspace.into_iter().chain(pattern).collect(),
        }
    });
    QueryPart {
        name: forms.query,
        decisions: Some(Decisions {
            origin: decision.origin.label(),
            loops: if query.is_conversion { Vec::new() } else { loops(&decision.order) },
            is_conversion: query.is_conversion,
            cost: decision.cost,
            rejected: rejected.map(|(order, cost)| (loops(order).join(" "), *cost)).collect(),
            rules: decision.rules.iter().map(|rule| (rule.name, rule.equation)).collect(),
        }),
        reads: reads.collect(),
        writes: writes.collect(),
        threads: query.chunks.as_ref().map(|chunks| match chunks {
            Ok(index) => format!("threads take chunks of {index}"),
            Err(obstacle) => format!("runs on one thread: {obstacle}"),
        }),
        measured: profile.map(measurements),
        adaptation: query.adaptation.as_ref().map(ToString::to_string),
        forms: forms.forms,
    }
}

fn measurements(profile: &QueryProfile) -> QueryMeasurements {
    QueryMeasurements {
        time: profile.time,
        target: profile.target.map(crate::Target::name),
        work: profile.counts.as_ref().map(work_text),
    }
}

/// Returns the part of the page about a program. A program has no decisions of the optimizer.
fn program_part(prepared: &Prepared, forms: QueryForms, profile: Option<&Profile>) -> QueryPart {
    let declared = |alias: &Alias| {
        let loops = prepared.current().executable.stages.iter().filter_map(|stage| stage.loops());
        let mut tensors = loops.flat_map(|loops| &loops.source_program.tensors);
        tensors.find(|tensor| tensor.name == alias.as_str()).map(|tensor| &tensor.ty)
    };
    let ty = |alias: &Alias| declared(alias).map_or_else(String::new, |ty| type_text(ty));
    let format = |alias: &Alias| declared(alias).map_or_else(String::new, |ty| FormatDisplay(&ty.format).to_string());
    let stored = |tensor: &Tensor| tensor.count_stored().ok().map(Size::Exact);
    let read = |alias: &Alias| ReadRow {
        tensor: alias.to_string(),
        ty: ty(alias),
        format: format(alias),
        size: prepared.bindings.get(alias.as_str()).and_then(stored),
        accesses: Vec::new(),
    };
    let result = |alias: &Alias| profile?.outputs.iter().find(|(name, _)| name == alias).map(|(_, tensor)| tensor);
    let write = |alias: &Alias| WriteRow {
        tensor: alias.to_string(),
        ty: ty(alias),
        format: format(alias),
        size: result(alias).and_then(stored),
        details: Vec::new(),
    };
    QueryPart {
        reads: forms.reads.iter().map(read).collect(),
        writes: forms.writes.iter().map(write).collect(),
        measured: profile.and_then(|profile| profile.queries.first()).map(measurements),
        name: forms.query,
        forms: forms.forms,
        ..QueryPart::default()
    }
}

/// Returns the dtype and the shape of a tensor.
fn type_text(ty: &TensorType) -> String {
    let shape: Vec<String> = ty.shape.iter().map(u64::to_string).collect();
    format!("{} {}", ty.dtype, shape.join(" x ")).trim_end().to_owned()
}

fn work_text(counts: &Counts) -> String {
    let Counts { iterations, loads, stores, allocated_bytes } = counts;
    format!("{iterations} iterations, {loads} loads, {stores} stores, {allocated_bytes} bytes")
}
