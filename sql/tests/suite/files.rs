//! Files as tables: formats of text, compressed files, folders and patterns, and errors in files.

use datafusion::arrow::util::pretty::pretty_format_batches;
use expect_test::{Expect, expect};
use redpoll::sql::{Database, datafusion};
use redpoll_testing::sql::{database, run};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Creates a folder of files.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

/// Returns the columns and rows of a file's table on one line, or the error.
async fn describe_table(database: &Database, path: &Path) -> String {
    if let Err(error) = database.register_file("t", path).await {
        let text = redpoll::sql::message(&error);
        return text.replace(path.parent().unwrap().to_str().unwrap(), "..");
    }
    on_one_line(database, "SELECT * FROM t ORDER BY 1").await
}

/// Returns the columns and rows of a query on one line, or the error.
async fn on_one_line(database: &Database, sql: &str) -> String {
    match run(database, sql).await {
        Ok(batches) => {
            let table = pretty_format_batches(&batches).unwrap().to_string();
            let lines = table.lines().filter(|line| line.starts_with('|'));
            let cells =
                |line: &str| line.split('|').map(str::trim).filter(|c| !c.is_empty()).collect::<Vec<_>>().join(" ");
            lines.map(cells).collect::<Vec<_>>().join(" / ")
        }
        Err(error) => redpoll::sql::message(&error),
    }
}

async fn check(files: &[(&str, &[u8])], paths: &[&str], expect: &Expect) {
    let (folder, database) = (folder(files), database().await);
    let mut lines = String::new();
    for path in paths {
        let line = describe_table(&database, &folder.path().join(path)).await;
        lines += &format!("{path}: {line}\n").replace(folder.path().to_str().unwrap(), "..");
    }
    expect.assert_eq(&lines);
}

