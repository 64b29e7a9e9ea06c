//! Statements of grids as CUDA text.

use super::appends::batches;
use crate::grid::{ActiveLanes, Grid, MemorySpace, RoundFold, SectionBound, Stmt, TeamStmt, WARP};
use redpoll_compiler::assembly::{BinaryOp, Buffer, Expr, LaneFold, Local};
use redpoll_kernels::c::names::{end, from, lane, share};
use redpoll_kernels::c::stmt::{StmtDialect, StmtWriter};
use redpoll_kernels::c::types::{Typing, c_type, literal};

/// The dialect in which the statements of grids are written: CUDA C++.
pub(super) struct TeamDialect<'g> {
    pub(super) grid: &'g Grid,
    /// True if the statement is inside a spread loop.
    pub(super) spread: bool,
}

/// A writer of the statements of a grid.
pub(super) type TeamWriter<'a, 'g> = StmtWriter<'a, TeamDialect<'g>>;

impl TeamDialect<'_> {
    /// Returns the number of lanes of a team that exchange values without barriers.
    fn warp(&self) -> usize {
        self.grid.lanes.min(WARP) as usize
    }
}

impl StmtDialect for TeamDialect<'_> {
    type Extension = TeamStmt;

    /// Returns the text before a store, which restricts the store to the first lane if only that
    /// lane is active.
    fn store_condition(&self, active: ActiveLanes) -> &'static str {
        if active == ActiveLanes::Lead && self.grid.lanes > 1 { "if (lane == 0) " } else { "" }
    }

    /// Writes nothing: grids poll by statements.
    fn poll_round(_: &mut StmtWriter<'_, Self>, _: &[Stmt]) {}

    fn lanes(w: &mut StmtWriter<'_, Self>, fold: &LaneFold) {
        if w.dialect.spread || w.dialect.grid.lanes == 1 { w.lanes_in_thread(fold) } else { lanes_in_team(w, fold) }
    }

    /// Writes the growth of a buffer: a window is checked for its capacity, a measured buffer only
    /// records the length, and buffers that are allocated in full do not grow.
    fn grow(w: &mut StmtWriter<'_, Self>, buffer: Buffer, len: &str) {
        let name = w.buffer(buffer);
        match w.dialect.grid.spaces[buffer.index()] {
            MemorySpace::Input | MemorySpace::Shared | MemorySpace::Rounds | MemorySpace::Sections => {}
            MemorySpace::Unused => unreachable!("unused buffers do not grow"),
            MemorySpace::Measured => w.line(&format!("RP_MEASURE({name}, {len});")),
            MemorySpace::Chunk => w.line(&format!("RP_GROW({name}, {len});")),
            MemorySpace::Team => {
                let lanes = w.dialect.grid.lanes;
                w.line(&format!("RP_GROW_OR_MOVE({name}, {len}, {lanes});"));
            }
        }
    }

    fn sort(w: &mut StmtWriter<'_, Self>, buffer: Buffer, lo: &str, hi: &str) {
        let (buffer, lanes) = (w.buffer(buffer), w.dialect.grid.lanes);
        w.line(&format!("rp_sort({buffer}, {lo}, {hi}, lane, mask, {lanes});"));
    }

    fn sort_by(w: &mut StmtWriter<'_, Self>, buffers: [Buffer; 3], lo: &str, hi: &str) {
        let (buffers, lanes) = (buffers.map(|b| w.buffer(b)).join(", "), w.dialect.grid.lanes);
        w.line(&format!("rp_sort_by({buffers}, {lo}, {hi}, lane, mask, {lanes});"));
    }

    fn swap(w: &mut StmtWriter<'_, Self>, a: Buffer, b: Buffer) {
        let names = [a, b].map(|b| w.buffer(b)).join(", ");
        w.line(&format!("RP_SWAP({names});"));
        if w.dialect.grid.spaces[a.index()] == MemorySpace::Team {
            let shares = [a, b].map(|b| share(&w.buffer(b))).join(", ");
            w.line(&format!("rp_swap({shares});"));
        }
    }

    fn extension(w: &mut StmtWriter<'_, Self>, stmt: &TeamStmt) {
        let lanes = w.dialect.grid.lanes;
        match stmt {
            TeamStmt::Section(local, bound) => {
                let name = w.local(*local);
                let (number, all) = match bound {
                    SectionBound::First => ("", "INT64_MIN / 2"),
                    SectionBound::Last => (" + 1", "INT64_MAX / 2"),
                };
                w.line(&format!("{name} = launch.sections ? launch.sections[2 * chunk{number}] : {all};"));
                w.exprs.facts.forget(*local);
            }
            TeamStmt::Atomic { active, buffer, at, op, value } => {
                let (at, value) = (w.exprs.value(at), w.exprs.value(value));
                let prim = w.dialect.grid.function.buffers[buffer.index()].prim;
                // Atomic addition of 64 bits exists only for unsigned integers, which wrap to the
                // same bits.
                let ty = match (prim.bits(), op) {
                    (64, BinaryOp::Min | BinaryOp::Max) if prim.is_signed() => "long long",
                    (64, _) => "unsigned long long",
                    _ => c_type(prim),
                };
                let function = atomic(*op);
                let (condition, buffer) = (w.dialect.store_condition(*active), w.buffer(*buffer));
                w.line(&format!("{condition}{function}(({ty} *)&{buffer}[{at}], ({ty})({value}));"));
            }
            TeamStmt::Spread { var, lo, hi, folds, counters, body } => {
                save_accumulators(w, folds);
                w.dialect.spread = true;
                match counters.is_empty() {
                    true => spread(w, *var, (lo, hi), body),
                    false => batches(w, *var, (lo, hi), counters, body),
                }
                w.dialect.spread = false;
                if body.contains(&Stmt::Extension(TeamStmt::Poll(ActiveLanes::Each))) {
                    w.line(&format!("if (rp_any(stopped, mask, {lanes})) return RP_CANCELLED;"));
                }
                combine_accumulators(w, folds);
            }
            TeamStmt::Barrier => w.line(&format!("rp_barrier(mask, {lanes});")),
            TeamStmt::Poll(ActiveLanes::Lead) => w.line(&format!("RP_POLL({lanes});")),
            TeamStmt::Poll(ActiveLanes::Each) => w.line("RP_POLL_ALONE();"),
        }
    }
}

