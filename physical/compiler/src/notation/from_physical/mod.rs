//! Translation of physical queries to programs.
//!
//! The loops of a query become loops. The other parts of a query become statements of the program:
//! - Temporaries become scalar locals, declared inside of their `depth` outer loops, with
//!   `where(consumer: the inner loops, producer: their own loops)`. Folds that share loops share
//!   the producer.
//! - A temporary that starts further out is declared further out, as a dense local with one mode
//!   for each index that selects an accumulator. The producer thaws this local in every round.
//! - An output is declared first and frozen last. With a fold, writes fold into it, starting from
//!   its fill value; else each write initializes an entry.
//! - A workspace of an output becomes a local that is declared under its `depth` loops and written
//!   by the inner loops. A consumer then copies the workspace into the output in the order of the
//!   output's storage modes. If the output has a fold, and several rounds of the outer loops may
//!   write one entry of the output, the workspace starts from the identity of the fold, and the
//!   consumer folds.
//! - The workspace of an access becomes a local too, which is filled under its `depth` loops. The
//!   consumer of this local is all other code inside of these loops. Accesses to the same fiber
//!   share the workspace.
//! - A write at a computed coordinate (a scatter) is put under the condition that the coordinate is
//!   in bounds. A write of an output that drops computed fill values is put under the condition
//!   that the value differs from the fill value.
//! - A parameter becomes a variable, which is read from its input before all loops.
//!
//! `coordinates.rs` translates coordinates to expressions, `access_workspaces.rs` translates the
//! workspaces of accesses, and `writes.rs` translates the writes of outputs. The result passes
//! `verify`, and `normalize` accepts it.

mod access_workspaces;
pub(super) mod coordinates;
mod writes;

use super::{Access, AccessSubscript, Expr, Index, Program, Role, Rounds, Stmt, TensorDecl, TensorId, Var, Write};
use crate::Error;
use access_workspaces::AccessWorkspace;
use redpoll_logic::physical::{
    Extent, Loop, PhysicalQuery, ScalarExpr, StorageCoordinate, TemporaryFold, TemporaryNest,
};
use redpoll_logic::{Affine, Alias, DType, Field, Format, Parameter, TensorType};
use std::collections::HashMap;
use std::sync::Arc;
use writes::OutputTarget;

/// Translates a query that reads tensors of the given types.
///
/// # Errors
/// When the query is malformed, for example by an unknown index, temporary or tensor, by subscripts
/// that do not fit a tensor, or by a workspace that does not fit its output.
pub fn from_physical(query: &PhysicalQuery, types: &HashMap<Alias, Arc<TensorType>>) -> Result<Program, Error> {
    let mut b = QueryTranslator {
        tensors: Vec::new(),
        indices: Vec::new(),
        vars: Vec::new(),
        loops: Vec::new(),
        temporaries: Vec::new(),
        accumulators: Vec::new(),
        access_workspaces: Vec::new(),
        query,
        output_coordinates: Vec::new(),
        parameters: Vec::new(),
    };
    for parameter in query.parameters() {
        b.declare_parameter(parameter);
    }
    b.output_coordinates = b.resolve_coordinates()?;
    for access in query.accesses() {
        let ty = types.get(&access.tensor).ok_or_else(|| invalid(format!("unknown tensor `{}`", access.tensor)))?;
        b.declare(access.tensor.as_str(), ty.clone(), Role::Input);
    }
    let mut targets = Vec::new();
    for output in &query.outputs {
        if b.tensors.iter().any(|t| t.name == output.alias.as_str()) {
            return Err(invalid(format!("`{}` is both an output and another tensor of the query", output.alias)));
        }
        let target = b.declare(output.alias.as_str(), output.ty.clone(), Role::Output);
        if let Some(pattern) = &output.pattern {
            let of = (0..).map(TensorId).zip(&b.tensors).find(|(_, t)| t.name == pattern.as_str()).map(|(id, _)| id);
            let unread = || invalid(format!("`{}` has the pattern of `{pattern}`, which is not read", output.alias));
            b.tensors[target.index()].pattern = Some(of.ok_or_else(unread)?);
        }
        targets.push(target);
    }
    let mut output_targets: Vec<OutputTarget> =
        targets.iter().map(|t| OutputTarget { tensor: *t, workspace: None }).collect();
    let body = b.nest(&query.loops, &query.temporaries, 0, &mut Innermost::Outputs(&mut output_targets))?;
    let declares = targets.iter().map(|t| Stmt::Declare(*t));
    let freezes = targets.iter().map(|t| Stmt::Freeze(*t));
    let body = Stmt::block(declares.chain([body]).chain(freezes).collect::<Vec<_>>());
    let body = b.parameters.iter().rev().fold(body, |body, (_, var, input)| {
        let value = Expr::Access(access(*input, []));
        Stmt::Let { var: *var, value, body: Box::new(body) }
    });
    Ok(Program {
        tensors: b.tensors,
        indices: b.indices,
        vars: b.vars,
        body,
        schedule: Vec::new(),
        block_inputs: Vec::new(),
    })
}

