//! The parser of Assembly.

use super::lex::{Token, lex};
use super::names::is_identifier;
use super::print::bare_prim;
use crate::Error;
use crate::assembly::{
    BinaryOp, Buffer, BufferClass, BufferDecl, BufferRole, CompareOp, Expr, Function, LaneFold, Local, LocalDecl,
    MathFn, Param, Status, Stmt, UnaryOp,
};
use redpoll_logic::cursor::TextPosition;
use redpoll_logic::literal::read_prim;
use redpoll_logic::{Prim, Scalar};

/// The maximum nesting of expressions and statements, so that no text overflows the stack.
const MAX_DEPTH: usize = 200;

/// Reads a function from its text; see the module docs of [`text`](crate::assembly::text). The
/// function is not verified yet.
///
/// # Errors
/// [`Error::AssemblyText`] with the position of the fault, and in most cases what was expected
/// there.
pub fn parse(text: &str) -> Result<Function, Error> {
    let tokens = lex(text)?;
    let function = Function {
        name: String::new(),
        buffers: vec![],
        params: vec![],
        locals: vec![],
        chunk: (Local(0), Local(0)),
        body: vec![],
    };
    let mut parser = FunctionParser { tokens, at: 0, depth: 0, function };
    parser.function()?;
    Ok(parser.function)
}

struct FunctionParser {
    tokens: Vec<(Token, TextPosition)>,
    at: usize,
    depth: usize,
    function: Function,
}

