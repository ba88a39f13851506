"""Leaders that admission of somebody else rewrites: what was applied is not sent again and again (leaderworker S9)."""

from __future__ import annotations

import base64

import msgspec

from fairlead.cli.documents_of import explain_all
from fairlead.contracts.leaderworker.kinds import REPLICAS
from kubeloop.calls import Call, Reply
from kubeloop.objects.apps import STATEFULSETS
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, SECOND, Play, begin, image_of
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets
from tests.e2e.webhooks import MUTATING, install, rule, serve
from tests.e2e.zones import change

MIRROR = "mirror.test/"


async def mirrored(call: Call) -> Reply:
    """Has every StatefulSet take its image from a mirror, as policies of clusters do."""
    request: Tree = msgspec.json.decode(call.body)["request"]
    image: str = request["object"]["spec"]["template"]["spec"]["containers"][0]["image"]
    answer: Tree = {"uid": request["uid"], "allowed": True}
    if not image.startswith(MIRROR):
        path = "/spec/template/spec/containers/0/image"
        patch = msgspec.json.encode([{"op": "replace", "path": path, "value": MIRROR + image}])
        answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
    return Reply(200, msgspec.json.encode(review))


async def mirror(site: Site) -> None:
    hook = {
        "name": "mirror.test.dev",
        "clientConfig": await serve(site, mirrored, "mirror.test.svc", "/mirror"),
        "rules": [rule("CREATE UPDATE", "statefulsets", "apps", "v1")],
        "failurePolicy": "Fail",
        "timeoutSeconds": 10,
    }
    await install(site, MUTATING, "mirror", hook)


def images(play: Play) -> set[str]:
    return {image_of(pod) for pod in play.pods(set="a")}


@with_sets()
async def test_leaders_that_somebody_rewrites_are_applied_once(site: Site) -> None:
    await mirror(site)
    play = await begin(site)
    judged(play)

    await play.create(a_set())
    await play.available()
    await play.at_rest()
    assert images(play) == {MIRROR + FIRST}
    sent = len(play.sent)
    for _ in range(3):
        play.rounds_again()
        await play.at_rest()
    assert play.sent[sent:] == []

    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and images(play) == {MIRROR + SECOND} and len(play.keys()) == 1)
    await play.at_rest()
    (shown,) = await explain_all(site.client, [site.namespace])
    assert (shown.outcome, shown.stands.phase, shown.blocked_by) == ("done", "Current", ())

    await change(site, STATEFULSETS, "a", {"metadata": {"annotations": {REPLICAS: "7"}}})
    await play.until(lambda: "7" in asked(play) and asked(play)[-1] == "2")


def asked(play: Play) -> list[str]:
    """How many groups were wanted when the leaders were written, as they say, each time that they changed."""
    found = [each.object for each in play.site.history.of(STATEFULSETS) if each.name == "a"]
    return [each["metadata"]["annotations"][REPLICAS] for each in found]
