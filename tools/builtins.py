"""Records what the real API server makes of the objects and changes of `tests/e2e/builtin_*.py`.

    python -m tools.builtins

starts the pinned control plane without controllers, asks it with dry runs, prints how the answers differ from those
that are committed, and writes them into `tests/kubesim/recorded_builtins.json`, from which tests without a control
plane know what each object becomes and in which words it is refused. Run it again when the release of the control plane
changes, or when an object is added.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence

from fairlead.plane.build import Unavailable
from tests.e2e.builtin_answers import RECORD, Answers, recorded
from tools.keeping import keep, without_options


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the file; answers with 1 when there is no control plane to record."""
    without_options("builtins", __doc__, arguments)
    try:
        found = asyncio.run(recorded())
    except Unavailable as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    keep(RECORD, printed(found))
    return 0


def printed(found: Mapping[str, Answers]) -> str:
    """As JSON with a line for each answer."""
    parts = []
    for name, answers in found.items():
        lines = (f"{json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in answers.items())
        parts.append(f'"{name}": {{\n' + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
