"""Explain documents for programs: JSON and YAML with the same fields in the same order."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fairlead.core.explain import Explain, RolloutList
from kubeloop.sealed import recordable


def written(found: Explain | Sequence[Explain], form: str) -> str:
    """As `json` or `yaml`, ending in a newline; several as a list."""
    shown = found if isinstance(found, Explain) else RolloutList(items=tuple(found))
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(shown, enc_hook=recordable), indent=2).decode() + "\n"
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    tree = msgspec.to_builtins(shown, enc_hook=recordable)
    text: str = yaml.dump(tree, Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=False)
    return text
