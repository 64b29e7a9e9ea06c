//! A page as HTML: one file without scripts, whose drawings and style are inline.
//!
//! All texts except the style sheet go through `maud`, which escapes them. All elements except the
//! void element `meta` have end tags, so that the tests can check the page with an XML parser once
//! `meta` is closed.

use super::drawing::{draw, query_anchor};
use super::page::{Decisions, Page, QueryPart, ReadRow, RunMeasurements, WriteRow};
use crate::{Section, Size};
use indicatif::{HumanBytes, HumanCount};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::time::Duration;

const STYLE: &str = include_str!("style.css");

/// Returns the text of a page.
pub(super) fn render(page: &Page) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            "\n"
            head {
                "\n"
                meta charset="utf-8";
                "\n"
                meta name="viewport" content="width=device-width, initial-scale=1";
                "\n"
                title { (page.title) }
                "\n"
                style { (PreEscaped(STYLE)) }
            }
            "\n"
            body {
                "\n"
                header {
                    h1 { (page.title) }
                    p.faint { (page.engine) }
                }
                @for note in &page.notes { p.note { "note: " (note) } }
                "\n"
                section id="plan" {
                    "\n"
                    h2 { (page.kind) }
                    pre { (page.source) }
                    div.scroll { (draw(&page.graph)) }
                    p.legend {
                        span.table {} " table " span.query {} " query " span.intermediate {} " between queries "
                        span.result {} " result"
                    }
                }
                (overview(page))
                (times(page))
                @for (number, query) in page.queries.iter().enumerate() { (query_section(number, query)) }
                @if !page.plans.is_empty() {
                    "\n"
                    section id="phases" {
                        "\n"
                        h2 { "The plan after each phase of the optimizer" }
                        (details(&page.plans))
                    }
                }
                "\n"
                footer { "redpoll " (env!("CARGO_PKG_VERSION")) }
            }
        }
    };
    markup.into_string() + "\n"
}

/// Text in place of measurements, if the plan has not run.
const NOT_RUN: &str = "not run";

