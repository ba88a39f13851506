"""Steps in the life of a version: what each writes, and what is in its way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from fairlead.contracts.apiversions.decide.lifecycle import (
    Converters,
    LifecycleRefused,
    LifecycleStep,
    Requests,
    deprecated,
    introduced,
    owned_elsewhere,
    removed,
    served,
    stored,
    unserved,
    wrong_warning,
)
from fairlead.contracts.apiversions.decide.request_history import open_watches, requests_of
from fairlead.contracts.apiversions.decide.version_uses import Uses
from tests.contracts.apiversions.decide.definitions import GROUP, NAME, V1, V2, Tree, a_definition, a_version

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
WEBHOOK = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"service": {"namespace": "ours", "name": "hook"}}, "conversionReviewVersions": ["v1"]},
}


def converted(*versions: Tree, stored: tuple[str, ...] = ("v2",)) -> Tree:
    """A definition whose objects a webhook converts."""
    return a_definition(*versions, stored=stored, conversion=WEBHOOK)


def reasons(found: LifecycleStep | LifecycleRefused) -> str:
    assert isinstance(found, LifecycleRefused), found
    return "\n".join(found.reasons)


def patch_of(found: LifecycleStep | LifecycleRefused) -> list[tuple[str, str, object]]:
    assert isinstance(found, LifecycleStep), found
    return [(each["op"], each["path"], each.get("value")) for each in found.patch if each["op"] != "test"]


def covering(*versions: str, **replicas: frozenset[str]) -> Converters:
    return Converters(rules=frozenset(versions), hub="v2", replicas=replicas)


@pytest.mark.parametrize(
    ("make", "attaches"), [(converted, False), (a_definition, True)], ids=["converted", "not converted"]
)
def test_what_comes_next_is_a_command_that_is_not_refused(make: Callable[..., Tree], attaches: bool) -> None:
    """Where nobody converts and versions prune one another, `serve` would be refused until the CRD is attached."""
    live = make(a_version("v1", V1, storage=True), stored=("v1",))
    new = make(a_version("v1", V1, storage=True), a_version("v2", V2))

    found = introduced(live, new, covering("v1", "v2"), (), yes=False)

    assert isinstance(found, LifecycleStep)
    assert (f"next: `fairlead api attach {NAME} --rules FILE`, then " in found.said) is attaches
    assert found.said.endswith(f"`fairlead api serve {NAME} v2`")


def test_a_new_version_is_introduced_unserved_and_what_else_the_file_says_stays_out() -> None:
    live = converted(a_version("v1", V1, storage=True), stored=("v1",))
    new = converted(a_version("v1", V2), a_version("v2", V2, storage=True))

    found = introduced(live, new, covering("v1", "v2"), (), yes=False)

    ((op, path, value),) = patch_of(found)
    assert (op, path) == ("add", "/spec/versions/-")
    assert value == a_version("v2", V2, served=False, storage=False)
    assert isinstance(found, LifecycleStep)
    assert found.warnings == ("v1 also differs in the file, which stays as it is",)


def test_a_version_that_somebody_cannot_convert_is_neither_introduced_nor_stored() -> None:
    live = converted(a_version("v1", V1, storage=True), stored=("v1",))
    behind = covering("v1", a=frozenset({"v1", "v2"}), b=frozenset({"v1"}))

    told = reasons(introduced(live, converted(), behind, (), yes=False))

    assert "rules do not cover v2" in told
    assert "replica b cannot convert v2 yet" in told
    assert "replica a" not in told
    both = converted(a_version("v1", V1, storage=True), a_version("v2", V2))
    assert "replica b" in reasons(stored(both, "v2", behind))


def test_a_webhook_of_somebody_else_needs_the_word_of_the_caller() -> None:
    both = converted(a_version("v1", V1, storage=True), a_version("v2", V2))

    assert "ours/hook, which does not say what it converts" in reasons(stored(both, "v2", Converters()))
    assert patch_of(stored(both, "v2", Converters(), yes=True)) == [
        ("add", "/spec/versions/0/storage", False),
        ("add", "/spec/versions/1/storage", True),
    ]


def test_storage_changes_in_one_write_with_a_warning_for_a_release_that_could_not_read_it() -> None:
    both = converted(a_version("v1", V1, storage=True), a_version("v2", V2))

    found = stored(both, "v2", covering("v1", "v2"), unknown_to="1.2.0")

    assert isinstance(found, LifecycleStep)
    assert found.warnings == ("release 1.2.0 does not know v2: after a rollback to it nobody reads what is stored",)
    assert len({each["path"].split("/")[3] for each in found.patch}) == 2


def test_a_version_is_served_when_nothing_is_lost() -> None:
    live = converted(a_version("v1", V1), a_version("v2", V2, served=False, storage=True))

    assert patch_of(served(live, "v2", ())) == [("add", "/spec/versions/1/served", True)]
    assert reasons(served(live, "v2", ["/spec/x does not come back"])) == "/spec/x does not come back"
    assert "--yes" in reasons(served(live, "v2", (), unchecked="nobody knows the rules"))
    assert patch_of(served(live, "v2", (), unchecked="nobody knows the rules", yes=True))


@pytest.mark.parametrize(
    ("version", "told"),
    [
        pytest.param(a_version("v1", V1, storage=True), "set-storage", id="the storage version"),
        pytest.param(a_version("v1", V1, served=False), "not served", id="one that is not served"),
    ],
)
def test_what_cannot_be_deprecated_is_not(version: Tree, told: str) -> None:
    live = a_definition(version, a_version("v2", V2, storage=not version["storage"]))

    assert told in reasons(deprecated(live, "v1", None))


def test_words_of_a_deprecation_come_and_go() -> None:
    live = a_definition()
    assert patch_of(deprecated(live, "v1", "gone in May")) == [
        ("add", "/spec/versions/0/deprecated", True),
        ("add", "/spec/versions/0/deprecationWarning", "gone in May"),
    ]
    said = a_definition(
        a_version("v1", V1, deprecated=True, deprecationWarning="gone"), a_version("v2", V2, storage=True)
    )
    assert ("remove", "/spec/versions/0/deprecationWarning", None) in patch_of(deprecated(said, "v1", None))
    assert patch_of(deprecated(said, "v1", "gone")) == []


@pytest.mark.parametrize(("text", "is_wrong"), [("", True), ("x" * 257, True), ("a\tb", True), ("gone in May", False)])
def test_words_of_a_deprecation_are_one_short_line(text: str, is_wrong: bool) -> None:
    assert bool(wrong_warning(text)) == is_wrong


def uses(**named: str) -> Uses:
    found = Uses()
    if "managed" in named:
        found.see(
            {"name": "w", "namespace": "a", "managedFields": [{"apiVersion": f"{GROUP}/{named['managed']}"}]}, GROUP
        )
    if "owned" in named:
        found.see_dependent([named["owned"]], "Secret a/s")
    return found


def test_a_version_that_something_names_is_neither_unserved_nor_removed() -> None:
    live = a_definition()
    gone = a_definition(a_version("v1", V1, served=False), a_version("v2", V2, storage=True))

    for named, told in (
        (uses(managed="v1"), "managedFields of a/w name v1"),
        (uses(owned="v1"), "Secret a/s names an owner in v1"),
    ):
        assert f"{told}: run `fairlead api fix-refs {NAME}` first" in reasons(
            unserved(live, "v1", named, Requests(), yes=True)
        )
        assert told in reasons(removed(gone, "v1", named))
    others = uses(managed="v2", owned="v2")
    assert patch_of(unserved(live, "v1", others, Requests(), yes=False)) == [("add", "/spec/versions/0/served", False)]
    assert patch_of(removed(gone, "v1", others)) == [("remove", "/spec/versions/0", None)]


def test_neither_the_storage_version_nor_the_hub_is_unserved() -> None:
    assert "storage version" in reasons(unserved(a_definition(), "v2", Uses(), Requests(), yes=True))
    assert "the hub" in reasons(unserved(a_definition(), "v1", Uses(), Requests(), "v1", yes=True))


def test_doubt_about_requests_is_the_callers_and_a_request_is_no_doubt() -> None:
    live = a_definition()

    assert "--yes" in reasons(unserved(live, "v1", Uses(), Requests(doubt="nobody counts"), yes=False))
    assert patch_of(unserved(live, "v1", Uses(), Requests(doubt="nobody counts"), yes=True))
    asked = Requests(seen=True)
    assert "was asked for" in reasons(unserved(live, "v1", Uses(), asked, yes=True))
    assert patch_of(unserved(live, "v1", Uses(), asked, yes=False, although_asked=True))


def test_a_version_that_is_served_or_may_be_stored_is_not_removed() -> None:
    assert "`fairlead api unserve" in reasons(removed(a_definition(), "v1", Uses()))
    old = a_definition(a_version("v1", V1, served=False), a_version("v2", V2, storage=True), stored=("v1", "v2"))
    assert "`fairlead api migrate" in reasons(removed(old, "v1", Uses()))


def deprecated_for(hours: float) -> Tree:
    live = a_definition(a_version("v1", V1, deprecated=True), a_version("v2", V2, storage=True))
    when = (NOW - timedelta(hours=hours)).isoformat()
    live["metadata"]["managedFields"] = [{"time": when, "fieldsV1": {"f:spec": {"f:versions": {}}}}]
    return live


def metrics(hours: float, version: str = "") -> str:
    labels = f'group="{GROUP}",removed_release="",resource="widgets",subresource="",version="{version}"'
    sample = f"apiserver_requested_deprecated_apis{{{labels}}} 1\n" if version else ""
    return f"{sample}process_start_time_seconds {(NOW - timedelta(hours=hours)).timestamp():.6e}\n"


@pytest.mark.parametrize(
    ("live", "text", "servers", "told"),
    [
        pytest.param(deprecated_for(25), None, 1, "cannot be read", id="no metrics"),
        pytest.param(deprecated_for(25), metrics(30), 3, "3 API servers", id="several servers"),
        pytest.param(deprecated_for(25), metrics(2), 1, "not been up", id="a young server"),
        pytest.param(a_definition(), metrics(30), 1, "not deprecated", id="not deprecated"),
        pytest.param(deprecated_for(3), metrics(30), 1, "within 24 hours", id="lately deprecated"),
        pytest.param(deprecated_for(25), metrics(30), 1, "", id="nobody asks"),
        pytest.param(deprecated_for(25), metrics(30, "v2"), 1, "", id="somebody asks for another"),
    ],
)
def test_that_nobody_asks_is_known_after_a_day(live: Tree, text: str | None, servers: int, told: str) -> None:
    found = requests_of(live, "v1", text, servers, NOW)

    assert not found.seen
    assert told in found.doubt
    assert bool(found.doubt) == bool(told)


def test_a_counted_request_is_known_whoever_else_there_is() -> None:
    assert requests_of(deprecated_for(1), "v1", metrics(1, "v1"), 3, NOW) == Requests(seen=True)


def test_who_watches_a_version_that_is_deprecated_is_told_to_be_counted_from_then_on() -> None:
    """The write ends every watch of the kind, and controllers that have not heard of the newer version come back."""
    labels = f'component="apiserver",group="{GROUP}",resource="widgets",scope="cluster",verb="WATCH"'
    text = "".join(
        f'apiserver_longrunning_requests{{{labels},version="{version}"}} {count}\n'
        for version, count in (("v1", 2), ("v2", 3))
    )
    live = a_definition()

    step = deprecated(live, "v1", None, open_watches(live, "v1", text))
    again = deprecated(deprecated_for(1), "v1", "another text", open_watches(live, "v1", text))

    assert isinstance(step, LifecycleStep)
    assert "2 watches of v1 are open" in step.warnings[0]
    assert open_watches(live, "v1", None) == 0
    assert isinstance(again, LifecycleStep)
    assert again.warnings == ()


@pytest.mark.parametrize("label", [{"olm.managed": "true"}, {"operators.coreos.com/widgets.ns": ""}])
def test_a_definition_of_olm_is_left_to_it(label: dict[str, str]) -> None:
    live = a_definition()
    assert owned_elsewhere(live) is None

    live["metadata"]["labels"] = label

    found = owned_elsewhere(live)
    assert found is not None
    assert "bundle" in found.reasons[0]


def test_kinds_that_could_not_be_looked_at_are_told() -> None:
    named = Uses(untold=["Secret", "apps/Deployment"])

    found = unserved(a_definition(), "v1", named, Requests(), yes=False)

    assert isinstance(found, LifecycleStep)
    assert found.warnings == (
        "Secret, apps/Deployment may not be listed by you, and may hold references to the version",
    )
