"""Settings: whether they can be read, and which variables are misspelt; values are not shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tasks.doctor.examining import Known
from tasks.doctor.finding import Finding, of_error, ok, problem


def settings(known: Known) -> Iterator[Finding]:
    """Whether the settings can be read; what makes no sense is left out for the other checks."""
    from tasks.messages import message
    from tasks.settings import load_settings, unknown_variables
    from urlr.errors import UrlrError

    unknown = unknown_variables()
    for name, near in unknown.items():
        instead = message("set_that_instead", name=near) if near else message("unset_it")
        yield problem(message("not_a_setting", name=name), instead)
    with _without(unknown):
        try:
            known.settings = load_settings(store=known.store)
        except UrlrError as error:
            yield of_error(error.sentence, do=message("set_otherwise"))
            _leave_out(known)
            return
        yield ok(
            message(
                "settings_read",
                store=known.settings.store,
                registry=known.settings.registry,
                workers=known.settings.workers,
                sources=_from(known),
            )
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


def _from(known: Known) -> str:
    """Where settings come from: names alone, since a value may be a secret."""
    from tasks.messages import message
    from tasks.settings import settings_file
    from urlr.ids import shown, shown_some

    sources = ["--store"] if known.store is not None else []
    sources += [shown(settings_file(), 200)] if settings_file().is_file() else []
    names = _ours() + (["MLFLOW_TRACKING_URI"] if "MLFLOW_TRACKING_URI" in os.environ else [])
    sources += [shown_some(names, 8)] if names else []
    if not sources:
        return message("all_by_default")
    return message("set_by", sources=" and ".join(sources))


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
