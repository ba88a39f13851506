"""The authority goes into the labelled configurations, and nothing else of them changes (zones rules 47 and 48)."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime

import msgspec
import pytest
from msgspec import structs

from fairlead.core.ask import Answer, Answers, Bad, Good, Need, Question
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.decide.ca_injection import (
    InjectionSnapshot,
    TrustLabels,
    TrustScope,
    inject,
    injected,
    listing_of,
    trust,
)
from kubeloop.objects.admissionregistration import VALIDATING, ClientConfig, Service, WebhookConfiguration, WebhookEntry
from kubeloop.objects.meta import Meta

BUNDLE = b64encode(b"authority").decode()
LABELS = {"grafana.com/inject-rollout-operator-ca": "true", "grafana.com/namespace": "test"}
TRUST = TrustLabels(*LABELS)
SERVED = TrustScope(TRUST, ("test",))
OTHER = b64encode(b"other").decode()
WANTED = {"": BUNDLE, BUNDLE: BUNDLE, OTHER: BUNDLE}
NOW = datetime(2030, 1, 1, tzinfo=UTC)
LISTING = listing_of(VALIDATING, SERVED)


def configuration(*bundles: str, **labels: str) -> WebhookConfiguration:
    entries = tuple(WebhookEntry(f"{place}.example.com", ClientConfig(bundle)) for place, bundle in enumerate(bundles))
    return WebhookConfiguration(Meta("name", "uid", "1", labels=labels), entries)


@pytest.mark.parametrize(
    ("labels", "namespaces", "expected"),
    [
        pytest.param({"inject": "true", "namespace": "test"}, ("test",), True, id="both labels"),
        pytest.param({"inject": "True", "namespace": "test"}, ("test",), False, id="not exactly true"),
        pytest.param({"namespace": "test"}, ("test",), False, id="no wish for the bundle"),
        pytest.param({"inject": "true"}, ("test",), False, id="E-27: no namespace"),
        pytest.param({"inject": "true"}, (), False, id="no namespace, all served"),
        pytest.param({"inject": "true", "namespace": "home"}, (), True, id="our namespace, all served"),
        pytest.param({"inject": "true", "namespace": "other"}, ("test",), False, id="E-27: another namespace"),
        pytest.param({"inject": "true", "namespace": "b"}, ("a", "b"), True, id="one of several namespaces"),
        pytest.param({"inject": "true", "namespace": "b"}, (), False, id="another namespace, all served"),
    ],
)
def test_both_labels_are_needed(labels: dict[str, str], namespaces: tuple[str, ...], expected: bool) -> None:
    keys = {"inject": "grafana.com/inject-rollout-operator-ca", "namespace": "grafana.com/namespace"}

    found = configuration("", **{keys[key]: value for key, value in labels.items()})

    assert TrustScope(TRUST, namespaces, "home").wants(found, found.webhooks[0]) is expected


def test_who_serves_all_namespaces_takes_what_calls_a_service_beside_it_and_nothing_of_other_operators() -> None:
    ours, theirs = (ClientConfig(service=Service(namespace)) for namespace in ("home", "other"))
    labels = {"grafana.com/inject-rollout-operator-ca": "true", "grafana.com/namespace": "other"}
    found = WebhookConfiguration(
        Meta("name", "uid", "1", labels=labels), (WebhookEntry("a", ours), WebhookEntry("b", theirs))
    )

    patch = injected(found, VALIDATING, TrustScope(TRUST, (), "home"), WANTED)

    assert patch is not None
    assert [step["path"] for step in msgspec.json.decode(patch.body)] == [
        "/metadata/uid",
        "/webhooks/0/name",
        "/webhooks/0/clientConfig/caBundle",
    ]


def test_every_entry_that_lacks_the_bundle_gets_it_if_it_is_still_the_one_seen() -> None:
    patch = injected(configuration("", BUNDLE, OTHER, **LABELS), VALIDATING, SERVED, WANTED)

    assert patch is not None
    assert msgspec.json.decode(patch.body) == [
        {"op": "test", "path": "/metadata/uid", "value": "uid"},
        {"op": "test", "path": "/webhooks/0/name", "value": "0.example.com"},
        {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": BUNDLE},
        {"op": "test", "path": "/webhooks/2/name", "value": "2.example.com"},
        {"op": "add", "path": "/webhooks/2/clientConfig/caBundle", "value": BUNDLE},
    ]


def test_a_configuration_that_has_the_bundle_everywhere_is_left_alone() -> None:
    assert injected(configuration(BUNDLE, BUNDLE, **LABELS), VALIDATING, SERVED, WANTED) is None


def seen_with(*found: WebhookConfiguration, answers: dict[Question, Answer] | None = None) -> InjectionSnapshot:
    return InjectionSnapshot(
        resource=VALIDATING, found=found, served=SERVED, bundles=WANTED, answers=Answers(answers or {})
    )


def test_a_configuration_without_the_bundle_is_patched_once_for_what_was_seen() -> None:
    lacking = configuration("", **LABELS)
    (patch,) = seen_with(lacking).patches()

    assert inject(seen_with(lacking), NOW) == Decision("inject", Move(Reason.TRUSTING, (patch,)))
    trusting = seen_with(configuration(BUNDLE, **LABELS))
    assert inject(trusting, NOW) == Decision("trusted", Hold(Reason.COMPLETE))
    refused: dict[Question, Answer] = {patch: Bad("failed", "the test failed", 422)}
    waiting = Decision("wait_for_watch", Hold(Reason.CACHE_BEHIND))
    assert inject(seen_with(lacking, answers=refused), NOW) == waiting


def test_all_that_were_listed_are_patched_in_one_stage_and_counted_each() -> None:
    first, second = configuration("", **LABELS), configuration(OTHER, **LABELS)
    listed: dict[Question, Answer] = {LISTING: Good(b"{}")}
    patches = seen_with(first, second).patches()

    assert trust(seen_with(), NOW) == Need(((LISTING,),))
    assert trust(seen_with(first, second, answers=listed), NOW) == Need((patches,))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Good(b"{}"), Reason.COMPLETE),
        (Bad("absent", "gone meanwhile", 404), Reason.COMPLETE),
        (Bad("conflict", "", 409), Reason.TRUST_INCOMPLETE),
        (Bad("failed", "the test failed", 422), Reason.TRUST_INCOMPLETE),
        (Bad("refused", "no right", 403), Reason.TRUST_INCOMPLETE),
        (Bad("unreachable", "nobody there"), Reason.TRUST_INCOMPLETE),
    ],
)
def test_trust_is_known_only_when_every_patch_was_carried_out_or_its_object_is_gone(
    answer: Answer, reason: Reason
) -> None:
    found = configuration("", **LABELS)
    (patch,) = seen_with(found).patches()

    outcome = trust(seen_with(found, answers={LISTING: Good(b"{}"), patch: answer}), NOW)

    assert isinstance(outcome, Decision)
    assert outcome.verdict == Hold(reason)


def test_a_list_that_fails_or_cannot_be_read_is_no_trust() -> None:
    answers: tuple[tuple[Answer, bool], ...] = ((Bad("refused", "no right", 403), True), (Good(b"<html>"), False))
    for answer, readable in answers:
        outcome = trust(structs.replace(seen_with(answers={LISTING: answer}), is_readable=readable), NOW)

        assert isinstance(outcome, Decision)
        assert (outcome.rule, outcome.verdict.reason) == ("list_again", Reason.TRUST_INCOMPLETE)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"one/wish": "true", "one/namespace": "test"}, True),
        ({"two/wish": "true", "two/namespace": "test"}, True),
        ({"one/wish": "true", "two/namespace": "test"}, False),
        ({"three/wish": "true", "three/namespace": "test"}, False),
    ],
)
def test_labels_of_every_contract_that_is_served_count(labels: dict[str, str], expected: bool) -> None:
    one, two = (TrustLabels(f"{each}/wish", f"{each}/namespace") for each in ("one", "two"))
    served = TrustScope(one, ("test",), "home", (), (two,))

    found = configuration("", **labels)

    assert served.wants(found, found.webhooks[0]) is expected
    assert served.selector == ""
