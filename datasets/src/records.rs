//! Records of validated files, so that a file is validated once, not each time it is opened.
//!
//! A record is a file in a private folder of this user. The name of the record is the hash of the
//! path of the validated file. A record has the identity of the file that was validated (device,
//! inode, size and times), the hashes of its header and of the arrays that are loaded into memory,
//! and the special values of the tensor. A record that other users could have written is ignored.

use redpoll_files::{Requirement, cache_folder, check_ownership, make_private, private_file};
use redpoll_logic::Special;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Largest number of records. If there are more, the oldest are removed until half of this number
/// is left.
const MAX_RECORDS: usize = 4096;

/// Largest length of a record, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The first line of a record.
const TITLE: &str = "redpoll record 1";

/// The last line of a record.
const END: &str = "end";

/// The folder of the records of validated files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum RecordFolder {
    /// The folder `files` below `REDPOLL_CACHE`, or else below `redpoll` in the cache folder of the
    /// user. There are no records if `REDPOLL_CACHE` is `off`, or the user has no cache folder.
    #[default]
    User,
    /// No records: each file is validated when it is opened.
    Off,
    /// The given folder.
    At(PathBuf),
}

/// Properties of a validated file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileRecord {
    /// The identity of the file, as text.
    pub(crate) identity: String,
    /// The hash of the header.
    pub(crate) header: blake3::Hash,
    /// The special values that the tensor contains.
    pub(crate) special: Special,
    /// The hash of each array; `None` for a mapped array.
    pub(crate) arrays: Vec<Option<blake3::Hash>>,
}

impl RecordFolder {
    fn path(&self) -> Option<PathBuf> {
        match self {
            RecordFolder::User => cache_folder("files"),
            RecordFolder::Off => None,
            RecordFolder::At(folder) => Some(folder.clone()),
        }
    }

    /// Returns the record of a file, if there is a well-formed record that only this user can have
    /// written.
    pub(crate) fn find(&self, file: &Path) -> Option<FileRecord> {
        let folder = self.path()?;
        let record = folder.join(record_name(file));
        check_ownership(&folder, Requirement::PrivateFolder).ok()?;
        check_ownership(&record, Requirement::PrivateFile).ok()?;
        let is_short = fs::metadata(&record).is_ok_and(|found| found.len() <= MAX_BYTES);
        FileRecord::parse(&is_short.then(|| fs::read_to_string(&record).ok())??)
    }

    /// Stores the record of a file. Failures are ignored, because a file without a record is
    /// validated again.
    pub(crate) fn store(&self, file: &Path, record: &FileRecord) {
        let Some(folder) = self.path() else { return };
        let store = || {
            make_private(&folder)?;
            check_ownership(&folder, Requirement::PrivateFolder)?;
            let mut temporary = tempfile::Builder::new().prefix(".redpoll-").tempfile_in(&folder)?;
            private_file(temporary.path())?;
            temporary.write_all(record.to_text().as_bytes())?;
            temporary.persist(folder.join(record_name(file)))?;
            std::io::Result::Ok(())
        };
        if store().is_ok() {
            remove_oldest(&folder);
        }
    }
}

/// Returns the name of the record of a file.
fn record_name(file: &Path) -> String {
    blake3::hash(file.as_os_str().as_encoded_bytes()).to_hex().to_string()
}

/// Removes all but the newest `MAX_RECORDS / 2` records if there are more than `MAX_RECORDS`. Keeps
/// files that other users could have written.
fn remove_oldest(folder: &Path) {
    let is_record = |name: &str| name.len() == 2 * blake3::OUT_LEN && name.bytes().all(|b| b.is_ascii_hexdigit());
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    let records = found.filter(|entry| entry.file_name().to_str().is_some_and(is_record));
    let time = |entry: &fs::DirEntry| entry.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut records: Vec<_> = records.map(|entry| (time(&entry), entry.path())).collect();
    if records.len() > MAX_RECORDS {
        records.sort_unstable();
        let old = &records[..records.len() - MAX_RECORDS / 2];
        let is_own = |path: &Path| check_ownership(path, Requirement::PrivateFile).is_ok();
        old.iter().filter(|(_, path)| is_own(path)).for_each(|(_, path)| drop(fs::remove_file(path)));
    }
}

/// The special values with their names in records.
const SPECIALS: [(&str, Special); 3] =
    [("inf", Special::INFINITY), ("-inf", Special::NEG_INFINITY), ("nan", Special::NAN)];

impl FileRecord {
    fn to_text(&self) -> String {
        let FileRecord { identity, header, special, arrays } = self;
        let has = |of: &Special| special.union(*of) == *special;
        let special: Vec<&str> = SPECIALS.iter().filter(|(_, of)| has(of)).map(|(name, _)| *name).collect();
        let hash = |hash: &Option<blake3::Hash>| hash.map_or("mapped".to_owned(), |hash| hash.to_hex().to_string());
        let arrays: Vec<String> = arrays.iter().map(hash).collect();
        let (special, arrays) = (special.join(" "), arrays.join(" "));
        format!("{TITLE}\nidentity {identity}\nheader {}\nspecial {special}\narrays {arrays}\n{END}\n", header.to_hex())
    }

    fn parse(text: &str) -> Option<FileRecord> {
        let mut lines = text.lines();
        let mut line = |key: &str| lines.next().and_then(|line| line.strip_prefix(key));
        line(TITLE)?;
        let identity = line("identity ")?.to_owned();
        let header = blake3::Hash::from_hex(line("header ")?).ok()?;
        let special = line("special ")?.split_ascii_whitespace().try_fold(Special::NONE, |set, word| {
            SPECIALS.iter().find(|(name, _)| *name == word).map(|(_, of)| set.union(*of))
        })?;
        let hash = |word: &str| if word == "mapped" { Some(None) } else { blake3::Hash::from_hex(word).ok().map(Some) };
        let arrays = line("arrays ")?.split_ascii_whitespace().map(hash).collect::<Option<_>>()?;
        line(END).filter(|rest| rest.is_empty()).map(|_| FileRecord { identity, header, special, arrays })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> FileRecord {
        FileRecord {
            identity: "1 2 3 4.5 6.7".into(),
            header: blake3::hash(b"header"),
            special: Special::INFINITY.union(Special::NAN),
            arrays: vec![Some(blake3::hash(b"ptr")), None],
        }
    }

    #[test]
    fn records_are_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let (records, file) = (RecordFolder::At(folder.path().join("records")), Path::new("/data/a.rpt"));
        assert_eq!(records.find(file), None);
        records.store(file, &record());
        assert_eq!(records.find(file), Some(record()));
        assert_eq!(records.find(Path::new("/data/b.rpt")), None);
        let regular = FileRecord { special: Special::NONE, arrays: Vec::new(), ..record() };
        records.store(file, &regular);
        assert_eq!(records.find(file), Some(regular));
        RecordFolder::Off.store(file, &record());
        assert_eq!(RecordFolder::Off.find(file), None);
    }

    /// Asserts that a record that is cut, or that other users can write, is ignored.
    #[test]
    #[cfg(unix)]
    fn records_of_others_are_ignored() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (records, file) = (RecordFolder::At(folder.path().into()), Path::new("/data/a.rpt"));
        records.store(file, &record());
        let path = folder.path().join(record_name(file));
        let text = fs::read_to_string(&path).unwrap();
        for length in 0..text.len() - 1 {
            fs::write(&path, &text[..length]).unwrap();
            assert_eq!(records.find(file), None, "{length} bytes");
        }
        fs::write(&path, &text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(records.find(file), None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(records.find(file).is_some());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(records.find(file), None);
    }
}
