"""Files keep what is not about the version: comments, order, quotes, templates (section 2.3, section 6.1)."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.apiversions.decide.trees import copied
from fairlead.contracts.apiversions.manifests.conversions import ConvertedText, ManifestWish, converted
from fairlead.engine.object_files import UnreadableFile, documents_in
from tests.contracts.apiversions.decide.test_round_trips import widgets as bodies
from tests.contracts.apiversions.decide.widgets import GROUP, KIND, to

KINDS = {(GROUP, "Widget"): KIND}


def changed(text: str, version: str = "v2", **wish: Any) -> ConvertedText:
    return converted(dedent(text), "a.yaml", ManifestWish(kinds=KINDS, version=version, **wish))


def test_a_field_takes_its_comments_and_quotes_along_and_the_rest_stays() -> None:
    found = changed("""\
        # one widget
        apiVersion: example.com/v1  # old
        kind: Widget
        metadata: {name: one}
        spec:
          # how many
          size: 3   # three

          note: 'as "it" is'
          parts:
          - name: a   # first
            colour: "red"  # bright
        # the end
        """)

    assert found.problems == ()
    assert found.text == dedent("""\
        # one widget
        apiVersion: example.com/v2  # old
        kind: Widget
        metadata: {name: one}
        spec:
          # how many
          replicas: 3   # three

          note: 'as "it" is'
          parts:
          - name: a   # first
            color: "red"  # bright
        # the end
        """)


def test_what_does_not_change_is_not_written_anew_however_it_is_written() -> None:
    text = """\
        apiVersion: "example.com/v1"
        kind: Widget
        metadata:
          labels:
          annotations: {  }
        spec:
            note:
            size: 0x10
            zones: "a"
            parts:
            -   name: 'a'
        """
    expected = dedent(text).replace("/v1", "/v2").replace("size", "replicas")

    assert changed(text).text == expected.replace('zones: "a"', 'zones:\n    - "a"')


def test_only_objects_of_the_kind_are_touched_in_lists_too() -> None:
    text = """\
        apiVersion: v1
        kind: ConfigMap
        data: {example.com/v1: "x"}
        ---
        kind: List
        items:
        - apiVersion: example.com/v1
          kind: Widget
          spec: {size: 1}
        - apiVersion: other.example/v1
          kind: Widget
          spec: {size: 1}
        ---
        # nothing
        """
    found = changed(text)

    assert found.text == dedent(text).replace("example.com/v1\n", "example.com/v2\n").replace(
        "{size: 1}\n- ", "{replicas: 1}\n- "
    )
    assert [(each.line, each.what, each.old, each.new) for each in found.found] == [(7, "Widget", "v1", "v2")]


def test_what_has_no_place_is_kept_in_annotations_and_told() -> None:
    text = """\
        apiVersion: example.com/v1
        kind: Widget
        metadata:
          name: one
        spec:
          old:
            a: 1  # why
          size: 2
        """
    kept, dropped = changed(text), changed(text, drops_carried=True)

    assert [each.carried for each in (*kept.found, *dropped.found)] == [("/spec/old/a",)] * 2
    assert "carry.fairlead.dev/" in kept.text
    assert "carry.fairlead.dev/" not in dropped.text
    assert "  # why\n" in kept.text
    assert changed(kept.text, "v1").text == dedent(text).replace("  old:\n    a: 1  # why\n", "  # why\n").replace(
        "  size: 2\n", "  size: 2\n  old:\n    a: 1\n"
    )


HELM = """\
    {{- if .Values.enabled }}
    apiVersion: example.com/v1
    kind: Widget
    metadata:
      name: {{ include "name" . }}-x
      labels: {{- toYaml .Values.labels | nindent 4 }}
    spec:
      size: {{ .Values.size }}
      {{- with .Values.parts }}
      parts:
      - name: "{{ .name }}"
        colour: {{ .colour | quote }}
      {{- end }}
    {{- end }}
    """


def test_templates_stay_where_they_are() -> None:
    found = changed(HELM)

    assert found.problems == ()
    expected = dedent(HELM).replace("/v1", "/v2").replace("size:", "replicas:").replace("colour:", "color:")
    assert found.text == expected
    assert found.found[0].what == 'Widget {{ include "name" . }}-x'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "  wait: {{ .Values.wait }}\n",
            "template at line 5 gives /spec/wait, which the rules compute with or drop",
        ),
        ("  {{- if .a }}\n  size: 1\n  {{- else }}\n  size: 2\n  {{- end }}\n", "size at line 8 is there twice"),
        ("  {{- if .a }}\n  owner: me\n  {{- end }}\n  labels:\n    b: c\n", "another branch of the template"),
        (
            "  old:\n    {{- if .a }}\n    a: 1\n    {{- end }}\n    b: x\n",
            "line 6 is inside of what changes",
        ),
        ("  $patch: replace\n", "it has $patch, which says how to merge"),
        ("  size: &a 1\n  percent: *a\n", "cannot be kept"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_changed(text: str, sentence: str) -> None:
    whole = f"apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: one}}\nspec:\n{text}"
    found = changed(whole)

    assert [sentence in each.problem for each in found.found] == [True], found
    assert found.text == whole


BLOCKS = """\
    apiVersion: example.com/v1
    kind: Widget
    metadata: {name: one}
    spec:
      {{- with .Values.size }}
      size:
        {{- toYaml . | nindent 4 }}
      {{- end }}
      {{- with .Values.labels }}
      labels:
        {{- toYaml . | nindent 4 }}
        team: x
      {{- end }}
    """


def test_a_template_that_is_all_a_key_holds_stays_below_it() -> None:
    found = changed(BLOCKS.replace("team: x", "other: x"))

    assert found.problems == ()
    assert found.text == dedent(BLOCKS).replace("/v1", "/v2").replace("size:", "replicas:").replace("team:", "other:")
    assert found.notes == ("what templates give at lines 7, 11 is not seen here and stays as it is",)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("  owner:\n    {{- toYaml .x | nindent 4 }}\n  labels:\n    a: b\n", "gives lines of one depth"),
        ("  old:\n    a: 1\n    {{- toYaml .x | nindent 4 }}\n", "gives more of what spec at line 4 holds"),
        (
            "  size:\n  {{- with .a }}\n    {{- toYaml . | nindent 4 }}\n  {{- end }}\n",
            "gives more of what size at line 5",
        ),
    ],
)
def test_what_a_template_gives_is_not_moved_apart(lines: str, sentence: str) -> None:
    whole = f"apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: one}}\nspec:\n{lines}"
    found = changed(whole, drops_carried=True)

    assert [sentence in each.problem for each in found.found] == [True], found
    assert found.text == whole


def test_a_version_that_the_rules_do_not_know_is_told() -> None:
    found = changed("apiVersion: example.com/v9\nkind: Widget\n")

    assert found.problems[0].problem == "the rules do not know v9: they know v2, v1, v3"


def test_a_file_that_may_hold_such_objects_and_is_no_yaml_is_not_passed_over() -> None:
    with pytest.raises(UnreadableFile, match=r"a.yaml is neither YAML nor JSON: see line 2"):
        changed("apiVersion: example.com/v1\n]:\n")

    assert changed("]: of nobody's concern\n").found == ()


def test_line_breaks_and_the_mark_of_windows_stay() -> None:
    text = "\ufeffapiVersion: example.com/v1\r\nkind: Widget\r\nspec:\r\n  size: 1 # one\r\n"

    assert changed(text).text == text.replace("/v1", "/v2").replace("size", "replicas")


def test_json_stays_json_with_its_indentation() -> None:
    text = '{\n    "apiVersion": "example.com/v1",\n    "kind": "Widget",\n    "spec": {\n        "size": 1\n    }\n}\n'

    assert changed(text).text == text.replace("/v1", "/v2").replace("size", "replicas")


KUSTOMIZATION = """\
    resources: [widget.yaml]
    patches:
    - path: patch.yaml
      target:
        group: example.com
        version: v1 # old
        kind: Widget
    """


def test_the_target_of_a_patch_in_a_file_moves_along() -> None:
    parts = [{"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": 1}}]
    found = changed(KUSTOMIZATION, beside=lambda name: [*parts] if name == "patch.yaml" else [])

    assert found.text == dedent(KUSTOMIZATION).replace("version: v1", "version: v2")


def test_patches_in_paths_of_the_old_version_are_told() -> None:
    in_paths = [[{"op": "replace", "path": "/spec/size", "value": 1}]]
    inline = "patches:\n- patch: |\n    apiVersion: example.com/v1\n    kind: Widget\n    spec: {size: 1}\n"

    assert (
        "written in fields of the old version"
        in changed(KUSTOMIZATION, beside=lambda _: [*in_paths]).problems[0].problem
    )
    assert "put it into a file of its own" in changed(inline).problems[0].problem


COMMENTS = st.sampled_from(["", "  # a", " # b: c"])


@given(bodies("v1") | bodies("v2") | bodies("v3"), st.sampled_from(["v1", "v2", "v3"]), st.data())
def test_whatever_is_converted_reads_as_the_converted_object(tree: dict[str, Any], version: str, data: Any) -> None:
    """Comments between and beside all lines come out again; the rest is what conversion says."""
    lines = yaml.safe_dump(copied(tree), sort_keys=False, allow_unicode=True, width=1000).splitlines()
    if any(not line.lstrip("- ").partition(":")[1] or '"' in line or "'" in line for line in lines):
        text = "\n".join(lines) + "\n"
    else:
        text = "".join(f"# {index}\n{line}{data.draw(COMMENTS)}\n" for index, line in enumerate(lines))
    found = changed(text, version)

    if not found.problems:
        assert documents_in(found.text, "") == [to(version, copied(documents_in(text, "")[0]))]
        if not any("#" in line for line in lines):  # a text that has one is taken for a comment below
            assert sorted(_comments(found.text)) == sorted(_comments(text))
    else:
        assert found.text == text


def _comments(text: str) -> list[str]:
    return [line.partition("#")[2].strip() for line in text.splitlines() if "#" in line]
