//! Affine forms over fields, and subscripts: the coordinate at which an access reads a mode.

use crate::field::Field;
use std::fmt;

/// The form `constant + sum of coefficient * field`. Window, offset, stride, reverse, toeplitz,
/// split and diagonal are all of this form. Terms are sorted by field and have non-zero
/// coefficients.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Affine {
    /// Constant term.
    pub constant: i64,
    /// Fields and their coefficients.
    pub terms: Vec<(Field, i64)>,
}

impl Affine {
    /// Creates the form that is the given field alone.
    pub fn field(field: Field) -> Affine {
        Affine { constant: 0, terms: vec![(field, 1)] }
    }

    /// Creates a constant form.
    pub fn constant(constant: i64) -> Affine {
        Affine { constant, terms: Vec::new() }
    }

    /// Returns the field, if the form is a field alone.
    pub fn as_field(&self) -> Option<&Field> {
        match &self.terms[..] {
            [(field, 1)] if self.constant == 0 => Some(field),
            _ => None,
        }
    }

    /// Returns the coefficient of `field`; 0 if the field does not occur.
    pub fn coefficient(&self, field: &Field) -> i64 {
        self.terms.iter().find(|(f, _)| f == field).map_or(0, |(_, c)| *c)
    }

    /// Returns the sum of two forms.
    ///
    /// # Panics
    /// Panics on overflow of `i64`; forms of well-formed expressions are far from it.
    pub fn plus(&self, other: &Affine) -> Affine {
        self.checked_plus(other).expect("the coefficients of well-formed affine forms fit 64 bits")
    }

    /// Returns the sum of two forms; `None` on overflow.
    pub fn checked_plus(&self, other: &Affine) -> Option<Affine> {
        let constant = self.constant.checked_add(other.constant)?;
        let mut sum = Affine { constant, terms: self.terms.clone() };
        for (field, c) in &other.terms {
            match sum.terms.binary_search_by(|(f, _)| f.cmp(field)) {
                Ok(k) => sum.terms[k].1 = sum.terms[k].1.checked_add(*c)?,
                Err(k) => sum.terms.insert(k, (field.clone(), *c)),
            }
        }
        sum.terms.retain(|(_, c)| *c != 0);
        Some(sum)
    }

    /// Returns the form times a constant.
    ///
    /// # Panics
    /// Panics on overflow of `i64`; forms of well-formed expressions are far from it.
    pub fn times(&self, factor: i64) -> Affine {
        self.checked_times(factor).expect("the coefficients of well-formed affine forms fit 64 bits")
    }

    /// Returns the form times a constant; `None` on overflow.
    pub fn checked_times(&self, factor: i64) -> Option<Affine> {
        let terms = if factor == 0 { &[][..] } else { &self.terms[..] };
        let scaled = |(f, c): &(Field, i64)| Some((f.clone(), c.checked_mul(factor)?));
        Some(Affine {
            constant: self.constant.checked_mul(factor)?,
            terms: terms.iter().map(scaled).collect::<Option<_>>()?,
        })
    }

    /// Replaces every field by a form.
    pub fn substitute(&self, replacement: &dyn Fn(&Field) -> Affine) -> Affine {
        self.terms
            .iter()
            .fold(Affine::constant(self.constant), |sum, (field, c)| sum.plus(&replacement(field).times(*c)))
    }

    /// Evaluates the form, with the value of each field given by `value_of`.
    pub fn evaluate(&self, value_of: &dyn Fn(&Field) -> i64) -> i64 {
        self.terms.iter().fold(self.constant, |sum, (field, c)| sum + c * value_of(field))
    }
}

impl fmt::Display for Affine {
    /// Writes `i`, `3`, `(+ i 1)`, `(+ (* 4 io) ii)`.
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

/// The coordinate at which an access reads a mode.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Subscript {
    /// An affine form of fields.
    Affine(Affine),
    /// The form divided by a block size, rounded down.
    Outer(Affine, u64),
    /// The form modulo a block size, never negative.
    Inner(Affine, u64),
}

impl Subscript {
    /// Creates the subscript that is the given field alone.
    pub fn field(field: Field) -> Subscript {
        Subscript::Affine(Affine::field(field))
    }

