//! The output of the Rust code of a page: everything that its blocks print, block by block.
//!
//! `build.rs` turns each page with Rust code into a function, in which the blocks follow each
//! other, so that they share variables. A block that is a whole program has a scope of its own.
//! `tests/rust/main.rs` calls these functions.

use std::cell::RefCell;
use std::fmt::{self, Write};

thread_local! {
    /// The text that the current block has printed.
    static PRINTED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The printed texts of the blocks of a page.
#[derive(Default)]
pub struct Notebook {
    outputs: Vec<(usize, String)>,
}

impl Notebook {
    /// Ends the block with this index among the code blocks of its page.
    pub fn end_block(&mut self, block: usize) {
        self.outputs.push((block, PRINTED.take()));
    }

    /// Returns the index and the text of each block that has ended. Discards the text of a block
    /// that failed before its end.
    pub fn into_outputs(self) -> Vec<(usize, String)> {
        PRINTED.take();
        self.outputs
    }
}

/// Adds a line to the text of the current block. The `println!` of pages calls this function.
pub fn print_line(line: fmt::Arguments) {
    PRINTED.with_borrow_mut(|text| writeln!(text, "{line}")).expect("a text takes any line");
}
