//! Errors on unknown names; the messages list the known names.

/// Returns the message for an unknown name, with all known names and the similar names.
pub(super) fn unknown_choice(kind: &'static str, name: &str, known: &[String]) -> String {
    let unknown = redpoll_logic::Error::unknown(kind, name, known.iter().map(String::as_str)).to_string();
    let (unknown, guess) = unknown.split_at(unknown.find("; ").unwrap_or(unknown.len()));
    format!("{unknown}, expected {}{guess}", listed(known))
}

/// Lists names, with `or` before the last name.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}
