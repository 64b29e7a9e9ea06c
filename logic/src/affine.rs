//! Affine forms over fields and parameters, subscripts (the coordinates at which accesses read
//! modes), and a test of the order of mixed-radix numbers.

use crate::dtype::Prim;
use crate::field::{Alias, Field};
use crate::format::{Format, TensorType};
use crate::scalar::Scalar;
use std::fmt;

/// The form `constant + sum of coefficient * parameter + sum of coefficient * field`. Subscripts of
/// the index maps `window`, `offset`, `stride`, `reverse`, `toeplitz`, `split` and `diagonal` have
/// this form. Parameters and terms are sorted and have non-zero coefficients.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Affine {
    /// Constant term.
    pub constant: i64,
    /// Parameters and their coefficients.
    pub parameters: Vec<(Parameter, i64)>,
    /// Fields and their coefficients.
    pub terms: Vec<(Field, i64)>,
}

/// An offset of an affine form that is not known before a run: the value of an input of rank 0. The
/// offset is the same at all coordinates, like a constant.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Parameter {
    /// The input, of the type [`Parameter::input_type`].
    pub input: Alias,
    /// Number of possible values, which are `0..size`.
    pub size: u64,
}

impl Parameter {
    /// Returns the type of the inputs that give parameters their values.
    pub fn input_type() -> TensorType {
        TensorType { shape: Vec::new(), dtype: Prim::I64.into(), fill: Scalar::I64(0), format: Format::dense(0) }
    }

    /// Returns whether the parameter may have the value.
    pub fn has_value(&self, value: i64) -> bool {
        u64::try_from(value).is_ok_and(|value| value < self.size)
    }
}

impl Affine {
    /// Creates the form that is the given field alone.
    pub fn field(field: Field) -> Affine {
        Affine { terms: vec![(field, 1)], ..Affine::constant(0) }
    }

    /// Creates the form that is the given parameter alone.
    pub fn parameter(parameter: Parameter) -> Affine {
        Affine { parameters: vec![(parameter, 1)], ..Affine::constant(0) }
    }

    /// Creates a constant form.
    pub fn constant(constant: i64) -> Affine {
        Affine { constant, parameters: Vec::new(), terms: Vec::new() }
    }

    /// Returns the field, if the form is a field alone.
    pub fn as_field(&self) -> Option<&Field> {
        match &self.terms[..] {
            [(field, 1)] if self.has_offset(0) => Some(field),
            _ => None,
        }
    }

    /// Returns the constant, if the form has neither fields nor parameters.
    pub fn as_constant(&self) -> Option<i64> {
        (self.terms.is_empty() && self.parameters.is_empty()).then_some(self.constant)
    }

    /// Returns whether the form without its fields is the constant `offset`.
    pub fn has_offset(&self, offset: i64) -> bool {
        self.constant == offset && self.parameters.is_empty()
    }

    /// Returns whether two forms have the same constant and the same parameters.
    pub fn has_offset_of(&self, other: &Affine) -> bool {
        self.constant == other.constant && self.parameters == other.parameters
    }

    /// Returns the coefficient of `field`; 0 if the field does not occur.
    pub fn coefficient(&self, field: &Field) -> i64 {
        self.terms.iter().find(|(f, _)| f == field).map_or(0, |(_, c)| *c)
    }

    /// Returns the sum of two forms.
    ///
    /// # Panics
    /// Panics on overflow of `i64`.
    pub fn plus(&self, other: &Affine) -> Affine {
        self.checked_plus(other).expect("the coefficients of well-formed affine forms fit 64 bits")
    }

    /// Returns the sum of two forms; `None` on overflow.
    pub fn checked_plus(&self, other: &Affine) -> Option<Affine> {
        Some(Affine {
            constant: self.constant.checked_add(other.constant)?,
            parameters: sum(&self.parameters, &other.parameters)?,
            terms: sum(&self.terms, &other.terms)?,
        })
    }

