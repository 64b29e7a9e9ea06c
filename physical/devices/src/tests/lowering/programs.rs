//! Programs that cover the rules of lowering.

use super::check;
use redpoll_logic::LevelKind;

#[test]
fn spmv() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
           (output y (type (shape 4) f64 0.0 dense))
           (for i (for j (+= (y i) (* (A i j) (x j))))))",
        200,
    );
}

#[test]
fn union_and_intersection() {
    for op in ["+", "*", "min", "-"] {
        check(
            &format!(
                "(program (input A (type (shape 4 6) f64 0.0 csr)) (input B (type (shape 4 6) f64 0.0 coo))
                   (output C (type (shape 4 6) f64 0.0 csr))
                   (for i (for j (init (C i j) ({op} (A i j) (B i j))))))"
            ),
            200,
        );
    }
}

#[test]
fn gustavson() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
           (output C (type (shape 4 3) f64 0.0 csr)) (local w (type (shape 3) f64 0.0 (byte-map (element))))
           (for i (where (for j (init (C i j) (w j)))
                         (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
        200,
    );
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
           (output C (type (shape 4 3) f64 0.0 csr)) (local w (type (shape 3) f64 0.0 (hash (element))))
           (for i (where (for j (init (C i j) (w j)))
                         (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
        100,
    );
}

#[test]
fn outer_product_scatters_into_random_levels() {
    check(
        "(program (input A (type (shape 5 4) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
           (output C (type (shape 4 3) f64 0.0 (hash (hash (element)))))
           (for k (for i (for j (+= (C i j) (* (A k i) (B k j)))))))",
        200,
    );
}

#[test]
fn residual_and_row_normalisation() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
           (input b (type (shape 4) f64 0.0 dense))
           (output r (type (shape 4) f64 0.0 dense)) (local t f64 0.0)
           (for i (where (init (r i) (- (b i) t)) (for j (+= t (* (A i j) (x j)))))))",
        200,
    );
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (output R (type (shape 4 5) f64 0.0 csr)) (local s f64 0.0)
           (for i (where (for j (init (R i j) (* (A i j) s))) (for j (+= s (A i j))))))",
        200,
    );
}

/// A variable may be infinite although no tensor has floats.
#[test]
fn infinite_variables_without_float_tensors() {
    check(
        "(program (input A (type (shape 6) i64 0 dense)) (input B (type (shape 6) i64 0 csf))
           (output y (type (shape 6) i64 0 dense))
           (for i (let v (/ 1.0 (cast-f64 (A i)))
             (init (y i) (cast-i64 (eq (* v (cast-f64 (B i))) 0.0))))))",
        50,
    );
}

#[test]
fn several_aggregates_of_one_pass() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (output s (type (shape) f64 0.0 dense))
           (output n (type (shape) i64 0 dense)) (output m (type (shape) f64 inf dense))
           (for i (for j (block (+= (s) (A i j)) (+= (n) (cast-i64 (ne (A i j) 0.0))) (min= (m) (A i j))))))",
        200,
    );
}

#[test]
fn argmin_by_row() {
    check(
        "(program (input A (type (shape 3 6) f64 0.0 csr))
           (output m (type (shape 3) (struct (value f64) (coordinate i64)) (inf 9223372036854775807) dense))
           (for i (for j (minby= (m i) (pair (A i j) j)))))",
        200,
    );
}

/// A fold of pairs in each round is not replaced by one fold for all rounds.
#[test]
fn coordinates_of_each_round() {
    check(
        "(program (input x (type (shape 6) f64 0.0 csf)) (output b (type (shape) bool false dense))
           (local t (type (shape) (struct (value f64) (coordinate i64)) (inf 9223372036854775807) (element)))
           (for i (block (declare t) (where (or= (b) (and (cast-bool (second (t))) (ne (x i) 1.0)))
             (block (minby= (t) (pair 3.0 i)) (freeze t))))))",
        50,
    );
}

