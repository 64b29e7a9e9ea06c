//! Priorities of threads.

/// The priority of a thread, which can be lowered while the thread runs.
#[derive(Debug)]
pub(super) struct ThreadPriority {
    #[cfg(target_os = "linux")]
    thread: Option<rustix::process::Pid>,
}

#[cfg(target_os = "linux")]
impl ThreadPriority {
    /// Returns the priority of the calling thread.
    pub(super) fn of_this_thread() -> ThreadPriority {
        // The link ends with the id of the thread. Without the id, the thread keeps its priority.
        let link = std::fs::read_link("/proc/thread-self").ok();
        let id = link.and_then(|link| link.file_name()?.to_str()?.parse().ok());
        ThreadPriority { thread: id.and_then(rustix::process::Pid::from_raw) }
    }

    /// Lowers the priority, if the thread still runs.
    pub(super) fn lower(&self) {
        if let Some(thread) = self.thread {
            // If the system refuses the change, the thread keeps its priority.
            let _ = rustix::process::setpriority_process(Some(thread), 10);
        }
    }
}

// On other systems, `setpriority_process` would set the priority of the whole process.
#[cfg(not(target_os = "linux"))]
impl ThreadPriority {
    /// Returns the priority of the calling thread.
    pub(super) fn of_this_thread() -> ThreadPriority {
        ThreadPriority {}
    }

    /// Does nothing, so the thread keeps its priority.
    pub(super) fn lower(&self) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// One thread can lower the priority of another running thread, and keeps its own priority.
    #[test]
    fn priorities_are_those_of_single_threads() {
        let own = rustix::process::getpriority_process(None).unwrap();
        let ((started, priority), (lowered, go_on)) = (channel(), channel());
        let thread = std::thread::spawn(move || {
            started.send(ThreadPriority::of_this_thread()).unwrap();
            go_on.recv().unwrap();
            rustix::process::getpriority_process(None).unwrap()
        });
        priority.recv().unwrap().lower();
        lowered.send(()).unwrap();
        assert_eq!(thread.join().unwrap(), 10.max(own));
        assert_eq!(rustix::process::getpriority_process(None).unwrap(), own);
    }
}
