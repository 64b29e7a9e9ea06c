//! The messages of redpoll's nodes in plans that travel to workers: changed bytes are refused or
//! give another plan, and never a panic. `REDPOLL_SQL_SEED` is the seed of the changes.

use crate::spread::graph;
use datafusion_distributed::DistributedCodec;
use datafusion_proto::physical_plan::{DefaultPhysicalProtoConverter, PhysicalExtensionCodec};
use prost::Message;
use redpoll::logic::op::Builtin;
use redpoll::sql::datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use redpoll::sql::datafusion::error::{DataFusionError, Result};
use redpoll::sql::datafusion::physical_plan::execution_plan::reset_plan_states;
use redpoll::sql::datafusion::physical_plan::{ExecutionPlan, collect};
use redpoll::sql::{Database, Number, Semiring};
use redpoll_sql::Error;
use redpoll_testing::sql::{compare_rows, on_workers, run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Queries over [`graph`] and the tensor `m`, with all kinds of leaves, fields and aggregates.
const QUERIES: [&str; 9] = [
    "SELECT count(*), sum(a.w), min(a.r), avg(b.r), sum(a.d * b.d) FROM e a JOIN e b ON a.dst = b.src",
    "SELECT count(*) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src",
    "SELECT n.name, count(*), count(DISTINCT e.src), stddev(e.r), avg(e.d) FROM e JOIN n ON e.dst = n.id GROUP BY n.name",
    "SELECT n.name, count(e.w) FROM n LEFT JOIN e ON e.src = n.id GROUP BY n.name",
    "SELECT count(*), count(e.src), count(n.id) FROM n FULL JOIN e ON e.src = n.id",
    "SELECT count(*), sum(a.w) FROM e a JOIN n ON a.src = n.id WHERE NOT EXISTS
     (SELECT 1 FROM e b WHERE b.dst = a.src AND b.w > a.w)",
    "SELECT a.src, min_plus(a.w, b.w), sum(CASE WHEN a.w + b.w > 3 THEN a.w ELSE 1 END), covar_pop(a.r, b.r)
     FROM e a JOIN e b ON a.dst = b.src WHERE a.w < 3 OR b.w > 1 GROUP BY a.src",
    "SELECT m.i1, sum(m.value), max(e.r) FROM m JOIN e ON m.i0 = e.src WHERE m.i1 < 9 GROUP BY m.i1",
    "SELECT sum(value) FROM m WHERE i0 BETWEEN 2 AND 12",
];

/// Number of changes to each message.
const CHANGES: usize = 400;

/// The message of DataFusion around a message of redpoll.
#[derive(Clone, PartialEq, prost::Message)]
struct Envelope {
    /// The number of the codec.
    #[prost(uint32, tag = "1")]
    codec: u32,
    #[prost(bytes = "vec", tag = "2")]
    bytes: Vec<u8>,
}

/// A plan whose nodes travel in messages.
struct Fragments {
    plan: Arc<dyn ExecutionPlan>,
    database: Database,
}

impl Fragments {
    /// Plans a query on a cluster with one worker, whose plan has no connections.
    async fn new(database: &Database, sql: &str, spread: &str) -> Fragments {
        let database = on_workers(database, (spread, 1)).await.unwrap();
        let plan = database.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
        Fragments { plan, database }
    }

    /// Returns the plan in which `change` has replaced the nodes of redpoll, which it gets with
    /// their numbers.
    fn replace(
        &self,
        mut change: impl FnMut(usize, Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut number = 0;
        let replaced = reset_plan_states(self.plan.clone())?.transform_up(|node| {
            let kinds = ["RedpollPartitionExec", "RedpollReplicateExec", "RedpollSpreadExec", "TensorScan"];
            if !kinds.contains(&node.name()) {
                return Ok(Transformed::no(node));
            }
            number += 1;
            change(number - 1, node).map(Transformed::yes)
        });
        replaced.data()
    }

    fn encode(&self, node: Arc<dyn ExecutionPlan>) -> Envelope {
        let codec = DistributedCodec::new_combined_with_user(self.database.context().task_ctx().session_config());
        let mut bytes = Vec::new();
        codec.try_encode(node, &mut bytes, &DefaultPhysicalProtoConverter {}).unwrap();
        Envelope::decode(&*bytes).unwrap()
    }

    fn decode(&self, message: &Envelope, node: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let context = self.database.context().task_ctx();
        let codec = DistributedCodec::new_combined_with_user(context.session_config());
        let inputs: Vec<Arc<dyn ExecutionPlan>> = node.children().into_iter().cloned().collect();
        codec.try_decode(&message.encode_to_vec(), &inputs, &context, &DefaultPhysicalProtoConverter {})
    }
}

/// A source of pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }

    /// Changes a byte, a digit, or the number of bytes.
    fn change(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let at = self.below(bytes.len());
        let digits: Vec<usize> = (0..bytes.len()).filter(|&k| bytes[k].is_ascii_digit()).collect();
        match self.below(8) {
            0 => bytes[at] = self.below(256) as u8,
            1 => bytes[at] ^= 1 << self.below(8),
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, self.below(256) as u8),
            4 => bytes.truncate(at),
            _ if digits.is_empty() => bytes[at] = bytes[at].wrapping_add(1),
            // The text parts of messages stay well-formed, with other indices and counts.
            _ => bytes[digits[self.below(digits.len())]] = b'0' + self.below(10) as u8,
        }
    }
}

