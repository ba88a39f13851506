"""What an object owned that was made again: it is pointed to the new one (section 3.7.6)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.apiversions.decide.offline.backup_format import Dependent
from fairlead.contracts.apiversions.decide.offline.walks import Unfit, good, told
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Answers, Ask, Bad, Good, Read
from kubeloop.objects.meta import Ref, Resource


class DependentPointer(Struct):
    """A dependent whose owner has another UID now."""

    answers: Answers
    dependent: Dependent
    recreated: Mapping[str, tuple[str, str]]
    here: Resource
    """What the objects of the backup are written as."""

    def walk(self) -> bool:
        """Whether it was pointed to the new owner; False where it is gone, or points there."""
        dependent, here = self.dependent, self.here
        group, _, version = dependent.api_version.rpartition("/")
        resource = Resource(group, version, dependent.plural, dependent.kind, namespaced=bool(dependent.namespace))
        if (group, dependent.plural) == (here.group, here.plural):
            resource = here  # another version may drop fields of it, where nobody converts
        ref = Ref(resource, dependent.namespace, dependent.name)
        match told(self.answers, Ask(Read(ref, metadata_only=True))):
            case Bad("absent"):
                return False
            case Bad() as bad:
                raise Unfit(bad.text or bad.kind)
            case Good(body):
                live: Tree = msgspec.json.decode(body)
        found = live["metadata"].get("ownerReferences") or []
        steps: list[Tree] = []
        for place, each in enumerate(found):
            if each["uid"] in self.recreated:
                steps.append({"op": "test", "path": f"/metadata/ownerReferences/{place}/uid", "value": each["uid"]})
                uid = self.recreated[each["uid"]][1]
                steps.append({"op": "replace", "path": f"/metadata/ownerReferences/{place}/uid", "value": uid})
        if not steps:
            return False
        good(
            self.answers,
            Patch(
                ref=structs.replace(ref, uid=live["metadata"]["uid"]),
                kind=PatchKind.JSON,
                body=msgspec.json.encode(steps),
                resource_version=live["metadata"]["resourceVersion"],
                does=Does.POINT_DEPENDENT,
            ),
        )
        return True
