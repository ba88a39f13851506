"""`fairlead up --load` begins with a copy of another cluster, and says what is to be known of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlead.cli.main import main
from tests.cli.ups import upped

COPIES = Path(__file__).parent.parent / "kubesim" / "copies"


def test_a_copy_is_loaded_with_its_nodes_and_pods_and_told_of(tmp_path: Path) -> None:
    """The copied pods stay as they are beside the operator, in the middle of a rollout that nobody lets go on."""
    kept = tmp_path / "kept"
    lists = COPIES / "in_the_middle.json"

    with upped(tmp_path, "--load", str(lists), "--unread", "secrets", "--save", str(kept)) as said:
        told = "".join(said)

    assert "  secrets could not be read (not listed)\n" in told
    assert "  pods that are not ready stay as they are (2: shop/" in told
    before = {
        each["metadata"]["uid"]: each for each in json.loads(lists.read_text())["items"] if "uid" in each["metadata"]
    }
    assert f"Loaded: {len(before)} objects as of 2026-06-01 12:00:01 UTC.\n" in told
    after = [json.loads(line)["object"] for line in (kept / "cluster.jsonl").read_text().splitlines()[1:]]
    assert {each["metadata"]["name"] for each in after if each["kind"] == "Node"} == {
        "worker-a-1",
        "worker-b-1",
        "worker-c-1",
        "worker-d-1",
    }
    pods = [each for each in after if each["kind"] == "Pod" and each["metadata"]["namespace"] == "shop"]
    assert len(pods) == 9
    assert [each for each in pods if before[each["metadata"]["uid"]] != each] == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--unread", "secrets"), "--unread needs --load: it says what the lists lack"),
        (("--controllers", "stateful"), 'no controller is named "stateful": choose of clusterrole-aggregation'),
        (("--webhook", "reviewer=https://127.0.0.1"), "it must be as reviewer.shop=https://127.0.0.1:9443"),
        (("--webhook", "reviewer.shop"), "it must be as reviewer.shop=https://127.0.0.1:9443"),
        (("--load", "nowhere"), "there is no nowhere: name a file or a folder of lists, or leave out --load"),
        (("--load", str(COPIES), "--unread", "gadgets"), 'no kind is named "gadgets"'),
    ],
)
def test_what_cannot_be_loaded_is_told_in_a_sentence(
    words: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["up", *words])
    except SystemExit as left:
        code = int(left.code or 0)

    assert code != 0
    assert why in capsys.readouterr().err
