//! Workloads as SQL: one query for each, over the tables of its inputs.
//!
//! The table of input `A` is `m_a`, the table of `x` is `v_x`. Columns are `i`, `j`, .. for modes,
//! and `v` for values. A query returns the coordinates of its result in order, followed by the
//! value. Coordinates without a row have the fill value.

use crate::protocol::WorkloadTask;
use anyhow::{Context, Result};

/// The query of a workload.
pub(super) struct WorkloadQuery {
    /// The name of the workload.
    pub(super) operation: &'static str,
    /// The shape of the result: for each mode, an input and the mode of this input that has the
    /// same size. Empty for numbers, and for `histogram` and `slices`, whose shapes `shape_of`
    /// computes.
    pub(super) shape: &'static [(&'static str, usize)],
    /// The SQL text.
    pub(super) sql: &'static str,
}

impl WorkloadQuery {
    /// Returns the shape of the result over the inputs of a task.
    pub(super) fn shape_of(&self, task: &WorkloadTask) -> Result<Vec<u64>> {
        let size = |(name, mode): &(&str, usize)| {
            let input =
                task.inputs.iter().find(|input| input.name == *name).with_context(|| format!("no input `{name}`"))?;
            Ok(input.shape[*mode])
        };
        match self.operation {
            "histogram" => Ok(vec![256]),
            "slices" => Ok(vec![task.inputs[0].shape[0] - 1, task.inputs[0].shape[1]]),
            _ => self.shape.iter().map(size).collect(),
        }
    }
}

const SPMV: &str = "SELECT a.i, sum(a.v * x.v) AS v FROM m_a a JOIN v_x x ON a.j = x.i GROUP BY a.i";
const TRIANGLES: &str = "SELECT count(*) AS v FROM m_e a JOIN m_e b ON a.j = b.i JOIN m_e c ON a.i = c.i AND b.j = c.j";

