//! Tests of `README.md` and the pages of the book: the summary has every page of the book, every
//! relative link resolves, sentences are short, pages have titles, and code blocks have a language.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use redpoll_golden::pages::{Page, read_pages};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn pages() -> Vec<Page> {
    let pages = read_pages(root()).unwrap();
    assert!(pages.len() > 20, "{} pages", pages.len());
    pages
}

/// Returns the targets of the links and images of a page, with their lines.
fn links(page: &Page) -> Vec<(String, usize)> {
    let targets = Parser::new(&page.text).into_offset_iter().filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some((dest_url.to_string(), page.text[..range.start].matches('\n').count() + 1))
        }
        _ => None,
    });
    targets.collect()
}

/// Returns the texts of the headings of a page.
fn headings(page: &Page) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<String> = None;
    for event in Parser::new(&page.text) {
        match event {
            Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => found.extend(open.take()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut open {
                    heading.push_str(&part);
                }
            }
            _ => {}
        }
    }
    found
}

/// Asserts that the summary lists every page of the book once, and no other pages.
#[test]
fn the_summary_has_every_page() {
    let (summaries, pages): (Vec<Page>, Vec<Page>) =
        pages().into_iter().partition(|page| page.path.ends_with("SUMMARY.md"));
    let listed: Vec<PathBuf> =
        links(&summaries[0]).iter().map(|(target, _)| Path::new("docs/src").join(target)).collect();
    let written: BTreeSet<PathBuf> =
        pages.into_iter().map(|page| page.path).filter(|path| path.starts_with("docs/src")).collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), written);
    assert_eq!(listed.len(), written.len(), "a page is listed twice");
}

/// Asserts that every relative link names a file or folder of the repository, and that its
/// fragment, if it has one, names a heading of the page.
#[test]
fn links_resolve() {
    let pages = pages();
    let mut faults = Vec::new();
    for page in &pages {
        for (target, line) in &links(page) {
            if target.contains("://") {
                continue;
            }
            let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => page.path.clone(),
                file => normalized(&page.path.parent().unwrap().join(file)),
            };
            let is_missing = !root().join(&path).exists();
            let is_fragment_missing = !fragment.is_empty()
                && pages.iter().find(|other| other.path == path).is_none_or(|other| !has_heading(other, fragment));
            if is_missing || is_fragment_missing {
                faults.push(format!("{}:{line}: {target}", page.path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "links that lead nowhere:\n{}", faults.join("\n"));
}

/// Resolves the `..` of a path without the file system. Panics if the path leaves the repository.
fn normalized(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => assert!(found.pop(), "{} leaves the repository", path.display()),
            component => found.push(component),
        }
    }
    found
}

/// Returns whether a heading of a page has this fragment in the naming scheme of GitHub and mdBook.
fn has_heading(page: &Page, fragment: &str) -> bool {
    let name = |heading: &String| -> String {
        let kept = heading.to_lowercase().replace(' ', "-");
        kept.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
    };
    headings(page).iter().any(|heading| name(heading) == fragment)
}

/// The largest number of words in a sentence, the same as for the READMEs of the repository.
const SENTENCE_WORDS: usize = 35;

/// Asserts that sentences outside of code and tables are short.
#[test]
fn sentences_are_short() {
    for page in pages() {
        let mut is_code = false;
        for (k, line) in page.text.lines().enumerate() {
            is_code ^= line.starts_with("```");
            if is_code || line.starts_with('|') {
                continue;
            }
            let longest = line.split(". ").map(|sentence| sentence.split_whitespace().count()).max().unwrap_or(0);
            assert!(longest <= SENTENCE_WORDS, "{}:{} has {longest} words", page.path.display(), k + 1);
        }
    }
}

/// Asserts that each page has a title, and each code block a language.
#[test]
fn pages_have_a_title() {
    for page in pages() {
        let titles = page.text.lines().filter(|line| line.starts_with("# ")).count();
        let path = page.path.display();
        assert!(titles >= 1, "{path} has no title");
        for block in &page.blocks {
            assert!(!block.info.is_empty(), "{path}:{} has no language", block.line);
        }
    }
}
