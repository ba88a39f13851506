"""What a write in the storage version would drop where nobody converts (section 3.5)."""

from __future__ import annotations

from fairlead.contracts.apiversions.decide.pruned_leaves import Pruned, pruned, text_of
from fairlead.contracts.apiversions.decide.trees import Tree

MOST_NAMED = 5


def unconverted(definition: Tree) -> str:
    """Why objects of this definition are not rewritten, in a sentence that says what to do; empty where they may be."""
    spec, name = definition["spec"], definition["metadata"]["name"]
    if ((spec.get("conversion") or {}).get("strategy") or "None") != "None":
        return ""
    if not (found := pruned(definition)):
        return ""
    stored = (definition.get("status") or {}).get("storedVersions") or ()
    storage = next(each["name"] for each in spec["versions"] if each.get("storage"))
    lost = [each for each in found if each.pruned_by == storage and each.known_to in stored]
    first = f"attach rules first (`fairlead api attach {name} --rules FILE`)"
    if lost:
        versions = " and ".join(sorted({each.known_to for each in lost}))
        return (
            f"nobody converts {name}, so a write in {storage} drops {_places(lost)} of what is stored in {versions}: "
            f"{first}, or go on with --yes, which loses them"
        )
    return (
        f"nobody converts {name}, and its versions drop fields of one another ({_places(found)}): {first}, "
        f"or go on with --yes, which rewrites objects and leaves storedVersions as it is"
    )


def _places(found: list[Pruned]) -> str:
    places = sorted({text_of(each.place) for each in found})
    more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
    return ", ".join(places[:MOST_NAMED]) + more
