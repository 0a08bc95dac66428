"""Settings: whether they can be read, and which variables are misspelt; values are not shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tasks.doctor.examining import Known
from tasks.doctor.finding import Finding, of_error, ok, problem

if TYPE_CHECKING:
    from tasks.settings import Settings


def settings(known: Known) -> Iterator[Finding]:
    """Whether the settings can be read; what makes no sense is left out for the other checks."""
    from tasks.settings import load_settings, unknown_variables
    from urlr.errors import UrlrError
    from urlr.ids import plural, shown

    unknown = unknown_variables()
    for name, near in unknown.items():
        instead = f"set {near} instead, or unset it" if near else "unset it"
        yield problem(f"{shown(name)} is set and is no setting of urlr", instead)
    with _without(unknown):
        try:
            known.settings = load_settings(store=known.store)
        except UrlrError as error:
            yield of_error(error, do="set it otherwise")
            _leave_out(known)
            return
        yield ok(
            f"{_where(known.settings)}, {plural(known.settings.workers, 'worker')}; {_from(known)}"
        )


def _leave_out(known: Known) -> None:
    """Find the one setting without which the others can be read."""
    from tasks.settings import PREFIX, load_settings
    from urlr.errors import UrlrError

    if known.store is not None:
        try:
            known.settings = load_settings()
        except UrlrError:
            pass
        else:
            known.left_out = frozenset({"store"})
            return
    for name in _ours():
        with _without([name]):
            try:
                known.settings = load_settings(store=known.store)
            except UrlrError:
                continue
        setting = name.upper().removeprefix(PREFIX).lower().partition("__")[0]
        known.left_out = frozenset({setting})
        return


def _where(settings: Settings) -> str:
    from urlr.ids import shown

    return f"store {shown(settings.store, 200)}, registry {shown(settings.registry, 200)}"


def _from(known: Known) -> str:
    """Where settings come from: names alone, since a value may be a secret."""
    from tasks.settings import settings_file
    from urlr.ids import shown, shown_some

    sources = ["--store"] if known.store is not None else []
    sources += [shown(settings_file(), 200)] if settings_file().is_file() else []
    names = _ours() + (["MLFLOW_TRACKING_URI"] if "MLFLOW_TRACKING_URI" in os.environ else [])
    sources += [shown_some(names, 8)] if names else []
    return f"set by {' and '.join(sources)}" if sources else "all by default"


def _ours() -> list[str]:
    from tasks.settings import PREFIX

    return sorted(name for name in os.environ if name.upper().startswith(PREFIX))


@contextmanager
def _without(names: Iterable[str]) -> Iterator[None]:
    """The environment without some variables while the block runs."""
    taken = {name: os.environ.pop(name) for name in list(names) if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(taken)