fn gzip(text: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Text files of rows become tables, whatever their format and compression. The file in the Matrix
/// Market format is a matrix. An uncompressed file with the name of a compressed file is an error.
#[tokio::test]
async fn text_files_are_tables_under_any_name() {
    let (commas, tabs) = (&b"id,name\n1,ann\n2,bob\n"[..], &b"id\tname\n1\tann\n2\tbob, jr\n"[..]);
    let (gz, zst) = (gzip(tabs), zstd::encode_all(commas, 1).unwrap());
    let objects = b"{\"id\": 1, \"name\": \"ann\"}\n{\"id\": 2, \"name\": null}\n";
    let packed = gzip(objects);
    let files: [(&str, &[u8]); 17] = [
        ("a.csv", commas),
        ("b.CSV", commas),
        ("c.tsv", tabs),
        ("d.TSV", tabs),
        ("e.txt", b"id;name\r\n1;ann\r\n2;bob\r\n"),
        ("f.txt", b"# edges\n0\t1\n2\t0\n"),
        ("g.Txt", tabs),
        ("h.csv.gz", &gzip(commas)),
        ("i.tsv.GZ", &gz),
        ("j.CSV.zst", &zst),
        ("k.ndjson", objects),
        ("l.JSONL", objects),
        ("m.json", b"[{\"id\": 1}, {\"id\": 2}]"),
        ("n.ndjson.gz", &packed),
        ("o.csv", b"\xef\xbb\xbfid,name\r\n1,ann\r\n"),
        ("p.csv.gz", b"not compressed"),
        ("q.txt", b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 7\n"),
    ];
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    check(
        &files,
        &names,
        &expect![[r#"
        a.csv: id name / 1 ann / 2 bob
        b.CSV: id name / 1 ann / 2 bob
        c.tsv: id name / 1 ann / 2 bob, jr
        d.TSV: id name / 1 ann / 2 bob, jr
        e.txt: id name / 1 ann / 2 bob
        f.txt: column_1 column_2 / 0 1 / 2 0
        g.Txt: id name / 1 ann / 2 bob, jr
        h.csv.gz: id name / 1 ann / 2 bob
        i.tsv.GZ: id name / 1 ann / 2 bob, jr
        j.CSV.zst: id name / 1 ann / 2 bob
        k.ndjson: id name / 1 ann / 2
        l.JSONL: id name / 1 ann / 2
        m.json: id / 1 / 2
        n.ndjson.gz: id name / 1 ann / 2
        o.csv: id name / 1 ann
        p.csv.gz: ../p.csv.gz: expected a gzip stream, as the file name indicates, found other content; correct the extension
        q.txt: i0 i1 value / 0 1 7
    "#]],
    )
    .await;
}

/// Numbers with leading zeros are texts, repeated names get numbers, and a first line of numbers is
/// no header.
#[tokio::test]
async fn columns_of_text_keep_codes_names_and_first_rows() {
    let codes = b"zip,n\n00712,0\n1000,0.5\n";
    let files: [(&str, &[u8]); 7] = [
        ("codes.csv", codes),
        ("codes.csv.gz", &gzip(codes)),
        ("more/a.csv", b"zip,n\n712,1\n"),
        ("more/b.csv", b"zip,n\n00712,2\n"),
        ("names.csv", b"a,a,b\n1,2,3\n"),
        ("names.csv.gz", &gzip(b"a,a,b\n1,2,3\n")),
        ("numbers.csv", b"1,2.5\n3,4\n"),
    ];
    let paths = ["codes.csv", "codes.csv.gz", "more", "names.csv", "names.csv.gz", "numbers.csv"];
    check(
        &files,
        &paths,
        &expect![[r#"
        codes.csv: zip n / 00712 0.0 / 1000 0.5
        codes.csv.gz: zip n / 00712 0.0 / 1000 0.5
        more: zip n / 00712 2 / 712 1
        names.csv: a a_1 b / 1 2 3
        names.csv.gz: a a_1 b / 1 2 3
        numbers.csv: column_1 column_2 / 1 2.5 / 3 4.0
    "#]],
    )
    .await;
}

/// `read_csv` accepts types of columns, for plain files and for compressed files. Wrong types and
/// unknown columns are errors.
#[tokio::test]
async fn types_of_columns_can_be_given() {
    let text = b"zip,n,day\n712,1,2024-02-29\n1000,2,2023-01-01\n";
    let files: [(&str, &[u8]); 2] = [("a.csv", text), ("b.csv.gz", &gzip(text))];
    let (folder, database) = (folder(&files), database().await);
    let mut lines = String::new();
    for (file, types) in [
        ("a.csv", "{'zip': 'VARCHAR', 'n': 'DOUBLE'}"),
        ("b.csv.gz", "{'zip': 'VARCHAR', 'n': 'DOUBLE'}"),
        ("a.csv", "{'zip': 'NUMBERS'}"),
        ("a.csv", "{'code': 'VARCHAR'}"),
        ("b.csv.gz", "{'code': 'VARCHAR'}"),
        ("a.csv", "{'n': 'DATE'}"),
        ("a.csv", "'VARCHAR'"),
        ("a.csv", "{'zip': 3}"),
    ] {
        let path = folder.path().join(file);
        let call = format!("read_csv('{}', types = {types})", path.display());
        let line = on_one_line(&database, &format!("SELECT *, arrow_typeof(n) AS n_type FROM {call} ORDER BY n")).await;
        lines += &format!("{file} {types}: {line}\n").replace(folder.path().to_str().unwrap(), "..");
    }
    expect![[r#"
        a.csv {'zip': 'VARCHAR', 'n': 'DOUBLE'}: zip n day n_type / 712 1.0 2024-02-29 Float64 / 1000 2.0 2023-01-01 Float64
        b.csv.gz {'zip': 'VARCHAR', 'n': 'DOUBLE'}: zip n day n_type / 712 1.0 2024-02-29 Float64 / 1000 2.0 2023-01-01 Float64
        a.csv {'zip': 'NUMBERS'}: column `zip`: expected an SQL type such as BIGINT, DOUBLE, VARCHAR or DATE, found `NUMBERS`
        a.csv {'code': 'VARCHAR'}: table `read_csv('../a.csv', types = {'code': 'VARCHAR'})`: `types` names the column `code`; the columns are zip, n, day
        b.csv.gz {'code': 'VARCHAR'}: table `../b.csv.gz`: `types` names the column `code`; the columns are zip, n, day
        a.csv {'n': 'DATE'}: Parser error: the file ../a.csv: line 2: column `n`: '1' is no Date32
        a.csv 'VARCHAR': `types` must be columns with types in braces, found `'VARCHAR'`; write `read_csv('FILE', header = true, delim = ',', comment = '#', types = {'COLUMN': 'VARCHAR'})`
        a.csv {'zip': 3}: `types` must be columns with types in braces, found `{'zip': 3}`; write `read_csv('FILE', header = true, delim = ',', comment = '#', types = {'COLUMN': 'VARCHAR'})`
    "#]].assert_eq(&lines);
}

/// A folder or pattern is one table of all its files, also of hidden files with the same extension.
#[tokio::test]
async fn folders_and_patterns_are_tables() {
    let files: [(&str, &[u8]); 12] = [
        ("all/a.csv", b"id,name\n1,ann\n"),
        ("all/b.csv", b"id,name\n2,bob\n"),
        ("all/_hidden", b""),
        ("damaged/a.csv", b"\x1f\x8b\x09\x00\x00\x00\x00\x00\x00\x03\x01\x02"),
        ("deep/x/a.TSV", b"id\tname\n1\tann\n"),
        ("deep/y/b.TSV", b"id\tname\n2\tbob\n"),
        ("hidden/_b.csv", b"id,name\ntwo,bob\n"),
        ("hidden/a.csv", b"id,name\n1,ann\n"),
        ("mixed/a.csv", b"id\n1\n"),
        ("mixed/b.tsv", b"id\n2\n"),
        ("packed/a.csv.gz", b""),
        ("tensors/a.mtx", b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 7\n"),
    ];
    let paths = [
        "all",
        "all/*.csv",
        "all/[b]*.csv",
        "damaged",
        "deep/x",
        "deep/*/*.TSV",
        "deep",
        "hidden",
        "mixed",
        "mixed/*.tsv",
        "all/*.parquet",
        "packed",
        "tensors",
        "none",
    ];
    check(&files, &paths, &expect![[r#"
        all: id name / 1 ann / 2 bob
        all/*.csv: id name / 1 ann / 2 bob
        all/[b]*.csv: id name / 2 bob
        damaged: ../damaged/a.csv: invalid gzip header
        deep/x: id name / 1 ann
        deep/*/*.TSV: id name / 1 ann / 2 bob
        deep: id name / 1 ann / 2 bob
        hidden: Schema error: Fail to merge schema field 'id' because the from data_type = Int64 does not equal Utf8
        mixed: table `t`: the files of ../mixed/ have different extensions, such as ../mixed/a.csv and ../mixed/b.tsv; select one kind, as in `folder/*.csv`
        mixed/*.tsv: id / 2
        all/*.parquet: table `t`: ../*.parquet has no files
        packed: table `t`: ../packed/ has compressed files; decompress them, or make each a table
        tensors: table `t`: the files of ../tensors/ are tensors or have an unknown format; a tensor is read from a single file
        none: table `t`: there is no file ../none
    "#]]).await;
}

/// A quoted value that never ends is an error with the file and the line, whether the reader would
/// return fewer rows, a strange value or an error of its own. Other quotes are no errors.
#[tokio::test]
async fn quotes_that_stay_open_are_errors() {
    let (last, middle) = (&b"id,name\n1,ann\n2,\"bob\n"[..], &b"id,name\n1,ann\n2,\"bob\n3,cid\n4,dan\n"[..]);
    let first = &b"id,name\n\"1,ann\n2,bob\n"[..];
    // The first rows, from which the types of columns are inferred, have no open quote.
    let late = format!("id,name\n{}7,\"bob\n8,cid\n", "1,ann\n".repeat(30_000));
    let tabs = &b"id\tname\n1\tann\n2\t\"bob\n3\tcid\n"[..];
    let plain = &b"id,name\n1,a \"quoted\" word\n2,\"two\nlines\"\n3,\"\"\"\"\n"[..];
    check(
        &[
            ("last.csv", last),
            ("middle.csv", middle),
            ("first.csv", first),
            ("late.csv", late.as_bytes()),
            ("tabs.tsv", tabs),
            ("packed.csv.gz", &gzip(middle)),
            ("folder/a.csv", b"id,name\n1,ann\n"),
            ("folder/b.csv", middle),
            ("plain.csv", plain),
        ],
        &["last.csv", "middle.csv", "first.csv", "late.csv", "tabs.tsv", "packed.csv.gz", "folder", "plain.csv"],
        &expect![[r#"
            last.csv: the file ../last.csv: line 3: a quoted value begins here and never ends; close its quote, and double each quote within it
            middle.csv: the file ../middle.csv: line 3: a quoted value begins here and never ends; close its quote, and double each quote within it
            first.csv: the file ../first.csv: line 2: a quoted value begins here and never ends; close its quote, and double each quote within it
            late.csv: the file ../late.csv: line 30002: a quoted value begins here and never ends; close its quote, and double each quote within it
            tabs.tsv: the file ../tabs.tsv: line 3: a quoted value begins here and never ends; close its quote, and double each quote within it
            packed.csv.gz: the file ../packed.csv.gz: line 3: a quoted value begins here and never ends; close its quote, and double each quote within it
            folder: the file ../folder/b.csv: line 3: a quoted value begins here and never ends; close its quote, and double each quote within it
            plain.csv: id name / 1 a "quoted" word / 2 two / lines / 3 "
        "#]],
    )
    .await;
    let (folder, database) = (folder(&[("late.csv", late.as_bytes())]), database().await);
    let path = folder.path().join("late.csv");
    let path = path.to_str().unwrap();
    for query in [
        format!("SELECT count(*) FROM '{path}'"),
        format!("SELECT id FROM read_csv('{path}', header = true) WHERE id > 1"),
        format!("SELECT count(*) FROM '{path}' a JOIN '{path}' b ON a.id = b.id"),
        format!("SELECT name FROM '{path}' LIMIT 30001"),
    ] {
        let error = redpoll::sql::message(&run(&database, &query).await.expect_err(&query));
        assert!(error.starts_with(&format!("the file {path}: line 30002: a quoted value begins")), "{query}: {error}");
    }
    let declared =
        format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{path}' OPTIONS ('format.has_header' 'true')");
    run(&database, &declared).await.unwrap();
    assert!(run(&database, "SELECT * FROM e").await.is_err());
}

/// Errors of readers name the file.
#[tokio::test]
async fn errors_of_readers_name_the_file() {
    let late = format!("a,b\n{}3\n", "1,2\n".repeat(30_000));
    check(
        &[
            ("short.csv", b"a,b\n1,2\n3\n"),
            ("late.csv", late.as_bytes()),
            ("day.csv", b"id,day\n1,2024-01-02\n2,2024-02-30\n"),
            ("time.csv.gz", &gzip(b"id,time\n1,2024-01-02 10:00:00\n2,2024-01-02 25:00:00\n")),
            ("a.parquet", b"a,b,c,d,e\n"),
        ],
        &["short.csv", "late.csv", "day.csv", "time.csv.gz", "a.parquet"],
        &expect![[r#"
            short.csv: Csv error: the file ../short.csv: Encountered unequal lengths between records on CSV file. Expected 2 records, found 1 records at line 3
            late.csv: Csv error: the file ../late.csv: incorrect number of fields for line 30002, expected 2 got 1
            day.csv: Parser error: the file ../day.csv: line 3: column `day`: '2024-02-30' is no Date32
            time.csv.gz: table `../time.csv.gz`: Parser error: the decompressed text: line 3: column `time`: Error parsing timestamp from '2024-01-02 25:00:00': error parsing time
            a.parquet: the file ../a.parquet cannot be read and is probably damaged: Parquet error: Invalid Parquet file. Corrupt footer
        "#]],
    )
    .await;
}

/// The columns of JSON are in the order in which their keys first appear.
#[tokio::test]
async fn columns_of_json_keep_the_order_of_their_keys() {
    let lines = b"{\"z\": 1, \"m\": {\"y\": 1, \"b\": [{\"q\": 2, \"c\": 3}]}}\n{\"a\": 3, \"z\": 2}\n";
    let array = b"[{\"z\": 1, \"m\": null},\n {\"a\": 3, \"m\": 2}]";
    let files: [(&str, &[u8]); 5] = [
        ("a.ndjson", lines),
        ("b.ndjson.gz", &gzip(lines)),
        ("c.json", array),
        ("more/a.jsonl", b"{\"z\": 1}\n"),
        ("more/b.jsonl", b"{\"k\": 1, \"a\": 2}\n"),
    ];
    check(
        &files,
        &["a.ndjson", "b.ndjson.gz", "c.json", "more"],
        &expect![[r#"
        a.ndjson: z m a / 1 {y: 1, b: [{q: 2, c: 3}]} / 2 3
        b.ndjson.gz: z m a / 1 {y: 1, b: [{q: 2, c: 3}]} / 2 3
        c.json: z m a / 1 / 2 3
        more: z k a / 1 / 1 2
    "#]],
    )
    .await;
    let (folder, database) = (folder(&files), database().await);
    for name in ["a.ndjson", "c.json"] {
        let declare =
            format!("CREATE OR REPLACE EXTERNAL TABLE t STORED AS JSON LOCATION '{}/{name}'", folder.path().display());
        run(&database, &declare).await.unwrap();
        let columns = database.sql("SELECT * FROM t").await.unwrap();
        let columns: Vec<&str> = columns.schema().fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(columns, ["z", "m", "a"], "{name}");
    }
}

/// Errors in JSON name the file and the line.
#[tokio::test]
async fn errors_in_json_name_the_line() {
    let late = |end: &str| format!("{}{end}\n{{\"a\": 1}}\n", "{\"a\": 1}\n".repeat(30_000));
    let (value, syntax) = (late("{\"a\": {\"b\": 2}}"), late("{\"a\": 1"));
    let files: [(&str, &[u8]); 11] = [
        ("text.json", b"a,b\n"),
        ("cut.ndjson", b"{\"a\": 1}\n\n{\"a\": }\n"),
        ("cut.ndjson.gz", &gzip(b"{\"a\": 1}\n\n{\"a\": }\n")),
        ("number.ndjson", b"{\"a\": 1}\n7\n"),
        ("kinds.ndjson", b"{\"a\": {\"b\": 1}}\n{\"a\": {\"b\": {\"c\": 1}}}\n"),
        ("kinds.ndjson.gz", &gzip(b"{\"a\": {\"b\": 1}}\n{\"a\": {\"b\": {\"c\": 1}}}\n")),
        ("array.json", b"[{\"a\": 1},\n {\"a\": }]"),
        ("value.ndjson", value.as_bytes()),
        ("syntax.ndjson", syntax.as_bytes()),
        ("more/a.ndjson", b"{\"a\": 1}\n"),
        ("more/b.ndjson", value.as_bytes()),
    ];
    let mut paths: Vec<&str> = files.iter().map(|(name, _)| *name).filter(|name| !name.starts_with("more")).collect();
    paths.push("more");
    check(&files, &paths, &expect![[r#"
        text.json: the file ../text.json cannot be read and is probably damaged: line 1, column 1: expected value
        cut.ndjson: the file ../cut.ndjson cannot be read and is probably damaged: line 3, column 7: expected value
        cut.ndjson.gz: the file ../cut.ndjson.gz cannot be read and is probably damaged: line 3, column 7: expected value
        number.ndjson: the file ../number.ndjson cannot be read and is probably damaged: line 2, column 1: invalid type: integer `7`, expected an object
        kinds.ndjson: the file ../kinds.ndjson cannot be read and is probably damaged: line 2, column 13: `a.b` is an object, but an earlier value of this key is a single value
        kinds.ndjson.gz: the file ../kinds.ndjson.gz cannot be read and is probably damaged: line 2, column 13: `a.b` is an object, but an earlier value of this key is a single value
        array.json: the file ../array.json cannot be read and is probably damaged: line 2, column 8: expected value
        value.ndjson: the file ../value.ndjson: line 30001: column `a`: expected a single value, found {"b": 2}; the first 1000 records decide the type of a column, unless `CREATE EXTERNAL TABLE` declares it
        syntax.ndjson: the file ../syntax.ndjson cannot be read and is probably damaged: line 30001: Encountered unexpected '{' whilst parsing object
        more: the file ../more/b.ndjson: line 30001: column `a`: expected a single value, found {"b": 2}; the first 1000 records decide the type of a column, unless `CREATE EXTERNAL TABLE` declares it
    "#]]).await;
    // The file is read in parts.
    let (folder, database) = (folder(&files), database().await);
    run(&database, "SET datafusion.optimizer.repartition_file_min_size = 1000").await.unwrap();
    run(&database, "SET datafusion.execution.target_partitions = 4").await.unwrap();
    let path = folder.path().join("value.ndjson");
    let path = path.to_str().unwrap();
    for query in [
        format!("SELECT sum(a) FROM '{path}'"),
        format!("SELECT a + 1 AS b FROM '{path}' WHERE a > 0"),
        format!("SELECT count(*) FROM '{path}' x JOIN '{path}' y ON x.a = y.a"),
    ] {
        let error = redpoll::sql::message(&run(&database, &query).await.expect_err(&query));
        assert!(error.starts_with(&format!("the file {path}: line 30001: column `a`: ")), "{query}: {error}");
    }
}

/// A file is not written into a folder that takes no files, as DataFusion would try forever, or
/// over a device.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn targets_that_take_no_files_are_refused() {
    let database = database().await;
    for (statement, expected) in [
        ("COPY (SELECT 1 AS a) TO '/proc/x.csv'", "/proc/x.csv: cannot create a file in the folder /proc: "),
        ("COPY (SELECT 1 AS a) TO '/proc' STORED AS CSV", "/proc: cannot create a file in the folder /proc: "),
        ("COPY (SELECT 1 AS a) TO '/proc/x.parquet'", "/proc/x.parquet: cannot create a file in the folder /proc: "),
        ("EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '/proc/x.json'", "/proc/x.json: cannot create a file in the folder"),
        ("COPY (SELECT 0 AS i, 1 AS v) TO '/proc/x.mtx'", "/proc/x.mtx: cannot create a file in the folder /proc: "),
        (
            "COPY (SELECT 1 AS a) TO '/dev/null' STORED AS CSV",
            "cannot write /dev/null: it is neither a file nor a folder",
        ),
    ] {
        let error = redpoll::sql::message(&run(&database, statement).await.expect_err(statement));
        assert!(error.starts_with(expected), "{statement}: {error}");
    }
}

/// Values with line breaks do not change the types of other columns. A file that is large enough to
/// be read in parts returns the right rows, or an error if such values occur only after its first
/// MiB.
#[tokio::test]
async fn values_may_contain_line_breaks() {
    let row = |k: usize| format!("{k},\"line one of {k}\nand, line two\"\n");
    let rows = |range: std::ops::Range<usize>| range.map(row).collect::<String>();
    let early = format!("id,text\n{}", rows(0..500));
    let plain: String = (0..2000).map(|k| format!("{k},{}\n", "x".repeat(1000))).collect();
    // Only the first MiB of a file is searched for line breaks in values before the file is read in
    // parts. The first MiB of this file has no such line break.
    let late = format!("id,text\n{plain}{}", rows(2000..2500));
    let folder = folder(&[("early.csv", early.as_bytes()), ("late.csv", late.as_bytes())]);
    let database = database().await;
    run(&database, "SET datafusion.optimizer.repartition_file_min_size = 1000").await.unwrap();
    run(&database, "SET datafusion.execution.target_partitions = 4").await.unwrap();
    let query = |name: &str, query: &str| query.replace("FILE", folder.path().join(name).to_str().unwrap());
    let text = async |sql: &str| match run(&database, sql).await {
        Ok(batches) => pretty_format_batches(&batches).unwrap().to_string(),
        Err(error) => redpoll::sql::message(&error).replace(folder.path().to_str().unwrap(), ".."),
    };
    let sums = "SELECT count(*) AS n, sum(id) AS ids, min(length(text)) AS least FROM 'FILE'";
    expect![[r#"
        +-----+--------+-------+
        | n   | ids    | least |
        +-----+--------+-------+
        | 500 | 124750 | 27    |
        +-----+--------+-------+"#]]
    .assert_eq(&text(&query("early.csv", sums)).await);
    let refused = "the file ../late.csv: line 2002: a quoted value begins here and contains a line break";
    let found = text(&query("late.csv", sums)).await;
    assert!(found.starts_with(refused), "{found}");
    // The limit takes rows from the start of the file, before the line breaks in values.
    expect![[r#"
        +----+
        | id |
        +----+
        | 0  |
        | 1  |
        +----+"#]]
    .assert_eq(&text(&query("late.csv", "SELECT id FROM 'FILE' LIMIT 2")).await);
    run(&database, "SET datafusion.optimizer.repartition_file_scans = false").await.unwrap();
    expect![[r#"
        +------+---------+-------+
        | n    | ids     | least |
        +------+---------+-------+
        | 2500 | 3123750 | 30    |
        +------+---------+-------+"#]]
    .assert_eq(&text(&query("late.csv", sums)).await);
}

/// A file that cannot be read does not replace an existing table.
#[tokio::test]
async fn a_file_with_an_error_leaves_the_table() {
    let (folder, database) = (folder(&[("a.csv", b"id\n1\n"), ("b.mtx", b"no matrix")]), database().await);
    database.register_file("t", &folder.path().join("a.csv")).await.unwrap();
    database.register_file("t", &folder.path().join("b.mtx")).await.unwrap_err();
    database.register_file("t", &folder.path().join("c.csv")).await.unwrap_err();
    assert_eq!(run(&database, "SELECT * FROM t").await.unwrap()[0].num_rows(), 1);
}

/// Tables are replaced in one step: concurrent registrations all succeed, and readers always find a
/// table.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tables_are_replaced_in_one_step() {
    let (folder, database) = (folder(&[("a.csv", b"id\n1\n"), ("b.csv", b"id\n1\n")]), database().await);
    database.register_file("t", &folder.path().join("a.csv")).await.unwrap();
    let tasks = (0..8).map(|k| {
        let (database, file) = (database.clone(), folder.path().join(["a.csv", "b.csv"][k % 2]));
        tokio::spawn(async move {
            for _ in 0..20 {
                match k {
                    0..6 => database.register_file("t", &file).await.unwrap(),
                    _ => drop(run(&database, "SELECT count(*) FROM t").await.unwrap()),
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    run(&database, "CREATE OR REPLACE TABLE t AS SELECT 2 AS id").await.unwrap();
    run(&database, "DROP TABLE t").await.unwrap();
    assert!(run(&database, "SELECT * FROM t").await.is_err());
    run(&database, "CREATE TABLE t AS SELECT 3 AS id").await.unwrap();
    assert!(run(&database, "CREATE TABLE t AS SELECT 4 AS id").await.is_err(), "the table exists");
    run(&database, "CREATE TABLE IF NOT EXISTS t AS SELECT 4 AS id").await.unwrap();
    run(&database, "CREATE SCHEMA other").await.unwrap();
    database.register_file("other.t", &folder.path().join("a.csv")).await.unwrap();
    database.register_file("other.t", &folder.path().join("b.csv")).await.unwrap();
}

/// A query that fails while it reads a file in parts leaves nothing behind: later queries fail,
/// too, or return all rows once the file is mended.
#[tokio::test]
async fn failed_reads_leave_no_rows_behind() {
    let rows = |last: &str| format!("a\n{}{last}\n", "1\n".repeat(30_000));
    let (folder, database) = (folder(&[("a.csv", rows("x").as_bytes())]), database().await);
    run(&database, "SET datafusion.optimizer.repartition_file_min_size = 1000").await.unwrap();
    run(&database, "SET datafusion.execution.target_partitions = 4").await.unwrap();
    let path = folder.path().join("a.csv");
    let sum = format!("SELECT sum(a) FROM '{}'", path.display());
    for query in [&sum, &sum, &sum.replace("sum(a)", "a")] {
        assert_eq!(on_one_line(&database, query).await.split(": ").last(), Some("'x' is no Int64"), "{query}");
    }
    fs::write(&path, rows("22")).unwrap();
    assert!(on_one_line(&database, &sum).await.ends_with("/ 30022"));
}
