"""Runs the Python of the book and of the READMEs, and checks that the pages show the outputs.

The blocks `python` of a page run one after another in one namespace, in a temporary folder with
links to the data sets, plans and programs of the repository. Blocks with `file=` do not run. A
block `text` directly after a block `python` shows its output. Expressions in a column "redpoll in
Python" of a table run in the same namespace. `[..]` in an output stands for any text within a line.
`REDPOLL_BLESS=1` writes the outputs into the pages; review the diff.
"""

import contextlib
import io
import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import redpoll as rp

ROOT = Path(__file__).parents[2]
COLUMN = "redpoll in Python"
#: A word after `python` in the fence of a block. It names a library; without this library, the page
#: is skipped.
NEEDS = re.compile(r"needs=(\S+)")
BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```[^\n]*$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block of a page."""

    words: list[str]
    text: str
    line: int
    start: int
    end: int
    close: int

    @property
    def is_python(self):
        return self.words[:1] == ["python"] and not any(word.startswith("file=") for word in self.words)


def blocks_of(page):
    """Return the fenced blocks of a page, in order."""
    return [
        Block(
            match["info"].split(),
            match["text"],
            page[: match.start("text")].count("\n"),
            *match.span("text"),
            match.end(),
        )
        for match in BLOCK.finditer(page)
    ]


def cells_of(page):
    """Return the line and the code of each expression in the columns for Python."""
    cells, column, in_table = [], None, False
    for number, line in enumerate(page.splitlines()):
        row = line.replace(r"\|", "\0").removeprefix("|").split("|") if line.startswith("|") else None
        if row is None:
            in_table = False
            continue
        titles = [cell.strip() for cell in row]
        if not in_table:
            column = titles.index(COLUMN) if COLUMN in titles else None
        elif column is not None and column < len(titles):
            cells += [(number, code.replace("\0", "|")) for code in titles[column].split("`")[1::2]]
        in_table = True
    return cells


def pages():
    """Return the paths of the pages with Python."""
    paths = [ROOT / "README.md", ROOT / "python" / "README.md", *sorted((ROOT / "docs" / "src").rglob("*.md"))]
    texts = {path: path.read_text() for path in paths if path.exists()}
    return [path for path, text in texts.items() if any(b.is_python for b in blocks_of(text)) or cells_of(text)]


def normalized(found, expected):
    """Return the output, with the expected line in place of each line that its wildcards match."""
    lines, shown = found.splitlines(), expected.splitlines()
    if len(lines) != len(shown):
        return found
    for k, (line, pattern) in enumerate(zip(lines, shown, strict=True)):
        if "[..]" in pattern and re.fullmatch(".*".join(map(re.escape, pattern.split("[..]"))), line):
            lines[k] = pattern
    return "".join(f"{line}\n" for line in lines)


def run(page, path, namespace):
    """Run the Python of a page. Return all blocks, and the index and output of each block run."""
    blocks = blocks_of(page)
    parts = [(block.line, block.text, k) for k, block in enumerate(blocks) if block.is_python]
    parts += [(line, code, None) for line, code in cells_of(page)]
    outputs = []
    for line, code, k in sorted(parts, key=lambda part: part[0]):
        # The code is in a file, so that functions have a source. Blank lines above the code give
        # its lines the same numbers as in the page.
        file = Path(f"{path.stem}_{line}.py")
        file.write_text("\n" * line + code)
        code = compile(file.read_text(), file.resolve(), "exec")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(code, namespace)
        if k is not None:
            outputs.append((k, output.getvalue()))
    return blocks, outputs


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_page(path, tmp_path, monkeypatch):
    page = path.read_text()
    for block in blocks_of(page):
        for library in NEEDS.findall(" ".join(block.words)):
            pytest.importorskip(library)
    for name in ("datasets", "plans", "programs"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    blocks, outputs = run(page, path, {"__name__": "__main__"})
    edits, faults = [], []
    for k, output in outputs:
        shown = blocks[k + 1] if k + 1 < len(blocks) and blocks[k + 1].words == ["text"] else None
        if shown is None and output:
            faults.append(f"{path}:{blocks[k].line}: the output is not shown:\n{output}")
            edits.append((blocks[k].close, blocks[k].close, f"\n\n```text\n{output}```"))
        elif shown is not None and (text := normalized(output, shown.text)) != shown.text:
            faults.append(f"{path}:{shown.line}: expected\n{shown.text}found\n{output}")
            edits.append((shown.start, shown.end, text))
    if os.environ.get("REDPOLL_BLESS") == "1":
        for start, end, text in reversed(edits):
            page = page[:start] + text + page[end:]
        path.write_text(page)
    else:
        assert not faults, "\n".join(faults)


def names_of(*modules):
    """Return the names of the public functions and classes of modules, without exceptions.

    Classes of the first module are left out if their names begin in lower case.
    """
    names = [(module, name) for module in modules for name in module.__all__]
    found = [name for module, name in names if callable(getattr(module, name)) and not name.endswith("Error")]
    return [name for name in found if not isinstance(getattr(modules[0], name, None), type) or name[0].isupper()]


def test_every_function_of_scipy_is_in_its_page():
    sparse = pytest.importorskip("scipy.sparse")
    from scipy.sparse import csgraph, linalg

    page = (ROOT / "docs/src/coming-from/scipy.md").read_text()
    methods = [name for name in dir(sparse.csr_array) if not name.startswith("_")]
    names = [*names_of(sparse, csgraph, linalg), *methods]
    ignored = {"ArpackNoConvergence", "MatrixRankWarning"}
    assert not [name for name in names if name not in ignored and not re.search(rf"\b{name}\b", page)]


def test_every_function_of_pydata_sparse_is_in_its_page():
    sparse = pytest.importorskip("sparse")
    page = (ROOT / "docs/src/coming-from/pydata-sparse.md").read_text()
    listed = set(re.findall(r"\w+", page))
    dtypes = re.compile(r"(bool|u?int\d+|float32|float64)")
    assert not [name for name in names_of(sparse) if name not in listed and not dtypes.fullmatch(name)]
    same, only_here = [re.findall(r"`(\w+)`", part) for part in page.split("| subject |")[1:]]
    same = same[: same.index("unique_values") + 1]
    assert not [name for name in same if not (hasattr(rp, name) and hasattr(sparse, name))]
    assert all(hasattr(rp, name) for name in only_here) and not any(hasattr(sparse, name) for name in only_here)
