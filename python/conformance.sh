#!/usr/bin/env bash
# Runs the conformance suite of the Array API standard on the package that Python imports.
#
#   python/conformance.sh CHECKOUT [PYTEST OPTION]..
#
# CHECKOUT is a work tree of `data-apis/array-api-tests` at the revision that `CONFORMANCE.md` names,
# with `data-apis/array-api` in its folder `array-api`. The environment may set:
#
#   PYTHON                    the interpreter (default: python)
#   EXAMPLES                  the examples of each test (default: 2)
#   FLOATS                    the float mode of the session: strict, or relaxed, the default
#   ARRAY_API_TESTS_VERSION   the version of the standard (default: 2025.12)
set -euo pipefail

if [ $# -lt 1 ] || [ ! -d "$1/array_api_tests" ]; then
    echo "usage: conformance.sh CHECKOUT [PYTEST OPTION].., with a work tree of array-api-tests" >&2
    exit 2
fi
lists=$(cd "$(dirname "$0")/conformance" && pwd)
checkout=$1
shift
if [ ! -d "$checkout/array-api/src/array_api_stubs" ]; then
    echo "conformance.sh: $checkout/array-api is empty; put data-apis/array-api there" >&2
    exit 2
fi

xfails=$(mktemp)
trap 'rm -f "$xfails"' EXIT
case "${FLOATS:-relaxed}" in
    strict)
        cp "$lists/xfails.txt" "$xfails"
        export PYTHONPATH="$lists${PYTHONPATH:+:$PYTHONPATH}"
        set -- -p strict_floats "$@"
        ;;
    relaxed) cat "$lists/xfails.txt" "$lists/xfails-relaxed.txt" >"$xfails" ;;
    *)
        echo "conformance.sh: FLOATS is '$FLOATS'; expected strict or relaxed" >&2
        exit 2
        ;;
esac

export ARRAY_API_TESTS_MODULE=redpoll
export ARRAY_API_TESTS_SKIP_DTYPES=complex64,complex128
export ARRAY_API_TESTS_VERSION="${ARRAY_API_TESTS_VERSION:-2025.12}"
cd "$checkout"
"${PYTHON:-python}" -m pytest -c pytest.ini --rootdir . -p no:cacheprovider \
    --max-examples="${EXAMPLES:-2}" --derandomize --disable-deadline \
    --skips-file "$lists/skips.txt" --xfails-file "$xfails" \
    -q array_api_tests "$@"
