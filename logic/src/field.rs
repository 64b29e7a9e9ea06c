//! Names: fields of Logic tables, and aliases of tensors.

use rustc_hash::FxHasher;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A string with its precomputed hash, since names are compared far more often than they are
/// created.
#[derive(Debug)]
struct Name {
    hash: u64,
    text: Box<str>,
}

impl Name {
    fn new(text: Box<str>) -> Arc<Name> {
        let mut hasher = FxHasher::default();
        text.hash(&mut hasher);
        Arc::new(Name { hash: hasher.finish(), text })
    }
}

macro_rules! define_name {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone)]
        pub struct $name(Arc<Name>);

        impl $name {
            /// Returns the name as a string slice.
            pub fn as_str(&self) -> &str {
                &self.0.text
            }
        }
        impl PartialEq for $name {
            fn eq(&self, other: &$name) -> bool {
                Arc::ptr_eq(&self.0, &other.0) || self.0.hash == other.0.hash && self.0.text == other.0.text
            }
        }
        impl Eq for $name {}
        /// Hashes the string alone, because maps keyed by names are also looked up by `&str`.
        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_str().hash(state);
            }
        }
        /// Compares the strings.
        impl Ord for $name {
            fn cmp(&self, other: &$name) -> Ordering {
                if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.text.cmp(&other.0.text) }
            }
        }
        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &$name) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
        impl From<&str> for $name {
            fn from(s: &str) -> $name {
                $name(Name::new(s.into()))
            }
        }
        impl From<String> for $name {
            fn from(s: String) -> $name {
                $name(Name::new(s.into()))
            }
        }
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.as_str()).finish()
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

define_name!(Field, "A named index of a Logic table; tables join on equal names.");
define_name!(Alias, "The name of a tensor: an input, or the result of a query.");
