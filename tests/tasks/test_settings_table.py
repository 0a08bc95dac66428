"""The table of settings in docs/nightly.md against the settings."""

import re
from pathlib import Path
from typing import Any

from tasks.settings import Gate, Settings

PAGE = Path(__file__).parents[2] / "docs" / "nightly.md"
ROW = re.compile(r"^\| (?P<names>.*?) \| (?P<defaults>.*?) ?\| (?P<what>.+) \|$", re.MULTILINE)
IN_WORDS = {
    "artifacts": "the registry's choice",
    "workers": "cores",
    "worker_memory": "an even share",
    "gate": "see above",
}


def rows() -> list[dict[str, str]]:
    _, _, below = PAGE.read_text().partition("| setting | default | what |\n")
    table = below.partition("\n\n")[0]
    return [row.groupdict() for row in ROW.finditer(table) if "---" not in row["names"]]


def words_for(name: str, default: Any) -> str:
    """A default as the page gives it."""
    if name in IN_WORDS:
        return IN_WORDS[name]
    if isinstance(default, str):
        return f"`{default}`"
    return "none" if default in (None, False, ()) else ""


def test_the_table_of_the_page_is_the_settings():
    told: dict[str, str] = {}
    for row in rows():
        names = re.findall(r"`(\w+)`", row["names"])
        defaults = row["defaults"].split(", ")
        told |= dict(
            zip(names, defaults if len(defaults) > 1 else defaults * len(names), strict=True)
        )
    fields = Settings.model_fields
    assert sorted(told) == sorted(fields)
    for name, field in fields.items():
        default = field.get_default(call_default_factory=True)
        if name not in IN_WORDS and isinstance(default, int | float) and default is not False:
            assert float(told[name].replace(",", "")) == default, name
        else:
            assert told[name] == words_for(name, default), name


def test_the_rules_of_the_gate_are_told_with_their_defaults():
    [cell] = [row["what"] for row in rows() if row["names"] == "`gate`"]
    told = {name: float(value) for name, value in re.findall(r"`(\w+)` ([0-9.]*[0-9])", cell)}
    assert told == {name: field.default for name, field in Gate.model_fields.items()}
