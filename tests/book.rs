//! The commands and the SQL of the README and the book, as readers run them: the real binary runs
//! in a separate folder for each page, and the output is compared with the page.
//!
//! In a `console` block, a line that begins with `$` is a command of the shell; lines that begin
//! with `>` continue the command. The `sql` blocks of a page are run in one session. A command may
//! fail only if it prints a line that begins with `error`, and must fail if it prints such a line.
//! All SQL statements must succeed. The Rust blocks are run by the crate `redpoll-book`.
#![cfg(unix)]

use libtest_mimic::{Arguments, Failed, Trial};
use redpoll_golden::pages::{Output, Page, read_pages, sandbox};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = read_pages(root).expect("pages can be read").into_iter();
    let with_commands = pages.filter(|page| page.blocks_of("console").chain(page.blocks_of("sql")).count() > 0);
    let trials = with_commands.map(|page| Trial::test(page.path.display().to_string(), move || check(root, &page)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn check(root: &Path, page: &Page) -> Result<(), Failed> {
    let folder = sandbox(root)?;
    page.write_files(folder.path())?;
    let mut outputs = Vec::new();
    for block in page.blocks_of("console") {
        outputs.push(Output { block, within: true, text: run_console(&page.blocks[block].text, folder.path())? });
    }
    let blocks: Vec<usize> = page.blocks_of("sql").collect();
    let texts = run_sql(page, &blocks, folder.path())?;
    outputs.extend(blocks.into_iter().zip(texts).map(|(block, text)| Output { block, within: false, text }));
    outputs.sort_by_key(|output| output.block);
    Ok(page.check(&outputs)?)
}

/// Runs the commands of a block, and returns the block with their actual outputs.
fn run_console(block: &str, folder: &Path) -> Result<String, Failed> {
    let mut text = String::new();
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("$ ") else { continue };
        let mut command = first.to_owned();
        text += &format!("{line}\n");
        while let Some(line) = lines.next_if(|line| *line == ">" || line.starts_with("> ")) {
            command += &format!("\n{}", line.get(2..).unwrap_or_default());
            text += &format!("{line}\n");
        }
        let (output, is_success) = run_shell(&command, folder)?;
        let has_error = output.lines().any(|line| line.starts_with("error"));
        if is_success == has_error {
            return Err(format!("`{command}` succeeds: {is_success}, and prints\n{output}").into());
        }
        text += &output;
    }
    Ok(text)
}

/// Runs a command in a shell. Returns its output, including standard error, and whether the command
/// succeeded.
fn run_shell(command: &str, folder: &Path) -> Result<(String, bool), Failed> {
    let binary = Path::new(env!("CARGO_BIN_EXE_redpoll")).parent().expect("the binary is in a folder");
    let path = format!("{}:{}", binary.display(), env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(folder).env("PATH", path).env("TERM", "dumb");
    let output = shell.env("XDG_STATE_HOME", folder).output()?;
    Ok((String::from_utf8(output.stdout)?, output.status.success()))
}

/// Runs the SQL blocks of a page in one session, and returns the output of each.
fn run_sql(page: &Page, blocks: &[usize], folder: &Path) -> Result<Vec<String>, Failed> {
    let mark = |k: usize| format!("end of block {k}");
    let mut statements = String::new();
    for &block in blocks {
        let text = page.blocks[block].text.trim_end().trim_end_matches(';');
        statements += &format!("{text};\nSELECT '{}' AS mark;\n", mark(block));
    }
    if blocks.is_empty() {
        return Ok(Vec::new());
    }
    fs::write(folder.join("page.sql"), statements)?;
    let (output, is_success) = run_shell("redpoll sql -f page.sql", folder)?;
    let mut texts = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    let mut all = output.lines();
    while let Some(line) = all.next() {
        match blocks.get(texts.len()).filter(|block| line.contains(&mark(**block))) {
            None => lines.push(line),
            // The mark is the row of a table: three lines of the table precede the row, and one
            // line follows.
            Some(_) => {
                lines.truncate(lines.len() - 3);
                all.next();
                texts.push(lines.drain(..).map(|line| format!("{line}\n")).collect());
            }
        }
    }
    match is_success && lines.is_empty() {
        true => Ok(texts),
        false => Err(format!("the statements of {} print\n{output}", page.path.display()).into()),
    }
}
