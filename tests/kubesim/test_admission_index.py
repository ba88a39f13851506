"""Who is asked about a request is the same whether it is looked up in the index or found among all configurations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as some

from kubeloop.objects.meta import Resource
from kubesim.admission.matching import is_labelled
from kubesim.admission.reviewing import Asker
from kubesim.auth.rbac import user_of
from kubesim.cluster import Cluster
from kubesim.kinds.registry import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    AUTOSCALERS,
    AUTOSCALERS_V1,
    CORE_EVENTS,
    DEFINITIONS,
    EVENTS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    NODES,
    PODS,
    VALIDATING_WEBHOOKS,
    Kind,
)
from kubesim.rules.webhook_configurations import Hook, WebhookRule, hooks_of
from kubesim.store.versions import Tree
from kubesim.time import run
from kubesim.writes.asking import MUTATING, VALIDATING, Question
from tests.kubesim.hooks import a_hook, a_rule, on_a_cluster

KINDS = (PODS, CORE_EVENTS, EVENTS, AUTOSCALERS, AUTOSCALERS_V1, NODES, NAMESPACES)
PARTS = ("", "status")
SPACES = ("default", "other")
TIERS = ("x", "y")


def lists(*values: str) -> some.SearchStrategy[list[str]]:
    """Some of them, or all by a star."""
    named = some.lists(some.sampled_from(values), min_size=1, max_size=2, unique=True)
    return some.just(["*"]) | named


PATTERNS = ("pods", "pods/*", "pods/status", "*", "*/*", "*/status", "events", "horizontalpodautoscalers")
selectors: some.SearchStrategy[Tree] = some.just({}) | some.builds(
    lambda tier: {"matchLabels": {"tier": tier}}, some.sampled_from(TIERS)
)
rules = some.fixed_dictionaries(
    {
        "operations": lists("CREATE", "DELETE"),
        "apiGroups": lists("", "autoscaling", "events.k8s.io"),
        "apiVersions": lists("v1", "v2"),
        "resources": some.sampled_from(PATTERNS).map(lambda each: [each]),
        "scope": some.sampled_from(("*", "Namespaced", "Cluster")),
    }
)
match_policies = some.sampled_from(("Exact", "Equivalent"))
hooks = some.fixed_dictionaries(
    {
        "rules": some.lists(rules, min_size=1, max_size=2),
        "matchPolicy": match_policies,
        "namespaceSelector": selectors,
        "objectSelector": selectors,
    }
)
named_rules = some.builds(
    lambda rule, names: rule | ({"resourceNames": names} if names else {}),
    rules,
    some.just([]) | some.just(["a"]),
)
scopes = some.fixed_dictionaries(
    {
        "resourceRules": some.lists(named_rules, min_size=1, max_size=2),
        "excludeResourceRules": some.lists(named_rules, max_size=1),
        "matchPolicy": match_policies,
        "namespaceSelector": selectors,
        "objectSelector": selectors,
    }
)
configurations = some.tuples(
    some.just("hooks"),
    some.sampled_from((MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)),
    some.lists(hooks, min_size=1, max_size=2),
)
policies = some.tuples(some.just("policy"), some.none(), some.tuples(scopes, some.none() | scopes))
relabellings = some.tuples(some.just("label"), some.sampled_from(SPACES), some.sampled_from(TIERS))
clearings = some.tuples(
    some.just("clear"), some.sampled_from((MUTATING_WEBHOOKS, ADMISSION_POLICY_BINDINGS)), some.none()
)
changes = some.tuples(configurations | policies, relabellings, configurations | policies | relabellings | clearings)
QUESTIONS = tuple(product(KINDS, PARTS, ("CREATE", "DELETE"), (*SPACES, "gone"), ("a", "b"), TIERS[:1]))


class World:
    """A cluster whose configurations change between questions."""

    def __init__(self) -> None:
        self.cluster = Cluster(namespaces=SPACES)
        self.verbs = self.cluster.verbs
        self._count = 0

    def change(self, what: str, where: Any, content: Any) -> None:
        self._count += 1
        name = f"c{self._count}"
        match what:
            case "hooks":
                made = [a_hook(f"h{index}", **hook) for index, hook in enumerate(content)]
                self._create(where, name, webhooks=made)
            case "policy":
                constraints, scope = content
                warns = {"validations": [{"expression": "false"}], "matchConstraints": constraints}
                bound = {"policyName": name, "validationActions": ["Warn"]}
                self._create(ADMISSION_POLICIES, name, spec=warns)
                self._create(ADMISSION_POLICY_BINDINGS, name, spec=bound | ({"matchResources": scope} if scope else {}))
            case "label":
                body = msgspec.json.encode({"metadata": {"labels": {"tier": content}}})
                self.verbs.patch(NAMESPACES, "", where, "application/merge-patch+json", body, user="admin")
            case "clear":
                for version in list(self.verbs.store.table(where).live.values()):
                    self.verbs.delete(where, "", version.head.name, user="admin")

    def _create(self, resource: Resource, name: str, **content: Any) -> None:
        self.verbs.create(resource, "", {"metadata": {"name": name}} | content, user="admin")

    def question(
        self, resource: Resource, part: str, operation: str, namespace: str, name: str, tier: str | None
    ) -> Question:
        kind = self.verbs.registry.kind(resource)
        if resource == NAMESPACES:
            name = namespace = namespace if namespace in SPACES else "default"
        space = namespace if resource.namespaced or resource == NAMESPACES else ""
        tree: Tree = {"metadata": {"name": name, "labels": {} if tier is None else {"tier": tier}}}
        new, old = (None, tree) if operation == "DELETE" else (tree, None)
        return Question(VALIDATING, operation, kind, part, space, name, resource, lambda sent: sent, new, old)

    # Who is asked

    def indexed(self, question: Question) -> list[tuple[str, str, Kind]]:
        """Phase, webhook and kind of all who are asked, by the index."""
        found = self.verbs.admission.index.of(question)
        if found is None:
            return []
        listed = [(MUTATING, each) for each in found.mutating] + [(VALIDATING, each) for each in found.validating]
        return [
            (phase, each.key, each.kind or question.kind)
            for phase, each in listed
            if self._selected(each.hook, question)
        ]

    def everybody(self, question: Question) -> Iterator[tuple[str, str, Kind]]:
        """The same, found by asking every webhook of every configuration."""
        for phase, resource in ((MUTATING, MUTATING_WEBHOOKS), (VALIDATING, VALIDATING_WEBHOOKS)):
            for version in self.verbs.store.table(resource).at(None):
                for index, hook in enumerate(hooks_of(version)):
                    kind = self._kind(hook, question)
                    if kind is not None and self._selected(hook, question):
                        yield phase, f"{version.head.name}/{index}", kind

    def _kind(self, hook: Hook, question: Question) -> Kind | None:
        def means(rule: WebhookRule, kind: Kind) -> bool:
            return rule.matches(question.operation, kind.resource, question.subresource, question.namespace)

        if any(means(rule, question.kind) for rule in hook.rules):
            return question.kind
        everything = (self.verbs.registry.kind(resource) for resource in KINDS)
        others = [kind for kind in everything if kind.storage == question.kind.storage and kind is not question.kind]
        found = (kind for rule in hook.rules for kind in others if means(rule, kind))
        return next(found, None) if hook.match_policy == "Equivalent" else None

    def _selected(self, hook: Hook, question: Question) -> bool:
        matching = self.verbs.admission.index._matching
        if not is_labelled(hook.object_selector, question, question.object):
            return False
        is_there = ("", question.namespace) in self.verbs.store.table(NAMESPACES).live
        is_inside = bool(question.namespace) and question.kind.resource != NAMESPACES
        return (is_inside and not is_there) or matching.in_namespace(
            hook.namespace_selector, question, question.object or question.old
        )

    async def judged(self, question: Question, *, all_of_them: bool) -> list[str]:
        """What all policies that are about the request warn of."""
        admission, warnings = self.verbs.admission, list[str]()
        found = admission.index.of(question)
        near = found.policies if found is not None else ()
        policies = admission._policies
        bound = policies.bound() if all_of_them else near
        await policies.ask(bound, question, Asker(user_of("admin"), {}), warnings, admission.converter)
        return warnings


EVERYTHING = a_rule("*", "*/*", scope="*")
ABOUT_ALL = ("policy", None, ({"resourceRules": [EVERYTHING]}, None))
BUT_ONE = (
    "policy",
    None,
    ({"resourceRules": [EVERYTHING], "excludeResourceRules": [EVERYTHING | {"resourceNames": ["a"]}]}, None),
)
RELABELLED = ("label", "default", "x")


@given(changes)
@example((ABOUT_ALL, RELABELLED, ("clear", ADMISSION_POLICY_BINDINGS, None)))
@example((BUT_ONE, RELABELLED, ABOUT_ALL))
def test_the_index_finds_whom_a_look_at_all_configurations_finds(steps: tuple[Any, ...]) -> None:
    """After every change, for requests of all sorts; each is asked about once before the change, and so remembered."""

    async def script() -> None:
        world = World()
        for change in steps:
            world.change(*change)
            for each in QUESTIONS:
                question = world.question(*each)

                assert world.indexed(question) == list(world.everybody(question))
                if question.namespace != "gone":
                    by_all = await world.judged(question, all_of_them=True)
                    assert await world.judged(question, all_of_them=False) == by_all

    run(script())


def test_a_request_that_nobody_is_about_is_nobodys() -> None:
    """What keeps short ways open: a configuration about another kind, operation, part or namespace counts as none."""

    async def script(cluster: Cluster) -> list[bool]:
        elsewhere: Tree = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
        near = [
            a_hook("a", a_rule("*", "statefulsets statefulsets/*")),
            a_hook("b", a_rule("UPDATE", "pods")),
            a_hook("c", a_rule("*", "pods/eviction")),
            a_hook("d", a_rule("*", "pods"), **elsewhere),
        ]
        concerned = []
        for index, hook in enumerate([*near, a_hook("e", a_rule("CREATE", "*"))]):
            configuration = {"metadata": {"name": f"c{index}"}, "webhooks": [hook]}
            cluster.verbs.create(VALIDATING_WEBHOOKS, "", configuration, user="admin")
            concerned.append(cluster.verbs.admission.concerns("CREATE", PODS, "", "default"))
        return concerned

    assert on_a_cluster(script) == [False] * 4 + [True]


def test_a_version_of_a_kind_that_is_served_later_is_equivalent_from_then_on() -> None:
    def definition(*versions: str) -> Tree:
        schema = {"openAPIV3Schema": {"type": "object"}}
        served = [{"name": each, "served": True, "storage": each == "v1", "schema": schema} for each in versions]
        names = {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
        spec = {"group": "shop.example.com", "scope": "Namespaced", "names": names, "versions": served}
        return {"metadata": {"name": "widgets.shop.example.com"}, "spec": spec}

    async def script(cluster: Cluster) -> list[bool]:
        cluster.verbs.create(DEFINITIONS, "", definition("v1"), user="admin")
        await asyncio.sleep(5)
        hook = a_hook("a", a_rule("CREATE", "widgets", apiVersions=["v2"]))
        cluster.verbs.create(VALIDATING_WEBHOOKS, "", {"metadata": {"name": "c"}, "webhooks": [hook]}, user="admin")
        widgets = Resource("shop.example.com", "v1", "widgets", "Widget")
        before = cluster.verbs.admission.concerns("CREATE", widgets, "", "default")
        known = cluster.verbs.read(DEFINITIONS, "", "widgets.shop.example.com")
        changed = definition("v1", "v2") | {"metadata": known["metadata"]}
        cluster.verbs.update(DEFINITIONS, "", "widgets.shop.example.com", changed, user="admin")
        await asyncio.sleep(5)
        return [before, cluster.verbs.admission.concerns("CREATE", widgets, "", "default")]

    assert on_a_cluster(script) == [False, True]
