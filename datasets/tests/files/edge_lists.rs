//! Tests of the meaning of edge lists: delimiters, headers, columns, names, shapes.

use crate::{listing, load};
use expect_test::{Expect, expect};
use redpoll_datasets::file_formats::edge_list::{
    Column, Delimiter, Dictionary, EdgeListOptions, Ids, Vertices, Weight,
};
use redpoll_datasets::{Content, Data, Layout, LoadedFile, ReadOptions, Values, WriteOptions, read_bytes, write_bytes};
use redpoll_logic::{Prim, Scalar};
use std::sync::Arc;

fn load_with(text: &str, edge_list: EdgeListOptions) -> Result<LoadedFile, String> {
    let options = ReadOptions { edge_list, ..ReadOptions::default() };
    read_bytes("a.csv", text.as_bytes(), &options).map_err(|e| e.to_string())
}

/// Returns the shape, dtype, entries and names of a file, or its error, in one line.
fn describe(loaded: Result<LoadedFile, String>) -> String {
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return format!("{error}\n"),
    };
    let names: Vec<String> = loaded
        .dictionaries
        .iter()
        .map(|d| d.as_ref().map_or("numbers".into(), |d| d.names().collect::<Vec<_>>().join("|")))
        .collect();
    let entries = listing(&loaded).replace('\n', ", ");
    let line = format!("{:?} {}: {entries} {}", loaded.info.shape, loaded.info.dtype, names.join(" / "));
    format!("{}\n", line.trim_end())
}

fn check(texts: &[&str], expect: &Expect) {
    let all = texts.iter().map(|text| describe(load_with(text, EdgeListOptions::default())));
    expect.assert_eq(&all.collect::<String>());
}

