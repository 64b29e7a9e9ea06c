//! Cached results for the terms of the nest being planned, because searches repeat the same
//! questions.

use super::marginal::Marginal;
use super::profile::{Over, Profile, Sense};
use crate::term::{At, Node, Read, Term, regroups};
use redpoll_logic::op::Op;
use redpoll_logic::statistics::ModeSet;
use redpoll_logic::{Alias, Field, FloatMode, Scalar, TensorType};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Results that do not depend on the bound fields.
pub(super) struct About {
    /// For each field, the number of coordinates of the term that it joins.
    pub(super) mentions: BTreeMap<Field, usize>,
    /// Indices of the arguments whose fill alone makes the call return its fill.
    pub(super) deciding: Rc<[usize]>,
}

/// A factor of a conjunction: a term's profile and, for an access, the bound modes with their
/// coordinates.
pub(super) struct Factor {
    pub(super) profile: Profile,
    pub(super) stored: Option<(Alias, Vec<(usize, At)>)>,
}

/// The stored coordinates of a tensor in some of its storage modes.
pub(super) struct Occupied {
    /// The fraction of the coordinates of these modes.
    pub(super) fraction: f64,
    /// Marginals of the modes that have them.
    pub(super) spread: Vec<(usize, Marginal)>,
}

/// The address of a tensor's type, its name, modes and sense.
type Modes = (usize, Alias, ModeSet, Sense);

/// Results for modes, with the type, so that its address is not reused.
type Held = (Arc<TensorType>, Rc<Occupied>);

/// Cached results for terms.
#[derive(Default)]
pub(crate) struct Known {
    terms: RefCell<FxHashMap<Term, Found>>,
    occupied: RefCell<FxHashMap<Modes, Held>>,
    /// Profiles by schema and bound slots (as bits), over the field names of the schema's first
    /// instance.
    profiles: RefCell<FxHashMap<(usize, u64, Sense), Named>>,
    /// Results by schema.
    slots: RefCell<FxHashMap<usize, Rc<Slots>>>,
}

/// Cached results for one term.
#[derive(Default)]
struct Found {
    about: Option<Rc<About>>,
    /// The schema that the term is an instance of.
    instance: Option<Instance>,
    /// Factors by bound fields (as bits); a list suffices because few sets of fields are asked for.
    factors: Vec<(u64, Sense, Rc<Factor>)>,
}

/// Results for all instances of a schema, independent of the bound fields.
struct Slots {
    /// For each slot, the number of coordinates that it joins.
    mentions: Vec<usize>,
    /// Indices of the deciding arguments.
    deciding: Rc<[usize]>,
}

/// A profile, and the fields that its slots have in it.
type Named = (Profile, Rc<[Field]>);

/// A term as an instance of a schema. Terms that are equal up to field names share a schema, and
/// results for one hold for all.
#[derive(Clone)]
struct Instance {
    schema: usize,
    /// The field of each slot of the schema.
    fields: Rc<[Field]>,
}

impl Known {
    /// Drops all results.
    pub(crate) fn clear(&self) {
        self.terms.borrow_mut().clear();
        self.occupied.borrow_mut().clear();
        self.forget_schemas();
    }

    /// Drops the schemas of terms, because schema ids will be reused.
    pub(crate) fn forget_schemas(&self) {
        self.terms.borrow_mut().values_mut().for_each(|found| found.instance = None);
        self.profiles.borrow_mut().clear();
        self.slots.borrow_mut().clear();
    }

    /// Registers a term over some fields as an instance of a schema.
    pub(crate) fn instance(&self, term: &Term, schema: usize, fields: &[Field]) {
        let mut terms = self.terms.borrow_mut();
        let instance = &mut terms.entry(term.clone()).or_default().instance;
        instance.get_or_insert_with(|| Instance { schema, fields: fields.into() });
    }

    /// Returns the profile of an instance of a schema; computed once per schema.
    fn profile(&self, instance: Instance, over: Over<'_>, compute: impl FnOnce() -> Profile) -> Profile {
        let Instance { schema, fields } = instance;
        let bits = fields.iter().enumerate().filter(|(_, f)| (over.bound)(f)).fold(0, |bits, (k, _)| bits | 1 << k);
        let key = (schema, bits, over.sense);
        if let Some((profile, names)) = self.profiles.borrow().get(&key) {
            let slot =
                |f: &Field| names.iter().position(|name| name == f).expect("marginals are those of bound fields");
            let marginals = profile.marginals.iter().map(|(f, marginal)| (fields[slot(f)].clone(), marginal.clone()));
            return Profile { fraction: profile.fraction, marginals: marginals.collect() };
        }
        let profile = compute();
        self.profiles.borrow_mut().insert(key, (profile.clone(), fields));
        profile
    }

    /// Returns the stored coordinates of a tensor in some storage modes; computed once.
    pub(super) fn occupied(
        &self,
        read: &Read,
        modes: ModeSet,
        sense: Sense,
        compute: impl FnOnce() -> Occupied,
    ) -> Rc<Occupied> {
        let key = (Arc::as_ptr(&read.ty).addr(), read.tensor.clone(), modes, sense);
        if let Some((_, found)) = self.occupied.borrow().get(&key) {
            return found.clone();
        }
        let occupied = Rc::new(compute());
        self.occupied.borrow_mut().insert(key, (read.ty.clone(), occupied.clone()));
        occupied
    }

