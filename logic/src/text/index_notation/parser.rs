//! The parser of statements.

use super::{IndexExpr, IndexStatement};
use crate::cursor::{TextCursor, TextPosition};
use crate::error::Error;
use crate::field::{Alias, Field};
use crate::literal::read_bare;
use crate::op::{Builtin, Op};
use crate::scalar::Scalar;
use crate::sexpr::strip_byte_order_mark;

/// A parser of the statements of a text.
pub(super) struct StatementParser<'t> {
    cursor: TextCursor<'t>,
    /// Number of open parentheses and leading signs around the current value; the parentheses of
    /// subscripts do not count. The value may contain line breaks if the number is positive.
    depth: usize,
}

/// Maximum number of parentheses and signs around a value.
const MAX_DEPTH: usize = 200;

/// Advice for a text that is no statement.
const STATEMENT_FORM: &str = "; a statement is a result, `=` and a value, as in `y(i) = A(i,j) * x(j)`";

/// The comparisons. A sign precedes its own prefixes, so that the first match is the longest one.
const COMPARISONS: [(&str, Builtin); 6] = [
    ("<=", Builtin::Le),
    (">=", Builtin::Ge),
    ("==", Builtin::Eq),
    ("!=", Builtin::Ne),
    ("<", Builtin::Lt),
    (">", Builtin::Gt),
];