#[test]
fn unions_of_five() {
    check(
        "(program (input A (type (shape 9) f64 0.0 csf)) (input B (type (shape 9) f64 0.0 csf))
           (input C (type (shape 9) f64 0.0 csf)) (input D (type (shape 9) f64 0.0 csf))
           (input E (type (shape 9) f64 0.0 csf)) (output S (type (shape 9) f64 0.0 csf))
           (for i (init (S i) (+ (+ (A i) (B i)) (+ (+ (C i) (D i)) (E i))))))",
        80,
    );
    check(
        "(program (input A (type (shape 3 4) f64 0.0 csf)) (input B (type (shape 3 4) f64 0.0 csf))
           (input C (type (shape 3 4) f64 0.0 csf)) (input D (type (shape 3 4) f64 0.0 csf))
           (input E (type (shape 3 4) f64 0.0 csf)) (output S (type (shape 3 4) f64 0.0 csf))
           (for i (for j (init (S i j) (+ (+ (A i j) (B i j)) (+ (+ (C i j) (D i j)) (E i j)))))))",
        80,
    );
}

#[test]
fn xor_with_fill_true() {
    check(
        "(program (input A (type (shape 4 6) bool true csr)) (input B (type (shape 4 6) bool false csr))
           (output C (type (shape 4 6) bool true csr))
           (for i (for j (init (C i j) (xor (A i j) (B i j))))))",
        200,
    );
}

#[test]
fn windows_of_rows_and_columns() {
    check(
        "(program (input A (type (shape 5 3) f64 0.0 csr)) (output B (type (shape 4 3) f64 0.0 csr))
           (for i (range 0 4) (for j (init (B i j) (+ (A (+ i 1) j) (A i j))))))",
        200,
    );
    check(
        "(program (input A (type (shape 3 7) f64 0.0 csr)) (output B (type (shape 3 5) f64 0.0 csr))
           (for i (for j (range 0 5) (init (B i j) (+ (A i (+ j 2)) (A i (+ j 1)))))))",
        200,
    );
    check(
        "(program (input A (type (shape 3 7) f64 0.0 csr)) (output B (type (shape 3 7) f64 0.0 dense))
           (for i (for j (range 0 7) (init (B i j) (+ (A i j (outside 9.0 (+ j -2))) (A i j))))))"
            .replace("(A i j (outside", "(A i (outside")
            .as_str(),
        200,
    );
    check(
        "(program (input A (type (shape 3 7) f64 0.0 csr)) (output B (type (shape 3 7) f64 0.0 dense))
           (for i (for j (range 0 7) (init (B i j) (- (A i (+ 6 (* -1 j))) (A i j))))))",
        200,
    );
}

#[test]
fn triangles() {
    for protocol in ["walk", "gallop", "follow"] {
        check(
            &format!(
                "(program (input E (type (shape 6 6) i64 0 csr)) (output n (type (shape) i64 0 dense))
                   (for i (for j (for k (+= (n) (* (E i ({protocol} j)) (* (E j ({protocol} k)) (E i ({protocol} k)))))))))"
            ),
            200,
        );
    }
    check(
        "(program (input E (type (shape 6 6) i64 0 csr)) (output n (type (shape) i64 0 dense))
           (for i (for j (for k (if (and (lt i j) (lt j k)) (+= (n) (* (E i j) (E j k) (E i k))))))))",
        200,
    );
}

#[test]
fn blocks_with_ragged_ends() {
    check(
        "(program (input A (type (shape 5 7) f64 0.0 (bcsr 2 3))) (input x (type (shape 7) f64 0.0 dense))
           (output y (type (shape 5) f64 0.0 dense))
           (for io (for jo
             (for ii (range 0 (min 2 (- 5 (* 2 io))))
               (for ji (range 0 (min 3 (- 7 (* 3 jo))))
                 (+= (y (+ (* 2 io) ii)) (* (A io jo ii ji) (x (+ (* 3 jo) ji)))))))))",
        100,
    );
}

const BLOCKS_BY_COLUMNS: &str = "(modes (outer 1 2) (outer 0 2) (inner 1 2) (inner 0 2)
    (dense (sparse-list (dense (dense (element))))))";

/// A loop that is bounded only by tensors stored in blocks or by diagonals takes its bounds from
/// the dimensions of these tensors.
#[test]
fn blocks_and_diagonals_bound_loops() {
    let formats = ["(bcsr 2 3)", "(csb 2 3)", "dia", "(mode-generic 2 2)", BLOCKS_BY_COLUMNS];
    for (format, shape) in formats.iter().flat_map(|f| ["4 6", "5 7", "3 3", "1 4", "4 1", "0 3"].map(|s| (f, s))) {
        let program = |body: &str| {
            format!(
                "(program (input A (shape {shape}) f64 0.0 {format}) (output y (shape _) f64) (output s f64)
                   (output C (shape _ _) f64) {body})"
            )
        };
        check(
            &program(
                "(for i (for j (block (+= (y i) (A i j)) (= (C i j) (+ (A i j) 1)) (+= (s) (* (A i j) (+ i j))))))",
            ),
            8,
        );
        check(&program("(for j (for i (block (+= (y i) (A i j)) (= (C j i) (A i j)) (max= (s) (A i j)))))"), 8);
    }
}

