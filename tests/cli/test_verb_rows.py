"""Which contract is asked where several have the verb."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from msgspec import Struct

from fairlead.cli import exits, verb_rows
from fairlead.cli.connect import Cluster
from fairlead.cli.verb_rows import Stop, chosen
from fairlead.core.ask import Answers, Need
from fairlead.core.verb import VERBS, Instead, Nothing, Verb, VerbAnswer, VerbRequest, Verbs
from fairlead.engine.contract import Root
from kubeloop.client import Client
from kubeloop.errors import Forbidden, NotFound, TransportError
from kubeloop.objects.apps import STATEFULSETS, StatefulSet, StatefulSetMeta
from tests.cli.worlds import World


class Table(Struct, frozen=True):
    table: Verbs

    def get(self) -> Verbs:
        return self.table


class Some(Struct, frozen=True):
    """As much of a contract as is looked at."""

    name: str
    verbs: Table | None
    roots: tuple[Root, ...] = ()


def nothing(*_: object) -> VerbAnswer:
    return Nothing("")


def a_contract(name: str, *names: str, has: bool = True, error: Exception | None = None) -> Some:
    """Its rollouts have these names."""

    def find(request: VerbRequest, _: Answers, __: object) -> bool | Need:
        if error is not None:
            raise error
        return request.name in names

    row: Verb | Instead = Verb(nothing, "") if has else Instead(f"{name}: do something else with {{name}}")
    return Some(name, Table(Verbs(name, find, dict.fromkeys(VERBS, row))))


def asked(monkeypatch: pytest.MonkeyPatch, known: Sequence[Some], name: str, part: str = "") -> str:
    """The contract that is asked to pause this."""
    monkeypatch.setattr(verb_rows, "contracts", lambda: known)

    async def work() -> str:
        there = StatefulSet(StatefulSetMeta(name="a", uid="uid", resource_version="1", namespace="test"))
        found, _ = await chosen(Cluster(Client(World(there)), ("test",)), "pause", VerbRequest("test", name), part)
        return found

    return asyncio.run(work())


def test_the_contract_that_has_the_rollout_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [a_contract("plans", "x"), a_contract("sets", "y"), Some("bare", None)]

    assert asked(monkeypatch, known, "x") == "plans"
    assert asked(monkeypatch, known, "y") == "sets"


def test_the_same_name_in_two_contracts_is_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [a_contract("plans", "x"), a_contract("sets", "x")]

    with pytest.raises(Stop, match="x names several rollouts: choose plans/x or sets/x") as stop:
        asked(monkeypatch, known, "x")

    assert stop.value.code == exits.USAGE
    assert asked(monkeypatch, known, "x", "sets") == "sets"


@pytest.mark.parametrize("error", [Forbidden(403, "Forbidden", "no"), NotFound(404)])
def test_who_may_not_see_one_contract_may_ask_another(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    known = [a_contract("plans", error=error), a_contract("sets", "x")]

    assert asked(monkeypatch, known, "x") == "sets"


@pytest.mark.parametrize("error", [Forbidden(403, "Forbidden", "no"), NotFound(404)])
def test_an_error_is_told_where_nobody_has_the_rollout(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    with pytest.raises(type(error)):
        asked(monkeypatch, [a_contract("plans", error=error), a_contract("sets")], "x")


def test_a_contract_without_the_verb_says_what_to_do_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [a_contract("plans"), a_contract("sets"), a_contract("zones", "x", has=False)]

    with pytest.raises(Stop, match="zones: do something else with x"):
        asked(monkeypatch, known, "x")


@pytest.mark.parametrize("error", [Forbidden(403, "Forbidden", "no"), TransportError("no route")])
def test_where_nobody_can_tell_who_has_it_the_error_is_told(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    known = [a_contract("plans", error=error, has=False), a_contract("sets", error=error, has=False)]

    with pytest.raises(type(error)):
        asked(monkeypatch, known, "x")


def test_who_may_not_see_a_contract_without_the_verb_is_told_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    error = Forbidden(403, "Forbidden", "no")
    known = [a_contract("plan"), a_contract("set"), a_contract("zone", error=error, has=False)]

    with pytest.raises(Stop, match="no plan or set named x in namespace test"):
        asked(monkeypatch, known, "x")


def test_a_contract_without_a_table_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Stop, match="bare has no verbs: what its rollouts do is changed in their objects"):
        asked(monkeypatch, [a_contract("plans", "x"), Some("bare", None)], "x", "bare")


@pytest.mark.parametrize(
    ("name", "said"), [("a", "^a is a bare, which has no verbs: "), ("x", "no plan or set named x")]
)
def test_what_is_shown_and_has_no_verbs_is_told_as_that(monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    """`fairlead get` lists it, so that nobody believes that it is not there."""
    bare = Some("bare", None, (Root(STATEFULSETS, "bare"),))

    with pytest.raises(Stop, match=said):
        asked(monkeypatch, [a_contract("plan"), a_contract("set"), bare], name)


def test_where_nobody_has_it_all_that_could_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [a_contract("plan"), a_contract("set"), a_contract("zone", has=False)]

    with pytest.raises(Stop, match="no plan or set named x in namespace test: `fairlead get` lists") as stop:
        asked(monkeypatch, known, "x")

    assert stop.value.code == exits.NOT_FOUND
