"""What a study leaves behind: tables, figures, one page, and a text for the documentation."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from tasks.messages import message
from tasks.study.claims import judged
from tasks.study.content import ClaimLine, CostLine, ExperimentPart, StudyContent
from tasks.study.experiments import EXPERIMENTS, SHOWN
from tasks.study.figures import drawn
from tasks.study.markdown import study_markdown
from tasks.study.page import study_page
from tasks.study.records import Example, measured_table
from tasks.study.supplement import bic_table
from tasks.study.trials import Done
from urlr.ids import plural

SHOWN_EXAMPLES = 3
"""Of each kind, per experiment: from the first trials that have some."""


@dataclass(frozen=True, slots=True)
class Cost:
    """How long a study took, and how well it used its workers."""

    workers: int
    wall_seconds: float
    """From the first trial sent to the last one done."""
    busy_seconds: float
    """Sum over the trials that were run now."""
    n_run: int
    sittings: int = 1
    """How often the study was begun or gone on with."""

    @property
    def efficiency(self) -> float:
        """Share of the workers' time that went into trials."""
        return self.busy_seconds / (self.workers * self.wall_seconds) if self.wall_seconds else 0.0

    def sentence(self) -> str:
        """In words."""
        if not self.n_run:
            return message("no_trial_run")
        sittings = f" in {self.sittings} sittings" if self.sittings > 1 else ""
        return (
            f"{plural(self.n_run, 'trial')} in {self.wall_seconds / 60:.1f} min{sittings} on "
            f"{plural(self.workers, 'worker')}: {self.busy_seconds / 60:.1f} min of work, parallel "
            f"efficiency {self.efficiency:.0%}."
        )

    def after(self, earlier: Cost | None) -> Cost:
        """Both together, if both had as many workers; the earlier alone if nothing was run now."""
        if earlier is None:
            return self
        if not self.n_run:
            return earlier
        if earlier.workers != self.workers:
            return self
        return Cost(
            self.workers,
            earlier.wall_seconds + self.wall_seconds,
            earlier.busy_seconds + self.busy_seconds,
            earlier.n_run + self.n_run,
            earlier.sittings + 1,
        )


def read_cost(out: Path) -> Cost | None:
    """What earlier sittings of a study cost; None if there was none."""
    try:
        return Cost(**json.loads((out / "cost.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class StudySummary:
    """What a study found, as far as it is told at once."""

    out: Path
    claims: list[ClaimLine]
    cost: Cost
    failures: dict[str, str]
    """What went wrong, by unit."""


def write_results(
    done: Sequence[Done],
    out: Path,
    *,
    when: str,
    quick: bool,
    cost: Cost,
    failures: dict[str, str],
    progress: Callable[[str, float], None],
) -> StudySummary:
    """Judge the claims, draw the figures, write everything below `out`."""
    cost = cost.after(read_cost(out))
    (out / "cost.json").write_text(json.dumps(asdict(cost)))
    measured = measured_table([(one.unit, one.outcome) for one in done])
    kinds: dict[str, set[str]] = defaultdict(set)
    for one in done:
        kinds[one.unit.experiment].add(one.outcome.evidence)
    evidence = {name: " and ".join(sorted(found)) for name, found in kinds.items()}
    claims = judged(measured, evidence)
    parts = [_part(name, measured, done, evidence[name]) for name in SHOWN if name in evidence]
    figures = out / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    charts = [chart for part in parts for chart in part.charts]
    for k, chart in enumerate(charts):
        progress(f"drawing {chart.name}", k / len(charts))
        for ending, picture in drawn(chart).items():
            (figures / f"{chart.name}.{ending}").write_bytes(picture)
    bic = (
        {
            "Outliers of random sign": bic_table(measured, signs="random"),
            "Outliers against the true order": bic_table(measured, signs="reversed"),
        }
        if "supplement" in evidence
        else {}
    )
    kind = "quick" if quick else "full"
    content = StudyContent(
        title="The paper's claims, rerun",
        when=when,
        kind=kind,
        lines=_lines(cost, failures, quick=quick),
        claims=claims,
        bic=list(bic.items()),
        parts=parts,
        costs=_costs(done),
        cost_note=cost.sentence(),
    )
    (out / "index.html").write_bytes(study_page(content))
    (out / "study.md").write_text(study_markdown(content), encoding="utf-8")
    measured.to_csv(out / "measured.csv.gz", index=False)
    pd.DataFrame(claims).to_csv(out / "claims.csv", index=False)
    if bic:
        pd.concat(bic, names=["outliers"]).droplevel(1).to_csv(out / "bic.csv")
    return StudySummary(out, claims, cost, failures)


def _part(name: str, measured: pd.DataFrame, done: Sequence[Done], evidence: str) -> ExperimentPart:
    experiment = EXPERIMENTS[name]
    mine = measured[measured["experiment"] == name]
    charts = [chart for chart in experiment.charts(mine, evidence) if not chart.table.empty]
    return ExperimentPart(
        name=name,
        title=experiment.title,
        about=experiment.about,
        evidence=evidence,
        charts=charts,
        tables=experiment.tables(mine) if experiment.tables is not None else [],
        examples=_examples([one for one in done if one.unit.experiment == name]),
    )


def _examples(done: Sequence[Done]) -> list[Example]:
    """Some votes that the truth confirms to be wrong, and some that it does not."""
    every = [example for one in done for example in one.outcome.examples]
    return [
        example
        for kind in (True, False)
        for example in [one for one in every if one.confirmed == kind][:SHOWN_EXAMPLES]
    ]


def _lines(cost: Cost, failures: dict[str, str], *, quick: bool) -> list[str]:
    lines = [cost.sentence()]
    if quick:
        lines.append(
            "A quick study: few trials, images at a third of their size. Its verdicts are a "
            "rehearsal; those of the full study count."
        )
    lines += [f"Failed: {name}: {why}" for name, why in failures.items()]
    return lines


def _costs(done: Sequence[Done]) -> list[CostLine]:
    took: dict[str, list[float]] = defaultdict(list)
    for one in done:
        took[one.unit.experiment].append(one.cpu_seconds)
    return [CostLine(name, len(took[name]), sum(took[name])) for name in SHOWN if name in took]
