//! Code of bit maps. Walks and gallops search word by word, from either end; `follow` tests a bit.
//! Writes may come in any order.
//!
//! Declaring a tensor again costs one read of each word, and a reset of each stored coordinate, or
//! of every position if a level below has arrays. Elements whose bit is not set always have the
//! fill value.

use super::byte_map::map_lookup;
use super::shared::join::{Comparable, compare_each};
use super::shared::list::if_present;
use crate::assembly::{BinaryOp, Buffer, BufferRole, CompareOp, Expr, Local, Stmt, UnaryOp};
use crate::lower::seeded_fault::SeededFault;
use crate::lower::{
    AccessCursor, AssembleMode, Cx, Fiber, FunctionTables, LevelCode, LevelId, LevelLowering, Looplet, Parents,
    Stepper, add, and, eq, int, load, local, lt, max, min, mul, not, plus, sub, truth,
};
use redpoll_logic::physical::Protocol;
use redpoll_logic::{Prim, Scalar};
use redpoll_storage::levels::BitMap;
use std::rc::Rc;

const WORDS: usize = 0;
/// Number of bits in a word.
const WORD: i64 = 64;

impl LevelLowering for BitMap {
    fn add_counters(&self, _: &mut Cx<'_>, _: &mut FunctionTables, _: LevelId, _: (BufferRole, &mut LevelCode)) {}

    fn read(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Looplet {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let first = cx.name("row", &mul(&fiber.lo, &dimension));
        if protocol == Protocol::Follow {
            return map_lookup(cx, at, fiber, first, move |p| nonzero(&and_word(&word_at(arrays[WORDS], p), &bit(p))));
        }
        let (q, end, coordinate) =
            (cx.new_local("q", Prim::I64), cx.new_local("q_end", Prim::I64), cx.new_local("i", Prim::I64));
        let scan = Scan::new(cx, arrays[WORDS]);
        let mut bounds = vec![Stmt::Assign(q, first.clone()), Stmt::Assign(end, add(&first, &dimension))];
        bounds.extend(scan.forward(q, &local(end)));
        let preamble = if_present(cx, fiber, bounds, (q, end));
        let inner = fiber.stored();
        let fill = cx.fill(at.tensor);
        let row = first.clone();
        let stepper = Rc::new(Stepper {
            more: lt(&local(q), &local(end)),
            current: vec![Stmt::Assign(coordinate, sub(&local(q), &first))],
            stop: plus(&local(coordinate), 1),
            bound: dimension,
            chunk: spike(&fill, inner.child(local(q))),
            next: Rc::new(move |condition| {
                let mut step = vec![Stmt::Assign(q, plus(&local(q), 1))];
                step.extend(scan.forward(q, &local(end)));
                conditional(condition, step)
            }),
            seek: Rc::new(move |cx, i| {
                cx.assign(q, max(&local(q), &add(&row, i)));
                cx.extend(scan.forward(q, &local(end)));
            }),
            first: int(0),
            rest: fill,
            entries: None,
            limit: None,
        });
        stepping_looplet(preamble, stepper, protocol)
    }

    fn read_backward(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, protocol: Protocol) -> Option<Looplet> {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let first = cx.name("row", &mul(&fiber.lo, &dimension));
        let [start, r, q, coordinate] = ["start", "r", "q", "i"].map(|name| cx.new_local(name, Prim::I64));
        let scan = Scan::new(cx, arrays[WORDS]);
        let mut bounds = vec![Stmt::Assign(start, first.clone()), Stmt::Assign(r, add(&first, &dimension))];
        bounds.extend(scan.backward(r, &local(start)));
        let mut preamble = if_present(cx, fiber, bounds, (start, r));
        // Code after the last entry also reads `q`, although it never runs, so `q` must be
        // assigned.
        preamble.push(Stmt::Assign(q, int(0)));
        let inner = fiber.stored();
        let fill = cx.fill(at.tensor);
        let row = first.clone();
        let stepper = Rc::new(Stepper {
            more: lt(&local(start), &local(r)),
            current: vec![Stmt::Assign(q, plus(&local(r), -1)), Stmt::Assign(coordinate, sub(&first, &local(q)))],
            stop: plus(&local(coordinate), 1),
            bound: int(1),
            chunk: spike(&fill, inner.child(local(q))),
            next: Rc::new(move |condition| {
                let mut step = vec![Stmt::Assign(r, plus(&local(r), -1))];
                step.extend(scan.backward(r, &local(start)));
                conditional(condition, step)
            }),
            seek: Rc::new(move |cx, i| {
                cx.assign(r, min(&local(r), &plus(&sub(&row, i), 1)));
                cx.extend(scan.backward(r, &local(start)));
            }),
            first: sub(&int(1), &dimension),
            rest: fill,
            entries: None,
            limit: None,
        });
        Some(stepping_looplet(preamble, stepper, protocol))
    }

    fn write(&self, cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> Looplet {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let first = cx.name("row", &mul(&fiber.lo, &dimension));
        let fiber = fiber.clone();
        Looplet::Lookup(Rc::new(move |cx, i| {
            let p = cx.name("p", &add(&first, i));
            let dirty = cx.new_local("dirty", Prim::Bool);
            let mut child = fiber.child(p.clone());
            child.dirty.push(dirty);
            let marked = binary(BinaryOp::Or, word_at(arrays[WORDS], &p), bit(&p));
            let mark = Stmt::store(arrays[WORDS], word_of(&p), marked);
            Looplet::Thunk {
                preamble: vec![Stmt::Assign(dirty, truth(false))],
                body: Rc::new(Looplet::Run(AccessCursor::Fiber(child))),
                epilogue: vec![Stmt::If { cond: local(dirty), then: vec![mark], other: Vec::new() }],
            }
        }))
    }

    fn declare(&self, _: &mut Cx<'_>, _: LevelId) {}

    fn assemble(&self, cx: &mut Cx<'_>, at: LevelId, (lo, hi): (&Expr, &Expr), mode: AssembleMode) {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let words = arrays[WORDS];
        let (lo, hi) = (cx.name("p", &mul(lo, &dimension)), cx.name("p", &mul(hi, &dimension)));
        if mode != AssembleMode::ResetOnly {
            cx.push(Stmt::Grow { buffer: words, len: words_of(&hi) });
        }
        // The arrays of the levels below also have ends for the empty fibers at coordinates that
        // are not stored.
        let all_below = cx.has_arrays_below(at);
        if mode != AssembleMode::New {
            let b = cx.new_local("b", Prim::I64);
            let scan = Scan::new(cx, words);
            cx.assign(b, lo.clone());
            cx.extend(scan.forward(b, &hi));
            let body = cx.block(|cx| {
                let others = Expr::Unary(UnaryOp::Not, Box::new(bit(&local(b))));
                let value = and_word(&word_at(words, &local(b)), &others);
                cx.push(Stmt::store(words, word_of(&local(b)), value));
                if !all_below {
                    cx.assemble(at.below(), (&local(b), &plus(&local(b), 1)), AssembleMode::ResetOnly);
                }
                cx.assign(b, plus(&local(b), 1));
                cx.extend(scan.forward(b, &hi));
            });
            cx.push(Stmt::While { cond: lt(&local(b), &hi), body });
        }
        match mode {
            _ if all_below => cx.assemble(at.below(), (&lo, &hi), mode),
            AssembleMode::ResetOnly => {}
            AssembleMode::New | AssembleMode::GrowAndReset => cx.assemble(at.below(), (&lo, &hi), AssembleMode::New),
        }
    }

    fn freeze(&self, cx: &mut Cx<'_>, at: LevelId, Parents { count: parents, .. }: &Parents) -> Expr {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let own = cx.name("positions", &mul(parents, &dimension));
        let words = arrays[WORDS];
        cx.push(Stmt::Grow { buffer: words, len: words_of(&own) });
        if cx.tensor(at.tensor).assemble_mode == AssembleMode::GrowAndReset {
            // Bits after the last position may remain from a run that was rolled back.
            let below = binary(BinaryOp::Sub, bit(&own), Expr::Const(Scalar::U64(1)));
            let cut = Stmt::store(words, word_of(&own), and_word(&word_at(words, &own), &below));
            cx.push_if(lt(&int(0), &binary(BinaryOp::And, own.clone(), int(WORD - 1))), vec![cut], Vec::new());
        }
        own
    }

    fn lengths(&self, _: &Cx<'_>, _: LevelId, (_, own): (&Expr, &Expr)) -> Vec<Expr> {
        vec![words_of(own)]
    }

    fn comparable(&self) -> Option<&dyn Comparable> {
        Some(self)
    }
}

impl Comparable for BitMap {
    fn complete(&self, cx: &mut Cx<'_>, at: LevelId, (lo, hi): (&Expr, &Expr)) {
        let n = cx.level(at).dimension.clone();
        let (lo, hi) = (cx.name("p", &mul(lo, &n)), cx.name("p", &mul(hi, &n)));
        cx.complete(at.below(), (&lo, &hi));
    }

    fn compare(&self, cx: &mut Cx<'_>, at: LevelId, (a, b): (&Expr, &Expr), same: Local) {
        let LevelCode { dimension, arrays, .. } = cx.level(at).clone();
        let [a, b] = [a, b].map(|p| mul(p, &dimension));
        compare_each(cx, (&a, &add(&a, &dimension), &b), same, |cx, x, y| {
            let set = |p: &Expr| crate::lower::count(&nonzero(&and_word(&word_at(arrays[WORDS], p), &bit(p))));
            let set_x = cx.name("set", &set(x));
            cx.assign(same, eq(&set_x, &set(y)));
            let below = cx.block(|cx| cx.compare(at.below(), (x, y), same));
            cx.push_if(and(&local(same), &eq(&set_x, &int(1))), below, Vec::new());
        });
    }
}

/// A search for bits that are set.
#[derive(Clone, Copy)]
struct Scan {
    words: Buffer,
    /// The current word; `word` is its number.
    bits: Local,
    word: Local,
}

impl Scan {
    fn new(cx: &mut Cx<'_>, words: Buffer) -> Scan {
        Scan { words, bits: cx.new_local("bits", Prim::U64), word: cx.new_local("w", Prim::I64) }
    }

    /// Returns code that moves `b` to the first set bit from `b` on, or to `end` or beyond if no
    /// bit before `end` is set.
    fn forward(self, b: Local, end: &Expr) -> Vec<Stmt> {
        let Scan { bits, word, .. } = self;
        let more = lt(&plus(&local(word), 1), &words_of(end));
        let search = vec![
            Stmt::Assign(word, word_of(&local(b))),
            Stmt::Assign(bits, self.cut(BinaryOp::Shr, BinaryOp::Shl, &offset(&local(b)))),
            self.while_empty(&more, if SeededFault::BitMapWord.is_active() { 2 } else { 1 }),
            // If the last word has no bit left, `b` is after that word.
            Stmt::Assign(b, add(&mul(&local(word), &int(WORD)), &zeros(UnaryOp::TrailingZeros, bits))),
        ];
        vec![Stmt::If { cond: lt(&local(b), end), then: search, other: Vec::new() }]
    }

    /// Returns code that moves `r` down to one past the last set bit before `r`, or to `start` or
    /// below if no bit from `start` on is set.
    fn backward(self, r: Local, start: &Expr) -> Vec<Stmt> {
        let Scan { bits, word, .. } = self;
        let last = plus(&local(r), -1);
        let above = binary(BinaryOp::Xor, offset(&last), Expr::Const(Scalar::U64(WORD as u64 - 1)));
        let top = plus(&mul(&local(word), &int(WORD)), WORD);
        let search = vec![
            Stmt::Assign(word, word_of(&last)),
            Stmt::Assign(bits, self.cut(BinaryOp::Shl, BinaryOp::Shr, &above)),
            self.while_empty(&lt(&word_of(start), &local(word)), -1),
            // If the first word has no bit left, `r` is before that word.
            Stmt::Assign(r, sub(&top, &zeros(UnaryOp::LeadingZeros, bits))),
        ];
        vec![Stmt::If { cond: lt(start, &local(r)), then: search, other: Vec::new() }]
    }

    /// Returns the current word with `by` bits at one end cleared: `out` shifts them out, `back`
    /// shifts the rest back.
    fn cut(self, out: BinaryOp, back: BinaryOp, by: &Expr) -> Expr {
        binary(back, binary(out, load(self.words, local(self.word)), by.clone()), by.clone())
    }

    /// Returns a loop that moves on by `by` words while the current word is 0 and `more` is true.
    fn while_empty(self, more: &Expr, by: i64) -> Stmt {
        let body = vec![
            Stmt::Assign(self.word, plus(&local(self.word), by)),
            Stmt::Assign(self.bits, load(self.words, local(self.word))),
        ];
        Stmt::While { cond: and(&not(&nonzero(&local(self.bits))), more), body }
    }
}

fn spike(fill: &AccessCursor, child: Fiber) -> Looplet {
    Looplet::Spike { body: fill.clone(), tail: Rc::new(Looplet::Run(AccessCursor::Fiber(child))) }
}

fn stepping_looplet(preamble: Vec<Stmt>, stepper: Rc<Stepper>, protocol: Protocol) -> Looplet {
    let body = if protocol == Protocol::Gallop { Looplet::Jumper(stepper) } else { Looplet::Stepper(stepper) };
    Looplet::Thunk { preamble, body: Rc::new(body), epilogue: Vec::new() }
}

/// Returns code that runs `then` under a condition.
fn conditional(cond: &Expr, then: Vec<Stmt>) -> Vec<Stmt> {
    match crate::lower::as_truth(cond) {
        Some(true) => then,
        Some(false) => Vec::new(),
        None => vec![Stmt::If { cond: cond.clone(), then, other: Vec::new() }],
    }
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

fn and_word(a: &Expr, b: &Expr) -> Expr {
    binary(BinaryOp::And, a.clone(), b.clone())
}

/// Returns the number of the word of a bit.
fn word_of(bit: &Expr) -> Expr {
    binary(BinaryOp::Shr, bit.clone(), int(6))
}

/// Returns the number of words for a number of bits.
fn words_of(bits: &Expr) -> Expr {
    word_of(&plus(bits, WORD - 1))
}

fn word_at(words: Buffer, bit: &Expr) -> Expr {
    load(words, word_of(bit))
}

/// Returns the index of a bit in its word.
fn offset(bit: &Expr) -> Expr {
    Expr::Cast(Prim::U64, Box::new(binary(BinaryOp::And, bit.clone(), int(WORD - 1))))
}

/// Returns the word in which only this bit is set.
fn bit(bit: &Expr) -> Expr {
    binary(BinaryOp::Shl, Expr::Const(Scalar::U64(1)), offset(bit))
}

fn zeros(zeros: UnaryOp, bits: Local) -> Expr {
    Expr::Cast(Prim::I64, Box::new(Expr::Unary(zeros, Box::new(local(bits)))))
}

fn nonzero(bits: &Expr) -> Expr {
    not(&Expr::Compare(CompareOp::Eq, Box::new(bits.clone()), Box::new(Expr::Const(Scalar::U64(0)))))
}