#[test]
fn folds_short_circuit_and_integrate() {
    check(
        "(program (input A (type (shape 4 6) bool false csr)) (input x (type (shape 6) bool false csf))
           (output y (type (shape 4) bool false dense))
           (for i (for j (or= (y i) (and (A i j) (x j))))))",
        200,
    );
    check(
        "(program (input A (type (shape 4 6) f64 3.0 csr)) (output y (type (shape 4) f64 0.0 dense))
           (for i (for j (+= (y i) (A i j)))))",
        200,
    );
    check(
        "(program (input A (type (shape 4 6) i64 2 csr)) (output y (type (shape 4) i64 1 dense))
           (for i (for j (*= (y i) (A i j)))))",
        200,
    );
    check(
        "(program (input A (type (shape 4 6) bool true csr)) (output y (type (shape 4) bool false dense))
           (for i (for j (xor= (y i) (A i j)))))",
        200,
    );
    // A fold by `coalesce` continues as long as its value is NaN, which is not equal to itself.
    for fill in ["3.0", "nan"] {
        check(
            &format!(
                "(program (input A (type (shape 4 6) f64 {fill} csr)) (output y (type (shape 4) f64 nan dense))
                   (for i (for j (coalesce= (y i) (A i j)))))"
            ),
            200,
        );
    }
}

#[test]
fn scatter_by_an_equality_mask() {
    check(
        "(program (input P (type (shape 5) i64 0 dense)) (input x (type (shape 5) f64 0.0 csf))
           (output y (type (shape 4) f64 0.0 dense))
           (for i (for j (range 0 4) (if (eq j (P i)) (+= (y j) (x i))))))",
        200,
    );
}

/// Coordinates that are narrow integers stay within the range of their type.
#[test]
fn scatter_by_narrow_integers() {
    for prim in ["bool", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"] {
        for at in
            ["(cast-i64 (P i))", "(shr (cast-i64 (P i)) 1)", "(band (cast-i64 (P i)) 1)", "(cast-i64 (cast-i8 (P i)))"]
        {
            for size in [1, 2, 3, 300] {
                let fill = if prim == "bool" { "false" } else { "0" };
                check(
                    &format!(
                        "(program (input P (type (shape 5) {prim} {fill} dense)) (input x (type (shape 5) i64 0 dense))
                           (output y (type (shape {size}) i64 0 dense))
                           (for i (let j {at} (if (and (ge j 0) (lt j {size})) (+= (y j) (x i))))))"
                    ),
                    3,
                );
            }
        }
    }
}

/// Comparisons work for operands that are not sums of coordinates, and for sums that wrap around.
#[test]
fn masks_of_pairs_and_of_large_numbers() {
    let compared = |op: &str, at: &str| {
        let text = format!(
            "(program (input A (type (shape 4) i64 0 dense)) (input x (type (shape 5) i64 0 csf))
               (output y (type (shape 4 5) i64 0 dense))
               (for i (for j (range 0 5) (if ({op} {at}) (+= (y i j) (x j))))))"
        );
        check(&text, 5);
    };
    for op in ["lt", "le", "gt", "ge", "eq", "ne"] {
        for at in [
            "(second (pair (A i) j)) 2",
            "(+ j 9223372036854775805) 0",
            "j (+ (A i) 9223372036854775806)",
            "(+ j (+ (A i) 9223372036854775804)) 1",
            "(- j 2) (- -9223372036854775807 (A i))",
            "(* j 4611686018427387904) (A i)",
        ] {
            compared(op, at);
        }
    }
}

