//! Printing of Assembly.

use super::names::is_identifier;
use crate::assembly::{
    BinaryOp, Buffer, BufferClass, BufferRole, Expr, Extension, Function, LaneFold, Local, Param, Stmt,
};
use redpoll_logic::{Prim, Scalar};
use std::collections::HashMap;
use std::fmt;

/// Returns the text of a function; see the module docs of [`text`](crate::assembly::text).
pub fn print(function: &Function) -> String {
    let mut printer = FunctionPrinter::new(function);
    printer.function();
    printer.finish()
}

/// Returns the text of one statement of a function, including bodies.
pub fn print_stmt(function: &Function, stmt: &Stmt) -> String {
    let mut printer = FunctionPrinter::new(function);
    printer.stmt(stmt);
    printer.finish()
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}

/// A printer of the declarations of a function and of statements that refer to these, with the text
/// so far. The statements may be those that a machine adds to Assembly.
pub struct FunctionPrinter<'f> {
    function: &'f Function,
    locals: Vec<String>,
    buffers: Vec<String>,
    params: Vec<String>,
    depth: usize,
    out: String,
}

/// Returns the text that refers to each entry of a table: its name, or its number if the name is
/// not an identifier or not unique.
fn references<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for name in names.clone() {
        *uses.entry(name).or_default() += 1;
    }
    let reference = |(k, name): (usize, &str)| {
        if is_identifier(name) && uses[name] == 1 { name.to_string() } else { format!("#{k}") }
    };
    names.enumerate().map(reference).collect()
}

/// Returns a name in a declaration: bare, or quoted if it is not an identifier.
fn quote_if_needed(name: &str) -> String {
    if is_identifier(name) { name.to_string() } else { format!("{name:?}") }
}

fn scalar(value: &Scalar) -> String {
    match value {
        Scalar::Bool(_) | Scalar::I64(_) | Scalar::F64(_) | Scalar::Struct(..) => value.to_string(),
        _ => format!("{value}_{}", value.dtype()),
    }
}

