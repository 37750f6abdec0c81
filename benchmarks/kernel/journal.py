# SPDX-License-Identifier: BSL-1.0
"""The runs of an experiment so far, in a file, so that an experiment that was cut goes on."""

import json


class Journal:
    def __init__(self, path, head, entries):
        """Writes the file anew, so that it has whole lines only."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in (head, *entries)), encoding="utf-8")
        self._path, self._entries = path, entries

    def has(self, identity, repetition):
        return any(e["identity"] == identity and e["repetition"] == repetition for e in self._entries)

    def add(self, identity, repetition, rows):
        entry = {"identity": identity, "repetition": repetition, "rows": rows}
        self._entries.append(entry)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def rows(self):
        return [row for entry in self._entries for row in entry["rows"]]


def _whole_lines(path):
    """The last line may have been cut in the middle."""
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in whole]


def open_journal(path, commit, size, identities, again):
    """Goes on with the file if it is about the same measurements at the same commit, unless `again` is set."""
    head = {"commit": commit, "size": size, "measurements": identities}
    entries = []
    if path.exists() and not again:
        first, *others = _whole_lines(path) or [None]
        if first == head:
            entries = others
    return Journal(path, head, entries)