impl<'t> StatementParser<'t> {
    pub(super) fn new(text: &'t str) -> StatementParser<'t> {
        StatementParser { cursor: TextCursor::new(strip_byte_order_mark(text)), depth: 0 }
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
        if !self.is_at_name() {
            return Err(self.expected_with("the name of a result", STATEMENT_FORM));
        }
        let name = Alias::from(self.name("the name of a result")?);
        let indices = self.subscripts(name.as_str())?;
        if let Some(k) = (1..indices.len()).find(|k| indices[..*k].contains(&indices[*k])) {
            return Err(self.error_at(at, format!("index `{}` is on the left twice", indices[k])));
        }
        self.skip_blanks();
        let before_op = self.cursor.clone();
        if self.cursor.peek().is_some_and(|c| !begins_assignment(c)) {
            let expected = if indices.is_empty() { "`=`, an operator or `(`" } else { "`=` or an operator" };
            return Err(self.expected(expected));
        }
        let word = self.cursor.take_while(|c| c != '=' && c != '\n' && c != ';').trim_end();
        if self.cursor.peek() != Some('=') {
            self.cursor = before_op;
            return Err(self.expected_with("`=`", STATEMENT_FORM));
        }
        let op_at = before_op.position();
        let fold = match word {
            "" => None,
            word => Some(operator(word).map_err(|e| e.with_position(op_at.line, op_at.column))?),
        };
        self.cursor.advance();
        if self.cursor.peek() == Some('=') {
            return Err(self.expected_with("a value", "; an assignment is written with one `=`"));
        }
        let value = self.value()?;
        self.skip_blanks();
        if self.cursor.peek().is_some_and(|c| c != ';' && c != '\n') {
            return Err(self.expected_with("an operator or the end of the statement", &self.advice_after_value()));
        }
        let mut all = indices.clone();
        value.visit_accesses(&mut |_, list, _| {
            all.extend(list.iter().cloned());
            Ok(())
        })?;
        Ok(IndexStatement { name, indices, fold, value: value.resolve_coordinates(&all), at })
    }

    fn value(&mut self) -> Result<IndexExpr, Error> {
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
                parser.close(at, "an operator or `)`")?;
                Ok(value)
            }),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            _ => {
                let name = self.name("a value")?;
                self.skip_blanks();
                let open = self.cursor.position();
                let is_called = self.cursor.peek() == Some('(');
                match (called_operator(name), read_bare(name)) {
                    (Some(op), _) if is_called => self.nested(|parser| {
                        parser.cursor.advance();
                        let mut args = vec![parser.value()?];
                        while parser.infix(&[(',', Builtin::Add)]).is_some() {
                            args.push(parser.value()?);
                        }
                        parser.close(open, "an operator, `,` or `)`")?;
                        Ok(IndexExpr::Call(op, args, at))
                    }),
                    (Some(_), _) if self.is_at_name() => {
                        Err(self.expected_with("`(`", &format!("; `{name}` is an operator, as in `{name}(..)`")))
                    }
                    (None, Some(number)) if !is_called => Ok(IndexExpr::Number(number)),
                    _ => Ok(IndexExpr::Access(name.into(), self.subscripts(name)?, at)),
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
        self.skip_blanks();
        if self.cursor.peek() == Some(')') {
            return Err(self.expected_with("an index", &format!("; without indices, write `{name}` alone")));
        }
        let mut indices = vec![self.index(name)?];
        loop {
            self.skip_blanks();
            match self.cursor.peek() {
                Some(',') => _ = self.cursor.advance(),
                Some(')') => break,
                Some('(') => {
                    let advice = match called_operator(name) {
                        // Only the left side of a statement reads subscripts after the name of an
                        // operator.
                        Some(_) => STATEMENT_FORM.to_owned(),
                        None => {
                            format!("; `{name}` is not an operator, so its subscripts must be indices{}", advice(name))
                        }
                    };
                    return Err(self.expected_with("`,` or `)`", &advice));
                }
                Some('+' | '-') => {
                    let advice = "; every subscript is an index; for a shift, write a plan with (index (offset ..) ..)";
                    return Err(self.expected_with("`,` or `)`", advice));
                }
                _ => return Err(self.expected_with("`,` or `)`", "; every subscript is an index")),
            }
            indices.push(self.index(name)?);
        }
        self.cursor.advance();
        Ok(indices)
    }

    /// Reads an index among the subscripts of a name.
    fn index(&mut self, name: &str) -> Result<Field, Error> {
        self.skip_blanks();
        if self.is_at_name() {
            return Ok(Field::from(self.name("an index")?));
        }
        let advice = match advice(name) {
            advice if advice.is_empty() => "; every subscript is an index".to_owned(),
            advice => format!("; `{name}` is not an operator, so its subscripts must be indices{advice}"),
        };
        Err(self.expected_with("an index", &advice))
    }

    /// Returns whether the next character begins a name.
    fn is_at_name(&self) -> bool {
        self.cursor.peek().is_some_and(|c| c.is_alphabetic() || c == '_')
    }

    fn name(&mut self, expected: &str) -> Result<&'t str, Error> {
        self.skip_blanks();
        if !self.is_at_name() {
            return Err(self.expected(expected));
        }
        Ok(self.cursor.take_while(is_in_name))
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

    /// Reads the `)` that closes the `(` at a position.
    fn close(&mut self, open: TextPosition, expected: &str) -> Result<(), Error> {
        self.skip_blanks();
        match self.cursor.peek() {
            Some(')') => {
                self.cursor.advance();
                Ok(())
            }
            Some(c) if c != ';' => Err(self.expected_with(expected, &self.advice_after_value())),
            _ => {
                let advice = format!("; the `(` at line {}, column {} is not closed", open.line, open.column);
                Err(self.expected_with(expected, &advice))
            }
        }
    }

    /// Returns advice for a text that cannot follow a value.
    fn advice_after_value(&self) -> String {
        let rest = self.cursor.rest();
        if COMPARISONS.iter().any(|(sign, _)| rest.starts_with(sign)) {
            return "; put the other comparison in parentheses".to_owned();
        }
        if rest.starts_with('\'') || rest.starts_with("^T") {
            return "; a transposed matrix is `T(j,i) = A(i,j)`".to_owned();
        }
        if let Some((.., call)) = SIGNS.iter().find(|(sign, ..)| rest.starts_with(sign)) {
            return format!("; write `{call}`");
        }
        let word = self.cursor.clone().take_while(is_in_name);
        match self.cursor.peek() {
            Some('[') => "; indices are in parentheses".to_owned(),
            Some('@') => "; a product of matrices is `C(i,k) = A(i,j) * B(j,k)`".to_owned(),
            Some('#') => "; statements have no comments".to_owned(),
            _ if called_operator(word).is_some() => format!("; write `{word}(..)`"),
            Some(c) if is_in_name(c) || c == '(' => "; a product is written with `*`".to_owned(),
            _ => String::new(),
        }
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

/// Returns whether a name may contain a character.
fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\''
}

/// Returns whether a character may begin `=`, an operator before `=`, or the end of a statement.
fn begins_assignment(c: char) -> bool {
    let mut signs = SIGNS.iter().map(|(sign, ..)| *sign).chain(Builtin::ALL.iter().map(|builtin| builtin.name()));
    matches!(c, '=' | ';' | '\n') || c.is_alphanumeric() || signs.any(|sign| sign.starts_with(c))
}

/// Returns advice for a name that is called like an operator, but is not an operator.
fn advice(name: &str) -> String {
    if let Some(example) = example_of(name) {
        return format!("; write {example}");
    }
    // Most names of one or two letters are names of tensors.
    if name.len() < 3 {
        return String::new();
    }
    unknown_operator(name).to_string().split_once(';').map_or_else(String::new, |(_, guess)| format!(";{guess}"))
}

/// Functions of other languages, each with the form to write in index notation.
const CALLS: [(&[&str], &str); 8] = [
    (&["where", "select", "iif", "if"], "`ifelse(condition, a, b)`"),
    (&["sum"], "`d(i) = E(i, j)`: an index that is on the right side alone is summed over"),
    (&["mean", "average", "avg"], "a sum, and divide it by the size in a statement of its own"),
    (&["dot", "matmul"], "`y(i) = A(i, j) * x(j)`"),
    (&["norm"], "`s = x(i) * x(i); n = sqrt(s)`"),
    (&["transpose"], "`T(j, i) = A(i, j)`"),
    (&["maximum", "fmax"], "`max(a, b)`"),
    (&["minimum", "fmin"], "`min(a, b)`"),
];

/// Returns the form to write in place of a function of another language.
fn example_of(name: &str) -> Option<&'static str> {
    CALLS.iter().find(|(names, _)| names.contains(&name)).map(|(_, example)| *example)
}

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
    Op::from_name(name).ok_or_else(|| match example_of(name) {
        Some(example) => Error::Syntax(format!("unknown operator `{name}`; write {example}")),
        None => unknown_operator(name),
    })
}

fn unknown_operator(name: &str) -> Error {
    Error::unknown("operator", name, Builtin::ALL.iter().map(|builtin| builtin.name()))
}
