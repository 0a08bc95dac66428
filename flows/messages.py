"""Every sentence of this package that people may read, by code."""

from __future__ import annotations

from urlr.sentence import messages_of

MESSAGES = {
    # --- cli
    "which_files_to_score": "give MODEL FEATURES, or FEATURES alone; see `urlr score --help`.",
    "out_is_read": "--out {path} is a file to be read; give another name.",
    "scored": "Scored {count:# item} into {path}. Top: {best:some}.",
    "stopped_early": "stopped before the end.",
    # --- fit_command
    "see_fit_help": "{wrong} See `urlr fit --help`.",
    "lies_in_out": "{path} lies in {out}, which is to be replaced; move it away.",
    "results_written": "\nWrote {files} to {path}.",
    "look_at_ranking": "Look at {path}/{file}; features would let it score others.",
    "score_next": "Next: urlr score {model} NEW_FEATURES.csv --out scores.csv",
    # --- import_command
    "votes_written": "\nWrote {count:# row} to {path}: {columns}.",
    "fit_next": "Next: urlr fit {path} --out ranking",
    # --- doctor_command
    "no_prefect_named": (
        "PREFECT_API_URL is not set: a night starts a server of its own while it lasts"
    ),
    "prefect_answers": "{address} answers",
    "problems_found": "{counts}: do what the lines say, and run `urlr doctor` again.",
    "warnings_found": "No problem, {counts}.",
    "all_is_well": "All is well.",
    # --- nightly_command
    "report_at": "Report: {store}/runs/{run}/report/index.html",
    "registry_at": "Registry: {registry}. Next: urlr status, urlr models",
    "rolled_back": (
        "{attribute}: version {to} is champion again, in place of version {before}; it was read "
        "back and checked."
    ),
    "champion_again": (
        "{attribute}: version {to} is champion again, where none was; it was read back and checked."
    ),
    # --- status
    "registry_not_asked": "The registry cannot be asked: {why}",
    "store_not_asked": "The store cannot be asked: {why}",
    "no_night_yet": "No night has been run on {store}; start one: urlr nightly",
    "night_running": ("Running: {run:shown} on {host:shown} (process {process}) since {since}."),
    "runs_ended_without_a_word": (
        "{count:# run} ended without a word ({runs:some}); urlr nightly takes up what was left."
    ),
    "no_night_finished": "No night has finished yet.",
    "last_night": "Night of {night} (run {run}), finished {finished}, {ago} ago.",
    "nothing_live": "Nothing is live: the registry has no champion.",
    # --- tidy_command
    "too_few_nights": (
        "--nights {nights} is too few: give {least} (what gate and report look back, see "
        "URLR_GATE__NIGHTS) to {most:,}."
    ),
    "too_many_nights": (
        "--nights {nights} is too many: give {least} (what gate and report look back, see "
        "URLR_GATE__NIGHTS) to {most:,}."
    ),
    "recent_runs_stay": "{runs:# run} of the last {nights:# night} stay",
    "needed_runs_stay": (
        "{runs:# run} of the last {nights:# night} stay, and {needed:,} older that something still "
        "rests on"
    ),
    "no_run_can_go": "No run on {store} can go: {stay}.",
    "old_runs": "{runs:# run} ({first} to {last}), {size:,.1f} MiB in {objects:# object}",
    "old_runs_removed": "Removed {what}. {stay}.",
    "old_runs_found": "{what}: nothing needs them. {stay}.",
    "to_remove_them": "To remove them: urlr tidy --store {store}{nights} --remove",
    # --- report_command
    "report_built": "Night of {night} (run {run}): {pages:# page} and the overview.",
    "results_without_page": "{count} of {total} attributes have results without a page.",
    "open_report": "Open {path}",
    # --- scoring_command
    "scored_by_champion": (
        "Scored {count:# item} by version {version} of {attribute:shown 80} into {path}. Top: "
        "{best:some}."
    ),
    # --- study_command
    "only_real_votes": "{names} run on real votes only; give their folder with --data.",
    "too_few_workers": "--workers {count} can do nothing; give 1 or more.",
    "on_real_data": "On real data below {path}: {names}.",
    "on_stand_ins": "On generated stand-ins: {names}.",
    "experiments_left_out": "Left out, no real votes found: {names}.",
    "claims_not_judged": "{count} of {total} claims rest on experiments not run here.",
    "trial_failed": "Failed: {name}: {why}",
    "study_at": "All of it: {page} (tables in {folder}, figures in {figures})",
    # --- study
    "trials_failed": "{count} of {total} trials failed",
    # --- night
    "as_of_in_the_future": "--as-of {day:%Y-%m-%d} lies in the future; give a past day.",
    "unexpected_in_worker": (
        "unexpected {error}; report it, with what Prefect's log says of this attribute."
    ),
    "unexpected_error": (
        "unexpected {kind}: {why:shown 300}; report it, with what Prefect's log says of this "
        "attribute."
    ),
    "not_reached": "not reached before the end",
    "workers_left_out": (
        "workers that joined {where:shown 200} got no work, since they have another urlr than this "
        "one, or none: {workers:some}; install there what runs here"
    ),
    "no_figures_for_dashboards": "there are no figures for dashboards",
    "the_report": "the report",
    "the_page_of": "the page of {attribute:shown 80}",
    "not_made": (
        "{what} could not be made ({kind}: {why:shown 300}); once mended: urlr report {run}"
    ),
    "pointer_not_moved": "{path} still leads to an earlier night ({why:shown 300})",
    "live_not_known": "what is live could not be asked at the end",
    "all_done": "{total:# attribute} done",
    "some_done": "{done} of {total:# attribute} done",
    "too_few_done": "{done} of {total:# attribute} done, and at least {fewest:.0%} must be",
    "partly_done": "{parts}",
    "these_failed": "failed: {names:some 10}",
    "objects_outside": "{count:# object} outside of any attribute",
    "not_begun": "not begun: the night was stopped.",
    "not_published": "not published: the night was stopped.",
    "votes_from_the_future": (
        "votes dated in the future, the last {last:%Y-%m-%d}, on {attributes:some}; check the "
        "clock of whatever stamps them"
    ),
    "remark_on": "{attribute:shown 80}: {remark}",
    "more_remarks": (
        "{count:# more attribute} with odd votes, see their pages: {attributes:some 10}"
    ),
    "no_report": "{done}, but the report could not be written",
    "no_pages": "{done}, but the pages of {attributes:some 10} could not be written",
    "not_latest": "{done}, but report/latest.html could not be written",
    "other_latest": "{path} leads to another night",
    "models_taken_over": (
        "{count:# model} that belonged to no store now belong to this one: {attributes:some}"
    ),
    "adopted": "{attribute:shown 80}: its model now belongs to {store}; before, to {before}",
    "nobody": "nobody",
    "nothing_new": "nothing new since it was {verdict}{version}",
    "as_version": " as version {version}",
    "nothing_new_since_held": "{nothing_new}: {why}",
    # --- night_start
    "reducing_features": "reducing features",
    "record_passed": "{why} Went on from {since}",
    "newest_record_damaged": (
        "The newest record cannot be read; what follows is of the last one that can."
    ),
    "earlier_night": "run {run}, the night of {night}",
    "no_earlier_night": "nothing, as in a first night",
    "runs_did_not_finish": (
        "{count:# run} before this did not finish ({runs:some}); what was computed is used"
    ),
    "no_votes_any_more": "no votes any more on {attributes:some}; what is live stays live",
    "night_took_too_long": (
        "stopped: the night took longer than {seconds:g} s; raise URLR_NIGHT_DEADLINE, or look for "
        "what it waited for"
    ),
    # --- night_shared
    "workers_died_reducing": (
        "workers died while {folder} ({parts:# part}) was reduced, likely for lack of memory; "
        "raise URLR_WORKER_MEMORY or use fewer workers."
    ),
    "part_changed": "{key} changed while the night began; run it again.",
    # --- night_report
    "what_failed_or_was_held": "{outcome} {attribute:shown 80}: {why}",
    "left_aside": "left aside: {what}",
    "a_note": "note: {note}",
    "once_mended": "Once mended: {command}",
    # --- nightly
    "process_gone": "its process ended without a word; a later run took the store",
    # --- prefect_api
    "prefect_home_unwritable": (
        "Prefect cannot keep its files in {path} ({why:shown 200}); set PREFECT_HOME to a "
        "directory that can be written to."
    ),
    "permission_denied": "permission denied",
    "prefect_at": "Prefect's API at {address:shown}",
    "own_prefect": "Prefect's own API",
    "prefect_went_away": (
        "{prefect} went away in mid-run ({why:shown 200}); what was computed is kept: see that it "
        "runs, and start again."
    ),
    "prefect_refuses": ("{prefect} refuses us; check PREFECT_API_AUTH_STRING or PREFECT_API_KEY."),
    "prefect_silent": (
        "{prefect} gives no answer ({why:shown 200}); check PREFECT_API_URL, or unset it to have "
        "one started for the night."
    ),
    "flow_without_result": "the flow ended as {state} without a result: {why}",
    # --- serving
    "serving": "Nightly at `{cron}` ({timezone}) on {store}; stop with Ctrl-C.",
    "not_a_time_zone": (
        "--timezone {timezone:shown} is no time zone; name one such as Europe/Berlin or UTC."
    ),
    "not_a_schedule": ('--cron {cron:shown}: {why:shown}; give five fields such as "0 3 * * *".'),
    "starting_server": "Starting a Prefect server, some 20 s.",
    "server_pages": "Prefect's pages: {address}",
    "server_not_started": (
        "the Prefect server did not start; try `prefect server start` by hand, and set "
        "PREFECT_API_URL."
    ),
}

message = messages_of(MESSAGES)
