"""What a person may ask of an environment, decided from what is read."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec
import pytest

from fairlead.contracts.environments.decide.verbs import abort, find, promote
from fairlead.contracts.environments.kinds import MATERIALIZES
from fairlead.contracts.environments.verbs import VERBS
from fairlead.core import verb
from fairlead.core.ask import Answers, Ask, Bad, Good, Need, Read
from fairlead.core.verb import Absent, Instead, Refused, VerbPlan, VerbRequest
from kubeloop.objects.meta import Ref
from tests.contracts.environments.decide.specs import NEXT
from tests.contracts.environments.decide.world import NAMESPACE, World, promoted

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ASKED = VerbRequest(NAMESPACE, "m")
OBJECT = Ask(Read(Ref(MATERIALIZES, NAMESPACE, "m")))


def seen(world: World) -> Answers:
    return Answers({OBJECT: Good(msgspec.json.encode(world.own.tree))})


def parked() -> World:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy="ManuallyPromote")
    world.play()
    return world


def test_the_object_is_read_before_anything_is_decided() -> None:
    assert promote(ASKED, Answers(), NOW) == Need(((OBJECT,),))
    assert find(ASKED, Answers(), NOW) == Need(((OBJECT,),))


def test_what_is_not_there_is_absent() -> None:
    gone = Answers({OBJECT: Bad("absent")})

    assert promote(ASKED, gone, NOW) == Absent()
    assert abort(ASKED, gone, NOW) == Absent()
    assert find(ASKED, gone, NOW) is False


def test_promoting_writes_the_approval_bound_to_the_version_that_was_read() -> None:
    world = parked()

    plan = promote(ASKED, seen(world), NOW)

    assert isinstance(plan, VerbPlan)
    (write,) = plan.writes
    assert write.patch["spec"] == {"forcePromote": world.status["requestedRolloutHash"]}
    assert write.patch["metadata"] == {"resourceVersion": world.own.tree["metadata"]["resourceVersion"]}
    assert (plan.did, plan.event) == ("approved generation 2", "PromotionApproved")
    assert not plan.before


def test_aborting_reads_what_serves_before_it_decides() -> None:
    need = abort(ASKED, seen(parked()), NOW)

    assert isinstance(need, Need)
    assert [question.to.ref.resource.plural for question in need.stages[0]] == ["statefulsets", "configmaps"]  # type: ignore[union-attr]


def test_where_nothing_is_on_its_way_it_says_so() -> None:
    refused = promote(ASKED, seen(promoted()), NOW)

    assert isinstance(refused, Refused)
    assert refused.sentence.startswith("m: there is nothing to promote")


@pytest.mark.parametrize("name", [name for name, row in VERBS.rows.items() if isinstance(row, Instead)])
def test_a_verb_that_environments_lack_says_what_to_do_instead(name: str) -> None:
    row = VERBS.rows[name]

    assert isinstance(row, Instead)
    said = row.sentence.format(name="m", namespace="demo")
    assert "`" in said
    assert "{" not in said
    assert said.count("m -n demo") == len(re.findall(r"\bm\b", said)), "a command that is copied needs the namespace"


def test_every_verb_has_a_row_and_no_table_lacks_one() -> None:
    assert set(VERBS.rows) == set(verb.VERBS)
    with pytest.raises(ValueError, match="pause"):
        verb.Verbs("thing", find, {name: row for name, row in VERBS.rows.items() if name != "pause"})
