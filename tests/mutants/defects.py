"""The defects: what is wrong, the text that makes it so, and the tests that should notice.

Chosen before whole nights in the test suite were replaced by tests within one process. Those with
a `before` are in what only whole nights noticed then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tier = Literal["quick", "test"]


@dataclass(frozen=True)
class Defect:
    """A replacement in one file."""

    name: str
    file: str
    old: str
    """Occurs once in the file."""
    new: str
    tier: Tier
    """Where it must be noticed: `quick` without a server, a browser or a whole night."""
    tests: tuple[str, ...]
    """Files, or tests in them, that should notice it, the nearest first."""
    before: tuple[str, ...] = ()
    """Those that did before nights were replaced; none: the same."""

    @property
    def room(self) -> str:
        """The part of the project that it lies in."""
        return "report" if self.file.startswith("tasks/report/") else self.file.partition("/")[0]


def _in(module: str, *tests: str) -> tuple[str, ...]:
    return tuple(f"tests/{module}.py::test_{test}" for test in tests) or (f"tests/{module}.py",)


def _night(module: str, *tests: str) -> dict[str, tuple[str, ...]]:
    """Noticed by a whole night then; the tests that notice it now take the place of `tests`."""
    return {"tests": _in(module, *tests), "before": _in(module, *tests)}


_METHOD = [
    Defect(
        "a tie counts as a win of the item named first",
        "urlr/votes/table.py",
        'tie = outcome == OUTCOMES.index("tie")',
        "tie = np.zeros(n, np.bool_)",
        "quick",
        _in("urlr/test_votes"),
    ),
    Defect(
        "a vote that came twice counts twice",
        "urlr/votes/table.py",
        'reject(_repeated(votes["vote_id"], reason == 0), REPEATED)',
        "pass",
        "quick",
        _in("urlr/test_votes"),
    ),
    Defect(
        "weights of votes are ignored",
        "urlr/graph/comparisons.py",
        "votes.winner[rows], votes.loser[rows], tie, votes.weight[rows]",
        "votes.winner[rows], votes.loser[rows], tie, np.ones(tie.size)",
        "quick",
        _in("urlr/test_graph", "weights_add_up"),
    ),
    Defect(
        'the item 7 and the item "7" are one',
        "urlr/ids.py",
        "items.astype(object).get_indexer(wanted.astype(object))",
        "items.astype(str).get_indexer(wanted.astype(str))",
        "quick",
        _in("urlr/test_votes", "number_ids_do_not_match_text_features"),
    ),
    Defect(
        "intervals are of another level than they say",
        "urlr/diagnostics/intervals.py",
        "_Z = float(ndtri(0.5 + LEVEL / 2))",
        "_Z = float(ndtri(LEVEL))",
        "quick",
        _in("urlr/test_intervals"),
    ),
    Defect(
        "the least suspicious votes are set aside first",
        "urlr/model/robust.py",
        "np.argsort(-suspected[rows]",
        "np.argsort(suspected[rows]",
        "quick",
        _in("urlr/test_default"),
    ),
    Defect(
        "people are judged by fits that saw their votes",
        "urlr/model/robust.py",
        "fitted = fit_to(~out)",
        "fitted = fit_to(np.ones_like(out))",
        "quick",
        _in("urlr/test_default_parts", "people_are_judged_by_fits_without_their_votes"),
    ),
    Defect(
        "the ridge is tuned on votes whose items the fit has seen",
        "urlr/model/tuning.py",
        "(fold[rows.winner] != k) & (fold[rows.loser] != k) & counts",
        "((fold[rows.winner] != k) | (fold[rows.loser] != k)) & counts",
        "quick",
        _in("urlr/test_tuning_and_errors", "the_ridge_has_the_least_loss_on_items_left_out"),
    ),
    Defect(
        "scores are negated when a model is saved",
        "urlr/model_file.py",
        "arrays[name] = ranker.scores[name].to_numpy(np.float64)",
        "arrays[name] = -ranker.scores[name].to_numpy(np.float64)",
        "quick",
        _in("urlr/test_model_file"),
    ),
    Defect(
        "a changed array of a model is loaded",
        "urlr/model_file.py",
        "if _digest(blob) != digest:",
        "if not digest:",
        "quick",
        _in("urlr/test_model_file", "changed_array_is_refused"),
    ),
    Defect(
        "equal scores count as a vote ordered rightly",
        "urlr/metrics.py",
        "wrong = np.where(won == lost, 0.5, won < lost)",
        "wrong = np.where(won == lost, 0.0, won < lost)",
        "quick",
        _in("urlr/test_metrics"),
    ),
    Defect(
        "people are flagged without regard to how many are tested",
        "urlr/people/verdicts.py",
        "scaled = p_values[order] * order.size / np.arange(1, order.size + 1)",
        "scaled = p_values[order] / np.arange(1, order.size + 1)",
        "quick",
        _in("urlr/test_people", "q_values_vs_scipy"),
    ),
    Defect(
        "the worst item is rank 1",
        "urlr/model/resampling.py",
        'order = np.argsort(-scores, kind="stable")',
        'order = np.argsort(scores, kind="stable")',
        "quick",
        _in("urlr/test_default"),
    ),
]

_TASKS = [
    Defect(
        "the gate holds what is better than an earlier version, and publishes what is worse",
        "tasks/gate.py",
        "return -difference.value > max(drop, errors * difference.error) + _ROUNDING",
        "return difference.value > max(drop, errors * difference.error) + _ROUNDING",
        "quick",
        _in("tasks/test_gate"),
    ),
    Defect(
        "the gate counts votes and not people, so that a campaign wins",
        "tasks/evaluate.py",
        "return self.plain if self.by_person is None else self.by_person",
        "return self.plain",
        "quick",
        _in("tasks/test_gate", "a_campaign_that_convinces_the_votes_does_not_convince_the_people"),
    ),
    Defect(
        "the champion alias moves before the lease is checked",
        "tasks/registry/alias_moves.py",
        "    mlflow.tag_model(name, move.record())\n    try:\n",
        "    mlflow.tag_model(name, move.record())\n"
        "    mlflow.set_alias(name, CHAMPION, number)\n    try:\n",
        "test",
        _in("tasks/test_registry_aliases", "a_lost_lease_leaves_the_champion_and_says_so"),
    ),
    Defect(
        "a version becomes champion before it was verified",
        "tasks/publish.py",
        "        desk.verifier.verify(version)\n",
        "",
        "quick",
        _in("tasks/test_publish", "what_cannot_be_verified_does_not_become_champion"),
    ),
    Defect(
        "the history does not say that --force was used",
        "tasks/publish.py",
        "forced=verdict.forced,",
        "forced=False,",
        "quick",
        _in("tasks/test_publish"),
    ),
    Defect(
        "a rollback does not verify the version that it goes back to",
        "tasks/registry/registry.py",
        "        self.verify(version, exact=False)\n",
        "",
        "test",
        _in("tasks/test_registry_aliases", "going_back_is_refused_with_what_there_is"),
    ),
    Defect(
        "creating an object overwrites one that is there",
        "tasks/bucket.py",
        'self._write(key, data, IfNoneMatch="*")',
        "self._write(key, data)",
        "test",
        _in("tasks/test_store", "creating_the_same_again_is_no_error_and_other_bytes_are"),
    ),
    Defect(
        "an object that changed after it was listed is read",
        "tasks/objects.py",
        "if etag is None or etag == before == after:",
        "if before == after:",
        "quick",
        _in("tasks/test_store", "an_object_that_changed_after_the_listing_is_told"),
    ),
    Defect(
        "passwords in addresses are shown",
        "tasks/objects.py",
        'text = _USERINFO.sub("***@", text)',
        "pass",
        "quick",
        _in("tasks/test_store", "secrets_are_taken_out_of_any_text"),
    ),
    Defect(
        "a small gzip file may unpack to any size",
        "tasks/limits.py",
        "if size > _UNJUDGED and size > _RATIO * source.tell():",
        "if size < 0:",
        "test",
        _in("tasks/test_bombs"),
    ),
    Defect(
        "a formula that begins with @ reaches a spreadsheet",
        "tasks/write.py",
        r'_FORMULA = re.compile(r"[=+\-@\t\r\n]")',
        r'_FORMULA = re.compile(r"[=+\-\t\r\n]")',
        "quick",
        _in(
            "tasks/test_write",
            "formulas_in_a_csv_of_results_are_made_harmless_and_numbers_are_left",
        ),
    ),
    Defect(
        "the judge learns from the votes that it is judged by",
        "tasks/judging.py",
        "judge = urlr.fit(split.train, features, **chosen)",
        "judge = urlr.fit(split.votes.frame, features, **chosen)",
        "quick",
        _in("tasks/test_train", "a_judge_has_not_seen_the_votes_it_is_judged_by"),
    ),
    Defect(
        "a vote with one held-out item is learnt from",
        "tasks/split.py",
        "part[rows][held_item[winner[rows]] | held_item[loser[rows]]] = UNSEEN",
        "part[rows][held_item[winner[rows]] & held_item[loser[rows]]] = UNSEEN",
        "quick",
        _in("tasks/test_split"),
    ),
    Defect(
        "a lease just past its end is taken though clocks differ",
        "tasks/lease.py",
        "return self.released or now > self.expires + timedelta(seconds=grace)",
        "return self.released or now > self.expires",
        "quick",
        _in("tasks/test_lease", "a_lease_just_past_its_end_is_respected_because_clocks_differ"),
    ),
    Defect(
        "a holder does not notice that another took the store",
        "tasks/lease.py",
        "newest = max(_numbers(self._store), default=0)",
        "newest = self.number",
        "quick",
        _in("tasks/test_lease", "a_holder_whose_clock_is_slow_is_told_of_the_newer_lease"),
    ),
    Defect(
        "tidying removes the run that a champion was made from",
        "tasks/tidy.py",
        "places = [version.place for found in versions.values() for version in found]",
        "places: list[str] = []",
        "quick",
        _in("tasks/test_tidy", "what_a_night_may_be_held_against_stays_though_no_record_names_it"),
    ),
    Defect(
        "a dry run counts as the night before",
        "tasks/runs.py",
        "        if night.dry:\n            continue\n",
        "",
        "quick",
        _in("tasks/test_runs", "of_a_dry_run_only_the_results_count"),
    ),
    Defect(
        "settings by pattern are ignored",
        "tasks/settings.py",
        "return pattern == attribute or fnmatch.fnmatchcase(attribute, pattern)",
        "return pattern == attribute",
        "quick",
        _in("tasks/test_settings"),
    ),
    Defect(
        "a dump that was delivered twice counts twice",
        "tasks/gather.py",
        "if digest in seen and len(frame) >= FEWEST_REPEATED:",
        "if digest in seen and not len(frame):",
        "test",
        **_night("faults/test_bad_dumps", "all_rows_of_what_was_read_are_accounted_for"),
    ),
    Defect(
        "rows left out of a night of the past are missing among those skipped",
        "tasks/work.py",
        'for name in ("read", "skipped")}',
        'for name in ("read",)}',
        "quick",
        _in("tasks/test_train"),
    ),
    Defect(
        "features of all come before those of the attribute's own folder",
        "tasks/discover.py",
        "for length in range(len(parts), -1, -1):",
        "for length in range(len(parts) + 1):",
        "quick",
        _in("tasks/test_discover", "the_features_of_the_nearest_folder_count"),
    ),
    Defect(
        "figures count attributes by the last verdict instead of what became of them",
        "tasks/metrics.py",
        "states = Counter(entry.outcome for entry in entries)",
        "states = Counter(entry.verdict for entry in entries)",
        "quick",
        _in("tasks/test_metrics"),
    ),
    Defect(
        "a dry run passes for a fresh night",
        "tasks/freshness.py",
        "return not night.dry and night.as_of is None",
        "return night.as_of is None",
        "quick",
        _in("tasks/test_freshness"),
    ),
    Defect(
        "the doctor does not notice a clock that is behind",
        "tasks/doctor/storage.py",
        "off = max(ahead, behind, 0.0)",
        "off = max(behind, 0.0)",
        "quick",
        _in("tasks/test_doctor", "clocks_may_differ_by_half_a_minute_and_must_not_by_five"),
    ),
    Defect(
        "workers of this machine can be reached from others",
        "tasks/cluster/starting.py",
        'host="127.0.0.1",',
        'host="0.0.0.0",',
        "test",
        _in("tasks/test_cluster", "only_loopback_listens"),
    ),
    Defect(
        "an item's own effect is missing from scores of a table",
        "tasks/score.py",
        "scores[k] += _own(model, table, otherwise=0.0) if reasons[k] is None else np.nan",
        "scores[k] += 0.0 if reasons[k] is None else np.nan",
        "quick",
        _in("tasks/test_score"),
    ),
    Defect(
        "an export that was cut short is published",
        "tasks/publish.py",
        "votes_before=None if before is None else int(before),",
        "votes_before=None,",
        "test",
        **_night("faults/test_shifts", "a_sudden_shift_is_held_with_its_cause"),
    ),
    Defect(
        "a dry run registers and publishes",
        "tasks/publish.py",
        "    if desk.dry:\n",
        "    if desk.dry and not verdict.publish:\n",
        "test",
        **_night(
            "flows/test_nightly_again",
            "a_dry_run_leaves_the_registry_alone_and_its_results_are_used",
        ),
    ),
    Defect(
        "the record does not say why rows do not count",
        "tasks/publish.py",
        "reasons=result.reasons,",
        "reasons={},",
        "test",
        **_night(
            "faults/test_clocks",
            "a_night_in_the_hour_that_comes_twice_has_the_votes_before_it_alone",
        ),
    ),
    Defect(
        "a version in the registry does not say which dumps it is made of",
        "tasks/publish.py",
        "etags=result.dumps,",
        "etags={},",
        "test",
        **_night("flows/test_nights_by_hand", "a_version_in_the_registry_says_what_it_is_made_of"),
    ),
    Defect(
        "a model that was held is not the challenger in the registry",
        "tasks/registry/registry.py",
        "self._mlflow.set_alias(model.name, CHALLENGER, version.number)",
        "pass",
        "test",
        _in(
            "tasks/test_registry_aliases",
            "what_the_gate_held_is_the_challenger_until_it_is_overtaken",
        ),
    ),
]

_FLOWS = [
    Defect(
        "a Partial night ends with exit code 0",
        "flows/nightly_command.py",
        '"Partial": 3',
        '"Partial": 0',
        "test",
        **_night(
            "flows/test_nothing_set", "a_first_night_prints_known_lines_and_no_noise_of_libraries"
        ),
    ),
    Defect(
        "Prefect shows a night in which something failed as Completed",
        "flows/nightly.py",
        "return Completed(name=night.state, message=night.reason, data=night)",
        "return Completed(message=night.reason, data=night)",
        "test",
        **_night("flows/test_nightly", "prefect_has_one_task_run_per_attribute_worked_on"),
    ),
    Defect(
        "Prefect shows a run that died as running",
        "flows/nightly.py",
        "            client.set_flow_run_state(run.id, Crashed(message=gone), force=True)\n",
        "",
        "test",
        **_night("faults/test_killed", "prefect_shows_the_dead_as_crashed"),
    ),
    Defect(
        "what killed nights left half-written is not removed",
        "flows/night_start.py",
        '        store.sweep(f"{RUNS}/{run}", before=now)\n',
        "        pass\n",
        "test",
        **_night("faults/test_killed", "nothing_is_there_any_more_that_was_left_halfway"),
    ),
    Defect(
        "an attribute whose worker died is not tried again",
        "flows/night.py",
        "_PASSING = (WorkerDied, Unreachable, RegistryUnreachable)",
        "_PASSING = (Unreachable, RegistryUnreachable)",
        "test",
        **_night("faults/test_workers", "a_worker_in_trouble_is_judged"),
    ),
    Defect(
        "an attribute whose worker always dies may be tried for ever",
        "flows/night.py",
        "return again and self._attempts[attribute] < ATTEMPTS",
        "return again",
        "test",
        **_night("faults/test_workers", "a_worker_in_trouble_is_judged"),
    ),
    Defect(
        "a night never runs out of time",
        "flows/night_start.py",
        "        timer.start()\n",
        "",
        "test",
        **_night("flows/test_nightly_lost_and_found", "a_night_without_time_fails_and_says_so"),
    ),
    Defect(
        "a night of the past counts all votes",
        "flows/night_start.py",
        "as_of=work.asked.as_of,",
        "as_of=None,",
        "test",
        **_night(
            "faults/test_clocks",
            "a_night_in_the_hour_that_comes_twice_has_the_votes_before_it_alone",
        ),
    ),
    Defect(
        "an attribute that was thawed stays held",
        "flows/night.py",
        "self.asked.force or thawed or other_rules or entry.rival_lost",
        "self.asked.force or other_rules or entry.rival_lost",
        "test",
        **_night(
            "flows/test_nights_by_hand",
            "a_thawed_attribute_goes_to_the_gate_again_and_nothing_is_computed_anew",
        ),
    ),
    Defect(
        "what was held for want of a judge stays held when it is back",
        "flows/night.py",
        "thawed or other_rules or entry.rival_lost)",
        "thawed or other_rules)",
        "test",
        **_night(
            "flows/test_nightly_lost_and_found",
            "a_challenger_of_a_champion_without_judge_is_held_until_it_is_put_back",
        ),
    ),
    Defect(
        "a registry that was lost is not filled again",
        "flows/night.py",
        'was_live = entry.live is not None or entry.verdict == "published"',
        "was_live = False",
        "test",
        **_night(
            "flows/test_nights_by_hand", "what_served_when_the_registry_was_lost_serves_again"
        ),
    ),
    Defect(
        "what was rolled back is published when the registry is lost",
        "flows/night.py",
        "order = replace(order, champion_lost=True)",
        "order = replace(order, champion_lost=False)",
        "test",
        **_night(
            "flows/test_nights_by_hand", "what_was_rolled_back_when_the_registry_was_lost_is_held"
        ),
    ),
    Defect(
        "a night with --only forgets all other attributes",
        "flows/night.py",
        "if name not in self.entries and (self.asked.only or not _is_nothing(one))",
        "if name not in self.entries and not (self.asked.only or _is_nothing(one))",
        "test",
        **_night("flows/test_nights_by_hand", "what_never_had_results_is_forgotten_with_its_votes"),
    ),
    Defect(
        "votes that belong to no attribute leave a night Completed",
        "flows/night.py",
        "if not (failed or refused):",
        "if not failed:",
        "test",
        **_night(
            "flows/test_nights_by_hand",
            "votes_of_no_attribute_make_a_night_partial_and_are_told",
        ),
    ),
    Defect(
        "a dry run moves the pointer to its own report",
        "flows/night.py",
        "if is_whole(night) and not trouble:",
        "if not trouble:",
        "test",
        **_night("flows/test_showing_and_publishing", "the_next_night_is_whole_and_pointed_to"),
    ),
    Defect(
        "dashboards show the figures of a dry run",
        "flows/night.py",
        "if self.settings.metrics_dir is not None and is_current(night):",
        "if self.settings.metrics_dir is not None:",
        "test",
        **_night(
            "flows/test_showing_and_publishing",
            "dashboards_are_told_the_figures_of_the_last_night_and_none_of_a_dry_run",
        ),
    ),
    Defect(
        "an attribute whose page cannot be made fails",
        "flows/night.py",
        "            return entry\n        return replace(entry, page=page)",
        "            raise\n        return replace(entry, page=page)",
        "test",
        **_night("flows/test_showing_and_publishing", "an_attribute_without_a_page_is_published"),
    ),
    Defect(
        "what could not be registered is computed again the next night",
        "flows/night.py",
        "waiting=self._computed.get(attribute, known.waiting),",
        "waiting=known.waiting,",
        "test",
        **_night(
            "flows/test_showing_and_publishing",
            "what_could_not_be_registered_is_published_the_next_night_without_fitting",
        ),
    ),
    Defect(
        "results are believed unchanged though the features of a voted item changed",
        "flows/night_start.py",
        "        and before.features == etags_of(order.inputs.features)\n",
        "",
        "test",
        **_night(
            "flows/test_nightly_again", "features_of_a_voted_item_retrain_its_attribute_alone"
        ),
    ),
    Defect(
        "a truth that comes later is not noticed",
        "flows/night_start.py",
        "        and before.truths == etags_of(order.inputs.truth)\n",
        "",
        "test",
        **_night("flows/test_nightly_lost_and_found", "a_truth_that_comes_later_is_held_against"),
    ),
    Defect(
        "a night with too few attributes done has not failed",
        "flows/night.py",
        "if done == 0 or done < self.settings.fewest_done * n:",
        "if done == 0:",
        "test",
        **_night(
            "flows/test_refusals",
            "one_night_at_a_time_and_a_stopped_one_gives_the_store_back",
        ),
    ),
    Defect(
        "a night that could not be staffed leaves the start of a run behind",
        "flows/night_start.py",
        "            forget_start(store, run)\n",
        "",
        "test",
        **_night(
            "flows/test_cluster_night",
            "a_night_on_a_cluster_without_workers_ends_and_gives_the_store_back",
        ),
    ),
    Defect(
        "a cluster that the settings name is not used",
        "flows/night_start.py",
        "if settings.dask_address is None:",
        "if settings.store:",
        "test",
        **_night("flows/test_cluster_night", "a_night_is_done_by_workers_elsewhere"),
    ),
    Defect(
        "settings by attribute are ignored in a night",
        "flows/night_start.py",
        "fit=settings.fit_of(inputs.attribute),",
        'fit=settings.fit_of(""),',
        "test",
        **_night("flows/test_large_night", "a_large_attribute_is_published_beside_others"),
    ),
    Defect(
        "a formula in the name of an attribute reaches tau.csv",
        "flows/night.py",
        "table_bytes(for_spreadsheets(tau_table(night)), TAU)",
        "table_bytes(tau_table(night), TAU)",
        "test",
        **_night("browser/test_night_report", "a_spreadsheet_gets_no_formulas"),
    ),
    Defect(
        "urlr serve has no schedule",
        "flows/serving.py",
        "        schedule=schedule,\n",
        "",
        "test",
        **_night(
            "deploy/test_prefect_deployment", "a_served_night_has_its_time_zone_and_one_place"
        ),
    ),
]

_DEPLOY = [
    Defect(
        "a name in a report can end its element and begin a script",
        "tasks/report/shell.py",
        'text = text.replace("<", "\\\\u003c").replace(">", "\\\\u003e").replace("&", "\\\\u0026")',
        'text = text.replace("&", "\\\\u0026")',
        "quick",
        _in("tasks/test_attribute_page", "no_name_ends_the_element_it_lies_in"),
    ),
    Defect(
        "compose publishes the port of the object store to the network",
        "deploy/compose.yaml",
        'ports: ["127.0.0.1:8333:8333"]',
        'ports: ["8333:8333"]',
        "quick",
        _in("deploy/test_networks", "compose_publishes_ports_on_loopback_alone"),
    ),
    Defect(
        "any pod reaches the Dask scheduler, and so runs code on its workers",
        "deploy/kubernetes/network-policy.yaml",
        "        - podSelector: {matchLabels: {app: flow-worker}}\n      ports: [{port: 8786}]",
        "        - podSelector: {matchLabels: {app: flow-worker}}\n"
        "        - podSelector: {matchLabels: {app: grafana}}\n      ports: [{port: 8786}]",
        "quick",
        _in(
            "deploy/test_networks",
            "only_workers_and_flow_share_a_network_with_the_dask_scheduler",
        ),
    ),
    Defect(
        "readers of reports may read all results, votes among them",
        "deploy/s3/policy-report-reader.json",
        '"arn:aws:s3:::urlr/runs/*/report/*"',
        '"arn:aws:s3:::urlr/runs/*"',
        "test",
        _in("deploy/test_bucket_policy", "a_role_may_do_what_it_needs_and_nothing_else"),
    ),
    Defect(
        "nobody is told that no night was published for a thousand hours",
        "deploy/automations/no-night.yaml",
        "within: 93600",
        "within: 3600000",
        "test",
        _in(
            "deploy/test_prefect_deployment",
            "a_night_is_missed_after_26_hours_and_dead_after_ten_minutes_of_silence",
        ),
    ),
    Defect(
        "no alert tells of attributes that failed",
        "deploy/dashboards/urlr-alerts.yml",
        'expr: urlr_attributes{state="failed"} > 0',
        'expr: urlr_attributes{state="Failed"} > 0',
        "quick",
        _in("deploy/test_metrics_dashboards", "the_rules_fire_when_they_must_and_only_then"),
    ),
]

DEFECTS = (*_METHOD, *_TASKS, *_FLOWS, *_DEPLOY)
