//! Cached estimates for terms, because searches repeat the same questions.

use super::marginal::Marginal;
use super::profile::{ProfileQuery, SupportKind, SupportProfile};
use crate::term::{ModeCoordinate, Node, Read, Term, is_regroupable};
use redpoll_logic::op::Op;
use redpoll_logic::statistics::ModeSet;
use redpoll_logic::{Alias, Field, FloatMode, Scalar, TensorType};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Results for a term that do not depend on the bound fields.
pub(super) struct TermSummary {
    /// The count of each field, as `count_mentions` defines it.
    pub(super) mentions: BTreeMap<Field, usize>,
    /// Indices of the arguments whose fill alone makes the call return its fill.
    pub(super) deciding: Rc<[usize]>,
}

/// A factor of a conjunction: a term's profile and, for an access, the tensor and the bound modes
/// with their coordinates.
pub(super) struct TermFactor {
    pub(super) profile: SupportProfile,
    pub(super) access: Option<(Alias, Vec<(usize, ModeCoordinate)>)>,
}

/// The stored coordinates of a tensor in some of its storage modes.
pub(super) struct ModeOccupancy {
    /// The fraction of the coordinates of these modes that a loop visits, or under which an entry
    /// is stored, depending on the kind of support.
    pub(super) fraction: f64,
    /// The modes that have a marginal, each with its marginal.
    pub(super) marginals: Vec<(usize, Marginal)>,
}

/// The address of a tensor's type, the name of the tensor, the modes, and the kind of support.
type OccupancyKey = (usize, Alias, ModeSet, SupportKind);

/// Results for modes of a tensor, with the tensor's type, so that the address of the type is not
/// reused.
type OccupancyEntry = (Arc<TensorType>, Rc<ModeOccupancy>);

/// Cached results for terms.
#[derive(Default)]
pub(crate) struct EstimateCache {
    terms: RefCell<FxHashMap<Term, TermResults>>,
    occupancy: RefCell<FxHashMap<OccupancyKey, OccupancyEntry>>,
    /// Profiles by schema, bound slots (as bits) and kind, each over the field names of the
    /// instance for which it was computed.
    profiles: RefCell<FxHashMap<(usize, u64, SupportKind), NamedProfile>>,
    /// Results by schema.
    schemas: RefCell<FxHashMap<usize, Rc<SchemaResults>>>,
}

/// Cached results for one term.
#[derive(Default)]
struct TermResults {
    summary: Option<Rc<TermSummary>>,
    /// The schema that the term is an instance of.
    instance: Option<SchemaInstance>,
    /// Factors by bound fields (as bits); a list suffices because few sets of fields are asked for.
    factors: Vec<(u64, SupportKind, Rc<TermFactor>)>,
}

/// Results for all instances of a schema, independent of the bound fields.
struct SchemaResults {
    /// For each slot, the count of its field by `count_mentions`.
    mentions: Vec<usize>,
    /// Indices of the deciding arguments.
    deciding: Rc<[usize]>,
}

/// A profile, with the field of each slot in the profile.
type NamedProfile = (SupportProfile, Rc<[Field]>);

/// A term as an instance of a schema. Terms that are equal up to field names share a schema, and
/// results for one of these terms hold for all.
#[derive(Clone)]
struct SchemaInstance {
    schema: usize,
    /// The field of each slot of the schema.
    fields: Rc<[Field]>,
}

impl EstimateCache {
    /// Drops all results.
    pub(crate) fn clear(&self) {
        self.terms.borrow_mut().clear();
        self.occupancy.borrow_mut().clear();
        self.drop_schemas();
    }

    /// Drops the schemas of terms, because schema ids will be reused.
    pub(crate) fn drop_schemas(&self) {
        self.terms.borrow_mut().values_mut().for_each(|found| found.instance = None);
        self.profiles.borrow_mut().clear();
        self.schemas.borrow_mut().clear();
    }

    /// Registers a term over some fields as an instance of a schema.
    pub(crate) fn register_instance(&self, term: &Term, schema: usize, fields: &[Field]) {
        let mut terms = self.terms.borrow_mut();
        let instance = &mut terms.entry(term.clone()).or_default().instance;
        instance.get_or_insert_with(|| SchemaInstance { schema, fields: fields.into() });
    }

    /// Returns the profile of an instance of a schema; computed once for each set of bound slots
    /// and kind of support.
    fn profile(
        &self,
        instance: SchemaInstance,
        query: ProfileQuery<'_>,
        compute: impl FnOnce() -> SupportProfile,
    ) -> SupportProfile {
        let SchemaInstance { schema, fields } = instance;
        let bits = fields.iter().enumerate().filter(|(_, f)| (query.bound)(f)).fold(0, |bits, (k, _)| bits | 1 << k);
        let key = (schema, bits, query.kind);
        if let Some((profile, names)) = self.profiles.borrow().get(&key) {
            let slot =
                |f: &Field| names.iter().position(|name| name == f).expect("marginals are those of bound fields");
            let marginals = profile.marginals.iter().map(|(f, marginal)| (fields[slot(f)].clone(), marginal.clone()));
            return SupportProfile { fraction: profile.fraction, marginals: marginals.collect() };
        }
        let profile = compute();
        self.profiles.borrow_mut().insert(key, (profile.clone(), fields));
        profile
    }

