//! Upper bounds of the work of arrays, which decide whether a run gets a thread of its own.

/// The work of an operator in addition to the elements that it visits. Planning an operator takes
/// roughly as long as visiting this many elements.
const OPERATOR_WORK: u64 = 1 << 12;

/// Upper bounds for an array, and its size. Sums and products of bounds saturate.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// The number of elements that the computation of the array visits, plus [`OPERATOR_WORK`] for
    /// each operator.
    pub(crate) work: u64,
    /// The number of elements that the array stores.
    pub(crate) stored: u64,
    /// The number of elements, stored or not.
    pub(crate) size: u64,
}

impl Bounds {
    /// The bounds of a number.
    pub(crate) const NUMBER: Bounds = Bounds { work: 0, stored: 0, size: 1 };

    /// Returns the bounds of an array that stores at most `stored` elements, and whose operands
    /// have the work `operand_work`.
    pub(crate) fn new(shape: &[u64], operand_work: u64, stored: u64) -> Bounds {
        let size = shape.iter().fold(1, |size: u64, n| size.saturating_mul(*n));
        let stored = stored.min(size);
        Bounds { work: operand_work.saturating_add(OPERATOR_WORK).saturating_add(stored), stored, size }
    }

    /// Returns the bounds of an array whose tensor exists already, so that it needs no work.
    pub(crate) fn stored(shape: &[u64], stored: u64) -> Bounds {
        Bounds { work: 0, ..Bounds::new(shape, 0, stored) }
    }

    /// Returns the work of computing an array and reading the elements that it stores.
    pub(crate) fn read(self) -> u64 {
        self.work.saturating_add(self.stored)
    }

    /// Returns these bounds for an array that stores every element.
    pub(crate) fn all_stored(self) -> Bounds {
        Bounds { stored: self.size, ..self }
    }

    /// Returns the bounds of an elementwise result. Each operand is repeated along the modes that
    /// it lacks, and an element of the result may be stored if an operand stores an element at its
    /// coordinates.
    pub(crate) fn elementwise(shape: &[u64], operands: impl Iterator<Item = Bounds>) -> Bounds {
        let result = Bounds::new(shape, 0, u64::MAX);
        let (mut work, mut stored) = (0u64, 0u64);
        for operand in operands {
            work = work.saturating_add(operand.work);
            stored = stored.saturating_add(operand.stored.saturating_mul(result.size / operand.size.max(1)));
        }
        Bounds::new(shape, work, stored)
    }

    /// Returns the bounds of an elementwise product, in which an element is stored if all `sparse`
    /// operands store an element at its coordinates. The other operands count as storing every
    /// element.
    pub(crate) fn product(shape: &[u64], all: &[Bounds], sparse: impl Iterator<Item = Bounds>) -> Bounds {
        let size = Bounds::new(shape, 0, u64::MAX).size;
        let mut work = all.iter().fold(0, |work: u64, operand| work.saturating_add(operand.work));
        let mut stored = u64::MAX;
        for operand in sparse {
            let repeated = operand.stored.saturating_mul(size / operand.size.max(1));
            work = work.saturating_add(repeated);
            stored = stored.min(repeated);
        }
        Bounds::new(shape, work, stored)
    }

    /// Returns the bounds of a matrix product with the given shapes of operands. The last two modes
    /// of an operand are a matrix, and a single mode is a vector. Each stored element of one
    /// operand is multiplied by at most a row or a column of the other operand. For operands with
    /// more than two modes, the bounds assume that every pair of stored elements is multiplied.
    pub(crate) fn matrix_product(
        shape: &[u64],
        (a, a_shape): (Bounds, &[u64]),
        (b, b_shape): (Bounds, &[u64]),
    ) -> Bounds {
        let operand_work = a.work.saturating_add(b.work);
        let pairs = if a_shape.len() > 2 || b_shape.len() > 2 {
            a.stored.saturating_mul(b.stored)
        } else {
            let rows = if let [rows, _] = a_shape { *rows } else { 1 };
            let columns = if let [_, columns] = b_shape { *columns } else { 1 };
            a.stored.saturating_mul(columns).min(b.stored.saturating_mul(rows))
        };
        Bounds::new(shape, operand_work.saturating_add(pairs), pairs)
    }

    /// Returns the bounds of a sum of products that may multiply every combination of stored
    /// elements of the operands.
    pub(crate) fn contraction(shape: &[u64], operands: impl Iterator<Item = Bounds>) -> Bounds {
        let (mut work, mut pairs) = (0u64, 1u64);
        for operand in operands {
            work = work.saturating_add(operand.work);
            pairs = pairs.saturating_mul(operand.stored);
        }
        Bounds::new(shape, work.saturating_add(pairs), pairs)
    }
}
