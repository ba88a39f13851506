"""The table of protobuf messages, read from sources as the release has them."""

from __future__ import annotations

from pathlib import Path

from tools.protos import closure, collected, messages, printed, short, tags

PROTO = """
package k8s.io.api.shop.v1;

// A shop.
message Shop {
  // Standard.
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta metadata = 1;

  optional ShopSpec spec = 2;
}

message ShopSpec {
  optional Source source = 1;

  optional string name = 2;

  optional int32 size = 3;

  repeated string tags = 4;

  map<string, bytes> Parts = 5;
}

message Source {
  optional bool open = 1;
}

message Unused {
  optional bool open = 1;
}
"""
GO = """
type Shop struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec ShopSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

type ShopSpec struct {
	Source `json:",inline" protobuf:"bytes,1,opt,name=source"`
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
	Size *int32 `json:"size,omitempty" protobuf:"varint,3,opt,name=size"`
	Tags []string `json:"tags,omitempty" patchStrategy:"merge" protobuf:"bytes,4,rep,name=tags"`
	Parts map[string][]byte `json:"parts,omitempty" protobuf:"bytes,5,rep,name=Parts"`
}
"""
REGISTER = 'const GroupName = "shop.example.com"\n'


def a_folder(path: Path) -> Path:
    folder = path / "v1"
    folder.mkdir()
    (folder / "generated.proto").write_text(PROTO)
    (folder / "types.go").write_text(GO)
    (folder / "register.go").write_text(REGISTER)
    return folder


def test_fields_have_the_names_that_json_has_for_them(tmp_path: Path) -> None:
    found = dict(messages(PROTO, "shop.v1", tags(a_folder(tmp_path))))

    assert found["shop.v1.ShopSpec"] == {
        "1": ["", "shop.v1.Source"],
        "2": ["name", "string", "0"],
        "3": ["size", "int32"],
        "4": ["tags", "[]string"],
        "5": ["parts", "{}bytes"],
    }


def test_the_table_has_what_its_kinds_need(tmp_path: Path) -> None:
    document = collected([a_folder(tmp_path)])

    assert document["kinds"] == {"shop.example.com/v1": ["shop.v1", "Shop"]}
    assert list(document["types"]) == ["shop.v1.Shop", "shop.v1.ShopSpec", "shop.v1.Source"]
    assert '"shop.v1.Source":{"1":["open","bool"]}' in printed(document).splitlines()


def test_packages_are_named_without_the_folders_of_all() -> None:
    assert short("k8s.io.apimachinery.pkg.apis.meta.v1.Time") == "meta.v1.Time"
    assert short("k8s.io.api.core.v1.Pod") == "core.v1.Pod"
    assert closure({"a": {"1": ["x", "[]b"]}, "b": {}, "c": {}}, ["a"]) == {"a": {"1": ["x", "[]b"]}, "b": {}}
