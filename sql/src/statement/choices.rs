//! Errors on names that are not among the names of a choice.

/// Returns the message for an unknown name, with all names of the choice and the similar ones.
pub(super) fn unknown_choice(kind: &'static str, name: &str, known: &[String]) -> String {
    let unknown = redpoll_logic::Error::unknown(kind, name, known.iter().map(String::as_str)).to_string();
    let (unknown, guess) = unknown.split_at(unknown.find("; ").unwrap_or(unknown.len()));
    format!("{unknown}, expected {}{guess}", listed(known))
}

/// Lists the names of a choice.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}
