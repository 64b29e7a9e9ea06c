"""The results of a run. They are written as JSON, and reports are made from them."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from first_calls import FirstCall
from summaries import Ratio, median, ratio


@dataclass
class Measured:
    """The measurement of one workload over one case."""

    name: str
    case: str
    #: The times of rounds by side, in seconds.
    rounds: dict[str, list[float]]
    #: The bytes that the workload must move, if they are known.
    moved: int | None
    #: Sides that cannot compute the workload, or took part in no round, with the reasons.
    skipped: dict[str, str]
    is_lazy: bool

    @property
    def group(self) -> str:
        """The group of the workload."""
        return self.name.split("/", 1)[0]

    def time(self, side: str) -> float:
        """Return the median time of a call, in seconds."""
        return median(self.rounds[side])

    def ratio(self, side: str) -> Ratio:
        """Return the time of a side divided by that of redpoll: above 1, redpoll is faster."""
        return ratio(self.rounds[side], self.rounds["redpoll"])


@dataclass
class Results:
    """The results of a run."""

    #: The clock of calls: `wall`, or `cpu` for the time of all threads of the process.
    clock: str = "wall"
    versions: dict[str, str] = field(default_factory=dict)
    #: The sides that are not installed, with the reasons.
    missing: dict[str, str] = field(default_factory=dict)
    threads: dict[str, int] = field(default_factory=dict)
    #: The CPU time of all threads in the turns of a side, divided by the elapsed time of the turns.
    cpu_shares: dict[str, float] = field(default_factory=dict)
    #: The bytes that a copy reads and writes in a second.
    copy_bandwidth: float = 0.0
    measured: list[Measured] = field(default_factory=list)
    #: First calls by workload, case and side.
    first: list[tuple[str, str, str, FirstCall]] = field(default_factory=list)
    #: Descriptions of failures: wrong results, errors, and sides that used more than one thread.
    failures: list[str] = field(default_factory=list)
    #: Cases without their files.
    missing_cases: list[str] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write the results as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1))

    @staticmethod
    def read(path: Path) -> "Results":
        """Read results from JSON."""
        data = json.loads(path.read_text())
        measured = [Measured(**one) for one in data.pop("measured")]
        first = [(name, case, side, FirstCall(*times)) for name, case, side, times in data.pop("first")]
        return Results(**data, measured=measured, first=first)
