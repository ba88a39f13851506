"""`fairlead up` with versions of CRDs: the demo, command by command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.ups import environment, finished, real_environment


@pytest.mark.parametrize(
    "cluster", [("--speed", "2"), pytest.param(("--real",), marks=pytest.mark.real)], ids=["embedded", "real"]
)
def test_in_the_demo_a_kind_gets_a_new_version_and_loses_the_old_one(tmp_path: Path, cluster: tuple[str, ...]) -> None:
    made = real_environment if "--real" in cluster else environment
    done = finished(made(tmp_path), "--demo", "apiversions", "--until-done", *cluster)

    typed = re.findall(r"^\$ fairlead api (\S+)", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stderr
    assert typed == [
        *("rules", "rules", "preflight", "introduce", "attach", "serve", "set-storage", "migrate", "deprecate"),
        *("unserve", "fix-refs", "unserve", "remove-version", "status"),
    ]
    assert "gives one value for two: write fromHub" in done.stdout
    shown = {version: json.loads(spec) for version, spec in re.findall(r"^# (v\d): (.*)$", done.stdout, re.MULTILINE)}
    assert shown == {
        "v1": {"size": 0, "colour": "red", "legacyMode": True},
        "v2": {"size": 0, "paint": {"colour": "red"}},
    }
    assert "every object is stored in v2 (200 written)" in done.stdout
    assert "is deprecated; use example.test/v2 Widget" in done.stdout
    assert "name an owner in v1: run `fairlead api fix-refs" in done.stderr
    assert "what 200 objects carried for v1 is taken off" in done.stderr
    assert "stored in    v2\n" in done.stdout
    assert "live on in v2" in done.stdout
