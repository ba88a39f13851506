"""The embedded cluster before and after: the same turnover of pods at another commit and here, in turn, in one run.

    python -m bench.before COMMIT [--pods 10000] [--rounds 3]

Rates of two runs on different days say little, because the machine is not the same; their ratio in one run does. Of
each side the best round counts: whatever else is at work makes a round slower and never faster.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.table import Check, machine, markdown

HERE = Path(__file__).resolve().parent.parent
RATIO = 1.6
"""How many times the changes per second there must be at least."""


class _Figures(Struct, frozen=True):
    """As much of a run's figures as every commit tells."""

    made_events: int
    made_cpu: float
    rolled_events: int
    rolled_cpu: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.before", description=__doc__.partition("\n")[0])
    parser.add_argument("commit", help="what to compare with; it must have `python -m bench.sim --turnover`")
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    wishes = parser.parse_args(arguments)
    before: list[_Figures] = []
    after: list[_Figures] = []
    with _checked_out(wishes.commit) as there:
        for _ in range(wishes.rounds):
            before.append(_turned(there, wishes.pods))
            after.append(_turned(HERE, wishes.pods))
    rows = [(name, *_rates(figures)) for name, figures in ((wishes.commit, before), ("here", after))]
    print(machine(), markdown(("", "changes per s when made", "when replaced"), rows), sep="\n\n")
    ratio = min(each.rolled_cpu for each in before) / min(each.rolled_cpu for each in after)
    check = Check(
        f"changes of pods per second against {wishes.commit}, {wishes.pods:,} pods",
        f"{ratio:.2f} times",
        f"≥ {RATIO}",
        ratio >= RATIO,
    )
    print("\n" + markdown(("what", "figure", "budget", ""), [(check.what, check.figure, check.budget, check.word)]))
    return 0 if check.ok else 1


def _rates(figures: list[_Figures]) -> tuple[str, str]:
    made = max(each.made_events / each.made_cpu for each in figures)
    return f"{made:,.0f}", f"{max(each.rolled_events / each.rolled_cpu for each in figures):,.0f}"


def _turned(folder: Path, pods: int) -> _Figures:
    """With the packages of this Python and the code of the folder."""
    command = [sys.executable, "-m", "bench.sim", "--turnover", str(pods)]
    environment = {"PYTHONHASHSEED": "0", "PYTHONPATH": str(folder)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=folder, env=environment)
    return msgspec.json.decode(done.stdout, type=_Figures)


@contextmanager
def _checked_out(commit: str) -> Iterator[Path]:
    """The commit in a folder of its own, which is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "before")
        _git("worktree", "add", "--quiet", "--detach", str(place), commit)
        try:
            yield place
        finally:
            _git("worktree", "remove", "--force", str(place))


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(HERE), *arguments], check=True)


if __name__ == "__main__":
    raise SystemExit(main())