impl FunctionParser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].0.clone();
        // The last token is `End`, which is never consumed.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn error<T>(&self, expected: &str) -> Result<T, Error> {
        let (token, at) = &self.tokens[self.at];
        let found = match token {
            Token::Word(text) | Token::Number(text) => format!("`{text}`"),
            Token::Quoted(text) => format!("{text:?}"),
            Token::Mark(mark) => format!("`{mark}`"),
            Token::End => "the end".into(),
        };
        Err(Error::AssemblyText { at: *at, message: format!("expected {expected}, found {found}") })
    }

    fn accept(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Token::Mark(m) if *m == mark);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, mark: &str) -> Result<(), Error> {
        if self.accept(mark) { Ok(()) } else { self.error(&format!("`{mark}`")) }
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(w) if w == word);
        if found {
            self.next();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<(), Error> {
        if self.accept_word(word) { Ok(()) } else { self.error(&format!("`{word}`")) }
    }

    /// Reads a name in a declaration.
    fn declared_name(&mut self) -> Result<String, Error> {
        match self.peek().clone() {
            Token::Word(name) if is_identifier(&name) => {
                self.next();
                Ok(name)
            }
            Token::Quoted(name) => {
                self.next();
                Ok(name)
            }
            _ => self.error("a name"),
        }
    }

    fn prim(&mut self) -> Result<Prim, Error> {
        match self.peek() {
            Token::Word(word) => match Prim::from_name(word) {
                Some(prim) => {
                    self.next();
                    Ok(prim)
                }
                None => self.error("a type"),
            },
            _ => self.error("a type"),
        }
    }

    fn function(&mut self) -> Result<(), Error> {
        self.expect_word("fn")?;
        self.function.name = self.declared_name()?;
        self.expect("(")?;
        while !self.accept(")") {
            self.expect("$")?;
            let param = self.declared_name()?;
            self.function.params.push(param);
            if !self.accept(",") {
                self.expect(")")?;
                break;
            }
        }
        self.expect("{")?;
        loop {
            if self.accept_word("input") {
                self.buffer_decl(BufferRole::Input)?;
            } else if self.accept_word("owned") {
                self.buffer_decl(BufferRole::Owned)?;
            } else if self.accept_word("local") {
                let name = self.declared_name()?;
                self.expect(":")?;
                let prim = self.prim()?;
                self.function.locals.push(LocalDecl { name, prim });
            } else {
                break;
            }
        }
        self.expect_word("chunk")?;
        let lo = self.local()?;
        self.expect(",")?;
        self.function.chunk = (lo, self.local()?);
        self.function.body = self.stmts()?;
        match self.peek() {
            Token::End => Ok(()),
            _ => self.error("the end"),
        }
    }

    fn buffer_decl(&mut self, role: BufferRole) -> Result<(), Error> {
        let name = self.declared_name()?;
        self.expect(":")?;
        let class = if self.accept_word("value") {
            BufferClass::Value
        } else if self.accept_word("index") {
            BufferClass::Index
        } else {
            return self.error("`value` or `index`");
        };
        let prim = self.prim()?;
        let fill = if self.accept_word("fill") { self.scalar()? } else { Scalar::zero(prim) };
        self.function.buffers.push(BufferDecl { name, prim, class, role, fill });
        Ok(())
    }

    /// Reads a number without sign, fraction and type, such as the number after `#`.
    fn number<T: std::str::FromStr>(&mut self) -> Result<T, Error> {
        match self.peek() {
            Token::Number(digits) => match digits.parse() {
                Ok(number) => {
                    self.next();
                    Ok(number)
                }
                Err(_) => self.error("a whole number in range, without a type"),
            },
            _ => self.error("a number"),
        }
    }

    /// Reads a reference to an entry of a table: a name that exactly one entry has, or a number,
    /// which need not exist.
    fn reference(&mut self, what: &str, find: fn(&Function, &str) -> Option<usize>) -> Result<u32, Error> {
        if self.accept("#") {
            return self.number();
        }
        match self.peek() {
            Token::Word(name) => match find(&self.function, name) {
                Some(at) => {
                    self.next();
                    Ok(at as u32)
                }
                None => self.error(&format!("the name of exactly one {what}")),
            },
            _ => self.error(&format!("a {what}")),
        }
    }

    fn local(&mut self) -> Result<Local, Error> {
        self.reference("local", find_local).map(Local)
    }

    fn buffer(&mut self) -> Result<Buffer, Error> {
        self.reference("buffer", find_buffer).map(Buffer)
    }

    /// Reads the statements of a block and the closing brace; the opening brace has been read.
    fn stmts(&mut self) -> Result<Vec<Stmt>, Error> {
        self.enter_nesting()?;
        let mut stmts = vec![];
        while !self.accept("}") {
            stmts.push(self.stmt()?);
        }
        self.depth -= 1;
        Ok(stmts)
    }

    fn enter_nesting(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { self.error(&format!("at most {MAX_DEPTH} levels of nesting")) } else { Ok(()) }
    }

    fn braces(&mut self) -> Result<Vec<Stmt>, Error> {
        self.expect("{")?;
        self.stmts()
    }

    fn stmt(&mut self) -> Result<Stmt, Error> {
        if self.accept_word("if") {
            let cond = self.expr()?;
            let then = self.braces()?;
            let other = if self.accept_word("else") { self.braces()? } else { vec![] };
            return Ok(Stmt::If { cond, then, other });
        }
        if self.accept_word("while") {
            return Ok(Stmt::While { cond: self.expr()?, body: self.braces()? });
        }
        if self.accept_word("for") {
            let var = self.local()?;
            let (lo, hi) = self.range()?;
            return Ok(Stmt::For { var, lo, hi, body: self.braces()? });
        }
        if self.accept_word("break") {
            return Ok(Stmt::Break);
        }
        if self.accept_word("fold") {
            return self.fold();
        }
        if self.accept_word("grow") {
            let buffer = self.buffer()?;
            self.expect(",")?;
            return Ok(Stmt::Grow { buffer, len: self.expr()? });
        }
        if self.accept_word("sort") {
            let buffer = self.buffer()?;
            let (lo, hi) = self.range()?;
            return Ok(Stmt::Sort { buffer, lo, hi });
        }
        if self.accept_word("sort_by") {
            let perm = self.buffer()?;
            self.expect_word("by")?;
            let major = self.buffer()?;
            self.expect(",")?;
            let minor = self.buffer()?;
            let (lo, hi) = self.range()?;
            return Ok(Stmt::SortBy { perm, major, minor, lo, hi });
        }
        if self.accept_word("swap") {
            let buffer = self.buffer()?;
            self.expect(",")?;
            return Ok(Stmt::Swap(buffer, self.buffer()?));
        }
        if self.accept_word("return") {
            let status = match self.peek() {
                Token::Word(word) => Status::ALL.iter().find(|s| s.name() == word).copied(),
                _ => None,
            };
            let Some(status) = status else {
                return self.error("a status");
            };
            self.next();
            return Ok(Stmt::Return(status));
        }
        self.assignment()
    }

    /// Reads `local = value` or `buffer[at] = value`.
    fn assignment(&mut self) -> Result<Stmt, Error> {
        if self.is_indexed() {
            let buffer = self.buffer()?;
            let at = self.index()?;
            self.expect("=")?;
            return Ok(Stmt::store(buffer, at, self.expr()?));
        }
        let Ok(local) = self.local() else {
            return self.error("a statement");
        };
        self.expect("=")?;
        Ok(Stmt::Assign(local, self.expr()?))
    }

    /// Returns whether `[` follows the next reference.
    fn is_indexed(&self) -> bool {
        let width = if matches!(self.peek(), Token::Mark("#")) { 2 } else { 1 };
        matches!(self.tokens.get(self.at + width), Some((Token::Mark("["), _)))
    }

    fn index(&mut self) -> Result<Expr, Error> {
        self.expect("[")?;
        let at = self.expr()?;
        self.expect("]")?;
        Ok(at)
    }

    /// Reads `in lo..hi`.
    fn range(&mut self) -> Result<(Expr, Expr), Error> {
        self.expect_word("in")?;
        let lo = self.expr()?;
        self.expect("..")?;
        Ok((lo, self.expr()?))
    }

    fn fold(&mut self) -> Result<Stmt, Error> {
        let acc = self.local()?;
        self.expect_word("by")?;
        let Some(op) = self.binary_op() else {
            return self.error("an operator");
        };
        self.expect_word("from")?;
        let identity = self.scalar()?;
        self.expect_word("lanes")?;
        let lanes = self.number()?;
        self.expect_word("for")?;
        let var = self.local()?;
        let (lo, hi) = self.range()?;
        self.expect(":")?;
        let value = self.expr()?;
        Ok(Stmt::Lanes(Box::new(LaneFold { acc, op, identity, lanes, var, lo, hi, value })))
    }

    fn binary_op(&mut self) -> Option<BinaryOp> {
        let name = match self.peek() {
            Token::Mark(mark) => mark,
            Token::Word(word) => word.as_str(),
            _ => return None,
        };
        let op = BinaryOp::ALL.iter().find(|op| op.name() == name).copied()?;
        self.next();
        Some(op)
    }

    /// Reads an operand, or two with an operator between them.
    fn expr(&mut self) -> Result<Expr, Error> {
        self.enter_nesting()?;
        let first = self.operand()?;
        let mark = match self.peek() {
            Token::Mark(mark) => *mark,
            _ => "",
        };
        let expr = if let Some(op) = BinaryOp::ALL.iter().find(|op| op.name() == mark) {
            self.next();
            Expr::Binary(*op, Box::new(first), Box::new(self.operand()?))
        } else if let Some(op) = CompareOp::ALL.iter().find(|op| op.name() == mark) {
            self.next();
            Expr::Compare(*op, Box::new(first), Box::new(self.operand()?))
        } else {
            first
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn operand(&mut self) -> Result<Expr, Error> {
        if self.accept("(") {
            let expr = self.expr()?;
            self.expect(")")?;
            return Ok(expr);
        }
        if self.accept("$") {
            return self.reference("parameter", find_param).map(|p| Expr::Param(Param(p)));
        }
        if self.is_scalar() {
            return self.scalar().map(Expr::Const);
        }
        if let Token::Word(name) = self.peek().clone()
            && matches!(self.tokens.get(self.at + 1), Some((Token::Mark("("), _)))
        {
            return self.call(&name);
        }
        if self.is_indexed() {
            let buffer = self.buffer()?;
            return Ok(Expr::Load { buffer, at: Box::new(self.index()?) });
        }
        match self.peek() {
            Token::Word(_) | Token::Mark("#") => self.local().map(Expr::Local),
            _ => self.error("an expression"),
        }
    }

    fn call(&mut self, name: &str) -> Result<Expr, Error> {
        let unary = UnaryOp::ALL.iter().find(|op| op.name() == name);
        let binary = BinaryOp::ALL.iter().find(|op| op.name() == name);
        let math = MathFn::ALL.iter().find(|f| f.name() == name);
        let cast = Prim::from_name(name);
        if unary.is_none() && binary.is_none() && math.is_none() && cast.is_none() && name != "select" {
            return self.error("a function");
        }
        let at = self.tokens[self.at].1;
        self.next();
        let args = self.args()?;
        let found = args.len();
        let mut args = args.into_iter().map(Box::new);
        let mut take = || args.next().expect("arguments are counted in the pattern");
        Ok(match (unary, binary, math, cast, found) {
            (Some(op), _, _, _, 1) => Expr::Unary(*op, take()),
            (_, Some(op), _, _, 2) => Expr::Binary(*op, take(), take()),
            (_, _, Some(f), _, _) if found == f.implementation().arity() => Expr::Math(*f, args.map(|a| *a).collect()),
            (_, _, _, Some(prim), 1) => Expr::Cast(prim, take()),
            (None, None, None, None, 3) => Expr::Select(take(), take(), take()),
            _ => {
                let expected = match (binary, math) {
                    (Some(_), _) => 2,
                    (_, Some(f)) => f.implementation().arity(),
                    _ if name == "select" => 3,
                    _ => 1,
                };
                let arguments = if expected == 1 { "argument" } else { "arguments" };
                let message = format!("expected {expected} {arguments} of `{name}`, found {found}");
                return Err(Error::AssemblyText { at, message });
            }
        })
    }

    fn args(&mut self) -> Result<Vec<Expr>, Error> {
        self.expect("(")?;
        let mut args = vec![];
        while !self.accept(")") {
            args.push(self.expr()?);
            if !self.accept(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(args)
    }

    fn is_scalar(&self) -> bool {
        match self.peek() {
            Token::Number(_) => true,
            Token::Mark("-") => true,
            Token::Word(word) => {
                matches!(word.as_str(), "true" | "false" | "inf" | "nan")
                    || word.starts_with("inf_")
                    || word.starts_with("nan_")
            }
            _ => false,
        }
    }

    fn scalar(&mut self) -> Result<Scalar, Error> {
        if self.accept_word("true") {
            return Ok(Scalar::Bool(true));
        }
        if self.accept_word("false") {
            return Ok(Scalar::Bool(false));
        }
        let sign = if self.accept("-") { "-" } else { "" };
        let text = match self.peek() {
            Token::Number(text) | Token::Word(text) => text.clone(),
            _ => return self.error("a constant"),
        };
        let (digits, prim) = match text.split_once('_') {
            Some((digits, prim)) => (digits, Prim::from_name(prim)),
            None => (text.as_str(), Some(bare_prim(text.contains(['.', 'e', 'i', 'n'])))),
        };
        // The sign of a NaN has no meaning.
        let word = if digits == "nan" { digits.to_owned() } else { format!("{sign}{digits}") };
        match prim.filter(|prim| *prim != Prim::Bool).and_then(|prim| read_prim(prim, &word)) {
            Some(value) => {
                self.next();
                Ok(value)
            }
            None => self.error("a constant that fits its type"),
        }
    }
}

/// Returns the index of the only entry with the name; `None` if there is no entry or several.
fn unique_position<'a>(mut names: impl Iterator<Item = &'a str>, name: &str) -> Option<usize> {
    let at = names.position(|n| n == name)?;
    names.all(|n| n != name).then_some(at)
}

fn find_local(f: &Function, name: &str) -> Option<usize> {
    unique_position(f.locals.iter().map(|d| d.name.as_str()), name)
}

fn find_buffer(f: &Function, name: &str) -> Option<usize> {
    unique_position(f.buffers.iter().map(|d| d.name.as_str()), name)
}

fn find_param(f: &Function, name: &str) -> Option<usize> {
    unique_position(f.params.iter().map(String::as_str), name)
}