    /// Returns the results that do not depend on the bound fields; computed once per schema.
    pub(super) fn about(&self, term: &Term, mode: FloatMode) -> Rc<About> {
        let instance = match self.terms.borrow().get(term) {
            Some(Found { about: Some(known), .. }) => return known.clone(),
            found => found.and_then(|found| found.instance.clone()),
        };
        let about = match instance {
            None => self.look(term, mode),
            Some(Instance { schema, fields }) => {
                let known = self.slots.borrow().get(&schema).cloned();
                let slots = known.unwrap_or_else(|| {
                    let About { mentions, deciding } = self.look(term, mode);
                    let mentions = fields.iter().map(|f| mentions.get(f).copied().unwrap_or(0)).collect();
                    let slots = Rc::new(Slots { mentions, deciding });
                    self.slots.borrow_mut().insert(schema, slots.clone());
                    slots
                });
                let mentions = fields.iter().cloned().zip(slots.mentions.iter().copied());
                let mentions = mentions.filter(|(_, count)| *count > 0).collect();
                About { mentions, deciding: slots.deciding.clone() }
            }
        };
        let about = Rc::new(about);
        self.terms.borrow_mut().entry(term.clone()).or_default().about = Some(about.clone());
        about
    }

    fn look(&self, term: &Term, mode: FloatMode) -> About {
        let deciding = match term.node() {
            Node::Call(op, args) => deciding(op, args, term.fill(), mode).into(),
            _ => Rc::default(),
        };
        About { mentions: self.count(term, mode), deciding }
    }

    /// Counts, for each free field, the coordinates of a term that it joins: one per access that
    /// depends on it, plus the other fields in the same coordinate.
    fn count(&self, term: &Term, mode: FloatMode) -> BTreeMap<Field, usize> {
        let mut counts: BTreeMap<Field, usize> = BTreeMap::new();
        match term.node() {
            Node::Access(read) => {
                for at in &read.at {
                    let fields = at.fields();
                    let count = fields.len();
                    for field in fields {
                        let most = counts.entry(field).or_default();
                        *most = count.max(*most);
                    }
                }
            }
            _ => {
                for child in term.children() {
                    for (field, count) in &self.about(child, mode).mentions {
                        *counts.entry(field.clone()).or_default() += count;
                    }
                }
                if !matches!(term.node(), Node::Call(..)) {
                    counts.retain(|field, _| term.fields().contains(field));
                }
            }
        }
        counts
    }

    /// Returns the factor of a term over these bound fields; computed once.
    pub(super) fn factor(&self, term: &Term, over: Over<'_>, compute: impl FnOnce() -> Factor) -> Rc<Factor> {
        let fields = term.fields();
        if fields.len() > 64 {
            return Rc::new(compute());
        }
        let bits = fields.iter().enumerate().filter(|(_, f)| (over.bound)(f)).fold(0, |bits, (k, _)| bits | 1 << k);
        let is_it = |(of, sense, _): &&(u64, Sense, Rc<Factor>)| (*of, *sense) == (bits, over.sense);
        let instance = match self.terms.borrow().get(term) {
            Some(found) => match found.factors.iter().find(is_it) {
                Some((.., known)) => return known.clone(),
                None => found.instance.clone(),
            },
            None => None,
        };
        let factor = match instance {
            Some(instance) if !matches!(term.node(), Node::Access(_)) => {
                Factor { profile: self.profile(instance, over, || compute().profile), stored: None }
            }
            _ => compute(),
        };
        let factor = Rc::new(factor);
        let mut terms = self.terms.borrow_mut();
        terms.entry(term.clone()).or_default().factors.push((bits, over.sense, factor.clone()));
        factor
    }
}

/// Returns the indices of the arguments whose fill alone makes the call return its fill.
fn deciding(op: &Op, args: &[Term], fill: &Scalar, mode: FloatMode) -> Vec<usize> {
    let dtypes: Vec<_> = args.iter().map(Term::dtype).collect();
    let Ok(signature) = op.signature(&dtypes) else { return Vec::new() };
    let anywhere = dtypes.first().is_some_and(|dtype| regroups(op, dtype, mode));
    let mut decides: Vec<bool> = Vec::with_capacity(args.len());
    for (k, arg) in args.iter().enumerate() {
        let alike = |m: &usize| anywhere && dtypes[*m] == dtypes[k] && args[*m].fill() == arg.fill();
        let known = (0..k).find(alike).map(|m| decides[m]);
        decides.push(known.unwrap_or_else(|| {
            let mut known = vec![None; args.len()];
            known[k] = Some(arg.fill().clone());
            op.constant_result(&signature, &known, mode).as_ref() == Some(fill)
        }));
    }
    (0..args.len()).filter(|k| decides[*k]).collect()
}