    /// Returns the stored coordinates of a tensor in some storage modes; computed once.
    pub(super) fn occupancy(
        &self,
        read: &Read,
        modes: ModeSet,
        kind: SupportKind,
        compute: impl FnOnce() -> ModeOccupancy,
    ) -> Rc<ModeOccupancy> {
        let key = (Arc::as_ptr(&read.ty).addr(), read.tensor.clone(), modes, kind);
        if let Some((_, found)) = self.occupancy.borrow().get(&key) {
            return found.clone();
        }
        let occupancy = Rc::new(compute());
        self.occupancy.borrow_mut().insert(key, (read.ty.clone(), occupancy.clone()));
        occupancy
    }

    /// Returns the results that do not depend on the bound fields; computed once per schema, or per
    /// term without a schema.
    pub(super) fn summary(&self, term: &Term, mode: FloatMode) -> Rc<TermSummary> {
        let instance = match self.terms.borrow().get(term) {
            Some(TermResults { summary: Some(cached), .. }) => return cached.clone(),
            found => found.and_then(|found| found.instance.clone()),
        };
        let summary = match instance {
            None => self.summarize(term, mode),
            Some(SchemaInstance { schema, fields }) => {
                let cached = self.schemas.borrow().get(&schema).cloned();
                let results = cached.unwrap_or_else(|| {
                    let TermSummary { mentions, deciding } = self.summarize(term, mode);
                    let mentions = fields.iter().map(|f| mentions.get(f).copied().unwrap_or(0)).collect();
                    let results = Rc::new(SchemaResults { mentions, deciding });
                    self.schemas.borrow_mut().insert(schema, results.clone());
                    results
                });
                let mentions = fields.iter().cloned().zip(results.mentions.iter().copied());
                let mentions = mentions.filter(|(_, count)| *count > 0).collect();
                TermSummary { mentions, deciding: results.deciding.clone() }
            }
        };
        let summary = Rc::new(summary);
        self.terms.borrow_mut().entry(term.clone()).or_default().summary = Some(summary.clone());
        summary
    }

    /// Computes the results that do not depend on the bound fields.
    fn summarize(&self, term: &Term, mode: FloatMode) -> TermSummary {
        let deciding = match term.node() {
            Node::Call(op, args) => find_deciding(op, args, term.fill(), mode).into(),
            _ => Rc::default(),
        };
        TermSummary { mentions: self.count_mentions(term, mode), deciding }
    }

    /// Returns a count for each free field. Each access that depends on the field adds the number
    /// of fields in the field's coordinate: 1 if the field is alone. For a field in several
    /// coordinates of an access, only the coordinate with the most fields counts. A field with a
    /// count above 1 joins several accesses, or shares a coordinate with other fields.
    fn count_mentions(&self, term: &Term, mode: FloatMode) -> BTreeMap<Field, usize> {
        let mut counts: BTreeMap<Field, usize> = BTreeMap::new();
        match term.node() {
            Node::Access(read) => {
                for at in &read.coordinates {
                    let fields = at.fields();
                    let count = fields.len();
                    for field in fields {
                        let mentions = counts.entry(field).or_default();
                        *mentions = count.max(*mentions);
                    }
                }
            }
            _ => {
                for child in term.children() {
                    for (field, count) in &self.summary(child, mode).mentions {
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

    /// Returns the factor of a term over the bound fields of the query; computed once, unless the
    /// term has more than 64 fields.
    pub(super) fn factor(
        &self,
        term: &Term,
        query: ProfileQuery<'_>,
        compute: impl FnOnce() -> TermFactor,
    ) -> Rc<TermFactor> {
        let fields = term.fields();
        if fields.len() > 64 {
            return Rc::new(compute());
        }
        let bits = fields.iter().enumerate().filter(|(_, f)| (query.bound)(f)).fold(0, |bits, (k, _)| bits | 1 << k);
        let matches = |(of, kind, _): &&(u64, SupportKind, Rc<TermFactor>)| (*of, *kind) == (bits, query.kind);
        let instance = match self.terms.borrow().get(term) {
            Some(found) => match found.factors.iter().find(matches) {
                Some((.., cached)) => return cached.clone(),
                None => found.instance.clone(),
            },
            None => None,
        };
        let factor = match instance {
            Some(instance) if !matches!(term.node(), Node::Access(_)) => {
                TermFactor { profile: self.profile(instance, query, || compute().profile), access: None }
            }
            _ => compute(),
        };
        let factor = Rc::new(factor);
        let mut terms = self.terms.borrow_mut();
        terms.entry(term.clone()).or_default().factors.push((bits, query.kind, factor.clone()));
        factor
    }
}

/// Returns the indices of the arguments whose fill alone makes the call return its fill.
fn find_deciding(op: &Op, args: &[Term], fill: &Scalar, mode: FloatMode) -> Vec<usize> {
    let dtypes: Vec<_> = args.iter().map(Term::dtype).collect();
    let Ok(signature) = op.signature(&dtypes) else { return Vec::new() };
    let is_symmetric = dtypes.first().is_some_and(|dtype| is_regroupable(op, dtype, mode));
    let mut decides: Vec<bool> = Vec::with_capacity(args.len());
    for (k, arg) in args.iter().enumerate() {
        let is_equivalent = |m: &usize| is_symmetric && dtypes[*m] == dtypes[k] && args[*m].fill() == arg.fill();
        let same = (0..k).find(is_equivalent).map(|m| decides[m]);
        decides.push(same.unwrap_or_else(|| {
            let mut constants = vec![None; args.len()];
            constants[k] = Some(arg.fill().clone());
            op.constant_result(&signature, &constants, mode).as_ref() == Some(fill)
        }));
    }
    (0..args.len()).filter(|k| decides[*k]).collect()
}
