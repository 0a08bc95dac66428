"""The frame of a page: safe by its making, and by a policy that lets nothing else run.

Data is embedded as JSON that cannot end its element; scripts make text nodes of it, never markup.
The policy lets the page's own scripts run, by their digests, and what they load; a script that
came in with a name would not.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from urlr.ids import shown

LIBRARY = ("bokeh.min.js", "bokeh-api.min.js")
"""Bokeh's files, drawn with in the browser: making plots in Python would cost every worker the
import of Bokeh."""
_ESCAPED = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb]"
)
"""What ends a line, turns or hides the text around it, or is no UTF-8."""

NO_ICON = '<link rel="icon" href="data:,">'
"""Else a browser asks a web server for /favicon.ico, which its readers may not be allowed."""


def page(
    title: str,
    script: str,
    data: dict[str, Any],
    *,
    beside: Sequence[str] = (),
    library: str | None = None,
    parts: str = "",
) -> bytes:
    """A whole page.

    Parameters
    ----------
    script
        Name of the asset that draws the page.
    beside
        Other assets that it makes use of.
    library
        Relative address of the folder that has Bokeh's files, ending in /; None puts them into
        the page.
    parts
        Start of the relative address of further data files.
    """
    inside = [] if library is not None else [library_file(name).decode() for name in LIBRARY]
    own = "\n".join(["'use strict';", *map(asset, ("common.js", "table.js", *beside, script))])
    scripts = [*inside, f"(() => {{\n{own}\n}})();"]
    digests = " ".join(f"'sha256-{_digest(text)}'" for text in scripts)
    policy = (
        f"default-src 'none'; script-src 'strict-dynamic' {digests}; style-src 'unsafe-inline'; "
        "img-src http: https: data: 'self' file:; base-uri 'none'; form-action 'none'"
    )
    content = json_inside(data | {"library": library or "", "parts": parts})
    tags = "\n".join(f"<script>{text}</script>" for text in scripts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="referrer" content="no-referrer">\n{NO_ICON}\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(shown(title, 200))}</title>\n<style>\n{asset('page.css')}</style>\n"
        '</head>\n<body>\n<noscript><p class="noscript">This page draws its tables by scripts of '
        "its own; it loads nothing from elsewhere.</p></noscript>\n"
        f'<script type="application/json" id="page-data">{content}</script>\n{tags}\n'
        "</body>\n</html>\n"
    ).encode()


def part(name: str, content: Any) -> bytes:
    """A data file that a page loads when it is wanted."""
    return f"urlrPart({json_inside(name)},{json_inside(content)});\n".encode()


def json_inside(content: Any) -> str:
    """JSON that is safe inside of a script element, and as a script; for a file in UTF-8."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return _ESCAPED.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def library_files() -> dict[str, bytes]:
    """Bokeh's files by name, for the folder `library` names."""
    return {name: library_file(name) for name in LIBRARY}


@cache
def library_file(name: str) -> bytes:
    """One of Bokeh's files."""
    return (files("bokeh") / "server" / "static" / "js" / name).read_bytes()


@cache
def asset(name: str) -> str:
    """One of our own."""
    return (files("tasks.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
