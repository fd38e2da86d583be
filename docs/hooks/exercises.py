"""Makes exercises of comments in pages: a question, a field that the library checks, an answer.

    <!-- exercise: question | same | answer | why -->
    <!-- exercise: question | holds | condition with ? for the answer | answer | why -->
    <!-- exercise: question | asks | request with ? => words & words | answer | why -->

``same`` compares what two expressions come to; ``holds`` asks whether the condition is True;
``asks`` looks for words in the first part of what the playground answers to a request. The page's
script asks the playground's worker; where it cannot run, the answer is in the fold.
"""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

_WRITTEN = re.compile(r"^<!-- exercise: (.*?) -->$", re.MULTILINE | re.DOTALL)


class Exercise(NamedTuple):
    """A question about an expression, how an answer is judged, an answer and why it is one."""

    question: str
    kind: str
    condition: str
    answer: str
    why: str


def exercises(markdown: str) -> list[Exercise]:
    """Return the exercises of a page in their order."""
    return [_read(written) for written in _WRITTEN.findall(markdown)]


def _read(written: str) -> Exercise:
    match [part.strip() for part in written.split(" | ")]:
        case [question, "same", answer, why]:
            return Exercise(question, "same", answer, answer, why)
        case [question, ("holds" | "asks") as kind, condition, answer, why]:
            return Exercise(question, kind, condition, answer, why)
        case _:
            raise ValueError(f"an exercise is a question, same, holds or asks, …: {written!r}")


def _shown(number: int, exercise: Exercise) -> str:
    field = f"exercise-{number}"
    condition = escape(exercise.condition)
    return "\n".join(
        [
            f'<div class="exercise" data-kind="{exercise.kind}" data-condition="{condition}">',
            (
                f'<p><label for="{field}"><strong>Exercise.</strong> '
                f"{escape(exercise.question)}</label></p>"
            ),
            (
                f'<p class="exercise-form" hidden><input id="{field}" spellcheck="false" '
                'autocapitalize="off" autocomplete="off"> <button type="button">Check</button> '
                '<span role="status" aria-live="polite"></span></p>'
            ),
            (
                f"<details><summary>Answer</summary><p><code>{escape(exercise.answer)}</code>. "
                f"{escape(exercise.why)}</p></details>"
            ),
            "</div>",
        ]
    )


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put the exercises of a page in the place of their comments."""
    numbers = iter(range(1, len(markdown)))
    return _WRITTEN.sub(lambda part: _shown(next(numbers), _read(part[1])), markdown)
