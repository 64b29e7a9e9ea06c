//! The parser of statements.

use super::{IndexExpr, IndexStatement};
use crate::cursor::{TextCursor, TextPosition};
use crate::error::Error;
use crate::field::{Alias, Field};
use crate::op::{Builtin, Op};
use crate::scalar::Scalar;

/// A parser of the statements of a text.
pub(super) struct StatementParser<'t> {
    cursor: TextCursor<'t>,
    /// Number of open parentheses around values and arguments, and of leading signs, within which
    /// lines may be broken.
    depth: usize,
}

/// Maximum number of parentheses and signs around a value.
const MAX_DEPTH: usize = 200;

impl<'t> StatementParser<'t> {
    pub(super) fn new(text: &'t str) -> StatementParser<'t> {
        StatementParser { cursor: TextCursor::new(text), depth: 0 }
    }

    /// Reads all statements.
    pub(super) fn statements(&mut self) -> Result<Vec<IndexStatement>, Error> {
        let mut statements: Vec<IndexStatement> = Vec::new();
        loop {
            self.cursor.take_while(|c| c.is_whitespace() || c == ';');
            if self.cursor.peek().is_none() {
                self.check_order(&statements)?;
                return Ok(statements);
            }
            let statement = self.statement()?;
            if statements.iter().any(|before| before.name == statement.name) {
                let message = format!("`{}` is assigned twice; give one result another name", statement.name);
                return Err(Error::Syntax(message).with_position(statement.at.line, statement.at.column));
            }
            statements.push(statement);
        }
    }

    /// Checks that each result is read by later statements only.
    fn check_order(&self, statements: &[IndexStatement]) -> Result<(), Error> {
        for (k, statement) in statements.iter().enumerate() {
            statement.value.visit_accesses(&mut |name, _, at| {
                let advice = match statements[k..].iter().position(|later| later.name == *name) {
                    None => return Ok(()),
                    Some(0) => "this statement itself; give its result another name",
                    Some(_) => "a later statement; move that statement up, or give its result another name",
                };
                Err(self.error_at(at, format!("`{name}` is assigned by {advice}")))
            })?;
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<IndexStatement, Error> {
        let at = self.cursor.position();
        let name = Alias::from(self.name("the name of a result")?);
        let indices = self.subscripts(name.as_str())?;
        if let Some(k) = (1..indices.len()).find(|k| indices[..*k].contains(&indices[*k])) {
            return Err(self.error_at(at, format!("index `{}` is on the left twice", indices[k])));
        }
        self.skip_blanks();
        let op_at = self.cursor.position();
        if matches!(self.cursor.peek(), Some('[' | '{')) {
            return Err(self.expected("`=`, an operator or `(`"));
        }
        let word = self.cursor.take_while(|c| c != '=' && c != '\n' && c != ';').trim_end();
        let fold = match word {
            "" => None,
            word => Some(operator(word).map_err(|e| e.with_position(op_at.line, op_at.column))?),
        };
        self.expect('=')?;
        let value = self.value()?;
        self.skip_blanks();
        if self.cursor.peek().is_some_and(|c| c != ';' && c != '\n') {
            let known = SIGNS.iter().find(|(sign, ..)| self.cursor.rest().starts_with(sign));
            let advice = match known {
                Some((.., call)) => format!("; write `{call}`"),
                None if self.cursor.peek() == Some('[') => "; indices are in parentheses".to_owned(),
                None => String::new(),
            };
            return Err(self.expected_with("an operator or the end of the statement", &advice));
        }
        let mut all = indices.clone();
        value.visit_accesses(&mut |_, list, _| {
            all.extend(list.iter().cloned());
            Ok(())
        })?;
        Ok(IndexStatement { name, indices, fold, value: value.resolve_coordinates(&all), at })
    }

    fn value(&mut self) -> Result<IndexExpr, Error> {
        const COMPARISONS: [(&str, Builtin); 6] = [
            ("<=", Builtin::Le),
            (">=", Builtin::Ge),
            ("==", Builtin::Eq),
            ("!=", Builtin::Ne),
            ("<", Builtin::Lt),
            (">", Builtin::Gt),
        ];
        let left = self.sum()?;
        self.skip_blanks();
        let found = COMPARISONS.iter().find(|(sign, _)| self.cursor.rest().starts_with(sign));
        let Some((sign, op)) = found else { return Ok(left) };
        let at = self.cursor.position();
        self.cursor.take(sign.len());
        Ok(IndexExpr::Call((*op).into(), vec![left, self.sum()?], at))
    }

    fn sum(&mut self) -> Result<IndexExpr, Error> {
        let mut left = self.term()?;
        while let Some((op, at)) = self.infix(&[('+', Builtin::Add), ('-', Builtin::Sub)]) {
            left = IndexExpr::Call(op, vec![left, self.term()?], at);
        }
        Ok(left)
    }

    fn term(&mut self) -> Result<IndexExpr, Error> {
        let mut left = self.factor()?;
        while let Some((op, at)) = self.infix(&[('*', Builtin::Mul), ('/', Builtin::Div)]) {
            left = IndexExpr::Call(op, vec![left, self.factor()?], at);
        }
        Ok(left)
    }

    /// Reads one of the infix operators.
    fn infix(&mut self, ops: &[(char, Builtin)]) -> Option<(Op, TextPosition)> {
        self.skip_blanks();
        let at = self.cursor.position();
        if SIGNS.iter().any(|(sign, ..)| self.cursor.rest().starts_with(sign)) {
            return None;
        }
        let (_, op) = ops.iter().find(|(sign, _)| self.cursor.peek() == Some(*sign))?;
        self.cursor.advance();
        Some(((*op).into(), at))
    }

    fn factor(&mut self) -> Result<IndexExpr, Error> {
        self.skip_blanks();
        let at = self.cursor.position();
        match self.cursor.peek() {
            Some('-') => self.nested(|parser| {
                parser.cursor.advance();
                Ok(match parser.factor()? {
                    IndexExpr::Number(Scalar::I64(number)) => IndexExpr::Number(Scalar::I64(-number)),
                    IndexExpr::Number(Scalar::F64(number)) => IndexExpr::Number(Scalar::F64(-number)),
                    value => IndexExpr::Call(Builtin::Neg.into(), vec![value], at),
                })
            }),
            Some('(') => self.nested(|parser| {
                parser.cursor.advance();
                let value = parser.value()?;
                parser.expect(')')?;
                Ok(value)
            }),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            _ => {
                let name = self.name("a value")?;
                self.skip_blanks();
                let called = called_operator(name).filter(|_| self.cursor.peek() == Some('('));
                match called {
                    Some(op) => self.nested(|parser| {
                        parser.cursor.advance();
                        let mut args = vec![parser.value()?];
                        while parser.infix(&[(',', Builtin::Add)]).is_some() {
                            args.push(parser.value()?);
                        }
                        parser.expect(')')?;
                        Ok(IndexExpr::Call(op, args, at))
                    }),
                    None => Ok(IndexExpr::Access(name.into(), self.subscripts(name)?, at)),
                }
            }
        }
    }

    /// Reads a value within parentheses or after a sign.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<IndexExpr, Error>) -> Result<IndexExpr, Error> {
        if self.depth == MAX_DEPTH {
            return Err(self.error_at(self.cursor.position(), format!("values are nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// Reads the indices `(i, j, ..)` after a name, if there are any.
    fn subscripts(&mut self, name: &str) -> Result<Vec<Field>, Error> {
        self.skip_blanks();
        if self.cursor.peek() != Some('(') {
            return Ok(Vec::new());
        }
        self.cursor.advance();
        let mut indices = vec![Field::from(self.name("an index")?)];
        loop {
            self.skip_blanks();
            match self.cursor.peek() {
                Some(',') => _ = self.cursor.advance(),
                Some(')') => break,
                Some('(') => {
                    let advice = advice(name);
                    let advice = format!("; `{name}` is not an operator, so its subscripts must be indices{advice}");
                    return Err(self.expected_with("`,` or `)`", &advice));
                }
                _ => return Err(self.expected_with("`,` or `)`", "; every subscript is an index")),
            }
            indices.push(Field::from(self.name("an index")?));
        }
        self.cursor.advance();
        Ok(indices)
    }

    fn name(&mut self, expected: &str) -> Result<&'t str, Error> {
        self.skip_blanks();
        if !self.cursor.peek().is_some_and(|c| c.is_alphabetic() || c == '_') {
            return Err(self.expected(expected));
        }
        Ok(self.cursor.take_while(|c| c.is_alphanumeric() || c == '_' || c == '\''))
    }

    fn number(&mut self) -> Result<IndexExpr, Error> {
        let at = self.cursor.position();
        let rest = self.cursor.rest();
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let mut len = digits(rest);
        if rest[len..].starts_with('.') {
            len += 1 + digits(&rest[len + 1..]);
        }
        if let Some(exponent) = rest[len..].strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['-', '+']));
            let count = digits(&exponent[sign..]);
            len += if count > 0 { 1 + sign + count } else { 0 };
        }
        let text = self.cursor.take(len);
        let integer = text.parse::<i64>().ok().map(Scalar::I64);
        let fault = |what: &str| self.error_at(at, format!("`{text}` {what}"));
        if let Some(integer) = integer {
            return Ok(IndexExpr::Number(integer));
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(IndexExpr::Number(Scalar::F64(number))),
            Ok(_) => Err(fault("does not fit f64; infinity is `inf`")),
            Err(_) => Err(fault("is no number")),
        }
    }

    fn expect(&mut self, c: char) -> Result<(), Error> {
        self.skip_blanks();
        if self.cursor.peek() != Some(c) {
            return Err(self.expected(&format!("`{c}`")));
        }
        self.cursor.advance();
        Ok(())
    }

    /// Skips blanks. Within parentheses around values or arguments, and after a leading sign, also
    /// skips line ends.
    fn skip_blanks(&mut self) {
        let depth = self.depth;
        self.cursor.take_while(|c| c.is_whitespace() && (c != '\n' || depth > 0));
    }

    fn expected(&self, expected: &str) -> Error {
        self.expected_with(expected, "")
    }

    fn expected_with(&self, expected: &str, advice: &str) -> Error {
        let found = match self.cursor.peek() {
            None => "the end of the text".to_owned(),
            Some('\n') => "the end of the line".to_owned(),
            Some(c) => format!("`{c}`"),
        };
        self.error_at(self.cursor.position(), format!("expected {expected}, found {found}{advice}"))
    }

    fn error_at(&self, at: TextPosition, message: String) -> Error {
        Error::Syntax(message).with_position(at.line, at.column)
    }
}

/// Returns advice for a name that is called like an operator, but is not an operator.
fn advice(name: &str) -> String {
    let example = CALLS.iter().find(|(names, _)| names.contains(&name)).map(|(_, example)| *example);
    match (example, Error::unknown("operator", name, Builtin::ALL.iter().map(|builtin| builtin.name()))) {
        (Some(example), _) => format!("; write {example}"),
        (None, error) => error.to_string().split_once(';').map_or_else(String::new, |(_, guess)| format!(";{guess}")),
    }
}

/// Functions of other languages, each with the form to write in index notation.
const CALLS: [(&[&str], &str); 4] = [
    (&["where", "select", "iif", "if"], "`ifelse(condition, a, b)`"),
    (&["sum"], "`d(i) = E(i, j)`: an index that is on the right side alone is summed over"),
    (&["mean", "average", "avg"], "a sum, and divide it by the size in a statement of its own"),
    (&["dot", "matmul"], "`y(i) = A(i, j) * x(j)`"),
];

/// Returns the operator that a call names. A `-` in the name of an operator is written `_`.
fn called_operator(name: &str) -> Option<Op> {
    Op::from_name(name).or_else(|| Op::from_name(&name.replace('_', "-")))
}

/// Operators of other languages, each with the operator of index notation and an example of a call.
const SIGNS: [(&str, &str, &str); 9] = [
    ("^", "pow", "pow(x, 2)"),
    ("**", "pow", "pow(x, 2)"),
    ("//", "floordiv", "floordiv(x, 2)"),
    ("%", "rem", "rem(x, 2)"),
    ("&&", "and", "and(x, y)"),
    ("&", "and", "and(x, y)"),
    ("||", "or", "or(x, y)"),
    ("|", "or", "or(x, y)"),
    ("!", "not", "not(x)"),
];

/// Returns the built-in operator of a name.
fn operator(name: &str) -> Result<Op, Error> {
    if let Some((_, named, _)) = SIGNS.iter().find(|(sign, ..)| *sign == name) {
        return Err(Error::Syntax(format!("unknown operator `{name}`; write `{named}`")));
    }
    Op::from_name(name)
        .ok_or_else(|| Error::unknown("operator", name, Builtin::ALL.iter().map(|builtin| builtin.name())))
}
