"""`python -m tools.chart_kinds`: writes the kinds that come with a chart, in its folder `crds`, from their types.

Charts keep them for whoever installs with helm alone. A test of each chart compares what is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fairlead.contracts import chart_of, contracts
from fairlead.engine.charts import written
from tools.keeping import keep, without_options


def kinds() -> Iterator[tuple[Path, str]]:
    """Files, each with what it is to hold."""
    for contract in contracts():
        folder = chart_of(contract.name) / "crds" if contract.chart else None
        if folder is None or not folder.is_dir() or contract.kinds is None:
            continue
        for definition in contract.kinds.get()():
            plural, _, group = definition["metadata"]["name"].partition(".")
            yield folder / f"{group}_{plural}.yaml", written((definition,)).removeprefix("---\n")


def main(arguments: Sequence[str] | None = None) -> int:
    without_options("chart_kinds", __doc__, arguments)
    for path, text in kinds():
        keep(path, text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
