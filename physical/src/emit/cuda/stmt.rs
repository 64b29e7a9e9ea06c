//! Statements of grids.

use crate::assembly::{BinaryOp, Buffer, Expr, LaneFold, Local};
use crate::emit::c::names::{end, from, lane, share};
use crate::emit::c::stmt::{StmtWriter, is_invariant, status_name};
use crate::emit::c::types::{Typing, c_type, literal};
use crate::grid::{ActiveLanes, Grid, MemorySpace, RoundFold, SectionBound, Stmt, TeamStmt, WARP, to_serial};

/// A writer of the statements of a grid.
pub(super) struct GridStmtWriter<'a> {
    pub(super) lines: StmtWriter<'a>,
    pub(super) grid: &'a Grid,
    /// Set inside a spread loop.
    pub(super) spread: bool,
}

impl GridStmtWriter<'_> {
    pub(super) fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
            // The rest of the block is unreachable.
            if matches!(stmt, Stmt::Break | Stmt::Return(_)) {
                break;
            }
        }
    }

    /// Writes a head and its body, without the closing brace.
    fn nest(&mut self, head: &str, body: &[Stmt]) {
        self.lines.line(&format!("{head} {{"));
        self.lines.depth += 1;
        self.block(body);
        self.lines.depth -= 1;
    }

    /// Returns the condition for a statement of the first lane alone.
    fn lane_condition(&self, active: ActiveLanes) -> &'static str {
        if active == ActiveLanes::Lead && self.grid.lanes > 1 { "if (lane == 0) " } else { "" }
    }

    fn buffer(&self, buffer: Buffer) -> String {
        self.lines.exprs.names.buffers[buffer.index()].clone()
    }

    /// Writes growth, which checks the capacity of a window. Buffers that are allocated in full do
    /// not grow.
    fn grow(&mut self, buffer: Buffer, len: &Expr) {
        let (name, len) = (self.buffer(buffer), self.lines.exprs.value(len));
        match self.grid.spaces[buffer.index()] {
            MemorySpace::Input | MemorySpace::Shared | MemorySpace::Rounds => {}
            MemorySpace::Measured => self.lines.line(&format!("RP_MEASURE({name}, {len});")),
            MemorySpace::Chunk => self.lines.line(&format!("RP_GROW({name}, {len});")),
            MemorySpace::Team => {
                let lanes = self.grid.lanes;
                self.lines.line(&format!("RP_GROW_OR_MOVE({name}, {len}, {lanes});"));
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let lanes = self.grid.lanes;
        match stmt {
            Stmt::Assign(local, value) => self.lines.assign(*local, value),
            Stmt::Extension(TeamStmt::Section(local, side)) => {
                let (name, number) = (self.lines.local(*local), if *side == SectionBound::First { "" } else { " + 1" });
                self.lines.line(&format!("{name} = launch.sections[2 * chunk{number}];"));
                self.lines.exprs.facts.forget(*local);
            }
            Stmt::Store { active, buffer, at, value } => {
                let (at, value) = (self.lines.exprs.value(at), self.lines.exprs.value(value));
                let (condition, buffer) = (self.lane_condition(*active), self.buffer(*buffer));
                self.lines.line(&format!("{condition}{buffer}[{at}] = {value};"));
            }
            Stmt::Extension(TeamStmt::Atomic { active, buffer, at, op, value }) => {
                let (at, value) = (self.lines.exprs.value(at), self.lines.exprs.value(value));
                let prim = self.grid.function.buffers[buffer.index()].prim;
                // The machine adds 64-bit integers only unsigned, which wraps to the same bits.
                let ty = match (prim.bits(), op) {
                    (64, BinaryOp::Min | BinaryOp::Max) if prim.is_signed() => "long long",
                    (64, _) => "unsigned long long",
                    _ => c_type(prim),
                };
                let function = atomic(*op);
                let (condition, buffer) = (self.lane_condition(*active), self.buffer(*buffer));
                self.lines.line(&format!("{condition}{function}(({ty} *)&{buffer}[{at}], ({ty})({value}));"));
            }
            Stmt::If { cond, then, other } => {
                let cond = self.lines.exprs.value(cond);
                let facts = self.lines.exprs.facts.clone();
                self.nest(&format!("if ({cond})"), then);
                self.lines.exprs.facts = facts.clone();
                if !other.is_empty() {
                    self.nest("} else", other);
                    self.lines.exprs.facts = facts;
                }
                self.lines.line("}");
                self.lines.exprs.facts.forget_assigned(&to_serial(then));
                self.lines.exprs.facts.forget_assigned(&to_serial(other));
            }
            Stmt::While { cond, body } => {
                self.lines.exprs.facts.forget_assigned(&to_serial(body));
                let facts = self.lines.exprs.facts.clone();
                let cond = self.lines.exprs.condition(cond);
                self.nest(&format!("while ({cond})"), body);
                self.lines.exprs.facts = facts;
                self.lines.line("}");
            }
            Stmt::For { var, lo, hi, body } => self.for_loop(*var, (lo, hi), body, ("", "++")),
            Stmt::Extension(TeamStmt::Spread { var, lo, hi, folds, body }) => {
                self.save_accumulators(folds);
                self.spread = true;
                self.for_loop(*var, (lo, hi), body, (" + (int64_t)lane", &format!(" += {lanes}")));
                self.spread = false;
                if body.contains(&Stmt::Extension(TeamStmt::Poll(ActiveLanes::Each))) {
                    self.lines.line(&format!("if (rp_any(stopped, mask, {lanes})) return RP_CANCELLED;"));
                }
                self.combine_accumulators(folds);
            }
            Stmt::Break => self.lines.line("break;"),
            Stmt::Lanes(fold) if self.spread || lanes == 1 => self.lines.lanes(fold),
            Stmt::Lanes(fold) => self.fold(fold),
            Stmt::Extension(TeamStmt::Barrier) => self.lines.line(&format!("rp_barrier(mask, {lanes});")),
            Stmt::Extension(TeamStmt::Poll(ActiveLanes::Lead)) => self.lines.line(&format!("RP_POLL({lanes});")),
            Stmt::Extension(TeamStmt::Poll(ActiveLanes::Each)) => self.lines.line("RP_POLL_ALONE();"),
            Stmt::Grow { buffer, len } => self.grow(*buffer, len),
            Stmt::Sort { buffer, lo, hi } => {
                let (lo, hi) = (self.lines.exprs.value(lo), self.lines.exprs.value(hi));
                let buffer = self.buffer(*buffer);
                self.lines.line(&format!("rp_sort({buffer}, {lo}, {hi}, lane, mask, {lanes});"));
            }
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                let (lo, hi) = (self.lines.exprs.value(lo), self.lines.exprs.value(hi));
                let buffers = [perm, major, minor].map(|b| self.buffer(*b)).join(", ");
                self.lines.line(&format!("rp_sort_by({buffers}, {lo}, {hi}, lane, mask, {lanes});"));
            }
            Stmt::Swap(a, b) => {
                let names = [a, b].map(|b| self.buffer(*b)).join(", ");
                self.lines.line(&format!("RP_SWAP({names});"));
                if self.grid.spaces[a.index()] == MemorySpace::Team {
                    let shares = [a, b].map(|b| share(&self.buffer(*b))).join(", ");
                    self.lines.line(&format!("rp_swap({shares});"));
                }
            }
            Stmt::Return(status) => self.lines.line(&format!("return {};", status_name(*status))),
        }
    }

    /// Writes a loop whose bounds are evaluated once, as in C. The first round and the step select
    /// the rounds of a lane.
    fn for_loop(&mut self, var: Local, (lo, hi): (&Expr, &Expr), body: &[Stmt], (offset, step): (&str, &str)) {
        let name = self.lines.local(var);
        let rounds = to_serial(body);
        let (mut start, mut bound) = (self.lines.exprs.bound(lo), self.lines.exprs.bound(hi));
        let mut declarations = Vec::new();
        if lo.mentions(var) {
            declarations.push(format!("{} = {start}", from(&name)));
            start = from(&name);
        }
        if hi.mentions(var) || !is_invariant(hi, &rounds) {
            declarations.push(format!("{} = {bound}", end(&name)));
            bound = end(&name);
        }
        declarations.push(format!("{name} = {start}{offset}"));
        let head = format!("for (int64_t {}; {name} < {bound}; {name}{step})", declarations.join(", "));
        self.lines.exprs.facts.forget_assigned(&rounds);
        self.lines.exprs.facts.forget(var);
        let facts = self.lines.exprs.facts.clone();
        self.nest(&head, body);
        self.lines.exprs.facts = facts;
        self.lines.line("}");
    }

    /// Saves the accumulators and sets them to identities.
    fn save_accumulators(&mut self, folds: &[RoundFold]) {
        if folds.is_empty() {
            return;
        }
        self.lines.line("{");
        self.lines.depth += 1;
        for RoundFold { acc, identity, .. } in folds {
            let (name, ty) = (self.lines.local(*acc), c_type(self.grid.function.locals[acc.index()].prim));
            let identity = literal(identity, Typing::Weak).0;
            self.lines.line(&format!("const {ty} {} = {name};", from(&name)));
            self.lines.line(&format!("{name} = {identity};"));
            self.lines.exprs.facts.forget(*acc);
        }
    }

    /// Combines the lanes' folds in halves, and then with the saved accumulators.
    fn combine_accumulators(&mut self, folds: &[RoundFold]) {
        if folds.is_empty() {
            return;
        }
        let team = self.grid.lanes as usize;
        for RoundFold { acc, op, .. } in folds {
            let (name, ty) = (self.lines.local(*acc), c_type(self.grid.function.locals[acc.index()].prim));
            let warp_names: Vec<String> = (1..team / self.warp()).map(|k| lane(&name, k)).collect();
            if !warp_names.is_empty() {
                self.lines.line(&format!("{ty} {};", warp_names.join(", ")));
            }
            let names = [vec![name.clone()], warp_names].concat();
            let result = self.combine_lanes((*op, *acc), &names, team);
            self.lines.line(&format!("{name} = {result};"));
            let result = self.lines.exprs.fold_names(*op, *acc, &from(&name), &name);
            self.lines.line(&format!("{name} = {result};"));
        }
        self.lines.depth -= 1;
        self.lines.line("}");
    }

    /// Returns the number of lanes of a team that exchange values without barriers.
    fn warp(&self) -> usize {
        self.grid.lanes.min(WARP) as usize
    }

    /// Writes a fold whose lanes are spread over the team; lanes of one thread are combined first,
    /// then threads, in halves.
    fn fold(&mut self, fold: &LaneFold) {
        let (var, acc) = (self.lines.local(fold.var), self.lines.local(fold.acc));
        let ty = c_type(self.grid.function.locals[fold.acc.index()].prim);
        let (team, lanes) = (self.grid.lanes as usize, usize::from(fold.lanes));
        let per_thread = lanes.div_ceil(team);
        let names: Vec<String> = (0..per_thread.max(lanes.min(team) / self.warp())).map(|k| lane(&acc, k)).collect();
        let (lo, hi) = (self.lines.exprs.value(&fold.lo), self.lines.exprs.value(&fold.hi));
        self.lines.exprs.facts.forget(fold.var);
        self.lines.exprs.facts.forget(fold.acc);
        let identity = literal(&fold.identity, Typing::Weak).0;
        let (from, end) = (from(&var), end(&var));
        self.lines.line("{");
        self.lines.depth += 1;
        let starts: Vec<String> = names.iter().map(|name| format!("{name} = {identity}")).collect();
        self.lines.line(&format!("{ty} {};", starts.join(", ")));
        self.lines.line(&format!("const int64_t {from} = {lo}, {end} = {hi};"));
        let guard = if lanes < team { format!("lane < {lanes} && ") } else { String::new() };
        for (k, name) in names[..per_thread].iter().enumerate() {
            let first = if k == 0 { "lane".into() } else { format!("lane + {}", k * team) };
            let head = format!("for (int64_t {var} = {from} + {first}; {guard}{var} < {end}; {var} += {lanes})");
            let folded = self.lines.exprs.fold(fold.op, fold.acc, name, &fold.value);
            self.lines.line(&format!("{head} {name} = {folded};"));
        }
        let combined = (fold.op, fold.acc);
        self.combine_in_halves(combined, &names, (lanes, team));
        let result = self.combine_lanes(combined, &names, lanes.min(team));
        self.lines.combine(combined, &acc, &result);
        self.lines.depth -= 1;
        self.lines.line("}");
    }

    /// Combines the first name over `lanes` lanes of a team in halves; returns the text of the
    /// result. Warps exchange their values through memory, with one name for each warp, and each
    /// warp combines all of them.
    fn combine_lanes(&mut self, fold: (BinaryOp, Local), names: &[String], lanes: usize) -> String {
        let ty = c_type(self.grid.function.locals[fold.1.index()].prim);
        let (team, warp) = (self.grid.lanes as usize, self.warp());
        if team > warp {
            self.lines.line(&format!("rp_publish({}, lane);", names[0]));
            self.lines.line(&format!("rp_barrier(mask, {team});"));
            for (k, name) in names[..(lanes / warp).max(1)].iter().enumerate() {
                let first = if k == 0 { String::new() } else { format!(" + {}", k * warp) };
                self.lines.line(&format!("{name} = rp_published<{ty}>(lane % {warp}{first});"));
            }
            self.lines.line(&format!("rp_barrier(mask, {team});"));
            self.combine_in_halves(fold, names, (lanes, warp));
        }
        let mut half = lanes.min(warp) / 2;
        while half > 0 {
            let other = format!("({ty})__shfl_down_sync(mask, {}, {half}, {warp})", names[0]);
            self.lines.combine(fold, &names[0], &other);
            half /= 2;
        }
        format!("({ty})__shfl_sync(mask, {}, 0, {warp})", names[0])
    }

    /// Combines the lanes of a fold in halves until there is one for each thread; thread `t` of `n`
    /// has the lanes `t`, `t + n`, ..
    fn combine_in_halves(&mut self, fold: (BinaryOp, Local), names: &[String], (lanes, threads): (usize, usize)) {
        let mut half = lanes / 2;
        while half >= threads {
            for k in 0..half / threads {
                self.lines.combine(fold, &names[k], &names[k + half / threads]);
            }
            half /= 2;
        }
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
            unreachable!("the verifier admits operators whose order does not matter")
        }
    }
}
