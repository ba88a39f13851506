"""Image references, versions and the steps between them."""

from __future__ import annotations

import itertools

import pytest

from fairlead.contracts.environments.decide.images import at_least, companion, refused_upgrade, tag_of, version_of

DIGEST = "@sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("ref", "tag"),
    [
        ("materialize/environmentd:v26.0.0", "v26.0.0"),
        ("environmentd:v1", "v1"),
        ("registry.example:5000/materialize/environmentd:v26.0.0", "v26.0.0"),
        ("registry.example:5000/materialize/environmentd", None),
        ("materialize/environmentd", None),
        (f"materialize/environmentd:v26.0.0{DIGEST}", "v26.0.0"),
        (f"materialize/environmentd{DIGEST}", None),
    ],
)
def test_the_tag_is_what_follows_the_last_colon_of_the_last_part(ref: str, tag: str | None) -> None:
    assert tag_of(ref) == tag


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("v26.0.0", "26.0.0"),
        ("v0.34.0-dev", "0.34.0-dev"),
        ("v26.1.0-dev.0--main.gabcdef", "26.1.0-dev.0"),
        ("v26.1.0--pr.g123", "26.1.0"),
        ("26.0.0", None),
        ("latest", None),
        ("v26.0", None),
        ("v26.0.0-", None),
        ("v026.0.0", None),
        ("v26.0.0-01", None),
        ("v26.0.0-dev--", None),
    ],
)
def test_a_tag_spells_a_version_only_after_a_v_and_with_two_dashes_for_a_plus(tag: str, version: str | None) -> None:
    found = version_of(f"materialize/environmentd:{tag}")

    assert (None if found is None else str(found)) == version


def test_versions_are_ordered_by_precedence_and_builds_are_equal() -> None:
    tags = [
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0",
        "1.0.1",
        "1.2.0",
    ]
    versions = [version_of(f"a:v{tag}") for tag in [*tags, "1.10.0", "2.0.0"]]

    for earlier, later in itertools.pairwise(versions):
        assert earlier is not None
        assert later is not None
        assert earlier < later
        assert not later <= earlier
    assert version_of("a:v1.0.0--one") == version_of("a:v1.0.0--two")


@pytest.mark.parametrize(
    ("ref", "version", "answer"),
    [
        ("a:v0.147.0-dev.0", "0.147.0-dev.0", True),
        ("a:v0.147.0-dev.0--build", "0.147.0-dev.0", True),
        ("a:v0.147.0", "0.147.0-dev.0", True),
        ("a:v0.146.9", "0.147.0-dev.0", False),
        ("a:v0.34.0-dev", "0.34.0", False),
        ("a:latest", "99.0.0", True),
        ("a", "99.0.0", True),
    ],
)
def test_an_image_has_what_came_with_a_version_and_an_unknown_one_has_everything(
    ref: str, version: str, answer: bool
) -> None:
    assert at_least(ref, version) is answer


def test_asking_for_something_that_is_no_version_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="'26' is not a version"):
        at_least("a:v26.0.0", "26")


@pytest.mark.parametrize(
    ("ref", "tag", "image"),
    [
        ("materialize/environmentd:v26.0.0", "", "materialize/balancerd:v26.0.0"),
        ("registry.example:5000/mz/environmentd:v26.0.0", "", "registry.example:5000/mz/balancerd:v26.0.0"),
        ("environmentd:v26.0.0", "", "materialize/balancerd:v26.0.0"),
        ("materialize/environmentd", "", "materialize/balancerd:latest"),
        (f"materialize/environmentd:v26.0.0{DIGEST}", "", "materialize/balancerd:v26.0.0"),
        (f"materialize/environmentd{DIGEST}", "", "materialize/balancerd:latest"),
        ("materialize/environmentd:v26.0.0", "26.1", "materialize/balancerd:26.1"),
    ],
)
def test_a_companion_lies_in_the_same_folder_and_has_the_same_tag(ref: str, tag: str, image: str) -> None:
    assert companion(ref, "balancerd", tag) == image


@pytest.mark.parametrize(
    ("running", "wanted"),
    [
        ("v26.0.0", "v26.0.0"),
        ("v26.0.0", "v26.0.0--rebuilt"),
        ("v26.0.0", "v26.9.3"),
        ("v26.0.0", "v27.5.0"),
        ("v26.0.0-dev.0", "v26.0.0"),
        ("v30.1.0", "v31.0.0"),
        ("v0.130.4", "v0.131.0"),
        ("v0.130.4", "v0.147.0"),
        ("v0.147.3", "v0.147.9"),
        ("v0.147.3", "v0.148.0"),
        ("v0.147.20", "v26.0.0"),
        ("v0.164.0", "v26.3.0"),
        ("v0.170.1", "v26.0.0"),
        ("v1.0.0", "v25.0.0"),
        ("v25.2.0", "v28.0.0"),
        ("latest", "v0.1.0"),
        ("v28.0.0", "latest"),
    ],
)
def test_these_upgrades_are_allowed(running: str, wanted: str) -> None:
    assert refused_upgrade(f"mz/environmentd:{running}", f"mz/environmentd:{wanted}") == ""


@pytest.mark.parametrize(
    ("running", "wanted", "advice"),
    [
        ("v26.1.0", "v26.0.0", "Downgrades are not possible: use an image of version v26.1.0 or later."),
        ("v26.0.0", "v26.0.0-dev.0", "Downgrades are not possible: use an image of version v26.0.0 or later."),
        ("v26.0.0", "v0.170.0", "Downgrades are not possible: use an image of version v26.0.0 or later."),
        ("v26.0.0", "v28.0.1", "Major versions cannot be skipped: upgrade to a version v27 first."),
        ("v0.130.0", "v0.132.0", "Minor versions cannot be skipped: upgrade to a version v0.131 or v0.147 first."),
        ("v0.130.0", "v0.148.0", "Minor versions cannot be skipped: upgrade to a version v0.131 or v0.147 first."),
        ("v0.131.0", "v0.147.0", "Minor versions cannot be skipped: upgrade to a version v0.132 first."),
        (
            "v0.147.19",
            "v26.0.0",
            "Upgrade to v0.147.20 or a later patch of v0.147, or to v0.164 or later, first.",
        ),
        (
            "v0.163.9",
            "v26.0.0",
            "Upgrade to v0.147.20 or a later patch of v0.147, or to v0.164 or later, first.",
        ),
        ("v0.170.0", "v27.0.0", "From v0 only versions v26 can be reached: upgrade to one of those first."),
        ("v0.170.0", "v1.0.0", "From v0 only versions v26 can be reached: upgrade to one of those first."),
    ],
)
def test_these_upgrades_are_refused_with_what_is_allowed(running: str, wanted: str, advice: str) -> None:
    before, after = f"mz/environmentd:{running}", f"mz/environmentd:{wanted}"

    assert refused_upgrade(before, after) == f"Refusing to upgrade from {before} to {after}. {advice}"
