"""ApplicationRevisions as a rollout reads them (P-1): which Application each is of, and the Components inside of it."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.plans.decide.applications.adjustments import components_of
from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping
from fairlead.contracts.plans.kinds import APPLICATION, APPLICATIONS, Json


class ApplicationSnapshot(Struct, frozen=True):
    tree: Tree

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def application(self) -> str:
        """The name of the Application that it is of."""
        inside = mapping(at(self.tree.tree, "spec.application.metadata")).get("name")
        return self.tree.labels.get(APPLICATION) or str(inside or "")

    @property
    def described(self) -> Tree:
        """The Application inside, under the name of the revision."""
        spec = at(self.tree.tree, "spec.application.spec")
        return Tree(self.tree.resource, {"metadata": {"name": self.name}, "spec": mapping(spec)})

    @property
    def owners(self) -> tuple[Json, ...]:
        """The Application itself, as owners are named; none where nobody said so."""
        group = APPLICATIONS.group
        return tuple(
            {key: each.get(key) for key in ("apiVersion", "kind", "name", "uid")}
            for each in self.tree.owners
            if (str(each.get("apiVersion", "")).rpartition("/")[0], each.get("kind")) == (group, APPLICATIONS.kind)
        )

    def component(self, name: str) -> Json:
        """The spec of the Component of this name; empty where there is none that can be read."""
        found = at(self.tree.tree, "spec.components")
        for each in found if isinstance(found, list) else ():
            raw = mapping(mapping(each).get("raw"))
            if mapping(raw.get("metadata")).get("name") == name:
                return mapping(raw.get("spec"))
        return {}

    @property
    def problem(self) -> str:
        """Why nothing can be read from it; empty where something can."""
        shown = f"the {self.tree.shown}"
        if not components_of(self.described):
            return f"{shown} holds no Application with components: change its Application to have another"
        if not self.application:
            return f"{shown} does not say which Application it is of: give it the label {APPLICATION}"
        return ""
