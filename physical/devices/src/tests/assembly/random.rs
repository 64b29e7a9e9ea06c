//! Random well-typed functions: their text parses back, the verifier accepts them, and the
//! interpreter, machine code and grids agree.
//!
//! A function is drawn from a list of numbers, so that shrinking the list shrinks the function. The
//! function has an input and an owned buffer of every primitive, an input and four owned buffers of
//! indices, and three locals of every primitive. Positions are masked to stay in bounds, or are
//! loop variables below the length.

use super::backends::{run_all, run_in_process};
use super::operators::{buffer_of, edges};
use arrow_buffer::Buffer as ArrowBuffer;
use proptest::prelude::*;
use redpoll_compiler::assembly::eval::{binary_fn, unary_fn};
use redpoll_compiler::assembly::text::{parse, print};
use redpoll_compiler::assembly::{
    BinaryOp, Buffer, BufferClass, BufferDecl, BufferRole, CompareOp, Expr, Function, LaneFold, Local, LocalDecl,
    MathFn, Param, Status, Stmt, UnaryOp, verify,
};
use redpoll_kernels::testing::case::FunctionCase;
use redpoll_logic::{Prim, Scalar};
use std::collections::HashMap;

/// Smallest length of every buffer; a power of two, so that a mask keeps positions in bounds.
const LEN: i64 = 16;
/// Number of locals of each primitive. Local `k` of primitive `prim` has the number
/// `FIRST_LOCAL + prim * 3 + k`; loop variables follow.
const LOCALS_EACH: u32 = 3;
const FIRST_LOCAL: u32 = 2;
const FIRST_LOOP: u32 = FIRST_LOCAL + 11 * LOCALS_EACH;
const LOOPS: u32 = 6;
const FIRST_OWNED: u32 = 11;
const INPUT_INDEX: Buffer = Buffer(22);
const OWNED_INDEX: Buffer = Buffer(23);
const PERM: Buffer = Buffer(24);
const KEY: Buffer = Buffer(25);
/// A buffer of the same type as `OWNED_INDEX`, with which it is swapped.
const TWIN: Buffer = Buffer(26);

/// Number of translation units of random functions.
const UNITS: usize = 4;
/// Number of functions in each translation unit.
const FUNCTIONS_EACH: usize = 25;

struct FunctionDraw {
    numbers: Vec<u32>,
    at: usize,
    /// Set when functions of the mathematical library are drawn.
    calls: bool,
    /// Variables of the enclosing `for` loops and lane folds, all of them below `LEN`.
    loops: Vec<Local>,
    /// Number of loop variables that loops have taken so far.
    used: u32,
    depth: u32,
}

