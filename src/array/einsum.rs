//! Sums of products in Einstein notation, with any two operators in place of sum and product.

use super::align::check_sizes;
use super::error::Cause;
use super::reduce::identity;
use super::state::{ArrayState, ModeStyle, SharedState, positions};
use super::{Array, Operand};
use crate::session::Session;
use redpoll_logic::op::{Arity, Builtin, Op};
use redpoll_logic::{Expr, Field};
use std::panic::Location;

impl Session {
    /// Computes the sum of products described by `spec`. Letters name the modes of each operand,
    /// and letters that are not after the arrow are summed over. Without an arrow, the letters that
    /// occur once are kept, in alphabetical order. A letter repeated in one operand selects a
    /// diagonal.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [1, 2, 3, 4]);
    /// assert_eq!(session.einsum("ij,jk->ik", [&a, &a]).to_vec::<i32>()?, [7, 10, 15, 22]);
    /// assert_eq!(session.einsum("ii", [&a]).to_vec::<i32>()?, [5]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn einsum<A: Into<Operand>>(&self, spec: &str, arrays: impl IntoIterator<Item = A>) -> Array {
        let arrays: Vec<Operand> = arrays.into_iter().map(Into::into).collect();
        self.einsum_of("einsum", spec, &arrays, &Builtin::Add.into(), &Builtin::Mul.into())
    }

    /// Computes [`Session::einsum`] over any semiring: with other operators in place of sum and
    /// product, such as (min, +) for shortest paths.
    ///
    /// ```
    /// use redpoll::logic::op::Builtin;
    ///
    /// let session = redpoll::Session::default();
    /// let step = session.dense([2, 2], [0.0, 3.0, 5.0, 0.0]);
    /// let from = session.vector([f64::INFINITY, 1.0]);
    /// let to = session.einsum_with("i,ij->j", [&from, &step], Builtin::Min, Builtin::Add);
    /// assert_eq!(to.to_vec::<f64>()?, [6.0, 1.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn einsum_with<A: Into<Operand>>(
        &self,
        spec: &str,
        arrays: impl IntoIterator<Item = A>,
        sum: impl Into<Op>,
        product: impl Into<Op>,
    ) -> Array {
        let arrays: Vec<Operand> = arrays.into_iter().map(Into::into).collect();
        self.einsum_of("einsum_with", spec, &arrays, &sum.into(), &product.into())
    }

    #[track_caller]
    fn einsum_of(&self, operation: &'static str, spec: &str, arrays: &[Operand], sum: &Op, product: &Op) -> Array {
        let location = Location::caller();
        let states: Result<Vec<ArrayState>, _> = arrays.iter().map(Operand::state).collect();
        let result = match states {
            Ok(states) => einsum(spec, &states, sum, product),
            Err(error) => return Array { session: self.clone(), state: SharedState::new(Err(error)) },
        };
        match result {
            Ok(state) => Array::new(self.clone(), state),
            Err(cause) => self.error_array(operation, location, cause),
        }
    }
}

/// Parses the letters of each operand and of the result.
fn parse(spec: &str) -> Result<(Vec<Vec<Field>>, Vec<Field>), Cause> {
    let error = |why: &str| Cause::Shape(format!("\"{spec}\" {why}"));
    let text: String = spec.chars().filter(|c| !c.is_whitespace()).collect();
    let (operands, result) = match text.split_once("->") {
        Some((operands, result)) => (operands, Some(result)),
        None => (&text[..], None),
    };
    if let Some(c) = text.replace("->", "").chars().find(|c| !c.is_alphabetic() && *c != ',') {
        return Err(error(&format!("has the character {c:?}; expected letters, commas and an arrow")));
    }
    let letters = |part: &str| part.chars().map(|c| Field::from(c.to_string())).collect::<Vec<_>>();
    let operands_of: Vec<Vec<Field>> = operands.split(',').map(letters).collect();
    let result = match result {
        Some(result) => letters(result),
        None => {
            let mut all: Vec<char> = operands.chars().filter(|c| *c != ',').collect();
            all.sort_unstable();
            let once = all.iter().filter(|c| all.iter().filter(|d| d == c).count() == 1);
            once.map(|c| Field::from(c.to_string())).collect()
        }
    };
    for (k, letter) in result.iter().enumerate() {
        if result[..k].contains(letter) {
            return Err(error(&format!("has `{letter}` twice in the result")));
        }
        if operands_of.iter().all(|o| !o.contains(letter)) {
            return Err(error(&format!("has `{letter}` in the result, but in no operand")));
        }
    }
    Ok((operands_of, result))
}

fn einsum(spec: &str, states: &[ArrayState], sum: &Op, product: &Op) -> Result<ArrayState, Cause> {
    let (operands, result) = parse(spec)?;
    if operands.len() != states.len() {
        let (names, found) = (operands.len(), states.len());
        return Err(Cause::Shape(format!("\"{spec}\" names {names} operands, but {found} are given")));
    }
    let mut exprs = Vec::new();
    for (state, letters) in states.iter().zip(&operands) {
        exprs.push(state.require_numbered()?.name_modes(letters)?.expr);
    }
    check_sizes(&exprs, states)?;
    let joined = multiply(product, exprs)?;
    let reduced: Vec<Field> = joined.info().fields.iter().filter(|f| !result.contains(f)).cloned().collect();
    let reduced = match reduced.is_empty() {
        true => joined,
        false => {
            let init = identity(sum, &joined.info().dtype)?;
            Expr::aggregate(sum.clone(), init, joined, reduced)?
        }
    };
    let expr = reduced.reorder(result.iter().cloned())?.relabel(positions(result.len()))?;
    Ok(ArrayState { expr, style: ModeStyle::Positional, sources: ArrayState::sources(states) })
}

/// Applies the operator once to all expressions if the operator takes a variable number of
/// arguments and there are enough expressions. Otherwise, applies the operator to pairs, from left
/// to right.
fn multiply(product: &Op, exprs: Vec<Expr>) -> Result<Expr, Cause> {
    let is_variadic = matches!(product.arity(), Arity::AtLeast(n) if n <= exprs.len());
    if is_variadic {
        return Ok(Expr::mapjoin(product.clone(), exprs)?);
    }
    let mut exprs = exprs.into_iter();
    let Some(first) = exprs.next() else { return Err(Cause::Shape("expected at least one operand".to_owned())) };
    exprs.try_fold(first, |left, right| Ok(Expr::mapjoin(product.clone(), [left, right])?))
}
