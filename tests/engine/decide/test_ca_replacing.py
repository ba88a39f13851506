"""The authority goes into configurations that are known by name by replacing them, bound to what was read."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from fairlead.core.act import Replace
from fairlead.core.ask import Answer, Answers, Bad, Good, Need, Question
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.decide.ca_injection import InjectionSnapshot, TrustLabels, TrustScope, inject, listing_of, trust
from kubeloop.objects.admissionregistration import MUTATING, ClientConfig, WebhookConfiguration, WebhookEntry
from kubeloop.objects.meta import Meta

BUNDLE = b64encode(b"authority").decode()
OTHER = b64encode(b"other").decode()
WANTED = {"": BUNDLE, BUNDLE: BUNDLE, OTHER: BUNDLE}
NOW = datetime(2030, 1, 1, tzinfo=UTC)
SERVED = TrustScope(None, (), "home", ("named",))
LISTING = listing_of(MUTATING, SERVED)


def configuration(*bundles: str, name: str = "named") -> WebhookConfiguration:
    entries = tuple(WebhookEntry(f"{place}.example.com", ClientConfig(bundle)) for place, bundle in enumerate(bundles))
    return WebhookConfiguration(Meta(name, "uid", "7"), entries)


def tree(*bundles: str, version: str = "8", uid: str = "uid") -> dict[str, Any]:
    """As the API server has it, with fields that nobody here knows."""
    entries = [
        {"name": f"{place}.example.com", "clientConfig": {"caBundle": bundle} if bundle else {}, "unknown": place}
        for place, bundle in enumerate(bundles)
    ]
    return {"metadata": {"name": "named", "uid": uid, "resourceVersion": version}, "webhooks": entries}


def seen_with(*found: WebhookConfiguration, answers: dict[Question, Answer] | None = None) -> InjectionSnapshot:
    return InjectionSnapshot(
        resource=MUTATING, found=found, served=SERVED, bundles=WANTED, answers=Answers(answers or {})
    )


def read_of(*found: WebhookConfiguration, body: object) -> dict[Question, Answer]:
    (ask,) = seen_with(*found).reads()
    return {ask: body if isinstance(body, Good | Bad) else Good(msgspec.json.encode(body))}


def test_it_is_read_whole_and_replaced_with_the_bundle_in_every_entry() -> None:
    lacking = configuration("", BUNDLE)
    assert inject(seen_with(lacking), NOW) == Need((seen_with(lacking).reads(),))

    outcome = inject(seen_with(lacking, answers=read_of(lacking, body=tree("", BUNDLE))), NOW)

    assert isinstance(outcome, Decision)
    assert isinstance(outcome.verdict, Move)
    (write,) = outcome.verdict.writes
    assert isinstance(write, Replace)
    assert (write.resource_version, write.contested, write.ref.uid) == ("8", True, "uid")
    assert msgspec.json.decode(write.body) == tree(BUNDLE, BUNDLE)


def test_what_trusts_the_authority_and_what_has_another_name_is_left_alone() -> None:
    for found in (configuration(BUNDLE, BUNDLE), configuration("", name="other")):
        assert inject(seen_with(found), NOW) == Decision("trusted", Hold(Reason.COMPLETE))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(tree(BUNDLE), id="trusts it meanwhile"),
        pytest.param(tree("bmV3"), id="has a bundle that was not seen"),
        pytest.param(tree("", uid="another"), id="is another object of the name"),
        pytest.param(tree("", version=""), id="has no version"),
        pytest.param({"kind": "Status"}, id="is no configuration"),
        pytest.param(Good(b"<html>"), id="cannot be read"),
        pytest.param(Bad("absent", "", 404), id="is gone"),
        pytest.param(Bad("unreachable"), id="nobody answers"),
    ],
)
def test_what_is_not_as_it_was_seen_is_not_replaced_but_looked_at_again(body: object) -> None:
    lacking = configuration("")

    outcome = inject(seen_with(lacking, answers=read_of(lacking, body=body)), NOW)

    assert outcome == Decision("wait_for_watch", Hold(Reason.CACHE_BEHIND, again=NOW + timedelta(seconds=10)))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Good(b"{}"), Reason.COMPLETE),
        (Bad("absent", "gone meanwhile", 404), Reason.COMPLETE),
        (Bad("conflict", "", 409), Reason.TRUST_INCOMPLETE),
        (Bad("refused", "no right", 403), Reason.TRUST_INCOMPLETE),
    ],
)
def test_trust_is_known_when_every_replacement_was_carried_out(answer: Answer, reason: Reason) -> None:
    lacking = configuration("")
    known: dict[Question, Answer] = {LISTING: Good(b"{}"), **read_of(lacking, body=tree(""))}
    (write,) = seen_with(lacking, answers=known).replacements()

    assert trust(seen_with(lacking, answers=known), NOW) == Need(((write,),))
    outcome = trust(seen_with(lacking, answers={**known, write: answer}), NOW)

    assert isinstance(outcome, Decision)
    assert outcome.verdict == Hold(reason)


def test_trust_is_not_known_of_what_has_changed_since_it_was_listed() -> None:
    lacking = configuration("")
    known: dict[Question, Answer] = {LISTING: Good(b"{}"), **read_of(lacking, body=tree("bmV3"))}

    outcome = trust(seen_with(lacking, answers=known), NOW)

    assert isinstance(outcome, Decision)
    assert outcome.verdict == Hold(Reason.TRUST_INCOMPLETE)


def test_names_and_labels_go_together() -> None:
    labels = TrustLabels("wish", "namespace")
    both = TrustScope(labels, ("test",), "home", ("named",))
    entry = WebhookEntry("a")
    labelled = WebhookConfiguration(Meta("a", "u", "1", labels={"wish": "true", "namespace": "test"}), (entry,))

    assert both.selector == ""
    assert both.wants(labelled, entry)
    assert both.wants(configuration(""), entry)
    assert not both.wants(configuration("", name="other"), entry)
