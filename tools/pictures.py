"""The two pictures of `docs/architecture.md`, made from the code: `python -m tools.pictures` writes them there.

The rooms and their arrows come from the imports; the steps of a round are functions, in the words of their docstrings,
with an arrow to each step that a function calls; the rules are those that each contract tries in order.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import grimp

from fairlead.contracts import CONTRACTS

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "architecture.md"
PACKAGES = ("fairlead", "kubeloop", "kubesim")
STEPS = (
    "fairlead.engine.lane:ControllerLane.work",
    "fairlead.engine.rounds:Rounds.run",
    "fairlead.engine.rounds:Rounds._must_wait",
    "kubeloop.ledger:Ledger.pending",
    "fairlead.engine.controller:Controller.gather",
    "fairlead.engine.driver.round:settle",
    "fairlead.engine.controller:Controller.decide",
    "fairlead.engine.driver.round:answer",
    "fairlead.engine.round_log:RoundLog.announce",
    "fairlead.engine.controller:Controller.say",
    "fairlead.engine.driver.perform:carry_out",
    "kubeloop.ledger:Ledger.in_flight",
)
"""Of a round, from a key to its effects."""
RULES = {
    "zones": ("fairlead.contracts.zones.decide.rollout.group_pass:RULES",),
    "environments": (
        "fairlead.contracts.environments.decide.identity:RULES",
        "fairlead.contracts.environments.decide.reconcile:RULES",
    ),
    "leaderworker": ("fairlead.contracts.leaderworker.decide.planner:RULES",),
    "plans": ("fairlead.contracts.plans.decide.trait_pass:RULES",),
    "apiversions": ("fairlead.engine.decide.rotation:RULES",),
}
"""What each contract tries in order."""

Edges = set[tuple[str, str]]


def main() -> None:
    DOCUMENT.write_text(drawn(DOCUMENT.read_text()))


def drawn(text: str) -> str:
    """The document with its pictures as the code has them."""
    for name, picture in (("rooms", rooms()), ("round", a_round())):
        begin, end = f"<!-- {name}: made by `python -m tools.pictures` -->\n", f"<!-- end of {name} -->\n"
        before, begun, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not begun or not ended:
            raise ValueError(f"{DOCUMENT.name} has no place for the picture of {name}")
        text = f"{before}{begin}\n```mermaid\n{picture}```\n\n{end}{after}"
    return text


def rooms() -> str:
    """Who imports whom; what follows from other arrows is left out, what goes in a circle is not."""
    imports = room_imports()
    found = sorted({room for edge in imports for room in edge})
    lines = ["flowchart TD", *(f'    {_node(room)}["{_title(room)}"]' for room in found)]
    lines += [f"    {_node(one)} --> {_node(other)}" for one, other in sorted(reduced(imports))]
    registry = "fairlead.contracts"
    lines += [f"    {_node(registry)} -. by name .-> {_node(f'{registry}.{name}')}" for name in sorted(CONTRACTS)]
    return "".join(f"{line}\n" for line in lines)


def room_imports() -> Edges:
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True)
    edges = (
        (room_of(module), room_of(imported))
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
    )
    return {(one, other) for one, other in edges if one and other and one != other}


def room_of(module: str) -> str:
    """A package, a folder of fairlead, or a contract; empty for fairlead's own two modules, which hold nothing."""
    package, *folders = module.split(".")
    if package != "fairlead":
        return package
    if not folders or folders[0].startswith("__"):
        return ""
    return ".".join([package, *folders[: 2 if folders[0] == "contracts" else 1]])


def reduced(edges: Edges) -> Edges:
    """Without arrows that a longer way makes plain; one that is part of a circle stays, so that the circle shows."""
    reach = {room: reached(room, edges) for edge in edges for room in edge}
    ahead = {(one, by) for one, by in edges if one not in reach[by]}
    return {
        (one, other)
        for one, other in edges
        if one in reach[other] or not any(other in reach[by] for start, by in ahead if start == one and by != other)
    }


def reached(start: str, edges: Edges) -> set[str]:
    found: set[str] = set()
    ahead = [start]
    while ahead:
        here = ahead.pop()
        new = {other for one, other in edges if one == here} - found
        found |= new
        ahead += new
    return found


def pure_rooms() -> list[str]:
    """The rooms of a contract that lint keeps pure."""
    config = ConfigParser()
    config.read(ROOT / ".importlinter")
    sources = config["importlinter:contract:decide"]["source_modules"].split()
    return sorted(source.rpartition(".")[2] for source in sources if source.startswith("fairlead.contracts.*."))


