//! Tests at edge values: every operator on every type, casts, functions of the mathematical
//! library, conditions, sorts and lane folds. Each binary operator is tested with a register and
//! with constants as the right operand.

use super::backends::{run_all, run_in_process};
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::eval::{binary_fn, unary_fn};
use redpoll_compiler::assembly::{
    BinaryOp, Buffer, BufferClass, BufferDecl, BufferRole, Buffers, CompareOp, Expr, Function, LaneFold, Local,
    LocalDecl, MathFn, Stmt, UnaryOp,
};
use redpoll_compiler::testing::examples::function;
use redpoll_kernels::testing::case::FunctionCase;
use redpoll_logic::{Prim, Scalar};

/// Returns values at which operators tend to differ between backends.
pub(super) fn edges(prim: Prim) -> Vec<Scalar> {
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        1e-310,
        -5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MAX,
        f64::MIN_POSITIVE,
        127.5,
        255.9,
        256.0,
        -128.9,
        -129.0,
        65535.5,
        2147483647.5,
        2147483648.0,
        -2147483649.0,
        4294967296.0,
        9.223372036854775e18,
        9.223372036854776e18,
        -9.3e18,
        1.8446744073709552e19,
        1e300,
        0.1,
        16777217.0,
    ];
    match prim {
        Prim::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        Prim::F64 => floats.iter().map(|v| Scalar::F64(*v)).collect(),
        Prim::F32 => floats.iter().map(|v| Scalar::F32(*v as f32)).chain([Scalar::F32(1e-40)]).collect(),
        _ => {
            let (bits, ones) = (prim.bits(), u64::MAX);
            let patterns = [
                0,
                1,
                2,
                3,
                7,
                8,
                31,
                32,
                63,
                64,
                100,
                200,
                ones,
                ones - 1,
                ones << (bits - 1),
                (1 << (bits - 1)) - 1,
                (1 << (bits - 1)) + 1,
                0x0123_4567_89ab_cdef,
                0x8000_0000_0000_0401,
                (1 << 53) + 1,
                (1 << 24) + 1,
                0xffff_ff7f_ffff_ffff,
            ];
            patterns.iter().map(|p| Scalar::from_bits(prim, *p)).collect()
        }
    }
}

pub(super) fn buffer_of(prim: Prim, values: &[Scalar]) -> ArrowBuffer {
    let bytes: Vec<u8> =
        values.iter().flat_map(|v| v.to_bits().unwrap().to_le_bytes()[..prim.bytes()].to_vec()).collect();
    // A vector of `u64` guarantees the alignment.
    let words = bytes.chunks(8).map(|c| {
        let mut word = [0; 8];
        word[..c.len()].copy_from_slice(c);
        u64::from_le_bytes(word)
    });
    ArrowBuffer::from_vec(words.collect::<Vec<u64>>()).slice_with_length(0, bytes.len())
}

/// A function that stores each of `values` once for each pair of the edge values, `in[i]` and
/// `in[j]`.
struct EdgeTable {
    input: Prim,
    output: Prim,
    values: Vec<Expr>,
}

const I: Local = Local(2);
const J: Local = Local(3);
const AT: Local = Local(4);

fn local(l: Local) -> Box<Expr> {
    Box::new(Expr::Local(l))
}

fn a() -> Expr {
    Expr::Load { buffer: Buffer(0), at: local(I) }
}

fn b() -> Expr {
    Expr::Load { buffer: Buffer(0), at: local(J) }
}

fn int(v: usize) -> Expr {
    Expr::Const(Scalar::I64(v as i64))
}

fn case(table: EdgeTable) -> FunctionCase {
    let edges = edges(table.input);
    let buffer = |name: &str, prim, role| BufferDecl {
        name: name.into(),
        prim,
        class: BufferClass::Value,
        role,
        fill: Scalar::zero(prim),
    };
    let mut inner = vec![];
    for value in table.values {
        inner.push(Stmt::store(Buffer(1), Expr::Local(AT), value));
        inner.push(Stmt::Assign(AT, Expr::Binary(BinaryOp::Add, local(AT), Box::new(int(1)))));
    }
    let len = edges.len() * edges.len() * inner.len() / 2;
    let inner = Stmt::For { var: J, lo: int(0), hi: int(edges.len()), body: inner };
    let outer = Stmt::For { var: I, lo: int(0), hi: int(edges.len()), body: vec![inner] };
    let body = vec![Stmt::Grow { buffer: Buffer(1), len: int(len) }, Stmt::Assign(AT, int(0)), outer];
    let locals = ["lo", "hi", "i", "j", "at"].map(|name| LocalDecl { name: name.into(), prim: Prim::I64 });
    let f = Function {
        name: "table".into(),
        buffers: vec![buffer("in", table.input, BufferRole::Input), buffer("out", table.output, BufferRole::Owned)],
        params: vec![],
        locals: locals.into(),
        chunk: (Local(0), Local(1)),
        body,
    };
    FunctionCase::new(f, &[buffer_of(table.input, &edges)], &[], 0..1)
}

