//! The text form of user-defined operators.
//!
//! ```text
//! (define-op (gcd (x i64) (y i64)) i64
//!   (while ((a (abs x)) (b (abs y))) (ne b 0) (b (rem a b)) a)
//!   (commutative) (associative) (special (y 0) (abs x)))
//! ```
//! The name and parameters are followed by the dtype of the result, the body, and clauses in any
//! order:
//!
//! | clause | meaning |
//! |---|---|
//! | `(commutative)`, `(associative)`, `(idempotent)` | laws |
//! | `(identity VALUE PARAM..)`, `(annihilator VALUE PARAM..)` | identity or annihilator at these parameters; at all parameters if none is named |
//! | `(distributes-over OP..)` | the operator distributes over these operators, in each argument |
//! | `(special (PARAM VALUE) BODY)` | the result if the argument has the value |
//! | `(iteration SET)` | the iteration space; elsewhere the result is the result for the fill values, or the result of a case |
//! | `(fills VALUE..)` | restricts the claim of the iteration to arguments with these fill values |
//! | `(case SET BODY)`, `(elsewhere BODY)` | the result outside the iteration; the first case that applies decides |
//!
//! A set is a parameter (the coordinates at which it differs from its fill value), `all`,
//! `(union SET..)`, `(intersection SET..)` or `(complement SET)`. Cases must define the result
//! everywhere: the iteration or a case must contain every combination of stored parameters.
//!
//! A body is a parameter or variable, a bare number or `bool`, `(lit DTYPE VALUE)`, `(if C A B)`,
//! `(let NAME VALUE BODY)`, `(while ((NAME INIT)..) COND (STEP..) RESULT)`,
//! `(struct (NAME BODY)..)`, `(member BODY NUMBER)` or `(OPERATOR BODY..)`. A bare number takes its
//! dtype from the context: the other arguments of a call (as in a plan), the other branch of an
//! `if`, the variable of a step, or the result. Otherwise it is an `i64`, `u64`, `f64` or `bool`.

use super::body::{Body, BodyScope, While, check_body};
use super::user::{Definition, Iteration, UserOp, UserProperties};
use super::{Builtin, Op};
use crate::dtype::DType;
use crate::error::Error;
use crate::expr::{fit, weak_dtype};
use crate::literal::{read_bare, read_dtype, read_literal, write_dtype, write_literal};
use crate::scalar::Scalar;
use crate::sexpr::{Sexpr, read_one};

impl UserOp {
    /// Reads the text of a `define-op` that applies built-in operators only.
    ///
    /// ```
    /// use redpoll_logic::op::UserOp;
    ///
    /// let op = UserOp::parse("(define-op (without (x f64) (y f64)) f64 x (iteration (intersection x (complement y))) (elsewhere 0))")?;
    /// assert!(op.has_cases());
    /// # Ok::<(), redpoll_logic::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`UserOp::read`], and a syntax error if `text` is no single
    /// s-expression.
    pub fn parse(text: &str) -> Result<UserOp, Error> {
        UserOp::read(&read_one(text)?, &|name| Op::from_name(name))
    }

    /// Reads a `define-op`; `find_op` finds other operators by name.
    ///
    /// # Errors
    /// Returns an error if the form does not follow the grammar of this module, a name is unknown,
    /// or the definition is invalid.
    pub fn read(form: &Sexpr, find_op: &dyn Fn(&str) -> Option<Op>) -> Result<UserOp, Error> {
        let Some(("define-op", [head, result, body, clauses @ ..])) = form.as_form() else {
            return Err(form.error("expected (define-op (NAME (PARAM DTYPE)..) DTYPE BODY CLAUSE..)"));
        };
        let [name, params @ ..] = head.items("the name and parameters of an operator")? else {
            return Err(head.error("expected the name of the operator"));
        };
        let name = name.word("the name of the operator")?;
        if find_op(name).is_some() {
            return Err(head.error(format!("operator `{name}` already exists; choose another name")));
        }
        let params = params.iter().map(read_param).collect::<Result<Vec<_>, _>>()?;
        let result = read_dtype(result)?;
        let mut reader = DefinitionReader { name, params: &params, find_op, vars: Vec::new() };
        let body = reader.body_of(body, &result)?;
        let mut op = UserOp::new(name, params.clone(), result.clone(), &body).map_err(|e| form.locate(e.into()))?;
        let mut properties = UserProperties::default();
        for clause in clauses {
            op = reader.clause(op, &mut properties, clause, &result)?;
        }
        let op = op.with_properties(properties).map_err(|e| form.locate(e.into()))?;
        op.check_cases().map_err(|e| form.locate(e.into()))?;
        op.check_declared_claim().map_err(|e| form.locate(e.into()))?;
        Ok(op)
    }

