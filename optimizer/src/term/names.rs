//! The names of tensors and temporaries that are in use.

use redpoll_logic::Alias;
use std::collections::HashSet;

/// The names in use.
#[derive(Clone, Default)]
pub(crate) struct Names(HashSet<Alias>);

impl Names {
    /// Marks a name as used; returns whether the name was free.
    pub(crate) fn insert(&mut self, name: Alias) -> bool {
        self.0.insert(name)
    }

    /// Reserves and returns a new name derived from `like`.
    pub(crate) fn fresh(&mut self, like: &Alias) -> Alias {
        let mut count = 1;
        loop {
            let alias = Alias::from(format!("{like}.{count}"));
            if self.insert(alias.clone()) {
                return alias;
            }
            count += 1;
        }
    }
}

impl FromIterator<Alias> for Names {
    fn from_iter<I: IntoIterator<Item = Alias>>(names: I) -> Names {
        Names(names.into_iter().collect())
    }
}

impl Extend<Alias> for Names {
    fn extend<I: IntoIterator<Item = Alias>>(&mut self, names: I) {
        self.0.extend(names);
    }
}