    /// Returns the affine form inside the subscript.
    pub fn form(&self) -> &Affine {
        match self {
            Subscript::Affine(a) | Subscript::Outer(a, _) | Subscript::Inner(a, _) => a,
        }
    }

    /// Returns the field, if the subscript is a field alone.
    pub fn as_field(&self) -> Option<&Field> {
        match self {
            Subscript::Affine(a) => a.as_field(),
            _ => None,
        }
    }

    /// Replaces every field by a form.
    pub fn substitute(&self, replacement: &dyn Fn(&Field) -> Affine) -> Subscript {
        match self {
            Subscript::Affine(a) => Subscript::Affine(a.substitute(replacement)),
            Subscript::Outer(a, b) => Subscript::Outer(a.substitute(replacement), *b),
            Subscript::Inner(a, b) => Subscript::Inner(a.substitute(replacement), *b),
        }
    }

    /// Evaluates the subscript, with the value of each field given by `value_of`.
    pub fn evaluate(&self, value_of: &dyn Fn(&Field) -> i64) -> i64 {
        self.apply(self.form().evaluate(value_of))
    }

    /// Returns bounds of the value, inclusive, while every field ranges over `0..size`. Returns
    /// `None` if a field has no size or size zero, or if a bound overflows `i64`.
    pub fn range(&self, size: &dyn Fn(&Field) -> Option<u64>) -> Option<(i64, i64)> {
        let (mut low, mut high) = (i128::from(self.form().constant), i128::from(self.form().constant));
        for (field, c) in &self.form().terms {
            let reach = i128::from(*c) * i128::from(size(field)?.checked_sub(1)?);
            low += reach.min(0);
            high += reach.max(0);
        }
        let (low, high) = (i64::try_from(low).ok()?, i64::try_from(high).ok()?);
        Some(match self {
            Subscript::Affine(_) => (low, high),
            Subscript::Outer(..) => (self.apply(low), self.apply(high)),
            Subscript::Inner(_, block) => {
                let block = i64::try_from(*block).ok()?;
                if low.div_euclid(block) == high.div_euclid(block) {
                    (low.rem_euclid(block), high.rem_euclid(block))
                } else {
                    (0, block - 1)
                }
            }
        })
    }

    /// Applies the division or modulo, if any, to a value of the form.
    fn apply(&self, form: i64) -> i64 {
        match self {
            Subscript::Affine(_) => form,
            Subscript::Outer(_, block) => form.div_euclid(*block as i64),
            Subscript::Inner(_, block) => form.rem_euclid(*block as i64),
        }
    }
}

impl fmt::Display for Subscript {
    /// Writes the form, `(quot FORM block)` or `(mod FORM block)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subscript::Affine(a) => a.fmt(f),
            Subscript::Outer(a, b) => write!(f, "(quot {a} {b})"),
            Subscript::Inner(a, b) => write!(f, "(mod {a} {b})"),
        }
    }
}

/// Returns whether a mixed-radix number ascends with its digits: each step exceeds the reach of the
/// steps inside it. Takes each digit's step and number of values, the outermost digit first. The
/// number of values of the outermost digit does not matter; an unknown one inside it gives false.
///
/// ```
/// use redpoll_logic::is_ascending_mixed_radix;
///
/// assert!(is_ascending_mixed_radix(&[(4, None), (1, Some(4))]));
/// assert!(!is_ascending_mixed_radix(&[(4, None), (1, Some(5))]));
/// assert!(!is_ascending_mixed_radix(&[(1, Some(4)), (4, Some(2))]));
/// assert!(!is_ascending_mixed_radix(&[(4, Some(2)), (1, None)]));
/// ```
pub fn is_ascending_mixed_radix(digits: &[(i64, Option<u64>)]) -> bool {
    let mut reach = Some(0_i64);
    digits.iter().rev().all(|(step, count)| {
        let exceeds = reach.is_some_and(|reach| *step > reach);
        let last = count.and_then(|n| i64::try_from(n.saturating_sub(1)).ok());
        reach = reach.zip(last).and_then(|(reach, last)| reach.checked_add(step.checked_mul(last)?));
        exceeds
    })
}
