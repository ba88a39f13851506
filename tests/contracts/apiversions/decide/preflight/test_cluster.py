"""What the cluster says about a change: certificates, converters, what names a version."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from fairlead.contracts.apiversions.decide.convert import ConversionRefused, convert
from fairlead.contracts.apiversions.decide.lifecycle import Converters
from fairlead.contracts.apiversions.decide.preflight.cluster import (
    WebhookCertificate,
    admission_names,
    of_certificate,
    of_converters,
    of_probes,
)
from fairlead.contracts.apiversions.decide.preflight.definitions import compared
from fairlead.contracts.apiversions.kinds import CRD_OWNER
from fairlead.engine.decide.conversion_probe import event_reason
from tests.contracts.apiversions.decide.definitions import GROUP, V1, V2, Tree, a_definition, a_version
from tests.contracts.apiversions.decide.test_lifecycle import converted
from tests.contracts.apiversions.decide.widgets import KIND, widget

NOW = datetime(2026, 11, 18, tzinfo=UTC)
LONG, SOON, PAST = (NOW + timedelta(days=days) for days in (365, 7, -1))
SERVED = "hook.ours.svc"


@pytest.mark.parametrize(
    ("found", "codes"),
    [
        pytest.param(
            WebhookCertificate(bundle_ends=(LONG,), leaf_end=LONG, names=(SERVED,), is_trusted=True), [], id="well"
        ),
        pytest.param(WebhookCertificate(bundle_ends=(SOON,)), [("CertExpiring", "warn")], id="an authority that ends"),
        pytest.param(
            WebhookCertificate(leaf_end=PAST, names=(SERVED,)), [("CertExpiring", "warn")], id="one that has ended"
        ),
        pytest.param(
            WebhookCertificate(leaf_end=LONG, names=("other",), is_trusted=True),
            [("CertSANMissing", "block")],
            id="another name",
        ),
        pytest.param(
            WebhookCertificate(leaf_end=PAST, names=("other",), is_trusted=False), [], id="that of another webhook"
        ),
        pytest.param(
            WebhookCertificate(leaf_end=LONG, names=(SERVED,), is_trusted=False),
            [("CaBundleMismatch", "block")],
            id="another issuer",
        ),
    ],
)
def test_a_certificate_that_cannot_be_trusted_blocks(found: WebhookCertificate, codes: list[tuple[str, str]]) -> None:
    assert [(each.code, each.severity) for each in of_certificate(converted(), SERVED, found, NOW)] == codes


def test_versions_without_a_way_between_them_block() -> None:
    behind = Converters(rules=frozenset({"v2"}), hub="v2", replicas={"a": frozenset({"v1", "v2"}), "b": frozenset()})

    found = [*of_converters(converted(), behind, ["spoke v9 is no version"])]

    assert [(each.code, each.severity) for each in found] == [("NoConversionPath", "block")] * 3
    assert "v9" in found[0].message
    assert found[1].version == "v1"
    assert "replica b" in found[2].message
    assert [*of_converters(a_definition(), Converters(), ())] == []


@pytest.mark.parametrize(
    ("known", "owner", "severities"),
    [
        pytest.param({"v1"}, "", ["warn"], id="nobody can"),
        pytest.param({"v1"}, "operators", [], id="who owns it waits"),
        pytest.param({"v1", "v2"}, "", ["block"], id="one can already"),
    ],
)
def test_a_version_that_is_not_there_waits_for_replicas_only_where_one_speaks_of_it(
    known: set[str], owner: str, severities: list[str]
) -> None:
    live = converted()
    live["spec"]["versions"] = [each for each in live["spec"]["versions"] if each["name"] == "v1"]
    live["metadata"]["annotations"] = {CRD_OWNER: owner}
    replicas = {"a": frozenset(known), "b": frozenset({"v1"})}

    found = [*of_converters(converted(), Converters(rules=frozenset({"v1", "v2"}), replicas=replicas), (), live)]

    assert [(each.code, each.severity) for each in found] == [("NoConversionPath", each) for each in severities]


def test_a_webhook_of_others_is_told_once() -> None:
    (found,) = of_converters(converted(), Converters(), ())

    assert (found.code, found.severity) == ("ForeignConversion", "warn")


def test_only_a_conversion_that_fails_is_a_webhook_that_cannot_be_reached() -> None:
    said = {"v1": "conversion webhook for example.test/v2, Kind=Widget failed: refused", "v3": "forbidden"}

    (found,) = of_probes(converted(), said)

    assert (found.code, found.version) == ("WebhookUnreachable", "v1")


def test_objects_that_a_webhook_cannot_convert_are_named_with_the_limit_and_it_is_not_called_unreachable() -> None:
    noise = Random(1).randbytes(400_000).hex()
    with pytest.raises(ConversionRefused, match="bytes over") as refused:
        convert(widget("v1", spec={"size": 1, "old": {"b": noise}}), "v2", KIND)
    large = f"object 3 (shop/large) from {GROUP}/v2 to {GROUP}/v1: {refused.value}"
    odd = f"object 5 (shop/odd) from {GROUP}/v2 to {GROUP}/v1: the rules fail; and so on"
    text = f"conversion webhook for {GROUP}/v2, Kind=Widget failed: {large}; {odd}"

    first, second = of_probes(converted(), {"v1": text})

    assert (first.code, first.objects, first.severity) == ("CarryTooLarge", ("shop/large",), "block")
    assert "bytes over the 262144 bytes" in first.message
    assert (second.code, second.objects) == ("RoundTripLoss", ("shop/odd",))
    assert "the rules fail; and so on" in second.message
    assert event_reason(text) == "ConversionFails"


def test_rules_of_admission_name_versions() -> None:
    def rule(versions: list[str], plural: str = "widgets", group: str = GROUP) -> Tree:
        return {"apiGroups": [group], "apiVersions": versions, "resources": [plural]}

    hooks = {"kind": "H", "metadata": {"name": "h"}, "webhooks": [{"rules": [rule(["v1", "v2"]), rule(["*"])]}]}
    others = {
        "kind": "H",
        "metadata": {"name": "o"},
        "webhooks": [{"rules": [rule(["v1"], "gadgets"), rule(["v1"], group="x")]}],
    }
    policy = {
        "kind": "P",
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [rule(["v1"], "widgets/status")]}},
    }

    assert admission_names([hooks, others, policy], GROUP, "widgets") == {"v1": ["H h", "P p"], "v2": ["H h"]}


def test_what_cannot_change_and_who_else_has_a_say_is_found() -> None:
    live = converted()
    live["metadata"] |= {"labels": {"olm.managed": "true"}, "annotations": {"fairlead.dev/crd-revision": "7"}}
    new = a_definition(scope="Cluster", names={"kind": "Gadget", "plural": "widgets"})
    new["metadata"] |= {"annotations": {"fairlead.dev/crd-revision": "3"}}

    found = {each.code: each.severity for each in compared(live, new).findings}

    assert found == {
        "ScopeChanged": "block",
        "NamesChanged": "block",
        "ForeignConversion": "warn",
        "OwnedElsewhere": "warn",
        "CRDNewer": "warn",
    }


def test_a_storage_version_that_goes_is_told_with_the_way_to_another() -> None:
    live = a_definition()
    found = {each.code: each for each in compared(live, a_definition(a_version("v1", V1, storage=True))).findings}
    assert found["StorageVersionDropped"].fix == "fairlead api set-storage widgets.example.test v1"

    alone = {each.code: each for each in compared(live, a_definition(a_version("v3", V2, storage=True))).findings}
    assert "a release in between" in alone["StorageVersionDropped"].message
