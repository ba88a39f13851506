"""Whether the next generation can be made at all, tried before the serving one goes for it (section 3.5).

A downtime that is accepted is one that ends. With a spec that no StatefulSet can have, such as more requested than
limited, it would last until somebody corrects it. Only what the API server calls invalid counts: a quota or a webhook
may let pass later what it refuses now, while the other generation is still there. Creating is tried also where N
exists: that it does is found out after what is wrong with it.
"""

from __future__ import annotations

from msgspec import structs

from fairlead.contracts.environments.decide.applying import created
from fairlead.contracts.environments.decide.objects.generation import generation_objects
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.core.act import Does
from fairlead.core.ask import Bad, Need

INVALID = 422


def rehearsed(stand: Standing) -> str | Need:
    """Why an object of N is invalid; empty when none is known to be."""
    serving = stand.statefulset(stand.active)
    if serving is None or serving.metadata.deletion_timestamp is not None:
        return ""
    wanted = generation_objects(stand.environment, stand.target, stand.hash, stand.settings)
    tries = tuple(
        structs.replace(created(each, Does.APPLY_GENERATION, stand.facts), dry_run=True, repeatable=False)
        for each in wanted
    )
    if todo := stand.seen.answers.lacking(tries):
        return Need(todo)
    answers = (stand.seen.answers[each] for each in tries)
    return next((bad.text for bad in answers if isinstance(bad, Bad) and bad.code == INVALID), "")
