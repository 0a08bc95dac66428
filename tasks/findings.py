"""What was found on one attribute, and all that is written of it, however its votes were read."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.coordinated import coordinated_in
from tasks.discover import etags_of
from tasks.evaluate import OrderTau
from tasks.judging import Judgement
from tasks.other_settings import settings_of
from tasks.plots import path_plot, path_table, ranking_plot
from tasks.report.attribute_page import VoteParts, vote_parts
from tasks.report.columns import left_share
from tasks.report.earlier import Earlier
from tasks.report.evidence import Fitted, page_of
from tasks.report.page_file import PAGE, PAGES
from tasks.result_files import EXAMPLES, JUDGE, MODEL, digests_of, known_result
from tasks.results import RESULT, RESULTS, Order, Result
from tasks.shift import busiest_of
from tasks.store import Exists
from tasks.work import Work, behind, example_rows, settings_digest, shared_map
from tasks.write import table_bytes
from urlr import Ranker
from urlr.model_file import model_bytes
from urlr.people.verdicts import ACCUSATIONS
from urlr.preflight_checks import guessed_tau, mixed_share
from urlr.sentence import Sentence
from urlr.votes.table import USED, VoteTable

_MOST_GROUPS = 5
_REMARKED = {
    "respelled_ids",
    "alike_items",
    "alike_annotators",
    "unknown_columns",
    "one_sided_items",
    "guessed_votes",
}
"""What is found before fitting and is to be said wherever the night is."""
"""Groups of people that the record of a night tells of; the page has all."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What two fits and their judgement come to, before any of it is written."""

    served: Ranker
    """The ranker as it is served."""
    told: Ranker
    """The same as it is told of, with evidence of the votes at hand."""
    judgement: Judgement
    votes: VoteTable
    """Those at hand."""
    verdicts: pd.DataFrame
    """On them."""
    rows: dict[str, int]
    """Every row of every dump, by what became of it."""
    reasons: dict[str, int]
    truth: OrderTau | None


def page_parts(order: Order, work: Work, found: Findings, before: Earlier | None) -> VoteParts:
    """The page of an attribute, with the votes it lists in files of their own."""
    judgement = found.judgement
    fitted = Fitted(
        attribute=order.inputs.attribute,
        votes=found.votes,
        features=work.features,
        split=work.split,
        ranker=found.told,
        judge=judgement.judge,
        verdicts=found.verdicts,
        rows=found.rows,
        reasons=found.reasons,
        unjudged=judgement.unjudged,
        methods=judgement.methods,
        times=work.gathered.times,
        before=before,
    )
    return vote_parts(page_of(fitted))


def files_of(
    order: Order, work: Work, found: Findings, page: VoteParts, tables: dict[str, pd.DataFrame]
) -> dict[str, bytes]:
    """Everything that is written of it but the record; `tables` become Parquet."""
    tables = tables | {"path": path_table(found.verdicts)}
    files = {
        f"{name}.parquet": table_bytes(table, f"{name}.parquet") for name, table in tables.items()
    }
    files |= page.files | {
        "summary.txt": (found.told.summary() + "\n").encode(),
        "ranking.svg": ranking_plot(found.served.scores),
        "path.svg": path_plot(tables["path"]),
        EXAMPLES: example_rows(order, work, found.served),
        PAGE: PAGES.to_bytes(page.page),
        MODEL: model_bytes(behind(found.served, shared_map(order.store, order.shared))),
    }
    if found.judgement.judge is not None:
        files[JUDGE] = model_bytes(found.judgement.judge)
    return files


def recorded(
    order: Order,
    work: Work,
    found: Findings,
    page: VoteParts,
    *,
    place: str,
    files: dict[str, bytes],
    more: tuple[str, ...] = (),
    used: float,
) -> Result:
    """Write the record, the last object of a result; `used` is the CPU time when work began.

    `more` names files that were written beside those given.
    """
    inputs, told, judgement = order.inputs, found.told, found.judgement
    people = told.people if told.people is not None else pd.DataFrame({"verdict": []})
    result = Result(
        attribute=inputs.attribute,
        key=work.key,
        place=place,
        run=order.run,
        dumps=etags_of(inputs.dumps),
        features=etags_of(inputs.features),
        settings=settings_digest(order),
        shared=order.shared,
        split=work.rule,
        rows=found.rows,
        reasons=found.reasons,
        dump_rows=work.gathered.rows,
        newest=work.gathered.newest,
        n_items=told.facts.n_items,
        n_pruned=told.facts.n_pruned_votes,
        n_turned=told.facts.n_turned_votes,
        n_people=len(people),
        flagged={
            str(name): int(count)
            for name, count in people["verdict"].value_counts().items()
            if name in ACCUSATIONS and count > 0
        },
        tau=judgement.tau,
        methods=judgement.methods,
        unjudged=judgement.unjudged,
        truth=found.truth,
        warnings=told.facts.warnings,
        files=tuple(sorted((*files, *more))),
        seconds=time.process_time() - used,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        left_share=left_share(work.table),
        self_test=page.page.self_test,
        groups=tuple(one.words for one in page.page.concentration.groups[:_MOST_GROUPS]),
        coordinated=coordinated_in(told, page.page.concentration.groups),
        busiest=busiest_of(work.table),
        digests=digests_of(files),
        guessed=_guessed(found.votes),
        chosen=settings_of(order),
        mixed=mixed_share(*(told.scores[side].to_numpy(np.float64) for side in ("wins", "losses"))),
        remarks=tuple(
            text
            for text in (*told.facts.warnings, *told.facts.notes)
            if isinstance(text, Sentence) and text.code in _REMARKED
        ),
    )
    try:
        order.store.create(f"{place}/{RESULT}", RESULTS.to_bytes(result))
    except Exists:  # by an attempt that was thought dead: the same but for its cost
        written = known_result(order, work.key)
        if written is None:
            raise
        return written
    return result


def _guessed(votes: VoteTable) -> float | None:
    used = votes.status == USED
    return guessed_tau(votes.winner[used], votes.loser[used])
