//! The errors of connections: their causes in plain words, and the first failure of a query, which
//! ends the query.

use crate::error::{Error, IN_WORKER};
use datafusion::error::DataFusionError;
use std::error::Error as StdError;
use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch;
use tonic::{Code, Status};
use url::Url;

/// Returns the error of a worker that cannot be reached.
pub(super) fn lost(url: &Url, cause: impl Into<String>) -> DataFusionError {
    Error::LostWorker { worker: url.to_string(), cause: cause.into() }.into()
}

/// Returns the message of an error and the messages of its causes, separated by colons. A message
/// that the message before it contains is left out.
pub(super) fn causes(error: &(dyn StdError + 'static)) -> String {
    let mut messages: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let message = match error.downcast_ref::<Status>() {
            Some(status) => status.message().to_owned(),
            None => error.to_string(),
        };
        if messages.last().is_none_or(|last| !last.contains(&message)) {
            messages.push(message);
        }
        next = error.source();
    }
    if messages.len() > 1 {
        messages.retain(|message| message != "transport error");
    }
    messages.join(": ")
}

/// Names the worker in an error of a connection to the worker. An error of the transport means that
/// the worker is lost.
pub(super) fn in_worker(url: &Url, error: DataFusionError) -> DataFusionError {
    let status = match error.find_root() {
        DataFusionError::External(cause) => cause.downcast_ref::<Status>(),
        _ => None,
    };
    let error = match status {
        Some(status) if is_of_transport(status) => return lost(url, causes(status)),
        Some(status) => DataFusionError::External(status.message().into()),
        None => error,
    };
    error.context(format!("{IN_WORKER}{url}"))
}

/// Returns whether the connection has failed, and not the worker's answer to a request.
fn is_of_transport(status: &Status) -> bool {
    use Code::{Cancelled, DataLoss, DeadlineExceeded, Unavailable, Unknown};
    status.source().is_some()
        || matches!(status.code(), Cancelled | DataLoss | DeadlineExceeded | Unavailable | Unknown)
}

/// The first failure of sending the parts of a query, or of the connections over which they were
/// sent, as an extension of the configuration with which the query runs.
#[derive(Debug, Default)]
pub(super) struct FirstFailure(watch::Sender<Option<Arc<DataFusionError>>>);

impl FirstFailure {
    /// Records an error, unless there was one before, and returns it.
    pub(super) fn record(&self, error: DataFusionError) -> DataFusionError {
        let error = Arc::new(error);
        self.0.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert_with(|| error.clone());
            is_first
        });
        DataFusionError::Shared(error)
    }

    /// Returns the recorded error.
    pub(super) fn get(&self) -> Option<DataFusionError> {
        self.0.borrow().clone().map(DataFusionError::Shared)
    }

    /// Waits until there is an error.
    pub(super) async fn wait(&self) -> DataFusionError {
        let mut first = self.0.subscribe();
        let found = first.wait_for(Option::is_some).await.ok().and_then(|error| error.clone());
        match found {
            Some(error) => DataFusionError::Shared(error),
            None => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::io;
    use tokio::net::TcpListener;
    use tonic::transport::Endpoint;

    fn check(error: &(dyn StdError + 'static), expect: &Expect) {
        expect.assert_eq(&causes(error));
    }

    /// The causes of an error are listed once each, without the names of types.
    #[tokio::test]
    async fn causes_are_in_plain_words() {
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "Connection refused (os error 111)");
        check(&refused, &expect!["Connection refused (os error 111)"]);
        let status = Status::from_error(Box::new(refused));
        check(&status, &expect!["Connection refused (os error 111)"]);
        // No one listens on a port that has just been free.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap_err();
        check(&error, &expect!["tcp connect error: Connection refused (os error 111)"]);
    }

    /// An error of the transport means that the worker is lost; an error of the worker does not.
    #[test]
    fn lost_workers_are_recognized() {
        let url = Url::parse("http://10.0.0.1:7400").unwrap();
        let found = |status: Status| in_worker(&url, DataFusionError::External(Box::new(status)));
        let lost = found(Status::unavailable("keep-alive timed out"));
        assert_eq!(crate::error::lost_worker(&lost).as_deref(), Some(url.as_str()));
        // Between processes, the error travels as text.
        let text = DataFusionError::External(lost.find_root().to_string().replace("External error: ", "").into());
        assert_eq!(crate::error::lost_worker(&text).as_deref(), Some(url.as_str()));
        let refused = found(Status::unauthenticated("the request lacks the secret of the cluster"));
        assert_eq!(crate::error::lost_worker(&refused), None);
        assert!(crate::error::message(&refused).starts_with("in the worker http://10.0.0.1:7400/: the request lacks"));
    }
}
