"""Rights that the API server says are missing, until it answers what needed them."""

from __future__ import annotations

import pytest

from kubeloop.errors import ApiError, Conflict, Forbidden, NotFound, ServerError
from kubeloop.objects.core import CONFIGMAPS, SECRETS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, list_page, patch, watch
from kubeloop.rights import MOST, Missed, MissedRights, Right

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


def missing() -> MissedRights:
    rights = MissedRights()
    rights.heard(patching(), a_refusal("patch", "configmaps"))
    return rights


def test_a_refusal_names_the_right_and_where_it_was_missed() -> None:
    (found,) = missing().all()

    assert found == Missed(Right("patch", "", "configmaps"), "a", "rules")
    assert (found.right.name, found.right.of) == ("patch.configmaps", "configmaps")


def test_names_may_have_colons_and_users_quotes() -> None:
    rights = MissedRights()
    said = r'roles.rbac "system:a \"b\"" is forbidden: User "o\"u" cannot get resource "roles" in API group "rbac"'

    rights.heard(patching(), Forbidden(403, "Forbidden", said))

    assert [each.right for each in rights.all()] == [Right("get", "rbac", "roles")]


def test_a_right_for_a_subresource_has_a_name_without_a_slash() -> None:
    right = Right("patch", "a.test", "things/status")

    assert (right.name, right.of) == ("patch.things:status.a.test", "things/status.a.test")


def test_what_an_apply_would_create_lacks_the_right_to_create() -> None:
    rights = MissedRights()

    rights.heard(patching(), a_refusal("create", "configmaps"))

    assert rights.all() == (Missed(Right("create", "", "configmaps"), "a", "rules"),)


def test_a_watch_of_one_object_is_known_by_its_name() -> None:
    rights = MissedRights()

    rights.heard(watch(SECRETS, "a", "1", fields="metadata.name=cert"), a_refusal("watch", "secrets"))

    assert rights.of("watch.secrets") == Missed(Right("watch", "", "secrets"), "a", "cert")


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
    rights = MissedRights()

    rights.heard(patching(), refusal)

    assert rights.all() == ()


@pytest.mark.parametrize("answer", [None, NotFound(404), Conflict(409)], ids=["done", "gone", "conflict"])
def test_the_right_is_there_when_the_same_is_answered(answer: ApiError | None) -> None:
    rights = missing()
    told: list[Missed] = []
    rights.subscribe(told.append)

    rights.heard(patching(), answer)

    assert rights.all() == ()
    assert [each.right.name for each in told] == ["patch.configmaps"]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(patching("others"), None), (list_page(CONFIGMAPS, "a"), None), (patching(), ServerError(500))],
    ids=["another object", "another verb", "a server that fails"],
)
def test_other_answers_do_not_tell_that_it_is_there(asked: Request, answer: ApiError | None) -> None:
    rights = missing()

    rights.heard(asked, answer)

    assert len(rights.all()) == 1


def test_the_place_where_it_was_missed_last_counts_and_is_told_once() -> None:
    rights = missing()
    told: list[Missed] = []
    rights.subscribe(told.append)

    rights.heard(patching("others"), a_refusal("patch", "configmaps"))

    assert rights.all() == (Missed(Right("patch", "", "configmaps"), "a", "others"),)
    assert told == []


def test_no_more_are_remembered_than_somebody_reads() -> None:
    rights = MissedRights()

    for number in range(MOST + 5):
        rights.heard(patching(), a_refusal("patch", f"things{number}"))

    assert len(rights.all()) == MOST
