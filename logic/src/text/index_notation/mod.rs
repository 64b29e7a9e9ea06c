//! The parser of index notation, a short form of plans.
//!
//! ```text
//! TEXT      := STATEMENT ((";" | newline) STATEMENT)..
//! STATEMENT := NAME [ "(" INDEX ("," INDEX).. ")" ] [OP] "=" VALUE
//! VALUE     := SUM [("<" | "<=" | ">" | ">=" | "==" | "!=") SUM]
//! SUM       := TERM (("+" | "-") TERM)..
//! TERM      := FACTOR (("*" | "/") FACTOR)..
//! FACTOR    := "-" FACTOR | NUMBER | ACCESS | INDEX | "(" VALUE ")"
//!            | OPERATOR "(" VALUE ("," VALUE).. ")"
//! ACCESS    := NAME "(" INDEX ("," INDEX).. ")" | NAME
//! ```
//!
//! The words `true`, `false`, `inf` and `nan` are numbers, too. A repeated index selects a
//! diagonal. An index that is not on the left is summed over, separately in each term of a sum:
//! `y(i) = b(i) - A(i,j) * x(j)` subtracts the sum over `j`. With a plain `=`, all terms of a sum
//! within a product must have the same indices to sum over, apart from indices of other factors.
//! For booleans and integers, sums over indices are computed in 64 bits, and so are `+=` and `*=`.
//! An operator in front of `=` folds the whole right side, as in `d(i) min= A(i,k) + x(k)`. An
//! index that is used as a value denotes its coordinate. Statements may read the results of earlier
//! statements; a plan produces the results that no later statement reads.
//!
//! Source of the notation: F. Kjolstad, S. Kamil, S. Chou, D. Lugato, S. Amarasinghe, "The Tensor
//! Algebra Compiler", OOPSLA 2017.

mod builder;
mod parser;

use super::Catalog;
use crate::cursor::TextPosition;
use crate::error::{Error, plural};
use crate::field::{Alias, Field};
use crate::format::TensorType;
use crate::op::Op;
use crate::plan::{Plan, Query};
use crate::scalar::Scalar;
use crate::sexpr::strip_byte_order_mark;
use builder::ExprBuilder;
use parser::StatementParser;
use std::sync::Arc;

/// Returns whether a text is index notation: its first character, after white space, is neither
/// `(`, which begins a plan, nor `;`, which begins a comment of a plan.
pub(super) fn is_index_notation(text: &str) -> bool {
    strip_byte_order_mark(text).trim_start().starts_with(|c: char| !matches!(c, '(' | ';'))
}

/// Parses statements over the inputs of a catalog.
pub(super) fn parse(text: &str, catalog: &Catalog) -> Result<Plan, Error> {
    let statements = StatementParser::new(text).statements()?;
    let mut results: Vec<(Alias, Arc<TensorType>)> = Vec::new();
    let mut queries = Vec::new();
    for statement in &statements {
        let located = |error: Error| error.with_position(statement.at.line, statement.at.column);
        let builder = ExprBuilder { catalog, results: &results, statement };
        let expr = builder.expr().map_err(located)?;
        let query = Query { alias: statement.name.clone(), expr };
        results.push((query.alias.clone(), Arc::new(query.result_type().map_err(located)?)));
        queries.push(query);
    }
    let is_read = |(k, name): (usize, &Alias)| statements[k + 1..].iter().any(|later| later.value.reads(name));
    let names = statements.iter().map(|statement| &statement.name).enumerate();
    let produces = names.filter(|read| !is_read(*read)).map(|(_, name)| name.clone()).collect();
    Ok(Plan { queries, produces })
}

/// Returns the inputs, each with the indices of its first access.
pub(super) fn free_tables(text: &str) -> Result<Vec<(Alias, Vec<Field>)>, Error> {
    let mut free: Vec<(Alias, Vec<Field>)> = Vec::new();
    let mut bound: Vec<Alias> = Vec::new();
    for statement in StatementParser::new(text).statements()? {
        statement.value.visit_accesses(&mut |name, indices, at| {
            if bound.contains(name) {
                return Ok(());
            }
            match free.iter().find(|(free, _)| free == name) {
                None => free.push((name.clone(), indices.to_vec())),
                Some((_, first)) if first.len() == indices.len() => {}
                Some((_, first)) => {
                    let (found, before) = (indices.len(), first.len());
                    let noun = plural(found as u64, "index", "indices");
                    let message = format!("`{name}` is read with {found} {noun}, but was read with {before} before");
                    return Err(Error::Syntax(message).with_position(at.line, at.column));
                }
            }
            Ok(())
        })?;
        bound.push(statement.name);
    }
    Ok(free)
}

