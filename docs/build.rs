//! Turns the Rust blocks of each page, and the Rust expressions in its tables, into one function
//! per page. `tests/rust/main.rs` includes these functions.
#![allow(clippy::print_stdout, reason = "cargo reads the output of a build script")]

#[path = "../tests/golden/markdown.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests of the book use the rest")]
mod markdown;

use markdown::{code_blocks, page_paths, rust_cells};
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the book is below the root");
    println!("cargo:rerun-if-changed={}", root.join("README.md").display());
    println!("cargo:rerun-if-changed={}", root.join("docs/src").display());
    let mut functions = String::new();
    let mut table = String::new();
    let pages = page_paths(root).expect("the folder of pages can be read");
    for (k, page) in pages.iter().enumerate() {
        let text = fs::read_to_string(page).expect("pages can be read");
        let page = page.strip_prefix(root).expect("pages are below the root").display();
        let blocks = code_blocks(&text);
        let blocks = blocks.iter().enumerate().filter(|(_, block)| block.is_code("rust")).map(|(block, found)| {
            let (code, line) = (&found.text, found.line);
            // A block that is a whole program gets a scope of its own.
            let code = match code.contains("fn main()") {
                true => format!("{{\n{code}main()?;\n}}\n"),
                false => code.clone(),
            };
            (line, format!("{code}__notebook.end_block({block});\n"))
        });
        let cells = rust_cells(&text).into_iter().map(|(code, line)| (line, format!("check_cell({{ {code} }})?;\n")));
        let mut parts: Vec<(usize, String)> = blocks.chain(cells).collect();
        if parts.is_empty() {
            continue;
        }
        parts.sort_by_key(|(line, _)| *line);
        let place = |line: usize| format!("// {page}:{line}");
        let body: String = parts.iter().map(|(line, code)| format!("{}\n{code}", place(*line))).collect();
        write!(functions, "fn page_{k}(__notebook: &mut Notebook) -> PageResult {{\n{body}Ok(())\n}}\n")
            .expect("texts grow");
        write!(table, "({:?}, page_{k}),", page.to_string()).expect("texts grow");
    }
    let text = format!("{functions}const PAGES: &[(&str, fn(&mut Notebook) -> PageResult)] = &[{table}];\n");
    let folder = env::var_os("OUT_DIR").expect("cargo sets the folder of outputs");
    fs::write(Path::new(&folder).join("pages.rs"), text).expect("the folder of outputs can be written");
}
