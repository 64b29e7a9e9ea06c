//! Machine code that kernels share: a function is not compiled again while the code of an equal
//! function is in memory. Two functions are equal here if they differ only in names and in the
//! fills of buffers; the code depends on neither.
//!
//! Sizes are parameters of functions. So the plans of one expression over tensors of several sizes
//! often lower to the same function, and so do queries over different tables.

use super::{Effort, compile};
use crate::compiled_kernel::CodeRef;
use crate::{CompiledKernel, Error};
use redpoll_compiler::assembly::{Function, Signature};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Compiles a function, or returns a kernel with the code in memory of an equal function that was
/// compiled with the same effort.
///
/// # Errors
/// The errors of [`compile`].
pub fn compile_shared(function: &Function, effort: Effort) -> Result<CompiledKernel, Error> {
    static CODE: LazyLock<Mutex<CodeTable>> = LazyLock::new(Mutex::default);
    let table = || CODE.lock().unwrap_or_else(PoisonError::into_inner);
    let key = code_key(function, effort);
    let found = table().code.get(&key).and_then(|code| code.kernel(Signature::of(function)));
    if let Some(kernel) = found {
        return Ok(kernel);
    }
    // The table is not locked during the compilation. If two threads compile one function, both
    // results are valid.
    let kernel = compile(function, effort)?;
    table().insert(key, kernel.code());
    Ok(kernel)
}

/// The hash of the effort, and of a function without names and fills.
type CodeKey = [u8; blake3::OUT_LEN];

fn code_key(function: &Function, effort: Effort) -> CodeKey {
    let mut state = HashedBytes::default();
    function.hash_code(&mut state);
    effort.hash(&mut state);
    // The hash is cryptographic, so functions with equal keys are treated as equal.
    *blake3::hash(&state.0).as_bytes()
}

/// The bytes that values feed to a hasher. Small integers, such as the numbers of variants and
/// locals, take one byte.
#[derive(Default)]
struct HashedBytes(Vec<u8>);

impl HashedBytes {
    /// Appends an integer below 255 as one byte, and another integer as 255 and eight bytes.
    fn push_integer(&mut self, value: u64) {
        match u8::try_from(value) {
            Ok(byte) if byte < u8::MAX => self.0.push(byte),
            _ => {
                self.0.push(u8::MAX);
                self.0.extend_from_slice(&value.to_ne_bytes());
            }
        }
    }
}

impl Hasher for HashedBytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn write_u32(&mut self, value: u32) {
        self.push_integer(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.push_integer(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.push_integer(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.push_integer(value as u64);
    }

    fn finish(&self) -> u64 {
        unreachable!("the bytes are hashed as a whole")
    }
}

/// The code of kernels in memory.
struct CodeTable {
    code: HashMap<CodeKey, CodeRef>,
    /// The number of entries at which entries with freed code are removed.
    limit: usize,
}

/// The least number of entries at which entries are removed.
const LEAST_LIMIT: usize = 128;

impl Default for CodeTable {
    fn default() -> CodeTable {
        CodeTable { code: HashMap::new(), limit: LEAST_LIMIT }
    }
}

impl CodeTable {
    fn insert(&mut self, key: CodeKey, code: CodeRef) {
        if self.code.len() >= self.limit {
            self.code.retain(|_, code| code.is_loaded());
            self.limit = LEAST_LIMIT.max(2 * self.code.len());
        }
        self.code.insert(key, code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_compiler::assembly::text::parse;

    fn function(name: &str, local: &str, constant: &str) -> Function {
        let locals = format!("  local lo: i64\n  local hi: i64\n  local {local}: f64\n  chunk lo, hi\n");
        parse(&format!("fn {name}() {{\n{locals}  {local} = {constant}\n}}\n")).unwrap()
    }

    #[test]
    fn keys_depend_on_everything_but_names() {
        let key = |name, local, constant| code_key(&function(name, local, constant), Effort::Full);
        let base = key("f", "x", "0.0");
        assert_eq!(base, key("g", "y", "0.0"));
        assert_ne!(base, key("f", "x", "1.0"));
        assert_ne!(base, key("f", "x", "-0.0"));
        assert_ne!(base, code_key(&function("f", "x", "0.0"), Effort::Quick));
    }

    #[test]
    fn code_is_shared_while_a_kernel_has_it() {
        let first = compile_shared(&function("f", "x", "123.5"), Effort::Full).unwrap();
        let renamed = function("g", "y", "123.5");
        let second = compile_shared(&renamed, Effort::Full).unwrap();
        assert!(first.code().is_same(&second.code()));
        let code = first.code();
        drop((first, second));
        assert!(!code.is_loaded());
        compile_shared(&renamed, Effort::Full).unwrap();
    }

    #[test]
    fn entries_of_freed_code_are_removed() {
        let mut table = CodeTable::default();
        let retained = compile(&function("f", "x", "0.25"), Effort::Full).unwrap();
        for k in 0..3 * LEAST_LIMIT {
            let mut key = CodeKey::default();
            key[..8].copy_from_slice(&k.to_le_bytes());
            let code = if k == 0 {
                retained.code()
            } else {
                compile(&function("f", "x", "0.5"), Effort::Quick).unwrap().code()
            };
            table.insert(key, code);
        }
        assert!(
            table.code.len() <= LEAST_LIMIT && table.code.contains_key(&CodeKey::default()),
            "{}",
            table.code.len()
        );
    }
}
