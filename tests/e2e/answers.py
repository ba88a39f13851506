"""What a cluster says to cases that are kept apart from their answers, which `python -m tools.answers` records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kubeloop.calls import Call, Handler, Reply
from kubeloop.request import path_of
from kubesim.errors import quoted
from tests.e2e.admission_cases import HOOKS
from tests.e2e.bad_admission import CONFIGURATIONS
from tests.e2e.clusters import CUSTOM_RESOURCES, Site
from tests.e2e.definitions import Shop, an_empty_shop, refusal
from tests.e2e.history import Tree
from tests.e2e.odd_definitions import DEFINITIONS
from tests.e2e.policies import BINDINGS, CASE, CONFIG_MAPS, POLICIES, a_binding, a_map, a_policy, a_rule, enforce, told
from tests.e2e.webhooks import MUTATING, VALIDATING, install, serve
from tests.kubesim import expressions

FOLDER = Path(__file__).parent
_JSON = (("Content-Type", "application/json"),)
_HIDDEN = ((re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"), (re.compile(r"127\.0\.0\.1:\d+"), "HOST"))
_TRUE = "it is true"


def recorded(name: str) -> Tree:
    """What the real server said."""
    found: Tree = json.loads((FOLDER / f"{name}_answers.json").read_text(encoding="utf-8"))
    return found


# Definitions


async def definitions(site: Site) -> Tree:
    """Why each odd definition is refused."""
    async with an_empty_shop(site) as shop:
        return {name: await _causes(shop, path_of(CUSTOM_RESOURCES), tree) for name, tree in DEFINITIONS.items()}


async def _causes(shop: Shop, path: str, tree: Tree) -> list[list[str]]:
    answer = await shop.send("POST", path, tree, dryRun="All")
    return [list(cause) for cause in refusal(answer)[2]]


# Admission


async def admission(site: Site) -> Tree:
    return {"configurations": await configurations(site), "hooks": await hooks(site)}


async def configurations(site: Site) -> Tree:
    """Why each configuration that cannot work is refused."""
    places = {each.kind: path_of(each) for each in (MUTATING, VALIDATING, POLICIES, BINDINGS)}
    async with an_empty_shop(site) as shop:
        return {name: await _causes(shop, places[tree["kind"]], tree) for name, tree in CONFIGURATIONS.items()}


async def hooks(site: Site) -> Tree:
    """What comes of each webhook: code, reason, message, what was stored, and how often it was asked."""
    asked: list[str] = []
    found: Tree = {}
    for resource, mutating in ((MUTATING, True), (VALIDATING, False)):
        made = [
            {
                "name": f"{name}.fairlead.test",
                "clientConfig": await serve(site, _answering(case, asked, name), f"{name}.test.svc"),
                "rules": [a_rule("CREATE")],
                "objectSelector": {"matchLabels": {CASE: name}},
            }
            | case.get("hook", {})
            for name, case in HOOKS.items()
            if case.get("mutating", False) is mutating
        ]
        await install(site, resource, "odd-mutating" if mutating else "odd-validating", *made)
    async with an_empty_shop(site) as shop:
        for name in HOOKS:
            asked.clear()
            answer = await shop.send("POST", shop.at(resource=CONFIG_MAPS), a_map(name, name, a="1"))
            code, reason, text = told(answer)
            data = json.loads(answer.body).get("data") if code < 300 else None
            found[name] = [code, reason, _masked(text).replace(f"/{site.namespace}/", "/NAMESPACE/"), data, len(asked)]
    return found


def _answering(case: Tree, asked: list[str], name: str) -> Handler:
    async def handler(call: Call) -> Reply:
        asked.append(name)
        if "body" in case:
            return Reply(case["status"], case["body"].encode(), _JSON)
        review = json.loads(call.body)
        response = {"uid": review["request"]["uid"], "allowed": True} | case["response"]
        body = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
        return Reply(200, json.dumps(body).encode(), _JSON)

    return handler


def _masked(text: str) -> str:
    for pattern, word in _HIDDEN:
        text = pattern.sub(word, text)
    return text


# Expressions


async def expression_answers(site: Site) -> Tree:
    """The expressions of the recording: what is wrong with each, or what it comes to."""
    known = expressions.recorded()
    return {"mistakes": await _mistakes(site, known["mistakes"]), "values": await _values(site, known["values"])}


async def _mistakes(site: Site, wanted: Iterable[str]) -> Tree:
    found: Tree = {}
    async with an_empty_shop(site) as shop:
        for expression in wanted:
            ((_, _, message),) = await _causes(shop, path_of(POLICIES), a_policy("mistaken", expression))
            found[expression] = message.removeprefix(f"Invalid value: {quoted(expression)}: ").removeprefix(
                "compilation failed: "
            )
    return found


async def _values(site: Site, wanted: Iterable[str]) -> Tree:
    """Each is judged by a policy that denies in any case, for the requests of one writer."""
    cases = {expression: f"case-{number}" for number, expression in enumerate(wanted)}
    trees: list[Tree] = []
    for expression, name in cases.items():
        asks = [{"name": "a", "expression": f"request.options.?fieldManager.orValue('') == '{name}'"}]
        denies = {"expression": "false", "message": _TRUE}
        constraints: Tree = {"objectSelector": {}}
        trees += [
            a_policy(name, expression, denies, matchConditions=asks, constraints=constraints),
            a_binding(name),
        ]
    found: Tree = {}
    async with an_empty_shop(site) as shop:
        await enforce(site, shop, *trees)
        for expression, name in cases.items():
            path = shop.at(resource=CONFIG_MAPS)
            answer = await shop.send("POST", path, expressions.OBJECT, fieldManager=name, dryRun="All")
            found[expression] = _value(expression, told(answer)[2])
    return found


def _value(expression: str, message: str) -> Any:
    """What a denial says that an expression came to."""
    said = message.partition(" denied request: ")[2]
    if said == _TRUE:
        return True
    if said == f"failed expression: {expression.strip()}":
        return False
    return said.partition(f"expression '{expression}' resulted in error: ")[2]