#[test]
fn unary_operators_agree_on_edge_values() {
    let cases = Prim::ALL.map(|prim| {
        let ops = UnaryOp::ALL.iter().filter(|op| unary_fn(**op, prim).is_some());
        let values: Vec<Expr> = ops.map(|op| Expr::Unary(*op, Box::new(a()))).collect();
        assert!(!values.is_empty(), "{prim}");
        case(EdgeTable { input: prim, output: prim, values })
    });
    run_all(&cases);
}

#[test]
fn binary_operators_agree_on_edge_values() {
    let mut cases = Vec::new();
    for prim in Prim::ALL {
        for op in BinaryOp::ALL.iter().filter(|op| binary_fn(**op, prim).is_some()) {
            let by_register = Expr::Binary(*op, Box::new(a()), Box::new(b()));
            cases.push(case(EdgeTable { input: prim, output: prim, values: vec![by_register] }));
            let by_constants =
                edges(prim).into_iter().map(|c| Expr::Binary(*op, Box::new(a()), Box::new(Expr::Const(c))));
            cases.push(case(EdgeTable { input: prim, output: prim, values: by_constants.collect() }));
        }
    }
    run_all(&cases);
}

#[test]
fn comparisons_agree_on_edge_values_as_values_selects_and_conditions() {
    let mut cases = Vec::new();
    for prim in Prim::ALL {
        let compare = |op: &CompareOp| Expr::Compare(*op, Box::new(a()), Box::new(b()));
        cases.push(case(EdgeTable {
            input: prim,
            output: Prim::Bool,
            values: CompareOp::ALL.iter().map(compare).collect(),
        }));
        let select = |op: &CompareOp| Expr::Select(Box::new(compare(op)), Box::new(a()), Box::new(b()));
        cases.push(case(EdgeTable { input: prim, output: prim, values: CompareOp::ALL.iter().map(select).collect() }));
    }
    run_all(&cases);
}

#[test]
fn casts_agree_on_edge_values() {
    let cast = |from, to| case(EdgeTable { input: from, output: to, values: vec![Expr::Cast(to, Box::new(a()))] });
    let cases: Vec<FunctionCase> = Prim::ALL.into_iter().flat_map(|from| Prim::ALL.map(|to| cast(from, to))).collect();
    run_all(&cases);
}

#[test]
fn math_functions_agree_on_edge_values() {
    let mut cases = Vec::new();
    for prim in [Prim::F32, Prim::F64] {
        for function in MathFn::ALL {
            let args = if function.implementation().arity() == 1 { vec![a()] } else { vec![a(), b()] };
            cases.push(case(EdgeTable { input: prim, output: prim, values: vec![Expr::Math(*function, args)] }));
        }
    }
    run_all(&cases);
}

/// Loops over elementary functions agree. The optimizing tier computes them on vectors, and the
/// last elements one by one.
#[test]
fn elementary_functions_agree_in_loops() {
    let mut cases = Vec::new();
    for prim in [Prim::F32, Prim::F64] {
        // Ratios of whole numbers, of all magnitudes from 2^-60 to 2^11.
        let numbers = (0..1021).map(|k| {
            let magnitude = f64::from(k % 71 - 60).exp2();
            f64::from(k - 500) / 37.0 * magnitude
        });
        let values: Vec<Scalar> = numbers
            .map(|x| if prim == Prim::F32 { Scalar::F32(x as f32) } else { Scalar::F64(x) })
            .chain(edges(prim))
            .collect();
        for math in MathFn::ALL.iter().filter(|math| math.expansion().is_some()) {
            let text = format!(
                "fn loop() {{
  input src: value {prim}
  owned out: value {prim} fill {zero}
  local lo: i64
  local hi: i64
  local i: i64
  chunk lo, hi
  grow out, {}
  i = lo
  while i < hi {{
    out[i] = {}(src[i])
    i = i + 1
  }}
}}
",
                values.len(),
                math.name(),
                zero = if prim == Prim::F32 { "0.0_f32" } else { "0.0" },
            );
            cases.push(FunctionCase::new(function(&text), &[buffer_of(prim, &values)], &[], 0..values.len() as i64));
        }
    }
    run_all(&cases);
}

