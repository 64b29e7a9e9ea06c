//! Tests of pages: they are well-formed, markup in the texts of users is escaped, and pages of real
//! plans and programs show every query.

use super::collect::collect;
use super::forms::query_forms;
use super::graph::Graph;
use super::page::{Decisions, Page, QueryMeasurements, QueryPart, ReadRow, RunMeasurements, WriteRow};
use super::render::render;
use crate::storage::Tensor;
use crate::{Bindings, Prepared, Section, Session, Size, Target};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::path::Path;
use std::time::Duration;

/// The elements of a page that have no end tag in HTML.
const VOID: [&str; 1] = ["meta"];

/// The elements of a page with their attributes.
struct Elements(Vec<(String, Vec<(String, String)>)>);

impl Elements {
    /// Parses a page, and panics unless it is well-formed.
    fn of(page: &str) -> Elements {
        let mut reader = Reader::from_str(page);
        let (mut elements, mut open) = (Vec::new(), 0);
        loop {
            match reader.read_event().unwrap_or_else(|error| panic!("{error} at {}", reader.error_position())) {
                Event::Start(start) if VOID.contains(&start.name().as_ref()) => {
                    panic!("the void element `{}` is not closed", start.name().as_ref())
                }
                Event::Start(start) => {
                    open += 1;
                    elements.push(element(&start));
                }
                Event::Empty(start) => elements.push(element(&start)),
                Event::End(_) => open -= 1,
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(open, 0, "every element is closed");
        Elements(elements)
    }

    /// Returns the values of an attribute.
    fn values(&self, attribute: &str) -> Vec<&str> {
        let attributes = self.0.iter().flat_map(|(_, attributes)| attributes);
        attributes.filter(|(name, _)| name == attribute).map(|(_, value)| value.as_str()).collect()
    }

    fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|(element, _)| element == name).count()
    }
}

fn element(start: &BytesStart<'_>) -> (String, Vec<(String, String)>) {
    let attribute = |attribute: Result<quick_xml::events::attributes::Attribute<'_>, _>| {
        let attribute = attribute.unwrap();
        (attribute.key.as_ref().to_owned(), attribute.value.to_string())
    };
    (start.name().as_ref().to_owned(), start.attributes().map(attribute).collect())
}

/// Closes the void elements of HTML, so that the page can be parsed as XML.
fn closed(page: &str) -> String {
    let close = |line: &str| {
        VOID.iter().fold(line.to_owned(), |line, name| {
            let mut parts = line.split(&format!("<{name} ")).map(str::to_owned).collect::<Vec<_>>();
            parts.iter_mut().skip(1).for_each(|part| *part = part.replacen('>', "/>", 1));
            parts.join(&format!("<{name} "))
        })
    };
    page.lines().map(close).collect::<Vec<_>>().join("\n")
}

/// Asserts that a page is well-formed, loads no other files, and has no repeated ids and no broken
/// links.
fn check(page: &str) -> Elements {
    let elements = Elements::of(&closed(page));
    let ids = elements.values("id");
    for (k, id) in ids.iter().enumerate() {
        assert!(!ids[..k].contains(id), "two elements with the id {id}");
    }
    for link in elements.values("href") {
        assert!(link.strip_prefix('#').is_some_and(|id| ids.contains(&id)), "{link} leads nowhere");
    }
    assert_eq!(elements.count("script") + elements.count("link") + elements.count("img"), 0);
    assert!(elements.values("src").is_empty());
    elements
}

