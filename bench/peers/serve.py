"""The server of a peer in Python: `serve.py NAME` reads requests from the standard input, one line
of JSON each.

The module `NAME_peer` has `version()`, optionally `set_threads(n)`, and `OPERATIONS`. `OPERATIONS`
maps the name of a workload to a function that takes inputs and parameters, builds the formats that
run fastest, and returns a function that computes the results.
"""

import importlib
import json
import os
import sys
import time
import traceback

from inputs import Inputs, Unsupported
from sums import compute_sums


def main():
    # Libraries may print; only replies go to the real standard output.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    state = {"module": importlib.import_module(f"{sys.argv[1]}_peer")}
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "quit":
            break
        try:
            reply = HANDLERS[request["do"]](state, request)
        except Unsupported as reason:
            reply = {"is": "unsupported", "reason": str(reason)}
        except Exception as error:
            traceback.print_exc(file=sys.stderr) if os.environ.get("BENCH_TRACE") else None
            reply = {"is": "failed", "error": f"{type(error).__name__}: {error}"[:500]}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def hello(state, request):
    module = state["module"]
    if hasattr(module, "set_threads"):
        module.set_threads(request["threads"])
    return {"is": "hello", "name": sys.argv[1], "version": module.version()}


def load(state, request):
    state.pop("run", None)
    state.pop("results", None)
    build = state["module"].OPERATIONS.get(request["operation"])
    if build is None:
        raise Unsupported("the peer does not implement this workload")
    start = time.perf_counter()
    inputs = Inputs(request)
    loaded = time.perf_counter()
    state["run"] = build(inputs, request["parameters"])
    state["fills"] = [float(fill) for fill in request["fills"]]
    return {"is": "loaded", "load": loaded - start, "build": time.perf_counter() - loaded}


def run(state, request):
    compute, results = state["run"], None
    start = time.perf_counter()
    for _ in range(request["repeat"]):
        results = compute()
    seconds = (time.perf_counter() - start) / request["repeat"]
    # An engine whose calls also read and compile measures the time of the computation itself.
    seconds = getattr(results, "seconds", seconds)
    state["results"] = results if isinstance(results, list) else [results]
    return {"is": "ran", "seconds": seconds, "kernel": None}


def check(state, _):
    sums = [compute_sums(result, fill) for result, fill in zip(state["results"], state["fills"], strict=True)]
    return {"is": "checked", "sums": sums}


HANDLERS = {"hello": hello, "load": load, "run": run, "check": check}

if __name__ == "__main__":
    main()