/// Zeros lose their sign in casts to integers and back.
#[test]
fn casts_to_integers_and_back_agree_on_edge_values() {
    let floats = [Prim::F32, Prim::F64];
    let both = |float: Prim, int: Prim| {
        let to_int = Expr::Cast(int, Box::new(a()));
        case(EdgeTable { input: float, output: float, values: vec![Expr::Cast(float, Box::new(to_int))] })
    };
    let ints: Vec<Prim> = Prim::ALL.into_iter().filter(|p| p.is_int()).collect();
    let cases: Vec<FunctionCase> = floats.into_iter().flat_map(|f| ints.iter().map(move |i| both(f, *i))).collect();
    run_all(&cases);
}

/// Subtraction from zero is not negation: `0 - 0` is `0`, but the negation of `0` is `-0`. The test
/// also covers the subtraction of zero.
#[test]
fn differences_with_zero_agree_on_edge_values() {
    let mut cases = Vec::new();
    for float in [Prim::F32, Prim::F64] {
        let mut add = |input: Prim, value: Expr| {
            let (zero, value) = (Box::new(Expr::Const(Scalar::zero(float))), Box::new(value));
            let differences = [(zero.clone(), value.clone()), (value, zero)];
            let values = differences.map(|(a, b)| Expr::Binary(BinaryOp::Sub, a, b)).to_vec();
            cases.push(case(EdgeTable { input, output: float, values }));
        };
        add(float, a());
        add(float, Expr::Unary(UnaryOp::Abs, Box::new(a())));
        Prim::ALL.into_iter().filter(|p| p.is_int()).for_each(|int| add(int, Expr::Cast(float, Box::new(a()))));
    }
    run_all(&cases);
}

/// Backends agree on conditions of branches and loops: comparisons, their negations, and constants.
#[test]
fn conditions_agree_with_values() {
    let text = "\
fn conditions() {
  input src: value f64
  owned out: value i64 fill 0
  local lo: i64
  local hi: i64
  local i: i64
  local j: i64
  local n: i64
  chunk lo, hi
  grow out, 1
  n = 0
  for i in lo..hi {
    for j in lo..hi {
      if src[i] < src[j] {
        n = n + 1
      } else {
        n = n * 3
      }
      if not(src[i] <= src[j]) {
        n = n + 7
      }
      if (src[i] == src[j]) | not(src[i] != src[j]) {
        if true {
          n = n ^ 1023
        } else {
          n = 0
        }
      }
      while true {
        n = n + 1
        if (n % 4) == 0 {
          break
        }
      }
      while not((n % 3) == 0) {
        n = n + 1
      }
      if false {
        return checked_overflow
      }
    }
  }
  out[0] = n
}
";
    let values = edges(Prim::F64);
    run_all(&[FunctionCase::new(function(text), &[buffer_of(Prim::F64, &values)], &[], 0..values.len() as i64)]);
}

