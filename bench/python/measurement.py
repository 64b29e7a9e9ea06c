"""The measurement of a workload: the sides call their functions in turns, over the same data."""

import gc
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from environment import wait_for_compilers

#: The shortest time of a turn, in seconds; shorter calls are repeated.
TURN = 0.005

#: The smallest and the largest number of rounds. Between these limits, the budget decides.
MIN_ROUNDS, MAX_ROUNDS = 7, 31

#: A side whose calls take longer than `SLOW` seconds takes part only in the first `SLOW_ROUNDS`
#: rounds.
SLOW_ROUNDS, SLOW = 3, 1.0

#: The number of calls after which redpoll has begun to compile a plan with the C compiler, and the
#: number of later calls, during which redpoll compares its tiers.
_CALLS_BEFORE, _CALLS_AFTER = 205, 40

#: Calls shorter than this many seconds run once unmeasured before each turn.
_UNMEASURED = 0.02

Call = Callable[[], object]


@dataclass
class Times:
    """The times of one side."""

    #: The time of a call in each round, in seconds, by the clock of the measurement.
    rounds: list[float] = field(default_factory=list)
    #: The elapsed time of all turns, and the CPU time of all threads during these turns.
    wall: float = 0.0
    cpu: float = 0.0


def measure(calls: Mapping[str, Call], budget: float, *, clock: str = "wall") -> dict[str, Times]:
    """Measure calls in rounds with one turn for each side. Rounds begin with different sides.

    `budget` is the time for all rounds, in seconds. The clock is `wall`, or `cpu` for the CPU time
    of all threads of the process. On a busy machine, `cpu` is the better clock.
    """
    durations = {name: warmed(call) for name, call in calls.items()}
    sides = list(calls)
    repeats = {name: max(1, math.ceil(TURN / durations[name])) for name in sides}
    slow = [name for name in sides if durations[name] > SLOW]
    round_time = sum(repeats[name] * durations[name] for name in sides if name not in slow)
    rounds = max(MIN_ROUNDS, min(MAX_ROUNDS, int(budget / max(round_time, 1e-9))))
    times = {name: Times() for name in sides}
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for k in range(rounds):
            first = k % len(sides)
            for name in sides[first:] + sides[:first]:
                if name in slow and k >= SLOW_ROUNDS:
                    continue
                _turn((calls[name], repeats[name], durations[name]), times[name], clock)
    finally:
        if was_enabled:
            gc.enable()
    return times


def _turn(turn: tuple[Call, int, float], times: Times, clock: str) -> None:
    """Measure a turn, given as a call, its number of repeats, and its approximate duration in
    seconds."""
    call, repeats, duration = turn
    if duration < _UNMEASURED:
        call()
    cpu, start = time.process_time(), time.perf_counter()
    for _ in range(repeats):
        call()
    wall = time.perf_counter() - start
    cpu = time.process_time() - cpu
    times.cpu += cpu
    times.wall += wall
    times.rounds.append((wall if clock == "wall" else cpu) / repeats)


def warmed(call: Call) -> float:
    """Call until all code of later calls is compiled; return the time of a call.

    After 200 calls or 50 ms of calls, redpoll compiles a plan in the background. During the next
    calls, redpoll compares the new kernels with those of the first calls.
    """
    start = time.perf_counter()
    for _ in range(_CALLS_BEFORE):
        call()
        # For slow sides, this call and the next one are enough.
        if time.perf_counter() - start > 0.25:
            break
    call()
    wait_for_compilers()
    start = time.perf_counter()
    shortest = math.inf
    for _ in range(_CALLS_AFTER):
        before = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - before)
        if time.perf_counter() - start > 2.0:
            break
    return shortest
