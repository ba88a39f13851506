"""Rotation of the certificate that the operator makes itself, decided in a world without a cluster."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from fairlead.core.act import Apply
from fairlead.core.ask import Answers, Ask, ReadSecret
from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from fairlead.core.written import read, written
from fairlead.engine.certificates.issuing import issue, new_signer
from fairlead.engine.certificates.secret_facts import certificates_in, leaf_of
from fairlead.engine.decide.bundles import MOST, authorities
from fairlead.engine.decide.rotation import SETTLING, SPACING
from fairlead.engine.decide.rotation_snapshot import BACKDATED, CertificateTimes, RotationSnapshot
from tests.engine.rotating import NAMES, OVERLAP, SECRET, START, World, a_steady_world


def rules(world: World) -> list[str]:
    return [rule for rule, _ in world.writes]


def bundle_writes(world: World) -> int:
    return sum(isinstance(write, Apply) for _, write in world.writes)


def test_the_first_leader_makes_an_authority_and_a_certificate_for_every_name_of_the_service() -> None:
    world = World()

    world.settle()

    leaf = leaf_of(world.entry("tls.crt").encode())
    assert leaf is not None
    assert (leaf.not_before, leaf.not_after) == (START - BACKDATED, START + timedelta(hours=8760))
    assert world.trusted() == world.trusted("hooks") == [world.entry("ca.crt")]
    assert [replica.leaf for replica in world.replicas] == [leaf.pem, leaf.pem]
    assert rules(world) == ["begin", "publish", "publish"]


def test_a_rotation_publishes_before_it_serves_and_writes_every_definition_twice() -> None:
    world = a_steady_world()
    before = world.entry("ca.crt")

    world.request()
    world.run(timedelta(seconds=60))

    after = world.entry("ca.crt")
    assert after != before
    assert world.trusted() == world.trusted("hooks") == [after]
    assert rules(world) == [
        "prepare",
        "trust",
        "publish",
        "publish",
        "switch",
        "retire",
        "finish",
        "publish",
        "publish",
    ]
    assert bundle_writes(world) == 2
    assert sorted(world.secret or ()) == ["ca.crt", "ca.key", "phase", "tls.crt", "tls.key"]
    assert world.entry("phase") == "steady"


def test_both_authorities_are_trusted_from_ten_seconds_before_the_switch_until_the_overlap_is_over() -> None:
    world = a_steady_world()
    world.request()
    times: dict[str, datetime] = {}

    for _ in range(40):
        rule = world.step().rule
        times.setdefault(rule, world.now)
        world.look()
        world.now += timedelta(seconds=1)

    assert times["switch"] - times["publish"] >= SETTLING
    assert times["finish"] - times["retire"] >= OVERLAP


def test_as_long_is_waited_where_nothing_trusts_the_operator_yet() -> None:
    """A bundle may have been written in the phase before, with the one authority there was, and not be seen yet."""
    world = a_steady_world()
    world.bundles.clear()
    world.request()
    times: dict[str, datetime] = {}

    for _ in range(20):
        rule = world.step().rule
        times.setdefault(rule, world.now)
        world.now += timedelta(seconds=1)

    assert times["switch"] - times["trust"] >= SETTLING


def test_a_clock_that_was_ahead_does_not_hold_up_a_rotation_that_nothing_waits_for() -> None:
    world = a_steady_world()
    world.bundles.clear()
    world.request()
    world.now += timedelta(days=1)
    while world.step().rule != "trust":
        pass
    world.now -= timedelta(days=1)

    rules_after = []
    for _ in range(20):
        rules_after.append(world.step().rule)
        world.now += timedelta(seconds=1)

    assert "switch" in rules_after


def test_a_certificate_close_to_its_end_is_renewed_under_its_authority_and_no_bundle_is_written() -> None:
    world = a_steady_world()
    authority, leaf = world.entry("ca.crt"), world.entry("tls.crt")

    world.now += timedelta(hours=8760) - timedelta(hours=23)
    world.settle()

    assert (world.entry("ca.crt"), rules(world)) == (authority, ["renew"])
    assert world.entry("tls.crt") != leaf
    assert world.replicas[0].leaf == world.replicas[1].leaf == world.entry("tls.crt")


def test_an_authority_close_to_its_end_is_followed_by_another() -> None:
    world = a_steady_world()
    before = world.entry("ca.crt")

    world.now += timedelta(hours=87600 - 8760 + 1)
    world.settle()

    assert world.entry("ca.crt") != before
    assert world.trusted() == [world.entry("ca.crt")]


def test_what_an_authority_signs_ends_no_later_and_an_authority_near_its_end_signs_nothing_more() -> None:
    """Else a certificate would be due again as soon as it is made."""
    world = World()
    world.times = world.times.__class__(
        validity=timedelta(hours=100),
        rotate_before=timedelta(hours=20),
        authority_validity=timedelta(hours=110),
        authority_rotate_before=timedelta(hours=1),
        overlap=OVERLAP,
    )
    world.settle()
    world.writes.clear()

    world.now += timedelta(hours=95)
    world.settle()

    assert rules(world).count("prepare") == 1
    assert "renew" not in rules(world)


def test_a_certificate_that_ends_within_the_overlap_is_renewed_before_its_end() -> None:
    world = a_steady_world()
    world.times = CertificateTimes(
        validity=timedelta(hours=24), rotate_before=timedelta(hours=8), overlap=timedelta(hours=48)
    )
    world.request()
    world.run(timedelta(seconds=30))
    assert world.entry("phase") == "retiring"
    looks = 0

    while world.entry("phase") == "retiring":
        leaf = leaf_of(world.entry("tls.crt").encode())
        assert leaf is not None
        assert world.now < leaf.not_after
        verdict = world.step().verdict
        world.look()
        if isinstance(verdict, Hold):
            assert verdict.again is not None
            assert verdict.again > world.now
            world.now, looks = verdict.again, looks + 1

    assert looks < 10
    assert rules(world).count("renew") == 3


def test_a_replica_that_is_behind_keeps_the_authority_before_trusted() -> None:
    world = a_steady_world()
    world.deaf = {1}
    before = world.entry("ca.crt")

    world.request()
    world.run(timedelta(minutes=10))

    assert set(world.trusted()) == {world.entry("ca.crt"), before}
    assert world.entry("phase") == "switched"

    world.deaf = set()
    world.settle()

    assert world.trusted() == [world.entry("ca.crt")]


@pytest.mark.parametrize("held_up_by", ["a replica", "the keeper of a bundle"])
def test_a_certificate_is_renewed_before_its_end_while_an_exchange_of_the_authority_is_held_up(held_up_by: str) -> None:
    """As where a network policy lets nobody but the API server call replicas, and the leader never sees what they
    show."""
    world = a_steady_world()
    if held_up_by == "a replica":
        world.deaf = {1}
    else:
        world.keepers = {"widgets.example.test": "cert-manager.io/inject-ca-from"}
    world.request()
    world.run(timedelta(seconds=30))
    phase, leaf = world.entry("phase"), world.entry("tls.crt")
    assert phase in ("switched", "trusted")

    world.now += timedelta(hours=8760) - timedelta(hours=23)
    world.run(timedelta(seconds=5))

    assert world.entry("tls.crt") != leaf
    assert world.entry("phase") == phase
    assert world.replicas[0].leaf == world.entry("tls.crt")
    assert rules(world).count("renew") == 1


@pytest.mark.parametrize("crash", range(10))
@pytest.mark.parametrize("behind", [set(), {0}, {1}], ids=["all look", "the leader is behind", "another is behind"])
def test_a_leader_that_dies_after_any_write_is_followed_by_one_that_ends_the_rotation(
    crash: int, behind: set[int]
) -> None:
    world = a_steady_world()
    before = world.entry("ca.crt")
    world.request()
    world.deaf = behind

    for _ in range(200):
        if len(world.writes) >= crash:
            break
        world.step()
        world.look()
        world.now += timedelta(seconds=1)
        if len(world.writes) >= 5:
            world.deaf = set()
    world.new_leader()
    world.deaf = set()
    world.settle()

    assert world.entry("ca.crt") != before
    assert world.trusted() == world.trusted("hooks") == [world.entry("ca.crt")]
    assert world.entry("phase") == "steady"
    assert bundle_writes(world) == 2
    assert rules(world).count("prepare") == 1


def test_a_secret_that_somebody_deletes_comes_back_as_it_was() -> None:
    world = a_steady_world()
    held = dict(world.secret or {})

    world.secret = None
    world.settle()

    assert world.secret == held
    assert rules(world) == ["restore"]


@pytest.mark.parametrize("leader", ["the same leader", "a new leader", "a leader that shows nothing yet"])
@pytest.mark.parametrize("phase", ["steady", "trusted", "switched"])
def test_a_pair_that_somebody_puts_back_from_a_backup_takes_nobodys_trust_away(leader: str, phase: str) -> None:
    world = a_steady_world()
    world.request()
    while world.entry("phase") != phase:
        world.step()
        world.look()
        world.now += timedelta(seconds=1)
    saved = dict(world.secret or {})
    world.settle()
    world.request()
    world.settle()
    shown = world.entry("ca.crt")
    world.writes.clear()

    world.secret = saved
    if leader != "the same leader":
        world.new_leader()
    if leader == "a leader that shows nothing yet":
        world.replicas[0].shown = None
        world.deaf = {0}
        world.step()
        world.look()
        world.deaf = set()
    world.run(timedelta(minutes=1))

    assert world.trusted() == world.trusted("hooks") == [world.entry("ca.crt")] != [shown]
    assert world.replicas[0].leaf == world.replicas[1].leaf == world.entry("tls.crt")


@pytest.mark.parametrize("blind", ["", "endpointslices may not be read"])
def test_a_bundle_that_somebody_overwrites_is_put_back_and_begins_no_exchange(blind: str) -> None:
    world = a_steady_world()
    held, stranger = dict(world.secret or {}), new_signer("stranger", timedelta(days=30), START)
    world.blind = blind
    world.bundles = {"widgets.example.test": certificates_in(stranger.certificate)}

    world.settle()

    assert world.trusted() == [world.entry("ca.crt")]
    assert (world.secret, rules(world)) == (held, ["publish"])


def test_without_anybody_who_remembers_the_secret_a_new_authority_is_trusted_before_it_is_shown() -> None:
    world = a_steady_world()
    before = world.entry("ca.crt")

    world.secret = None
    world.new_leader()
    world.step()
    world.step()

    assert world.trusted() == [world.entry("ca.crt"), before]
    world.settle()
    assert world.trusted() == [world.entry("ca.crt")]


def test_the_authority_of_an_earlier_release_stays_trusted_until_it_has_been_left() -> None:
    world = World()
    signer = new_signer("before", timedelta(days=30), START)
    shown = issue(signer, NAMES, timedelta(days=20), START)
    world.former = {"ca": signer.certificate, "cert": shown.certificate, "key": shown.key}
    world.bundles = {"hooks": certificates_in(signer.certificate), "widgets.example.test": ()}
    for replica in world.replicas:
        replica.shown = shown
    world.deaf = {0, 1}

    world.run(timedelta(seconds=30))

    assert [name in world.trusted() for name in (signer.certificate.decode(), world.entry("ca.crt"))] == [True, True]
    world.deaf = set()
    world.settle()
    assert world.trusted() == world.trusted("hooks") == [world.entry("ca.crt")]


@pytest.mark.parametrize("entry", ["tls.crt", "tls.key"])
def test_a_pair_that_somebody_spoils_is_signed_again_by_the_same_authority(entry: str) -> None:
    world = a_steady_world()
    before = world.entry("ca.crt")
    assert world.secret is not None

    world.secret[entry] = b"nothing"
    world.settle()

    assert (world.entry("ca.crt"), rules(world)) == (before, ["renew"])


@pytest.mark.parametrize("entry", ["ca.crt", "ca.key"])
def test_an_authority_that_somebody_spoils_is_followed_by_another_without_an_outage(entry: str) -> None:
    world = a_steady_world()
    before = world.entry("ca.crt")
    assert world.secret is not None

    del world.secret[entry]
    if entry == "ca.key":
        world.now += timedelta(hours=8740)
    world.settle()

    assert world.entry("ca.crt") != before
    assert world.trusted() == [world.entry("ca.crt")]


def test_what_was_prepared_and_is_spoilt_is_prepared_again() -> None:
    world = a_steady_world()
    world.request()
    world.step()
    assert world.secret is not None

    world.secret["next-tls.key"] = b"nothing"
    world.settle()

    assert rules(world)[:3] == ["prepare", "redo", "prepare"]
    assert world.entry("phase") == "steady"


def test_a_bundle_that_somebody_else_keeps_is_not_written_and_nothing_untrusted_is_served() -> None:
    world = a_steady_world()
    world.keepers = {"widgets.example.test": "cert-manager.io/inject-ca-from"}
    shown = world.replicas[0].leaf
    world.request()

    world.run(timedelta(minutes=2))

    assert world.entry("phase") == "trusted"
    assert world.replicas[0].leaf == shown
    assert bundle_writes(world) == 0
    assert "CertificateIssuerNotPublished" in world.told

    world.bundles["widgets.example.test"] += certificates_in(world.entry("next-ca.crt").encode())
    world.run(timedelta(minutes=1))

    assert world.replicas[0].leaf == world.entry("tls.crt") != shown


def test_a_definition_whose_objects_are_migrated_is_written_later_unless_a_certificate_ends() -> None:
    world = a_steady_world()
    world.migrating = ("widgets.example.test",)
    world.request()
    world.run(timedelta(minutes=1))

    assert world.entry("phase") == "trusted"
    assert (bundle_writes(world), len(world.trusted("hooks"))) == (0, 2)
    held = world.decided().verdict
    assert isinstance(held, Hold)
    assert held.reason is Reason.AUTHORITY_POSTPONED

    leaf = leaf_of(world.entry("tls.crt").encode())
    assert leaf is not None
    world.now = leaf.not_after - timedelta(minutes=59)
    world.step()

    assert bundle_writes(world) == 1


def test_a_migration_that_is_over_postpones_nothing() -> None:
    world = a_steady_world()
    world.migrating = ("gadgets.example.test",)

    world.request()
    world.settle()

    assert bundle_writes(world) == 2


def test_a_certificate_that_ends_soon_is_told_of_every_hour() -> None:
    world = a_steady_world()
    world.keepers = dict.fromkeys(world.bundles, "cert-manager.io/inject-ca-from")
    world.request()
    world.step()
    leaf = leaf_of(world.entry("tls.crt").encode())
    assert leaf is not None

    notes = []
    for hours in (13, 11, 10, 9):
        world.now = leaf.not_after - timedelta(hours=hours)
        notes.append([each.occurrence for each in world.decided().tell if each.reason == "CertificateExpiring"])

    assert [len(each) for each in notes] == [0, 1, 1, 1]
    assert len({one for each in notes for one in each}) == 3


def test_what_has_ended_goes_with_the_next_write_and_is_no_reason_for_one() -> None:
    world = a_steady_world()
    signer = new_signer("gone", timedelta(hours=1), START - timedelta(hours=2))
    world.bundles["widgets.example.test"] += certificates_in(signer.certificate)

    world.settle()
    assert bundle_writes(world) == 0

    world.request()
    world.settle()
    assert signer.certificate.decode() not in world.trusted()


def test_of_too_many_authorities_the_oldest_go_and_what_is_served_under_stays() -> None:
    made = [
        certificates_in(new_signer(str(at), timedelta(days=at + 1), START).certificate)[0] for at in range(MOST + 3)
    ]

    kept = authorities(made, now=START)

    assert len(kept) == MOST
    assert kept == (made[0], *made[4:])


def test_no_private_key_is_in_what_is_written_down_of_a_round() -> None:
    world = a_steady_world()
    world.request()
    world.step()
    assert world.secret is not None
    assert b"PRIVATE KEY" in world.secret["next-ca.key"]

    decision = world.step()

    ask = Ask(ReadSecret(SECRET))
    seen = world.snapshot(Answers({ask: world.answer(ask)}))
    text = written(seen, RotationSnapshot)

    assert b"PRIVATE" not in text
    assert "PRIVATE" not in repr(seen) + repr(decision)
    assert read(text, RotationSnapshot) == seen


def test_two_operators_with_one_secret_and_different_names_take_turns_slowly() -> None:
    world = a_steady_world()
    assert world.secret is not None
    world.now += timedelta(hours=1)
    signer = new_signer("other", timedelta(days=30), world.now)
    pair = issue(signer, ("other.operators.svc",), timedelta(days=20), world.now)

    world.secret |= {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": signer.certificate}
    at_once = world.step()
    world.now += SPACING
    later = world.step()

    assert (at_once.rule, later.rule) == ("space_out", "mend")
    assert isinstance(at_once.verdict, Hold)
    assert "see whether two operators" in at_once.verdict.details[0][1]
