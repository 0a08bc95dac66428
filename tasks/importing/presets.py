"""Mappings of the tools whose exports always look the same."""

from __future__ import annotations

from tasks.importing.mapping import Mapping

PRESETS: dict[str, tuple[Mapping, ...]] = {
    "arena": (
        Mapping(
            item_a="model_a",
            item_b="model_b",
            outcome="winner",
            outcomes={
                "model_a": "a",
                "model_b": "b",
                "tie": "tie",
                "tie (bothbad)": "tie",
            },
            annotator="judge",
            time="tstamp",
            optional=frozenset({"judge", "tstamp"}),
        ),
    ),
    "crowd-kit": tuple(
        Mapping(
            item_a="left",
            item_b="right",
            winner="label",
            annotator=worker,
            left="item_a",
            optional=optional,
        )
        # Versions before 1.0 call the worker performer.
        for worker, optional in (("performer", frozenset()), ("worker", frozenset({"worker"})))
    ),
    "evalica": (
        Mapping(
            item_a="left",
            item_b="right",
            outcome="winner",
            # Whole numbers are left out: versions do not agree on which is which.
            outcomes={
                "left": "a",
                "right": "b",
                "tie": "tie",
                "x": "a",
                "y": "b",
                "draw": "tie",
                "winner.x": "a",
                "winner.y": "b",
                "winner.draw": "tie",
            },
            # Its left and right are names of the two columns, not places on a screen.
        ),
    ),
    "preference": (
        Mapping(item_a="chosen_id", item_b="rejected_id", winner="item_a"),
        Mapping(item_a="chosen", item_b="rejected", winner="item_a"),
    ),
}
"""By tool, the layouts its files may have: the first whose columns are there, else the last."""

MTURK = Mapping(
    annotator="WorkerId",
    seconds="WorkTimeInSeconds",
    time="SubmitTime",
    vote_id="AssignmentId",
    drop={"AssignmentStatus": ("Rejected",)},
    optional=frozenset(
        {"WorkerId", "WorkTimeInSeconds", "SubmitTime", "AssignmentId", "AssignmentStatus"}
    ),
)
"""What every batch of Mechanical Turk has; a mapping file adds the columns of the template."""

LABEL_STUDIO = Mapping(
    item_a="left item",
    item_b="right item",
    outcome="selected",
    outcomes={"left": "a", "right": "b", "": "skip"},
    annotator="completed_by",
    left="item_a",
    seconds="lead_time",
    time="created_at",
    vote_id="id",
    drop={"annotation": ("cancelled", "ground truth")},
)
"""Of the table that `tasks.importing.label_studio` makes."""

ARGILLA = Mapping(
    item_a="first option",
    item_b="second option",
    outcome="ranking",
    outcomes={"first": "a", "second": "b", "equal": "tie", "": "skip"},
    annotator="user_id",
    time="time",
    weight="weight",
    drop={"status": ("draft", "discarded")},
)
"""Of the table that `tasks.importing.argilla` makes."""
