"""Section 3.14: the certificate authority goes into the labelled configurations, and nothing else of them changes."""

from __future__ import annotations

from base64 import b64encode

import msgspec
import pytest

from fairlead.api.admissionregistration import VALIDATING, ClientConfig, Entry, WebhookConfiguration
from fairlead.api.meta import Meta
from fairlead.decide.zones.injection import injected, is_ours

BUNDLE = b64encode(b"authority").decode()


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
        pytest.param({"inject": "true", "namespace": "other"}, ("test",), False, id="E-27: another namespace"),
        pytest.param({"inject": "true", "namespace": "b"}, ("a", "b"), True, id="one of several namespaces"),
        pytest.param({"inject": "true", "namespace": "b"}, (), True, id="all namespaces are served"),
    ],
)
def test_both_labels_are_needed(labels: dict[str, str], namespaces: tuple[str, ...], expected: bool) -> None:
    keys = {"inject": "grafana.com/inject-rollout-operator-ca", "namespace": "grafana.com/namespace"}

    found = configuration(**{keys[key]: value for key, value in labels.items()})

    assert is_ours(found, namespaces) is expected


def test_every_entry_that_lacks_the_bundle_gets_it_if_it_is_still_the_one_seen() -> None:
    patch = injected(configuration("", BUNDLE, "b3RoZXI="), VALIDATING, b"authority")

    assert patch is not None
    assert msgspec.json.decode(patch.body) == [
        {"op": "test", "path": "/metadata/uid", "value": "uid"},
        {"op": "test", "path": "/webhooks/0/name", "value": "0.example.com"},
        {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": BUNDLE},
        {"op": "test", "path": "/webhooks/2/name", "value": "2.example.com"},
        {"op": "add", "path": "/webhooks/2/clientConfig/caBundle", "value": BUNDLE},
    ]


def test_a_configuration_that_has_the_bundle_everywhere_is_left_alone() -> None:
    assert injected(configuration(BUNDLE, BUNDLE), VALIDATING, b"authority") is None
