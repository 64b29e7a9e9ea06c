//! Pages of Markdown: their code blocks, and the outputs of these blocks, which tests compare.
//!
//! The output of a block is in the `text` block after it, or in the block itself (`console`).
//! `[..]` in an output stands for any part of a line, and a line `...` for any lines. With
//! `REDPOLL_BLESS=1`, tests write outputs into the page; these wildcards stay where they still
//! match.
//!
//! The info string of a block says how the block is used: a `csv file=NAME` block is a file that
//! the page reads, and a `text drawing` block is not an output.

use crate::markdown::{CodeBlock, code_blocks, page_paths};
use crate::{BLESS, first_difference, is_blessing};
use snapbox::Data;
use snapbox::filter::NormalizeToExpected;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, io};
use tempfile::TempDir;

/// A page of Markdown.
pub struct Page {
    /// The path from the root of the repository.
    pub path: PathBuf,
    /// The whole text.
    pub text: String,
    /// The fenced code blocks, in order.
    pub blocks: Vec<CodeBlock>,
    root: PathBuf,
}

/// Returns the pages whose code is run, `README.md` and then the pages of the book in the order of
/// their paths. `root` is the root of the repository.
///
/// # Errors
/// Fails if a page cannot be read.
pub fn read_pages(root: &Path) -> io::Result<Vec<Page>> {
    let paths = page_paths(root)?;
    paths.into_iter().map(|path| Page::read(root, path.strip_prefix(root).expect("pages are below the root"))).collect()
}

/// Returns a temporary folder in which the code of pages runs, with links to the plans, programs
/// and data of the repository.
///
/// # Errors
/// Fails if the folder or a link cannot be created.
#[cfg(unix)]
pub fn sandbox(root: &Path) -> io::Result<TempDir> {
    let folder = TempDir::new()?;
    for name in ["datasets", "plans", "programs"] {
        std::os::unix::fs::symlink(root.join(name), folder.path().join(name))?;
    }
    Ok(folder)
}

impl Page {
    /// Reads the page at a path below the root of the repository.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read(root: &Path, path: &Path) -> io::Result<Page> {
        let text = fs::read_to_string(root.join(path))?;
        Ok(Page::parse(root, path, text))
    }

    pub(crate) fn parse(root: &Path, path: &Path, text: String) -> Page {
        let blocks = code_blocks(&text);
        Page { path: path.to_owned(), blocks, root: root.to_owned(), text }
    }

    /// Returns the indices of the blocks of a language, except blocks that hold a file.
    pub fn blocks_of(&self, language: &str) -> impl Iterator<Item = usize> {
        self.blocks.iter().enumerate().filter(move |(_, block)| block.is_code(language)).map(|(k, _)| k)
    }

    /// Writes the blocks that hold files into a folder.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn write_files(&self, folder: &Path) -> io::Result<()> {
        let files = self.blocks.iter().filter_map(|block| Some((block.file_name()?, &block.text)));
        files.into_iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))
    }

    /// Compares the outputs of blocks with the page, or writes the outputs into the page.
    ///
    /// # Errors
    /// Returns a list of the outputs that differ, each with its line.
    pub fn check(&self, found: &[Output]) -> Result<(), String> {
        self.compare(found, is_blessing())
    }

    pub(crate) fn compare(&self, found: &[Output], bless: bool) -> Result<(), String> {
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        let mut messages = Vec::new();
        for output in found {
            let block = &self.blocks[output.block];
            let after = self.blocks.get(output.block + 1).filter(|next| next.is_output());
            let shown = if output.within { Some(block) } else { after };
            let path = self.path.display();
            match shown {
                None if output.text.is_empty() => {}
                None => {
                    messages.push(format!("{path}:{}: the output is not shown: {:?}", block.line, output.text));
                    edits.push((block.end..block.end, format!("\n\n```text\n{}```", output.text)));
                }
                Some(shown) => {
                    let text = normalized(&output.text, &shown.text);
                    if text != shown.text {
                        let (line, expected, found) = first_difference(&shown.text, &text);
                        messages.push(format!("{path}:{}: expected {expected}, found {found}", shown.line + line - 1));
                        edits.push((shown.range.clone(), text));
                    }
                }
            }
        }
        if bless {
            let mut text = self.text.clone();
            edits.into_iter().rev().for_each(|(range, new)| text.replace_range(range, &new));
            return fs::write(self.root.join(&self.path), text).map_err(|e| e.to_string());
        }
        match messages.is_empty() {
            true => Ok(()),
            false => Err(format!("{}\n{BLESS}=1 rewrites the page, review its diff", messages.join("\n"))),
        }
    }
}

/// The output of a block.
pub struct Output {
    /// The index of the block.
    pub block: usize,
    /// True if the output is in the block itself, together with the commands.
    pub within: bool,
    /// The text. Each line ends with a newline.
    pub text: String,
}

/// Returns the found text, with the wildcards of the expected text where they match.
fn normalized(found: &str, expected: &str) -> String {
    NormalizeToExpected::new().redact().normalize(Data::text(found), &Data::text(expected)).to_string()
}
