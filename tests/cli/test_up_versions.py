"""`fairlead up` with versions of CRDs: the demo, command by command."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.cli.ups import FAIRLEAD, environment


def test_in_the_demo_a_kind_gets_a_new_version_and_loses_the_old_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [*FAIRLEAD, "up", "--demo", "apiversions", "--until-done", "--speed", "2"],
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    typed = re.findall(r"^\$ fairlead api (\S+)", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stderr
    assert typed == [
        *("rules", "rules", "preflight", "introduce", "attach", "serve", "set-storage", "migrate", "deprecate"),
        *("unserve", "fix-refs", "unserve", "remove-version", "status"),
    ]
    assert "gives one value for two: write fromHub" in done.stdout
    assert '# v1: {"size":0,"colour":"red","legacyMode":true}' in done.stdout
    assert '# v2: {"size":0,"paint":{"colour":"red"}}' in done.stdout
    assert "every object is stored in v2 (200 written)" in done.stdout
    assert "is deprecated; use example.test/v2 Widget" in done.stdout
    assert "name an owner in v1: run `fairlead api fix-refs" in done.stderr
    assert "stored in    v2\n" in done.stdout
    assert "live on in v2" in done.stdout
