"""Records everything that is kept of the real thing, and tells which files changed.

    python -m tools.record          everything, about ten minutes
    python -m tools.record --anew   as after a change of the release: traces forget what earlier runs have shown

runs the commands below one after another; each prints what changed in its files. What one of them cannot do does not
keep the others from their work.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tools import answers, bootstrap, builtins, copies, exchanges, protos, schemas, template_schemas, traces

ROOT = Path(__file__).parent.parent
FILES = (
    "kubesim/data/*.json",
    "fairlead/contracts/*/install/*.json",
    "tests/exchanges/recorded/*.json",
    "tests/e2e/*_answers.json",
    "tests/kubesim/*.json",
    "tests/kubesim/controllers/recorded_*.py",
    "tests/kubesim/copies/*.json",
)
COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "protos": protos.main,
    "schemas": schemas.main,
    "template_schemas": template_schemas.main,
    "bootstrap": bootstrap.main,
    "exchanges": exchanges.main,
    "answers": answers.main,
    "builtins": builtins.main,
    "traces": traces.main,
    "copies": copies.main,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Answers with 1 when something could not be recorded."""
    parser = argparse.ArgumentParser(prog="python -m tools.record", description=__doc__.partition("\n")[0])
    parser.add_argument("--anew", action="store_true", help="traces forget what earlier runs have shown")
    anew = parser.parse_args(arguments).anew
    before = _contents()
    failed = []
    for name, command in COMMANDS.items():
        sys.stdout.write(f"\n== tools.{name}\n")
        sys.stdout.flush()
        if command(["--anew"] if anew and name == "traces" else []):
            failed.append(name)
    after = _contents()
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    sys.stdout.write(f"\nChanged: {', '.join(changed) or 'nothing'}\n")
    if failed:
        sys.stdout.write(f"Not recorded, for the reasons above: {', '.join(failed)}\n")
    return 1 if failed else 0


def _contents() -> dict[str, bytes]:
    return {str(path.relative_to(ROOT)): path.read_bytes() for pattern in FILES for path in ROOT.glob(pattern)}


if __name__ == "__main__":
    sys.exit(main())
