//! The tensor reads of a query.

use super::{Access, Output, PhysicalQuery, ScalarExpr, StorageCoordinate, TemporaryNest};

impl PhysicalQuery {
    /// Returns all reads of the query, those of temporaries first; a read that occurs twice is
    /// listed twice.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut accesses = Vec::new();
        self.temporaries.iter().for_each(|nest| collect_from_nest(nest, &mut accesses));
        self.outputs.iter().for_each(|output| collect_from_output(output, &mut accesses));
        accesses
    }
}

impl TemporaryNest {
    /// Returns all reads in the loops, those of nested temporaries first.
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
