"""Asking: one function from a question to its answer. Failures are answers too; they never raise."""

from __future__ import annotations

from msgspec import structs

from fairlead.decide.ask import Answer, Ask, Bad, Good
from fairlead.drive.round import Asker
from fairlead.kube import request
from fairlead.kube.client import Client
from fairlead.kube.errors import Forbidden, KubeError, NotFound, TransportError, Unauthorized


def asker(client: Client) -> Asker:
    """Answers questions with the help of this client."""

    async def ask(question: Ask) -> Answer:
        target = request.get(question.to.ref, question.to.subresource)
        try:
            answer = await client.call(structs.replace(target, timeout=question.timeout))
        except NotFound as error:
            return Bad("absent", str(error))
        except (Forbidden, Unauthorized) as error:
            return Bad("refused", str(error))
        except TransportError as error:
            return Bad("unreachable", str(error))
        except KubeError as error:
            return Bad("failed", str(error))
        return Good(answer.body)

    return ask
