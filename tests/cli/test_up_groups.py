"""`fairlead up` with LeaderWorkerSets: the demo, and what a newcomer tries after it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.cli.ups import environment, started

MAIN = (
    "import sys; from fairlead.contracts import CONTRACTS;"
    " CONTRACTS['leaderworker'] = 'fairlead.contracts.leaderworker.contract';"
    " from fairlead.cli.main import main; sys.exit(main())"
)
FAIRLEAD = (sys.executable, "-c", MAIN)
"""With the contract, whichever others there are."""


def fairlead(home: Path, *words: str) -> tuple[int, str, str]:
    told = {**environment(home), "KUBECONFIG": str(home / "kubeconfig"), "COLUMNS": "80"}
    done = subprocess.run(
        [*FAIRLEAD, *words],
        env=told,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_in_the_demo_an_old_group_comes_back_on_its_own_revision_and_undo_is_offered(tmp_path: Path) -> None:
    code, out, err = fairlead(tmp_path, "up", "--demo", "leaderworker", "--until-done")

    assert (code, err) == (0, "")
    assert "as the operator says (pod fairlead)" in out
    assert "llm-0-1 of an old group crashes: its group is recreated as a whole" in out
    assert re.search(r"llm-0 Recreating 0/3.*llm-3 Settling", out)
    assert "Done in" in out
    summary = out.split("Done in")[1]
    assert "3 of 3 groups run the new image, with 4 groups at most" in summary
    assert "group llm-0 crashed meanwhile and came back on its own revision (example.test/server:1.0)" in summary
    assert "fairlead undo llm -n demo" in summary
    assert "\x1b" not in out


def test_a_newcomer_looks_goes_back_and_restarts(tmp_path: Path) -> None:
    manifest = tmp_path / "set.yaml"
    manifest.write_text(
        """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: llm}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {spec: {containers: [{name: server, image: "example.test/server:1.0"}]}}
"""
    )
    command = (*FAIRLEAD, "up", "--speed", "10", "--kubeconfig-out", str(tmp_path / "kubeconfig"))
    with started(tmp_path, *command, "-f", str(manifest)):
        assert fairlead(tmp_path, "status", "llm", "--timeout", "60s")[0] == 0
        code, out, err = fairlead(tmp_path, "undo", "llm", "--yes")
        assert (code, out) == (1, "")
        assert err.startswith("fairlead: no rollout history found")

        assert fairlead(tmp_path, "restart", "llm")[0] == 0
        assert fairlead(tmp_path, "status", "llm", "--watch", "--timeout", "60s")[0] == 0
        code, out, _ = fairlead(tmp_path, "history", "llm")
        assert code == 0
        assert [line.split()[0] for line in out.splitlines()] == ["REVISION", "1", "2"]

        code, out, err = fairlead(tmp_path, "undo", "llm")
        assert (code, out) == (1, "")
        assert "restartedAt: " in err
        assert "add --yes" in err
        code, out, _ = fairlead(tmp_path, "undo", "llm", "--yes")
        assert code == 0
        assert "llm goes back to revision 1" in out
        assert fairlead(tmp_path, "status", "llm", "--timeout", "60s")[0] == 0

        code, out, _ = fairlead(tmp_path, "explain", "llm-1")
        assert code == 0
        assert "2 of 2 groups" in out
        assert max(map(len, out.splitlines())) <= 80
        code, _, err = fairlead(tmp_path, "promote", "llm")
        assert code == 1
        assert "groups follow one another by themselves" in err
        assert fairlead(tmp_path, "undo", "nobody")[0] == 3
