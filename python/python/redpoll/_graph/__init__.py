"""The graph algorithms of `redpoll.graph`, a file for each subject."""
