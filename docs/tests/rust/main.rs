//! Runs the Rust code of each page in a separate folder: compares the output of its blocks with the
//! page, and checks the expressions in its tables.

mod cell;

use libtest_mimic::{Arguments, Failed, Trial};
use redpoll_book::Notebook;
use redpoll_golden::pages::{Output, Page, sandbox};
use std::path::Path;
use std::{env, error, fs};

type PageResult = Result<(), Box<dyn error::Error>>;

#[allow(unused, reason = "a page may show results that it does not use")]
#[allow(clippy::all, clippy::pedantic, reason = "pages are written for readers")]
mod code {
    use super::{Notebook, PageResult};
    use crate::cell::check_cell;

    macro_rules! println {
        () => { println!("") };
        ($($text:tt)*) => { redpoll_book::print_line(format_args!($($text)*)) };
    }

    include!(concat!(env!("OUT_DIR"), "/pages.rs"));

    pub(super) fn pages() -> &'static [(&'static str, fn(&mut Notebook) -> PageResult)] {
        PAGES
    }
}

fn main() {
    let trials = code::pages().iter().map(|(path, run)| Trial::test(*path, || check(path, *run))).collect();
    // Pages run one after the other, because each page changes the current folder of the process.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, trials).exit();
}

fn check(path: &str, run: fn(&mut Notebook) -> PageResult) -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the book is below the root");
    let page = Page::read(root, Path::new(path))?;
    let folder = sandbox(root)?;
    page.write_files(folder.path())?;
    let home = env::current_dir()?;
    env::set_current_dir(folder.path())?;
    let mut notebook = Notebook::default();
    let done = run(&mut notebook);
    env::set_current_dir(home)?;
    fs::remove_dir_all(folder.path())?;
    let outputs = notebook.into_outputs();
    let next = page.blocks_of("rust").nth(outputs.len()).map_or(0, |block| page.blocks[block].line);
    done.map_err(|error| format!("{path}:{next}: {error}"))?;
    let outputs: Vec<Output> = outputs.into_iter().map(|(block, text)| Output { block, within: false, text }).collect();
    Ok(page.check(&outputs)?)
}