/// Writes a loop whose rounds the lanes share.
fn spread(w: &mut TeamWriter<'_, '_>, var: Local, bounds: (&Expr, &Expr), body: &[Stmt]) {
    let lanes = w.dialect.grid.lanes;
    w.for_loop(var, bounds, body, (" + (int64_t)lane", &format!(" += {lanes}")));
}

/// Saves the accumulators, and sets each to the identity of its fold.
fn save_accumulators(w: &mut TeamWriter<'_, '_>, folds: &[RoundFold]) {
    if folds.is_empty() {
        return;
    }
    w.line("{");
    w.depth += 1;
    for RoundFold { acc, identity, .. } in folds {
        let (name, ty) = (w.local(*acc), c_type(w.dialect.grid.function.locals[acc.index()].prim));
        let identity = literal(identity, Typing::Weak).0;
        w.line(&format!("const {ty} {} = {name};", from(&name)));
        w.line(&format!("{name} = {identity};"));
        w.exprs.facts.forget(*acc);
    }
}

/// Combines the accumulators of the lanes in halves, and then each result with the saved
/// accumulator.
fn combine_accumulators(w: &mut TeamWriter<'_, '_>, folds: &[RoundFold]) {
    if folds.is_empty() {
        return;
    }
    let team = w.dialect.grid.lanes as usize;
    for RoundFold { acc, op, .. } in folds {
        let (name, ty) = (w.local(*acc), c_type(w.dialect.grid.function.locals[acc.index()].prim));
        let warp_names: Vec<String> = (1..team / w.dialect.warp()).map(|k| lane(&name, k)).collect();
        if !warp_names.is_empty() {
            w.line(&format!("{ty} {};", warp_names.join(", ")));
        }
        let names = [vec![name.clone()], warp_names].concat();
        let result = combine_lanes(w, (*op, *acc), &names, team);
        w.line(&format!("{name} = {result};"));
        let result = w.exprs.fold_names(*op, *acc, &from(&name), &name);
        w.line(&format!("{name} = {result};"));
    }
    w.depth -= 1;
    w.line("}");
}

