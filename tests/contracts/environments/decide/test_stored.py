"""The first round of an environment that may be stored as v1alpha1 stores what conversion has worked out."""

from __future__ import annotations

import msgspec
from msgspec import structs

from fairlead.contracts.environments.decide import decide
from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.kinds import MATERIALIZES
from fairlead.core.act import Does, Replace
from fairlead.core.ask import Answers, Bad, Good, Need
from fairlead.core.decision import Decision, Move
from kubeloop.objects.meta import Ref
from tests.builders import NOW
from tests.contracts.environments.decide.world import World, promoted


def old(world: World) -> Snapshot:
    return structs.replace(world.seen(), may_be_old=True)


def store_of(seen: Snapshot) -> Replace:
    decision = decide(seen, NOW)
    assert isinstance(decision, Decision)
    assert decision.rule == "store_hashes"
    assert isinstance(decision.verdict, Move)
    (write,) = decision.verdict.writes
    assert isinstance(write, Replace)
    return write


def test_the_status_is_written_as_it_is_before_anything_else() -> None:
    world = promoted()

    write = store_of(old(world))

    assert (write.does, write.subresource, write.tell) == (Does.REPORT_STATUS, "status", None)
    assert write.resource_version == world.environment.metadata.resource_version
    assert msgspec.json.decode(write.body)["status"] == world.status
    assert world.status["lastCompletedRolloutHash"] == world.hash


def test_it_is_written_once() -> None:
    seen = old(promoted())
    own = seen.environment.metadata

    written = structs.replace(seen, applied={Ref(MATERIALIZES, own.namespace, own.name): "digest"})

    assert isinstance(decide(written, NOW), Need)


def test_a_refusal_does_not_keep_the_environment_waiting() -> None:
    """The migration of all objects tries it again."""
    seen = old(promoted())
    write = store_of(seen)

    for answer in (Bad("refused", "the schema says no", 422), Good()):
        assert isinstance(decide(structs.replace(seen, answers=Answers({write: answer})), NOW), Need)


def test_who_only_looks_and_who_knows_better_writes_nothing() -> None:
    world = promoted()

    assert isinstance(decide(world.seen(), NOW), Need)
    assert isinstance(decide(structs.replace(old(world), applied=None), NOW), Need)


def test_an_environment_without_a_status_gets_its_first_one() -> None:
    world = World()
    world.step()

    decision = decide(old(world), NOW)

    assert isinstance(decision, Decision)
    assert decision.rule == "begin_status"
