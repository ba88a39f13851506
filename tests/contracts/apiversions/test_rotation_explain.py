"""Documents of certificates: how far an exchange of the authority is, and who holds it up."""

from __future__ import annotations

from datetime import timedelta

from fairlead.contracts.apiversions.rotation_explain import made_here
from fairlead.core import outcome
from fairlead.core.ask import Answers, Ask, ReadSecret
from fairlead.core.decision import Decision
from fairlead.core.explain import Explain
from fairlead.core.reason import Reason
from tests.engine.rotating import SECRET, World, a_steady_world


def shown(world: World, decision: Decision) -> Explain:
    question = Ask(ReadSecret(SECRET))
    return made_here(world.snapshot(Answers({question: world.answer(question)})), decision, world.now)


def at_phase(world: World, phase: str) -> Decision:
    """The first decision that is made in this phase of a rotation."""
    world.request()
    for _ in range(120):
        world.step()
        world.look()
        if world.entry("phase") == phase:
            return world.step()
        world.now += timedelta(seconds=1)
    raise AssertionError(f"it never is {phase}")


def test_a_certificate_that_nothing_is_due_for_is_done() -> None:
    world = a_steady_world()

    found = shown(world, world.step())

    assert (found.noun, found.rollout, found.outcome) == ("rotation", "fairlead-webhook-cert", outcome.DONE)
    assert (found.stands.phase, found.stands.done, found.stands.total) == ("steady", 2, 2)
    assert found.blocked_by == ()
    assert [each.name for each in found.stands.lanes] == [
        "customresourcedefinition/widgets.example.test",
        "validatingwebhookconfiguration/hooks",
    ]


def test_while_bundles_settle_it_says_since_when_and_from_which_authority_to_which() -> None:
    world = a_steady_world()

    decision = at_phase(world, "trusted")
    world.now += timedelta(seconds=1)
    decision = world.step()
    found = shown(world, decision)

    lane = found.stands.lanes[0]
    (block,) = found.blocked_by
    assert (found.outcome, found.stands.phase) == (outcome.WAITING, "trusted")
    assert block.reason == Reason.AUTHORITY_SETTLING.word
    assert block.since is not None
    assert lane.from_revision
    assert lane.to_revision not in ("", lane.from_revision)
    assert "until 2036" in lane.to_revision


def test_a_bundle_that_somebody_else_keeps_is_named_in_its_lane() -> None:
    world = a_steady_world()
    world.keepers["hooks"] = "cert-manager.io/inject-ca-from"

    decision = at_phase(world, "trusted")
    decision = world.step()
    found = shown(world, decision)

    kept = next(each for each in found.stands.lanes if each.name.endswith("/hooks"))
    assert found.outcome == outcome.BLOCKED
    assert (kept.phase, kept.done) == ("pending", 0)
    (wait,) = kept.waits
    assert "cert-manager.io/inject-ca-from keeps its bundle" in wait.text


def test_a_replica_that_does_not_show_it_is_waited_for_and_after_two_minutes_blocks() -> None:
    world = a_steady_world()
    world.deaf.add(1)

    decision = at_phase(world, "switched")
    waiting = shown(world, decision)
    world.now += timedelta(minutes=2)
    late = world.step()
    found = shown(world, late)

    assert (waiting.outcome, late.verdict.reason) == (outcome.WAITING, Reason.REPLICA_UNREACHED)
    assert (found.outcome, found.stands.phase) == (outcome.BLOCKED, "switched")
    assert (found.stands.done, found.stands.total, found.stands.unit) == (1, 2, "replicas")
    assert world.told[-1] == "CertificateUnshown"
    replicas = found.stands.lanes[-1]
    assert (replicas.name, replicas.done, replicas.total) == ("replicas", 1, 2)
    (wait,) = replicas.waits
    assert "10.0.0.1:9443: it shows the certificate before" in wait.text
    assert wait.advice

    world.deaf.clear()
    world.settle()
    assert shown(world, world.step()).outcome == outcome.DONE