/// Writes a fold whose lanes are spread over the team. The lanes of each thread are combined first,
/// then the threads are combined in halves.
fn lanes_in_team(w: &mut TeamWriter<'_, '_>, fold: &LaneFold) {
    let (var, acc) = (w.local(fold.var), w.local(fold.acc));
    let ty = c_type(w.dialect.grid.function.locals[fold.acc.index()].prim);
    let (team, lanes) = (w.dialect.grid.lanes as usize, usize::from(fold.lanes));
    let per_thread = lanes.div_ceil(team);
    let names: Vec<String> = (0..per_thread.max(lanes.min(team) / w.dialect.warp())).map(|k| lane(&acc, k)).collect();
    let (lo, hi) = (w.exprs.value(&fold.lo), w.exprs.value(&fold.hi));
    w.exprs.facts.forget(fold.var);
    w.exprs.facts.forget(fold.acc);
    let identity = literal(&fold.identity, Typing::Weak).0;
    let (from, end) = (from(&var), end(&var));
    w.line("{");
    w.depth += 1;
    let starts: Vec<String> = names.iter().map(|name| format!("{name} = {identity}")).collect();
    w.line(&format!("{ty} {};", starts.join(", ")));
    w.line(&format!("const int64_t {from} = {lo}, {end} = {hi};"));
    let guard = if lanes < team { format!("lane < {lanes} && ") } else { String::new() };
    for (k, name) in names[..per_thread].iter().enumerate() {
        let first = if k == 0 { "lane".into() } else { format!("lane + {}", k * team) };
        let head = format!("for (int64_t {var} = {from} + {first}; {guard}{var} < {end}; {var} += {lanes})");
        let folded = w.exprs.fold(fold.op, fold.acc, name, &fold.value);
        w.line(&format!("{head} {name} = {folded};"));
    }
    let combined = (fold.op, fold.acc);
    combine_in_halves(w, combined, &names, (lanes, team));
    let result = combine_lanes(w, combined, &names, lanes.min(team));
    w.combine(combined, &acc, &result);
    w.depth -= 1;
    w.line("}");
}

/// Combines the variable `names[0]` over `lanes` lanes of a team in halves; returns the text of the
/// result. The warps of a team of several warps exchange their values through the memory of the
/// block: `names` has a variable for each warp, and each warp combines all these variables.
fn combine_lanes(w: &mut TeamWriter<'_, '_>, fold: (BinaryOp, Local), names: &[String], lanes: usize) -> String {
    let ty = c_type(w.dialect.grid.function.locals[fold.1.index()].prim);
    let (team, warp) = (w.dialect.grid.lanes as usize, w.dialect.warp());
    if team > warp {
        w.line(&format!("rp_publish({}, lane);", names[0]));
        w.line(&format!("rp_barrier(mask, {team});"));
        for (k, name) in names[..(lanes / warp).max(1)].iter().enumerate() {
            let first = if k == 0 { String::new() } else { format!(" + {}", k * warp) };
            w.line(&format!("{name} = rp_published<{ty}>(lane % {warp}{first});"));
        }
        w.line(&format!("rp_barrier(mask, {team});"));
        combine_in_halves(w, fold, names, (lanes, warp));
    }
    let mut half = lanes.min(warp) / 2;
    while half > 0 {
        let other = format!("({ty})__shfl_down_sync(mask, {}, {half}, {warp})", names[0]);
        w.combine(fold, &names[0], &other);
        half /= 2;
    }
    format!("({ty})__shfl_sync(mask, {}, 0, {warp})", names[0])
}

/// Combines the lanes of a fold in halves, each lane of the lower half with a lane of the upper
/// half, until each thread has one lane. Thread `t` of `n` begins with the lanes `t`, `t + n`, ..
fn combine_in_halves(
    w: &mut TeamWriter<'_, '_>,
    fold: (BinaryOp, Local),
    names: &[String],
    (lanes, threads): (usize, usize),
) {
    let mut half = lanes / 2;
    while half >= threads {
        for k in 0..half / threads {
            w.combine(fold, &names[k], &names[k + half / threads]);
        }
        half /= 2;
    }
}

/// Returns the CUDA function for an atomic operation.
fn atomic(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "atomicAdd",
        BinaryOp::Min => "atomicMin",
        BinaryOp::Max => "atomicMax",
        BinaryOp::And => "atomicAnd",
        BinaryOp::Or => "atomicOr",
        BinaryOp::Xor => "atomicXor",
        BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr => {
            unreachable!("the verifier admits only operators whose order does not matter")
        }
    }
}