fn invalid(what: impl Into<String>) -> Error {
    Error::InvalidQuery(what.into())
}

struct QueryTranslator<'a> {
    tensors: Vec<TensorDecl>,
    indices: Vec<String>,
    vars: Vec<(String, DType)>,
    /// The enclosing loops, outermost first.
    loops: Vec<(Field, Index, &'a Extent)>,
    /// The temporaries in scope, each with the indices that select an accumulator.
    temporaries: Vec<(Alias, TensorId, &'a [Field])>,
    /// The locals of temporaries that have started and are not computed yet.
    accumulators: Vec<(Alias, TensorId)>,
    /// The workspaces of accesses in scope.
    access_workspaces: Vec<AccessWorkspace<'a>>,
    query: &'a PhysicalQuery,
    /// The subscripts of each output; the subscripts of blocks are affine forms where possible.
    output_coordinates: Vec<Vec<StorageCoordinate>>,
    /// The parameters of the query, each with its variable and the input that holds its value.
    parameters: Vec<(&'a Parameter, Var, TensorId)>,
}

/// The statements in the innermost loop of a nest.
enum Innermost<'b, 'a> {
    Folds(&'a [TemporaryFold], Vec<TensorId>),
    Outputs(&'b mut Vec<OutputTarget>),
}

impl<'a> QueryTranslator<'a> {
    /// Declares a tensor, or finds the input of that name. Makes the names of other tensors unique.
    fn declare(&mut self, name: &str, ty: Arc<TensorType>, role: Role) -> TensorId {
        let position = |n: &str| self.tensors.iter().position(|t| t.name == n);
        let mut unique = name.to_owned();
        if let Some(k) = position(name) {
            if role == Role::Input {
                return TensorId(k as u32);
            }
            unique =
                (2..).map(|n| format!("{name}_{n}")).find(|n| position(n).is_none()).expect("some number is unused");
        }
        self.tensors.push(TensorDecl::new(unique, ty, role));
        TensorId(self.tensors.len() as u32 - 1)
    }

    /// Declares the input of a parameter, and a variable for the value of this input.
    fn declare_parameter(&mut self, parameter: &'a Parameter) {
        let input = self.declare(parameter.input.as_str(), Arc::new(Parameter::input_type()), Role::Input);
        let var = Var(self.vars.len() as u32);
        self.vars.push((parameter.input.to_string(), DType::I64));
        self.parameters.push((parameter, var, input));
    }

    /// Translates the loops from number `depth` on, with all statements inside.
    fn nest(
        &mut self,
        loops: &'a [Loop],
        groups: &'a [TemporaryNest],
        depth: usize,
        innermost: &mut Innermost<'_, 'a>,
    ) -> Result<Stmt, Error> {
        if let Some(g) = groups.iter().find(|g| g.depth > loops.len()) {
            return Err(invalid(format!(
                "temporaries are nested in {} loops, but there are only {} loops around them",
                g.depth,
                loops.len()
            )));
        }
        let outer_temporaries = self.temporaries.len();
        let outer_workspaces = self.access_workspaces.len();
        let fills = self.open_access_workspaces(groups, depth, innermost)?;
        let mut starts = Vec::new();
        for group in groups.iter().filter(|g| g.start_depth == depth && g.start_depth < g.depth) {
            starts.extend(self.start_accumulators(group, loops)?);
        }
        let mut producers = Vec::new();
        for group in groups.iter().filter(|g| g.depth == depth) {
            producers.push(self.producer(group)?);
        }
        let opened = match innermost {
            Innermost::Outputs(targets) => self.open_output_workspaces(depth, targets)?,
            Innermost::Folds(..) => Vec::new(),
        };
        let inner = match loops.get(depth) {
            Some(l) => {
                let extent = self.extent(&l.extent)?;
                let rounds = Rounds::with_lanes(u64::from(l.lanes)).unwrap_or(Rounds::Ordered);
                let index = self.new_index(l.index.as_str());
                self.loops.push((l.index.clone(), index, &l.extent));
                let body = Box::new(self.nest(loops, groups, depth + 1, innermost)?);
                self.loops.pop();
                Stmt::For { index, extent: Some(extent), rounds, body }
            }
            None => self.assigns(innermost)?,
        };
        let inner = match innermost {
            Innermost::Outputs(targets) if !opened.is_empty() => {
                self.close_output_workspaces(&opened, targets, inner)?
            }
            _ => inner,
        };
        self.temporaries.truncate(outer_temporaries);
        let computed = producers.into_iter().rev().fold(inner, |consumer, (locals, producer)| {
            let stmt = Stmt::Where { consumer: Box::new(consumer), producer: Box::new(producer) };
            Stmt::block(locals.into_iter().map(Stmt::Declare).chain([stmt]))
        });
        self.access_workspaces.truncate(outer_workspaces);
        let nest = Stmt::block(starts.into_iter().chain([computed]));
        Ok(fills.into_iter().rev().fold(nest, |nest, (local, fill)| {
            let stmt = Stmt::Where { consumer: Box::new(nest), producer: Box::new(fill) };
            Stmt::block([Stmt::Declare(local), stmt])
        }))
    }

    fn new_index(&mut self, name: &str) -> Index {
        self.indices.push(name.to_owned());
        Index(self.indices.len() as u32 - 1)
    }

    /// Declares the locals of temporaries that accumulate along some of `loops`. Between rounds,
    /// these locals are frozen.
    fn start_accumulators(&mut self, group: &TemporaryNest, loops: &[Loop]) -> Result<Vec<Stmt>, Error> {
        let mut stmts = Vec::new();
        for fold in &group.folds {
            let sizes = fold.accumulator_indices.iter().map(|field| {
                let found = loops.iter().find(|l| l.index == *field);
                match found.map(|l| &l.extent) {
                    Some(Extent::Range(n) | Extent::Skew { n, .. } | Extent::Block { block: n, .. }) => Ok(*n),
                    None => Err(invalid(format!(
                        "temporary `{}` has an accumulator for each `{field}`, which no loop binds",
                        fold.name
                    ))),
                }
            });
            let local = self.local(fold, sizes.collect::<Result<_, _>>()?);
            self.accumulators.push((fold.name.clone(), local));
            stmts.extend([Stmt::Declare(local), Stmt::Freeze(local)]);
        }
        Ok(stmts)
    }

    fn local(&mut self, fold: &TemporaryFold, shape: Vec<u64>) -> TensorId {
        let (dtype, fill, format) = (fold.init.dtype(), fold.init.clone(), Format::dense(shape.len()));
        self.declare(fold.name.as_str(), Arc::new(TensorType { shape, dtype, fill, format }), Role::Local)
    }

    /// Returns the locals to declare for a group of temporaries, and the statement that computes
    /// these locals. Brings the names of the temporaries into scope.
    fn producer(&mut self, group: &'a TemporaryNest) -> Result<(Vec<TensorId>, Stmt), Error> {
        let is_continued = group.start_depth < group.depth;
        let mut locals = Vec::new();
        for fold in &group.folds {
            locals.push(match self.accumulators.iter().rposition(|(name, _)| is_continued && *name == fold.name) {
                Some(k) => self.accumulators.remove(k).1,
                None => self.local(fold, Vec::new()),
            });
        }
        let mut innermost = Innermost::Folds(&group.folds, locals.clone());
        let nest = self.nest(&group.loops, &group.temporaries, 0, &mut innermost)?;
        let thaws = locals.iter().filter(|_| is_continued).map(|t| Stmt::Thaw(*t));
        let freezes = locals.iter().map(|t| Stmt::Freeze(*t));
        let producer = Stmt::block(thaws.chain([nest]).chain(freezes));
        for (fold, local) in group.folds.iter().zip(&locals) {
            self.temporaries.push((fold.name.clone(), *local, &fold.accumulator_indices));
        }
        Ok((if is_continued { Vec::new() } else { locals }, producer))
    }

    /// Returns an access of the accumulator that the current values of the given indices select.
    fn accumulator(&self, tensor: TensorId, at: &[Field]) -> Result<Access, Error> {
        let at = at.iter().map(|field| self.affine(&Affine::field(field.clone())));
        Ok(access(tensor, at.collect::<Result<Vec<_>, _>>()?))
    }

    fn assigns(&mut self, innermost: &Innermost<'_, 'a>) -> Result<Stmt, Error> {
        let mut stmts = Vec::new();
        match innermost {
            Innermost::Folds(folds, locals) => {
                for (fold, tensor) in folds.iter().zip(locals) {
                    let lhs = self.accumulator(*tensor, &fold.accumulator_indices)?;
                    stmts.push(Stmt::Assign {
                        lhs,
                        write: Write::Fold(fold.op.clone()),
                        rhs: self.point(&fold.value)?,
                    });
                }
            }
            Innermost::Outputs(targets) => {
                for (k, target) in targets.iter().enumerate() {
                    stmts.push(self.write(k, target)?);
                }
            }
        }
        Ok(Stmt::block(stmts))
    }

    fn point(&self, p: &ScalarExpr) -> Result<Expr, Error> {
        Ok(match p {
            ScalarExpr::Literal(v) => Expr::Literal(v.clone()),
            ScalarExpr::Coordinate(form) => self.affine(form)?,
            ScalarExpr::Temporary(name) => {
                let found = self.temporaries.iter().rev().find(|(n, ..)| n == name);
                let (_, tensor, at) = found.ok_or_else(|| invalid(format!("temporary `{name}` is not in scope")))?;
                Expr::Access(self.accumulator(*tensor, at)?)
            }
            ScalarExpr::Access(a) => self.read(a)?,
            ScalarExpr::Call(op, args) => {
                Expr::Call(op.clone(), args.iter().map(|a| self.point(a)).collect::<Result<_, _>>()?)
            }
        })
    }
}

/// Makes an access that walks every level.
fn access(tensor: TensorId, at: impl IntoIterator<Item = Expr>) -> Access {
    Access { tensor, subscripts: at.into_iter().map(AccessSubscript::in_bounds).collect() }
}
