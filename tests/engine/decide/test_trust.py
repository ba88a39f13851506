"""Which authorities a bundle holds while they are exchanged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fairlead.engine.decide.trust import (
    MOST,
    Authority,
    Known,
    Trust,
    bundle,
    covers,
    is_enough,
    kept_after,
    kept_beside,
    may_follow,
    next_change,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def known(name: str, left: timedelta | None = None, ends: timedelta = timedelta(days=365)) -> Known:
    """An authority that was left so long ago, or is in use."""
    return Known(name.encode(), NOW + ends, None if left is None else NOW - left)


def names(*authorities: Known) -> list[str]:
    return [each.pem.decode() for each in bundle(authorities, NOW, HOUR)]


@pytest.mark.parametrize(
    ("authorities", "held"),
    [
        ((known("a"),), ["a"]),
        ((known("a"), known("b")), ["a", "b"]),
        ((known("new"), known("old", 0 * HOUR)), ["new", "old"]),
        ((known("new"), known("old", 1.99 * HOUR)), ["new", "old"]),
        ((known("new"), known("old", 2 * HOUR)), ["new"]),
        ((known("new"), known("older", 1.5 * HOUR), known("old", HOUR)), ["new", "old", "older"]),
        ((known("new"), known("old", HOUR, ends=-HOUR)), ["new"]),
        ((known("used though expired", ends=-HOUR),), ["used though expired"]),
    ],
)
def test_an_authority_stays_for_two_intervals_after_it_was_left(
    authorities: tuple[Known, ...], held: list[str]
) -> None:
    assert names(*authorities) == held


def test_of_too_many_those_left_first_go() -> None:
    left = [known(f"left {minutes}", timedelta(minutes=minutes)) for minutes in range(20)]

    held = names(known("used"), *left)

    assert held == ["used", *[f"left {minutes}" for minutes in range(MOST - 1)]]


def test_what_is_in_use_stays_however_many_it_is() -> None:
    used = [known(f"used {number}") for number in range(MOST + 3)]

    assert len(names(*used, known("left", HOUR))) == MOST + 3


def test_the_next_change_is_when_the_first_of_them_will_be_dropped() -> None:
    authorities = (known("new"), known("old", 0.5 * HOUR), known("older", 1.5 * HOUR), known("gone", 3 * HOUR))

    assert next_change(authorities, NOW, HOUR) == NOW + 0.5 * HOUR
    assert next_change((known("new"),), NOW, HOUR) is None


END = NOW + timedelta(days=365)


def ends(names: str) -> dict[bytes, datetime]:
    return {name.encode(): END for name in names}


def besides(trust: Trust, now: datetime) -> str:
    return "".join(each.pem.decode() for each in trust.besides(now))


def test_an_authority_that_is_exchanged_stays_until_two_intervals_after_its_last_use() -> None:
    trust = Trust(HOUR).offered(ends("a"), NOW).shown(ends("a"), NOW)
    assert besides(trust, NOW) == ""

    trust = trust.offered(ends("b"), NOW)
    assert besides(trust, NOW + 100 * HOUR) == "a"  # it is behind what is served

    trust = trust.shown(ends("b"), NOW)
    assert besides(trust, NOW + 1.9 * HOUR) == "a"
    assert trust.next_change(NOW) == NOW + 2 * HOUR
    assert besides(trust, NOW + 2 * HOUR) == ""


def test_what_another_replica_may_show_is_learnt_from_the_definitions() -> None:
    trust = Trust(HOUR).offered(ends("b"), NOW).shown(ends("b"), NOW).seen("widgets", ends("ab"), NOW)

    assert besides(trust, NOW + HOUR) == "a"
    assert besides(trust, NOW + 2 * HOUR) == ""


def test_an_authority_is_left_once_however_often_it_is_seen() -> None:
    trust = Trust(HOUR).offered(ends("b"), NOW).shown(ends("b"), NOW).seen("widgets", ends("ab"), NOW)
    trust = trust.seen("gadgets", ends("ab"), NOW + 1.5 * HOUR)

    assert besides(trust, NOW + 2 * HOUR) == ""


def test_one_that_is_used_again_is_not_left() -> None:
    trust = Trust(HOUR).offered(ends("a"), NOW).shown(ends("a"), NOW).offered(ends("b"), NOW).shown(ends("b"), NOW)
    trust = trust.offered(ends("a"), NOW + HOUR).shown(ends("a"), NOW + HOUR)

    assert trust.next_change(NOW + HOUR) == NOW + 3 * HOUR
    assert besides(trust, NOW + 2.5 * HOUR) == "b"


def test_what_nobody_holds_and_nobody_is_to_trust_is_forgotten() -> None:
    trust = Trust(HOUR).offered(ends("b"), NOW).seen("widgets", ends("ab"), NOW)

    still = trust.seen("widgets", ends("ab"), NOW + 3 * HOUR)
    gone = trust.seen("widgets", None, NOW).offered(ends("c"), NOW + 3 * HOUR)

    assert set(still.left) == {b"a"}
    assert b"a" not in gone.left


@pytest.mark.parametrize(
    ("held", "expected"),
    [("ab", True), ("a", False), ("abc", False), ("", False), ("abx", True)],
    ids=["the same", "one is missing", "one too many", "none", "one too many that has expired"],
)
def test_a_bundle_is_written_only_for_what_is_missing_or_too_much(held: str, expected: bool) -> None:
    there = {pem: NOW if pem == b"x" else end for pem, end in ends(held).items()}

    assert is_enough(ends("ab"), there, NOW) is expected


def authority(name: str, subject: str = "operator", ended: bool = False) -> Authority:
    return Authority(name.encode(), subject.encode(), NOW if ended else END)


def test_a_successor_is_trusted_together_with_what_has_not_expired() -> None:
    new, old, ended = authority("new"), authority("old"), authority("ended", ended=True)

    assert kept_after((new,), (old, new, ended), NOW) == (old,)


def test_replicas_do_not_take_each_others_authority_away() -> None:
    ours, theirs, ended = authority("ours"), authority("theirs"), authority("ended", ended=True)

    assert kept_beside((ours,), (ours, theirs), NOW) is None
    assert kept_beside((ours,), (theirs,), NOW) == (theirs,)
    assert kept_beside((ours,), (ours, ended), NOW) == ()
    assert kept_beside((ours,), (authority("stranger", "another"),), NOW) == ()


def test_what_no_replica_shows_any_more_goes_and_what_others_put_there_stays() -> None:
    ours, former, stranger = authority("ours"), authority("former"), authority("stranger", "another")

    assert kept_beside((ours,), (ours, former), NOW, alone=True) == ()
    assert kept_beside((ours,), (ours, former, stranger), NOW, alone=True) == (stranger,)
    assert kept_beside((ours,), (ours, stranger), NOW, alone=True) is None
    assert kept_beside((ours,), (ours,), NOW, alone=True) is None
    assert kept_beside((ours,), (former,), NOW, alone=True) == ()


@pytest.mark.parametrize(
    ("names", "served", "expected"),
    [
        (("hook.shop.svc",), ("hook.shop.svc",), True),
        (("*.shop.svc",), ("hook.shop.svc",), True),
        (("other.shop.svc",), ("hook.shop.svc",), False),
        (("other.shop.svc",), ("another.shop.svc",), True),
    ],
    ids=["the same", "all of its domain", "another", "what is served is no better"],
)
def test_a_certificate_for_another_name_does_not_follow_one_that_clients_accept(
    names: tuple[str, ...], served: tuple[str, ...], expected: bool
) -> None:
    assert may_follow(names, served, "hook.shop.svc") is expected
    assert covers(names, "")
