//! Names in C: what Assembly calls its buffers, parameters and locals, made into distinct identifiers.

use crate::assembly::Function;
use std::collections::HashSet;

/// Words that are no names: those of the language, of the headers, and those that the text uses itself.
const RESERVED: &[&str] = &[
    "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "false", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short",
    "signed", "sizeof", "static", "struct", "switch", "true", "typedef", "typeof", "union", "unsigned", "void",
    "volatile", "while", "asm", "linux", "unix", "frame", "status",
];

/// Endings of types of the headers.
const TYPES: &str = "_t";

/// The identifiers of a function.
pub(in crate::emit) struct Names {
    pub(in crate::emit) buffers: Vec<String>,
    pub(in crate::emit) params: Vec<String>,
    pub(in crate::emit) locals: Vec<String>,
}

impl Names {
    /// Distinct identifiers; with each of them the ones that [`room`], [`end`], [`lane`] and their like make of it.
    pub(in crate::emit) fn new(function: &Function) -> Names {
        Names::beside(function, &[])
    }

    /// The same, which are none of some more words that are no names either.
    pub(in crate::emit) fn beside(function: &Function, words: &[&str]) -> Names {
        let mut taken: HashSet<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut all = |names: &mut dyn Iterator<Item = &str>| {
            // What has no name is called after its place in its table.
            let name = |(k, name): (usize, &str)| {
                if name.is_empty() { fresh(&format!("v{k}"), &mut taken) } else { fresh(name, &mut taken) }
            };
            names.enumerate().map(name).collect()
        };
        Names {
            buffers: all(&mut function.buffers.iter().map(|b| b.name.as_str())),
            params: all(&mut function.params.iter().map(String::as_str)),
            locals: all(&mut function.locals.iter().map(|l| l.name.as_str())),
        }
    }
}

/// The variable that holds how many elements a buffer has room for, also for the macro `RP_GROW`. Two underscores stand in
/// no other name.
pub(in crate::emit) fn room(buffer: &str) -> String {
    format!("{buffer}__room")
}

/// The variable that holds the window of a buffer.
pub(in crate::emit) fn window(buffer: &str) -> String {
    format!("{buffer}__window")
}

/// The variable that holds how many elements a buffer was to have.
pub(in crate::emit) fn asked(buffer: &str) -> String {
    format!("{buffer}__asked")
}

/// The variable that holds how many elements a window has in the memory of a block.
pub(in crate::emit) fn share(buffer: &str) -> String {
    format!("{buffer}__share")
}

/// The variable that holds where a loop starts.
pub(in crate::emit) fn from(var: &str) -> String {
    format!("{var}__from")
}

/// The variable that holds where a loop ends.
pub(in crate::emit) fn end(var: &str) -> String {
    format!("{var}__end")
}

/// The variable that holds where the whole rounds of a lane fold end.
pub(in crate::emit) fn whole(var: &str) -> String {
    format!("{var}__whole")
}

/// The variable that holds how many elements are left behind the whole rounds of a lane fold.
pub(in crate::emit) fn rest(var: &str) -> String {
    format!("{var}__rest")
}

/// The variable that holds one lane of a fold.
pub(in crate::emit) fn lane(acc: &str, number: usize) -> String {
    format!("{acc}__{number}")
}

/// Whether headers may define the name: their macros, such as `INT64_MAX` and `SIZE_MAX`, have no small letter.
fn may_be_macro(name: &str) -> bool {
    name.len() > 1 && !name.contains(|c: char| c.is_ascii_lowercase())
}

/// An identifier for a name that is not taken yet; single letters and digits, no two underscores in a row.
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

    /// Protects against two things of one name, and against words of C.
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
