//! Affine forms over fields: the coordinate at which an access reads a mode.

use crate::field::Field;
use std::fmt;

/// `constant + sum of coefficient * field`: window, offset, stride, reverse, toeplitz, split and diagonal are all of
/// this form. Terms are sorted by field and have non-zero coefficients.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Affine {
    /// The constant.
    pub constant: i64,
    /// Fields and their coefficients.
    pub terms: Vec<(Field, i64)>,
}

impl Affine {
    /// The form that is just that field.
    pub fn field(field: Field) -> Affine {
        Affine { constant: 0, terms: vec![(field, 1)] }
    }

    /// A constant.
    pub fn constant(constant: i64) -> Affine {
        Affine { constant, terms: Vec::new() }
    }

    /// The field, when the form is a field alone.
    pub fn as_field(&self) -> Option<&Field> {
        match &self.terms[..] {
            [(field, 1)] if self.constant == 0 => Some(field),
            _ => None,
        }
    }

    /// The coefficient of `field`; 0 when it does not occur.
    pub fn coefficient(&self, field: &Field) -> i64 {
        self.terms.iter().find(|(f, _)| f == field).map_or(0, |(_, c)| *c)
    }

    /// The sum of two forms.
    pub fn plus(&self, other: &Affine) -> Affine {
        let mut sum = Affine { constant: self.constant + other.constant, terms: self.terms.clone() };
        for (field, c) in &other.terms {
            match sum.terms.binary_search_by(|(f, _)| f.cmp(field)) {
                Ok(at) => sum.terms[at].1 += c,
                Err(at) => sum.terms.insert(at, (field.clone(), *c)),
            }
        }
        sum.terms.retain(|(_, c)| *c != 0);
        sum
    }

    /// The form times a constant.
    pub fn times(&self, factor: i64) -> Affine {
        let terms = if factor == 0 { Vec::new() } else { self.terms.clone() };
        Affine {
            constant: self.constant * factor,
            terms: terms.into_iter().map(|(f, c)| (f, c * factor)).collect(),
        }
    }

    /// The form with every field replaced by a form.
    pub fn substitute(&self, with: &dyn Fn(&Field) -> Affine) -> Affine {
        self.terms
            .iter()
            .fold(Affine::constant(self.constant), |sum, (field, c)| sum.plus(&with(field).times(*c)))
    }

    /// The value where each field has the value that `of` gives.
    pub fn evaluate(&self, of: &dyn Fn(&Field) -> i64) -> i64 {
        self.terms.iter().fold(self.constant, |sum, (field, c)| sum + c * of(field))
    }
}

impl fmt::Display for Affine {
    /// `i`, `3`, `(+ i 1)`, `(+ (* 4 io) ii)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        for (field, c) in &self.terms {
            parts.push(if *c == 1 { field.to_string() } else { format!("(* {c} {field})") });
        }
        if self.constant != 0 || parts.is_empty() {
            parts.push(self.constant.to_string());
        }
        match &parts[..] {
            [one] => f.write_str(one),
            _ => write!(f, "(+ {})", parts.join(" ")),
        }
    }
}
