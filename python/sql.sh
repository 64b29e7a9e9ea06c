#!/usr/bin/env bash
# Builds the wheel with SQL in `target/wheels-with-sql`, or in the folder that the first argument
# names, and tests the wheel with `check.sh`. CI builds only the wheel without SQL, because the
# build with SQL takes several times as long. Fails if the wheel is larger than `largest` bytes.
set -euo pipefail
package=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$package/../target/wheels-with-sql}
wheels=$(mkdir -p "$folder" && cd "$folder" && pwd)
largest=$((60 * 1000 * 1000))

rm -f "$wheels"/*.whl
REDPOLL_WHEELS=$wheels REDPOLL_WHEEL_FEATURES=sql "$package/check.sh" frames
built=("$wheels"/*.whl)
size=$(wc -c <"${built[0]}")
echo "${built[0]}: $size bytes"
if [ "$size" -gt "$largest" ]; then
    echo "error: the wheel with SQL has $size bytes, more than $largest" >&2
    exit 1
fi
