#!/bin/sh
# Builds, checks and measures redpoll on a CUDA device: all programs of `tests/files` on it, then the kernels of the suite, then
# their peers. Arguments go to the suite (`--entries 100000000`, `--only spmm`, ..). Where there is no device each step says so;
# `--dry --entries 1500` tries all of it with the interpreter of grids and SciPy in place of device and peers.
set -eu
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

cargo test --release --test cuda -- --nocapture
cargo run --release -p redpoll-bench --bin gpu -- --out "$out" "$@"

python=${REDPOLL_PYTHON:-python3}
if "$python" -c 'import numpy, scipy' 2>/dev/null; then
    dry=
    for argument in "$@"; do
        [ "$argument" != --dry ] || dry=--dry
    done
    "$python" bench/peers/gpu_peer.py "$out" $dry
else
    echo "peers are left out: $python has no NumPy and SciPy"
fi
