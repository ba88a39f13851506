"""The locks of the image name what the tests run with."""

from __future__ import annotations

import re
import tomllib

from tests.image.containers import ROOT


def pinned(path: str) -> dict[str, str]:
    """Everything that a lock file says of each package, hashes included, but for what asks for it."""
    text = re.sub(r"^ +#.*\n", "", (ROOT / path).read_text(), flags=re.MULTILINE)
    return {match[1]: match[0].rstrip() for match in re.finditer(r"^([\w.-]+)==.*(?:\n +\S.*)*", text, re.MULTILINE)}


def test_the_image_gets_the_versions_that_are_tested() -> None:
    every, image = pinned("requirements.lock"), pinned("image/requirements.lock")

    assert len(image) > 20
    assert image == {name: every[name] for name in image}


def test_the_image_has_all_that_fairlead_needs_and_nothing_for_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]

    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[<>=!~ ;\[]", line)[0].lower() for line in requirements}

    image = set(pinned("image/requirements.lock"))
    assert names(project["dependencies"]) | names(extras["traces"]) <= image
    assert not names(extras["dev"]) & image


def test_what_makes_the_wheel_is_pinned() -> None:
    system = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]

    assert set(system["requires"]) <= set(pinned("image/build.lock"))