    /// Returns the form times a constant.
    ///
    /// # Panics
    /// Panics on overflow of `i64`.
    pub fn times(&self, factor: i64) -> Affine {
        self.checked_times(factor).expect("the coefficients of well-formed affine forms fit 64 bits")
    }

    /// Returns the form times a constant; `None` on overflow.
    pub fn checked_times(&self, factor: i64) -> Option<Affine> {
        Some(Affine {
            constant: self.constant.checked_mul(factor)?,
            parameters: scaled(&self.parameters, factor)?,
            terms: scaled(&self.terms, factor)?,
        })
    }

    /// Returns `quotient` and `rest` with `form = by * quotient + rest`. The divisor `by` is
    /// positive. All parameters and terms whose coefficients are multiples of `by` go to the
    /// quotient, the others to the rest. The constant of the rest is in `0..by`.
    pub fn divide(&self, by: i64) -> (Affine, Affine) {
        let (parameters, other_parameters) = divide(&self.parameters, by);
        let (terms, other_terms) = divide(&self.terms, by);
        let quotient = Affine { constant: self.constant.div_euclid(by), parameters, terms };
        let rest = Affine { constant: self.constant.rem_euclid(by), parameters: other_parameters, terms: other_terms };
        (quotient, rest)
    }

    /// Replaces every field by a form.
    ///
    /// # Panics
    /// Panics on overflow of `i64`.
    pub fn substitute(&self, replacement: &dyn Fn(&Field) -> Affine) -> Affine {
        self.checked_substitute(replacement).expect("the coefficients of the form fit 64 bits")
    }

    /// Replaces every field by a form; `None` on overflow.
    pub fn checked_substitute(&self, replacement: &dyn Fn(&Field) -> Affine) -> Option<Affine> {
        let offset = Affine { terms: Vec::new(), ..self.clone() };
        self.terms.iter().try_fold(offset, |sum, (field, c)| sum.checked_plus(&replacement(field).checked_times(*c)?))
    }

    /// Replaces every parameter by its value.
    pub fn bind(&self, value_of: &dyn Fn(&Parameter) -> i64) -> Affine {
        let constant = self.parameters.iter().fold(self.constant, |sum, (p, c)| sum + c * value_of(p));
        Affine { constant, terms: self.terms.clone(), parameters: Vec::new() }
    }

    /// Evaluates the form, with the value of each field given by `value_of`.
    ///
    /// # Panics
    /// Panics if the form has parameters; [`Affine::bind`] replaces them.
    pub fn evaluate(&self, value_of: &dyn Fn(&Field) -> i64) -> i64 {
        assert!(self.parameters.is_empty(), "the parameters of {self} are not bound");
        // Partial sums may wrap around even if the value does not.
        let term = |(field, c): &(Field, i64)| c.wrapping_mul(value_of(field));
        self.terms.iter().map(term).fold(self.constant, i64::wrapping_add)
    }
}

/// A list of coefficients.
type Coefficients<T> = Vec<(T, i64)>;

/// Returns the sum of two sorted lists of coefficients, without zeros; `None` on overflow.
fn sum<T: Ord + Clone>(a: &[(T, i64)], b: &[(T, i64)]) -> Option<Coefficients<T>> {
    let mut sum = a.to_vec();
    for (name, c) in b {
        match sum.binary_search_by(|(n, _)| n.cmp(name)) {
            Ok(k) => sum[k].1 = sum[k].1.checked_add(*c)?,
            Err(k) => sum.insert(k, (name.clone(), *c)),
        }
    }
    sum.retain(|(_, c)| *c != 0);
    Some(sum)
}

/// Returns a list of coefficients times a constant; `None` on overflow.
fn scaled<T: Clone>(coefficients: &[(T, i64)], factor: i64) -> Option<Coefficients<T>> {
    let coefficients = if factor == 0 { &[][..] } else { coefficients };
    coefficients.iter().map(|(name, c)| Some((name.clone(), c.checked_mul(factor)?))).collect()
}