    /// Writes the `define-op` that reads back as this operator.
    pub fn to_sexpr(&self) -> Sexpr {
        let names: Vec<&str> = self.params().iter().map(|(n, _)| n.as_str()).collect();
        let params = self.params().iter().map(|(n, t)| Sexpr::list([Sexpr::atom(n), write_dtype(t)]));
        let head = Sexpr::form(self.name(), params);
        let Definition::Body(body) = self.definition();
        let p = self.properties();
        let laws = [("commutative", p.commutative), ("associative", p.associative), ("idempotent", p.idempotent)];
        let laws = laws.into_iter().filter(|(_, holds)| *holds).map(|(law, _)| Sexpr::form(law, []));
        let values =
            [("identity", &p.identity), ("annihilator", &p.annihilator)].into_iter().flat_map(|(law, values)| {
                let names = &names;
                values.iter().map(move |(k, v)| Sexpr::form(law, [write_literal(v), Sexpr::atom(names[*k])]))
            });
        let over = (!p.distributes_over.is_empty())
            .then(|| Sexpr::form("distributes-over", p.distributes_over.iter().map(Sexpr::atom)));
        let specials = self.specializations().iter().map(|s| {
            let when = Sexpr::list([Sexpr::atom(names[s.position]), write_literal(&s.value)]);
            Sexpr::form("special", [when, write_body(&s.result, &names)])
        });
        let iteration = self.iteration().map(|i| Sexpr::form("iteration", [write_set(i, &names)]));
        let fills = self.fills().map(|fills| Sexpr::form("fills", fills.iter().map(write_literal)));
        let cases = self.cases().iter().map(|c| match c.domain {
            Iteration::All => Sexpr::form("elsewhere", [write_body(&c.result, &names)]),
            _ => Sexpr::form("case", [write_set(&c.domain, &names), write_body(&c.result, &names)]),
        });
        let algebra = iteration.into_iter().chain(fills).chain(cases);
        let parts = [head, write_dtype(self.result()), write_body(body, &names)];
        Sexpr::form("define-op", parts.into_iter().chain(laws).chain(values).chain(over).chain(specials).chain(algebra))
    }
}

fn read_param(param: &Sexpr) -> Result<(String, DType), Error> {
    match param.as_list() {
        Some([name, dtype]) => Ok((name.word("the name of a parameter")?.to_owned(), read_dtype(dtype)?)),
        _ => Err(param.error(format!("expected (PARAM DTYPE), found {param}"))),
    }
}

/// A body with its dtype. A bare number is weak: its dtype depends on the context.
struct TypedBody {
    body: Body,
    dtype: DType,
    weak: bool,
}

impl TypedBody {
    /// Returns the body for a context with the given dtype, to which a bare number is converted.
    fn in_context(self, text: &Sexpr, dtype: &DType) -> Result<Body, Error> {
        match self.body {
            Body::Lit(value) if self.weak => fit(&value, dtype, "number").map(Body::Lit).map_err(|e| text.locate(e)),
            body => Ok(body),
        }
    }
}

struct DefinitionReader<'a> {
    name: &'a str,
    params: &'a [(String, DType)],
    find_op: &'a dyn Fn(&str) -> Option<Op>,
    vars: Vec<(String, DType)>,
}

