//! Small real data sets that ship with redpoll; `datasets/README.md` has their sources.

/// A data set: its file name and the bytes of the file.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The name of the file under `datasets/data`, whose extension determines the format.
    pub file_name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The bytes of the file.
    pub bytes: &'static [u8],
}

/// All samples.
pub const SAMPLES: [Sample; 3] = [
    Sample {
        file_name: "karate.mtx",
        summary: "Zachary's karate club: 34 members, 78 friendships, 45 triangles",
        bytes: include_bytes!("../data/karate.mtx"),
    },
    Sample {
        file_name: "davis.mtx",
        summary: "Southern women: 18 women, 14 social events, 89 attendances",
        bytes: include_bytes!("../data/davis.mtx"),
    },
    Sample {
        file_name: "berkeley.tns",
        summary: "admissions to Berkeley by department, sex and outcome: 6 x 2 x 2, 4526 applicants",
        bytes: include_bytes!("../data/berkeley.tns"),
    },
];

/// Returns the sample with the given file name, with or without extension.
pub fn sample(name: &str) -> Option<Sample> {
    SAMPLES.into_iter().find(|s| s.file_name == name || s.file_name.split('.').next() == Some(name))
}