/// Backends agree on comparisons with a minimum, for signed and unsigned numbers, and after one of
/// the operands has changed.
#[test]
fn comparisons_with_minima_agree() {
    let text = "\
fn minima() {
  input src: value i64
  input idx: index u32
  owned out: value i64 fill 0
  local lo: i64
  local hi: i64
  local i: i64
  local j: i64
  local a: i64
  local b: i64
  local least: i64
  local x: i64
  local y: i64
  local first: i64
  local n: i64
  chunk lo, hi
  grow out, 1
  n = 0
  for i in lo..hi {
    for j in lo..hi {
      a = src[i]
      b = src[j]
      least = min(a, b)
      n = ((n * 7) + i64(a == least)) + (i64(least == b) * 3)
      x = idx[i]
      y = idx[j]
      first = min(x, y)
      n = ((n * 5) + i64(x == first)) + (i64(first == y) * 2)
      if (x == first) & (y == first) {
        y = y + 1
        n = n + i64(y == first)
      }
      n = (n * 3) + i64(y == first)
      while a == least {
        a = a + 1
        n = n + i64(a == least)
        if b == least {
          b = b - 1
          least = 7
        } else {
          break
        }
      }
      n = (n * 3) + (i64(a == least) + (i64(b == least) * 2))
    }
  }
  out[0] = n
}
";
    let values = edges(Prim::I64);
    let indices: Vec<Scalar> = values.iter().map(|v| v.cast(Prim::U32).unwrap()).collect();
    let inputs = [buffer_of(Prim::I64, &values), buffer_of(Prim::U32, &indices)];
    run_all(&[FunctionCase::new(function(text), &inputs, &[], 0..values.len() as i64)]);
}

/// Backends agree on folds of minima and maxima into a local, which have a special form in C, for
/// all pairs of edge values.
#[test]
fn folds_to_extremes_agree_on_edge_values() {
    let cases = [Prim::F32, Prim::F64].map(|prim| {
        let values = edges(prim);
        let (n, zero) = (values.len(), if prim == Prim::F32 { "0.0_f32" } else { "0.0" });
        let text = format!(
            "\
fn extremes() {{
  input src: value {prim}
  owned out: value {prim} fill {zero}
  local lo: i64
  local hi: i64
  local i: i64
  local j: i64
  local least: {prim}
  local greatest: {prim}
  chunk lo, hi
  grow out, {}
  for i in lo..hi {{
    for j in 0..{n} {{
      least = src[i]
      least = min(least, src[j])
      out[((i * {n}) + j) * 2] = least
      greatest = src[i]
      greatest = max(greatest, src[j])
      out[(((i * {n}) + j) * 2) + 1] = greatest
    }}
  }}
}}
",
            2 * n * n
        );
        FunctionCase::new(function(&text), &[buffer_of(prim, &values)], &[], 0..n as i64)
    });
    run_all(&cases);
}

/// In index buffers of every width, loads extend the elements, stores truncate them, and sorts put
/// them in order.
#[test]
fn indices_of_every_width_are_extended_and_sorted() {
    let prims: Vec<Prim> = Prim::ALL.into_iter().filter(|p| p.is_int()).collect();
    let cases = prims.iter().map(|prim| {
        let text = format!(
            "\
fn indices($n) {{
  input src: index {prim}
  owned out: index {prim} fill 1_{prim}
  owned perm: index {prim} fill 0_{prim}
  owned key: index {prim} fill 5_{prim}
  owned wide: value i64 fill 0
  local lo: i64
  local hi: i64
  local i: i64
  chunk lo, hi
  grow out, $n + 3
  grow perm, $n
  grow key, $n
  grow wide, $n
  for i in lo..hi {{
    out[i + 1] = src[i]
    key[i] = src[i] / 2
    wide[i] = src[i]
    perm[i] = (hi - 1) - i
  }}
  sort out in 1..$n
  sort out in $n..0
  sort_by perm by key, out in 0..$n
  sort_by perm by key, out in 2..2
}}
"
        )
        .replace("fill 1_i64", "fill 1")
        .replace("fill 0_i64", "fill 0")
        .replace("fill 5_i64", "fill 5");
        let values = edges(*prim);
        let n = values.len() as i64;
        FunctionCase::new(function(&text), &[buffer_of(*prim, &values)], &[n], 0..n)
    });
    let cases: Vec<FunctionCase> = cases.collect();
    for ((prim, case), (_, out)) in prims.into_iter().zip(&cases).zip(run_all(&cases)) {
        let n = case.params[0];
        let read = |buffer: u32| -> Vec<i64> { (0..n as usize).map(|k| out.read(Buffer(buffer), k) as i64).collect() };
        let (sorted, perm, keys) = (read(1), read(2), read(3));
        assert!(sorted[1..n as usize].is_sorted_by_key(|k| if prim == Prim::U64 {
            *k as u64
        } else {
            *k as u64 ^ 1 << 63
        }));
        assert!(perm.is_sorted_by_key(|k| (keys[*k as usize], sorted[*k as usize], *k)), "{prim}");
    }
}