#[test]
fn a_decided_fold_leaves_the_loop_to_the_others() {
    check(
        "(program (input A (type (shape 4 6) bool false csr)) (input x (type (shape 6) i64 0 csf))
           (output y (type (shape 4) bool false dense)) (output s (type (shape 4) i64 0 dense))
           (for i (for j (block (or= (y i) (A i j)) (+= (s i) (* (x j) (cast-i64 (A i j))))))))",
        200,
    );
    check(
        "(program (input A (type (shape 5 6) i64 0 csr)) (input B (type (shape 5 6) i64 0 csr))
           (output y (type (shape) bool false dense)) (output z (type (shape) bool true dense))
           (output s (type (shape) i64 0 dense))
           (for i (for j (block (or= (y) (lt i (A i j))) (and= (z) (le (B i j) j)) (+= (s) (- (A i j) (B i j)))))))",
        200,
    );
}

#[test]
fn code_grows_linearly_with_operands() {
    let size = |n: usize, op: &str, kind: LevelKind| {
        let name = kind.traits().name;
        let inputs: String =
            (0..n).map(|k| format!("(input A{k} (type (shape 9 9) f64 0.0 ({name} ({name} (element))))) ")).collect();
        let sum = (1..n).fold("(A0 i j)".to_owned(), |sum, k| format!("({op} {sum} (A{k} i j))"));
        let text = format!(
            "(program {inputs} (output S (type (shape 9 9) f64 0.0 csf)) (for i (for j (init (S i j) {sum}))))"
        );
        let program = redpoll_compiler::notation::normalize(redpoll_compiler::notation::parse(&text).unwrap()).unwrap();
        let lowered =
            redpoll_compiler::lower::lower(&program, &[], redpoll_compiler::lower::LoweringOptions::default());
        lowered.function.to_string().lines().count()
    };
    for (op, kind) in ["+", "*"].into_iter().flat_map(|op| LevelKind::general().map(move |kind| (op, kind))) {
        let sizes: Vec<usize> = (2..=10).map(|n| size(n, op, kind)).collect();
        // For two or three operands, lowering may copy the body of the loop; for more operands, the
        // loop has one body.
        let name = kind.traits().name;
        assert!(sizes[..2].iter().all(|lines| *lines < 800), "`{op}` of {name}: {sizes:?} lines");
        assert!(sizes[1..].windows(2).all(|w| w[1] <= w[0] + 120), "`{op}` of {name}: {sizes:?} lines");
    }
}

#[test]
fn code_is_bounded_in_the_depth_of_loops() {
    let tree = "(sparse-list (sparse-list (sparse-list (element))))";
    let text = |loops: &str, n: usize| {
        let names = ["i", "j", "k", "l", "m", "n"];
        let reads = (0..n).map(|t| {
            let at: Vec<&str> = (0..3).map(|k| names[(t + 2 * k) % names.len()]).collect();
            format!("(A{t} {})", at.join(" "))
        });
        let inputs: String = (0..n).map(|t| format!("(input A{t} (type (shape 2 2 2) f64 0.0 {tree})) ")).collect();
        let value = reads.reduce(|a, b| format!("(max {a} {b})")).unwrap();
        let body = format!("(+= (s) {value})");
        let nest = loops.chars().rev().fold(body, |b, i| format!("(for {i} {b})"));
        format!("(program {inputs} (output s (type (shape) f64 0.0 dense)) {nest})")
    };
    for loops in ["ijklmn", "nmlkji", "ikmjln"] {
        let text = text(loops, 5);
        let program = redpoll_compiler::notation::normalize(redpoll_compiler::notation::parse(&text).unwrap()).unwrap();
        let lines = |max_copies: u32| {
            let options = redpoll_compiler::lower::LoweringOptions { max_copies, ..Default::default() };
            redpoll_compiler::lower::lower(&program, &[], options).function.to_string().lines().count()
        };
        let (few, some) = (lines(0), lines(redpoll_compiler::lower::LoweringOptions::default().max_copies));
        assert!(few < 700 && some < 4_000, "{few} and {some} lines for loops {loops}");
        check(&text, 4);
    }
}

