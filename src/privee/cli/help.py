"""Help in which words are whole: typer ends what does not fit with an ellipsis, and such an option cannot be typed."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text


class WholeWords(Table):
    """A table of options: names take the width they need, `--no-x` stands below `--x`, and long types are folded."""

    def add_row(self, *cells: Any, **more: Any) -> None:
        """As typer gives it: names in columns of their own, then what they take, then what they do."""
        row = list(cells)
        named = [place for place, cell in enumerate(row) if isinstance(cell, Text) and cell.plain.startswith("--")]
        for place in named[1:]:
            row[named[0]], row[place] = Text("\n").join([row[named[0]], row[place]]), Text("")
        for cell in row:
            for words in getattr(cell, "renderables", ()):
                if isinstance(words, Text):
                    words.overflow = "fold"
        super().add_row(*row, **more)
        for column in self.columns:
            column.overflow = "fold"
        for place in named[:1]:
            self.columns[place].no_wrap = True


def show_whole_words() -> None:
    """From now on, typer's help is made of such tables."""
    from typer import rich_utils

    rich_utils.Table = WholeWords  # type: ignore[attr-defined]
