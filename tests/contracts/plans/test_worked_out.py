"""What is told of a rollout by who only reads: the same decisions, and honestly nothing of what others answered."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from fairlead.contracts.plans.applications.kinds import StoredObject
from fairlead.contracts.plans.decide.applications.deployments import of_deployment
from fairlead.contracts.plans.decide.seen import RolloutObject, TraitSeen, of_trait
from fairlead.contracts.plans.explain import explained
from fairlead.contracts.plans.gather import generation_of
from fairlead.contracts.plans.kinds import DEPLOYMENT_FINALIZER, Json, RolloutTrait
from fairlead.contracts.plans.worked_out import HARMLESS, Looked, decide, seen_by
from fairlead.core.ask import Answer, Answers, Ask, Bad, Discover, Good, Listing, Need, Question, Read
from fairlead.core.decision import Decision
from fairlead.core.explain import Explain
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import ServedVersion
from tests.contracts.plans.decide.cluster import Cluster, a_clone_set, a_pair
from tests.contracts.plans.decide.workloads.objects import pod, stateful_set
from tests.contracts.plans.showing import looked_at

HOOK = {"type": "pre-batch-rollout", "name": "approve", "url": "http://h/x"}


class Reader:
    """Who may read the objects of a cluster, but for these kinds."""

    def __init__(
        self, cluster: Cluster, *, refused: tuple[str, ...] = (), rollout: RolloutObject | None = None
    ) -> None:
        self.cluster = cluster
        self.rollout = rollout
        self.refused = refused

    def looks(self) -> Explain:
        looked, found = self.decides()
        seen = seen_by(looked)
        return explained(
            seen if isinstance(seen, TraitSeen) else TraitSeen(rollout=looked.rollout), found, self.cluster.now
        )

    def decides(self) -> tuple[Looked, Decision]:
        cluster = self.cluster
        rollout = self.rollout or of_trait(RolloutTrait(cluster.meta, cluster.spec, cluster.status or None))
        known: dict[Question, Answer] = {}
        for _ in range(9):
            looked = Looked(rollout, Answers(dict(known)))
            found = decide(looked, cluster.now)
            if isinstance(found, Decision):
                return looked, found
            assert isinstance(found, Need)
            known |= {each: self.answer(each) for stage in found.stages for each in stage}
        raise AssertionError("it asks for ever")

    def answer(self, question: Question) -> Answer:
        assert isinstance(question, Ask)
        assert isinstance(question.to, HARMLESS), "nobody but the API server is asked"
        match question.to:
            case Read(ref=ref) if ref.resource.kind in self.refused:
                return Bad("refused", "no right", 403)
            case Read(ref=ref):
                found = self.cluster.objects.get(ref.name)
                return Bad("absent") if found is None else Good(msgspec.json.encode(found[1]))
            case Discover(kind=kind):
                served = [each for each, _ in self.cluster.objects.values() if each.kind == kind]
                return Good(msgspec.json.encode([ServedVersion(each) for each in served[:1]]))
            case Listing(resource=resource):
                if resource.kind in self.refused:
                    return Bad("refused", "no right", 403)
                items = {"Pod": self.cluster.pods}.get(resource.kind, [])
                return Good(msgspec.json.encode({"items": items}))
        raise AssertionError(question)


def place(shown: Explain) -> tuple[str, str, tuple[str, ...], list[tuple[str, str, int]]]:
    lanes = [(each.name, each.phase, each.done) for each in shown.stands.lanes]
    return shown.outcome, shown.stands.phase, shown.next, lanes


@pytest.mark.parametrize(
    "moment", [("batchInitializing", 0), ("batchInRolling", 1), ("batchVerifying", 1), ("batchReady", 1)]
)
def test_the_same_is_told_as_the_operator_would(moment: tuple[str, int]) -> None:
    cluster = a_pair({"lastBatchToRollout": 1})
    cluster.play_to(*moment)

    assert place(Reader(cluster).looks()) == place(looked_at(cluster))


def test_a_clone_set_is_found_under_the_version_that_is_served() -> None:
    cluster = a_clone_set()
    cluster.play_to("batchVerifying", 1)

    assert place(Reader(cluster).looks()) == place(looked_at(cluster))


def test_pods_of_a_stateful_set_are_counted() -> None:
    cluster = Cluster({"rolloutBatches": [{"replicas": 1}, {}]}, sources=())
    cluster.put(STATEFULSETS, stateful_set(2, partition=2).tree)
    cluster.spec["targetRef"] = cluster.reference("s", "StatefulSet")
    cluster.pods = [pod(f"s-{each}", "old", of="s") for each in range(2)]
    cluster.play_to("batchVerifying", 0)
    cluster.pods = [pod("s-0", "old", of="s"), pod("s-1", "new", of="s")]

    shown = Reader(cluster).looks()

    assert (shown.stands.done, place(shown)) == (1, place(looked_at(cluster)))


def test_a_kind_that_is_not_served_is_told() -> None:
    cluster = a_clone_set()
    cluster.play(most=2)
    cluster.objects.clear()

    _, decision = Reader(cluster).decides()

    assert [each.text for each in decision.tell] == ["the workload kind `CloneSet` is not supported"]


def test_what_may_not_be_read_is_not_taken_for_missing() -> None:
    cluster = a_pair()
    cluster.play_to("batchVerifying", 1)

    shown = Reader(cluster, refused=("Deployment",)).looks()

    (wait,) = shown.blocked_by
    assert (wait.reason, wait.text) == ("ReadFailed", "deployment/d2 cannot be read here: no right")


def test_who_may_not_list_autoscalers_sees_the_rest() -> None:
    cluster = a_pair()
    cluster.play_to("batchVerifying", 1)

    assert Reader(cluster, refused=("HorizontalPodAutoscaler",)).looks().outcome == "moving"


def test_hooks_are_not_called_and_what_the_operator_said_of_them_is_told_again() -> None:
    batches: list[Json] = [{"replicas": 2, "batchRolloutWebhooks": [HOOK]}, {}]
    cluster = a_pair({"rolloutBatches": batches})
    cluster.play_to("batchInitializing", 0)

    (unknown,) = Reader(cluster).looks().blocked_by
    cluster.hook = lambda _body, _call: Bad("refused", code=403)
    cluster.run()
    (told,) = Reader(cluster).looks().blocked_by

    assert (unknown.reason, unknown.clears) == ("AnswerUnknown", "the operator is answered")
    assert "not known here" in unknown.text
    assert (told.reason, told.text) == ("HookRefused", "failed to invoke a webhook: approve at http://h/x: status 403")
    assert told.since_exact


def an_application_deployment(cluster: Cluster, **status: object) -> RolloutObject:
    """Of the plan and the status of a RolloutTrait."""
    spec = {"targetApplicationName": "new", "sourceApplicationName": "old", "rolloutPlan": cluster.plan}
    metadata = replace(cluster.meta, finalizers=(DEPLOYMENT_FINALIZER,))
    return of_deployment(StoredObject(metadata, spec, {**cluster.status, **status}))


def test_an_application_deployment_is_told_once_its_workloads_are_known() -> None:
    cluster = a_pair({"lastBatchToRollout": 0})
    cluster.play(most=40)
    recorded = {"lastTargetApplicationName": "new", "lastSourceApplicationName": "old"}

    shown = Reader(cluster, rollout=an_application_deployment(cluster, **recorded)).looks()

    assert (shown.noun, shown.rollout, shown.outcome) == ("applicationdeployment", "r", "gated")
    assert [(each.phase, each.done) for each in shown.stands.lanes] == [("Done", 1), ("Gated", 0), ("Pending", 0)]
    assert [each.object for each in shown.workloads or ()] == ["deployment/d1", "deployment/d2"]


def test_applications_that_are_being_prepared_are_the_operators_to_tell_of() -> None:
    cluster = a_pair()
    cluster.status = {"rollingState": "verifyingSpec"}
    rollout = an_application_deployment(cluster)
    told = {
        "type": "RolloutSpecVerifying",
        "status": "False",
        "reason": "ApplicationPending",
        "message": "waiting for the Application new",
        "lastTransitionTime": "2026-03-01T12:00:00Z",
    }

    (unknown,) = Reader(cluster, rollout=rollout).looks().blocked_by
    cluster.status |= {"conditions": [told]}
    shown = Reader(cluster, rollout=an_application_deployment(cluster)).looks()

    assert (unknown.reason, "not known here" in unknown.text) == ("ApplicationPending", True)
    assert (shown.blocked_by[0].text, shown.workloads) == ("waiting for the Application new", ())


def test_a_document_from_before_somebody_asked_for_something_is_known() -> None:
    """The annotation makes no new generation."""
    cluster = a_pair()
    before = generation_of(of_trait(RolloutTrait(cluster.meta)))

    cluster.ask("retry@2026-03-01T12:00:00Z")

    after = generation_of(of_trait(RolloutTrait(cluster.meta)))
    assert before == {"rollouttrait/r": 1}
    assert after != before
