//! The keys of JSON objects in the order of their first appearance, and the first record that is no
//! JSON or has a value of another kind than earlier records.

use super::JsonForm;
use crate::error::Error;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use serde::de::{DeserializeSeed, Deserializer, Error as DecodeError, MapAccess, SeqAccess, Visitor};
use std::cmp::Ordering;
use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

/// The first fault of a text of JSON.
#[derive(Debug)]
pub(super) struct JsonFault {
    /// The line, counted from 1.
    line: u64,
    /// The column of the line, counted from 1; 0 if it is unknown.
    column: usize,
    cause: String,
}

impl JsonFault {
    pub(super) fn into_error(self, input: &str) -> Error {
        let JsonFault { line, column, cause } = self;
        let column = if column == 0 { String::new() } else { format!(", column {column}") };
        Error::Damaged { input: input.to_owned(), cause: format!("line {line}{column}: {cause}") }
    }

    /// Returns the fault of an error in a text whose first line has the given number.
    fn new(error: &serde_json::Error, first_line: u64) -> JsonFault {
        let text = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let cause = text.strip_suffix(&position).unwrap_or(&text).to_owned();
        JsonFault { line: first_line + (error.line() as u64).saturating_sub(1), column: error.column(), cause }
    }
}

/// The kind of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ValueKind {
    Scalar,
    Array,
    Object,
}

/// The keys of the objects at one place of a text, in the order of their first appearance.
#[derive(Default, Debug)]
pub(super) struct KeyOrder {
    keys: Vec<(String, KeyOrder)>,
    /// The kind of the first value other than NULL.
    kind: Option<ValueKind>,
    /// The elements of arrays.
    elements: Option<Box<KeyOrder>>,
}

impl KeyOrder {
    /// Adds the keys of the first records of a text, and subtracts the number of these records from
    /// `records`.
    ///
    /// # Errors
    /// The first fault of these records.
    pub(super) fn read(
        &mut self,
        mut text: impl BufRead,
        form: JsonForm,
        records: &mut usize,
    ) -> Result<(), JsonFault> {
        match form {
            JsonForm::Array => {
                let mut deserializer = serde_json::Deserializer::from_reader(text);
                let result = deserializer.deserialize_seq(RecordList { order: self, records });
                match result {
                    // The reader stops before the end of the array.
                    Err(_) if *records == 0 => Ok(()),
                    result => result.map_err(|error| JsonFault::new(&error, 1)),
                }
            }
            JsonForm::Lines => {
                let mut line = Vec::new();
                for number in 1.. {
                    line.clear();
                    let read = text.read_until(b'\n', &mut line);
                    let read = read.map_err(|e| JsonFault { line: number, column: 0, cause: e.to_string() })?;
                    if read == 0 || *records == 0 {
                        break;
                    }
                    if line.trim_ascii().is_empty() {
                        continue;
                    }
                    *records -= 1;
                    let mut deserializer = serde_json::Deserializer::from_slice(&line);
                    let result = Record(self).deserialize(&mut deserializer).and_then(|()| deserializer.end());
                    result.map_err(|error| JsonFault::new(&error, number))?;
                }
                Ok(())
            }
        }
    }

    /// Returns the index of a key. `expected` is its probable index.
    fn index_of(&mut self, key: String, expected: usize) -> usize {
        if self.keys.get(expected).is_some_and(|(other, _)| *other == key) {
            return expected;
        }
        self.keys.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            self.keys.push((key, KeyOrder::default()));
            self.keys.len() - 1
        })
    }

    /// Returns the columns of a schema in the order of the keys.
    pub(super) fn sorted(&self, schema: &Schema) -> Schema {
        Schema::new_with_metadata(self.sorted_fields(schema.fields()), schema.metadata().clone())
    }

    fn sorted_fields(&self, fields: &[FieldRef]) -> Vec<FieldRef> {
        let place = |field: &FieldRef| self.keys.iter().position(|(key, _)| key == field.name());
        let mut placed: Vec<(Option<usize>, FieldRef)> = fields
            .iter()
            .map(|field| match place(field) {
                Some(at) => (Some(at), self.keys[at].1.sorted_field(field)),
                None => (None, field.clone()),
            })
            .collect();
        // The sort is stable, and fields without a key come last.
        placed.sort_by(|(a, _), (b, _)| match (a, b) {
            (Some(a), Some(b)) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        });
        placed.into_iter().map(|(_, field)| field).collect()
    }

    fn sorted_field(&self, field: &FieldRef) -> FieldRef {
        let ty = match (field.data_type(), &self.elements) {
            (DataType::Struct(fields), _) => DataType::Struct(self.sorted_fields(fields).into()),
            (DataType::List(element), Some(elements)) => DataType::List(elements.sorted_field(element)),
            _ => return field.clone(),
        };
        Arc::new(Field::clone(field).with_data_type(ty))
    }
}

