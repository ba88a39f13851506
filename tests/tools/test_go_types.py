"""Types are read from Go sources as far as JSON depends on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.plane.build import Unavailable
from tools.go_types import Sources, short_package

TYPES = """package v1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Colour is one of a few.
type Colour string

// Shades by name.
type Shades map[Colour]resource.Quantity

type Nothing struct{}

// Paint is what things are painted with.
type Paint struct {
	metav1.TypeMeta `json:",inline"`
	// Standard metadata.
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	Source `json:",inline" protobuf:"bytes,2"`
	// What it looks like.
	Colour Colour `json:"colour"`
	Layers *int32 `json:"layers,omitempty"`
	Mixed  []Paint `json:"mixed,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Shades Shades `json:"shades,omitempty"`
	Data map[string][]byte `json:"data,omitempty"`
	Dried metav1.Time `json:"dried,omitempty,omitzero"`
	hidden string
	Secret string `json:"-"`
}

type Source struct {
	Mine *Nothing `json:"mine,omitempty"`
}
"""
META = """package v1

type TypeMeta struct {
	Kind string `json:"kind,omitempty"`
}

type ObjectMeta struct {
	Name string `json:"name,omitempty"`
}

type Time struct {
	time.Time `json:"-"`
}

func (t *Time) UnmarshalJSON(b []byte) error {
	return nil
}
"""
QUANTITY = """package resource

type Quantity struct {
	i int64Amount
}

func (q *Quantity) UnmarshalJSON(value []byte) error {
	return nil
}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module cache with a release of three small modules."""
    files = {
        "api@v0.1.2/art/v1/types.go": TYPES,
        "api@v0.1.2/art/v1/types_test.go": "type Paint string\n",
        "apimachinery@v0.1.2/pkg/apis/meta/v1/types.go": META,
        "apimachinery@v0.1.2/pkg/api/resource/quantity.go": QUANTITY,
        "apiextensions-apiserver@v0.1.2/pkg/apis/none.go": "",
    }
    for name, text in files.items():
        file = tmp_path / "k8s.io" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    monkeypatch.setattr("tools.go_types.go", lambda *_: str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("cache")
def test_a_type_and_all_that_it_is_made_of() -> None:
    found = Sources("v1.1.2").collected(["art.v1.Paint"])

    assert found == {
        "api.resource.Quantity": "!",
        "art.v1.Colour": "string",
        "art.v1.Nothing": {},
        "art.v1.Paint": {
            "+TypeMeta": "meta.v1.TypeMeta",
            "metadata": "meta.v1.ObjectMeta?",
            "+Source": ".Source",
            "colour": ".Colour",
            "layers": "*int32?",
            "mixed": "[].Paint?",
            "labels": "map[string]string?",
            "shades": ".Shades?",
            "data": "map[string]bytes?",
            "dried": "meta.v1.Time??",
        },
        "art.v1.Shades": "map[.Colour]api.resource.Quantity",
        "art.v1.Source": {"mine": "*.Nothing?"},
        "meta.v1.ObjectMeta": {"name": "string?"},
        "meta.v1.Time": "!",
        "meta.v1.TypeMeta": {"kind": "string?"},
    }


@pytest.mark.usefixtures("cache")
def test_what_is_not_there_is_told() -> None:
    with pytest.raises(Unavailable, match=r"there is no type art\.v1\.Brush in the Go sources"):
        Sources("v1.1.2").collected(["art.v1.Brush"])
    with pytest.raises(Unavailable, match=r"there is no package music\.v1 in the Go sources"):
        Sources("v1.1.2").collected(["music.v1.Song"])
    with pytest.raises(Unavailable, match="there are no Go sources in"):
        Sources("v1.1.3")


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("k8s.io/api/core/v1", "core.v1"),
        ("k8s.io/apimachinery/pkg/apis/meta/v1", "meta.v1"),
        ("k8s.io/apimachinery/pkg/util/intstr", "util.intstr"),
        ("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "apis.apiextensions.v1"),
    ],
)
def test_packages_are_named_as_in_openapi(path: str, short: str) -> None:
    assert short_package(path) == short