#[test]
fn layouts_of_public_collections() {
    check(
        &[
            // SNAP: comments, tabs, no values.
            "# Directed graph\r\n# FromNodeId\tToNodeId\r\n0\t1\r\n0\t2\r\n3\t0\r\n",
            // KONECT: a comment with `%`, repeated spaces, values.
            "% sym weighted\n1 2   5\n2  3 7\n",
            // MovieLens: a header, the value before the last column.
            "userId,movieId,rating,timestamp\n1,2,4.5,964982703\n2,0,3.0,964981247\n",
            // Gephi: capitalized names of columns, semicolons, commas within fields.
            "Source;Target;Label;Weight\n0;1;a,b;2\n1;2;c,d;3\n",
            // Names with quotes.
            "source,target,weight\n\"Smith, Ann\",Bob,1\nBob,\"O\"\"Hara\",2\n",
            // Names without a header, after a byte order mark.
            "\u{feff}alice bob\nbob carol\n",
            // Coordinates written as real numbers.
            "source,target,weight\n2.0,1.0,0.5\n0,1e0,2\n",
            // If one of the first fields of a column is a name, the column is a column of names,
            // and so is the other column of the same vertices.
            "-1,2.0\nb,1\n",
            // Integers beyond 2^63, and a mix of integers and reals.
            "0,1,18446744073709551615\n1,0,3\n",
            "0,1,2\n1,0,-2.5e1\n",
            // A tensor: the header implies three coordinates.
            "i0,i1,i2,value\n0,1,2,3\n1,1,0,4\n",
            "i,j,k\n0,1,2\n1,1,0\n",
            // A vector.
            "i0,value\n4,1.5\n",
            "i0\n4\n1\n",
            // A given shape that is not square.
            "# dims 2 5\nrow,column,value\n0,4,1.5\n",
            "% by hand\n# dims 2 5\nrow,column,value\n0,4,1.5\n",
            // No entries.
            "# dims 2 5\nrow,column,value\n",
            "source,target\n",
        ],
        &expect![[r#"
            [4, 4] bool: (0, 1): true, (0, 2): true, (3, 0): true
            [4, 4] i64: (1, 2): 5, (2, 3): 7
            [3, 3] f64: (1, 2): 4.5, (2, 0): 3.0
            [3, 3] i64: (0, 1): 2, (1, 2): 3
            [3, 3] i64: (0, 1): 1, (1, 2): 2 Smith, Ann|Bob|O"Hara / Smith, Ann|Bob|O"Hara
            [3, 3] bool: (0, 1): true, (1, 2): true alice|bob|carol / alice|bob|carol
            [3, 3] f64: (0, 1): 2.0, (2, 1): 0.5
            [4, 4] bool: (0, 1): true, (2, 3): true -1|2.0|b|1 / -1|2.0|b|1
            [2, 2] u64: (0, 1): 18446744073709551615, (1, 0): 3
            [2, 2] f64: (0, 1): 2.0, (1, 0): -25.0
            [2, 2, 3] i64: (0, 1, 2): 3, (1, 1, 0): 4
            [2, 2, 3] bool: (0, 1, 2): true, (1, 1, 0): true
            [5] f64: (4): 1.5
            [5] bool: (1): true, (4): true
            [2, 5] f64: (0, 4): 1.5
            [2, 5] f64: (0, 4): 1.5
            [2, 5] f64:
            [0, 0] bool:
        "#]],
    );
}

#[test]
fn errors_name_the_line_and_the_field() {
    check(
        &[
            "",
            "# only a comment\n",
            "word\nword\n",
            "0,1\n0,1,2\n",
            "0,1,2\n\n# c\n0,1\n",
            "0,1,2\n0,1,x\n",
            "0,1,2\n0,1,\n",
            "0;1;2\n0;1;1,5\n",
            "0,1,2\n0,1,1e999\n",
            &("0,1\n".repeat(20) + "0,x\n"),
            &("0,1\n".repeat(20) + ",1\n"),
            &("0,1\n".repeat(20) + "0,-1\n"),
            &("0,1\n".repeat(20) + "0,99999999999999999999\n"),
            // Numbers that are not coordinates are not read as names.
            "-1,2\n2,1\n",
            "source,target\n1.5,2\n2,1\n",
            "1,nan\n2,1\n",
            "1,2\n,1\n",
            "1,18446744073709551616\n",
            "0,9223372036854775807\n",
            "# dims 2 5\n0,1\n2,1\n",
            "# dims 2 5 7\n0,1\n",
            "# dims 2 2\na,b\nb,c\n",
            "a,\"b\nc,d\n",
            "a,\"b\"x\nc,d\n",
            "weight,source\n1,2\n",
            "user,film,stars\n",
            "\x7fELF\x01\0,\n",
        ],
        &expect![[r#"
            a.csv: expected a tensor, found an empty file
            a.csv: expected a record, or a comment `# dims ..` and a header, found a file without records, which has no shape
            a.csv:1: expected at least two fields, separated by tabs, semicolons, commas or spaces, found `word`; replace the delimiters in the file by one of these
            a.csv:2: expected 2 fields as in the first record, found 3: `0,1,2`; correct the line, or choose the delimiter (`--delimiter` on the command line, `delimiter` in Rust)
            a.csv:4: expected 3 fields as in the first record, found 2: `0,1`; correct the line, or choose the delimiter (`--delimiter` on the command line, `delimiter` in Rust)
            a.csv:2, column 3: expected a number, found `x`; choose another column of values (`--value` on the command line, `values` in Python and Rust), or none
            a.csv:2, column 3: expected a number, found an empty field; choose another column of values (`--value` on the command line, `values` in Python and Rust), or none
            a.csv:2, column 3: expected a number, found `1,5`; write a decimal point
            a.csv:2, column 3: value `1e999` does not fit f64; the largest f64 is about 1.8e308, and infinity is written as inf
            a.csv:21, column 2: expected a number, as in the first records of this column, found `x`; correct the field, or read coordinates as names (`--names` on the command line, `ids` in Rust)
            a.csv:21, column 1: expected a number, as in the first records of this column, found an empty field; correct the field, or read coordinates as names (`--names` on the command line, `ids` in Rust)
            a.csv:21, column 2: expected a coordinate, which is a nonnegative integer, found `-1`; correct the field, or read coordinates as names (`--names` on the command line, `ids` in Rust)
            a.csv:21, column 2: expected a coordinate below 2^63 - 1, found `99999999999999999999`; correct the field, or read coordinates as names (`--names` on the command line, `ids` in Rust)
            a.csv:1, column 1: expected a coordinate, which is a nonnegative integer, found `-1`; correct the field, or read coordinates as names (`--names` on the command line, `ids` in Rust)
            a.csv:2, column `source`: expected a coordinate, which is a nonnegative integer, found `1.5`; correct the field, or read coordinates as names (`--names` on the command line, `ids` in Rust)
            a.csv:1, column 2: expected a coordinate, which is a nonnegative integer, found `nan`; correct the field, or read coordinates as names (`--names` on the command line, `ids` in Rust)
            a.csv:2, column 1: expected a number, as in the first records of this column, found an empty field; correct the field, or read coordinates as names (`--names` on the command line, `ids` in Rust)
            a.csv:1, column 2: expected a coordinate below 2^63 - 1, found `18446744073709551616`; correct the field, or read coordinates as names (`--names` on the command line, `ids` in Rust)
            a.csv:1, column 2: coordinate 9223372036854775807 of mode 1 is out of range: a dimension is at most 2^63 - 1, and coordinates start at 0
            a.csv:3, column 1: coordinate 2 of mode 0 is out of range: the dimension is 2, and coordinates start at 0
            a.csv:2: expected the dimensions of 2 columns of coordinates, found a comment of 3 dimensions; correct the comment `# dims`
            a.csv:3, column 2: expected at most 2 names in mode 1, as its dimension is 2, found the further name `c`; correct the comment `# dims`, or remove it
            a.csv:1: expected a closing quote in the same line, found the end of the line; join the lines of the field, or add the quote
            a.csv:1: expected a delimiter after the closing quote, found `x`; write a quote within a field as two quotes
            a.csv:1: expected a column of coordinates before the column of values, found none; name the columns of coordinates (`--coordinates` on the command line, `columns` in Python and Rust)
            a.csv:1: expected an entry, found only the record `user,film,stars`; if it is the header, say so (`--header true` on the command line, `header` in Rust)
            a.csv: expected text, found zero bytes, as in binary files
        "#]],
    );
    let bytes = b"0,1\n\xff,2\n";
    expect!["a.csv:2, column 1: expected a name in UTF-8, found `�`; save the file as UTF-8"]
        .assert_eq(&load("a.csv", bytes).unwrap_err().to_string());
}

/// Checks which first records of names are read as headers. A first record that may be a header or
/// an entry is guessed to be the header unless one of its names occurs again; other first records
/// need no guess.
#[test]
fn headers_above_names() {
    let many = format!("alice,bob\n{}dave,alice\n", (0..40).map(|k| format!("a{k},b{k}\n")).collect::<String>());
    let texts: [&str; 8] = [
        "person,friend\nalice,bob\nbob,carol\n",
        "alice,bob\nbob,carol\n",
        "u,v\nv,w\nw,u\n",
        &many,
        // The first records of these files need no guess.
        "source,target\nalice,bob\n",
        "10.0.0.1,10.0.0.2\n10.0.0.3,10.0.0.4\n",
        "alice,bob\n",
        "alice,alice\nbob,carol\n",
    ];
    let all = texts.map(|text| {
        let info = load_with(text, EdgeListOptions::default()).unwrap().info;
        let guess = info.header_guess.map_or("no guess".to_owned(), |guess| guess.to_string());
        format!("{} entries: {guess}\n", info.stored)
    });
    expect![[r#"
        2 entries: the first record, `person,friend`, is read as the header, because none of its names occurs again
        2 entries: the first record, `alice,bob`, is read as an entry, because `bob` occurs again
        3 entries: the first record, `u,v`, is read as an entry, because `v` occurs again
        42 entries: the first record, `alice,bob`, is read as an entry, because `alice` occurs again
        1 entries: no guess
        2 entries: no guess
        1 entries: the first record, `alice,bob`, is read as an entry, because there is no other record
        2 entries: no guess
    "#]]
    .assert_eq(&all.concat());
}

/// Checks the report of two columns of names that share no name, and are numbered as one set.
#[test]
fn separate_columns_of_names() {
    let texts = [
        "reader,book,days\nann,Emma,3\nbob,Ulysses,4\n",
        "ann,Emma\n",
        "source,target\nann,bob\nbob,cid\n",
        "# dims 2 2\nsource,target\nann,bob\n",
        "0,1\n2,3\n",
    ];
    let all = texts.map(|text| {
        let info = load_with(text, EdgeListOptions::default()).unwrap().info;
        let separate = info.separate_names.map_or("no report".to_owned(), |names| names.to_string());
        format!("{}: {separate}\n", info.columns.join(","))
    });
    expect![[r#"
        reader,book,days: columns `reader` and `book` share no name, but are numbered as one set of 4 names
        : columns 1 and 2 share no name, but are numbered as one set of 2 names
        source,target: no report
        source,target: no report
        : no report
    "#]]
    .assert_eq(&all.concat());
    let per_mode = EdgeListOptions { vertices: Vertices::PerMode, ..EdgeListOptions::default() };
    assert_eq!(load_with(texts[0], per_mode).unwrap().info.separate_names, None);
}

#[test]
fn options_override_the_detection() {
    let plain = EdgeListOptions::default;
    let name = |name: &str| Column::Name(name.into());
    let ratings = "userId,movieId,rating,time\n1,2,4.5,7\n2,0,3.0,8\n";
    let cases = [
        (ratings, EdgeListOptions { vertices: Vertices::PerMode, ..plain() }),
        (
            ratings,
            EdgeListOptions { weight: Weight::Column(name("time")), coordinates: vec![name("movieId")], ..plain() },
        ),
        (ratings, EdgeListOptions { weight: Weight::None, ..plain() }),
        (
            ratings,
            EdgeListOptions { coordinates: [4, 2, 1].map(Column::Number).to_vec(), weight: Weight::None, ..plain() },
        ),
        ("1 2\n2 3\n", EdgeListOptions { first: 1, ..plain() }),
        ("1 2\n2 3\n", EdgeListOptions { ids: Ids::Names, ..plain() }),
        ("a b\nc a\n", EdgeListOptions { vertices: Vertices::PerMode, ..plain() }),
        ("a 1\nc 2\n", EdgeListOptions { vertices: Vertices::PerMode, ..plain() }),
        ("source target\nx y\n", EdgeListOptions { header: Some(false), ..plain() }),
        ("one two\n1 2\n", EdgeListOptions { header: Some(true), ..plain() }),
        ("1;2 3\n", EdgeListOptions { delimiter: Some(Delimiter::Space), ..plain() }),
        ("0 1\n", EdgeListOptions { first: 1, ..plain() }),
        (ratings, EdgeListOptions { weight: Weight::Column(name("stars")), ..plain() }),
        (ratings, EdgeListOptions { weight: Weight::Column(Column::Number(5)), ..plain() }),
        ("1 2\n", EdgeListOptions { weight: Weight::Column(name("stars")), ..plain() }),
        (ratings, EdgeListOptions { coordinates: vec![Column::Number(1); 2], ..plain() }),
        (ratings, EdgeListOptions { coordinates: vec![name("userID"), name("movieId")], ..plain() }),
        // A requested name makes the first record a header, even if another of its fields occurs
        // again.
        ("me you\nme we\n", EdgeListOptions { coordinates: vec![name("you")], weight: Weight::None, ..plain() }),
    ];
    let all = cases.into_iter().map(|(text, options)| describe(load_with(text, options)));
    expect![[r#"
        [3, 3] f64: (1, 2): 4.5, (2, 0): 3.0
        [3] i64: (0): 8, (2): 7
        [3, 3] bool: (1, 2): true, (2, 0): true
        [9, 3, 3] bool: (7, 2, 1): true, (8, 0, 2): true
        [3, 3] bool: (0, 1): true, (1, 2): true
        [3, 3] bool: (0, 1): true, (1, 2): true 1|2|3 / 1|2|3
        [2, 2] bool: (0, 0): true, (1, 1): true a|c / b|a
        [2, 3] bool: (0, 1): true, (1, 2): true a|c / numbers
        [4, 4] bool: (0, 1): true, (2, 3): true source|target|x|y / source|target|x|y
        [3, 3] bool: (1, 2): true
        [2, 2] bool: (0, 1): true 1;2|3 / 1;2|3
        a.csv:1, column 1: coordinate 0 of mode 0 is out of range: a dimension is at most 2^63 - 1, and coordinates start at 1
        a.csv:1: expected a column named `stars`, found `userId`, `movieId`, `rating`, `time`
        a.csv:1: expected a column from 1 to 4, found 5
        a.csv:1: expected a column named `stars`, found no header; if the first record is the header, say so (`--header true` on the command line, `header` in Rust)
        a.csv:1: expected distinct columns of coordinates and values, found column `userId` twice; name each column once
        a.csv:1: expected a column named `userID`, found `userId`, `movieId`, `rating`, `time`; did you mean `userId`?
        [1] bool: (0): true we
    "#]]
    .assert_eq(&all.collect::<String>());
}

/// Asserts that names keep the numbers that another file gave them, and that further names are
/// numbered after them.
#[test]
fn names_of_other_files_keep_their_numbers() {
    let names = |names: &[&str]| Some(Arc::new(names.iter().collect::<Dictionary>()));
    let given = |names: Vec<_>, vertices| EdgeListOptions { names, vertices, ..EdgeListOptions::default() };
    let cases = [
        ("a b\nc a\n", given(vec![names(&["x", "a"]), None], Vertices::PerMode)),
        ("a b\nc a\n", given(vec![names(&["x", "a"])], Vertices::OneSet)),
        ("a b\nc a\n", given(vec![names(&["x"]), names(&["a", "y"])], Vertices::OneSet)),
        ("1 2\n3 1\n", given(vec![None, names(&["1", "z"])], Vertices::PerMode)),
        ("# dims 3 2\na b\n", given(vec![names(&["x", "a"]), None], Vertices::PerMode)),
        ("# dims 1 2\na b\nc b\n", given(vec![names(&["x", "a"]), None], Vertices::PerMode)),
        ("a b\n", given(vec![None, None, names(&["a"])], Vertices::PerMode)),
    ];
    let all = cases.into_iter().map(|(text, options)| describe(load_with(text, options)));
    expect![[r#"
        [3, 2] bool: (1, 0): true, (2, 1): true x|a|c / b|a
        [4, 4] bool: (1, 2): true, (3, 1): true x|a|b|c / x|a|b|c
        [5, 5] bool: (1, 3): true, (4, 1): true x|a|y|b|c / x|a|y|b|c
        [4, 3] bool: (1, 2): true, (3, 0): true numbers / 1|z|2
        [3, 2] bool: (1, 0): true x|a / b
        a.csv:2, column 1: expected at most 1 name in mode 0, as its dimension is 1, found the further name `a`; correct the comment `# dims`, or remove it
        a.csv:1: expected names of at most 2 modes, one per column of coordinates, found names of 3 modes
    "#]].assert_eq(&all.collect::<String>());
}

/// Asserts that names with delimiters, quotes, blanks and `#` survive writing and reading.
#[test]
fn names_are_written_and_read_back() {
    let text = "source,target,weight\nplain,\"\",0.5\n\"a,b\",\"c\"\"d\",1\n\"#x\",\" e \",2\n";
    let loaded = load_with(text, EdgeListOptions::default()).unwrap();
    let content = Content {
        shape: loaded.info.shape.clone(),
        fill: Scalar::F64(0.0),
        layout: Layout::Coordinate,
        data: loaded.data.clone(),
    };
    let options = WriteOptions { dictionaries: loaded.dictionaries.clone(), ..WriteOptions::default() };
    for name in ["b.csv", "b.tsv.gz"] {
        let bytes = write_bytes(name, &content, &options).unwrap();
        let back = load(name, &bytes).unwrap();
        assert_eq!((&back.data, &back.dictionaries), (&loaded.data, &loaded.dictionaries), "{name}");
    }
    // A square matrix with different sets of names.
    let per_mode = EdgeListOptions { vertices: Vertices::PerMode, ..EdgeListOptions::default() };
    let loans = load_with("source,target\nann,Emma\nbob,Ulysses\n", per_mode).unwrap();
    let options = WriteOptions { dictionaries: loans.dictionaries.clone(), ..WriteOptions::default() };
    let content =
        Content { fill: Scalar::Bool(false), shape: vec![2, 2], layout: Layout::Coordinate, data: loans.data.clone() };
    let bytes = write_bytes("b.csv", &content, &options).unwrap();
    assert!(bytes.starts_with(b"# dims 2 2\n# names per mode\nrow,column\n"));
    let back = load("b.csv", &bytes).unwrap();
    assert_eq!((&back.data, &back.dictionaries), (&loans.data, &loans.dictionaries));
    let dictionary = loaded.dictionaries[0].as_ref().unwrap();
    assert_eq!((dictionary.len(), dictionary.name(2), dictionary.coordinate("c\"d")), (6, Some("a,b"), Some(3)));
    assert_eq!((dictionary.name(6), dictionary.coordinate("none")), (None, None));
    let error = write_bytes("b.mtx", &content, &options).unwrap_err().to_string();
    expect![
        "b.mtx: cannot write this tensor: not supported: a dictionary of names in a .mtx file; write it as .csv or .tsv"
    ]
    .assert_eq(&error);
}

#[test]
fn written_text() {
    let content = |shape: &[u64], values| Content {
        shape: shape.to_vec(),
        fill: Scalar::zero(Values::prim(&values)),
        layout: Layout::Coordinate,
        data: Data::Triples { coordinates: shape.iter().map(|_| vec![0, 1]).collect(), values },
    };
    let write = |name: &str, content: &Content| {
        String::from_utf8(write_bytes(name, content, &WriteOptions::default()).unwrap()).unwrap()
    };
    let texts = [
        write("a.csv", &content(&[2, 2], Values::F64(vec![1.0, f64::NAN]))),
        write("a.tsv", &content(&[2, 3], Values::I64(vec![1, -2]))),
        write("a.csv", &content(&[2, 2], Values::Bool(vec![true, false]))),
        write("a.csv", &content(&[2, 2, 2], Values::F32(vec![0.1, 2.0]))),
    ];
    expect![[r#"
        row,column,value
        0,0,1.0
        1,1,nan
        --
        # dims 2 3
        row	column	value
        0	0	1
        1	1	-2
        --
        # dims 2 2
        row,column
        0,0
        --
        i0,i1,i2,value
        0,0,0,0.1
        1,1,1,2.0
    "#]]
    .assert_eq(&texts.join("--\n"));
    assert_eq!(load("a.csv", texts[2].as_bytes()).unwrap().info.dtype, Prim::Bool.into());
}

/// Asserts that text in other encodings or with other line ends is read or rejected with a reason,
/// and never read as names.
#[test]
fn encodings_and_line_ends() {
    let utf_16 = "0,1\n1,0\n".encode_utf16().flat_map(u16::to_le_bytes);
    let files = [
        b"\xef\xbb\xbf# dims 3 3\n0,1\n".to_vec(),
        [0xff, 0xfe].into_iter().chain(utf_16).collect(),
        b"0,1\r1,0\r".to_vec(),
        b"0,1\r\n1,0\r\n".to_vec(),
    ];
    let all = files.iter().map(|bytes| describe(load("a.csv", bytes).map_err(|e| e.to_string())));
    expect![[r#"
        [3, 3] bool: (0, 1): true
        a.csv: not supported: text in UTF-16; save it as UTF-8
        a.csv: not supported: text whose lines end with a carriage return alone; save it with line feeds
        [2, 2] bool: (0, 1): true, (1, 0): true
    "#]]
    .assert_eq(&all.collect::<String>());
}
