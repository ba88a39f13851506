"""OpenKruise's manager: found, or built once. `$FAIRLEAD_KRUISE` names another one.

Its module, as Go keeps it, also has the definitions of its kinds and its webhooks; nothing of it is kept here.
"""

from __future__ import annotations

from pathlib import Path

from fairlead.plane.build import copy_module, go, module_folder, printed
from fairlead.plane.tool import Tool

KRUISE = "1.9.1"
MODULE = "github.com/openkruise/kruise"


def _build(work: Path) -> None:
    copy_module(f"{MODULE}@v{KRUISE}", work / "source")
    go(work / "source", "build", "-p=1", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", str(work / "kruise"), ".")


def source() -> Path:
    """The folder of the module, fetched where Go does not have it yet."""
    return module_folder(f"{MODULE}@v{KRUISE}")


find = Tool(name="Kruise", version=KRUISE, minutes=5, target="kruise", build=_build).find

if __name__ == "__main__":
    raise SystemExit(printed(find))
