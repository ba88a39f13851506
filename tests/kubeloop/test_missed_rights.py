"""Rights that the API server says are missing, until it answers what needed them."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop.errors import ApiError, Conflict, Forbidden, NotFound, ServerError
from kubeloop.missed_rights import MOST, MOST_PLACES, REMEMBERED, MissedRights
from kubeloop.objects.core import CONFIGMAPS, SECRETS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, list_page, patch, watch
from kubeloop.rights import Missed, Right
from kubesim.time import run

MAP = Ref(CONFIGMAPS, "a", "rules")
LACKED = 'pods "p" is forbidden: User "webhook" cannot list resource "pods" in API group "" in the namespace "a"'
REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False)


def a_refusal(verb: str, resource: str, group: str = "") -> Forbidden:
    said = (
        f'{resource} is forbidden: User "u" cannot {verb} resource "{resource}" in API group "{group}" in the namespace'
    )
    return Forbidden(403, "Forbidden", said)


def patching(name: str = "rules") -> Request:
    return patch(Ref(CONFIGMAPS, "a", name), MERGE_PATCH, b"{}")


async def missing() -> MissedRights:
    rights = MissedRights()
    rights.heard(patching(), a_refusal("patch", "configmaps"))
    return rights


def places(rights: MissedRights) -> list[str]:
    return [each.name for each in rights.all()]


def test_a_refusal_names_the_right_and_where_it_was_missed() -> None:
    (found,) = run(missing()).all()

    assert found == Missed(Right("patch", "", "configmaps"), "a", "rules")
    assert (found.right.name, found.right.of) == ("patch.configmaps", "configmaps")


async def lacked(request: Request, refusal: ApiError) -> tuple[Missed, ...]:
    rights = MissedRights()
    rights.heard(request, refusal)
    return rights.all()


def test_names_may_have_colons_and_users_quotes() -> None:
    said = r'roles.rbac "system:a \"b\"" is forbidden: User "o\"u" cannot get resource "roles" in API group "rbac"'

    found = run(lacked(patching(), Forbidden(403, "Forbidden", said)))

    assert [each.right for each in found] == [Right("get", "rbac", "roles")]


def test_a_right_for_a_subresource_has_a_name_without_a_slash() -> None:
    right = Right("patch", "a.test", "things/status")

    assert (right.name, right.of) == ("patch.things:status.a.test", "things/status.a.test")


def test_what_an_apply_would_create_lacks_the_right_to_create() -> None:
    found = run(lacked(patching(), a_refusal("create", "configmaps")))

    assert found == (Missed(Right("create", "", "configmaps"), "a", "rules"),)


def test_a_watch_of_one_object_is_known_by_its_name() -> None:
    watching = watch(SECRETS, "a", "1", fields="metadata.name=cert")

    found = run(lacked(watching, a_refusal("watch", "secrets")))

    assert found == (Missed(Right("watch", "", "secrets"), "a", "cert"),)


@pytest.mark.parametrize(
    "refusal",
    [
        Forbidden(403, "Forbidden", 'configmaps "rules" is forbidden: policy says no'),
        Forbidden(403, "Forbidden", f'admission webhook "a.test" denied the request: {LACKED}'),
        Forbidden(403, "Forbidden", f'configmaps "rules" is forbidden: policy a denied request: {LACKED}'),
        Conflict(409, "Conflict", "somebody wrote"),
        a_refusal("create", "selfsubjectaccessreviews", REVIEWS.group),
    ],
    ids=[
        "admission",
        "a webhook that lacks a right",
        "a policy that quotes one",
        "conflict",
        "a question about rights",
    ],
)
def test_other_refusals_say_nothing_about_rights(refusal: ApiError) -> None:
    assert run(lacked(patching(), refusal)) == ()


@pytest.mark.parametrize("answer", [None, NotFound(404), Conflict(409)], ids=["done", "gone", "conflict"])
def test_the_right_is_there_when_the_same_is_answered(answer: ApiError | None) -> None:
    async def scenario() -> None:
        rights = await missing()
        told = heard_of(rights)

        rights.heard(patching(), answer)

        assert rights.all() == ()
        assert told == [("rules", True)]

    run(scenario())


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(patching("others"), None), (list_page(CONFIGMAPS, "a"), None), (patching(), ServerError(500))],
    ids=["another object", "another verb", "a server that fails"],
)
def test_other_answers_do_not_tell_that_it_is_there(asked: Request, answer: ApiError | None) -> None:
    async def scenario() -> None:
        rights = await missing()

        rights.heard(asked, answer)

        assert places(rights) == ["rules"]

    run(scenario())


def heard_of(rights: MissedRights) -> list[tuple[str, bool]]:
    """From now on: the object, and whether the right is there."""
    told: list[tuple[str, bool]] = []
    rights.subscribe(lambda missed, is_there: told.append((missed.name, is_there)))
    return told


def test_the_first_place_is_told_as_long_as_it_misses_there() -> None:
    """With one right that lacks in many places a sentence that names each in turn would be another every time."""

    async def scenario() -> None:
        rights = await missing()
        told = heard_of(rights)

        for name in ("others", "more", "rules", "others"):
            rights.heard(patching(name), a_refusal("patch", "configmaps"))

        assert places(rights) == ["rules"]
        assert told == []

    run(scenario())


def test_the_next_place_is_told_once_the_right_is_there_at_the_first() -> None:
    async def scenario() -> None:
        rights = await missing()
        rights.heard(patching("others"), a_refusal("patch", "configmaps"))
        told = heard_of(rights)

        rights.heard(patching(), None)

        assert places(rights) == ["others"]
        assert told == [("rules", True)]

        rights.heard(patching("others"), None)

        assert rights.all() == ()

    run(scenario())


def test_a_place_where_it_was_not_missed_for_a_day_is_forgotten() -> None:
    """What needed it is gone: nobody tries it again, and so nobody learns that the right is there."""

    async def scenario() -> None:
        rights = await missing()
        told = heard_of(rights)
        day = REMEMBERED.total_seconds()

        await asyncio.sleep(day - 1)
        rights.heard(list_page(SECRETS, "a"), None)
        before = places(rights)
        await asyncio.sleep(1)
        rights.heard(list_page(SECRETS, "a"), None)

        assert (before, places(rights)) == (["rules"], [])
        assert told == [("rules", False)]

    run(scenario())


def test_a_day_begins_anew_when_it_is_missed_there_again_and_where_else_does_not_count() -> None:
    async def scenario() -> None:
        rights = await missing()
        rights.heard(patching("others"), a_refusal("patch", "configmaps"))
        (first,) = rights.all()
        since = rights.since(first)
        day = REMEMBERED.total_seconds()

        await asyncio.sleep(day / 2)
        rights.heard(patching("others"), a_refusal("patch", "configmaps"))
        await asyncio.sleep(day / 2)
        rights.heard(list_page(SECRETS, "a"), ServerError(500))

        assert places(rights) == ["others"]
        assert rights.since(rights.all()[0]) == since

    run(scenario())


def test_no_more_are_remembered_than_somebody_reads() -> None:
    async def scenario() -> None:
        rights = MissedRights()

        for number in range(MOST + 5):
            rights.heard(patching(), a_refusal("patch", f"things{number}"))

        assert len(rights.all()) == MOST

    run(scenario())


def test_of_one_right_no_more_places_are_remembered_than_a_hundred() -> None:
    async def scenario() -> None:
        rights = MissedRights()
        for number in range(MOST_PLACES + 5):
            rights.heard(patching(f"map-{number}"), a_refusal("patch", "configmaps"))

        for number in range(MOST_PLACES):
            rights.heard(patching(f"map-{number}"), None)

        assert rights.all() == ()

    run(scenario())
