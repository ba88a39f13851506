"""Groups of zones as the API server lists them, with their revisions and pods, for verbs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from fairlead.contracts.zones.kinds import GROUP_LABEL
from fairlead.core.ask import Answer, Answers, Ask, Good, Listing, Need, Question
from fairlead.core.verb import VerbAnswer, VerbDecide, VerbRequest
from kubeloop.objects.apps import CONTROLLER_REVISIONS, REVISION_LABEL, STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource

Tree = dict[str, Any]
NAMESPACE, GROUP = "test", "ingester"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def named(letter: str) -> str:
    return f"{GROUP}-zone-{letter}"


def a_template(letter: str, image: str = "image:1", **more: Any) -> Tree:
    """What tells zones apart is in it: labels, an argument, and where they run."""
    container = {"name": "main", "image": image, "args": [f"-zone=zone-{letter}"], **more}
    spec = {"containers": [container], "nodeSelector": {"zone": f"zone-{letter}"}}
    return {"metadata": {"creationTimestamp": None, "labels": {"name": named(letter)}}, "spec": spec}


class Scene:
    """What a verb may read, made piece by piece."""

    def __init__(self) -> None:
        self.zones: dict[str, Tree] = {}
        self.revisions: list[Tree] = []
        self.pods: list[Tree] = []

    def zone(self, letter: str, template: Tree | None = None, *, group: str = GROUP, **annotations: str) -> Tree:
        name = named(letter) if group == GROUP else f"{group}-zone-{letter}"
        self.zones[letter] = {
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-{letter}",
                "resourceVersion": f"1{ord(letter)}",
                "labels": {GROUP_LABEL: group},
                "annotations": {key.replace("__", "/").replace("_", "-"): value for key, value in annotations.items()},
            },
            "spec": {"template": template or a_template(letter), "updateStrategy": {"type": "OnDelete"}},
            "status": {},
        }
        return self.zones[letter]

    def revision(self, letter: str, number: int, template: object) -> str:
        """Its name."""
        name = f"{named(letter)}-r{number}"
        owner = {"kind": "StatefulSet", "name": named(letter), "uid": f"uid-{letter}", "controller": True}
        marked = {**template, "$patch": "replace"} if isinstance(template, dict) else template
        self.revisions.append(
            {
                "metadata": {
                    "name": name,
                    "namespace": NAMESPACE,
                    "uid": name,
                    "resourceVersion": "1",
                    "creationTimestamp": f"2026-03-01T1{number % 3}:00:00Z",
                    "ownerReferences": [owner],
                },
                "revision": number,
                "data": {"spec": {"template": marked}},
            }
        )
        return name

    def pod(self, letter: str, ordinal: int, revision: str = "", **labels: str) -> None:
        name = f"{named(letter)}-{ordinal}"
        owner = {"kind": "StatefulSet", "name": named(letter), "uid": f"uid-{letter}", "controller": True}
        given = {key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()}
        metadata: Tree = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "resourceVersion": "1"}
        metadata |= {"labels": {REVISION_LABEL: revision, **given}, "ownerReferences": [owner]}
        self.pods.append({"metadata": metadata})

    def asked(self, verb: VerbDecide, name: str = GROUP, **options: str | tuple[str, ...]) -> VerbAnswer:
        """The answer, once all that it asks for was read."""
        given = {
            f"--{flag.replace('_', '-')}": (value,) if isinstance(value, str) else value
            for flag, value in options.items()
        }
        request = VerbRequest(NAMESPACE, name, given)
        known: dict[Question, Answer] = {}
        for _ in range(5):
            found = verb(request, Answers(dict(known)), NOW)
            if not isinstance(found, Need):
                return found
            known |= {question: self._listed(question) for stage in found.stages for question in stage}
        raise AssertionError("it asks again and again")

    def _listed(self, question: Question) -> Answer:
        assert isinstance(question, Ask)
        assert isinstance(question.to, Listing)
        assert question.to.namespace == NAMESPACE
        items: dict[Resource, list[Tree]] = {
            STATEFULSETS: list(self.zones.values()),
            CONTROLLER_REVISIONS: self.revisions,
            PODS: self.pods,
        }
        return Good(msgspec.json.encode({"items": items[question.to.resource]}))


def three_zones(first: str = "image:1", second: str = "image:2") -> Scene:
    """Zones a, b and c that went from the first image to the second together."""
    scene = Scene()
    for letter in "abc":
        zone = scene.zone(letter, a_template(letter, second))
        old = scene.revision(letter, 1, a_template(letter, first))
        new = scene.revision(letter, 2, a_template(letter, second))
        zone["status"] = {"currentRevision": old, "updateRevision": new}
        for ordinal in range(2):
            scene.pod(letter, ordinal, new if letter == "a" else old)
    return scene
