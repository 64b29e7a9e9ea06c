//! What a query reads.

use super::{Access, PhysicalQuery, Place, Point, Temporaries};

impl PhysicalQuery {
    /// Every read of the query, those of temporaries first, each as often as it is written.
    pub fn accesses(&self) -> Vec<&Access> {
        let mut found = Vec::new();
        of_temporaries(&self.temporaries, &mut found);
        for output in &self.outputs {
            of_places(&output.subscripts, &mut found);
            of_point(&output.value, &mut found);
        }
        found
    }
}

fn of_temporaries<'q>(temporaries: &'q [Temporaries], found: &mut Vec<&'q Access>) {
    for pass in temporaries {
        of_temporaries(&pass.temporaries, found);
        pass.folds.iter().for_each(|fold| of_point(&fold.value, found));
    }
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
