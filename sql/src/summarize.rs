//! `SUMMARIZE`: a row of types, extremes, moments and counts for each column of a table or query.

use crate::database::Database;
use datafusion::error::{DataFusionError, Result};
use datafusion::prelude::DataFrame;

impl Database {
    /// Summarizes a table or a query, given as a name or as the text of a query. The result has a
    /// row for each column, with its name, type, smallest and largest value, mean, standard
    /// deviation, and the numbers of rows, NULLs and distinct values. An extreme or moment that the
    /// type does not have is NULL.
    ///
    /// # Errors
    /// If the text is empty, or is neither a table nor a query that can be planned.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let database = redpoll::Session::default().database();
    /// let frame = database.summarize("VALUES (1, 'a'), (4, 'b'), (NULL, 'a')").await?;
    /// let rows = database.collect(frame).await?;
    /// let rows = redpoll_sql::datafusion::arrow::util::pretty::pretty_format_batches(&rows)?.to_string();
    /// assert!(rows.contains("| column1 | Int64 | 1   | 4   | 2.5  |"), "{rows}");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn summarize(&self, source: &str) -> Result<DataFrame> {
        let source = source.trim().trim_end_matches(';');
        if source.is_empty() {
            return Err(DataFusionError::Plan("SUMMARIZE needs a table or a query".to_owned()));
        }
        let first_word = source.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_ascii_uppercase();
        let rows = match first_word.as_str() {
            "SELECT" | "WITH" | "VALUES" | "" if !source.starts_with(['\'', '"']) => format!("({source}) AS t"),
            _ => format!("(SELECT * FROM {source}) AS t"),
        };
        let columns = self.sql(&format!("SELECT * FROM {rows}")).await?;
        let summaries = columns.schema().fields().iter().enumerate().map(|(position, field)| {
            let (name, ty) = (field.name(), field.data_type());
            let column = format!("\"{}\"", name.replace('"', "\"\""));
            let [name, type_name] = [name.as_str(), &ty.to_string()].map(|text| text.replace('\'', "''"));
            let extreme = |function: &str| match ty.is_nested() {
                true => "CAST(NULL AS VARCHAR)".to_owned(),
                false => format!("CAST({function}({column}) AS VARCHAR)"),
            };
            let moment = |function: &str| match ty.is_numeric() {
                true => format!("CAST({function}({column}) AS DOUBLE)"),
                false => "CAST(NULL AS DOUBLE)".to_owned(),
            };
            let [min, max] = ["min", "max"].map(extreme);
            let [mean, deviation] = ["avg", "stddev"].map(moment);
            format!(
                "SELECT {position} AS position, '{name}' AS \"column\", '{type_name}' AS \"type\", {min} AS \"min\", \
                 {max} AS \"max\", {mean} AS \"mean\", {deviation} AS \"stddev\", count(*) AS \"rows\", \
                 count(*) - count({column}) AS \"nulls\", count(DISTINCT {column}) AS \"distinct\" FROM {rows}"
            )
        });
        let summaries: Vec<String> = summaries.collect();
        let columns = "\"column\", \"type\", \"min\", \"max\", \"mean\", \"stddev\", \"rows\", \"nulls\", \"distinct\"";
        self.sql(&format!("SELECT {columns} FROM ({}) ORDER BY position", summaries.join(" UNION ALL "))).await
    }
}
