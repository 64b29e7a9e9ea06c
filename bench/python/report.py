"""The report of a run in Markdown: the aims, a summary of groups, and all measurements."""

from collections.abc import Iterable, Sequence

from results import Measured, Results
from sides import NAMES
from summaries import geometric_mean

PEERS = NAMES[1:]

#: A workload counts for the aim about SciPy if SciPy or redpoll takes at least this time, in
#: seconds.
LONG = 100e-6


def text(results: Results) -> str:
    """Return the report."""
    sections = [
        _header(results),
        "## Aims\n\n" + table(("aim", "found", "met"), _aims(results)),
        "## Groups\n\n" + table(("group", *PEERS), _groups(results)),
        "## Where redpoll is behind\n\n" + table(("workload", "case", "peer", "ratio", "interval"), _behind(results)),
        "## Calls\n\n" + table(("workload", "case", *NAMES, *_ratio_titles(), "MB", "of copy"), _measured(results)),
        "## First calls\n\n"
        + table(("workload", "case", "side", "import", "convert", "first", "second"), _first(results)),
        "## Skipped\n\n" + _bullets(_skipped(results)),
    ]
    if results.failures:
        sections.insert(1, "## Failures\n\n" + _bullets(results.failures))
    return "\n\n".join(sections)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def seconds(time: float) -> str:
    """Return a time with its unit."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if time * factor >= 1:
            return f"{time * factor:.3g} {unit}"
    return f"{time * 1e6:.3g} us"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "- none"


def _header(results: Results) -> str:
    lines = [
        "# The suite `python`",
        "",
        "A ratio is the time of a peer divided by that of redpoll, the median over rounds: above 1, redpoll is faster.",
        f"- Versions: {', '.join(results.versions.values())}.",
        f"- Threads: {', '.join(f'{name} {count}' for name, count in results.threads.items())}; CPU time of "
        + "all threads relative to the elapsed time of the turns: "
        + ", ".join(f"{share:.2f} ({name})" for name, share in results.cpu_shares.items())
        + ".",
        f"- Clock: {results.clock}.",
        f"- A copy moves {results.copy_bandwidth / 1e9:.1f} GB/s.",
    ]
    lines += [f"- {name} did not take part: {reason}." for name, reason in results.missing.items()]
    if results.missing_cases:
        lines.append(f"- Data are missing: {', '.join(results.missing_cases)}.")
    return "\n".join(lines)


def _computed(results: Results) -> list[Measured]:
    return [one for one in results.measured if not one.is_lazy]


def _aims(results: Results) -> list[Sequence[str]]:
    """Return the rows of the table of aims."""
    by_name = {(one.name, one.case): one for one in results.measured}
    rows = [
        _time_aim(
            "a lazy operator costs at most 1 us", 1e-6, [o for o in results.measured if "/lazy operator" in o.name]
        ),
        _time_aim(
            "a small computed result costs at most 10 us", 10e-6, [by_name.get((n, "ten")) for n in SMALL_RESULTS]
        ),
        _time_aim(
            "a result with another constant costs at most 20 us",
            20e-6,
            [one for one in results.measured if one.name.startswith("calls/another")],
        ),
    ]
    for name, title in (("product/SpMV", "SpMV"), ("ufunc/A * 2, csr to csr", "scaling from csr to csr")):
        found = [one for one in results.measured if one.name == name and "scipy" in one.rounds and one.case not in TINY]
        factors = {one.case: 1 / one.ratio("scipy").median for one in found}
        worst = max(factors.values(), default=0.0)
        listed = ", ".join(f"{factor:.2f} ({case})" for case, factor in factors.items())
        rows.append((f"{title} takes at most 1.1 of the time of SciPy", listed, _verdict(worst <= 1.1)))
    sparse = [one for one in _computed(results) if "sparse" in one.rounds]
    wins = sum(one.ratio("sparse").median > 1 for one in sparse)
    rows.append(
        ("PyData/Sparse is slower in every workload", f"{wins} of {len(sparse)}", _verdict(wins == len(sparse)))
    )
    scipy = [one for one in _computed(results) if "scipy" in one.rounds and is_long(one)]
    wins = sum(one.ratio("scipy").median > 1 for one in scipy)
    title = "SciPy is slower in 90% of the workloads above 100 us"
    rows.append((title, f"{wins} of {len(scipy)}", _verdict(wins >= 0.9 * len(scipy))))
    return rows


#: The cases in which the overhead of a call is most of its time.
TINY = ("ten", "uniform/1e3")

#: The workloads of the aim about small results.
SMALL_RESULTS = (
    "calls/sum of two",
    "calls/product with a number",
    "calls/matrix times vector",
    "calls/total as a Python float",
    "calls/result as an array of NumPy",
)


def is_long(one: Measured) -> bool:
    """Return whether redpoll or SciPy takes at least `LONG`."""
    return max(one.time("scipy"), one.time("redpoll")) >= LONG


def _time_aim(title: str, limit: float, found: Iterable[Measured | None]) -> Sequence[str]:
    times = {one.name.split("/", 1)[1]: one.time("redpoll") for one in found if one is not None}
    listed = ", ".join(f"{seconds(time)} ({name})" for name, time in times.items())
    return title, listed, _verdict(max(times.values(), default=0.0) <= limit)


def _verdict(met: bool) -> str:
    return "yes" if met else "no"


def _groups(results: Results) -> Iterable[Sequence[str]]:
    """Yield the geometric means of ratios by group, with the numbers of wins."""
    groups = dict.fromkeys(one.group for one in _computed(results))
    for group in (*groups, "all"):
        cells = [group]
        for peer in PEERS:
            found = [one for one in _computed(results) if group in (one.group, "all") and peer in one.rounds]
            ratios = [one.ratio(peer).median for one in found]
            wins = sum(ratio > 1 for ratio in ratios)
            cells.append(f"{geometric_mean(ratios):.3g} ({wins} of {len(ratios)})" if ratios else "-")
        yield cells


def _behind(results: Results) -> Iterable[Sequence[str]]:
    """Yield the workloads in which PyData/Sparse is faster, and the long workloads in which SciPy
    is faster."""
    for one in _computed(results):
        for peer in ("scipy", "sparse"):
            if peer not in one.rounds or (peer == "scipy" and not is_long(one)):
                continue
            ratio = one.ratio(peer)
            if ratio.median <= 1:
                yield one.name, one.case, peer, f"{ratio.median:.2f}", f"{ratio.low:.2f} to {ratio.high:.2f}"


def _ratio_titles() -> Sequence[str]:
    return [f"{peer} / redpoll" for peer in PEERS]


def _measured(results: Results) -> Iterable[Sequence[str]]:
    for one in results.measured:
        times = [seconds(one.time(side)) if side in one.rounds else "-" for side in NAMES]
        ratios = [f"{one.ratio(peer).median:.3g}" if peer in one.rounds else "-" for peer in PEERS]
        bandwidth = ["-", "-"]
        if one.moved is not None:
            share = one.moved / min(one.rounds["redpoll"]) / results.copy_bandwidth
            bandwidth = [f"{one.moved / 1e6:.3g}", f"{share:.2f}"]
        yield one.name, one.case, *times, *ratios, *bandwidth


def _first(results: Results) -> Iterable[Sequence[str]]:
    for name, case, side, times in results.first:
        yield name, case, side, *(seconds(time) for time in times)


def _skipped(results: Results) -> Iterable[str]:
    """Yield the reasons why peers were not measured, each with the names or the number of the
    workloads."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in results.measured:
        for side, reason in one.skipped.items():
            reasons.setdefault((side, reason), []).append(one.name)
    for (side, reason), names in reasons.items():
        shown = ", ".join(dict.fromkeys(names)) if len(names) <= 6 else f"{len(names)} workloads"
        yield f"{side} {reason}: {shown}"
