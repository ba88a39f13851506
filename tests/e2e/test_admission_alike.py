"""Webhooks with conditions, and webhooks that answer oddly, the same on the embedded cluster and on a real server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fairlead.kube.calls import Call, Handler, Reply
from fairlead.kube.request import path_of
from tests.e2e.admission_cases import HOOKS
from tests.e2e.bad_admission import CONFIGURATIONS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.definitions import an_empty_shop, refusal
from tests.e2e.history import Tree
from tests.e2e.policies import BINDINGS, CASE, CONFIG_MAPS, POLICIES, a_map, a_rule, told
from tests.e2e.webhooks import MUTATING, VALIDATING, install, serve

_ANSWERS = Path(__file__).parent / "admission_answers.json"
_JSON = (("Content-Type", "application/json"),)
_HIDDEN = ((re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"), (re.compile(r"127\.0\.0\.1:\d+"), "HOST"))


def answers(area: str) -> Tree:
    """What the real server said."""
    found: Tree = json.loads(_ANSWERS.read_text())[area]
    return found


def answering(case: Tree, asked: list[str], name: str) -> Handler:
    async def handler(call: Call) -> Reply:
        asked.append(name)
        if "body" in case:
            return Reply(case["status"], case["body"].encode(), _JSON)
        review = json.loads(call.body)
        response = {"uid": review["request"]["uid"], "allowed": True} | case["response"]
        body = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
        return Reply(200, json.dumps(body).encode(), _JSON)

    return handler


def masked(text: str) -> str:
    for pattern, word in _HIDDEN:
        text = pattern.sub(word, text)
    return text


@everywhere(controllers=False)
async def test_webhooks_that_answer_oddly_are_treated_alike(site: Site) -> None:
    asked: list[str] = []
    found: dict[str, list[Any]] = {}
    for resource, mutating in ((MUTATING, True), (VALIDATING, False)):
        hooks = [
            {
                "name": f"{name}.fairlead.test",
                "clientConfig": await serve(site, answering(case, asked, name), f"{name}.test.svc"),
                "rules": [a_rule("CREATE")],
                "objectSelector": {"matchLabels": {CASE: name}},
            }
            | case.get("hook", {})
            for name, case in HOOKS.items()
            if case.get("mutating", False) is mutating
        ]
        await install(site, resource, "odd-mutating" if mutating else "odd-validating", *hooks)

    async with an_empty_shop(site) as shop:
        for name in HOOKS:
            asked.clear()
            answer = await shop.send("POST", shop.at(resource=CONFIG_MAPS), a_map(name, name, a="1"))
            code, reason, text = told(answer)
            data = json.loads(answer.body).get("data") if code < 300 else None
            found[name] = [code, reason, masked(text).replace(f"/{site.namespace}/", "/NAMESPACE/"), data, len(asked)]

    wanted = answers("hooks")
    assert {name: each for name, each in found.items() if each != wanted.get(name)} == {}
    assert list(found) == list(wanted)


@everywhere(controllers=False)
async def test_configurations_that_cannot_work_are_refused_in_the_servers_words(site: Site) -> None:
    places = {each.kind: path_of(each) for each in (MUTATING, VALIDATING, POLICIES, BINDINGS)}
    found: dict[str, list[Any]] = {}

    async with an_empty_shop(site) as shop:
        for name, tree in CONFIGURATIONS.items():
            answer = await shop.send("POST", places[tree["kind"]], tree, dryRun="All")
            found[name] = [list(cause) for cause in refusal(answer)[2]]

    wanted = answers("configurations")
    assert {name: each for name, each in found.items() if each != wanted.get(name)} == {}
    assert list(found) == list(wanted)