/// Splits coefficients into the multiples of `by`, which are divided by `by`, and the others.
fn divide<T: Clone>(coefficients: &[(T, i64)], by: i64) -> (Coefficients<T>, Coefficients<T>) {
    let (multiples, others): (Vec<_>, Vec<_>) = coefficients.iter().cloned().partition(|(_, c)| c % by == 0);
    (multiples.into_iter().map(|(name, c)| (name, c / by)).collect(), others)
}

impl fmt::Display for Parameter {
    /// Writes `(parameter input size)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(parameter {} {})", self.input, self.size)
    }
}

impl fmt::Display for Affine {
    /// Writes `i`, `3`, `(+ i 1)` or `(+ ii (* 4 io))`: the terms, the parameters, then the
    /// constant.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = self.terms.iter().map(|(field, c)| (field.to_string(), c));
        let parameters = self.parameters.iter().map(|(parameter, c)| (parameter.to_string(), c));
        let scaled = |(atom, c): (String, &i64)| if *c == 1 { atom } else { format!("(* {c} {atom})") };
        let mut parts: Vec<String> = terms.chain(parameters).map(scaled).collect();
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
    /// An affine form.
    Affine(Affine),
    /// An affine form divided by a block size, rounded down.
    Outer(Affine, u64),
    /// An affine form modulo a block size, never negative.
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
    ///
    /// # Panics
    /// Panics on overflow of `i64`.
    pub fn substitute(&self, replacement: &dyn Fn(&Field) -> Affine) -> Subscript {
        self.checked_substitute(replacement).expect("the coefficients of the form fit 64 bits")
    }

    /// Replaces every field by a form; `None` on overflow.
    pub fn checked_substitute(&self, replacement: &dyn Fn(&Field) -> Affine) -> Option<Subscript> {
        Some(match self {
            Subscript::Affine(a) => Subscript::Affine(a.checked_substitute(replacement)?),
            Subscript::Outer(a, b) => Subscript::Outer(a.checked_substitute(replacement)?, *b),
            Subscript::Inner(a, b) => Subscript::Inner(a.checked_substitute(replacement)?, *b),
        })
    }

    /// Replaces every parameter by its value.
    pub fn bind(&self, value_of: &dyn Fn(&Parameter) -> i64) -> Subscript {
        match self {
            Subscript::Affine(a) => Subscript::Affine(a.bind(value_of)),
            Subscript::Outer(a, b) => Subscript::Outer(a.bind(value_of), *b),
            Subscript::Inner(a, b) => Subscript::Inner(a.bind(value_of), *b),
        }
    }

    /// Evaluates the subscript, with the value of each field given by `value_of`.
    ///
    /// # Panics
    /// Panics if the subscript has parameters; [`Subscript::bind`] replaces them.
    pub fn evaluate(&self, value_of: &dyn Fn(&Field) -> i64) -> i64 {
        self.apply(self.form().evaluate(value_of))
    }

    /// Returns inclusive bounds of the value, where every field and parameter ranges over
    /// `0..size`. Returns `None` in three cases: a field has no size; a field or parameter has size
    /// zero; a bound of the form, or the block size of [`Subscript::Inner`], exceeds `i64`.
    pub fn range(&self, size: &dyn Fn(&Field) -> Option<u64>) -> Option<(i64, i64)> {
        let (mut low, mut high) = (i128::from(self.form().constant), i128::from(self.form().constant));
        let parameters = self.form().parameters.iter().map(|(parameter, c)| (Some(parameter.size), c));
        for (size, c) in self.form().terms.iter().map(|(field, c)| (size(field), c)).chain(parameters) {
            let reach = i128::from(*c) * i128::from(size?.checked_sub(1)?);
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

/// Returns whether mixed-radix numbers ascend if their digits ascend lexicographically: the step of
/// each digit exceeds the largest number that the digits after it can form. `digits` has the step
/// and the number of values of each digit, the outermost digit first. The number of values of the
/// outermost digit does not matter. The result is false if the number of values of an inner digit
/// is unknown, or if the inner digits can form a number above `i64::MAX`.
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
