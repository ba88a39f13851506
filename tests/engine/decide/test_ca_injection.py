"""The authority goes into the labelled configurations, and nothing else of them changes (zones rules 47 and 48)."""

from __future__ import annotations

from base64 import b64encode

import msgspec
import pytest

from fairlead.engine.decide.ca_injection import TrustLabels, TrustScope, injected
from kubeloop.objects.admissionregistration import VALIDATING, ClientConfig, Entry, Service, WebhookConfiguration
from kubeloop.objects.meta import Meta

BUNDLE = b64encode(b"authority").decode()
LABELS = {"grafana.com/inject-rollout-operator-ca": "true", "grafana.com/namespace": "test"}
TRUST = TrustLabels(*LABELS)
SERVED = TrustScope(TRUST, ("test",))


def configuration(*bundles: str, **labels: str) -> WebhookConfiguration:
    entries = tuple(Entry(f"{place}.example.com", ClientConfig(bundle)) for place, bundle in enumerate(bundles))
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
    found = WebhookConfiguration(Meta("name", "uid", "1", labels=labels), (Entry("a", ours), Entry("b", theirs)))

    patch = injected(found, VALIDATING, b"authority", TrustScope(TRUST, (), "home"))

    assert patch is not None
    assert [step["path"] for step in msgspec.json.decode(patch.body)] == [
        "/metadata/uid",
        "/webhooks/0/name",
        "/webhooks/0/clientConfig/caBundle",
    ]


def test_every_entry_that_lacks_the_bundle_gets_it_if_it_is_still_the_one_seen() -> None:
    patch = injected(configuration("", BUNDLE, "b3RoZXI=", **LABELS), VALIDATING, b"authority", SERVED)

    assert patch is not None
    assert msgspec.json.decode(patch.body) == [
        {"op": "test", "path": "/metadata/uid", "value": "uid"},
        {"op": "test", "path": "/webhooks/0/name", "value": "0.example.com"},
        {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": BUNDLE},
        {"op": "test", "path": "/webhooks/2/name", "value": "2.example.com"},
        {"op": "add", "path": "/webhooks/2/clientConfig/caBundle", "value": BUNDLE},
    ]


def test_a_configuration_that_has_the_bundle_everywhere_is_left_alone() -> None:
    assert injected(configuration(BUNDLE, BUNDLE, **LABELS), VALIDATING, b"authority", SERVED) is None
