"""Floor 12: what is wrong with an expression, and where."""

from __future__ import annotations

from pycute_xe.errors import InputError

__all__ = ["ExpressionError"]


class ExpressionError(InputError):
    """An expression that cannot be read or evaluated; ``column`` counts from 1."""

    def __init__(self, text: str, column: int, condition: str, fix: str) -> None:
        """Keep the text and the column beside the four parts."""
        self.text = text
        self.column = column
        super().__init__("layout", {"expression": repr(text)}, f"column {column}: {condition}", fix)

    @property
    def pointer(self) -> str:
        """Two lines: the expression, and a mark under the column.

        >>> print(ExpressionError("4:x", 3, "unknown name", "").pointer)
          4:x
            ^
        """
        shown = "".join(sign if sign.isprintable() else " " for sign in self.text)
        return f"  {shown}\n  {' ' * (self.column - 1)}^"
