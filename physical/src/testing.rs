//! Lists for tests: every format of a rank that the levels can be nested into. And programs of a text.

use redpoll_logic::{Format, LeafKind, LevelFormat, LevelKind, StorageMode};

/// The program of a text, in normal form.
#[cfg(test)]
pub(crate) fn normal_form(text: &str) -> crate::notation::Program {
    let program = crate::notation::parse(text).unwrap_or_else(|e| panic!("{e}"));
    crate::notation::normalize(program).unwrap_or_else(|e| panic!("{e}"))
}

/// Kinds that may stand anywhere.
const FREE_KINDS: [LevelKind; 4] = [LevelKind::Dense, LevelKind::SparseList, LevelKind::Hash, LevelKind::ByteMap];

/// All nestings of all level kinds over `rank` modes in all orders, lists of coordinates (from any level on, below any
/// other kind), and blocked formats, all with an element leaf. Levels of runs
/// are nested with each other, lists and dense levels alone. There are 1, 12, 52 and 500 of ranks 0 to 3.
pub fn formats_of_rank(rank: usize) -> Vec<Format> {
    let mut formats: Vec<Format> = Vec::new();
    for order in orders(rank) {
        formats.extend(nestings(rank).into_iter().map(|levels| whole(levels, &order)));
    }
    formats.extend(blocked(rank));
    formats.extend(of_runs(rank));
    formats
}

/// The formats of [`formats_of_rank`] over modes in their own order, without blocked ones.
pub fn concordant_formats_of_rank(rank: usize) -> Vec<Format> {
    let order: Vec<usize> = (0..rank).collect();
    nestings(rank).into_iter().map(|levels| whole(levels, &order)).collect()
}

fn whole(levels: Vec<LevelFormat>, order: &[usize]) -> Format {
    let modes = order.iter().map(|&mode| StorageMode::Whole { mode }).collect();
    Format { levels, modes, leaf: LeafKind::Element }
}

/// All lists of levels of that length that may be nested.
fn nestings(rank: usize) -> Vec<Vec<LevelFormat>> {
    if rank == 0 {
        return vec![Vec::new()];
    }
    let prefix = |first: LevelKind| {
        move |mut inner: Vec<LevelFormat>| {
            inner.insert(0, LevelFormat::new(first));
            inner
        }
    };
    let mut all: Vec<_> =
        FREE_KINDS.into_iter().flat_map(|kind| nestings(rank - 1).into_iter().map(prefix(kind))).collect();
    for singletons in 1..rank {
        for inner in nestings(rank - 1 - singletons) {
            let mut levels = vec![LevelFormat::new(LevelKind::SparseList).non_unique()];
            levels.extend((1..singletons).map(|_| LevelFormat::new(LevelKind::Singleton).non_unique()));
            levels.push(LevelFormat::new(LevelKind::Singleton));
            levels.extend(inner);
            all.push(levels);
        }
    }
    all
}

/// Formats with levels of runs at some depth.
fn of_runs(rank: usize) -> Vec<Format> {
    use LevelKind::{Dense, RunLength, SparseList, SparseRunLength};
    let kinds = [RunLength, SparseRunLength, Dense, SparseList];
    let nestings = (0..rank).fold(vec![Vec::new()], |all: Vec<Vec<LevelKind>>, _| {
        all.into_iter().flat_map(|outer| kinds.map(|kind| [&outer[..], &[kind]].concat())).collect()
    });
    let has_runs = |kinds: &Vec<LevelKind>| kinds.iter().any(|kind| kind.traits().runs);
    nestings.into_iter().filter(has_runs).map(|kinds| Format::of_kinds(&kinds, LeafKind::Element)).collect()
}

/// Formats with every mode cut into blocks: of 2 places, of 3, and so on.
fn blocked(rank: usize) -> Vec<Format> {
    use LevelKind::{ByteMap, Dense, Hash, SparseList};
    if rank == 0 {
        return Vec::new();
    }
    let block = |mode| 2 + mode as u64;
    let outer = (0..rank).map(|mode| StorageMode::Outer { mode, block: block(mode) });
    let inner = (0..rank).map(|mode| StorageMode::Inner { mode, block: block(mode) });
    let modes: Vec<StorageMode> = outer.chain(inner).collect();
    let levels = |outer: LevelKind, list: LevelKind, inner: LevelKind| {
        let kinds = (0..rank).map(|k| if k + 1 == rank { list } else { outer }).chain((0..rank).map(|_| inner));
        kinds.map(LevelFormat::new).collect()
    };
    [
        (Dense, SparseList, Dense),
        (SparseList, SparseList, SparseList),
        (Dense, Dense, Dense),
        (Hash, Hash, Dense),
        (Dense, SparseList, ByteMap),
        (Dense, ByteMap, Hash),
    ]
    .into_iter()
    .map(|(o, l, i)| Format { levels: levels(o, l, i), modes: modes.clone(), leaf: LeafKind::Element })
    .collect()
}

/// All orders of the numbers below `n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in orders(n - 1) {
        for at in 0..n {
            let mut order = shorter.clone();
            order.insert(at, n - 1);
            all.push(order);
        }
    }
    all
}