/// All queries.
pub(super) const QUERIES: &[WorkloadQuery] = &[
    WorkloadQuery { operation: "triangles", shape: &[], sql: TRIANGLES },
    WorkloadQuery {
        operation: "sddmm",
        shape: &[("S", 0), ("S", 1)],
        sql: "SELECT s.i, s.j, sum(s.v * a.v * b.v) AS v FROM m_s s JOIN m_a a ON a.i = s.i
              JOIN m_b b ON b.i = s.j AND b.j = a.j GROUP BY s.i, s.j",
    },
    WorkloadQuery {
        operation: "fused",
        shape: &[("C", 0), ("C", 1)],
        sql: "SELECT c.i, c.j, (coalesce(a.v, 0) + coalesce(b.v, 0)) * c.v AS v FROM m_c c
              LEFT JOIN m_a a ON a.i = c.i AND a.j = c.j LEFT JOIN m_b b ON b.i = c.i AND b.j = c.j
              WHERE a.v IS NOT NULL OR b.v IS NOT NULL",
    },
    WorkloadQuery { operation: "spmv", shape: &[("A", 0)], sql: SPMV },
    WorkloadQuery { operation: "tiny_spmv", shape: &[("A", 0)], sql: SPMV },
    WorkloadQuery {
        operation: "spmm",
        shape: &[("A", 0), ("X", 1)],
        sql: "SELECT a.i, x.j, sum(a.v * x.v) AS v FROM m_a a JOIN m_x x ON a.j = x.i GROUP BY a.i, x.j",
    },
    WorkloadQuery {
        operation: "spgemm",
        shape: &[("A", 0), ("B", 1)],
        sql: "SELECT a.i, b.j, sum(a.v * b.v) AS v FROM m_a a JOIN m_b b ON a.j = b.i GROUP BY a.i, b.j",
    },
    WorkloadQuery {
        operation: "residual",
        shape: &[("A", 0)],
        sql: "SELECT b.i, b.v - coalesce(s.v, 0) AS v FROM v_b b LEFT JOIN
              (SELECT a.i, sum(a.v * x.v) AS v FROM m_a a JOIN v_x x ON a.j = x.i GROUP BY a.i) s ON s.i = b.i",
    },
    WorkloadQuery {
        operation: "mattransmul",
        shape: &[("A", 1)],
        sql: "SELECT z.i, 3 * z.v + 2 * coalesce(s.v, 0) AS v FROM v_z z LEFT JOIN
              (SELECT a.j, sum(a.v * x.v) AS v FROM m_a a JOIN v_x x ON a.i = x.i GROUP BY a.j) s ON s.j = z.i",
    },
    WorkloadQuery {
        operation: "addition",
        shape: &[("A", 0), ("A", 1)],
        sql: "SELECT coalesce(a.i, b.i), coalesce(a.j, b.j), coalesce(a.v, 0) + coalesce(b.v, 0) AS v
              FROM m_a a FULL JOIN m_b b ON a.i = b.i AND a.j = b.j",
    },
    WorkloadQuery {
        operation: "plus3",
        shape: &[("A", 0), ("A", 1)],
        sql: "SELECT i, j, sum(v) AS v FROM (FROM m_a UNION ALL FROM m_b UNION ALL FROM m_c) GROUP BY i, j",
    },
    WorkloadQuery {
        operation: "mttkrp",
        shape: &[("X", 0), ("B", 1)],
        sql: "SELECT x.i, b.j, sum(x.v * b.v * c.v) AS v FROM m_x x JOIN m_b b ON x.j = b.i
              JOIN m_c c ON x.k = c.i AND b.j = c.j GROUP BY x.i, b.j",
    },
    WorkloadQuery {
        operation: "ttv",
        shape: &[("X", 0), ("X", 1)],
        sql: "SELECT t.i, t.j, sum(t.v * x.v) AS v FROM m_x t JOIN v_x x ON t.k = x.i GROUP BY t.i, t.j",
    },
    WorkloadQuery {
        operation: "ttm",
        shape: &[("X", 0), ("X", 1), ("B", 1)],
        sql: "SELECT x.i, x.j, b.j AS r, sum(x.v * b.v) AS v FROM m_x x JOIN m_b b ON x.k = b.i GROUP BY x.i, x.j, b.j",
    },
    WorkloadQuery {
        operation: "tensor_plus",
        shape: &[("X", 0), ("X", 1), ("X", 2)],
        sql:
            "SELECT coalesce(a.i, b.i), coalesce(a.j, b.j), coalesce(a.k, b.k), coalesce(a.v, 0) + coalesce(b.v, 0) AS v
              FROM m_x a FULL JOIN m_y b ON a.i = b.i AND a.j = b.j AND a.k = b.k",
    },
    WorkloadQuery {
        operation: "innerprod",
        shape: &[],
        sql: "SELECT sum(a.v * b.v) AS v FROM m_x a JOIN m_y b ON a.i = b.i AND a.j = b.j AND a.k = b.k",
    },
    WorkloadQuery {
        operation: "xor",
        shape: &[("A", 0), ("A", 1)],
        sql: "SELECT coalesce(a.i, b.i), coalesce(a.j, b.j), xor(coalesce(a.v, 0), coalesce(b.v, 0)) AS v
              FROM m_a a FULL JOIN m_b b ON a.i = b.i AND a.j = b.j",
    },
    WorkloadQuery {
        operation: "right_shift",
        shape: &[("A", 0), ("A", 1)],
        sql: "SELECT a.i, a.j, a.v >> coalesce(b.v, 0) AS v FROM m_a a LEFT JOIN m_b b ON a.i = b.i AND a.j = b.j",
    },
    WorkloadQuery {
        operation: "ldexp",
        shape: &[("A", 0), ("A", 1)],
        sql: "SELECT a.i, a.j, a.v * pow(2, coalesce(b.v, 0)) AS v
              FROM m_a a LEFT JOIN m_b b ON a.i = b.i AND a.j = b.j",
    },
    WorkloadQuery {
        operation: "power",
        shape: &[("A", 0), ("A", 1)],
        sql: "SELECT coalesce(a.i, b.i), coalesce(a.j, b.j), pow(coalesce(a.v, 0), coalesce(b.v, 0)) AS v
              FROM m_a a FULL JOIN m_b b ON a.i = b.i AND a.j = b.j",
    },
    WorkloadQuery {
        operation: "bitwise",
        shape: &[("A", 0), ("A", 1)],
        sql: "SELECT u.i, u.j, xor(coalesce(a.v, 0) & u.b, u.b | u.c) AS v FROM
              (SELECT coalesce(b.i, c.i) AS i, coalesce(b.j, c.j) AS j, coalesce(b.v, 0) AS b, coalesce(c.v, 0) AS c
               FROM m_b b FULL JOIN m_c c ON b.i = c.i AND b.j = c.j) u
              LEFT JOIN m_a a ON a.i = u.i AND a.j = u.j",
    },
    WorkloadQuery {
        operation: "slices",
        shape: &[],
        sql: "SELECT i, j, sum(v) AS v FROM (SELECT i - 1 AS i, j, v FROM m_a WHERE i > 0 UNION ALL
              SELECT i, j, v FROM m_a WHERE i < (SELECT max(i) FROM m_a)) GROUP BY i, j",
    },
    WorkloadQuery {
        operation: "edge",
        shape: &[("I", 0), ("I", 1)],
        sql: "SELECT p.i, p.j, true AS v FROM m_i p JOIN m_m m ON m.i = p.i AND m.j = p.j
              WHERE m.v AND (p.v > 60) != (p.v > 180)",
    },
    WorkloadQuery {
        operation: "mxv_bool",
        shape: &[("A", 0)],
        sql: "SELECT DISTINCT a.i, true AS v FROM m_a a JOIN v_x x ON a.j = x.i JOIN v_v w ON a.i = w.i
              WHERE x.v AND NOT w.v",
    },
    WorkloadQuery {
        operation: "mxv_tropical",
        shape: &[("A", 0)],
        sql: "SELECT a.i, min(a.v + x.v) AS v FROM m_a a JOIN v_x x ON a.j = x.i JOIN v_v w ON a.i = w.i
              WHERE isfinite(x.v) AND w.v GROUP BY a.i",
    },
    WorkloadQuery {
        operation: "mxm_bool",
        shape: &[("M", 0), ("M", 1)],
        sql: "SELECT DISTINCT m.i, m.j, true AS v FROM m_m m JOIN m_a a ON a.i = m.i
              JOIN m_b b ON b.i = a.j AND b.j = m.j",
    },
    WorkloadQuery {
        operation: "mxm_tropical",
        shape: &[("M", 0), ("M", 1)],
        sql: "SELECT m.i, m.j, min(a.v + b.v) AS v FROM m_m m JOIN m_a a ON a.i = m.i
              JOIN m_b b ON b.i = a.j AND b.j = m.j GROUP BY m.i, m.j",
    },
    WorkloadQuery { operation: "histogram", shape: &[], sql: "SELECT v AS b, count(*) AS v FROM m_i GROUP BY b" },
    WorkloadQuery {
        operation: "tiny_add",
        shape: &[("x", 0)],
        sql: "SELECT x.i, x.v + y.v AS v FROM v_x x JOIN v_y y USING (i)",
    },
    WorkloadQuery {
        operation: "tiny_dot",
        shape: &[],
        sql: "SELECT sum(x.v * y.v) AS v FROM v_x x JOIN v_y y USING (i)",
    },
];
