//! The transformations in words.

/// The description of a transformation.
pub struct TransformationText {
    /// The text forms as calls; in programs, `f(a, b)` is written `(f a b)`.
    pub forms: &'static [&'static str],
    /// The effect on the loops.
    pub effect: &'static str,
    /// The condition on the loops.
    pub precondition: &'static str,
}

/// The descriptions of all transformations.
pub const TRANSFORMATIONS: &[TransformationText] = &[
    TransformationText {
        forms: &["reorder(k, i, j)"],
        effect: "nests these loops in the order given",
        precondition: "rounds can run in any order; no extent depends on a loop that would be inside; only loops, \
                       conditions and variables stand between the loops",
    },
    TransformationText {
        forms: &["split(i, io, ii, 64)", "split(i, io, ii, into(4))"],
        effect: "makes a loop over blocks of rounds around a loop over the rounds of a block; the last argument is \
                 the size of a block, or `into` with the number of blocks",
        precondition: "none: rounds stay in order",
    },
    TransformationText {
        forms: &["split(i, io, ii, of(64, stored(A)))", "split(i, io, ii, into(4, stored(A)))"],
        effect: "splits in position space: each block has the given number of stored entries of A, or an equal \
                 share of them; the bounds of blocks are read from the arrays of A; below the outermost storage mode, \
                 each fiber is cut separately",
        precondition: "A is an input, and the loop iterates over one of its storage modes, inside of the loops over \
                       the modes before it; a product iterates over adjacent storage modes",
    },
    TransformationText {
        forms: &["collapse(i, j, p)"],
        effect: "names the product p of two loops, so that split can cut it into blocks that may begin and end in \
                 the middle of a round of the outer loop; inside of a block both loops keep their names, and the \
                 rounds of a block can be split again; either loop may be a product itself",
        precondition: "one loop is directly inside of the other, both extents are constant; blocks of a product do not \
                       append to a sparse result, since a row may lie in two blocks: precompute into a workspace, or \
                       give the result a dense format",
    },
    TransformationText {
        forms: &["bound(i, 64)", "bound(i, at-most(64))"],
        effect: "states the number of rounds, or its maximum; if the number is computed at run time, rounds beyond \
                 the maximum move to a second loop, named i_rest, so that `unroll(i)` needs no number of copies",
        precondition: "a constant number of rounds is as stated; a number computed at run time can only have \
                       a maximum",
    },
    TransformationText {
        forms: &["precompute(w, y, (A, B), (j, jc, jp))"],
        effect: "computes in advance the part of the assignment of y that reads A and B, and stores it in a \
                 workspace w; the loop of j becomes a loop of jp that writes w, and a loop of jc that reads w; () in \
                 place of (A, B) stands for the whole value; a format of w may follow",
        precondition: "the loops over which the part is computed are the innermost ones; where the workspace \
                       accumulates several rounds, the operator around the part distributes over the operator of the \
                       assignment",
    },
    TransformationText {
        forms: &["parallel(i)"],
        effect: "allows chunks of the loop to run in parallel; results do not depend on the number of threads",
        precondition: "the loop is the outermost one and has a constant extent, such as a loop over `into(N)` blocks; \
                       no two rounds write one entry of a result, unless all writes of the result fold by one \
                       associative operator that is idempotent or whose identity is the fill value; the outermost \
                       coordinate of a result that is appended to is the index of the loop or, if the loop is over \
                       blocks of a constant number of rounds, of the loop over the rounds of one block",
    },
    TransformationText {
        forms: &["lanes(i, 4)"],
        effect: "folds rounds in this many lanes, if the loop only folds one value",
        precondition: "2, 4, 8 or 16 lanes; rounds can run in any order",
    },
    TransformationText {
        forms: &["unroll(i)", "unroll(i, 4)"],
        effect: "repeats the body once for each round, or this many times per round; remaining rounds are guarded \
                 if the number of rounds is computed at run time; a loop from one stored entry to the next handles \
                 this many entries per round",
        precondition: "without a number of copies, the number of rounds has a constant bound; where the loop appends to \
                       a result, the number is constant and the index is a coordinate of the result",
    },
];
