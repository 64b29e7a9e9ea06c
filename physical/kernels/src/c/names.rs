//! Names in C: distinct identifiers for the buffers, parameters and locals of Assembly.

use redpoll_compiler::assembly::Function;
use std::collections::HashSet;

/// Words that are not available as names: keywords, names that headers or compilers define, and
/// names that the generated text uses.
const RESERVED: &[&str] = &[
    "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "false", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short",
    "signed", "sizeof", "static", "struct", "switch", "true", "typedef", "typeof", "union", "unsigned", "void",
    "volatile", "while", "asm", "linux", "unix", "frame", "status",
];

/// Suffix of the type names that headers define.
const TYPES: &str = "_t";

/// The identifiers of a function.
pub struct Identifiers {
    pub buffers: Vec<String>,
    pub params: Vec<String>,
    pub locals: Vec<String>,
}

impl Identifiers {
    /// Creates distinct identifiers. The names that [`capacity`], [`end`], [`lane`] and similar
    /// functions derive from them are distinct as well.
    pub fn new(function: &Function) -> Identifiers {
        Identifiers::avoiding(function, &[])
    }

    /// Creates identifiers that also differ from `words`.
    pub fn avoiding(function: &Function, words: &[&str]) -> Identifiers {
        let mut taken: HashSet<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut all = |names: &mut dyn Iterator<Item = &str>| {
            // A buffer, parameter or local without a name is named by its index.
            let name = |(k, name): (usize, &str)| {
                if name.is_empty() { fresh(&format!("v{k}"), &mut taken) } else { fresh(name, &mut taken) }
            };
            names.enumerate().map(name).collect()
        };
        Identifiers {
            buffers: all(&mut function.buffers.iter().map(|b| b.name.as_str())),
            params: all(&mut function.params.iter().map(String::as_str)),
            locals: all(&mut function.locals.iter().map(|l| l.name.as_str())),
        }
    }
}

/// Returns the variable for the capacity of a buffer in elements, which the macros `RP_GROW` and
/// `RP_SWAP` use as well. Two adjacent underscores occur in derived names only.
pub fn capacity(buffer: &str) -> String {
    format!("{buffer}__capacity")
}

/// Returns the variable for the window of a buffer.
pub fn window(buffer: &str) -> String {
    format!("{buffer}__window")
}

/// Returns the variable for the number of elements that growth of a buffer requested.
pub fn requested(buffer: &str) -> String {
    format!("{buffer}__requested")
}

/// Returns the variable for the length of a window's share of the memory of a block.
pub fn share(buffer: &str) -> String {
    format!("{buffer}__share")
}

/// Returns the variable for the lower bound of a loop.
pub fn from(var: &str) -> String {
    format!("{var}__from")
}

/// Returns the variable for the upper bound of a loop.
pub fn end(var: &str) -> String {
    format!("{var}__end")
}

/// Returns the variable for the end of the full rounds of a lane fold.
pub(crate) fn full_end(var: &str) -> String {
    format!("{var}__full_end")
}

/// Returns the variable for the number of elements after the full rounds of a lane fold.
pub fn rest(var: &str) -> String {
    format!("{var}__rest")
}

/// Returns the variable for the stage of a round that may append, in CUDA: 1 plus the number of
/// branches that the round has taken towards the append, or 0 for a lane without a round.
pub fn stage(var: &str) -> String {
    format!("{var}__stage")
}

/// Returns the variable for the number of rounds that append and are earlier in the batch, which
/// has one round for each lane.
pub fn rank(var: &str) -> String {
    format!("{var}__rank")
}

/// Returns the variable for the number of rounds of a batch that append.
pub fn count(var: &str) -> String {
    format!("{var}__count")
}

/// Returns the variable for one lane of a fold.
pub fn lane(acc: &str, number: usize) -> String {
    format!("{acc}__{number}")
}

/// Returns the variable for the vector of the last elements of a lane fold.
pub(super) fn partial(acc: &str) -> String {
    format!("{acc}__partial")
}

/// Returns whether headers may define the name: their macros, such as `INT64_MAX` and `SIZE_MAX`,
/// have several characters, and no lower-case letters.
fn may_be_macro(name: &str) -> bool {
    name.len() > 1 && !name.contains(|c: char| c.is_ascii_lowercase())
}

/// Returns an identifier for a name, of letters, digits and single underscores. The identifier
/// differs from all identifiers in `taken`, and is then added to `taken`.
fn fresh(name: &str, taken: &mut HashSet<String>) -> String {
    let mut base = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        if !(c == '_' && base.ends_with('_')) {
            base.push(c);
        }
    }
    let mut base = base.trim_matches('_').to_owned();
    if !base.starts_with(|c: char| c.is_ascii_alphabetic()) {
        base.insert(0, 'v');
    }
    if RESERVED.contains(&base.as_str()) || base.ends_with(TYPES) || base.starts_with("rp_") || may_be_macro(&base) {
        base.push_str("_v");
    }
    let mut name = base.clone();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names are distinct and differ from words of C.
    #[test]
    fn names_are_distinct_identifiers() {
        let mut taken = HashSet::new();
        let rows = [
            ("A.idx1", "A_idx1"),
            ("A_idx1", "A_idx1_2"),
            ("i", "i"),
            ("i", "i_2"),
            ("i'", "i_3"),
            ("for", "for_v"),
            ("int8_t", "int8_t_v"),
            ("rp_min", "rp_min_v"),
            ("", "v"),
            ("2x", "v2x"),
            ("a..b__c", "a_b_c"),
            ("\u{df}", "v_2"),
            ("frame", "frame_v"),
            ("INT64_MAX", "INT64_MAX_v"),
            ("SIZE_MAX", "SIZE_MAX_v"),
            ("NULL", "NULL_v"),
            ("A", "A"),
            ("X2", "X2_v"),
            ("A.B", "A_B_v"),
        ];
        for (name, expected) in rows {
            assert_eq!(fresh(name, &mut taken), expected, "{name}");
        }
    }
}
