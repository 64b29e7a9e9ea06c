"""The functions of `redpoll.linalg`, a file for each subject."""
