"""What a person asks of a set, decided from what is read (section 6.4)."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
import pytest

from fairlead.contracts.leaderworker.decide.revisions import data_of
from fairlead.contracts.leaderworker.decide.verbs.history import history
from fairlead.contracts.leaderworker.decide.verbs.pause import RESTARTED_AT, pause, restart, resume
from fairlead.contracts.leaderworker.decide.verbs.undo import undo
from fairlead.contracts.leaderworker.kinds import NAME, PAUSED, REVISION_KEY, LeaderWorkerSet
from fairlead.contracts.leaderworker.verbs import VERBS
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Listing, Need, Question, Read
from fairlead.core.verb import (
    Absent,
    Nothing,
    Refused,
    VerbAnswer,
    VerbDecide,
    VerbDocument,
    VerbPlan,
    VerbRequest,
    VerbTable,
)
from kubeloop.safe_hash import safe_hash
from tests.contracts.leaderworker.decide.sets import NAMESPACE, a_set

Tree = dict[str, Any]
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
UID = "set-uid"


def image(name: str, **template: Any) -> Tree:
    return {"workerTemplate": {"spec": {"containers": [{"name": "main", "image": name}]}}, **template}


class Scene:
    """A set, its revisions, its leaders, and who reads them."""

    def __init__(self, name: str = "main:2", **changes: Any) -> None:
        self.set = a_set(template=image(name), **changes)
        self.set["metadata"] |= {"uid": UID, "resourceVersion": "17", "generation": 2, "annotations": {}}
        self.set["status"] = {"observedGeneration": 2}
        self.revisions: list[Tree] = []
        self.pods: list[Tree] = []
        self.key = ""
        self.there = True

    def revision(self, number: int, template: Tree, cause: str = "", **spec: Any) -> str:
        """Its key."""
        given = deepcopy(self.set)
        given["spec"]["leaderWorkerTemplate"] |= template
        given["spec"] |= spec
        data = data_of(msgspec.convert(given, LeaderWorkerSet))
        key = safe_hash(data)
        self.revisions.append(
            {
                "metadata": {
                    "name": f"a-{key}-{number}",
                    "namespace": NAMESPACE,
                    "uid": f"revision-{number}",
                    "resourceVersion": str(number),
                    "creationTimestamp": f"2026-05-01T11:0{number}:00Z",
                    "labels": {NAME: "a", REVISION_KEY: key},
                    "annotations": {"kubernetes.io/change-cause": cause} if cause else {},
                    "ownerReferences": [{"kind": "LeaderWorkerSet", "name": "a", "uid": UID, "controller": True}],
                },
                "revision": number,
                "data": msgspec.json.decode(data),
            }
        )
        self.key = key
        return key

    def asked(self, decide: VerbDecide, name: str = "a", **options: str) -> VerbAnswer:
        flags = {f"--{flag.replace('_', '-')}": (value,) for flag, value in options.items()}
        known: dict[Question, Answer] = {}
        for _ in range(5):
            found = decide(VerbRequest(NAMESPACE, name, flags), Answers(dict(known)), NOW)
            if not isinstance(found, Need):
                return found
            known |= {each: self.answer(each) for stage in found.stages for each in stage}
        raise AssertionError("it asks for ever")

    def answer(self, question: Question) -> Answer:
        assert isinstance(question, Ask)
        match question.to:
            case Read(ref=ref) if ref.resource.kind == "LeaderWorkerSet":
                return Good(msgspec.json.encode(self.set)) if self.there else Bad("absent")
            case Read(ref=ref):
                leaders = {
                    "metadata": {
                        "name": ref.name,
                        "uid": "l",
                        "resourceVersion": "1",
                        "labels": {REVISION_KEY: self.key},
                    }
                }
                return Good(msgspec.json.encode(leaders))
            case Listing(resource=resource):
                items = self.pods if resource.kind == "Pod" else self.revisions
                return Good(msgspec.json.encode({"items": items}))
        raise AssertionError(question)


def two(**changes: Any) -> Scene:
    scene = Scene(**changes)
    scene.revision(1, image("main:1"))
    scene.revision(2, image("main:2"))
    return scene


def plan(found: VerbAnswer) -> VerbPlan:
    assert isinstance(found, VerbPlan), found
    return found


def refusal(found: VerbAnswer) -> str:
    assert isinstance(found, Refused), found
    return found.sentence


def test_undo_goes_back_to_the_newest_that_is_not_the_current_one() -> None:
    found = plan(two().asked(undo))

    (write,) = found.writes
    assert write.patch["metadata"] == {"uid": UID, "resourceVersion": "17"}
    assert set(write.patch["spec"]) == {"leaderWorkerTemplate"}
    (container,) = write.patch["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
    assert container["image"] == "main:1"
    assert write.shown == ("leaderWorkerTemplate.workerTemplate.spec.containers[main].image: main:2 -> main:1",)
    assert found.event == "RolloutUndone"


def test_undo_of_an_edit_that_nobody_has_recorded_takes_that_edit_back() -> None:
    scene = two(name="main:3")
    scene.set["metadata"]["generation"] = 3

    assert plan(scene.asked(undo)).writes[0].shown[0].endswith("main:3 -> main:2")


def test_undo_keeps_the_leaders_revision_out_where_only_a_spelling_differs() -> None:
    scene = two(name="main:9")  # observed: the operator took it for the same as the leaders' revision

    assert plan(scene.asked(undo)).writes[0].shown[0].endswith("main:9 -> main:1")


@pytest.mark.parametrize("wanted", ["1", "key", "name"])
def test_a_revision_is_chosen_by_number_key_or_name(wanted: str) -> None:
    scene = Scene()
    key = scene.revision(1, image("main:1"))
    scene.revision(2, image("main:0"))
    scene.revision(3, image("main:2"))
    named = {"1": "1", "key": key, "name": f"a-{key}-1"}[wanted]

    found = plan(scene.asked(undo, to_revision=named))

    assert found.writes[0].shown[0].endswith("main:2 -> main:1")
    assert found.pinned == {"--to-revision": (f"a-{key}-1",)}


def test_the_network_goes_back_only_where_it_is_asked_for() -> None:
    scene = Scene(networkConfig={"subdomainPolicy": "UniquePerReplica"})
    scene.revision(1, image("main:1"), networkConfig={"subdomainPolicy": "Shared"})
    scene.revision(2, image("main:2"))

    assert "networkConfig" not in plan(scene.asked(undo)).writes[0].patch["spec"]
    assert plan(scene.asked(undo, with_network="true")).writes[0].patch["spec"]["networkConfig"] == {
        "subdomainPolicy": "Shared"
    }


def test_fields_that_came_since_are_taken_away() -> None:
    scene = Scene()
    scene.revision(1, image("main:1"))
    scene.set["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = {"spec": {"containers": [{"name": "l"}]}}
    scene.revision(2, scene.set["spec"]["leaderWorkerTemplate"])

    assert plan(scene.asked(undo)).writes[0].patch["spec"]["leaderWorkerTemplate"]["leaderTemplate"] is None


def test_outcomes_of_undo_that_change_nothing() -> None:
    alone = Scene()
    alone.revision(1, image("main:2"))

    assert refusal(alone.asked(undo)).startswith("no rollout history found")
    assert refusal(two().asked(undo, to_revision="9")).startswith("unable to find specified revision")
    skipped = two().asked(undo, to_revision="2")
    assert isinstance(skipped, Nothing)
    assert skipped.sentence.startswith("skipped rollback")


def test_a_revision_that_cannot_be_read_is_not_gone_back_to() -> None:
    scene = two()
    scene.revisions[0]["data"] = {"spec": []}

    assert "cannot be used" in refusal(scene.asked(undo))


def test_the_manifest_that_puts_it_back_is_named() -> None:
    scene = two()
    scene.set["metadata"]["labels"] = {"argocd.argoproj.io/instance": "shop"}

    assert "managed by Argo CD" in plan(scene.asked(undo)).warnings[0]


@pytest.mark.parametrize("verb", ["pause", "resume", "undo", "restart", "history"])
def test_a_set_that_is_not_there_is_absent(verb: str) -> None:
    scene = two()
    scene.there = False
    row = cast("Any", VERBS.rows[verb])

    assert isinstance(scene.asked(row.decide), Absent)
    assert isinstance(scene.asked(row.decide, name=""), Absent)
    assert not scene.asked(cast("VerbDecide", VERBS.find))


def test_a_set_that_is_going_is_left_alone() -> None:
    scene = two()
    scene.set["metadata"]["deletionTimestamp"] = "2026-05-01T11:00:00Z"

    assert refusal(scene.asked(undo)) == "a is being deleted"


def test_pause_and_resume_set_and_remove_the_annotation() -> None:
    scene = two()
    (write,) = plan(scene.asked(pause)).writes
    assert write.patch["metadata"]["annotations"] == {PAUSED: "true"}
    assert isinstance(scene.asked(resume), Nothing)

    scene.set["metadata"]["annotations"] = {PAUSED: "true"}
    assert isinstance(scene.asked(pause), Nothing)
    assert plan(scene.asked(resume)).writes[0].patch["metadata"]["annotations"] == {PAUSED: None}
    assert "no group moves before" in plan(scene.asked(undo)).said


def test_a_restart_stamps_the_templates_that_there_are() -> None:
    scene = two()
    stamped = {"metadata": {"annotations": {RESTARTED_AT: "2026-05-01T12:00:00Z"}}}
    assert plan(scene.asked(restart)).writes[0].patch["spec"]["leaderWorkerTemplate"] == {"workerTemplate": stamped}

    scene.set["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = {"spec": {}}
    assert set(plan(scene.asked(restart)).writes[0].patch["spec"]["leaderWorkerTemplate"]) == {
        "leaderTemplate",
        "workerTemplate",
    }


def test_history_counts_the_groups_of_each_revision() -> None:
    scene = Scene()
    old = scene.revision(1, image("main:1"), cause="first try")
    new = scene.revision(2, image("main:2"))
    scene.pods = [
        {"metadata": {"name": f"a-{index}", "uid": str(index), "resourceVersion": "1", "labels": {REVISION_KEY: key}}}
        for index, key in enumerate((old, old, new))
    ]

    found = scene.asked(history)

    assert isinstance(found, VerbTable)
    assert [tuple(row.values()) for row in found.rows] == [
        ("1", old, "2026-05-01T11:01:00Z", "2", "", "first try"),
        ("2", new, "2026-05-01T11:02:00Z", "1", "*", "<none>"),
    ]


def test_one_revision_is_shown_and_what_differs_between_two() -> None:
    scene = two()
    stored = scene.asked(history, revision="1")
    assert isinstance(stored, VerbDocument)
    assert isinstance(stored.shown, dict)
    assert stored.shown["spec"]["leaderWorkerTemplate"]["size"] == 2

    differs = scene.asked(history, revision="2", diff="1")
    assert isinstance(differs, VerbDocument)
    assert differs.shown == "leaderWorkerTemplate.workerTemplate.spec.containers[main].image: main:1 -> main:2"
    same = scene.asked(history, revision="2", diff="2")
    assert isinstance(same, VerbDocument)
    assert same.shown == "revisions 2 and 2 do not differ"

    assert refusal(scene.asked(history, revision="2", diff="9")).startswith("unable to find specified revision")
    assert refusal(scene.asked(history, diff="1")) == "--diff needs --revision: name both revisions"
    assert refusal(Scene().asked(history)).startswith("no rollout history found")
