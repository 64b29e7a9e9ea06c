#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it in a new environment without Rust in the PATH,
# and runs the example and the tests there. Arguments are extras to install, such as `all`.
# `REDPOLL_WHEEL_FEATURES` has cargo features of the wheel, and `REDPOLL_WHEELS` is the folder that
# keeps the wheel.
set -euo pipefail
package=$(cd "$(dirname "$0")" && pwd)
extras=$(IFS=,; echo "test${*:+,$*}")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=${REDPOLL_WHEELS:-$work/wheels}
python3 -m venv "$work/build"
"$work/build/bin/python" -m pip install --quiet 'maturin>=1.16,<2'
"$work/build/bin/maturin" build --quiet --release --manifest-path "$package/Cargo.toml" --out "$folder" \
    --features "${REDPOLL_WHEEL_FEATURES:-}"

python3 -m venv "$work/installed"
cd "$work"
export PATH="$work/installed/bin:/usr/bin:/bin"
wheels=("$folder"/*.whl)
python -m pip install --quiet "${wheels[0]}[$extras]"
python "$package/examples/quickstart.py"
python -m pytest --quiet "$package/tests"
