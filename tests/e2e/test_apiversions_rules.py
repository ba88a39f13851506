"""Rule sets in a running operator: which one counts, what stays in force when one is wrong or gone, and who is told
(section 2.6 and section 3.13)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec

from fairlead.contracts.apiversions.decide.trees import copied
from fairlead.contracts.apiversions.kinds import RULES_LABEL, kept_rules_name
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.engine.decide.registration import Tree
from kubeloop import request
from kubeloop.objects.core import CONFIGMAPS, EVENTS
from kubeloop.request import Request, Transport, path_of
from kubesim.faults import Faulty
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.converting_operator import MERGE, ConvertingOperator, rules_in_a_map, without_map
from tests.e2e.widgets import Widgets, a_version, widgets


async def told(site: Site, reason: str, name: str = "rules") -> str:
    """The text of an Event about this object; empty: nobody told one."""
    for namespace in (site.namespace, "default"):
        answer = await site.client.call(request.list_page(EVENTS, namespace))
        for each in msgspec.json.decode(answer.body)["items"]:
            if each["reason"] == reason and each["regarding"]["name"] == name:
                return str(each["note"])
    return ""


def a_widget(kind: Widgets, colour: str = "red") -> Tree:
    return {
        "apiVersion": f"{kind.group}/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"size": 1, "colour": colour},
    }


async def converted(operator: ConvertingOperator, kind: Widgets, to: str = "v2") -> Any:
    """The spec of a widget in that version; None: it cannot be converted."""
    response = await operator.ask(a_widget(kind), desired=f"{kind.group}/{to}")
    found = response["convertedObjects"]
    return found[0]["spec"] if found else None


def elsewhere(kind: Widgets) -> Tree:
    """Rules that do not move the colour, which is carried then."""
    rules = kind.rules()
    rules["spokes"][0]["toHub"] = []
    return rules


async def has_versions(kind: Widgets, versions: list[Tree]) -> None:
    body = msgspec.json.encode({"spec": {"versions": versions}})
    path = path_of(CUSTOM_RESOURCES, name=kind.name)
    await kind.site.client.call(Request("PATCH", path, body=body, content_type=MERGE))


def wrong(kind: Widgets) -> Tree:
    return kind.rules() | {"hub": "v9"}


@everywhere(controllers=False)
async def test_a_set_that_is_wrong_is_told_of_and_the_one_before_stays_in_force_also_for_new_replicas(
    site: Site,
) -> None:
    kind, operator = widgets(site), ConvertingOperator(site)
    running = site.start_operator(operator)
    await kind.define("v1", "v2", storage="v2")
    await rules_in_a_map(site, kind.rules())
    await operator.stands(kind.name, "loaded")
    await site.until(lambda: site.get(CONFIGMAPS, kept_rules_name(kind.name)), every=0.05)

    await rules_in_a_map(site, wrong(kind))
    await operator.stands(kind.name, "last-good")
    said = await site.until(lambda: told(site, "RulesRejected"), every=0.05)
    with_the_wrong_one = await converted(operator, kind)
    await site.stop(running)
    other = ConvertingOperator(site)
    site.start_operator(other)
    await other.stands(kind.name, "last-good")
    in_a_new_replica = await converted(other, kind)
    await rules_in_a_map(site, elsewhere(kind))
    await other.stands(kind.name, "loaded")

    assert "hub is v9" in said
    assert "the set before it stays in force" in said
    assert with_the_wrong_one == in_a_new_replica == {"size": 1, "paint": {"colour": "red"}}
    assert await converted(other, kind) == {"size": 1}


@everywhere(controllers=False)
async def test_a_version_that_is_removed_takes_no_other_with_it_also_in_new_replicas(site: Site) -> None:
    kind, operator = widgets(site), ConvertingOperator(site)
    running = site.start_operator(operator)
    await kind.define("v1", "v2", storage="v2")
    left = [a_version(each, storage=each == "v2") for each in ("v1", "v2")]
    await has_versions(kind, [*left, {**a_version("v2", storage=False), "name": "v3"}])
    rules = kind.rules()
    rules["spokes"].append({"version": "v3"})
    await rules_in_a_map(site, rules)
    await operator.stands(kind.name, "loaded")
    await site.until(lambda: site.get(CONFIGMAPS, kept_rules_name(kind.name)), every=0.05)

    await has_versions(kind, left)
    await site.until(lambda: told(site, "RulesRejected"), every=0.05)
    await site.stop(running)
    other = ConvertingOperator(site)
    site.start_operator(other)
    await other.stands(kind.name, "last-good")

    assert await converted(other, kind) == {"size": 1, "paint": {"colour": "red"}}


@everywhere(controllers=False)
async def test_rules_whose_source_is_gone_are_used_as_they_were_kept(site: Site) -> None:
    kind, operator = widgets(site), ConvertingOperator(site)
    site.start_operator(operator)
    await kind.define("v1", "v2", storage="v2")
    await rules_in_a_map(site, kind.rules())
    await operator.stands(kind.name, "loaded")
    kept = await site.until(lambda: site.get(CONFIGMAPS, kept_rules_name(kind.name)), every=0.05)

    await without_map(site)
    await operator.stands(kind.name, "last-good")

    assert await converted(operator, kind) == {"size": 1, "paint": {"colour": "red"}}
    assert kept is not None
    assert json.loads(kept["data"]["rules.yaml"]) == kind.rules()


@everywhere(controllers=False)
async def test_the_older_of_two_sets_counts_and_a_file_counts_before_both(site: Site, tmp_path: Path) -> None:
    kind, operator = widgets(site), ConvertingOperator(site)
    await rules_in_a_map(site, kind.rules(), "first")
    running = site.start_operator(operator)
    await kind.define("v1", "v2", storage="v2")
    await operator.stands(kind.name, "loaded")
    await rules_in_a_map(site, elsewhere(kind), "second")

    said = await site.until(lambda: told(site, "RulesRejected", "second"), every=0.05)
    of_the_older = await converted(operator, kind)
    await site.stop(running)
    (tmp_path / "rules.yaml").write_bytes(msgspec.json.encode(elsewhere(kind)))
    (tmp_path / "notes.txt").write_text("no rules")
    other = ConvertingOperator(site, ApiVersionsSettings(rules=(str(tmp_path),)))
    site.start_operator(other)
    await site.until(lambda: told(site, "RulesRejected", "first"), every=0.05)
    await other.stands(kind.name, "loaded")

    assert f"ConfigMap {site.namespace}/first key rules.yaml has a set for {kind.name} already" in said
    assert of_the_older == {"size": 1, "paint": {"colour": "red"}}
    assert await converted(other, kind) == {"size": 1}


@everywhere(controllers=False)
async def test_versions_that_no_rules_lead_to_are_told_of_and_code_never_comes_from_a_map(site: Site) -> None:
    kind, operator = widgets(site), ConvertingOperator(site)
    site.start_operator(operator)
    await kind.define("v1", "v2", storage="v2")
    await rules_in_a_map(site, {**kind.rules(), "python": "os:path", "spokes": [{"version": "v1"}]})
    await operator.stands(kind.name, "rejected")
    refused = await site.until(lambda: told(site, "RulesRejected"), every=0.05)

    await site.create(
        CONFIGMAPS,
        {"metadata": {"name": "torn", "labels": {RULES_LABEL: "true"}}, "data": {"a.yaml": "{", "b.txt": "{"}},
    )
    torn = await site.until(lambda: told(site, "RulesRejected", "torn"), every=0.05)
    await rules_in_a_map(site, {**kind.rules(), "spokes": []})
    await operator.stands(kind.name, "loaded")
    unknown = await site.until(lambda: told(site, "UnknownVersion", kind.name), every=0.05)

    assert operator.log.of("conversion rules not kept") == []
    assert f"ConfigMap {site.namespace}/torn key a.yaml is neither YAML nor JSON" in torn
    assert "never from a ConfigMap" in refused
    assert "nothing is converted" in refused
    assert "no rules lead to v1" in unknown
    assert await converted(operator, kind) is None


@everywhere(controllers=False)
async def test_a_version_that_is_new_is_known_by_the_first_review_that_names_it(site: Site) -> None:
    kind, operator = widgets(site), ConvertingOperator(site)
    site.start_operator(operator)
    await kind.define("v1", "v2", storage="v2")
    rules = kind.rules()
    rules["spokes"].append({"version": "v3"})
    await rules_in_a_map(site, rules)
    await operator.stands(kind.name, "rejected")
    before = await operator.ask(a_widget(kind), desired=f"{kind.group}/v3")

    versions = [a_version(each, storage=each == "v2") for each in ("v1", "v2")]
    versions.append({**a_version("v2", storage=False), "name": "v3"})
    body = msgspec.json.encode({"spec": {"versions": versions}})
    await site.client.call(Request("PATCH", path_of(CUSTOM_RESOURCES, name=kind.name), body=body, content_type=MERGE))

    async def is_known() -> Any:
        return await converted(operator, kind, "v3")

    assert "is no version that objects are converted to" in before["result"]["message"]
    assert await site.until(is_known, every=0.05) == {"size": 1, "paint": {"colour": "red"}}


@everywhere(controllers=False, on=("sim",))
async def test_a_field_that_is_new_is_known_by_all_reviews_that_have_it_at_once(site: Site) -> None:
    """One of them has the definition read, and the others wait for that."""
    kind, operator = widgets(site), ConvertingOperator(site)
    transports: list[Faulty] = []

    async def run(transport: Transport) -> None:
        transports.append(Faulty(transport, ["get customresourcedefinitions: delay 0.2s"]))
        await operator(transports[0])

    site.start_operator(run)
    await kind.define("v1", "v2", storage="v2")
    await rules_in_a_map(site, kind.rules())
    await operator.stands(kind.name, "loaded")
    transports[0].freeze("customresourcedefinitions")
    versions = [copied(a_version(each, storage=each == "v2")) for each in ("v1", "v2")]
    for each in versions:
        each["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["note"] = {"type": "string"}
    body = msgspec.json.encode({"spec": {"versions": versions}})
    await site.client.call(Request("PATCH", path_of(CUSTOM_RESOURCES, name=kind.name), body=body, content_type=MERGE))
    widget = a_widget(kind)
    widget["spec"]["note"] = "new"

    answers = await asyncio.gather(*(operator.ask(widget, desired=f"{kind.group}/v2") for _ in range(3)))

    found = [each["convertedObjects"][0]["spec"].get("note") for each in answers]
    assert found == ["new"] * 3


def of_three(kind: Widgets, storage: str) -> list[Tree]:
    """Versions of which the third has what the second has."""
    versions = [a_version(each, storage=each == storage) for each in ("v1", "v2")]
    return [*versions, {**a_version("v2", storage=False), "name": "v3"}]


@everywhere(controllers=False)
async def test_another_hub_waits_until_no_object_holds_what_it_would_not_see(site: Site) -> None:
    kind, operator = widgets(site), ConvertingOperator(site)
    site.start_operator(operator)
    await kind.define("v1", "v2", storage="v1")
    await has_versions(kind, of_three(kind, "v1"))
    second = kind.rules()
    third = {**second, "hub": "v3", "spokes": [*second["spokes"], {"version": "v2"}]}
    second["spokes"].append({"version": "v3"})
    await operator.attach(kind.name)
    await rules_in_a_map(site, second)
    await operator.stands(kind.name, "loaded")
    await site.until(lambda: _keeps(site, kind, "v2"), every=0.05)
    stored = await operator.ask(_with_finish(kind), desired=f"{kind.group}/v1")

    await rules_in_a_map(site, third)
    await operator.stands(kind.name, "last-good")
    said = await site.until(lambda: told(site, "RulesRejected"), every=0.05)
    seen = await operator.ask(*stored["convertedObjects"], desired=f"{kind.group}/v3")
    await has_versions(kind, of_three(kind, "v2"))
    await _stored_in(kind, "v2")
    await operator.stands(kind.name, "loaded")

    assert seen["convertedObjects"][0]["spec"]["paint"] == {"finish": "matt"}
    assert "the hub was v2 and is v3 here, while objects may be stored in v1" in said
    assert f"`fairlead api set-storage {kind.name} v2`" in said


async def _keeps(site: Site, kind: Widgets, hub: str) -> bool:
    found = await site.get(CONFIGMAPS, kept_rules_name(kind.name))
    return found is not None and json.loads(found["data"]["rules.yaml"])["hub"] == hub


def _with_finish(kind: Widgets) -> Tree:
    head = {"apiVersion": f"{kind.group}/v2", "kind": "Widget", "metadata": {"name": "w"}}
    return {**head, "spec": {"size": 1, "paint": {"finish": "matt"}}}


async def _stored_in(kind: Widgets, version: str) -> None:
    """As a migration leaves it."""
    body = msgspec.json.encode({"status": {"storedVersions": [version]}})
    path = path_of(CUSTOM_RESOURCES, name=kind.name) + "/status"
    await kind.site.client.call(Request("PATCH", path, body=body, content_type=MERGE))


@everywhere(controllers=False)
async def test_what_no_version_has_is_carried_as_before(site: Site) -> None:
    """An API server that has not heard of a change yet may send what the definition has no more."""
    kind, operator = widgets(site), ConvertingOperator(site)
    site.start_operator(operator)
    await kind.define("v1", "v2", storage="v2")
    await rules_in_a_map(site, kind.rules())
    await operator.stands(kind.name, "loaded")
    widget = a_widget(kind)
    widget["spec"]["note"] = "old"

    response = await operator.ask(widget, desired=f"{kind.group}/v2")
    back = await operator.ask(response["convertedObjects"][0], desired=f"{kind.group}/v1")

    assert back["convertedObjects"] == [widget]
