"""What there is to say of a copy, a sentence each; what holds for many objects is said once."""

from __future__ import annotations

_SHOWN = 3


class Remarks:
    """In the order in which they were first made."""

    def __init__(self) -> None:
        self._said: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def say(self, sentence: str) -> None:
        self._said.setdefault(sentence, [])

    def count(self, about: str, example: str = "") -> None:
        """One more object of which the same is true; the sentence ends with how many there are."""
        self._counts[about] = self._counts.get(about, 0) + 1
        shown = self._said.setdefault(about, [])
        if example and len(shown) < _SHOWN:
            shown.append(example)

    def sentences(self) -> tuple[str, ...]:
        return tuple(self._sentence(about, examples) for about, examples in self._said.items())

    def _sentence(self, about: str, examples: list[str]) -> str:
        count = self._counts.get(about)
        if count is None:
            return about
        more = f" and {count - len(examples)} more" if count > len(examples) else ""
        return f"{about} ({count}: {', '.join(examples)}{more})" if examples else f"{about} ({count})"