#[test]
fn chunks_of_the_outermost_loop_add_up() {
    use super::*;
    let text = "(program (input A (type (shape 6 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
           (output y (type (shape 6) f64 0.0 dense))
           (for i (for j (+= (y i) (* (A i j) (x j))))))";
    let program = Arc::new(normalize(parse(text).unwrap()).unwrap());
    let mut rng = Rng(7);
    let inputs: Vec<Tensor> = program.tensors[..2].iter().map(|t| tensor(&t.ty, &data(&t.ty, &mut rng))).collect();
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    for backend in [&backend::interpreter(), &backend::instant()] {
        let kernel = Kernel::new(&program, &[], redpoll_logic::FloatMode::Relaxed, backend).unwrap();
        let single_call = kernel.run(&inputs, &Limits::default()).unwrap();
        let mut invocation = kernel.bind(&inputs, &Limits::default()).unwrap();
        for chunk in [0..2, 2..3, 3..99] {
            redpoll_kernels::testing::call_chunk(&kernel, &mut invocation, chunk).unwrap();
        }
        let parts = kernel.collect(&mut invocation, &[]).unwrap();
        assert_eq!(parts[0].to_dense_scalars().unwrap(), single_call.outputs[0].to_dense_scalars().unwrap());
    }
}

/// A loop that must not be copied has no variables for a protocol that it does not use.
#[test]
fn lookups_declare_no_second_cursor() {
    use super::*;
    let text = "(program (input A (type (shape 4 5) f64 0.0 csr)) (output B (type (shape 4 7) f64 9.0 dense))
           (for i (for j (range 0 7) (init (B i j) (A i (outside 9.0 (+ j -2)))))))";
    let program = normalize(parse(text).unwrap()).unwrap();
    let options = LoweringOptions { max_copies: 0, ..LoweringOptions::default() };
    let locals = redpoll_compiler::lower::lower(&program, &[], options).function.locals;
    assert_eq!(locals.iter().filter(|l| l.name == "q").count(), 1, "{locals:?}");
}

#[test]
fn strides_and_reversals() {
    // Strided reads alone, in a union, in an intersection that gallops, and beside a read that may
    // be out of bounds.
    for (size, at) in [
        (4, "(+ (* 2 j) 1)"),
        (5, "(* 2 j)"),
        (3, "(* 3 j)"),
        (3, "(+ (* 3 j) 2)"),
        (9, "(+ (* -1 j) 8)"),
        (6, "(+ (* -1 j) 7)"),
        (4, "(+ (* -2 j) 7)"),
        (3, "(+ (* -3 j) 8)"),
        (1, "(+ (* -3 j) 8)"),
    ] {
        check(
            &format!(
                "(program (input A (type (shape 3 9) f64 0.0 csr)) (output B (type (shape 3 {size}) f64 0.0 csr))
                   (for i (for j (range 0 {size}) (init (B i j) (A i {at})))))"
            ),
            60,
        );
        check(
            &format!(
                "(program (input A (type (shape 3 9) f64 0.0 csr)) (input C (type (shape 3 {size}) f64 0.0 csr))
                   (output B (type (shape 3 {size}) f64 0.0 csr))
                   (for i (for j (range 0 {size}) (init (B i j) (+ (A i {at}) (C i j))))))"
            ),
            60,
        );
        check(
            &format!(
                "(program (input A (type (shape 9 4) f64 0.0 csr)) (input c (type (shape {size}) f64 0.0 csf))
                   (output b (type (shape 4) f64 0.0 dense))
                   (for j (range 0 {size}) (for i (+= (b i) (* (A (gallop {at}) i) (c (gallop j)))))))"
            ),
            60,
        );
        check(
            &format!(
                "(program (input x (type (shape 9) f64 1.0 csf)) (input y (type (shape 7) f64 0.0 csf))
                   (output b (type (shape {size}) f64 0.0 dense))
                   (for j (range 0 {size}) (init (b j) (- (x {at}) (y (outside 2.0 (+ {at} -2)))))))"
            ),
            60,
        );
    }
}

#[test]
fn comparisons_of_strided_coordinates() {
    for comparison in ["(lt (* 2 j) i)", "(ge (* 3 j) i)", "(eq (* 2 j) i)", "(ne (* -2 j) (- 0 i))", "(gt i (* 3 j))"]
    {
        check(
            &format!(
                "(program (input A (type (shape 6 5) f64 0.0 csr)) (output y (type (shape 6) f64 0.0 dense))
                   (for i (for j (if {comparison} (+= (y i) (A i j))))))"
            ),
            60,
        );
    }
}

