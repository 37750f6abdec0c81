# SPDX-License-Identifier: BSL-1.0
"""Text in columns."""


class Table:
    """Rows of cells; a row may also be a line of text. The last column is not padded."""

    def __init__(self, *heads):
        self._rows = [heads]

    def row(self, *cells):
        self._rows.append(tuple(str(c) if c not in (None, "") else "-" for c in cells))

    def line(self, text):
        self._rows.append(text)

    def __str__(self):
        if len(self._rows) == 1:
            return "  none"
        cells = [r for r in self._rows if isinstance(r, tuple)]
        widths = [max(len(r[i]) for r in cells) for i in range(len(cells[0]))]
        lines = []
        for r in self._rows:
            text = r if isinstance(r, str) else "  ".join(c.ljust(w) for c, w in zip(r, widths))
            lines.append("  " + text.rstrip())
        return "\n".join(lines)
