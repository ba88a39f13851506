"""What readers of a store may rely on."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from kubeloop.objects.core import Pod, PodMeta
from kubeloop.store import Store


def a_pod(name: str, *, namespace: str = "ns", version: int = 1, app: str = "") -> Pod:
    labels = {"app": app} if app else {}
    return Pod(PodMeta(name=name, uid=f"uid-{name}", resource_version=str(version), namespace=namespace, labels=labels))


def by_app(pod: Pod) -> Iterable[str]:
    return pod.metadata.labels.values()


def names(pods: Iterable[Pod]) -> list[str]:
    return [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods]


def test_objects_come_in_the_order_of_namespace_and_name_whatever_the_order_of_arrival() -> None:
    store: Store[Pod] = Store({"app": by_app})

    for name, namespace in (("b", "z"), ("c", "a"), ("a", "z"), ("b", "a")):
        store.put(a_pod(name, namespace=namespace, app="web"))

    assert names(store.items()) == ["a/b", "a/c", "z/a", "z/b"]
    assert names(store.by("app", "web")) == ["a/b", "a/c", "z/a", "z/b"]


def test_an_object_that_changes_its_value_is_found_under_the_new_one_only() -> None:
    store: Store[Pod] = Store({"app": by_app})
    store.put(a_pod("a", app="old"))

    replaced = store.put(a_pod("a", version=2, app="new"))

    assert replaced is not None
    assert replaced.metadata.resource_version == "1"
    assert names(store.by("app", "old")) == []
    assert names(store.by("app", "new")) == ["ns/a"]


def test_an_object_that_keeps_its_value_is_found_in_its_new_state() -> None:
    store: Store[Pod] = Store({"app": by_app})
    store.put(a_pod("a", app="web"))
    before = store.by("app", "web")

    store.put(a_pod("a", version=2, app="web"))

    assert [pod.metadata.resource_version for pod in store.by("app", "web")] == ["2"]
    assert [pod.metadata.resource_version for pod in before] == ["1"]


def test_a_removed_object_is_found_nowhere() -> None:
    store: Store[Pod] = Store({"app": by_app})
    store.put(a_pod("a", app="web"))
    store.put(a_pod("b", app="web"))

    removed = store.remove("ns", "a")

    assert removed is not None
    assert store.get("ns", "a") is None
    assert names(store.items()) == names(store.by("app", "web")) == ["ns/b"]
    assert len(store) == 1


def test_a_value_that_nobody_has_any_more_is_not_remembered() -> None:
    store: Store[Pod] = Store({"app": by_app})

    for number in range(100):
        store.put(a_pod("a", version=number, app=f"app-{number}"))
    store.remove("ns", "a")

    assert store._shelves == {"app": {}}


def test_removing_what_is_not_there_changes_nothing() -> None:
    store: Store[Pod] = Store({"app": by_app})
    store.put(a_pod("a", app="web"))

    assert store.remove("ns", "b") is None
    assert names(store.items()) == ["ns/a"]


steps = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "x", "y", "remove"])), max_size=30)


@given(steps)
def test_an_index_always_equals_a_search_through_all_objects(steps: list[tuple[str, str]]) -> None:
    store: Store[Pod] = Store({"app": by_app})
    plain: dict[str, str] = {}

    for number, (name, step) in enumerate(steps):
        if step == "remove":
            store.remove("ns", name)
            plain.pop(name, None)
        else:
            store.put(a_pod(name, version=number, app=step))
            plain[name] = step

        assert names(store.items()) == [f"ns/{known}" for known in sorted(plain)]
        for app in "xy":
            assert names(store.by("app", app)) == [f"ns/{known}" for known in sorted(plain) if plain[known] == app]
