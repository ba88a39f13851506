"""Objects that claim one version and hold fields of another, where nobody converts them."""

from __future__ import annotations

import pytest

from fairlead.contracts.apiversions.decide.convert import convert
from fairlead.contracts.apiversions.kinds import PAYLOAD_HASH, PAYLOAD_VERSION
from fairlead.engine.decide.guard import VersionPolicy
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import EVENTS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete
from tests.e2e.clusters import Site, everywhere
from tests.e2e.widget_operators import WidgetOperator, a_widget, changed, condition_of, defined, disowned, found, told
from tests.widgets.decide import Settings
from tests.widgets.kinds import KIND, NAME, WIDGETS

VERSION = VersionPolicy(own="1.2.0", minimum="1.0.0")
MISMATCHES = "fairlead_payload_mismatch_objects"


def colour_of(workload: dict[str, object]) -> str:
    containers = workload["spec"]["template"]["spec"]["containers"]  # type: ignore[index]
    return str(containers[0]["env"][0].get("value", ""))


@everywhere(controllers=False)
async def test_a16_old_fields_under_a_new_version_are_worked_with_and_stay(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await defined(site, monkeypatch)
    await site.history.follow(EVENTS)
    spec = {"size": 2, "colour": "red", "legacyMode": True}
    await a_widget(site, "old", spec)
    operator = WidgetOperator(site, Settings(), VERSION).start()

    async def is_noted() -> bool:
        return PAYLOAD_HASH in (await found(site, WIDGETS, "old"))["metadata"].get("annotations", {})

    await site.until(is_noted, every=0.1)
    widget, workload = await found(site, WIDGETS, "old"), await found(site, STATEFULSETS, "old")

    assert condition_of(widget) == ("False", "OlderPayload")
    assert (workload["spec"]["replicas"], colour_of(workload)) == (2, "red")
    assert widget["spec"] == spec
    assert widget["metadata"]["annotations"][PAYLOAD_VERSION] == "v1"
    await site.until(lambda: told(site, "old", "PayloadVersionMismatch"), every=0.1)
    assert operator.value(MISMATCHES, crd=NAME, kind="other") == 1

    await changed(site, WIDGETS, "old", {"spec": {"colour": None, "legacyMode": None, "paint": {"colour": "blue"}}})

    async def is_mended() -> bool:
        return condition_of(await found(site, WIDGETS, "old")) == ("True", "HubPayload")

    await site.until(is_mended, every=0.1)
    assert colour_of(await found(site, STATEFULSETS, "old")) == "blue"


@everywhere(controllers=False)
async def test_a17_fields_that_contradict_one_another_touch_no_workload(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one that is there nor one that is not; and a deletion goes on."""
    await defined(site, monkeypatch)
    await site.history.follow(EVENTS)
    settings = Settings()
    await a_widget(site, "both", {"paint": {"colour": "green"}})
    operator = WidgetOperator(site, settings, VERSION).start()

    async def is_made() -> bool:
        return await site.get(STATEFULSETS, "both") is not None and PAYLOAD_HASH in (
            await found(site, WIDGETS, "both")
        )["metadata"].get("annotations", {})

    await site.until(is_made, every=0.1)
    await operator.stop()
    before = await found(site, STATEFULSETS, "both")
    await changed(site, WIDGETS, "both", {"spec": {"size": 3, "colour": "red", "paint": {"colour": "blue"}}})
    await disowned(site, "both")
    await a_widget(site, "fresh", {"colour": "red", "paint": {"colour": "blue"}})
    await disowned(site, "fresh")
    later = WidgetOperator(site, settings, VERSION).start()

    async def is_told() -> bool:
        widgets = [await found(site, WIDGETS, name) for name in ("both", "fresh")]
        return all(condition_of(each) == ("False", "AmbiguousPayload") for each in widgets)

    await site.until(is_told, every=0.1)

    assert await found(site, STATEFULSETS, "both") == before
    assert await site.get(STATEFULSETS, "fresh") is None
    assert later.value(MISMATCHES, crd=NAME, kind="ambiguous") == 2
    await site.until(lambda: told(site, "fresh", "PayloadVersionMismatch"), every=0.1)

    await changed(site, WIDGETS, "fresh", {"spec": {"colour": None}})

    async def is_rolled() -> bool:
        return await site.get(STATEFULSETS, "fresh") is not None

    await site.until(is_rolled, every=0.1)
    assert colour_of(await found(site, STATEFULSETS, "fresh")) == "blue"

    await site.client.call(delete(Ref(WIDGETS, site.namespace, "both")))

    async def is_gone() -> bool:
        return await site.get(WIDGETS, "both") is None

    await site.until(is_gone, every=0.1)


@everywhere(controllers=False)
async def test_specs_are_rewritten_in_the_hub_on_request_and_nothing_is_lost(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await defined(site, monkeypatch)
    labels = {"team": "a"}
    await a_widget(site, "old", {"size": 2, "colour": "red", "legacyMode": True}, labels=labels)
    WidgetOperator(site, Settings(normalizes=True), VERSION).start()

    async def is_rewritten() -> bool:
        widget = await found(site, WIDGETS, "old")
        return widget["spec"] == {"size": 2, "paint": {"colour": "red"}} and "status" in widget

    await site.until(is_rewritten, every=0.1)
    widget = await found(site, WIDGETS, "old")

    assert widget["metadata"]["labels"] == labels
    assert widget["metadata"]["annotations"][PAYLOAD_VERSION] == "v2"
    assert convert(widget, "v1", KIND).tree["spec"] == {"size": 2, "colour": "red", "legacyMode": True}
