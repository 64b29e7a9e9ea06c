"""The command line: selects workloads, checks and measures them, and prints the report."""

import argparse
import re
import sys
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from comparison import difference
from environment import checked_threads
from first_calls import print_first_call, run_new
from inputs import CASES, Case, case
from measurement import measure
from report import text
from results import Measured, Results
from sides import NAMES, Side, load, version_of
from workload import Workload, start
from workloads import WORKLOADS

#: The largest accepted CPU time of a side's turns, relative to their elapsed time.
MAX_CPU_SHARE = 1.05

#: The longest first call of a peer whose later calls are measured, in seconds.
LONGEST = 30.0


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python bench/python", description=__doc__)
    parser.add_argument(
        "--only", default="", help="workloads whose name and case, as `name @ case`, match this expression"
    )
    parser.add_argument("--peers", default=",".join(NAMES[1:]), help="libraries beside redpoll, separated by commas")
    parser.add_argument("--quick", action="store_true", help="small data and few rounds; every result is checked")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for all rounds of a workload over a case")
    parser.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall", help="cpu: the time of all threads of the process"
    )
    parser.add_argument("--processes", type=int, default=3, help="new processes for each first call; 0 measures none")
    parser.add_argument("--list", action="store_true", help="print the names of workloads and cases")
    parser.add_argument("--json", type=Path, help="file for the results as data")
    parser.add_argument("--report", type=Path, help="print the report of results that --json has written")
    parser.add_argument("--first-call", nargs=3, metavar=("WORKLOAD", "CASE", "SIDE"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Run the program; return the exit code."""
    options = arguments()
    if options.first_call:
        name, case_name, side = options.first_call
        chosen = next(one for one in WORKLOADS if one.name == name)
        print_first_call(chosen, case_name, side, quick=options.quick)
        return 0
    if options.report:
        print(text(Results.read(options.report)))
        return 0
    selected = list(selection(options.only))
    if options.list:
        print("\n".join(f"{one.name} @ {case_name}" for one, case_name in selected))
        return 0
    results = run(selected, options)
    if options.json:
        results.write(options.json)
    print(text(results))
    return 1 if results.failures else 0


def selection(expression: str) -> Iterator[tuple[Workload, str]]:
    """Yield the selected workloads with their cases. Workloads over one case follow each other."""
    for case_name in CASES:
        for one in WORKLOADS:
            if case_name in one.cases and re.search(expression, f"{one.name} @ {case_name}"):
                yield one, case_name


def run(selected: list[tuple[Workload, str]], options: argparse.Namespace) -> Results:
    """Check and measure the selected workloads, then their first calls."""
    results = Results(clock=options.clock)
    sides = loaded_sides(options.peers.split(","), results)
    results.threads = checked_threads()
    results.copy_bandwidth = copy_bandwidth()
    budget = 0.05 if options.quick else options.budget
    total: dict[str, list[float]] = {name: [0.0, 0.0] for name in sides}
    for one, case_name in selected:
        inputs = case(case_name, quick=options.quick)
        if inputs is None:
            if case_name not in results.missing_cases:
                results.missing_cases.append(case_name)
            continue
        progress(f"{one.name} @ {case_name}")
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # Libraries warn about zeros in divisions and about results that become dense.
            warnings.simplefilter("ignore")
            measure_one(one, inputs, sides, budget, results, total)
        if options.json:
            # An interrupted run keeps what it has measured.
            results.write(options.json)
    results.cpu_shares = {name: cpu / wall for name, (cpu, wall) in total.items() if wall > 0}
    for name, share in results.cpu_shares.items():
        if share > MAX_CPU_SHARE:
            results.failures.append(f"{name} used {share:.2f} threads, expected one")
    if options.processes:
        first_calls(selected, sides, options, results)
    return results


def loaded_sides(peers: list[str], results: Results) -> dict[str, Side]:
    """Import the libraries; note those that are missing."""
    sides: dict[str, Side] = {}
    for name in ("redpoll", *(peer for peer in peers if peer)):
        try:
            sides[name] = load(name)
            results.versions[name] = version_of(sides[name])
        except ImportError as error:
            if name == "redpoll":
                raise
            results.missing[name] = str(error)
    return sides


def copy_bandwidth() -> float:
    """Return the bytes that a copy of a large array reads and writes in a second."""
    source, target = np.ones(1 << 24), np.zeros(1 << 24)
    times = []
    for _ in range(7):
        before = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - before)
    return 2 * source.nbytes / min(times)


def measure_one(
    one: Workload, inputs: Case, sides: dict[str, Side], budget: float, results: Results, total: dict[str, list[float]]
) -> None:
    """Check the results of a workload on all sides, and measure the sides that return a result.

    A side with a wrong result is recorded as a failure, but measured all the same. A peer whose
    first call takes longer than `LONGEST` is not measured.
    """
    calls, skipped = {}, {}
    ours: Any = None
    for name, side in sides.items():
        if name not in one.functions:
            skipped[name] = "has no such function"
            continue
        operands = [side.convert(inputs[operand], one.layout) for operand in one.operands]
        if any(operand is None for operand in operands):
            skipped[name] = "has no arrays of this kind or size"
            continue
        try:
            before = time.perf_counter()
            result = start(one.functions[name])(*operands)
            result = result if one.is_lazy else side.finish(result, one.format)
            seconds = time.perf_counter() - before
            if not one.is_lazy:
                host = side.to_host(result)
                if name == "redpoll":
                    ours = host
                elif (found := difference(ours, host)) is not None:
                    results.failures.append(f"{one.name} @ {inputs.name}: redpoll and {name} differ: {found}")
        except Exception as error:  # Any error of a library is a finding.
            reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            skipped[name] = reason
            if name == "redpoll":
                results.failures.append(f"{one.name} @ {inputs.name}: redpoll raised {reason}")
                return
            continue
        if seconds > LONGEST and name != "redpoll":
            skipped[name] = f"took {seconds:.0f} s in the first call"
            continue
        calls[name] = partial(call, start(one.functions[name]), operands, side, one)
    times = measure(calls, budget, clock=results.clock)
    for name, measured in times.items():
        total[name][0] += measured.cpu
        total[name][1] += measured.wall
    rounds = {name: measured.rounds for name, measured in times.items()}
    moved = one.moved(inputs) if one.moved else None
    results.measured.append(Measured(one.name, inputs.name, rounds, moved, skipped, one.is_lazy))


def call(function: Any, operands: list[Any], side: Side, one: Workload) -> Any:
    """Call the function of a side, and compute the result if the workload is not lazy."""
    result = function(*operands)
    return result if one.is_lazy else side.finish(result, one.format)


def first_calls(
    selected: list[tuple[Workload, str]], sides: dict[str, Side], options: argparse.Namespace, results: Results
) -> None:
    """Measure the first calls of selected workloads in new processes."""
    for one, case_name in selected:
        if case_name not in one.first:
            continue
        measured = next((m for m in results.measured if (m.name, m.case) == (one.name, case_name)), None)
        for name in measured.rounds if measured else ():
            progress(f"first call: {one.name} @ {case_name}, {name}")
            try:
                times = run_new(one, case_name, name, quick=options.quick, processes=options.processes)
            except RuntimeError as error:
                results.failures.append(f"{one.name} @ {case_name}: {error}")
                continue
            results.first.append((one.name, case_name, name, times))


def progress(line: str) -> None:
    """Print a line about the progress."""
    print(line, file=sys.stderr, flush=True)