/// An assignment.
struct IndexStatement {
    name: Alias,
    indices: Vec<Field>,
    /// The operator that folds the whole right side.
    fold: Option<Op>,
    value: IndexExpr,
    at: TextPosition,
}

/// A value on the right side.
enum IndexExpr {
    Number(Scalar),
    Coordinate(Field),
    Access(Alias, Vec<Field>, TextPosition),
    Call(Op, Vec<IndexExpr>, TextPosition),
}

/// A visitor of the accesses of a value: names, indices and positions in the text.
type AccessVisitor<'v> = dyn FnMut(&Alias, &[Field], TextPosition) -> Result<(), Error> + 'v;

impl IndexExpr {
    fn visit_accesses(&self, visit: &mut AccessVisitor<'_>) -> Result<(), Error> {
        match self {
            IndexExpr::Number(_) | IndexExpr::Coordinate(_) => Ok(()),
            IndexExpr::Access(name, indices, at) => visit(name, indices, *at),
            IndexExpr::Call(_, args, _) => args.iter().try_for_each(|arg| arg.visit_accesses(visit)),
        }
    }

    /// Returns the indices of the value, each once.
    fn indices(&self) -> Vec<Field> {
        let mut indices = Vec::new();
        match self {
            IndexExpr::Number(_) => {}
            IndexExpr::Coordinate(index) => indices.push(index.clone()),
            IndexExpr::Access(_, list, _) => indices.extend(list.iter().cloned()),
            IndexExpr::Call(_, args, _) => indices.extend(args.iter().flat_map(IndexExpr::indices)),
        }
        indices.sort_unstable();
        indices.dedup();
        indices
    }

    fn reads(&self, name: &Alias) -> bool {
        let mut reads = false;
        let visited = self.visit_accesses(&mut |read, _, _| {
            reads |= read == name;
            Ok(())
        });
        visited.is_ok() && reads
    }

