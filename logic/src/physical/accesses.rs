//! The parameters of a plan, and the tensor reads and parameters of its queries.

use super::{Access, Output, PhysicalPlan, PhysicalQuery, ScalarExpr, StorageCoordinate, TemporaryNest};
use crate::affine::{Affine, Parameter};

impl PhysicalPlan {
    /// Returns the parameters of all queries, each once, in order.
    pub fn parameters(&self) -> Vec<&Parameter> {
        let mut found = Vec::new();
        for parameter in self.queries.iter().flat_map(PhysicalQuery::parameters) {
            if !found.contains(&parameter) {
                found.push(parameter);
            }
        }
        found
    }
}

impl PhysicalQuery {
    /// Returns the parameters of the coordinates in the query, each once, in order.
    pub fn parameters(&self) -> Vec<&Parameter> {
        let mut forms = Vec::new();
        self.temporaries.iter().for_each(|nest| collect_nest_forms(nest, &mut forms));
        for output in &self.outputs {
            collect_coordinate_forms(&output.subscripts, &mut forms);
            collect_expr_forms(&output.value, &mut forms);
        }
        let mut found = Vec::new();
        for (parameter, _) in forms.into_iter().flat_map(|form| &form.parameters) {
            if !found.contains(&parameter) {
                found.push(parameter);
            }
        }
        found
    }

    /// Returns all reads of the query, the reads of temporaries first; a read that occurs twice is
    /// listed twice.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut accesses = Vec::new();
        self.temporaries.iter().for_each(|nest| collect_from_nest(nest, &mut accesses));
        self.outputs.iter().for_each(|output| collect_from_output(output, &mut accesses));
        accesses
    }
}

impl TemporaryNest {
    /// Returns all reads in the loops, the reads of nested temporaries first.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut accesses = Vec::new();
        collect_from_nest(self, &mut accesses);
        accesses
    }
}

impl Output {
    /// Returns all reads in the subscripts and the value.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut accesses = Vec::new();
        collect_from_output(self, &mut accesses);
        accesses
    }
}

impl ScalarExpr {
    /// Returns all reads in the expression.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut accesses = Vec::new();
        collect_from_expr(self, &mut accesses);
        accesses
    }
}

fn collect_from_nest<'q>(nest: &'q TemporaryNest, accesses: &mut Vec<&'q Access>) {
    nest.temporaries.iter().for_each(|inner| collect_from_nest(inner, accesses));
    nest.folds.iter().for_each(|fold| collect_from_expr(&fold.value, accesses));
}

fn collect_from_output<'q>(output: &'q Output, accesses: &mut Vec<&'q Access>) {
    collect_from_coordinates(&output.subscripts, accesses);
    collect_from_expr(&output.value, accesses);
}

fn collect_from_expr<'q>(expr: &'q ScalarExpr, accesses: &mut Vec<&'q Access>) {
    match expr {
        ScalarExpr::Access(access) => {
            accesses.push(access);
            collect_from_coordinates(&access.subscripts, accesses);
        }
        ScalarExpr::Call(_, args) => args.iter().for_each(|arg| collect_from_expr(arg, accesses)),
        ScalarExpr::Literal(_) | ScalarExpr::Coordinate(_) | ScalarExpr::Temporary(_) => {}
    }
}

fn collect_from_coordinates<'q>(coordinates: &'q [StorageCoordinate], accesses: &mut Vec<&'q Access>) {
    for coordinate in coordinates {
        if let StorageCoordinate::Computed(expr) = coordinate {
            collect_from_expr(expr, accesses);
        }
    }
}

fn collect_nest_forms<'q>(nest: &'q TemporaryNest, forms: &mut Vec<&'q Affine>) {
    nest.temporaries.iter().for_each(|inner| collect_nest_forms(inner, forms));
    nest.folds.iter().for_each(|fold| collect_expr_forms(&fold.value, forms));
}

fn collect_expr_forms<'q>(expr: &'q ScalarExpr, forms: &mut Vec<&'q Affine>) {
    match expr {
        ScalarExpr::Coordinate(form) => forms.push(form),
        ScalarExpr::Access(access) => collect_coordinate_forms(&access.subscripts, forms),
        ScalarExpr::Call(_, args) => args.iter().for_each(|arg| collect_expr_forms(arg, forms)),
        ScalarExpr::Literal(_) | ScalarExpr::Temporary(_) => {}
    }
}

fn collect_coordinate_forms<'q>(coordinates: &'q [StorageCoordinate], forms: &mut Vec<&'q Affine>) {
    for coordinate in coordinates {
        match coordinate {
            StorageCoordinate::Subscript(subscript) => forms.push(subscript.form()),
            StorageCoordinate::Computed(expr) => collect_expr_forms(expr, forms),
        }
    }
}
