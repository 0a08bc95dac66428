"""All experiments by name, the slow ones first, and where their real data is."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from tasks.messages import message
from tasks.study.age import AGE
from tasks.study.attributes import PUBFIG, SCENE
from tasks.study.figure2 import FIGURE2
from tasks.study.image import IMAGE
from tasks.study.ours import OURS
from tasks.study.real_votes import ARGUMENTS, QUALITY
from tasks.study.records import Experiment
from tasks.study.sources import refuse
from tasks.study.supplement import SUPPLEMENT
from tasks.study.video import VIDEO

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        IMAGE,
        PUBFIG,
        SCENE,
        VIDEO,
        OURS,
        ARGUMENTS,
        AGE,
        SUPPLEMENT,
        QUALITY,
        FIGURE2,
    )
}
SHOWN = [
    "figure2", "image", "video", "pubfig", "scene", "age", "supplement", "quality", "arguments",
    "ours",
]  # fmt: skip
"""In the order of the page."""
FAMILIES = {"attributes": ["pubfig", "scene"]}


def chosen_names(asked: Sequence[str]) -> list[str]:
    """Experiments asked for, in the order they are run; all if none is named.

    Raises
    ------
    StudyDataError
        There is none of that name.
    """
    wanted: set[str] = set()
    for name in asked:
        if name not in EXPERIMENTS and name not in FAMILIES:
            near = difflib.get_close_matches(name, [*EXPERIMENTS, *FAMILIES], 1)
            hint = message("did_you_mean", name=near[0]) if near else ""
            known = ", ".join(SHOWN)
            refuse(message("no_such_experiment", name=name, known=known, hint=hint))
        wanted |= set(FAMILIES.get(name, [name]))
    return [name for name in EXPERIMENTS if not wanted or name in wanted]


def found_data(
    names: Sequence[str], data: Path | None, *, named: bool, given: bool
) -> dict[str, Path | None]:
    """Folder of the real files of each experiment, checked; None for a stand-in.

    Parameters
    ----------
    named
        Somebody asked for these experiments, not for all there are.
    given
        Somebody asked for this folder.

    Raises
    ------
    StudyDataError
        What was asked for by name has no data in the folder that was given, or it is not right.
    """
    if given and (data is None or not data.is_dir()):
        refuse(message("data_is_no_folder", path=data))
    folders: dict[str, Path | None] = {}
    for name in names:
        experiment = EXPERIMENTS[name]
        folders[name] = None
        if experiment.folder is None or data is None:
            continue
        below = data / experiment.folder
        if not below.is_dir() and named and given and len(names) == 1:
            below = data
        if below.is_dir():
            if experiment.check is not None:
                experiment.check(below)
            folders[name] = below
        elif named and given:
            folder = experiment.folder
            refuse(message("no_folder_for_experiment", path=data, folder=folder, name=name))
    return folders