def _title(room: str) -> str:
    parts = room.split(".")
    name = "/".join(parts)
    is_contract = len(parts) == 3
    return f"{name}<br/>pure: {', '.join(pure_rooms())}" if is_contract else name


def _node(room: str) -> str:
    return room.replace(".", "_")


def a_round() -> str:
    """Steps from a key to its effects, and the rules of each contract."""
    lines = ["flowchart TD"]
    names = [step.rpartition(":")[2].rpartition(".")[2] for step in STEPS]
    for step, name in zip(STEPS, names, strict=True):
        module, _, place = step.partition(":")
        lines.append(f'    {name}["{place}<br/><i>{module}</i><br/>{_quoted(_said_of(step))}"]')
    calls = {
        (name, called)
        for step, name in zip(STEPS, names, strict=True)
        for called in _calls(step, [each for each in names if each != name])
    }
    lines += [f"    {name} --> {called}" for name in names for called in names if (name, called) in reduced(calls)]
    for contract, places in RULES.items():
        rules = " → ".join(rule for place in places for rule in _rule_names(place))
        lines += [f'    {contract}["{contract}: {rules}"]', f"    decide --> {contract}"]
    return "".join(f"{line}\n" for line in lines)


def _found(place: str) -> object:
    module, _, path = place.partition(":")
    found: object = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _source(step: str) -> tuple[str, ast.AST | None]:
    """The docstring of a function or of a field, and the function's code."""
    module, _, path = step.partition(":")
    owner, _, name = path.rpartition(".")
    if not owner or callable(getattr(_found(f"{module}:{owner}"), name, None)):
        function = _found(step)
        code = textwrap.dedent(inspect.getsource(cast("type", function)))
        return inspect.getdoc(function) or "", ast.parse(code)
    body = ast.parse(textwrap.dedent(inspect.getsource(cast("type", _found(f"{module}:{owner}"))))).body[0]
    statements = cast("ast.ClassDef", body).body
    for here, after in zip(statements, [*statements[1:], None], strict=True):
        if isinstance(here, ast.AnnAssign) and isinstance(here.target, ast.Name) and here.target.id == name:
            said = after.value if isinstance(after, ast.Expr) else None
            return (said.value if isinstance(said, ast.Constant) and isinstance(said.value, str) else ""), None
    raise ValueError(f"{step}: there is no such field")


def _said_of(step: str) -> str:
    """The first sentence of what the step says of itself."""
    said, _ = _source(step)
    sentence = re.split(r"(?<=[.;])\s|\n\n", " ".join(said.split("\n\n")[0].split()), maxsplit=1)[0]
    if not sentence:
        raise ValueError(f"{step} says nothing of itself: write a docstring")
    return sentence.rstrip(".;")


def _calls(step: str, names: list[str]) -> Iterator[str]:
    """The steps that this one calls, also through other functions of its class and module."""
    module, _, path = step.partition(":")
    looked_at: set[str] = set()
    found: dict[str, None] = {}
    ahead = [path]
    while ahead:
        looked_at.add(here := ahead.pop(0))
        for name in _named_in(f"{module}:{here}"):
            if name in names:
                found[name] = None
            elif (helper := _helper(module, path, name)) and helper not in looked_at:
                ahead.append(helper)
    yield from found


def _named_in(place: str) -> list[str]:
    """What the function there calls, in order, be it by way of `partial`; what it defines itself is its own."""
    _, code = _source(place)
    nodes = list(ast.walk(code)) if code is not None else []
    own = {node.name for node in nodes[2:] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    called = [(node.lineno, node.col_offset, _name(node.func)) for node in calls]
    called += [(node.lineno, node.col_offset, _name(node.args[0])) for node in calls if _name(node.func) == "partial"]
    return [name for _, _, name in sorted(called) if name not in own]


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _helper(module: str, path: str, name: str) -> str | None:
    """Where a function of that name is, beside the one at `path`."""
    owner = path.rpartition(".")[0]
    inside = [(_found(f"{module}:{owner}"), f"{owner}.{name}")] if owner else []
    for holder, place in (*inside, (import_module(module), name)):
        function = vars(holder).get(name)
        if inspect.isfunction(function) and function.__module__ == module:
            return place
    return None


def _rule_names(place: str) -> Iterator[str]:
    """Of rules that are values with a name, or plain functions."""
    for rule in cast("tuple[Any, ...]", _found(place)):
        yield rule.__name__.lstrip("_") if inspect.isfunction(rule) else rule.name


def _quoted(text: str) -> str:
    return text.replace('"', "#quot;").replace("`", "")


if __name__ == "__main__":
    main()
