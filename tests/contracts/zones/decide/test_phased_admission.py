"""The webhook phased-deployment: what becomes of an update, in single steps and in any order of them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, structs

from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot, log_keys
from fairlead.contracts.zones.decide.phased.gates import digest_of, mark_of
from fairlead.contracts.zones.decide.phased.phased_admission import judge
from fairlead.contracts.zones.kinds import DEPENDS_ON, GATE, PHASED, RESTART_THRESHOLD, RESUME, REVISION, SOAK_DURATION
from fairlead.core.decision import Admit
from kubeloop.objects.review import NOTHING, Review
from tests.builders import NOW
from tests.contracts.zones.decide.reviews import a_review
from tests.examples import examples

Tree = dict[str, Any]


def template(image: str) -> Tree:
    return {"metadata": {"labels": {"app": "cell"}}, "spec": {"containers": [{"name": "main", "image": image}]}}


def name(image: str) -> str:
    return digest_of(template(image))


def a_deployment(
    image: str = "v1",
    *,
    paused: bool | None = None,
    mark: str = "",
    label: str | None = "true",
    depends_on: str = "canary",
    revision: str = "v2",
    resume: str = "",
    soak: str = "",
) -> Tree:
    given = {DEPENDS_ON: depends_on, REVISION: revision, GATE: mark, RESUME: resume, SOAK_DURATION: soak}
    spec: Tree = {"replicas": 3, "template": template(image)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "cell",
            "labels": {} if label is None else {PHASED: label},
            "annotations": {key: value for key, value in given.items() if value},
        },
        "spec": spec if paused is None else spec | {"paused": paused},
    }


def reviewed(old: Tree, new: Tree) -> Review:
    first, second = (Raw(msgspec.json.encode(tree)) for tree in (old, new))
    return a_review(first, second, resource="deployments", name="cell")


def judged(old: Tree, new: Tree) -> Admit:
    verdict = judge(ReviewSnapshot(reviewed(old, new)), NOW)
    assert verdict.allowed
    return verdict


def admitted(old: Tree, new: Tree) -> Tree:
    """What is stored; the webhook may be called again for the same request, and must then have nothing to add."""
    stored = patched(new, judged(old, new))
    assert patched(stored, judged(old, stored)) == stored
    return stored


def patched(tree: Tree, verdict: Admit) -> Tree:
    """Applies what the webhook may use of JSON patches: adding members to objects."""
    made = deepcopy(tree)
    for step in msgspec.json.decode(verdict.patch or b"[]"):
        assert step["op"] == "add"
        *way, last = (part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:])
        place = made
        for part in way:
            place = place[part]
        place[last] = step["value"]
    return made


def mark(tree: Tree) -> str:
    return str(tree["metadata"]["annotations"].get(GATE, ""))


def is_paused(tree: Tree) -> bool:
    return bool(tree["spec"].get("paused", False))


HELD = f"held {name('v2')} over {name('v1')}"
WAITING = a_deployment("v2", paused=True, mark=HELD)


def test_changed_template_is_admitted_paused_and_the_user_is_told() -> None:
    old, new = a_deployment("v1"), a_deployment("v2")

    verdict = judged(old, new)

    stored = admitted(old, new)
    assert (is_paused(stored), mark(stored), verdict.word) == (True, HELD, "held")
    assert verdict.warnings == (
        "deployments/cell stays paused until deployment canary has rolled out revision v2 and soaked",
    )


def test_object_without_annotations_gets_its_mark() -> None:
    """It has none before, and what it depends on comes with the change."""
    old, new = a_deployment("v1", depends_on="", revision=""), a_deployment("v2", revision="")
    old["metadata"]["annotations"] = None

    stored = admitted(old, new)

    assert (is_paused(stored), mark(stored)) == (True, HELD)


def test_annotations_that_cannot_be_used_are_told_with_the_change() -> None:
    new = a_deployment("v2", soak="soon")

    assert "rollout-soak-duration" in judged(a_deployment("v1"), new).warnings[1]


UNTOUCHED = {
    "no label": (a_deployment("v1", label=None), a_deployment("v2", label=None), "not-labelled"),
    "label is not exactly true": (a_deployment("v1"), a_deployment("v2", label="yes"), "not-labelled"),
    "depends on nothing": (
        a_deployment("v1", depends_on=""),
        a_deployment("v2", depends_on=""),
        "depends-on-nothing",
    ),
    "same template": (a_deployment("v1"), a_deployment("v1", revision="v3"), "same-template"),
    "owner pauses it": (a_deployment("v1"), a_deployment("v1", paused=True), "same-template"),
    "owner takes the pause off": (a_deployment("v1", paused=True), a_deployment("v1", paused=False), "same-template"),
    "unreadable mark": (a_deployment(mark="held?"), a_deployment(mark="held?", paused=False), "same-template"),
    "released": (WAITING, a_deployment("v2", paused=False, mark=f"passed {name('v2')}"), "released"),
    "blocked": (
        WAITING,
        a_deployment("v2", paused=True, mark=HELD.replace("held", "blocked")),
        "kept-held",
    ),
    "scaled while it is held": (WAITING, {**WAITING, "spec": {**WAITING["spec"], "replicas": 9}}, "kept-held"),
}


@pytest.mark.parametrize(("old", "new", "word"), UNTOUCHED.values(), ids=UNTOUCHED)
def test_left_as_it_is(old: Tree, new: Tree, word: str) -> None:
    verdict = judged(old, new)

    assert (verdict.patch, verdict.word) == (b"", word)


@pytest.mark.parametrize(
    "change",
    [{"operation": "CREATE"}, {"operation": "DELETE"}, {"sub_resource": "scale"}],
    ids=["creation", "deletion", "subresource"],
)
def test_only_updates_of_the_object_itself_are_judged(change: Tree) -> None:
    """What is created has no pods yet that a bad template could take away."""
    review = structs.replace(reviewed(a_deployment("v1"), a_deployment("v2")), **change)

    assert judge(ReviewSnapshot(review), NOW) == Admit(allowed=True, word="not-an-update")


BACK = {
    "paused taken off": a_deployment("v2", paused=False, mark=HELD),
    "paused left out": a_deployment("v2", mark=HELD),
    "mark dropped": a_deployment("v2", paused=True),
    "replaced as a whole": a_deployment("v2"),
    "mark of another template": a_deployment("v2", mark=f"passed {name('v1')}"),
}


@pytest.mark.parametrize("new", BACK.values(), ids=BACK)
def test_what_a_gate_holds_is_put_right(new: Tree) -> None:
    stored = admitted(WAITING, new)

    assert (is_paused(stored), mark(stored)) == (True, HELD)


def test_blocked_stays_blocked_when_the_mark_is_dropped() -> None:
    blocked = HELD.replace("held", "blocked")

    stored = admitted(a_deployment("v2", paused=True, mark=blocked), a_deployment("v2"))

    assert (is_paused(stored), mark(stored)) == (True, blocked)


def test_another_change_while_it_is_held_begins_anew_over_what_runs() -> None:
    blocked = a_deployment("v2", paused=True, mark=HELD.replace("held", "blocked"))

    stored = admitted(blocked, {**blocked, "spec": a_deployment("v3", paused=True)["spec"]})

    assert (is_paused(stored), mark(stored)) == (True, f"held {name('v3')} over {name('v1')}")


def test_return_to_the_template_that_runs_gives_up_the_change() -> None:
    stored = admitted(WAITING, a_deployment("v1", paused=True, mark=HELD))

    assert (is_paused(stored), mark(stored)) == (False, f"passed {name('v1')}")


@pytest.mark.parametrize("old", [a_deployment("v1"), WAITING], ids=["at rest", "held"])
def test_change_that_is_resumed_with_it_passes_at_once(old: Tree) -> None:
    """So a rollback need not wait: the revision and the word to go on come in one update."""
    new = a_deployment("v3", paused=old["spec"].get("paused"), revision="v3", resume="v3")

    stored = admitted(old, new)

    assert (is_paused(stored), mark(stored)) == (False, f"passed {name('v3')}")


def test_held_and_then_without_dependency_it_passes_with_its_next_change() -> None:
    stored = admitted(WAITING, a_deployment("v3", paused=True, mark=HELD, depends_on=""))

    assert (is_paused(stored), mark(stored)) == (False, f"passed {name('v3')}")


def test_leaving_the_phases_while_held_is_not_touched_but_told() -> None:
    verdict = judged(WAITING, a_deployment("v2", paused=True, mark=HELD, label=None))

    assert verdict.patch == b""
    assert "set spec.paused to false" in verdict.warnings[0]


def test_pause_of_the_owner_outlasts_the_gate_until_the_owner_takes_it_off() -> None:
    held = admitted(a_deployment("v1", paused=True), a_deployment("v2", paused=True))
    scaled = admitted(held, {**held, "spec": {**held["spec"], "replicas": 9}})
    taken_off = admitted(scaled, {**scaled, "spec": {**scaled["spec"], "paused": False}})

    assert mark(held) == mark(scaled) == f"{HELD} paused"
    assert (is_paused(taken_off), mark(taken_off)) == (True, HELD)


STEPS = st.one_of(
    st.tuples(st.just("image"), st.sampled_from(["v1", "v2", "v3"])),
    st.tuples(st.just("paused"), st.sampled_from([None, True, False])),
    st.tuples(st.just("mark"), st.sampled_from(["", "held", "own"])),
    st.tuples(st.just("release"), st.none()),
)


@examples(80)
@given(st.lists(st.lists(STEPS, min_size=1, max_size=3), max_size=8))
def test_no_sequence_of_updates_rolls_out_a_template_whose_gate_was_not_passed(
    updates: list[list[tuple[str, Any]]],
) -> None:
    """Only the write of a round releases a template; to return to one that was released is free."""
    current = a_deployment("v1")
    cleared = {name("v1")}

    for steps in updates:
        new = deepcopy(current)
        if steps[0][0] == "release":  # as a round writes it: bound to what was seen, so nothing comes in between
            found = mark_of(new["metadata"]["annotations"])
            if found is None or not found.holds:
                continue
            new["metadata"]["annotations"][GATE] = f"passed {found.template}{' paused' * found.paused}"
            new["spec"]["paused"] = found.paused
            cleared.add(found.template)
        for what, value in steps if steps[0][0] != "release" else []:
            change(new, what, value)
        current = admitted(current, new)

        runs = digest_of(current["spec"]["template"])
        assert is_paused(current) or runs in cleared


def change(tree: Tree, what: str, value: Any) -> None:
    if what == "image":
        tree["spec"]["template"] = template(value)
    elif what == "paused":
        tree["spec"].pop("paused", None)
        if value is not None:
            tree["spec"]["paused"] = value
    elif what == "mark" and value != "own":
        tree["metadata"]["annotations"].pop(GATE, None)
        if value:
            tree["metadata"]["annotations"][GATE] = value


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**80), 2**80),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
    st.lists(st.none(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
)
PLACES = [
    (),
    ("metadata",),
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("metadata", "annotations", GATE),
    ("metadata", "annotations", RESUME),
    ("metadata", "annotations", DEPENDS_ON),
    ("metadata", "annotations", SOAK_DURATION),
    ("metadata", "annotations", RESTART_THRESHOLD),
    ("spec",),
    ("spec", "paused"),
    ("spec", "template"),
    ("spec", "template", "spec"),
]


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([b"null", b"[]", b"3", b"{}", b'{"metadata":{},"spec":{}}', b"\xff", b'"\\ud800"']))
    tree: Any = draw(st.sampled_from([a_deployment("v1"), a_deployment("v2"), WAITING]))
    tree = {"whole": deepcopy(tree)}
    for place in draw(st.lists(st.sampled_from(PLACES), max_size=2)):
        inner: Any = tree
        for part in ("whole", *place)[:-1]:
            inner = inner.get(part) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            inner[("whole", *place)[-1]] = draw(ODD)
    try:
        return msgspec.json.encode(tree["whole"])
    except OverflowError:
        return str(tree["whole"]).replace("'", '"').replace("None", "null").replace("True", "true").encode()


@examples(100)
@given(bodies(), bodies(), st.sampled_from([None, False, True]))
def test_every_review_is_answered(old: bytes, new: bytes, dry_run: bool | None) -> None:
    """Broken ones are allowed, because the API server checks objects itself; a dry run is judged like any other."""
    review = a_review(Raw(old), Raw(new), resource="deployments", name="cell", dry_run=dry_run)

    verdict = judge(ReviewSnapshot(review), NOW)

    assert verdict.allowed
    assert (verdict.afterwards, verdict.tell) == ((), ())
    assert verdict == judge(ReviewSnapshot(structs.replace(review, dry_run=None)), NOW)
    assert log_keys(ReviewSnapshot(review))["object.name"] == "cell"
    if verdict.patch:
        assert patched(msgspec.json.decode(new), verdict)["metadata"]["annotations"][GATE]


def test_review_without_objects_is_answered() -> None:
    review = a_review(NOTHING, NOTHING, resource="deployments", name="cell")

    assert judge(ReviewSnapshot(review), NOW).word == "undecodable"