/// Checks that the flag of a temporary, which records writes, does not guard the statement that
/// declares the temporary.
#[test]
fn a_consumer_declares_the_tensor_that_it_tests() {
    for condition in ["(ne w 0)", "(eq w 0)", "(and (ne w 0) (gt v 0))"] {
        check(
            &format!(
                "(program (input A (type (shape 5) i64 0 dense)) (output y i64 0) (local w i64 0)
                   (let v (A 4) (if {condition} (+= y (A 0)))))"
            ),
            12,
        );
        check(
            &format!(
                "(program (input A (type (shape 3 5) i64 0 dense)) (output B (type (shape 3 5) i64 0 csr))
                   (local w i64 0)
                   (for i (let v (A i 4) (block (declare w) (if (gt v 0) (+= w v)) (freeze w)
                     (for j (if {condition} (+= (B i j) (A i j))))))))"
            ),
            40,
        );
    }
}

/// A subscript is lowered correctly even if the value of its variable is a literal, such as the
/// fill value between the entries of a list.
#[test]
fn sums_with_a_variable_that_is_the_fill_value() {
    let bodies = [
        "(+= (y k) (x (outside 0.0 (+ i v))))",
        "(+= (y k) (x (outside 2.0 (+ (* 2 i) v))))",
        "(+= (y k) (x (outside 0.0 (- v i))))",
        "(+= (y k) (A v (outside 1.0 (+ i v))))",
        "(+= (y k) (A (outside 1.0 (+ i v)) v))",
        "(+= (y k) (* (x (outside 1.0 (+ i v))) (A i (outside 2.0 (+ i v)))))",
        "(let w (+ (* v v) 1) (+= (y k) (x (outside 0.0 (+ i w)))))",
        "(for j (range 0 2) (+= (y k) (* (x (outside 0.0 (+ i v))) (A j (outside 1.0 (+ j v))))))",
        "(if (lt i v) (+= (y k) (x (outside 0.0 (+ i v)))))",
        "(+= (z (+ i v)) 1)",
        "(+= (z (+ i v)) (x (outside 0.0 (- i v))))",
        "(+= (B (+ i v) v) (A i (outside 1.0 (+ i v))))",
        "(+= (B v (+ i v)) (x i))",
    ];
    for fill in [0, 1, 3] {
        for body in bodies {
            check(
                &format!(
                    "(program (input G (type (shape 4) u8 {fill} (sparse-list (element)))) (input x (type (shape 5) f64 0.0 dense))
                       (input A (type (shape 5 5) f64 0.0 dense)) (output y (type (shape 4) f64 0.0 dense))
                       (output z (type (shape 7) f64 0.0 dense)) (output B (type (shape 7 7) f64 0.0 dense))
                       (for k (let v (cast-i64 (G k)) (for i (range 0 3) {body}))))"
                ),
                12,
            );
        }
    }
    // The index in the subscript may also belong to a loop around the `let`.
    check(
        "(program (input G (type (shape 4) u8 0 (sparse-list (element)))) (input x (type (shape 5) f64 0.0 dense))
           (output y (type (shape 3) f64 0.0 dense))
           (for i (for k (let v (cast-i64 (G k)) (+= (y i) (x (outside 0.0 (+ i v))))))))",
        60,
    );
}

/// A read that lowering may move is not moved before the computation of its coordinate.
#[test]
fn gathers_stay_in_the_statement_that_reads_their_index() {
    check(
        "(program (input x (type (shape 4) f64 0.0 dense)) (input I (type (shape 4) i64 0 dense))
           (output y (type (shape 3) f64 0.0 dense)) (local w (type (shape 3) i64 0 dense))
           (block (declare w) (for j (range 0 3) (= (w j) j)) (freeze w)
             (for i (range 0 3) (+= (y i) (x (outside 1.0 (I (outside 0 (w i)))))))))",
        10,
    );
}

/// A condition reads the result of a fold in lanes, not the constant from before the fold.
#[test]
fn conditions_read_flags_that_folds_assign() {
    check(
        "(program (input A (type (shape 5 6) f64 0.0 dense)) (output y (type (shape 5) i64 0 dense))
           (output n (type (shape) i64 0 dense)) (local t bool false)
           (for i (where
             (block (init (y i) (* 2 i)) (if t (+= n 1)))
             (for j (xor= t (ne (A i j) 0))))))",
        100,
    );
}