impl DefinitionReader<'_> {
    fn clause(
        &self,
        op: UserOp,
        properties: &mut UserProperties,
        clause: &Sexpr,
        result: &DType,
    ) -> Result<UserOp, Error> {
        match clause.as_form() {
            Some(("commutative", [])) => properties.commutative = true,
            Some(("associative", [])) => properties.associative = true,
            Some(("idempotent", [])) => properties.idempotent = true,
            Some(("identity", [value, at @ ..])) => properties.identity.extend(self.values(value, at)?),
            Some(("annihilator", [value, at @ ..])) => properties.annihilator.extend(self.values(value, at)?),
            Some(("distributes-over", ops)) => {
                for op in ops {
                    let name = op.word("the name of an operator")?;
                    if name != self.name && (self.find_op)(name).is_none() {
                        return Err(op.locate(self.unknown_op(name)));
                    }
                    properties.distributes_over.push(name.to_owned());
                }
            }
            Some(("special", [when, body])) => {
                let Some([param, value]) = when.as_list() else {
                    return Err(when.error(format!("expected (PARAM VALUE), found {when}")));
                };
                let k = self.position(param)?;
                let mut reader = DefinitionReader { vars: Vec::new(), ..*self };
                let value = self.value(value, k)?;
                let body = reader.body_of(body, result)?;
                return op.with_specialization(k, value, &body).map_err(|e| clause.locate(e.into()));
            }
            Some(("iteration", [set])) => {
                return op.with_iteration(self.set(set)?).map_err(|e| clause.locate(e.into()));
            }
            Some(("fills", values)) => {
                if values.len() != self.params.len() {
                    let (found, expected) = (values.len(), self.params.len());
                    return Err(
                        clause.error(format!("expected {expected} fill values, one per parameter, found {found}"))
                    );
                }
                let fills = values.iter().enumerate().map(|(k, value)| self.value(value, k));
                return op.with_fills(fills.collect::<Result<_, _>>()?).map_err(|e| clause.locate(e.into()));
            }
            Some(("case", [set, body])) => {
                let (domain, body) =
                    (self.set(set)?, DefinitionReader { vars: Vec::new(), ..*self }.body_of(body, result)?);
                return op.with_case(domain, &body).map_err(|e| clause.locate(e.into()));
            }
            Some(("elsewhere", [body])) => {
                let body = DefinitionReader { vars: Vec::new(), ..*self }.body_of(body, result)?;
                return op.with_case(Iteration::All, &body).map_err(|e| clause.locate(e.into()));
            }
            _ => return Err(clause.error(format!("expected a clause such as (commutative), found {clause}"))),
        }
        Ok(op)
    }

    fn values(&self, value: &Sexpr, at: &[Sexpr]) -> Result<Vec<(usize, Scalar)>, Error> {
        let positions = match at {
            [] => (0..self.params.len()).collect(),
            _ => at.iter().map(|p| self.position(p)).collect::<Result<Vec<_>, _>>()?,
        };
        positions.into_iter().map(|k| Ok((k, self.value(value, k)?))).collect()
    }

    fn value(&self, value: &Sexpr, position: usize) -> Result<Scalar, Error> {
        let (scalar, weak) = match value.as_atom() {
            Some(word) => (read_bare(word).ok_or_else(|| value.error("expected a number"))?, true),
            None => (read_literal(value)?, false),
        };
        if !weak {
            return Ok(scalar);
        }
        fit(&scalar, &self.params[position].1, "number").map_err(|e| value.locate(e))
    }

    fn position(&self, param: &Sexpr) -> Result<usize, Error> {
        let name = param.word("the name of a parameter")?;
        let found = self.params.iter().position(|(n, _)| n == name);
        let names = self.params.iter().map(|(n, _)| n.as_str());
        found.ok_or_else(|| param.locate(Error::unknown("parameter", name, names)))
    }

    fn set(&self, set: &Sexpr) -> Result<Iteration, Error> {
        let all = |of: &[Sexpr]| of.iter().map(|s| self.set(s)).collect::<Result<Vec<_>, _>>();
        match (set.as_atom(), set.as_form()) {
            (Some("all"), _) => Ok(Iteration::All),
            (Some(_), _) => Ok(Iteration::Arg(self.position(set)?)),
            (_, Some(("union", of))) => Ok(Iteration::Union(all(of)?)),
            (_, Some(("intersection", of))) => Ok(Iteration::Intersection(all(of)?)),
            (_, Some(("complement", [of]))) => Ok(Iteration::Complement(Box::new(self.set(of)?))),
            _ => Err(set.error(format!("expected a parameter, all, union, intersection or complement, found {set}"))),
        }
    }

    fn unknown_op(&self, name: &str) -> Error {
        Error::unknown("operator", name, Builtin::ALL.iter().map(|b| b.name()))
    }

    /// Reads a body in a context with the given dtype.
    fn body_of(&mut self, text: &Sexpr, dtype: &DType) -> Result<Body, Error> {
        self.body(text)?.in_context(text, dtype)
    }

    /// Reads a body without a context; a bare number keeps its own dtype.
    fn without_context(&mut self, text: &Sexpr) -> Result<(Body, DType), Error> {
        let typed = self.body(text)?;
        Ok((typed.body, typed.dtype))
    }

    fn body(&mut self, text: &Sexpr) -> Result<TypedBody, Error> {
        if let Some(word) = text.as_atom() {
            return self.word(text, word);
        }
        let Some((head, rest)) = text.as_form() else {
            return Err(text.error(format!("expected an expression, found {text}")));
        };
        let body = match (head, rest) {
            ("lit", _) => Body::Lit(read_literal(text)?),
            ("if", [cond, then, other]) => {
                let (cond, _) = self.without_context(cond)?;
                let (t, o) = (self.body(then)?, self.body(other)?);
                let mut branches =
                    self.resolve_weak(&Op::from(Builtin::Choose), &[then, other], vec![t, o])?.into_iter();
                let mut next = || Box::new(branches.next().expect("there are two branches"));
                Body::If(Box::new(cond), next(), next())
            }
            ("let", [name, value, body]) => {
                let name = name.word("the name of a variable")?;
                let (value, dtype) = self.without_context(value)?;
                self.vars.push((name.to_owned(), dtype));
                let body = self.without_context(body);
                self.vars.pop();
                Body::Let(name.to_owned(), Box::new(value), Box::new(body?.0))
            }
            ("while", [vars, cond, steps, result]) => self.while_body(text, vars, cond, steps, result)?,
            ("struct", members) => {
                let member = |m: &Sexpr| match m.as_list() {
                    Some([name, body]) => {
                        Ok((name.word("the name of a member")?.to_owned(), self.without_context(body)?.0))
                    }
                    _ => Err(m.error(format!("expected (NAME BODY), found {m}"))),
                };
                Body::Struct(members.iter().map(member).collect::<Result<_, _>>()?)
            }
            ("member", [of, number]) => {
                Body::Member(Box::new(self.without_context(of)?.0), number.number("the number of a member, from 0")?)
            }
            ("if" | "let" | "while" | "member", _) => {
                return Err(text.error(format!("`{head}` has the wrong number of parts in {text}")));
            }
            (name, args) => {
                let op = (self.find_op)(name).ok_or_else(|| text.locate(self.unknown_op(name)))?;
                let typed = args.iter().map(|a| self.body(a)).collect::<Result<Vec<_>, _>>()?;
                let args: Vec<&Sexpr> = args.iter().collect();
                Body::Call(op.clone(), self.resolve_weak(&op, &args, typed)?)
            }
        };
        self.infer(text, body, false)
    }

    fn word(&mut self, text: &Sexpr, word: &str) -> Result<TypedBody, Error> {
        if self.vars.iter().any(|(n, _)| n == word) {
            return self.infer(text, Body::Var(word.to_owned()), false);
        }
        if let Some(k) = self.params.iter().position(|(n, _)| n == word) {
            return self.infer(text, Body::Arg(k), false);
        }
        match read_bare(word) {
            Some(value) => self.infer(text, Body::Lit(value), true),
            None => {
                let names = self.params.iter().chain(&self.vars).map(|(n, _)| n.as_str());
                Err(text.locate(Error::unknown("variable", word, names)))
            }
        }
    }

    fn while_body(
        &mut self,
        text: &Sexpr,
        vars: &Sexpr,
        cond: &Sexpr,
        steps: &Sexpr,
        result: &Sexpr,
    ) -> Result<Body, Error> {
        let mut inits = Vec::new();
        let mut dtypes = Vec::new();
        for var in vars.items("the variables of a while")? {
            let Some([name, init]) = var.as_list() else {
                return Err(var.error(format!("expected (NAME INIT), found {var}")));
            };
            let (init, dtype) = self.without_context(init)?;
            let name = name.word("the name of a variable")?.to_owned();
            dtypes.push((name.clone(), dtype));
            inits.push((name, init));
        }
        let steps = steps.items("the steps of a while")?;
        if steps.len() != inits.len() {
            return Err(text.error(format!("a while has {} variables, but {} steps", inits.len(), steps.len())));
        }
        let depth = self.vars.len();
        self.vars.extend(dtypes.iter().cloned());
        let inner = self.without_context(cond).and_then(|(cond, _)| {
            let steps = steps.iter().zip(&dtypes).map(|(s, (_, t))| self.body_of(s, t)).collect::<Result<_, _>>()?;
            Ok(While { vars: inits, cond, steps, result: self.without_context(result)?.0 })
        });
        self.vars.truncate(depth);
        Ok(Body::While(Box::new(inner?)))
    }

    /// Gives the weak arguments of one operator their dtypes, which depend on the other arguments.
    fn resolve_weak(&self, op: &Op, texts: &[&Sexpr], args: Vec<TypedBody>) -> Result<Vec<Body>, Error> {
        let strong: Vec<Option<DType>> = args.iter().map(|a| (!a.weak).then(|| a.dtype.clone())).collect();
        let args = args.into_iter().zip(texts).enumerate();
        args.map(|(k, (arg, text))| match &arg.body {
            Body::Lit(value) if arg.weak => {
                let dtype = weak_dtype(op, &strong, k, value);
                arg.in_context(text, &dtype)
            }
            _ => Ok(arg.body),
        })
        .collect()
    }

    fn infer(&mut self, text: &Sexpr, body: Body, weak: bool) -> Result<TypedBody, Error> {
        let mut scope = BodyScope { op: self.name, params: self.params, vars: std::mem::take(&mut self.vars) };
        let checked = check_body(&mut scope, &body);
        self.vars = scope.vars;
        let (_, dtype) = checked.map_err(|e| text.locate(e.into()))?;
        Ok(TypedBody { body, dtype, weak })
    }
}