/// Renders the table of all queries.
fn overview(page: &Page) -> Markup {
    let total: f64 = page.queries.iter().filter_map(|query| Some(query.decisions.as_ref()?.cost)).sum();
    let times = page.queries.iter().filter_map(|query| Some(query.measured.as_ref()?.time));
    let total_time: Duration = times.sum();
    let planned = page.queries.iter().any(|query| query.decisions.is_some());
    html! {
        "\n"
        section id="queries" {
            "\n"
            h2 { "Queries" }
            div.scroll {
                table {
                    "\n"
                    thead { tr {
                        th { "query" }
                        @if planned { th { "loops" } th.number { "estimated cost" } th {} }
                        th.number { "time" } th {}
                        @if planned { th.number { "estimated values" } }
                        th.number { "true values" }
                    } }
                    tbody {
                        @for (number, query) in page.queries.iter().enumerate() {
                            "\n"
                            tr {
                                td { a href=(format!("#{}", query_anchor(number))) { (query.name) } }
                                @if let Some(decisions) = &query.decisions {
                                    td { (short_loops(decisions)) }
                                    td.number { (count(decisions.cost)) }
                                    td { (share(decisions.cost, total)) }
                                }
                                td.number { (query.measured.as_ref().map_or(NOT_RUN.to_owned(), |m| time(m.time))) }
                                td {
                                    @if let Some(m) = &query.measured {
                                        (share(m.time.as_secs_f64(), total_time.as_secs_f64()))
                                    }
                                }
                                @if planned { td.number { (lines(query.writes.iter().map(|w| estimate(w.size)))) } }
                                td.number { (lines(query.writes.iter().map(|w| truth(w.size)))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn short_loops(decisions: &Decisions) -> String {
    if decisions.loops.is_empty() { decisions.loops_text() } else { decisions.loops.join(" ") }
}

/// Renders the share of a number in a total as a bar.
fn share(part: f64, total: f64) -> Markup {
    let percent = if total > 0.0 { 100.0 * part / total } else { 0.0 };
    html! {
        span.bar title=(format!("{percent:.0} %")) { span style=(format!("width: {percent:.1}%")) {} }
    }
}

/// Renders several lines of a cell.
fn lines(texts: impl Iterator<Item = String>) -> Markup {
    html! { @for text in texts { div { (text) } } }
}

/// Renders the times of the phases and of the run.
fn times(page: &Page) -> Markup {
    let run = page.run.as_ref();
    let total: Duration = page.phases.iter().map(|(_, time)| *time).chain(run.map(|run| run.time)).sum();
    html! {
        "\n"
        section id="times" {
            "\n"
            h2 { "Times" }
            div.scroll {
                table {
                    tbody {
                        @for (name, elapsed) in &page.phases {
                            "\n"
                            tr {
                                td { (name) }
                                td.number { (time(*elapsed)) }
                                td { (share(elapsed.as_secs_f64(), total.as_secs_f64())) }
                            }
                        }
                        "\n"
                        tr {
                            td { "run" }
                            @match run {
                                Some(RunMeasurements { target, time: elapsed, peak_bytes }) => {
                                    td.number { (time(*elapsed)) }
                                    td { (share(elapsed.as_secs_f64(), total.as_secs_f64())) }
                                    td.faint { (target) ", peak memory " (HumanBytes(*peak_bytes)) }
                                }
                                None => { td.number { (NOT_RUN) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the part of the page about a query.
fn query_section(number: usize, query: &QueryPart) -> Markup {
    html! {
        "\n"
        section id=(query_anchor(number)) {
            "\n"
            h2 {
                (query.name)
                @if let Some(origin) = query.decisions.as_ref().and_then(|d| d.origin) { " " small { (origin) } }
            }
            @if let Some(decisions) = &query.decisions {
                "\n"
                p { (decisions.loops_text()) ", estimated cost " (count(decisions.cost)) }
                @for (order, cost) in &decisions.rejected {
                    "\n"
                    p.faint { "rejected: loops " (order) ", cost " (count(*cost)) }
                }
                @for (name, equation) in &decisions.rules {
                    "\n"
                    p.faint { "rewritten by " (name) ": " code { (equation) } }
                }
            }
            @if let Some(threads) = &query.threads { p { (threads) } }
            "\n"
            p {
                @match &query.measured {
                    Some(measured) => {
                        "took " (time(measured.time))
                        @if let Some(target) = measured.target { " (" (target) ")" }
                        @if let Some(work) = &measured.work { ": " (work) }
                    }
                    None => (NOT_RUN),
                }
            }
            @if let Some(adaptation) = &query.adaptation { p.note { (adaptation) } }
            (tensors(query))
            (details(&query.forms))
        }
    }
}

/// Renders the tensors that a query reads and writes.
fn tensors(query: &QueryPart) -> Markup {
    let planned = query.decisions.is_some();
    html! {
        div.scroll {
            table {
                "\n"
                thead { tr {
                    th {} th { "tensor" } th { "type" } th { "format" }
                    @if planned { th.number { "estimated values" } }
                    th.number { "true values" }
                    @if planned { th { "access" } }
                } }
                tbody {
                    @for ReadRow { tensor, ty, format, size, accesses } in &query.reads {
                        (row("reads", [tensor, ty, format], *size, planned.then_some(accesses)))
                    }
                    @for WriteRow { tensor, ty, format, size, details } in &query.writes {
                        (row("writes", [tensor, ty, format], *size, planned.then_some(details)))
                    }
                }
            }
        }
    }
}

/// Renders the row of a tensor. `details` are the details of its access in a plan, and `None` in a
/// program, which has no estimates either.
fn row(verb: &str, [tensor, ty, format]: [&String; 3], size: Option<Size>, details: Option<&Vec<String>>) -> Markup {
    html! {
        "\n"
        tr {
            td.faint { (verb) }
            td { (tensor) }
            td { (ty) }
            td { code { (format) } }
            @if details.is_some() { td.number { (estimate(size)) } }
            td.number { (truth(size)) }
            @if let Some(details) = details { td { (lines(details.iter().cloned())) } }
        }
    }
}

/// Returns the estimated number of values; a dash for a number that was never estimated.
fn estimate(size: Option<Size>) -> String {
    match size {
        Some(Size::Estimated(estimated) | Size::Measured { estimated, .. }) => count(estimated),
        Some(Size::Exact(_)) | None => "–".to_owned(),
    }
}

/// Returns the true number of values, or [`NOT_RUN`] if the number is unknown.
fn truth(size: Option<Size>) -> String {
    match size {
        Some(Size::Exact(stored) | Size::Measured { stored, .. }) => HumanCount(stored).to_string(),
        Some(Size::Estimated(_)) | None => NOT_RUN.to_owned(),
    }
}

/// Renders texts that are shown on a click.
fn details(sections: &[Section]) -> Markup {
    html! {
        @for Section { title, text } in sections {
            "\n"
            details {
                summary { (title) " " span.faint { (line_count(text)) } }
                pre { code { (text.trim_end()) } }
            }
        }
    }
}

fn line_count(text: &str) -> String {
    match text.trim_end().lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}

/// Formats an estimate as a whole number, or with a power of ten.
fn count(number: f64) -> String {
    if number < 1e15 { HumanCount(number.round() as u64).to_string() } else { format!("{number:.2e}") }
}

fn time(elapsed: Duration) -> String {
    format!("{elapsed:.1?}")
}
