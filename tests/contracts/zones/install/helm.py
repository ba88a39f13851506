"""The charts through the real Helm."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.contracts import chart_of
from fairlead.engine.charts import Object
from fairlead.plane import helm
from fairlead.plane.build import Unavailable

CHART = chart_of("zones")
NAMESPACE = "mimir"

Tree = dict[str, Any]


def render(
    values: Mapping[str, Any] | None = None,
    *,
    release: str = "rollout-operator",
    namespace: str = NAMESPACE,
    chart: Path = CHART,
) -> dict[tuple[str, str], Object]:
    """What `helm template` makes of a chart, by kind and name."""
    given = json.dumps(values or {})
    said = run("template", release, str(chart), "--namespace", namespace, "--values", "-", stdin=given)
    assert said.returncode == 0, said.stderr
    objects = [one for one in yaml.safe_load_all(said.stdout) if one]
    named = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    assert len(named) == len(objects), "an object was rendered twice"
    return named


def complaint(values: Mapping[str, Any], chart: Path = CHART) -> str:
    """Why Helm does not take these values."""
    said = run("template", "rollout-operator", str(chart), "--values", "-", stdin=json.dumps(values))
    assert said.returncode != 0, "these values are taken"
    return said.stderr


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Helm with a home of its own; skips the test where there is none."""
    program = _program()
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": "/usr/bin:/bin"}
        return subprocess.run(
            [program, *arguments], input=stdin, env=environment, check=False, text=True, capture_output=True
        )


def _program() -> Path:
    found = _found()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@cache
def _found() -> Path | str:
    try:
        return helm.find(lambda _line: None, build=False)
    except Unavailable as problem:
        return str(problem)
