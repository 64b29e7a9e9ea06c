//! The tensor reads of a query.

use super::{Access, Output, PhysicalQuery, Place, Point, Temporaries};

impl PhysicalQuery {
    /// Returns all reads of the query, those of temporaries first; a read that occurs twice is
    /// listed twice.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = Vec::new();
        self.temporaries.iter().for_each(|pass| of_temporaries(pass, &mut found));
        self.outputs.iter().for_each(|output| of_output(output, &mut found));
        found
    }
}

impl Temporaries {
    /// Returns all reads in the loops, those of nested temporaries first.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = Vec::new();
        of_temporaries(self, &mut found);
        found
    }
}

impl Output {
    /// Returns all reads in the subscripts and the value.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = Vec::new();
        of_output(self, &mut found);
        found
    }
}

impl Point {
    /// Returns all reads in the expression.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = Vec::new();
        of_point(self, &mut found);
        found
    }
}

fn of_temporaries<'q>(pass: &'q Temporaries, found: &mut Vec<&'q Access>) {
    pass.temporaries.iter().for_each(|inner| of_temporaries(inner, found));
    pass.folds.iter().for_each(|fold| of_point(&fold.value, found));
}

fn of_output<'q>(output: &'q Output, found: &mut Vec<&'q Access>) {
    of_places(&output.subscripts, found);
    of_point(&output.value, found);
}

fn of_point<'q>(point: &'q Point, found: &mut Vec<&'q Access>) {
    match point {
        Point::Access(access) => {
            found.push(access);
            of_places(&access.subscripts, found);
        }
        Point::Call(_, args) => args.iter().for_each(|arg| of_point(arg, found)),
        Point::Literal(_) | Point::Coordinate(_) | Point::Temporary(_) => {}
    }
}

fn of_places<'q>(places: &'q [Place], found: &mut Vec<&'q Access>) {
    for place in places {
        if let Place::Value(point) = place {
            of_point(point, found);
        }
    }
}