impl<'f> FunctionPrinter<'f> {
    /// Returns a printer without text.
    pub fn new(function: &'f Function) -> FunctionPrinter<'f> {
        FunctionPrinter {
            function,
            locals: references(function.locals.iter().map(|d| d.name.as_str())),
            buffers: references(function.buffers.iter().map(|d| d.name.as_str())),
            params: references(function.params.iter().map(String::as_str)),
            depth: 0,
            out: String::new(),
        }
    }

    /// Returns the text.
    pub fn finish(self) -> String {
        self.out
    }

    /// Prints a line.
    pub fn line(&mut self, text: impl AsRef<str>) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    fn function(&mut self) {
        let f = self.function;
        let role = |k: usize| match f.buffers[k].role {
            BufferRole::Input => "input",
            BufferRole::Owned => "owned",
        };
        self.header("fn", "", &role);
        self.nested(|p| p.stmts(&f.body));
        self.line("}");
    }

    /// Prints a header line, up to the opening brace, and the declarations of the function. The
    /// line starts with `word`, and `suffix` follows the parameters; `role` returns the role of a
    /// buffer by its number.
    pub fn header(&mut self, word: &str, suffix: &str, role: &dyn Fn(usize) -> &'static str) {
        let f = self.function;
        let params: Vec<String> = f.params.iter().map(|p| format!("${}", quote_if_needed(p))).collect();
        self.line(format!("{word} {}({}){suffix} {{", quote_if_needed(&f.name), params.join(", ")));
        self.nested(|p| {
            for (k, decl) in f.buffers.iter().enumerate() {
                let class = match decl.class {
                    BufferClass::Value => "value",
                    BufferClass::Index => "index",
                };
                let fill = match decl.role {
                    BufferRole::Input if decl.fill == Scalar::zero(decl.prim) => String::new(),
                    _ => format!(" fill {}", scalar(&decl.fill)),
                };
                p.line(format!("{} {}: {class} {}{fill}", role(k), quote_if_needed(&decl.name), decl.prim));
            }
            for decl in &f.locals {
                p.line(format!("local {}: {}", quote_if_needed(&decl.name), decl.prim));
            }
            let chunk = format!("chunk {}, {}", p.local(f.chunk.0), p.local(f.chunk.1));
            p.line(chunk);
        });
    }

    // An id outside of its table, which the verifier reports, is printed as its number.

    /// Returns the reference to a local.
    pub fn local(&self, local: Local) -> String {
        self.locals.get(local.index()).cloned().unwrap_or_else(|| format!("#{}", local.0))
    }

    /// Returns the reference to a buffer.
    pub fn buffer(&self, buffer: Buffer) -> String {
        self.buffers.get(buffer.index()).cloned().unwrap_or_else(|| format!("#{}", buffer.0))
    }

    fn param(&self, param: Param) -> String {
        self.params.get(param.index()).map_or_else(|| format!("$#{}", param.0), |p| format!("${p}"))
    }

    /// Prints statements.
    pub fn stmts<X: Extension>(&mut self, stmts: &[Stmt<X>]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    /// Prints lines with one more level of indentation.
    pub fn nested(&mut self, lines: impl FnOnce(&mut Self)) {
        self.depth += 1;
        lines(self);
        self.depth -= 1;
    }

    /// Prints a statement with its bodies.
    pub fn stmt<X: Extension>(&mut self, stmt: &Stmt<X>) {
        match stmt {
            Stmt::Assign(local, value) => self.line(format!("{} = {}", self.local(*local), self.expr(value))),
            Stmt::Store { active, buffer, at, value } => {
                let prefix = X::store_prefix(*active);
                self.line(format!("{prefix}{}[{}] = {}", self.buffer(*buffer), self.expr(at), self.expr(value)));
            }
            Stmt::If { cond, then, other } => {
                self.line(format!("if {} {{", self.expr(cond)));
                self.nested(|p| p.stmts(then));
                if !other.is_empty() {
                    self.line("} else {");
                    self.nested(|p| p.stmts(other));
                }
                self.line("}");
            }
            Stmt::While { cond, body } => {
                self.line(format!("while {} {{", self.expr(cond)));
                self.nested(|p| p.stmts(body));
                self.line("}");
            }
            Stmt::For { var, lo, hi, body } => {
                self.line(format!("for {} in {}..{} {{", self.local(*var), self.expr(lo), self.expr(hi)));
                self.nested(|p| p.stmts(body));
                self.line("}");
            }
            Stmt::Break => self.line("break"),
            Stmt::Lanes(fold) => self.fold(fold),
            Stmt::Grow { buffer, len } => self.line(format!("grow {}, {}", self.buffer(*buffer), self.expr(len))),
            Stmt::Sort { buffer, lo, hi } => {
                self.line(format!("sort {} in {}..{}", self.buffer(*buffer), self.expr(lo), self.expr(hi)));
            }
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                let [perm, major, minor] = [perm, major, minor].map(|b| self.buffer(*b));
                self.line(format!("sort_by {perm} by {major}, {minor} in {}..{}", self.expr(lo), self.expr(hi)));
            }
            Stmt::Swap(a, b) => self.line(format!("swap {}, {}", self.buffer(*a), self.buffer(*b))),
            Stmt::Return(status) => self.line(format!("return {}", status.name())),
            Stmt::Extension(added) => added.print(self),
        }
    }

    fn fold(&mut self, fold: &LaneFold) {
        let LaneFold { acc, op, identity, lanes, var, lo, hi, value } = fold;
        let (acc, var, op, identity) = (self.local(*acc), self.local(*var), op.name(), scalar(identity));
        let (lo, hi, value) = (self.expr(lo), self.expr(hi), self.expr(value));
        self.line(format!("fold {acc} by {op} from {identity} lanes {lanes} for {var} in {lo}..{hi}: {value}"));
    }

    fn call(&self, name: &str, args: &[&Expr]) -> String {
        let args: Vec<String> = args.iter().map(|a| self.expr(a)).collect();
        format!("{name}({})", args.join(", "))
    }

    /// Returns the text of an operand, in parentheses if it is an infix operator.
    pub fn operand(&self, expr: &Expr) -> String {
        match expr {
            Expr::Compare(..) => format!("({})", self.expr(expr)),
            Expr::Binary(op, ..) if !matches!(op, BinaryOp::Min | BinaryOp::Max) => format!("({})", self.expr(expr)),
            _ => self.expr(expr),
        }
    }

    /// Returns the text of an expression.
    pub fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => scalar(value),
            Expr::Local(local) => self.local(*local),
            Expr::Param(param) => self.param(*param),
            Expr::Load { buffer, at } => format!("{}[{}]", self.buffer(*buffer), self.expr(at)),
            Expr::Unary(op, a) => self.call(op.name(), &[a]),
            Expr::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) => self.call(op.name(), &[a, b]),
            Expr::Binary(op, a, b) => format!("{} {} {}", self.operand(a), op.name(), self.operand(b)),
            Expr::Compare(op, a, b) => format!("{} {} {}", self.operand(a), op.name(), self.operand(b)),
            Expr::Select(c, a, b) => self.call("select", &[c, a, b]),
            Expr::Cast(to, a) => self.call(to.name(), &[a]),
            Expr::Math(function, args) => self.call(function.name(), &args.iter().collect::<Vec<_>>()),
        }
    }
}

/// Returns the type of a number that is written without its type: `f64` if the number has the form
/// of a float, else `i64`.
pub(super) fn bare_prim(is_float: bool) -> Prim {
    if is_float { Prim::F64 } else { Prim::I64 }
}
