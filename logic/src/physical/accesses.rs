//! What a query reads.

use super::{Access, Output, PhysicalQuery, Place, Point, Temporaries};

impl PhysicalQuery {
    /// Every read of the query, those of temporaries first, each as often as it is written.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = Vec::new();
        self.temporaries.iter().for_each(|pass| of_temporaries(pass, &mut found));
        self.outputs.iter().for_each(|output| of_output(output, &mut found));
        found
    }
}

impl Temporaries {
    /// Every read in their loops, those of temporaries that these need first.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = Vec::new();
        of_temporaries(self, &mut found);
        found
    }
}

impl Output {
    /// Every read in its places and its value.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = Vec::new();
        of_output(self, &mut found);
        found
    }
}

impl Point {
    /// Every read in it.
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