fn write_body(body: &Body, params: &[&str]) -> Sexpr {
    let write = |b: &Body| write_body(b, params);
    match body {
        Body::Arg(k) => Sexpr::atom(params[*k]),
        Body::Var(name) => Sexpr::atom(name),
        Body::Lit(value) => write_literal(value),
        Body::Call(op, args) => Sexpr::form(op.name(), args.iter().map(write)),
        Body::If(cond, then, other) => Sexpr::form("if", [write(cond), write(then), write(other)]),
        Body::Let(name, value, rest) => Sexpr::form("let", [Sexpr::atom(name), write(value), write(rest)]),
        Body::While(w) => {
            let vars = w.vars.iter().map(|(n, init)| Sexpr::list([Sexpr::atom(n), write(init)]));
            let steps = Sexpr::list(w.steps.iter().map(write));
            Sexpr::form("while", [Sexpr::list(vars), write(&w.cond), steps, write(&w.result)])
        }
        Body::Struct(members) => {
            Sexpr::form("struct", members.iter().map(|(n, m)| Sexpr::list([Sexpr::atom(n), write(m)])))
        }
        Body::Member(of, k) => Sexpr::form("member", [write(of), Sexpr::atom(k.to_string())]),
    }
}

fn write_set(set: &Iteration, params: &[&str]) -> Sexpr {
    let all = |of: &[Iteration]| of.iter().map(|s| write_set(s, params)).collect::<Vec<_>>();
    match set {
        Iteration::Arg(k) => Sexpr::atom(params[*k]),
        Iteration::Union(of) => Sexpr::form("union", all(of)),
        Iteration::Intersection(of) => Sexpr::form("intersection", all(of)),
        Iteration::Complement(of) => Sexpr::form("complement", [write_set(of, params)]),
        Iteration::All => Sexpr::atom("all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Prim;
    use crate::op::user;
    use crate::sexpr::read_one;
    use expect_test::{Expect, expect};

    const GCD: &str = "(define-op (gcd (x i64) (y i64)) i64
        (while ((a (abs x)) (b (abs y))) (ne b 0) (b (rem a b)) a)
        (commutative) (associative) (special (x 0) (abs y)) (special (y 0) (abs x)))";

    fn read(text: &str) -> Result<UserOp, Error> {
        UserOp::read(&read_one(text).unwrap(), &Op::from_name)
    }

    #[test]
    fn gcd_reads_as_its_definition_in_rust() {
        assert_eq!(read(GCD).unwrap(), user::tests::gcd());
    }

    #[test]
    fn definitions_read_back() {
        let texts = [
            GCD,
            "(define-op (f (x f32) (p (struct (value f32) (coordinate i64)))) (struct (a f64) (b u8))
                (let s (+ x (first p) 1)
                    (if (lt s 2.5) (struct (a (* 2 (cast-f64 s))) (b (lit u8 3))) (struct (a 0.5) (b (cast-u8 (second p))))))
                (iteration (union x (complement (intersection p all)))))",
            "(define-op (top (x i8) (y i8)) i8 (max x y)
                (commutative) (associative) (idempotent) (identity -128) (annihilator 127 x)
                (distributes-over max min) (special (y -128) x))",
            "(define-op (second-of (p (struct (u i8) (v (struct (w f64)))))) f64 (member (member p 1) 0))",
        ];
        for text in texts {
            let op = read(text).unwrap();
            let written = op.to_sexpr().pretty();
            assert_eq!(read(&written).unwrap(), op, "{written}");
        }
        expect![[r#"
            (define-op
              (top (x i8) (y i8))
              i8
              (max x y)
              (commutative)
              (associative)
              (idempotent)
              (identity (lit i8 -128) x)
              (identity (lit i8 -128) y)
              (annihilator (lit i8 127) x)
              (distributes-over max min)
              (special (y (lit i8 -128)) x))"#]]
        .assert_eq(&read(texts[2]).unwrap().to_sexpr().pretty());
    }

    #[test]
    fn bare_numbers_take_the_dtype_of_their_context() {
        let op = |body: &str, dtype: &str| read(&format!("(define-op (f (x i8) (y f32)) {dtype} {body})"));
        for (body, dtype) in [
            ("(+ x 1)", "i8"),
            ("(+ y 1)", "f32"),
            ("(+ x 1.5)", "f64"),
            ("(/ 1 y)", "f32"),
            ("(if (lt 0 y) 0 x)", "i8"),
            ("(ifelse y 0 x)", "i8"),
            ("7", "u8"),
            ("(shl x 3)", "i8"),
            ("(while ((a x)) (gt a 0) (0) a)", "i8"),
        ] {
            assert!(op(body, dtype).is_ok(), "{body}: {:?}", op(body, dtype));
        }
        assert!(op("(+ x 300)", "i8").is_err(), "a number that does not fit");
    }

    #[test]
    fn operators_may_use_others() {
        let gcd = Op::from(read(GCD).unwrap());
        let find_op = |name: &str| if name == "gcd" { Some(gcd.clone()) } else { Op::from_name(name) };
        let text = "(define-op (lcm (x i64) (y i64)) i64 (floordiv (abs (* x y)) (gcd x y)))";
        let lcm = Op::from(UserOp::read(&read_one(text).unwrap(), &find_op).unwrap());
        assert_eq!(lcm.apply(&[Scalar::I64(4), Scalar::I64(6)]), Ok(Scalar::I64(12)));
        assert_eq!(lcm.signature(&[Prim::I8.into(), Prim::I8.into()]).unwrap().result, DType::I64);
    }

    /// Asserts that a chain of definitions that each use the previous definition twice is rejected,
    /// unless `let` binds the repeated value.
    #[test]
    fn operators_that_double_each_other_are_bounded() {
        let chain = |body: &dyn Fn(&str) -> String| {
            let mut ops = vec![Op::from(read("(define-op (f0 (x i64)) i64 (+ x x))").unwrap())];
            for k in 1..18 {
                let text = format!("(define-op (f{k} (x i64)) i64 {})", body(&format!("f{}", k - 1)));
                let find_op =
                    |name: &str| ops.iter().find(|op| op.name() == name).cloned().or_else(|| Op::from_name(name));
                ops.push(UserOp::read(&read_one(&text).unwrap(), &find_op).map_err(|e| e.to_string())?.into());
            }
            Ok::<Op, String>(ops.pop().unwrap())
        };
        let error = chain(&|f| format!("(+ ({f} x) ({f} (neg x)))")).unwrap_err();
        assert!(error.contains("operator `f11`") && error.contains("bind repeated values with let"), "{error}");
        let bound = chain(&|f| format!("(let y ({f} x) (+ y y))")).unwrap();
        assert_eq!(bound.apply(&[Scalar::I64(3)]), Ok(Scalar::I64(3 << 18)));
    }

    #[test]
    fn errors_have_positions() {
        #[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
        fn check(text: &str, expected: Expect) {
            expected.assert_eq(&read(text).unwrap_err().to_string());
        }
        check(
            "(define-op (f (x i64)) i64)",
            expect!["line 1, column 1: expected (define-op (NAME (PARAM DTYPE)..) DTYPE BODY CLAUSE..)"],
        );
        check(
            "(define-op (f (x i64)) i64 (abss x))",
            expect!["line 1, column 28: unknown operator `abss`; did you mean `abs` or `acos`?"],
        );
        check("(define-op (f (x i64)) i64 (+ x yy))", expect!["line 1, column 33: unknown variable `yy`"]);
        check(
            "(define-op (f (x i64)) i64\n (neg x x))",
            expect!["line 2, column 2: in the definition of operator `f`: operator `neg` takes 1 argument, found 2"],
        );
        check(
            "(define-op (f (x i64)) i64 (sqrt x))",
            expect![
                "line 1, column 1: in the definition of operator `f`: the body has dtype f64, expected the result's dtype i64; cast it"
            ],
        );
        check(
            "(define-op (f (x i64)) i64 (let y x))",
            expect!["line 1, column 28: `let` has the wrong number of parts in (let y x)"],
        );
        check(
            "(define-op (f (x i64)) i64 (let x 1 x))",
            expect![
                "line 1, column 28: in the definition of operator `f`: variable `x` has the name of a parameter; choose another"
            ],
        );
        check(
            "(define-op (f (x i64)) i64 x (comutative))",
            expect!["line 1, column 30: expected a clause such as (commutative), found (comutative)"],
        );
        check(
            "(define-op (f (x i64)) i64 x (identity 0 z))",
            expect!["line 1, column 42: unknown parameter `z`; did you mean `x`?"],
        );
        check(
            "(define-op (f (x i64)) i64 x (associative))",
            expect![
                "line 1, column 1: in the definition of operator `f`: it is declared associative or idempotent, which requires two parameters of the result's dtype"
            ],
        );
        check(
            "(define-op (f (x i64)) i64 x (distributes-over plus))",
            expect!["line 1, column 48: unknown operator `plus`"],
        );
        check(
            "(define-op (f (x i64)) i64 x (special (x 1.5) x))",
            expect![
                "line 1, column 42: number 1.5 does not fit dtype i64; give a value of that dtype, or cast the argument"
            ],
        );
        check(
            "(define-op (+ (x i64)) i64 x)",
            expect!["line 1, column 12: operator `+` already exists; choose another name"],
        );
        check(
            "(define-op (f (x i64)) i64 (while ((a x) (b x)) a (a) b))",
            expect!["line 1, column 28: a while has 2 variables, but 1 steps"],
        );
        check(
            "(define-op (f (x i64)) i64 (while ((a x)) a ((cast-i8 a)) a))",
            expect![
                "line 1, column 28: in the definition of operator `f`: the step of `a` has dtype i8, expected i64; cast it"
            ],
        );
    }
}