    /// Replaces names without subscripts by coordinates if the names are indices of the statement.
    fn resolve_coordinates(self, indices: &[Field]) -> IndexExpr {
        match self {
            IndexExpr::Access(name, list, _)
                if list.is_empty() && indices.iter().any(|i| i.as_str() == name.as_str()) =>
            {
                IndexExpr::Coordinate(Field::from(name.as_str()))
            }
            IndexExpr::Call(op, args, at) => {
                IndexExpr::Call(op, args.into_iter().map(|arg| arg.resolve_coordinates(indices)).collect(), at)
            }
            value => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Catalog, free_tables, parse};
    use crate::dtype::DType;
    use crate::format::{Format, TensorType};
    use expect_test::{Expect, expect};

    fn catalog() -> Catalog {
        let tensor = |shape: &[u64]| TensorType {
            shape: shape.to_vec(),
            dtype: DType::F64,
            fill: 0.0.into(),
            format: Format::dense(shape.len()),
        };
        let tables: [(&str, &[u64]); 6] =
            [("A", &[3, 4]), ("B", &[4, 3]), ("S", &[3, 3]), ("x", &[4]), ("b", &[3]), ("alpha", &[])];
        tables.into_iter().map(|(name, shape)| (name, tensor(shape))).collect()
    }

    fn check(text: &str, expect: &Expect) {
        let result = match parse(text, &catalog()) {
            Ok(plan) => plan.to_string(),
            Err(error) => format!("error: {error}"),
        };
        expect.assert_eq(&result);
    }

    /// Each term of a sum is summed separately, and the result has the indices in the order of the
    /// left side.
    #[test]
    fn terms_are_summed_over_the_indices_of_the_right() {
        check(
            "y(i) = A(i,j) * x(j)",
            &expect![[r#"
                (plan
                  (query y (aggregate + 0.0 (mapjoin * (table A i j) (table x j)) j))
                  (produces y))"#]],
        );
        check(
            "y(i) = alpha * b(i) - A(i,j) * x(j) / 2",
            &expect![[r#"
                (plan
                  (query y
                    (mapjoin -
                      (mapjoin * (table alpha) (table b i))
                      (aggregate + 0.0 (mapjoin / (mapjoin * (table A i j) (table x j)) 2.0) j)))
                  (produces y))"#]],
        );
        check(
            "T(j,i) = A(i,j)",
            &expect![[r#"
                (plan
                  (query T (reorder (table A i j) j i))
                  (produces T))"#]],
        );
        check(
            "s = S(i,i)",
            &expect![[r#"
                (plan
                  (query s (aggregate + 0.0 (index (map ((i i) (i'1 i)) ((i 3))) (relabel (table S '0 '1) i i'1)) i))
                  (produces s))"#]],
        );
    }

    /// An operator before `=` folds the whole right side, and names call operators.
    #[test]
    fn operators_fold_and_apply() {
        check(
            "d(i) min= A(i,k) + x(k)",
            &expect![[r#"
                (plan
                  (query d (aggregate min inf (mapjoin + (table A i k) (table x k)) k))
                  (produces d))"#]],
        );
        check(
            "L(i,j) = S(i,j) * (j < i)",
            &expect![[r#"
                (plan
                  (query L (mapjoin * (table S i j) (mapjoin lt (coordinate j) (coordinate i))))
                  (produces L))"#]],
        );
        check(
            "m(i) max= max(abs(A(i,j)), -1.5e2)",
            &expect![[r#"
                (plan
                  (query m (aggregate max -inf (mapjoin max (mapjoin abs (table A i j)) -150.0) j))
                  (produces m))"#]],
        );
    }

    /// Terms of a sum may lack an index that another factor has. The name of a cast is written with
    /// `_` in place of `-`.
    #[test]
    fn sums_in_products_have_one_meaning() {
        check(
            "y(i) = A(i,j) * (x(j) + 1)",
            &expect![[r#"
                (plan
                  (query y (aggregate + 0.0 (mapjoin * (table A i j) (mapjoin + (table x j) 1.0)) j))
                  (produces y))"#]],
        );
        check(
            "n = cast_u8(x(j) > 0)",
            &expect![[r#"
                (plan
                  (query n (aggregate + 0 (mapjoin cast-u64 (mapjoin cast-u8 (mapjoin gt (table x j) 0.0))) j))
                  (produces n))"#]],
        );
        check(
            "m(j) = min(x(j), inf)",
            &expect![[r#"
                (plan
                  (query m (mapjoin min (table x j) inf))
                  (produces m))"#]],
        );
    }

    /// A plan produces the results that no later statement reads.
    #[test]
    fn statements_read_earlier_results() {
        check(
            "P(i,k) = A(i,j) * B(j,k); t = P(i,i)\nu(k) = b(k)",
            &expect![[r#"
                (plan
                  (query P (aggregate + 0.0 (mapjoin * (table A i j) (table B j k)) j))
                  (query t (aggregate + 0.0 (index (map ((i i) (i'1 i)) ((i 3))) (relabel (table P '0 '1) i i'1)) i))
                  (query u (table b k))
                  (produces t u))"#]],
        );
    }

    /// Errors say what is wrong, and where.
    #[test]
    fn errors_have_positions() {
        check("y(i) = A(i,j) * ", &expect!["error: line 1, column 17: expected a value, found the end of the text"]);
        check(
            "y(i) = A(i,j",
            &expect![
                "error: line 1, column 13: expected `,` or `)`, found the end of the text; every subscript is an index"
            ],
        );
        check(
            "y(i) = A(i+1,j)",
            &expect![
                "error: line 1, column 11: expected `,` or `)`, found `+`; every subscript is an index; for a shift, write a plan with (index (offset ..) ..)"
            ],
        );
        check("y(i) = A(i)", &expect!["error: line 1, column 8: `A` has 2 modes, but is read with 1 index"]);
        check("y(i) = C(i,j)", &expect!["error: line 1, column 8: unknown tensor `C`; did you mean `A`, `B` or `S`?"]);
        check(
            "y(k) = x(j)",
            &expect![
                "error: line 1, column 1: index `k` is on the left, but no tensor on the right has it; remove `k` from the left, or use it on the right"
            ],
        );
        check(
            "y(i) == b(i)",
            &expect!["error: line 1, column 7: expected a value, found `=`; an assignment is written with one `=`"],
        );
        check("y(i) foo= b(i)", &expect!["error: line 1, column 6: unknown operator `foo`"]);
        check(
            "y = -1 * (x(i) + 1)",
            &expect![
                "error: line 1, column 16: only one side of `+` has the index `i`, which is summed over; compute that sum in a statement of its own, or write `+=` to sum the whole right side"
            ],
        );
        check(
            "y(i) = foo(A(i,j))",
            &expect![
                "error: line 1, column 13: expected `,` or `)`, found `(`; `foo` is not an operator, so its subscripts must be indices"
            ],
        );
        check(
            "y(i) = b(i)^2",
            &expect![
                "error: line 1, column 12: expected an operator or the end of the statement, found `^`; write `pow(x, 2)`"
            ],
        );
        check(
            "y(i) = b(i) ** 2",
            &expect![
                "error: line 1, column 13: expected an operator or the end of the statement, found `*`; write `pow(x, 2)`"
            ],
        );
        check("y[i] = b(i)", &expect!["error: line 1, column 2: expected `=`, an operator or `(`, found `[`"]);
        check(
            "b(i) = b(i)",
            &expect!["error: line 1, column 8: `b` is assigned by this statement itself; give its result another name"],
        );
        check(
            "y = n / 2; n += b(i)",
            &expect![
                "error: line 1, column 5: `n` is assigned by a later statement; move that statement up, or give its result another name"
            ],
        );
        check("y(i) |= b(i)", &expect!["error: line 1, column 6: unknown operator `|`; write `or`"]);
        check("y(i) = 1e400 * b(i)", &expect!["error: line 1, column 8: `1e400` does not fit f64; infinity is `inf`"]);
        check(
            "y(i) = sqroot(A(i,j))",
            &expect![
                "error: line 1, column 16: expected `,` or `)`, found `(`; `sqroot` is not an operator, so its subscripts must be indices; did you mean `sqrt`?"
            ],
        );
        check(
            "y(i) = where(A(i,j), 1, 2)",
            &expect![
                "error: line 1, column 15: expected `,` or `)`, found `(`; `where` is not an operator, so its subscripts must be indices; write `ifelse(condition, a, b)`"
            ],
        );
        check(
            "y(i) = 2 * b[i]",
            &expect![
                "error: line 1, column 13: expected an operator or the end of the statement, found `[`; indices are in parentheses"
            ],
        );
        check("y(i,i) = S(i,i)", &expect!["error: line 1, column 1: index `i` is on the left twice"]);
        check(
            "y(i) = maximum(",
            &expect![
                "error: line 1, column 16: expected an index, found the end of the text; `maximum` is not an operator, so its subscripts must be indices; write `max(a, b)`"
            ],
        );
        check(
            "y(i) = max((b(i) + 1)\n  * 2",
            &expect![
                "error: line 2, column 6: expected an operator, `,` or `)`, found the end of the text; the `(` at line 1, column 11 is not closed"
            ],
        );
        check(
            "A(i,j)",
            &expect![
                "error: line 1, column 7: expected `=`, found the end of the text; a statement is a result, `=` and a value, as in `y(i) = A(i,j) * x(j)`"
            ],
        );
        check(
            "2 * A(i,j)",
            &expect![
                "error: line 1, column 1: expected the name of a result, found `2`; a statement is a result, `=` and a value, as in `y(i) = A(i,j) * x(j)`"
            ],
        );
        check("y(i)) = b(i)", &expect!["error: line 1, column 5: expected `=` or an operator, found `)`"]);
        check(
            "y = alpha()",
            &expect!["error: line 1, column 11: expected an index, found `)`; without indices, write `alpha` alone"],
        );
        check(
            "y(i) = not b(i)",
            &expect!["error: line 1, column 12: expected `(`, found `b`; `not` is an operator, as in `not(..)`"],
        );
        check(
            "y(i) = b(i) and b(i)",
            &expect![
                "error: line 1, column 13: expected an operator or the end of the statement, found `a`; write `and(..)`"
            ],
        );
        check(
            "y(i) -= b(i) * x(j)",
            &expect![
                "error: line 1, column 1: operator `-` cannot fold values of dtype f64: it has no identity to start from; fold with `+=`, and subtract or negate the result in another statement"
            ],
        );
        // The statement folds over no index, so the operator would have no effect.
        check(
            "y(i) -= b(i)",
            &expect![
                "error: line 1, column 1: operator `-` cannot fold values of dtype f64: it has no identity to start from; fold with `+=`, and subtract or negate the result in another statement"
            ],
        );
        check(
            "p(i) pow= A(i,k)",
            &expect![
                "error: line 1, column 1: operator `pow` cannot fold values of dtype f64: it has no identity to start from; write a plan, whose `aggregate` has an initial value and folds in the order of its fields"
            ],
        );
        check(
            "y(i) = b(i) b(i)",
            &expect![
                "error: line 1, column 13: expected an operator or the end of the statement, found `b`; a product is written with `*`"
            ],
        );
        check("y = 1\ny = 2", &expect!["error: line 2, column 1: `y` is assigned twice; give one result another name"]);
        check(
            "y(i) = A(i,j) * b(j)",
            &expect![
                "error: line 1, column 15: field `j` has size 4 in mode 1 of `A` but 3 in mode 0 of `b`; rename it in one of them, or take a window"
            ],
        );
        check(
            &format!("y = {}1", "-".repeat(1000)),
            &expect!["error: line 1, column 205: values are nested more than 200 deep"],
        );
    }

    /// The inputs have the indices of their first access.
    #[test]
    fn inputs_have_indices() {
        let free = free_tables("P(i,k) = A(i,j) * B(j,k); t = P(i,i) + max(alpha, i)").unwrap();
        let texts: Vec<String> = free.iter().map(|(name, fields)| format!("{name}{fields:?}")).collect();
        expect![[r#"A[Field("i"), Field("j")] B[Field("j"), Field("k")] alpha[]"#]].assert_eq(&texts.join(" "));
    }
}
