"""What a Prometheus answers, as the driver hands it on."""

from __future__ import annotations

import msgspec

from fairlead.core.ask import Answer, Good


def value(text: str) -> Answer:
    return vector(text)


def vector(*texts: str) -> Answer:
    return reply("vector", [{"metric": {}, "value": [1.5, text]} for text in texts])


def scalar(text: str) -> Answer:
    return reply("scalar", [1.5, text])


def reply(kind: str, result: object) -> Answer:
    return Good(msgspec.json.encode({"status": "success", "data": {"resultType": kind, "result": result}}))
