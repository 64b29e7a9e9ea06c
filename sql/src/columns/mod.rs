//! Columns of tables that a session keeps in memory: columns of files, and codes of columns. All
//! queries of the session share these columns and codes, so they are read or encoded again only
//! after the session has dropped them.
//!
//! | file | contents |
//! |---|---|
//! | `store.rs` | the columns and codes of a session, under a limit; the least recently used are dropped first |
//! | `file_table.rs`, `file_scan.rs` | tables of files, whose scans read columns that are not kept yet |
//! | `identity.rs` | the identity of columns: the addresses of their arrays |
//! | `input_rows.rs`, `row_source.rs` | the rows of an input of a region, as a selection of rows of a table |

mod file_scan;
mod file_table;
mod identity;
mod input_rows;
mod row_source;
mod store;

pub(crate) use file_table::{FileTable, FileVersion};
pub use input_rows::InputRows;
pub(crate) use input_rows::{read_input, read_rows};
pub use row_source::RowSource;
pub use store::ColumnCodes;
pub(crate) use store::ColumnStore;
