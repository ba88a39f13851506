"""zones C1 to C5: a stored certificate is used, replaced or left alone with a sentence for its owner."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from fairlead.engine.decide.certificate import (
    REMINDED,
    RETRY,
    SETTLING,
    Broken,
    CertificateFacts,
    CertificateFate,
    KeepServing,
    Make,
    Serve,
    Use,
    fate_of,
    handover,
    is_reminder_due,
    last_call,
    renewal_of,
    successor_of,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NAME = "rollout-operator.test.svc"
VALID = CertificateFacts(not_before=NOW - timedelta(days=1), not_after=NOW + timedelta(days=1), names=(NAME,))


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        pytest.param(VALID, Use, id="C5: a valid pair is used as it is"),
        pytest.param(None, Make, id="C2: without a Secret one is made"),
        pytest.param(CertificateFacts((), empty=True), Make, id="C3: an empty Secret is filled"),
        pytest.param(
            CertificateFacts(not_before=NOW, not_after=NOW, names=(NAME,)), Make, id="C3: an expired one is replaced"
        ),
        pytest.param(
            CertificateFacts(not_before=NOW, not_after=NOW + timedelta(days=1), names=("other.test.svc",)),
            Make,
            id="H-11: one for another name is replaced like an expired one",
        ),
        pytest.param(
            CertificateFacts(
                not_before=NOW + timedelta(seconds=1),
                not_after=NOW + timedelta(days=9),
                names=(NAME,),
                by_contract=True,
            ),
            Make,
            id="C3: one of ours that is not valid yet was made by a clock that was ahead",
        ),
        pytest.param(
            CertificateFacts(not_before=NOW + timedelta(days=1), not_after=NOW + timedelta(days=9), names=(NAME,)),
            Use,
            id="C5: one of others that is not valid yet is theirs",
        ),
        pytest.param(CertificateFacts(("ca", "cert")), Broken, id="C4: a missing key is not repaired"),
        pytest.param(CertificateFacts(()), Broken, id="C4: entries of other names only are not overwritten"),
        pytest.param(
            CertificateFacts(problem="holds nonsense"), Broken, id="C4: an unreadable pair is not overwritten"
        ),
    ],
)
def test_what_becomes_of_a_stored_certificate(stored: CertificateFacts | None, expected: type) -> None:
    assert isinstance(fate_of(stored, "secret", NAME, NOW), expected)


def test_a_broken_secret_is_named_with_its_problem_and_what_to_do() -> None:
    fate = fate_of(CertificateFacts(("cert",)), "my-secret", NAME, NOW)

    assert isinstance(fate, Broken)
    assert fate.text == "Secret my-secret has no ca and no key: repair it, or delete it to have a new certificate made"


def test_a_certificate_is_renewed_after_two_thirds_of_its_life() -> None:
    facts = CertificateFacts(not_before=NOW, not_after=NOW + timedelta(days=365))

    due = renewal_of(facts)

    assert due is not None
    assert (due - NOW).days == 243


@pytest.mark.parametrize(
    ("lifetime", "before"),
    [(timedelta(days=365), timedelta(minutes=10)), (timedelta(hours=1), timedelta(minutes=2))],
    ids=["ten minutes", "a tenth of what is left when it is renewed"],
)
def test_the_last_call_of_a_certificate_is_shortly_before_its_end(lifetime: timedelta, before: timedelta) -> None:
    facts = CertificateFacts(not_before=NOW, not_after=NOW + lifetime)

    assert last_call(facts) == NOW + lifetime - before


OURS = structs.replace(VALID, by_contract=True)


@pytest.mark.parametrize(
    ("fate", "stored", "is_served", "expected"),
    [
        pytest.param(Use(), OURS, True, Make("it is due to be renewed"), id="ours, which is served, is renewed"),
        pytest.param(Use(), OURS, False, Use(), id="what another replica has stored is taken"),
        pytest.param(Use(), VALID, True, Use(), id="one of others is used for as long as it can be"),
        pytest.param(Make("it has expired"), OURS, True, Make("it has expired"), id="one that has expired is made"),
        pytest.param(Make("there is none"), None, False, Make("there is none"), id="one that is gone is made"),
        pytest.param(Broken("repair it"), OURS, True, Broken("repair it"), id="a broken one is not overwritten"),
    ],
)
def test_what_comes_after_the_certificate_that_is_served(
    fate: CertificateFate, stored: CertificateFacts | None, is_served: bool, expected: CertificateFate
) -> None:
    assert successor_of(fate, stored, is_served=is_served) == expected


def test_a_successor_is_served_when_it_is_trusted_and_everybody_has_heard_of_that() -> None:
    assert handover(OURS, is_trusted=True, now=NOW) == Serve(NOW + SETTLING, is_trusted=True)


def test_a_successor_that_is_not_trusted_waits_until_the_one_before_is_about_to_end() -> None:
    last = last_call(OURS)
    assert last is not None

    assert handover(OURS, is_trusted=False, now=NOW) == KeepServing(NOW + RETRY, last)
    shortly = last - timedelta(seconds=5)
    assert handover(OURS, is_trusted=False, now=shortly) == KeepServing(last, last)
    assert handover(OURS, is_trusted=False, now=last) == Serve(last, is_trusted=False)


def test_of_the_end_of_a_certificate_of_others_is_warned_once_a_day_from_the_time_it_is_due() -> None:
    due = renewal_of(VALID)
    assert due is not None

    assert not is_reminder_due(VALID, None, due - timedelta(seconds=1))
    assert is_reminder_due(VALID, None, due)
    assert not is_reminder_due(VALID, due, due + REMINDED - timedelta(seconds=1))
    assert is_reminder_due(VALID, due, due + REMINDED)
    assert not is_reminder_due(OURS, None, due)
