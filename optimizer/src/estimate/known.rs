//! What was found of the terms of the nest that is being planned: searches ask for the same again and again.

use super::deciding;
use super::profile::{Over, Profile, Sense};
use crate::term::{At, Node, Term};
use redpoll_logic::{Alias, Field, FloatMode};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// What does not depend on what is bound.
pub(super) struct About {
    /// Holds the term, so that its identity stays its own.
    _term: Term,
    fields: Vec<Field>,
    /// How many coordinates of the term each field joins.
    pub(super) mentions: BTreeMap<Field, usize>,
    /// The arguments of a call whose fill alone decides that its result is its fill.
    pub(super) deciding: Vec<usize>,
}

/// A factor of a conjunction: a term with its profile, and of an access the modes that are known, with their coordinates.
pub(super) struct Factor {
    pub(super) profile: Profile,
    pub(super) stored: Option<(Alias, Vec<(usize, At)>)>,
}

/// What was found of terms, by their identities.
#[derive(Default)]
pub(crate) struct Known {
    about: RefCell<HashMap<usize, Rc<About>>>,
    /// By the fields that are bound, as bits.
    factors: RefCell<HashMap<(usize, u64, Sense), Rc<Factor>>>,
}

impl Known {
    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.about.borrow_mut().clear();
        self.factors.borrow_mut().clear();
    }

    pub(super) fn about(&self, term: &Term, mode: FloatMode) -> Rc<About> {
        let identity = term.identity();
        if let Some(found) = self.about.borrow().get(&identity) {
            return found.clone();
        }
        let deciding = match term.node() {
            Node::Call(op, args) => deciding(op, args, term.fill(), mode),
            _ => Vec::new(),
        };
        let (fields, mut mentions) = (term.fields().into_iter().collect(), BTreeMap::new());
        mention(term, &mut mentions);
        let about = Rc::new(About { _term: term.clone(), fields, mentions, deciding });
        self.about.borrow_mut().insert(identity, about.clone());
        about
    }

    /// What was found of a term over those fields, or else is computed now.
    pub(super) fn factor(
        &self,
        term: &Term,
        mode: FloatMode,
        over: Over<'_>,
        compute: impl FnOnce() -> Factor,
    ) -> Rc<Factor> {
        let about = self.about(term, mode);
        if about.fields.len() > 64 {
            return Rc::new(compute());
        }
        let bits =
            about.fields.iter().enumerate().filter(|(_, f)| (over.bound)(f)).fold(0, |bits, (k, _)| bits | 1 << k);
        let key = (term.identity(), bits, over.sense);
        if let Some(found) = self.factors.borrow().get(&key) {
            return found.clone();
        }
        let factor = Rc::new(compute());
        self.factors.borrow_mut().insert(key, factor.clone());
        factor
    }
}

/// Counts how many coordinates of a term each field joins: one of each access that depends on it, and the other fields that
/// make up a coordinate with it.
fn mention(term: &Term, counts: &mut BTreeMap<Field, usize>) {
    let Node::Access(read) = term.node() else {
        return term.children().iter().for_each(|t| mention(t, counts));
    };
    let mut own: BTreeMap<Field, usize> = BTreeMap::new();
    for at in &read.at {
        let fields = at.fields();
        let count = fields.len();
        for field in fields {
            let most = own.entry(field).or_default();
            *most = count.max(*most);
        }
    }
    for (field, count) in own {
        *counts.entry(field).or_default() += count;
    }
}
