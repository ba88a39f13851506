"""Release files: what this build says of itself, and what is read of others."""

from __future__ import annotations

from importlib.resources import files

import msgspec
import pytest

from fairlead import __version__
from fairlead.contracts import contracts
from fairlead.core.release import BadRelease, Release, ReleasedKind, read_release, written
from fairlead.engine import releases
from fairlead.engine.releases import known_release, known_versions, this_release


def test_the_file_of_this_release_is_what_the_build_says() -> None:
    kept = files("fairlead").joinpath("releases", f"{__version__}.json").read_text()

    assert kept == written(this_release(contracts())), (
        f"renew it: fairlead manifests --release > fairlead/releases/{__version__}.json"
    )


def test_a_release_is_read_as_it_was_written() -> None:
    release = this_release(contracts())

    assert read_release(written(release).encode()) == release
    assert known_release(__version__) == release
    empty = Release(version="1.0.0", minimum_compatible="1.0.0")
    assert read_release(written(empty).encode()) == empty


def test_definitions_lose_their_words_and_nothing_else() -> None:
    release = this_release(contracts())
    (kind,) = (each for each in release.crds if each.definition["metadata"]["name"] == "materializes.materialize.cloud")

    versions = {each["name"]: each for each in kind.definition["spec"]["versions"]}
    assert kind.convertible == [*versions]
    assert "description" not in msgspec.json.encode(versions["v1alpha1"]["schema"]).decode()
    assert (
        "environmentdImageRef" in versions["v1alpha1"]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    )


def test_releases_are_known_from_the_oldest_to_this_one() -> None:
    assert known_versions()[-1] == __version__


def test_the_release_before_is_asked_whether_it_knows_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = {"metadata": {"name": "widgets.example.test"}}
    before = Release(version="0.0.9", minimum_compatible="0.0.9", crds=[ReleasedKind("w", definition, ["v1"])])
    monkeypatch.setattr(releases, "known_versions", lambda: ("0.0.9", __version__))
    monkeypatch.setattr(releases, "known_release", lambda _: before)

    assert releases.release_without("widgets.example.test", "v2") == "0.0.9"
    assert releases.release_without("widgets.example.test", "v1") == ""
    assert releases.release_without("gadgets.example.test", "v2") == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(b"no json", "no release file", id="no JSON"),
        pytest.param(b'{"version":"1.0.0"}', "minimumCompatible", id="too little"),
        pytest.param(
            b'{"format":2,"version":"1.0.0","minimumCompatible":"1.0.0"}', "newer fairlead", id="a later form"
        ),
        pytest.param(b'{"version":"one","minimumCompatible":"1.0.0"}', "no semantic version", id="no version"),
    ],
)
def test_what_is_no_release_is_refused_with_a_reason(text: bytes, told: str) -> None:
    with pytest.raises(BadRelease, match=told):
        read_release(text)
