"""`fairlead up` with plans: the demo, beside routes and CloneSets from files."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.cli.ups import FAIRLEAD, environment

OBJECTS = """\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: other}
spec:
  hostnames: [other.test]
  rules:
  - backendRefs: [{name: other-v1, port: 80}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: other}
spec: {hosts: [other], http: [{route: [{destination: {host: other-v1}}]}]}
---
apiVersion: split.smi-spec.io/v1alpha2
kind: TrafficSplit
metadata: {name: other}
spec: {service: other, backends: [{service: other-v1, weight: 100}]}
---
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.test/web:1.0"}]}
"""


def test_in_the_demo_a_batch_is_refused_and_the_corrected_image_rolls_through(tmp_path: Path) -> None:
    """Beside routes of others and a CloneSet, which any cluster takes."""
    (file := tmp_path / "objects.yaml").write_text(OBJECTS)

    done = subprocess.run(
        [*FAIRLEAD, "up", "--demo", "plans", "--until-done", "--speed", "4", "-f", str(file)],
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "Applied from files: 4\n" in done.stdout
    assert "as the operator says (pod fairlead)" in done.stdout
    assert re.search(r"the metric request-success-rate is \d+\.\d+, below its min 99", done.stdout)
    assert re.search(r"demo/shop Reverted 0/10 pods .*demo/shop Succeeded 10/10 pods", done.stdout, re.DOTALL)
    summary = done.stdout.split("\nDone in")[1]
    assert "the corrected example.test/shop:2.1 runs in all 10 pods." in summary
    assert "0 of them lost by the rollouts" in summary
    assert re.search(r"[1-9]\d* failed in pods of example.test/shop:2.0, before it was taken back", summary)
    assert "10 of 10 pods were ready at the worst moment." in summary
    assert "undo shop -n demo" in summary