/// The outcome of a changed message.
enum Outcome {
    /// The message is refused, because it breaks a rule or is not well-formed.
    Refused {
        breaks_rule: bool,
    },
    /// The message gives a plan, which need not fit into the plan of the query.
    Accepted,
    Failed(String),
}

/// Replaces the message of a node, and runs the plan if the message is accepted.
async fn outcome(fragments: &Fragments, (changed, message): (usize, &Envelope)) -> Outcome {
    let mut is_decoded = false;
    let change = |number, node: Arc<dyn ExecutionPlan>| {
        if number != changed {
            return Ok(node);
        }
        let plan = fragments.decode(message, &node)?;
        is_decoded = true;
        Ok(plan)
    };
    let plan = match catch_unwind(AssertUnwindSafe(|| fragments.replace(change))) {
        Err(_) => return Outcome::Failed("a panic while the message was read".into()),
        Ok(Err(error)) if !is_decoded => {
            let is_typed = matches!(error.find_root(), DataFusionError::External(cause) if cause.is::<Error>());
            return match error.to_string() {
                text if is_typed => Outcome::Refused { breaks_rule: text.contains("it breaks the rule that") },
                text => Outcome::Failed(text),
            };
        }
        Ok(Err(_)) => return Outcome::Accepted,
        Ok(Ok(plan)) => plan,
    };
    match tokio::spawn(collect(plan, fragments.database.context().task_ctx())).await {
        Ok(Err(error)) if error.to_string().contains("panic") => Outcome::Failed(error.to_string()),
        Ok(_) => Outcome::Accepted,
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// A changed message is refused, or its plan gives rows or an error. The digits of a message are
/// most often indices, so most changed messages are well-formed but break a rule.
#[tokio::test(flavor = "multi_thread")]
async fn changed_messages_do_not_panic() {
    let database = graph().await;
    database.register_semiring(Semiring::new("min_plus", Builtin::Min, Builtin::Add, Number::I64).unwrap());
    let tensor = "SELECT src AS i, dst AS j, max(w) FROM e WHERE src IS NOT NULL GROUP BY src, dst";
    database.register_tensor("m", database.tensor(tensor, None).await.unwrap(), None).unwrap();
    let seed = std::env::var("REDPOLL_SQL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let (mut numbers, mut failures) = (Numbers(seed), Vec::new());
    let (mut refused, mut accepted, mut rules) = (0, 0, 0);
    for (k, sql) in QUERIES.iter().enumerate() {
        let fragments = Fragments::new(&database, sql, ["keyed", "cells", "whole"][k % 3]).await;
        let mut messages = Vec::new();
        let unchanged = fragments.replace(|_, node| {
            messages.push(fragments.encode(node.clone()));
            fragments.decode(&messages[messages.len() - 1], &node)
        });
        let found = collect(unchanged.unwrap(), fragments.database.context().task_ctx()).await;
        let found = found.unwrap_or_else(|e| panic!("{sql}: {e}"));
        compare_rows(&found, &run(&database, sql).await.unwrap(), false).unwrap_or_else(|e| panic!("{sql}: {e}"));
        assert!(!messages.is_empty(), "{sql}");
        for (node, message) in messages.iter().enumerate() {
            for _ in 0..CHANGES {
                let mut message = message.clone();
                (0..=numbers.below(2)).for_each(|_| numbers.change(&mut message.bytes));
                match outcome(&fragments, (node, &message)).await {
                    Outcome::Refused { breaks_rule } => {
                        refused += 1;
                        rules += usize::from(breaks_rule);
                    }
                    Outcome::Accepted => accepted += 1,
                    Outcome::Failed(text) => {
                        failures.push(format!("{sql}: {text}\n{}", String::from_utf8_lossy(&message.bytes)));
                    }
                }
            }
        }
    }
    eprintln!("{refused} messages were refused, {rules} of them because they break a rule; {accepted} were accepted");
    assert!(
        failures.is_empty(),
        "{} failures, such as\n{}",
        failures.len(),
        failures[..failures.len().min(9)].join("\n")
    );
    assert!(refused > 4000 && rules > 300 && accepted > 1000);
}
