//! Tests of random programs: normalization preserves results, and printed texts parse to the same
//! program.

use super::*;
use proptest::prelude::*;

/// Loops over `i`, `j`, `k` in some order, with at most one condition and one variable among them.
#[derive(Clone, Debug)]
struct Nest {
    loops: Vec<(&'static str, i64)>,
    condition: Option<(usize, String)>,
    variable: Option<(usize, String)>,
    reads: Vec<String>,
    write: String,
}

/// Generates a coordinate that may be out of bounds. Reads at such a coordinate have an `outside`,
/// and writes take its remainder.
fn coordinate() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => prop::sample::select(vec!["i", "j", "k"]).prop_map(str::to_owned),
        1 => (-2i64..5).prop_map(|c| c.to_string()),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(|args| format!("(+ {})", args.join(" "))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(- {a} {b})")),
            (-2i64..4, inner.clone()).prop_map(|(c, a)| format!("(* {c} {a})")),
            inner.clone().prop_map(|a| format!("(neg {a})")),
            (inner.clone(), 1i64..4).prop_map(|(a, b)| format!("(floordiv {a} {b})")),
            (inner.clone(), 1i64..4).prop_map(|(a, b)| format!("(rem {a} {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(* {a} {b})")),
            inner.clone().prop_map(|a| format!("(P (outside 1 {a}))")),
            Just("(P i)".to_owned()),
            inner.prop_map(|a| format!("(min {a} 2)")),
        ]
    })
}

fn read() -> impl Strategy<Value = String> {
    prop_oneof![
        (coordinate(), coordinate()).prop_map(|(a, b)| format!("(A (outside 2 {a}) (gallop (outside 3 {b})))")),
        coordinate().prop_map(|a| format!("(x (outside -1 {a}))")),
        coordinate().prop_map(|a| format!("(cast-i64 (lt {a} 2))")),
        prop::sample::select(vec!["(A i j)", "(A j i)", "(A i i)", "(A j 2)", "(A 1 k)", "(x k)", "(x (- 3 i))"])
            .prop_map(str::to_owned),
    ]
}

fn write() -> impl Strategy<Value = String> {
    // Coordinates that are always in bounds.
    let inside = coordinate().prop_map(|a| format!("(rem {a} 4)"));
    let index = prop::sample::select(vec!["i", "j", "k", "(+ i 0)", "(- 3 j)"]).prop_map(str::to_owned);
    let at = prop_oneof![3 => index, 1 => inside];
    (at.clone(), at).prop_map(|(a, b)| format!("(y {a} {b})"))
}

fn nest() -> impl Strategy<Value = Nest> {
    let loops = Just(["i", "j", "k"]).prop_shuffle();
    let sizes = prop::collection::vec(prop_oneof![4 => Just(4i64), 1 => 0i64..4], 3);
    let condition = (0usize..4, coordinate()).prop_map(|(at, c)| (at, format!("(lt {c} 3)")));
    let variable = (0usize..4, coordinate());
    let reads = prop::collection::vec(read(), 1..4);
    (loops, sizes, prop::option::of(condition), prop::option::of(variable), reads, write()).prop_map(
        |(loops, sizes, condition, variable, reads, write)| Nest {
            loops: loops.into_iter().zip(sizes).collect(),
            condition,
            variable,
            reads,
            write,
        },
    )
}

impl Nest {
    fn text(&self) -> String {
        let bound = |at: usize, text: &str| {
            let unbound = self.loops[at.min(3)..].iter().map(|(i, _)| *i);
            // A constant replaces the indices that are bound further in.
            unbound.fold(text.to_owned(), |t, i| t.replace(&format!(" {i}"), " 1").replace(&format!("({i}"), "(1"))
        };
        let mut reads = self.reads.clone();
        if self.variable.is_some() {
            reads.push("(x (outside -1 v))".to_owned());
            reads.push("(A (outside -1 (+ v 1)) (outside 0 (- j v)))".to_owned());
        }
        let value = reads.into_iter().reduce(|a, b| format!("(+ {a} {b})")).unwrap();
        let mut body = format!("(+= {} {value})", self.write);
        for at in (0..=3).rev() {
            if let Some((_, c)) = self.condition.as_ref().filter(|(k, _)| *k == at) {
                body = format!("(if {} {body})", bound(at, c));
            }
            if let Some((_, v)) = self.variable.as_ref().filter(|(k, _)| *k == at) {
                body = format!("(let v (+ {} 0) {body})", bound(at, &format!(" {v}")));
            }
            if at > 0 {
                let (index, size) = self.loops[at - 1];
                body = format!("(for {index} (range 0 {size}) {body})");
            }
        }
        format!(
            "(program
                (input A (type (shape 4 4) i64 0 csr)) (input x (type (shape 4) i64 0 dense))
                (input P (type (shape 4) i64 0 dense)) (output y (type (shape 4 4) i64 0 dense)) {body})"
        )
    }
}

/// A read at a constant coordinate is bound to a variable outside of all loops. In a subscript, the
/// variable follows the indices of the loops.
#[test]
fn a_read_at_a_constant_coordinate_in_a_subscript() {
    let nest = Nest {
        loops: vec![("i", 4), ("j", 3), ("k", 2)],
        condition: None,
        variable: None,
        reads: vec!["(x (outside -1 (+ (* 1 i) (P (outside 1 0)))))".into()],
        write: "(y i i)".into(),
    };
    let p = program(&nest.text());
    run_all(&p, &[("A", &|_| Scalar::I64(1)), ("x", &|i| Scalar::I64(i[0] as i64)), ("P", &|_| Scalar::I64(1))]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn normalizing_keeps_the_meaning(nest in nest(), seed in 0u64..100) {
        let p = program(&nest.text());
        let value = move |i: &[u64]| Scalar::I64(i.iter().fold(seed, |s, c| (s * 7 + c * 5 + 3) % 13) as i64 - 6);
        let index = move |i: &[u64]| Scalar::I64(((seed + i[0] * 3) % 6) as i64 - 1);
        run_all(&p, &[("A", &value), ("x", &value), ("P", &index)]);
    }
}
