//! Progress bars on standard error, which are hidden if standard error is not a terminal or `TERM`
//! is `dumb`.

use crate::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// A progress bar, hidden unless standard error is a terminal and `TERM` is not `dumb`. The bar is
/// removed on drop.
pub(super) struct Bar(ProgressBar);

const COUNTED: &str = "{msg:>8} {wide_bar} {human_pos}/{human_len}  {eta}";
const PERCENTAGE: &str = "{msg:>8} {wide_bar} {percent}%  {elapsed}";
/// Length of the part of the bar for one query.
const STEPS: u64 = 1000;
const UNCOUNTED: &str = "{msg:>8} {spinner} {elapsed}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates of this file are valid")
}

impl Bar {
    pub(super) fn new() -> Bar {
        let terminal = io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Bar(ProgressBar::with_draw_target(Some(0), target).with_style(style(COUNTED)))
    }

    /// Shows the progress of a step.
    pub(super) fn show(&self, step: &'static str, done: u64, total: u64) {
        self.0.set_message(step);
        self.0.set_length(total.max(done));
        self.0.set_position(done);
    }

    /// Shows a step of unknown length.
    pub(super) fn wait(&self, step: &'static str) {
        if !self.0.is_hidden() {
            self.0.set_style(style(UNCOUNTED));
            self.0.set_message(step);
            self.0.enable_steady_tick(Duration::from_millis(100));
        }
    }

    /// Shows the progress of a run. Until the first call, [`Bar::wait`] shows the elapsed time: a
    /// query reports its progress only between its chunks, and may run as a single chunk.
    pub(super) fn show_run(&self, progress: &Progress) {
        // Every query gets an equal share of the bar, regardless of its work.
        let done = progress.finished as f64 + progress.fraction;
        self.0.set_style(style(PERCENTAGE));
        // The bar is drawn from here on; a bar without a length would be drawn as finished.
        self.0.set_length(progress.queries as u64 * STEPS);
        self.0.set_position((done * STEPS as f64) as u64);
        self.0.set_message(progress.query.to_string());
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}
