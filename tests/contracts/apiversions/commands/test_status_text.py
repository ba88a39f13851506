"""What `fairlead api status` says in a terminal."""

from __future__ import annotations

from fairlead.contracts.apiversions.commands.status import INDENT, WIDTH, _text
from fairlead.contracts.apiversions.decide.status import Status, Unconvertible, VersionStatus


def test_what_cannot_be_looked_at_stands_beside_its_name_as_everything_does() -> None:
    status = Status(
        crd="widgets.example.test",
        versions=[VersionStatus("v2", served=True, storage=True)],
        stored_versions=["v2"],
        strategy="Webhook",
        unlisted={"v1": "conversion webhook failed"},
        unconvertible=[Unconvertible("v1", "shop/huge", "its annotations would be 7 bytes over")],
        more_unconvertible=3,
        unlisted_kinds=["Secret"],
    )

    lines = _text(status).splitlines()[1:]

    assert all(len(line) <= WIDTH and line[INDENT - 1] == " " != line[INDENT] for line in lines)
    assert "  cannot read  shop/huge in v1: its annotations would be 7 bytes over" in lines
