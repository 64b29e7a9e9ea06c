//! Names: fields of Logic tables and aliases of queries.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

macro_rules! define_name {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl From<&str> for $name {
            fn from(s: &str) -> $name {
                $name(s.into())
            }
        }
        impl From<String> for $name {
            fn from(s: String) -> $name {
                $name(s.into())
            }
        }
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

define_name!(Field, "A named index of a Logic table; equal names join.");
define_name!(Alias, "The name of a tensor: an input, or the result of a query.");