impl FunctionDraw {
    /// Draws a number below `n`; 0 once the list is used up.
    fn below(&mut self, n: usize) -> usize {
        let number = self.numbers.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        number as usize % n
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn prim(&mut self) -> Prim {
        self.pick(&Prim::ALL)
    }

    fn constant(&mut self, prim: Prim) -> Expr {
        let edges = edges(prim);
        Expr::Const(edges[self.below(edges.len())].clone())
    }

    fn local(&mut self, prim: Prim) -> Local {
        let number = Prim::ALL.iter().position(|p| *p == prim).unwrap() as u32;
        Local(FIRST_LOCAL + number * LOCALS_EACH + self.below(LOCALS_EACH as usize) as u32)
    }

    /// Draws a position in bounds.
    fn position(&mut self, depth: u32) -> Expr {
        if !self.loops.is_empty() && self.below(2) == 0 {
            return Expr::Local(self.pick(&self.loops.clone()));
        }
        binary(BinaryOp::And, self.expr(Prim::I64, depth), int(LEN - 1))
    }

    fn expr(&mut self, prim: Prim, depth: u32) -> Expr {
        if depth == 0 {
            return match self.below(3) {
                0 => Expr::Local(self.local(prim)),
                1 => self.constant(prim),
                _ if prim == Prim::I64 => match self.loops.last() {
                    Some(var) => Expr::Local(*var),
                    None => Expr::Param(Param(0)),
                },
                _ => Expr::Local(self.local(prim)),
            };
        }
        let depth = depth - 1;
        let number = Prim::ALL.iter().position(|p| *p == prim).unwrap() as u32;
        match self.below(9) {
            0 => Expr::Local(self.local(prim)),
            1 => {
                let buffer = match self.below(3) {
                    0 if prim == Prim::I64 => self.pick(&[INPUT_INDEX, OWNED_INDEX, PERM, KEY]),
                    1 => Buffer(FIRST_OWNED + number),
                    _ => Buffer(number),
                };
                Expr::Load { buffer, at: Box::new(self.position(depth)) }
            }
            2 => {
                let ops: Vec<UnaryOp> =
                    UnaryOp::ALL.iter().copied().filter(|op| unary_fn(*op, prim).is_some()).collect();
                Expr::Unary(self.pick(&ops), Box::new(self.expr(prim, depth)))
            }
            3 => {
                let cond = self.expr(Prim::Bool, depth);
                Expr::Select(Box::new(cond), Box::new(self.expr(prim, depth)), Box::new(self.expr(prim, depth)))
            }
            4 => {
                let from = self.prim();
                Expr::Cast(prim, Box::new(self.expr(from, depth)))
            }
            5 if prim.is_float() && self.calls => {
                let function = self.pick(MathFn::ALL);
                let arity = function.implementation().arity();
                let mut args: Vec<Expr> = (0..arity).map(|_| self.expr(prim, depth)).collect();
                if function == MathFn::SignBit {
                    // The sign of a computed NaN depends on the machine.
                    let number = args.remove(0);
                    let is_number = Expr::Compare(CompareOp::Eq, Box::new(number.clone()), Box::new(number.clone()));
                    let one = Expr::Const(Scalar::one(prim));
                    args.push(Expr::Select(Box::new(is_number), Box::new(number), Box::new(one)));
                }
                Expr::Math(function, args)
            }
            5 | 6 if prim == Prim::Bool => {
                let (op, on) = (self.pick(CompareOp::ALL), self.prim());
                Expr::Compare(op, Box::new(self.expr(on, depth)), Box::new(self.expr(on, depth)))
            }
            _ => {
                let ops: Vec<BinaryOp> =
                    BinaryOp::ALL.iter().copied().filter(|op| binary_fn(*op, prim).is_some()).collect();
                binary(self.pick(&ops), self.expr(prim, depth), self.expr(prim, depth))
            }
        }
    }

    /// Draws an index that fits the narrowest buffer of indices.
    fn index(&mut self) -> Expr {
        binary(BinaryOp::And, self.expr(Prim::I64, 2), int(127))
    }

    fn block(&mut self) -> Vec<Stmt> {
        let len = 1 + self.below(4);
        (0..len).map(|_| self.stmt()).collect()
    }

    fn stmt(&mut self) -> Stmt {
        let nested = self.depth < 3;
        match self.below(13) {
            0..3 => {
                let prim = self.prim();
                Stmt::Assign(self.local(prim), self.expr(prim, 3))
            }
            3 | 4 => {
                let number = self.below(11);
                let buffer = Buffer(FIRST_OWNED + number as u32);
                Stmt::store(buffer, self.position(2), self.expr(Prim::ALL[number], 3))
            }
            5 => {
                let buffer = self.pick(&[OWNED_INDEX, KEY]);
                Stmt::store(buffer, self.position(1), self.index())
            }
            6 if nested => {
                let cond = self.expr(Prim::Bool, 2);
                self.depth += 1;
                let then = self.block();
                let other = if self.below(2) == 0 { vec![] } else { self.block() };
                self.depth -= 1;
                Stmt::If { cond, then, other }
            }
            7 | 8 if nested && self.used < LOOPS => self.for_loop(),
            9 if nested && self.used < LOOPS => {
                // The loop has a few rounds at most: nothing else assigns its counter.
                let counter = self.loop_variable();
                let bound = Expr::Compare(CompareOp::Lt, Box::new(Expr::Local(counter)), Box::new(int(5)));
                let cond = binary(BinaryOp::And, bound, self.expr(Prim::Bool, 1));
                self.depth += 1;
                let mut body = vec![Stmt::Assign(counter, binary(BinaryOp::Add, Expr::Local(counter), int(1)))];
                body.extend(self.block());
                if self.below(3) == 0 {
                    body.push(Stmt::If { cond: self.expr(Prim::Bool, 1), then: vec![Stmt::Break], other: vec![] });
                }
                self.depth -= 1;
                // A branch that is always taken combines the initialization of the counter and the
                // loop into one statement.
                let run = vec![Stmt::Assign(counter, int(0)), Stmt::While { cond, body }];
                Stmt::If { cond: Expr::Const(Scalar::Bool(true)), then: run, other: vec![] }
            }
            10 => {
                let buffer = self.pick(&[Buffer(11), Buffer(15), Buffer(21), OWNED_INDEX, KEY]);
                Stmt::Grow { buffer, len: int(self.below(600) as i64) }
            }
            11 => match self.below(4) {
                2 => Stmt::Swap(OWNED_INDEX, TWIN),
                0 => Stmt::Sort { buffer: OWNED_INDEX, lo: self.position(1), hi: self.position(1) },
                1 => {
                    let (lo, hi) = (self.position(1), self.position(1));
                    Stmt::SortBy { perm: PERM, major: OWNED_INDEX, minor: KEY, lo, hi }
                }
                _ if self.below(8) == 0 => Stmt::Return(self.pick(Status::ALL)),
                _ => Stmt::Sort { buffer: KEY, lo: int(0), hi: int(LEN) },
            },
            _ if self.used < LOOPS => self.lanes(),
            _ => Stmt::Assign(self.local(Prim::F64), self.expr(Prim::F64, 3)),
        }
    }

    fn loop_variable(&mut self) -> Local {
        self.used += 1;
        Local(FIRST_LOOP + self.used - 1)
    }

    fn for_loop(&mut self) -> Stmt {
        let var = self.loop_variable();
        let (lo, hi) = match self.below(3) {
            0 => (int(0), int(LEN)),
            1 => (int(self.below(4) as i64), int(self.below(8) as i64)),
            _ => (self.position(1), binary(BinaryOp::And, self.expr(Prim::I64, 1), int(7))),
        };
        self.depth += 1;
        self.loops.push(var);
        let mut body = self.block();
        self.loops.pop();
        if self.below(4) == 0 {
            body.push(Stmt::If { cond: self.expr(Prim::Bool, 1), then: vec![Stmt::Break], other: vec![] });
        }
        self.depth -= 1;
        Stmt::For { var, lo, hi, body }
    }

    fn lanes(&mut self) -> Stmt {
        let var = self.loop_variable();
        let prim = self.prim();
        let ops: Vec<BinaryOp> =
            BinaryOp::ALL.iter().copied().filter(|op| op.can_fold() && binary_fn(*op, prim).is_some()).collect();
        let op = self.pick(&ops);
        let identity = Scalar::zero(prim);
        let acc = self.local(prim);
        let (lo, hi) = (int(self.below(3) as i64), int(LEN - self.below(9) as i64));
        self.loops.push(var);
        let mut value = self.expr(prim, 2);
        self.loops.pop();
        if value.mentions(acc) {
            value = Expr::Load {
                buffer: Buffer(Prim::ALL.iter().position(|p| *p == prim).unwrap() as u32),
                at: Box::new(Expr::Local(var)),
            };
        }
        let lanes = self.pick(&[1, 2, 4, 8]);
        Stmt::Lanes(Box::new(LaneFold { acc, op, identity, lanes, var, lo, hi, value }))
    }

    fn function(&mut self) -> Function {
        let value = |name: &str, prim: Prim, role, fill| BufferDecl {
            name: format!("{name}_{prim}"),
            prim,
            class: BufferClass::Value,
            role,
            fill,
        };
        let index = |name: &str, prim, role| BufferDecl {
            name: name.into(),
            prim,
            class: BufferClass::Index,
            role,
            fill: Scalar::from_bits(prim, 3),
        };
        let mut buffers: Vec<BufferDecl> =
            Prim::ALL.iter().map(|p| value("in", *p, BufferRole::Input, Scalar::zero(*p))).collect();
        for prim in Prim::ALL {
            let fill = edges(prim)[self.below(edges(prim).len())].clone();
            buffers.push(value("out", prim, BufferRole::Owned, fill));
        }
        let widths = [Prim::I8, Prim::U8, Prim::I16, Prim::U16, Prim::I32, Prim::U32, Prim::I64, Prim::U64];
        buffers.push(index("in.idx", self.pick(&widths), BufferRole::Input));
        for name in ["out.idx", "out.perm", "out.key"] {
            buffers.push(index(name, self.pick(&widths), BufferRole::Owned));
        }
        buffers.push(index("out.twin", buffers[OWNED_INDEX.index()].prim, BufferRole::Owned));
        let mut locals: Vec<LocalDecl> =
            ["lo", "hi"].map(|name| LocalDecl { name: name.into(), prim: Prim::I64 }).into();
        for prim in Prim::ALL {
            locals.extend((0..LOCALS_EACH).map(|_| LocalDecl { name: format!("{prim}"), prim }));
        }
        locals.extend((0..LOOPS).map(|k| LocalDecl { name: format!("k{k}"), prim: Prim::I64 }));

        let mut body = vec![];
        for k in FIRST_OWNED..buffers.len() as u32 {
            if buffers[k as usize].role == BufferRole::Owned {
                body.push(Stmt::Grow { buffer: Buffer(k), len: int(LEN) });
            }
        }
        for k in FIRST_LOCAL..FIRST_LOOP {
            body.push(Stmt::Assign(Local(k), self.constant(locals[k as usize].prim)));
        }
        let var = Local(FIRST_LOOP + LOOPS);
        locals.push(LocalDecl { name: "k".into(), prim: Prim::I64 });
        let number = Stmt::store(PERM, Expr::Local(var), Expr::Local(var));
        body.push(Stmt::For { var, lo: int(0), hi: int(LEN), body: vec![number] });
        while self.at < self.numbers.len() {
            body.push(self.stmt());
        }
        for (k, prim) in Prim::ALL.into_iter().enumerate() {
            for j in 0..LOCALS_EACH {
                let value = Expr::Local(Local(FIRST_LOCAL + k as u32 * LOCALS_EACH + j));
                debug_assert_eq!(locals[(FIRST_LOCAL + k as u32 * LOCALS_EACH + j) as usize].prim, prim);
                body.push(Stmt::store(Buffer(FIRST_OWNED + k as u32), int(j.into()), value));
            }
        }
        Function { name: "random".into(), buffers, params: vec!["n".into()], locals, chunk: (Local(0), Local(1)), body }
    }
}

fn int(v: i64) -> Expr {
    Expr::Const(Scalar::I64(v))
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

pub(crate) fn inputs(function: &Function) -> Vec<ArrowBuffer> {
    let values = |decl: &BufferDecl| -> Vec<Scalar> {
        if decl.class == BufferClass::Index {
            (0..LEN as u64).map(|k| Scalar::from_bits(decl.prim, k * 7 % 16)).collect()
        } else {
            edges(decl.prim).into_iter().cycle().skip(1).step_by(3).take(LEN as usize).collect()
        }
    };
    let inputs = function.buffers.iter().filter(|b| b.role == BufferRole::Input);
    inputs.map(|decl| buffer_of(decl.prim, &values(decl))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn engines_agree_and_text_reads_back(numbers in proptest::collection::vec(any::<u32>(), 0..400)) {
        let function = FunctionDraw { numbers, at: 0, calls: true, loops: vec![], used: 0, depth: 0 }.function();
        prop_assert_eq!(verify(&function), vec![], "{}", function);
        let text = print(&function);
        let again = parse(&text);
        prop_assert_eq!(again.as_ref().ok(), Some(&function), "{}\n{:?}", text, again.as_ref().err());
        run_in_process(&function, &inputs(&function), &[-3], 2..9);
    }
}

/// Returns random functions without calls of the mathematical library.
pub(crate) fn random_functions(count: usize) -> Vec<Function> {
    let mut state = 11u64;
    let mut number = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u32
    };
    let mut draw = |_| {
        let numbers = (0..300).map(|_| number()).collect();
        FunctionDraw { numbers, at: 0, calls: false, loops: vec![], used: 0, depth: 0 }.function()
    };
    (0..count).map(&mut draw).collect()
}

/// The optimizing tier agrees with the interpreter on random functions, many in one translation
/// unit.
#[test]
fn random_functions_agree_as_c() {
    let mut state = 7u64;
    let mut number = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u32
    };
    for _ in 0..UNITS {
        let cases: Vec<FunctionCase> = (0..FUNCTIONS_EACH)
            .map(|_| {
                let numbers = (0..300).map(|_| number()).collect();
                let function =
                    FunctionDraw { numbers, at: 0, calls: true, loops: vec![], used: 0, depth: 0 }.function();
                FunctionCase::new(function.clone(), &inputs(&function), &[-3], 2..9)
            })
            .collect();
        run_all(&cases);
    }
}

/// Random functions cover every kind of statement and expression, so that the property above is
/// meaningful.
#[test]
fn random_functions_cover_every_node() {
    let mut hits: HashMap<String, usize> = HashMap::new();
    let mut state = 1u64;
    for _ in 0..2000 {
        let number = |_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u32
        };
        let numbers: Vec<u32> = (0..300).map(number).collect();
        let function = FunctionDraw { numbers, at: 0, calls: true, loops: vec![], used: 0, depth: 0 }.function();
        let mut hit = |name: String| *hits.entry(name).or_default() += 1;
        for stmt in &function.body {
            stmt.any(&mut |stmt| {
                hit(match stmt {
                    Stmt::Lanes(fold) => format!("lanes {} {}", fold.op.name(), fold.lanes),
                    Stmt::Return(status) => format!("return {}", status.name()),
                    _ => format!("{stmt:?}").split(|c: char| !c.is_alphabetic()).next().unwrap().to_string(),
                });
                stmt.for_each_expr(&mut |expr| {
                    expr.any(&mut |expr| {
                        hit(match expr {
                            Expr::Unary(op, a) => format!("{} {}", op.name(), function.prim_of(a)),
                            Expr::Binary(op, a, _) => format!("{} {}", op.name(), function.prim_of(a)),
                            Expr::Compare(op, a, _) => format!("{} {}", op.name(), function.prim_of(a)),
                            Expr::Cast(to, a) => format!("cast {} {to}", function.prim_of(a)),
                            Expr::Math(f, args) => format!("{} {}", f.name(), function.prim_of(&args[0])),
                            Expr::Load { buffer, .. } => format!("load {}", buffer.0),
                            Expr::Select(_, a, _) => format!("select {}", function.prim_of(a)),
                            Expr::Const(_) | Expr::Local(_) | Expr::Param(_) => "leaf".into(),
                        });
                        false
                    });
                });
                false
            });
        }
    }
    let mut expected: Vec<String> =
        ["Assign", "Store", "If", "While", "For", "Break", "Grow", "Sort", "SortBy", "Swap"].map(String::from).into();
    expected.extend(Status::ALL.iter().map(|s| format!("return {}", s.name())));
    expected.extend((0..26).map(|k| format!("load {k}")));
    for prim in Prim::ALL {
        expected.push(format!("select {prim}"));
        expected.extend(Prim::ALL.iter().map(|to| format!("cast {prim} {to}")));
        expected.extend(CompareOp::ALL.iter().map(|op| format!("{} {prim}", op.name())));
        expected.extend(
            UnaryOp::ALL.iter().filter(|op| unary_fn(**op, prim).is_some()).map(|op| format!("{} {prim}", op.name())),
        );
        let binary = BinaryOp::ALL.iter().filter(|op| binary_fn(**op, prim).is_some());
        expected.extend(binary.map(|op| format!("{} {prim}", op.name())));
    }
    for op in BinaryOp::ALL.iter().filter(|op| op.can_fold()) {
        expected.extend([1, 2, 4, 8].map(|lanes| format!("lanes {} {lanes}", op.name())));
    }
    for prim in [Prim::F32, Prim::F64] {
        expected.extend(MathFn::ALL.iter().map(|f| format!("{} {prim}", f.name())));
    }
    let missed: Vec<&String> = expected.iter().filter(|name| !hits.contains_key(*name)).collect();
    assert!(missed.is_empty(), "never drawn: {missed:?}");
}