/// Returns a page with a query for each name. The first query reads the table `A`, and each later
/// query reads the output of the previous query.
fn page(names: &[&str], measured: Option<Duration>) -> Page {
    let text = |text: &str| text.to_owned();
    let size = |estimated, stored| match measured {
        Some(_) => Size::Measured { estimated, stored },
        None => Size::Estimated(estimated),
    };
    let query = |(k, name): (usize, &&str)| QueryPart {
        name: text(name),
        decisions: Some(Decisions {
            origin: (k == 1).then_some("a copy in another order"),
            loops: vec![text("i"), text("j")],
            is_conversion: k == 1,
            cost: 1234.4,
            rejected: vec![(text("j i"), 5678.0)],
            rules: vec![("distribute", "a * (b + c) = a * b + a * c")],
        }),
        reads: vec![ReadRow {
            tensor: text(if k == 0 { "A" } else { names[k - 1] }),
            ty: text("f64 18 x 14"),
            format: text("(dense sparse-list)"),
            size: Some(if k == 0 { Size::Exact(89) } else { size(20.0, 18) }),
            accesses: vec![text("walk i, walk j")],
        }],
        writes: vec![WriteRow {
            tensor: text(name),
            ty: text("f64 18"),
            format: text("(dense)"),
            size: Some(size(20.0, 18)),
            details: vec![text("through a workspace (dense)")],
        }],
        threads: Some(text("threads take chunks of i")),
        measured: measured.map(|time| QueryMeasurements { time, target: Some("instant"), work: None }),
        adaptation: None,
        forms: vec![Section {
            title: text("C to read"),
            text: format!("for (i = 0; i < n && a[i] > 0; i++) /* {name} */"),
        }],
    };
    let queries: Vec<QueryPart> = names.iter().enumerate().map(query).collect();
    let produces = [text(names.last().unwrap())];
    Page {
        kind: "Plan",
        title: format!("Plan of {}", produces[0]),
        source: format!("{}(i) = A(i,j)", names[0]),
        engine: text("cpu: as requested"),
        notes: vec![format!("result `{}` is dense", names[0])],
        graph: Graph::of(&queries, &produces),
        phases: vec![("optimize", Duration::from_micros(1500)), ("compile", Duration::from_micros(500))],
        run: measured.map(|time| RunMeasurements { target: "cpu", time, peak_bytes: 4096 }),
        queries,
        plans: vec![Section { title: text("logic"), text: format!("(plan (query {} ..))", names[0]) }],
    }
}

/// Asserts the whole text of a small page.
#[test]
fn a_small_page() {
    let text = render(&page(&["x", "y"], Some(Duration::from_micros(250))));
    check(&text);
    redpoll_golden::check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/html/small.html"), &text);
}

/// Asserts that names with markup are escaped and add no elements to the page.
#[test]
fn texts_of_users_are_escaped() {
    let names = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</pre></svg>&amp; ' ]]>"];
    for measured in [None, Some(Duration::from_nanos(1))] {
        let text = render(&page(&names, measured));
        let found = check(&text);
        let plain = check(&render(&page(&["a", "b", "c"], measured)));
        let tags = |elements: &Elements| elements.0.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(tags(&found), tags(&plain), "names do not change the elements");
        assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert_eq!(text.contains(">not run<"), measured.is_none());
    }
}

/// Returns a prepared plan or program over small tensors.
fn prepared(source: &str, tables: &[&str]) -> Prepared {
    let session = Session::default();
    let table = |name: &&str| -> (String, Tensor) {
        let tensor = match *name {
            "source" => Tensor::scalar(&0i64.into()).unwrap(),
            "x" => session.vector([1.0; 34]).collect().unwrap(),
            _ => session.sample("karate").unwrap().collect().unwrap(),
        };
        ((*name).to_owned(), tensor)
    };
    let bindings = tables.iter().map(table).fold(Bindings::new(), |b, (name, tensor)| b.with(name.as_str(), tensor));
    session.prepare(source, &bindings).unwrap()
}

/// Asserts that the pages of real plans and programs show every query, and that the pages of plans
/// that have run also show the title of each form of each query.
#[test]
fn pages_of_real_plans() {
    let file = |path: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let cases = [
        ("y(i) = A(i,j) * x(j)".to_owned(), &["A", "x"][..]),
        ("s = A(i,j)".to_owned(), &["A"]),
        (file("plans/triangles.rp"), &["E"]),
        ("(plan (query B (reformat csc (table A i j))) (produces B))".to_owned(), &["A"]),
        (file("programs/bfs_push.rp"), &["A", "source"]),
    ];
    for (source, tables) in &cases {
        let prepared = prepared(source, tables);
        let before = render(&collect(source, &prepared, None).unwrap());
        let elements = check(&before);
        assert!(before.contains(">not run<"), "{source}");
        let queries = elements.values("id").iter().filter(|id| id.starts_with("query-")).count();
        assert_eq!(queries, query_forms(&prepared).len(), "{source}");
        if prepared.plan().is_none() {
            continue;
        }
        let profile = prepared.profile(Target::INSTANT).unwrap();
        let after = render(&collect(source, &prepared, Some(&profile)).unwrap());
        check(&after);
        assert!(!after.contains("not run") && after.contains("took "), "{source}");
        for form in query_forms(&prepared).iter().flat_map(|query| &query.forms) {
            assert!(after.contains(&*form.title) && !form.text.trim().is_empty(), "{source}: {}", form.title);
        }
    }
}
