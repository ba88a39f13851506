"""`python -m tools.chart_readme`: writes the README of each chart from its own files.

The table of values is made of `values.yaml`: a key's comment is its description. A test compares what is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import yaml
from msgspec import Struct

from fairlead.contracts import chart_of, contracts
from tools.keeping import keep

PARTS = tuple(contract.name for contract in contracts() if contract.chart)
SHOWN = 60
"""Characters of a default that are shown; a longer one is to be looked up."""
INSTALLS = {
    "zones": "helm install rollout-operator fairlead/contracts/zones/install/charts/rollout-operator --namespace mimir",
    "environments": (
        "helm install materialize-operator fairlead/contracts/environments/install/charts/materialize-operator "
        "--namespace materialize --create-namespace"
    ),
    "leaderworker": (
        "helm install lws fairlead/contracts/leaderworker/install/charts/lws --namespace lws-system --create-namespace"
    ),
    "plans": (
        "helm install kubevela fairlead/contracts/plans/install/charts/vela-core --namespace vela-system "
        "--create-namespace"
    ),
    "apiversions": (
        "helm install fairlead fairlead/contracts/apiversions/install/charts/fairlead --namespace fairlead-system "
        "--create-namespace"
    ),
}
IMAGES = {
    "zones": "image",
    "environments": "operator.image",
    "leaderworker": "image.manager",
    "plans": "image",
    "apiversions": "image",
}
"""The value that names the image."""
TEXT = """\
# {name}

{description}

```
{install}
```

The image is not published: build and push it as `docs/install.md` says, and name it by `{image}`.
A value that is not in this table is refused, so a misspelt one is found; maps such as `nodeSelector` take any key.

## Values

| Value | Default | Meaning |
|---|---|---|
{rows}
"""


class Value(Struct, frozen=True):
    path: str
    default: object
    meaning: str


def readme(part: str) -> str:
    chart = chart_of(part)
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    rows = "\n".join(
        f"| `{value.path}` | {_shown(value.default)} | {value.meaning.replace('|', chr(92) + '|')} |"
        for value in values_of((chart / "values.yaml").read_text())
    )
    named = {"name": about["name"], "description": about["description"], "install": INSTALLS[part]}
    return TEXT.format(**named, image=IMAGES[part], rows=rows)


def values_of(text: str) -> Iterator[Value]:
    """Every value that has no keys of its own, with the comment above it or above the map that it is in."""
    root = yaml.compose(text)
    if not isinstance(root, yaml.MappingNode):
        raise TypeError("the values are no map")
    yield from _values(root, "", text.splitlines())


def _values(node: yaml.MappingNode, path: str, lines: list[str]) -> Iterator[Value]:
    for key, value in node.value:
        name, meaning = f"{path}{key.value}", _comment(key.start_mark.line, lines)
        if isinstance(value, yaml.MappingNode) and value.value and not value.flow_style:
            if meaning:
                yield Value(f"{name}.*", None, meaning)
            yield from _values(value, f"{name}.", lines)
        else:
            yield Value(name, yaml.safe_load(yaml.serialize(value)), meaning)


def _comment(line: int, lines: list[str]) -> str:
    """The lines of comment right above, as one text."""
    found: list[str] = []
    while line > 0 and lines[line - 1].strip().startswith("#"):
        line -= 1
        found.insert(0, lines[line].strip().lstrip("# "))
    return " ".join(found)


def _shown(default: object) -> str:
    if default is None:
        return ""
    text = json.dumps(default, ensure_ascii=False)
    return f"`{text}`" if len(text) <= SHOWN else "see `values.yaml`"


def path_of(part: str) -> Path:
    return chart_of(part) / "README.md"


def main() -> int:
    for part in PARTS:
        keep(path_of(part), readme(part))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
