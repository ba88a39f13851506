"""The files of the charts, which are part of the package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

MONITORING = "monitoring.coreos.com/v1"
"""The API group of the Prometheus operator."""

Object = dict[str, Any]
"""One Kubernetes object, as decoded YAML."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Dumper(yaml.SafeDumper):
    """Writes what appears twice twice: no anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Queries and dashboards stay readable."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def text_of(chart: Path, name: str, names: Mapping[str, str] | None = None) -> str:
    """A file of the chart, with `__KEY__` replaced by the name given for KEY."""
    text = (chart / "files" / name).read_text()
    for key, value in (names or {}).items():
        text = text.replace(f"__{key}__", value)
    return text


def data_of(chart: Path, name: str, names: Mapping[str, str] | None = None) -> Any:
    """The same, decoded from YAML."""
    return _read(text_of(chart, name, names))


def chart_values(chart: Path) -> Any:
    """What holds in the chart where nobody says otherwise."""
    return _read((chart / "values.yaml").read_text())


def custom_resources(chart: Path) -> tuple[Object, ...]:
    """The CustomResourceDefinitions of a contract, by their file names."""
    folder = chart / "charts" / "crds" / "crds"
    return tuple(_read(path.read_text()) for path in sorted(folder.glob("*.yaml")))


def written(objects: tuple[Object, ...]) -> str:
    """As a stream of YAML documents."""
    text: str = yaml.dump_all(
        objects, Dumper=_Dumper, sort_keys=False, explicit_start=True, allow_unicode=True, width=120
    )
    return text


def _read(text: str) -> Any:
    return yaml.load(text, Loader=_LOADER)  # noqa: S506  one of the safe loaders
