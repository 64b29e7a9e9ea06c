//! The outcomes of computations over tensors.

macro_rules! statuses {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $reason:literal;)*) => {
        /// The outcome of a call of a kernel.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(i32)]
        pub enum Status {
            $($(#[$doc])* $variant = $code,)*
        }

        impl Status {
            /// Every status, in the order of its number.
            pub const ALL: &[Status] = &[$(Status::$variant),*];

            /// Returns the name of the status in the text form of Assembly.
            pub fn name(self) -> &'static str {
                match self {
                    $(Status::$variant => $name,)*
                }
            }

            /// Returns the message for users, with a remedy if there is one.
            pub fn reason(self) -> &'static str {
                match self {
                    $(Status::$variant => $reason,)*
                }
            }
        }
    };
}

statuses! {
    /// All work is done.
    Done = 0, "done", "all work is done";
    /// An allocation exceeded the memory limit, or the memory of the machine.
    OutOfMemory = 1, "out_of_memory",
        "an array exceeds the memory limit or the memory of the machine; raise the limit or request a sparser format";
    /// The caller asked to stop.
    Cancelled = 2, "cancelled", "the caller cancelled it";
    /// The number of positions of a level does not fit the width of its `ptr` array.
    PositionOverflow = 3, "position_overflow", "a result has more positions than its arrays can count";
    /// A checked operator overflowed.
    CheckedOverflow = 4, "checked_overflow",
        "a checked operator overflowed; use a wider dtype or the wrapping operator";
    /// An interval level would store a second run in a fiber.
    SecondRun = 5, "second_run",
        "an interval level would store a second run in a fiber; request a result with a sparse-run-length level";
    /// A pinpoint level would store a second coordinate in a fiber.
    SecondEntry = 6, "second_entry",
        "a pinpoint level would store a second coordinate in a fiber; request a result with a sparse-list level";
    /// A coordinate is out of bounds.
    OutOfBounds = 7, "out_of_bounds", "a coordinate is out of bounds";
}

impl Status {
    /// Returns the status with the given number, if there is one.
    pub fn from_code(code: i32) -> Option<Status> {
        Status::ALL.iter().copied().find(|s| *s as i32 == code)
    }
}
