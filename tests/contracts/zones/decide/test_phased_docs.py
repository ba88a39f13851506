"""docs/phased-deployments.md: its example is held as it says, and it names every key and every Event."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path

import msgspec
import yaml
from msgspec import Raw

from fairlead.contracts.zones import kinds
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot
from fairlead.contracts.zones.decide.phased import phased_rollout
from fairlead.contracts.zones.decide.phased.gates import gate_of
from fairlead.contracts.zones.decide.phased.phased_admission import judge
from tests.builders import NOW
from tests.contracts.zones.decide.reviews import a_review

TEXT = (Path(__file__).parents[4] / "docs" / "phased-deployments.md").read_text()


def test_example_is_held_when_its_image_changes() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    new = yaml.safe_load(block)
    old = deepcopy(new)
    old["spec"]["template"]["spec"]["containers"][0]["image"] = "frontend:v2.3.0"

    first, second = (Raw(msgspec.json.encode(tree)) for tree in (old, new))
    verdict = judge(ReviewSnapshot(a_review(first, second, resource="deployments", name="frontend-cell-a")), NOW)

    assert verdict.word == "held"
    gate = gate_of(new["metadata"]["annotations"])
    assert (gate.depends_on, gate.revision, gate.soak, gate.problems) == ("frontend-canary", "v2.4.0", 600, ())


def test_every_key_and_every_event_is_explained() -> None:
    keys = ("PHASED", "DEPENDS_ON", "REVISION", "SOAK_DURATION", "RESTART_THRESHOLD", "RESUME", "GATE")
    events = re.findall(r'"(Rollout[A-Z]\w+)"', Path(phased_rollout.__file__).read_text())

    assert [key for key in keys if f"| `{getattr(kinds, key)}`" not in TEXT] == []
    assert set(events) == {"RolloutBlocked", "RolloutReleased", "RolloutSoaking", "RolloutWaiting"}
    assert [event for event in events if f"`{event}`" not in TEXT] == []