/// Backends agree on lane folds for every operator, type, number of lanes and remainder, on vectors
/// and in registers. The optimizing tier runs one number of lanes for each operator and type.
#[test]
fn lane_folds_agree_in_every_form() {
    let mut cases = Vec::new();
    for prim in Prim::ALL {
        for op in BinaryOp::ALL.iter().filter(|op| op.can_fold() && binary_fn(**op, prim).is_some()) {
            let values: Vec<Scalar> = edges(prim).into_iter().cycle().take(60).collect();
            let inputs = [buffer_of(prim, &values)];
            run_in_process(&lane_folds(prim, *op, &LANES), &inputs, &[], 5..6);
            // C compilers take long for folds, so each case gets one number of lanes, rarely the
            // largest.
            let lanes = [2, 4, 8, 2, 4, 8, 1, 16][cases.len() % 8];
            cases.push(FunctionCase::new(lane_folds(prim, *op, &[lanes]), &inputs, &[], 5..6));
        }
    }
    run_all(&cases);
}

/// Numbers of lanes of folds.
const LANES: [u16; 5] = [1, 2, 4, 8, 16];

/// Returns a function that stores folds over ranges of every length, up to more than two rounds of
/// all lanes.
fn lane_folds(prim: Prim, op: BinaryOp, lanes: &[u16]) -> Function {
    let (acc, extra) = (Local(5), Local(6));
    let load = |at: Expr| Expr::Load { buffer: Buffer(0), at: Box::new(at) };
    let x = |offset: i64| load(Expr::Binary(BinaryOp::Add, local(AT), Box::new(Expr::Const(Scalar::I64(offset)))));
    let add = if prim == Prim::Bool { BinaryOp::Xor } else { BinaryOp::Add };
    let identity = Scalar::one(prim);
    let forms = [
        // These values are folded on vectors, if the type has vectors.
        x(0),
        Expr::Binary(add, Box::new(x(1)), Box::new(Expr::Const(identity.clone()))),
        Expr::Binary(
            BinaryOp::Min,
            Box::new(x(2)),
            Box::new(Expr::Binary(BinaryOp::Max, Box::new(x(3)), local(extra))),
        ),
        Expr::Local(extra),
        // These values are folded in registers, since they are not contiguous loads.
        load(Expr::Binary(BinaryOp::Rem, local(AT), Box::new(int(5)))),
        Expr::Cast(prim, local(AT)),
    ];
    let absolute = prim.is_float().then(|| Expr::Unary(UnaryOp::Abs, Box::new(x(0))));
    let start = Expr::Const(edges(prim)[1].clone());
    let mut body = vec![
        Stmt::Grow { buffer: Buffer(1), len: int(2000) },
        Stmt::Assign(I, int(0)),
        Stmt::Assign(extra, Expr::Const(edges(prim)[0].clone())),
    ];
    for lanes in lanes.iter().copied() {
        for value in forms.iter().chain(&absolute) {
            let (identity, value) = (identity.clone(), value.clone());
            let (lo, hi) = (Expr::Local(Local(0)), Expr::Local(J));
            let fold = LaneFold { acc, op, identity, lanes, var: AT, lo, hi, value };
            let over_lengths = vec![
                Stmt::Assign(acc, start.clone()),
                Stmt::Lanes(Box::new(fold)),
                Stmt::store(Buffer(1), Expr::Local(I), Expr::Local(acc)),
                Stmt::Assign(I, Expr::Binary(BinaryOp::Add, local(I), Box::new(int(1)))),
            ];
            let longest = if lanes == 16 { 40 } else { 25 };
            body.push(Stmt::For { var: J, lo: int(0), hi: int(longest), body: over_lengths });
        }
    }
    let buffer = |name: &str, role| {
        let fill = Scalar::zero(prim);
        BufferDecl { name: name.into(), prim, class: BufferClass::Value, role, fill }
    };
    let mut locals: Vec<LocalDecl> =
        ["lo", "hi", "i", "j", "at"].map(|name| LocalDecl { name: name.into(), prim: Prim::I64 }).into();
    locals.extend(["acc", "extra"].map(|name| LocalDecl { name: name.into(), prim }));
    Function {
        name: "lane_folds".into(),
        buffers: vec![buffer("in", BufferRole::Input), buffer("out", BufferRole::Owned)],
        params: vec![],
        locals,
        chunk: (Local(0), Local(1)),
        body,
    }
}