/// The place of a value: the keys that lead to it.
#[derive(Clone, Copy)]
struct KeyPath<'p> {
    outer: Option<&'p KeyPath<'p>>,
    key: &'p str,
}

impl fmt::Display for KeyPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(outer) = self.outer {
            write!(f, "{outer}.")?;
        }
        f.write_str(self.key)
    }
}

/// The list of all records.
struct RecordList<'o> {
    order: &'o mut KeyOrder,
    records: &'o mut usize,
}

impl<'de> Visitor<'de> for RecordList<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while *self.records > 0 && list.next_element_seed(Record(self.order))?.is_some() {
            *self.records -= 1;
        }
        Ok(())
    }
}

/// A record, which must be an object.
struct Record<'o>(&'o mut KeyOrder);

impl<'de> DeserializeSeed<'de> for Record<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Record<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        visit_keys(self.0, None, map)
    }
}

fn visit_keys<'de, A: MapAccess<'de>>(
    order: &mut KeyOrder,
    outer: Option<&KeyPath<'_>>,
    mut map: A,
) -> Result<(), A::Error> {
    let mut expected = 0;
    while let Some(key) = map.next_key::<String>()? {
        let index = order.index_of(key, expected);
        let (key, order) = &mut order.keys[index];
        map.next_value_seed(Member { order, path: KeyPath { outer, key: key.as_str() } })?;
        expected = index + 1;
    }
    Ok(())
}

/// A value within a record.
struct Member<'o> {
    order: &'o mut KeyOrder,
    path: KeyPath<'o>,
}

impl Member<'_> {
    /// Records the kind of a value. Scalars and arrays of scalars may occur in one column.
    fn add_kind<E: DecodeError>(&mut self, kind: ValueKind) -> Result<(), E> {
        let first = *self.order.kind.get_or_insert(kind);
        let has_objects = |order: &KeyOrder| order.kind == Some(ValueKind::Object);
        let is_conflict = match (first, kind) {
            (ValueKind::Object, ValueKind::Scalar | ValueKind::Array)
            | (ValueKind::Scalar | ValueKind::Array, ValueKind::Object) => true,
            (_, ValueKind::Scalar) => self.order.elements.as_deref().is_some_and(has_objects),
            _ => false,
        };
        match is_conflict {
            true => Err(E::custom(format!(
                "`{}` is {}, but an earlier value of this key is {}",
                self.path,
                described(kind),
                described(first)
            ))),
            false => Ok(()),
        }
    }
}

fn described(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Scalar => "a single value",
        ValueKind::Array => "an array",
        ValueKind::Object => "an object",
    }
}

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: DecodeError>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: DecodeError>(mut self, _: bool) -> Result<(), E> {
        self.add_kind(ValueKind::Scalar)
    }

    fn visit_i64<E: DecodeError>(mut self, _: i64) -> Result<(), E> {
        self.add_kind(ValueKind::Scalar)
    }

    fn visit_u64<E: DecodeError>(mut self, _: u64) -> Result<(), E> {
        self.add_kind(ValueKind::Scalar)
    }

    fn visit_f64<E: DecodeError>(mut self, _: f64) -> Result<(), E> {
        self.add_kind(ValueKind::Scalar)
    }

    fn visit_str<E: DecodeError>(mut self, _: &str) -> Result<(), E> {
        self.add_kind(ValueKind::Scalar)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        self.add_kind(ValueKind::Array)?;
        let elements = self.order.elements.get_or_insert_default();
        while list.next_element_seed(Member { order: &mut *elements, path: self.path })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<(), A::Error> {
        self.add_kind(ValueKind::Object)?;
        visit_keys(self.order, Some(&self.path), map)
    }
}
