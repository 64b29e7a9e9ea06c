//! Resolution of expressions: the choice between kept tensors and the expressions that they were
//! computed from.

use super::kept::{KeptTensor, KeptTensors, Origin};
use super::sources::{Source, Sources};
use super::state::ArrayState;
use crate::bindings::Bindings;
use crate::error::Error;
use redpoll_logic::expr::{Node, topological_order};
use redpoll_logic::{Expr, FloatMode};
use redpoll_storage::Tensor;
use std::collections::HashMap;
use std::sync::Arc;

/// The resolution of the expressions that one plan computes.
pub(super) struct Resolver<'k> {
    kept_tensors: &'k KeptTensors,
    mode: FloatMode,
    /// The tensors of the tables in the resolved expressions.
    pub(super) bindings: Bindings,
    /// The kept tensors among the bindings.
    pub(super) kept: Vec<Arc<KeptTensor>>,
    /// Resolved expressions, by the address of the original expression.
    resolved: HashMap<usize, Expr>,
    /// The origins of resolved tables. The origins are owned here so that no new expression reuses
    /// an address that is a key of `resolved`.
    origins: Vec<Arc<Origin>>,
}

impl<'k> Resolver<'k> {
    pub(super) fn new(kept_tensors: &'k KeptTensors, mode: FloatMode) -> Resolver<'k> {
        Resolver {
            kept_tensors,
            mode,
            bindings: Bindings::new(),
            kept: Vec::new(),
            resolved: HashMap::new(),
            origins: Vec::new(),
        }
    }

    /// Rewrites the expression of an array so that its tables are kept tensors and inputs, and
    /// binds them. A computed array without a kept tensor is replaced by the expression that
    /// computes it.
    ///
    /// # Errors
    /// Fails if a file cannot be read or has changed, or an expression is invalid.
    pub(super) fn resolve(&mut self, state: &ArrayState) -> Result<Expr, Error> {
        let is_computed = |source: &Source| matches!(source, Source::Kept(_) | Source::Origin(..));
        if self.kept_tensors.is_empty() && !state.sources.iter().any(|(_, source)| is_computed(source)) {
            for (name, source) in state.sources.iter() {
                if let Some(tensor) = source.input()? {
                    self.bindings.insert(name.clone(), tensor);
                }
            }
            return Ok(state.expr.clone());
        }
        self.visit(&state.expr, &state.sources)
    }

    fn visit(&mut self, root: &Expr, sources: &Sources) -> Result<Expr, Error> {
        let mut found = HashMap::new();
        let order = topological_order([root], |expr| {
            if self.resolved.contains_key(&expr.address()) {
                return false;
            }
            let kept = self.find(expr).map(|kept| found.insert(expr.address(), kept));
            kept.is_none()
        });
        for expr in &order {
            if self.resolved.contains_key(&expr.address()) {
                continue;
            }
            let resolved = match (found.remove(&expr.address()), expr.node()) {
                (Some((kept, tensor)), _) => self.table(&kept, tensor, expr)?,
                (None, Node::Table { tensor: name, .. }) => {
                    let source = sources.get(name).expect("each table has a source").clone();
                    self.visit_table(expr, &source)?
                }
                (None, node) => {
                    let args = node.args().iter().map(|arg| self.resolved[&arg.address()].clone());
                    expr.with_args(args.collect()).map_err(Error::Verify)?
                }
            };
            self.resolved.insert(expr.address(), resolved);
        }
        Ok(self.resolved[&root.address()].clone())
    }

    /// Returns the kept tensor of an expression that was built before its array was computed, or
    /// `None` if there is no such tensor for the float mode.
    fn find(&self, expr: &Expr) -> Option<(Arc<KeptTensor>, Tensor)> {
        let kept = self.kept_tensors.find(expr)?;
        let tensor = kept.read(self.mode)?;
        Some((kept, tensor))
    }

    /// Resolves a table to its kept tensor, or to its origin if the tensor was dropped or evicted,
    /// or was computed in another float mode. An input stays a table.
    fn visit_table(&mut self, table: &Expr, source: &Source) -> Result<Expr, Error> {
        let (kept, origin) = match source {
            Source::Kept(kept) => (Some(kept.clone()), kept.origin()),
            Source::Origin(kept, origin) => (kept.upgrade(), origin),
            _ => {
                let Node::Table { tensor: name, .. } = table.node() else { unreachable!("the node is a table") };
                self.bindings.insert(name.clone(), source.input()?.expect("the source is no computed array"));
                return Ok(table.clone());
            }
        };
        if let Some((kept, tensor)) = kept.and_then(|kept| kept.read_table(self.mode).map(|tensor| (kept, tensor))) {
            return self.table(&kept, tensor, table);
        }
        self.origins.push(origin.clone());
        let sources = origin.sources.as_ref().expect("a tensor without sources is never evicted");
        let computed = self.visit(&origin.expr, sources)?;
        let fields = &table.info().fields;
        if computed.info().fields == *fields {
            return Ok(computed);
        }
        computed.relabel(fields.iter().cloned()).map_err(Error::Verify)
    }

    /// Binds a kept tensor, and returns its table in place of an expression with the same modes.
    fn table(&mut self, kept: &Arc<KeptTensor>, tensor: Tensor, expr: &Expr) -> Result<Expr, Error> {
        let ty = tensor.ty().clone();
        self.bindings.insert(kept.name().clone(), tensor);
        self.kept.push(kept.clone());
        match expr.node() {
            Node::Table { ty: current, .. } if *current == ty => Ok(expr.clone()),
            _ => Expr::table(kept.name().clone(), ty, expr.info().fields.iter().cloned()).map_err(Error::Verify),
        }
    }
}
