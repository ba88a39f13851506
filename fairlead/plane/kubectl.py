"""kubectl: found, or built once, in the release of the control plane and in an old one that clients still have.

`$FAIRLEAD_KUBECTL` names another program for both.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from fairlead.plane.build import KUBERNETES, Say, kubernetes_program, kubernetes_source, printed
from fairlead.plane.tool import Tool

OLD = "1.33.13"
RELEASES = (KUBERNETES, OLD)


def _build(release: str, work: Path) -> None:
    kubernetes_source(release, work / "source")
    kubernetes_program(release, work / "source", "kubectl", work)


def find(say: Say, *, release: str = KUBERNETES, build: bool = True) -> Path:
    """The program; raises Unavailable with what would help."""
    made = partial(_build, release)
    tool = Tool(name="Kubectl", version=release, minutes=2, target="control-plane", build=made)
    return tool.find(say, build=build)


if __name__ == "__main__":
    raise SystemExit(max(printed(partial(find, release=release)) for release in RELEASES))
