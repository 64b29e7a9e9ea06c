#!/bin/sh
# Runs the conformance suite of the Array API standard on the package that Python imports.
#
#   python/conformance.sh CHECKOUT [PYTEST OPTION]..
#
# CHECKOUT is a work tree of `data-apis/array-api-tests` at the revision that `CONFORMANCE.md` names,
# with `data-apis/array-api` in its folder `array-api`. The environment may set:
#
#   PYTHON                    the interpreter (default: python)
#   EXAMPLES                  the examples of each test (default: 2)
#   ARRAY_API_TESTS_VERSION   the version of the standard (default: 2025.12)
set -eu

if [ $# -lt 1 ] || [ ! -d "$1/array_api_tests" ]; then
    echo "usage: conformance.sh CHECKOUT [PYTEST OPTION].., with a work tree of array-api-tests" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
checkout=$1
shift
if [ ! -d "$checkout/array-api/src/array_api_stubs" ]; then
    echo "conformance.sh: $checkout/array-api is empty; put data-apis/array-api there" >&2
    exit 2
fi

export ARRAY_API_TESTS_MODULE=redpoll
export ARRAY_API_TESTS_SKIP_DTYPES=complex64,complex128
export ARRAY_API_TESTS_VERSION="${ARRAY_API_TESTS_VERSION:-2025.12}"
cd "$checkout"
exec "${PYTHON:-python}" -m pytest -c pytest.ini --rootdir . -p no:cacheprovider \
    --max-examples="${EXAMPLES:-2}" --derandomize --disable-deadline \
    --skips-file "$here/conformance/skips.txt" --xfails-file "$here/conformance/xfails.txt" \
    -q array_api_tests "$@"
