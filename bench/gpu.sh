#!/bin/sh
# Builds, checks and measures redpoll on a CUDA device. Runs all plans of `tests/files`, then random
# plans and programs for `REDPOLL_SOAK_MINUTES` (one by default). Then measures the kernels of the
# suite, and the same computations in the peers (CuPy and PyTorch). Arguments are passed to the
# suite (`--entries 100000000`, `--only spmm`, ..). Without a device, each step reports that there
# is none. `--dry --entries 1500` tests the script without a device: the interpreter of grids
# replaces the device, SciPy replaces CuPy, and PyTorch runs on the host.
#
# `bench/gpu.sh build` only builds into `target/gpu`; a machine without Rust can run the programs
# there.
set -eu
cd "$(dirname "$0")/.."
programs=target/gpu
python=${REDPOLL_PYTHON:-python3}

if command -v cargo >/dev/null; then
    cargo build --release -p redpoll-bench --bin gpu --bin soak
    cuda=$(cargo test --release --test cuda --no-run 2>&1 | tee /dev/stderr | sed -n 's/.*Executable .*(\(.*\)).*/\1/p')
    mkdir -p "$programs"
    strip -o "$programs/cuda" "$cuda"
    for program in gpu soak; do
        strip -o "$programs/$program" "${CARGO_TARGET_DIR:-target}/release/$program"
    done
fi
[ "${1-}" != build ] || exit 0

# Adds NVRTC from a Python package to the library path, for machines without another NVRTC.
folders=$("$python" -c 'import nvidia; print(":".join(nvidia.__path__))' 2>/dev/null) || folders=
for folder in $(echo "$folders" | tr : ' '); do
    for library in "$folder"/*/lib; do
        [ ! -e "$library"/libnvrtc.so* ] || export LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}:$library"
    done
done

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
CARGO_MANIFEST_DIR=$PWD "$programs/cuda" --nocapture
if nvidia-smi >/dev/null 2>&1; then
    REDPOLL_DEVICE=0 "$programs/soak" --only plans --only programs --minutes "${REDPOLL_SOAK_MINUTES:-1}"
else
    echo "random cases are skipped: nvidia-smi finds no device"
fi
"$programs/gpu" --out "$out" "$@"

if "$python" -c 'import numpy, scipy' 2>/dev/null; then
    dry=
    for argument in "$@"; do
        [ "$argument" != --dry ] || dry=--dry
    done
    "$python" bench/peers/gpu_peer.py "$out" $dry
else
    echo "the peers are skipped: $python has no NumPy and SciPy"
fi
