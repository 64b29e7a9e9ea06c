#!/usr/bin/env bash
# Creates the Python environment of the peers, in the folder that REDPOLL_PEERS names, by default
# `peers` in the target folder. Packages that cannot be installed are reported and skipped; the
# harness skips their peers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${REDPOLL_PEERS:-${CARGO_TARGET_DIR:-$here/../../target}/peers}

python3 -m venv "$folder"
if ! "$folder/bin/pip" install --quiet --requirement "$here/requirements.txt"; then
    echo "the packages cannot be installed together; installing one by one:" >&2
    while read -r package; do
        "$folder/bin/pip" install --quiet "$package" || echo "skipped: $package" >&2
    done < <(grep -v '^#' "$here/requirements.txt")
fi

# The prebuilt library of DuckDB, for `DUCKDB_LIB_DIR` when building with `--features duckdb`.
duckdb=$folder/duckdb
if [ ! -e "$duckdb/libduckdb.so" ] && command -v npm >/dev/null; then
    mkdir -p "$duckdb"
    if npm pack --silent --pack-destination "$duckdb" @duckdb/node-bindings-linux-x64@1.5.6-r.1 >/dev/null; then
        tar -xzf "$duckdb"/*.tgz -C "$duckdb" --strip-components=1
        rm "$duckdb"/*.tgz
    else
        echo "skipped: the library of DuckDB" >&2
    fi
fi

echo "the environment of the peers is in $folder"
