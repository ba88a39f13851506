"""What a definition may say about conversion, and what becomes of one that says too little."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kubeloop.request import path_of
from kubesim.pki import Authority
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.definitions import (
    MERGE,
    NAME,
    Tree,
    a_definition,
    a_version,
    an_empty_shop,
    is_established,
    refusal,
    tree_of,
)

pytestmark = pytest.mark.fidelity

URL = {"url": "https://hook.example"}
SERVICE = {"service": {"name": "hook", "namespace": "default", "path": "/convert"}}
DEFINITION = path_of(CUSTOM_RESOURCES, name=NAME)


def webhook(client: Tree | None = None, **more: Any) -> Tree:
    config = {} if client is None else {"clientConfig": client}
    return {"strategy": "Webhook", "webhook": config | {"conversionReviewVersions": ["v1"]} | more}


AT = "spec.conversion.webhookClientConfig"
REVIEWS = "spec.conversion.conversionReviewVersions"
FORM = "; desired format: https://host[/path]"
BAD: dict[str, tuple[Tree, list[tuple[str, str]]]] = {
    "an unknown strategy": (
        {"strategy": "Magic"},
        [("spec.conversion.strategy", 'Unsupported value: "Magic": supported values: "None", "Webhook"')],
    ),
    "a webhook nobody asked for": (
        webhook(URL) | {"strategy": "None"},
        [
            (REVIEWS, "Forbidden: should not be set when strategy is not set to Webhook"),
            (AT, "Forbidden: should not be set when strategy is not set to Webhook"),
        ],
    ),
    "no client": (webhook(), [(AT, "Required value: required when strategy is set to Webhook")]),
    "neither address nor service": (webhook({}), [(AT, "Required value: exactly one of url or service is required")]),
    "both": (webhook(URL | SERVICE), [(AT, "Required value: exactly one of url or service is required")]),
    "plain HTTP": (
        webhook({"url": "http://hook.example"}),
        [(f"{AT}.url", f"Invalid value: \"http\": 'https' is the only allowed URL scheme{FORM}")],
    ),
    "no review versions": (webhook(URL, conversionReviewVersions=[]), [(REVIEWS, "Required value")]),
    "unknown review versions": (
        webhook(URL, conversionReviewVersions=["v7", "v7"]),
        [
            (REVIEWS, 'Invalid value: ["v7","v7"]: must include at least one of v1, v1beta1'),
            (f"{REVIEWS}[1]", 'Invalid value: "v7": duplicate version'),
        ],
    ),
}


@everywhere(controllers=False)
async def test_conversions_that_cannot_work_are_refused_in_the_servers_words(site: Site) -> None:
    found = {}

    async with an_empty_shop(site) as shop:
        for case, (conversion, _) in BAD.items():
            answer = await shop.send("POST", path_of(CUSTOM_RESOURCES), a_definition(conversion=conversion))
            found[case] = [(field, message) for field, _, message in refusal(answer)[2]]

    assert found == {case: sorted(causes) for case, (_, causes) in BAD.items()}


@everywhere(controllers=False)
async def test_warnings_are_for_deprecated_versions(site: Site) -> None:
    old = a_version("v1beta1", storage=False)
    cases: list[Tree] = [
        {"deprecationWarning": "gone soon"},
        {"deprecated": True, "deprecationWarning": ""},
        {"deprecated": True, "deprecationWarning": "x" * 257},
        {"deprecated": True, "deprecationWarning": "a\tb"},
    ]
    found = []

    async with an_empty_shop(site) as shop:
        for fields in cases:
            definition = a_definition(a_version(), old | fields)
            answer = await shop.send("POST", path_of(CUSTOM_RESOURCES), definition)
            found += [(field, message.rpartition('": ')[2]) for field, _, message in refusal(answer)[2]]

    assert {field for field, _ in found} == {"spec.versions[1].deprecationWarning"}
    assert [text for _, text in found] == [
        "can only be set for deprecated versions",
        "must not be an empty string",
        "must be <= 256 characters long",
        "must only contain printable UTF-8 characters; non-printable character found at index 1",
    ]


@everywhere(controllers=False)
async def test_a_service_is_called_at_its_usual_port(site: Site) -> None:
    async with an_empty_shop(site) as shop:
        made = tree_of(await shop.send("POST", path_of(CUSTOM_RESOURCES), a_definition(conversion=webhook(SERVICE))))

    assert made["spec"]["conversion"]["webhook"]["clientConfig"]["service"] == SERVICE["service"] | {"port": 443}


@everywhere(controllers=False)
async def test_a_definition_whose_authority_cannot_be_read_is_not_established(site: Site) -> None:
    def bundle(text: bytes) -> Tree:
        return webhook(URL | {"caBundle": base64.b64encode(text).decode()})

    def conditions() -> dict[str, tuple[str, str, str]]:
        found = site.history.objects(CUSTOM_RESOURCES).get(NAME) or {}
        listed = (found.get("status") or {}).get("conditions") or []
        return {each["type"]: (each["status"], each["reason"], each["message"]) for each in listed}

    async with an_empty_shop(site) as shop:
        made = await shop.send("POST", path_of(CUSTOM_RESOURCES), a_definition(conversion=bundle(b"\n")))
        refused = lambda: conditions().get("Established", ("", "", ""))[1] == "InvalidCABundle"  # noqa: E731
        await site.until(refused, following=[CUSTOM_RESOURCES])
        held_up = conditions()
        repaired = {"spec": {"conversion": bundle(Authority().certificate)}}
        await shop.send("PATCH", DEFINITION, repaired, kind=MERGE)
        await site.until(lambda: is_established(site.history.objects(CUSTOM_RESOURCES).get(NAME)))
        spoilt = await shop.send("PATCH", DEFINITION, {"spec": {"conversion": bundle(b"odd")}}, kind=MERGE)

    assert made.status == 201
    assert held_up["NamesAccepted"][0] == "True"
    assert held_up["Established"] == ("False", "InvalidCABundle", "The conversion webhook CABundle is invalid")
    text = "unable to load root certificates: unable to parse bytes as PEM block"
    assert refusal(spoilt)[2] == [(f"{AT}.caBundle", "FieldValueInvalid", f'Invalid value: "b2Rk": {text}')]
