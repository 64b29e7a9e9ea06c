//! Tests of Notation. Most of them normalize programs and run them in the interpreter.

mod cuts;
mod programs;
mod queries;
mod random;
mod rules;

use super::*;
use redpoll_logic::{Scalar, TensorType};
use std::collections::HashMap;

/// The values of inputs, as functions of the coordinates.
pub(super) type InputValues<'a> = [(&'a str, &'a dyn Fn(&[u64]) -> Scalar)];

/// Parses the program of a test.
pub(super) fn program(text: &str) -> Program {
    parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Computes the values of each input from functions of the tensor's coordinates.
pub(super) fn inputs(program: &Program, values: &InputValues) -> HashMap<String, DenseValues> {
    let ty = |name: &str| {
        let tensor = program.tensors.iter().find(|t| t.name == name);
        tensor.unwrap_or_else(|| panic!("no tensor `{name}`")).ty.clone()
    };
    values.iter().map(|(name, at)| ((*name).to_owned(), dense_values(&ty(name), &mut |i| at(i)))).collect()
}

/// Returns the values of an output at the coordinates of its tensor, row-major.
pub(super) fn dense(ty: &TensorType, values: &DenseValues) -> Vec<Scalar> {
    let count: u64 = ty.shape.iter().product();
    (0..count)
        .map(|k| {
            let mut rest = k;
            let mut at: Vec<u64> = ty.shape.iter().rev().map(|n| (rest % n, rest /= n).0).collect();
            at.reverse();
            values[value_index(ty, &at)].clone()
        })
        .collect()
}

/// Returns the outputs of a normalized program as dense values, one line per tensor.
pub(super) fn show(program: &Program, outputs: &HashMap<String, DenseValues>) -> String {
    let lines = program.tensors.iter().filter(|t| t.role == Role::Output).map(|t| {
        let values: Vec<String> = dense(&t.ty, &outputs[&t.name]).iter().map(Scalar::to_string).collect();
        format!("{} {:?}: {}\n", t.name, t.ty.shape, values.join(" "))
    });
    lines.collect()
}

/// Runs a program before and after normalization, checks that the outputs are equal, and returns
/// them. Also checks that the printed text parses to the same program, and that normalizing twice
/// changes nothing.
pub(super) fn run_all(program: &Program, values: &InputValues) -> String {
    let fail = |e: crate::Error| -> Program { panic!("{e}\n{}", print(program)) };
    let renamed = resolve_scopes(program.clone()).unwrap_or_else(fail);
    let text = print(&renamed);
    let read = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(resolve_scopes(read).unwrap(), renamed, "{text}");

    let explicit = dimensionalize(insert_lifecycles(renamed).unwrap_or_else(fail)).unwrap_or_else(fail);
    let normal = normalize(program.clone()).unwrap_or_else(fail);
    let values = inputs(program, values);
    let before = run(&explicit, &values).unwrap_or_else(|e| panic!("{e}\n{}", print(&explicit)));
    let after = run(&normal, &values).unwrap_or_else(|e| panic!("{e}\n{}", print(&normal)));
    assert_eq!(before, after, "{}\n{}", print(&explicit), print(&normal));
    let again = normalize(normal.clone()).unwrap_or_else(fail);
    assert_eq!(again, resolve_scopes(normal.clone()).unwrap(), "normalizing twice changes nothing");
    show(&normal, &after)
}