/// Conditions that are constant along a run, or compare quotients of the index, are correct.
#[test]
fn conditions_on_runs_and_on_blocks_of_coordinates() {
    check(
        "(program (input x (type (shape 9) i64 0 (run-length (element)))) (input y (type (shape 9) i64 0 dense))
           (output z (type (shape 9) i64 0 dense)) (output s (type (shape) i64 0 (element)))
           (block (for i (if (and (gt (x i) 0) (lt i 7)) (+= (z i) (+ i (y i)))))
                  (for i (if (gt (x i) (s)) (+= (s) i)))))",
        50,
    );
    check(
        "(program (output y (type (shape 2) bool true dense)) (output z (type (shape 2) i64 -1 dense)) (local w i64 1)
           (for i (range 0 2) (if (gt 3.0 (cast-f64 i)) (-= w (z (outside 3 (- i 1)))) (= (y i) (eq i w)))))",
        10,
    );
    for op in ["eq", "ne", "lt", "le", "gt", "ge"] {
        for (quotient, bound) in [
            ("(floordiv i 4)", "1"),
            ("(floordiv (+ i -7) 3)", "-1"),
            ("(floordiv (- 5 (* 2 i)) 4)", "-2"),
            ("(floordiv (* 3 i) 2)", "k"),
            ("(floordiv (- i k) 2)", "(x k)"),
        ] {
            for (left, right) in [(quotient, bound), (bound, quotient)] {
                check(
                    &format!(
                        "(program (input x (type (shape 13) i64 0 (sparse-list (element))))
                           (output z (type (shape 3 13) i64 0 dense))
                           (for k (range 0 3) (for i (range 0 13) (if ({op} {left} {right}) (+= (z k i) (+ (x i) i))))))"
                    ),
                    4,
                );
            }
        }
    }
}

/// Folds of computed values, which may be infinite or NaN. Each loop first runs without guards for
/// special values, and again with guards if the fold is NaN. The bits of NaN depend on the machine,
/// so results have a number in its place.
#[test]
fn folds_of_special_values() {
    let scalar = |role: &str, name: &str, start: f64| format!("({role} {name} (type (shape) f64 {start:?} (element)))");
    let vectors = "(input x (type (shape 6) f64 0.0 dense)) (input y (type (shape 6) f64 0.0 dense))
                   (local p (type (shape 6) f64 0.0 dense)) (local q (type (shape 6) f64 0.0 dense))";
    // 1/0 is infinite, and roots of negative numbers are NaN. No infinities of both signs meet,
    // because their sum is unspecified.
    let special = "(for i (= (p i) (/ 1.0 (x i)))) (for i (= (q i) (sqrt (y i))))";
    let folds = [
        "(+= (s) (* (p i) (q i)))",
        "(+= (s) (ifelse (gt (* (p i) (q i)) 0.0) (* (q i) (x i)) (p i)))",
        "(block (+= (s) (* (p i) (x i))) (max= (t) (+ (q i) (p i))))",
        "(block (min= (s) (* (q i) (x i))) (*= (t) (q i)))",
        "(if (ne (q i) 0.0) (block (+= (s) (- (p i) (q i))) (+= (n) 1)))",
        "(let v (* (q i) (x i)) (if (gt v 0.0) (+= (s) (+ v (p i)))))",
    ];
    let number = |of: &str| format!("(ifelse (isnan ({of})) -77.0 ({of}))");
    for fold in folds {
        check(
            &format!(
                "(program {vectors} {} {} {} {} (output n (type (shape) i64 0 (element)))
                   (block {special} (for i {fold}) (= (a) {}) (= (b) {})))",
                scalar("local", "s", 0.0),
                scalar("local", "t", 1.0),
                scalar("output", "a", 0.0),
                scalar("output", "b", 0.0),
                number("s"),
                number("t"),
            ),
            100,
        );
    }
    for fold in ["(+= (u i) (* (A i j) (q j)))", "(max= (u i) (+ (A i j) (q j)))", "(+= (s) (* (A i j) (q j)))"] {
        check(
            &format!(
                "(program (input A (type (shape 5 6) f64 0.0 csr)) {vectors} (local u (type (shape 5) f64 0.0 dense)) {} {}
                   (output v (type (shape 5) f64 0.0 dense))
                   (block {special} (for i (for j {fold})) (= (a) {}) (for i (= (v i) {}))))",
                scalar("local", "s", 0.0),
                scalar("output", "a", 0.0),
                number("s"),
                number("u i"),
            ),
            100,
        );
    }
}
