//! Pages of Markdown and their code: fenced blocks, and Rust expressions in tables.
//!
//! This file uses only the standard library, because the build script of the book includes it. A
//! dependency of the build script would change the features of other build scripts, and so rebuild
//! most dependencies.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Returns the paths of the pages whose code is run: `README.md`, and the pages of the book in
/// order. `root` is the root of the repository.
pub fn page_paths(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = vec![root.join("README.md")];
    add_pages(&root.join("docs/src"), &mut paths)?;
    paths[1..].sort();
    Ok(paths)
}

/// Adds the pages of a folder and its subfolders.
fn add_pages(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            add_pages(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
    Ok(())
}

/// A fenced code block.
pub struct CodeBlock {
    /// The words after the opening fence; the first word is the language.
    pub info: Vec<String>,
    /// The lines between the fences.
    pub text: String,
    /// The number of the first line of `text` in the page.
    pub line: usize,
    /// The range of bytes of `text` in the page.
    pub range: Range<usize>,
    /// The offset in bytes of the end of the closing fence.
    pub end: usize,
}

impl CodeBlock {
    /// Returns the language, or an empty text.
    pub fn language(&self) -> &str {
        self.info.first().map_or("", String::as_str)
    }

    /// Returns the name of the file that the block holds.
    pub fn file_name(&self) -> Option<&str> {
        self.info.iter().find_map(|word| word.strip_prefix("file="))
    }

    /// Returns whether the block shows the output of the block before it.
    pub fn is_output(&self) -> bool {
        self.language() == "text" && self.info.len() == 1
    }

    /// Returns whether the block is code in a language, and does not hold a file.
    pub fn is_code(&self, language: &str) -> bool {
        self.language() == language && self.file_name().is_none()
    }
}

const FENCE: &str = "```";

/// Returns the fenced code blocks of a page. Only a fence at the beginning of a line counts. A
/// block whose fence is never closed ends with the page.
pub fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let mut blocks: Vec<CodeBlock> = Vec::new();
    let mut open = None;
    let mut start = 0;
    for (k, line) in text.split_inclusive('\n').enumerate() {
        let end = start + line.len();
        match (line.strip_prefix(FENCE), open.take()) {
            (Some(info), None) => {
                let info = info.split_whitespace().map(str::to_owned).collect();
                open = Some(CodeBlock { info, text: String::new(), line: k + 2, range: end..end, end });
            }
            (Some(_), Some(block)) => blocks.push(CodeBlock { end: start + line.trim_end().len(), ..block }),
            (None, Some(block)) => {
                let text = block.text + line;
                open = Some(CodeBlock { range: block.range.start..end, end, text, ..block });
            }
            (None, None) => {}
        }
        start = end;
    }
    blocks.extend(open);
    blocks
}

/// The title of the table columns that contain Rust expressions.
const RUST_COLUMN: &str = "redpoll in Rust";

/// Returns the pieces of code between backticks in columns with the title `RUST_COLUMN`, each with
/// its line number.
pub fn rust_cells(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut column = None;
    let mut is_table = false;
    for (k, line) in text.lines().enumerate() {
        // A bar within a cell is escaped.
        let line = line.replace(r"\|", "\0");
        let Some(row) = line.strip_prefix('|') else {
            is_table = false;
            continue;
        };
        let mut cells = row.split('|').map(str::trim);
        if !is_table {
            column = cells.position(|title| title == RUST_COLUMN);
        } else if let Some(cell) = column.and_then(|column| cells.nth(column)) {
            let code = cell.split('`').skip(1).step_by(2);
            found.extend(code.map(|code| (code.replace('\0', "|"), k + 1)));
        }
        is_table = true;
    }
    found
}
