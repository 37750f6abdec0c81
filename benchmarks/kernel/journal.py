# SPDX-License-Identifier: BSL-1.0
"""The runs of an experiment so far, in a file, so that an experiment that was cut goes on."""

import json


class Damaged(Exception):
    """The file is no journal."""


class Journal:
    def __init__(self, path, head, entries):
        """Writes the file anew, so that it has whole lines only."""
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.write_text("".join(json.dumps(line) + "\n" for line in (head, *entries)), encoding="utf-8")
        unfinished.replace(path)
        self.facts, self.entries, self._path = head["facts"], entries, path

    def has(self, identity, repetition):
        return any(e["identity"] == identity and e["repetition"] == repetition for e in self.entries)

    def add(self, identity, repetition, rows):
        entry = {"identity": identity, "repetition": repetition, "rows": rows}
        self.entries.append(entry)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def rows(self):
        return [row for entry in self.entries for row in entry["rows"]]


def _whole_lines(path):
    """The last line may have been cut in the middle."""
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    try:
        return [json.loads(line) for line in whole]
    except ValueError:
        raise Damaged(f"{path} is damaged; --again forgets the runs in it") from None


def open_journal(path, key, facts, again):
    """Goes on with the file if its key is the same, unless `again` is set; then `facts` are those of the first run."""
    if path.exists() and not again:
        head, *entries = _whole_lines(path) or [{}]
        if head.get("key") == key:
            return Journal(path, head, entries)
    return Journal(path, {"key": key, "facts": facts}, [])
