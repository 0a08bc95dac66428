"""Every sentence of this package that people may read, by code."""

from __future__ import annotations

from urlr.sentence import messages_of

MESSAGES = {
    # === flat modules
    # --- coordinated
    "coordinated_votes_set_aside": (
        "{people:# person acts|people act} together in {groups:# group}; their {votes:# vote is|"
        "votes are} set aside"
    ),
    "coordinated_votes_left_in": (
        "{people:# person acts|people act} together in {groups:# group}, and {counting:,} of their "
        "{votes:# vote} count in the ranking though all are to be set aside; report it, or take "
        "these votes out of the dumps"
    ),
    "coordinated_votes_count_once": (
        "warning: {people:# person acts|people act} together in {groups:# group}, and their "
        "{votes:# vote counts|votes count} in the ranking, each group as one person"
    ),
    "coordinated_votes_count": (
        "warning: {people:# person acts|people act} together in {groups:# group}, and their "
        "{votes:# vote counts|votes count} in the ranking in full"
    ),
    # --- discover
    "no_votes_in_store": (
        "the store {store:shown 200} holds no votes; put dumps under {folder}, such as "
        "votes/smiling/2026-11-01.csv."
    ),
    "no_votes_on": ("the store has no votes on {names:some}. `urlr status` lists what there is."),
    "no_votes_on_but_near": ("the store has no votes on {names:some}. Did you mean {near:some}?"),
    "of_no_attribute": (
        "{files:some}: belongs to no attribute; move it into a folder votes/<attribute>/."
    ),
    # --- evaluate
    "not_between_0_and_1": "{name} is {value}; it lies between 0 and 1.",
    "too_few_replicates": "replicates is {value}; give 2 or more.",
    "no_such_truth_column": "the table of true scores has no column {columns}.",
    "no_majority": "no pair has a majority: majority voting has nothing to learn from.",
    # --- formats
    "unknown_format": "{path}: cannot tell the format by its name; use one of {endings}.",
    # --- freshness
    "no_whole_night": (
        "no night of all attributes has finished on {store}; start one: urlr nightly"
    ),
    # --- gate: what its settings may be
    "drop_beyond_tau": "drop is {value}; it lies between 0 and 2, tau's whole range.",
    "below_0": "{name} is {value}; it must be 0 or more.",
    "no_votes_needed": "fewest_votes is {value}; at least 1 is needed.",
    "not_a_share": "{name} is {value}; it is a share, 0 to 1.",
    "not_a_tau": "{name} is {value}; tau lies between -1 and 1.",
    "compared_at_another_level": (
        "a comparison is of level {level:g} and the gate's confidence is {confidence:g}; compare "
        "at the same level."
    ),
    # --- gate: what it finds
    "first_model": (
        "first model, tau {tau:z.3f} ({low:z.3f} to {high:z.3f} with {percent:g} % confidence) "
        "{votes}"
    ),
    "no_better_than_chance": (
        "tau {tau:z.3f} ({low:z.3f} to {high:z.3f} with {percent:g} % confidence) is not surely "
        "better than chance {votes}"
    ),
    "not_worse": "tau {before:z.3f} -> {tau:z.3f} {votes}",
    "worse_than_champion": (
        "worse than the champion by {drop:z.3f} (at least {least:z.3f} with {percent:g} % "
        "confidence) {votes}"
    ),
    "below_the_best": (
        "tau {tau:z.3f} is {drop:z.3f} below {best:z.3f} of {rival}, the best of the last "
        "{nights:# night}, {votes}"
    ),
    "the_champion": "the champion",
    "the_version": "version {version:shown}",
    "too_few_judged": "only {judged} could be judged, and {needed:,} are needed",
    "too_few_judged_by_both": ("only {judged} could be judged by both, and {needed:,} are needed"),
    "otherwise_by_suspect_features": (
        "features look broken, and by them it orders the items that the champion knew otherwise "
        "(tau {tau} between the two, {needed:.2f} needed) and is not better with confidence"
    ),
    "share_judged": (
        "only {judged} could be judged by both, and {needed:.0%} of them are needed; look whether "
        "ids changed"
    ),
    "judged_votes": "{count:# held-out vote}",
    "judged_of_votes": "{count:,} of {every:# held-out vote}",
    "on_votes": "on {count:# held-out vote}",
    "on_votes_of_people": "on {count:# held-out vote} of {people:# person|people}",
    "nameless_votes": "{count:,} without a name count as one more",
    "unscored_votes": "{count:,} left out, on items without a score",
    # --- gate: what comes of it
    "held": "held: {finding}",
    "forced": "published by force, else {finding}",
    "nobody_named": ("{finding}; nobody is named in them, so that a campaign cannot be seen"),
    "one_person_named": (
        "{finding}; only one person is named in them, so that a campaign cannot be seen"
    ),
    # --- gather
    "cast_later": "cast after the night asked for",
    "undated": "without a time, and a night was asked for",
    "delivered_twice": "in a dump that holds the same bytes as another",
    "parts_differ": (
        "{path} does not have the columns of {first} ({columns:shown 120}); all files of a folder "
        "of features are parts of one table."
    ),
    "no_item_has_features": (
        "{path} has features of none of the {count:,} items voted on, such as {items:some}; ids "
        "must be the same in both."
    ),
    "part_and_others": "{path} (and {others:# other part})",
    "rows_of_another_attribute": (
        "{path}: {count:# row is|rows are} about {other:shown}, not {attribute:shown}; move them "
        "to their own folder."
    ),
    "truth_lacks_columns": (
        "{path} has no column {columns}; true scores are kept as item and score."
    ),
    "truth_is_no_number": ("{path} has true scores that are no numbers; mend the column score."),
    "no_vote_so_early": (
        "no vote is known to be cast up to {as_of:%Y-%m-%d %H:%M} UTC ({reasons:counts}). Times "
        "are read as ISO 8601 or as seconds since 1970; run without --as-of to count all votes."
    ),
    "votes_without_time": (
        "the votes have no column `time`, so that a night of the past cannot be told; run without "
        "--as-of."
    ),
    # --- large_votes
    "names_of_two_types": (
        "{column} is a whole number in {whole} and something else in {other}; among so many "
        "votes, save it as one type."
    ),
    # --- lease
    "lease_too_short": "a lease of {seconds} seconds, grace {grace}, is not possible; give more.",
    "conditional_writes_ignored": (
        "the store {store:shown 200} ignores conditional writes, so that two nights could hold it "
        "at once; use another store."
    ),
    "store_held": (
        "the store {store:shown 200} is held by run {holder.run:shown} on {holder.host:shown} "
        "(process {holder.pid}) since {holder.started:%Y-%m-%d %H:%M:%S UTC}, until "
        "{until:%Y-%m-%d %H:%M:%S UTC} unless renewed; wait for it to end, or start again after "
        "that."
    ),
    "store_wanted_by_many": (
        "the store {store:shown 200} is wanted by many at once; start again later."
    ),
    "not_a_lease": "{path} is not a lease; remove it if no night is running.",
    "lease_followed": (
        "the lease {path} was followed by {next}; nothing more is published, start again."
    ),
    "lease_removed": (
        "the lease {path} was removed by somebody; nothing more is published, start again."
    ),
    "lease_ran_out": (
        "the lease {path} ran out at {expires:%Y-%m-%d %H:%M:%S UTC}; nothing more is published, "
        "start again."
    ),
    "lease_not_renewed": (
        "the lease {path} ran out at {expires:%Y-%m-%d %H:%M:%S UTC} (it could not be renewed: "
        "{why}); nothing more is published, start again."
    ),
    "renewing_failed": "the lease could not be renewed, trying again: {why}",
    "lease_not_released": "the lease could not be released and will run out: {why}",
    "old_leases_not_removed": "old leases were not removed: {why}",
    # --- limits
    "text_too_large": ("{path} has {size:,} bytes, a file of text may have {most:,}; {remedy}."),
    "packed_text_too_large": (
        "{path} has {size:,} bytes packed, a file of text may have {most:,}; {remedy}."
    ),
    "unpacked_text_too_large": (
        "{path} is {packed:,} bytes of gzip that unpack to more than the {most:,} a file of text "
        "may have; {remedy}."
    ),
    "use_parquet": "save it as Parquet, or in several files",
    "right_file": "check that it is the right file",
    "gzip_bomb": (
        "{path} is {packed:,} bytes of gzip that unpack to more than {size:,}, over {times} times "
        "as much as was unpacked, which no votes or features do; see who wrote it, or unpack it "
        "if it is meant so."
    ),
    "damaged_gzip": (
        "{path} is cut off or damaged; copy it again, or name it without .gz if it is not "
        "compressed."
    ),
    "not_gzip": (
        "{path} is not gzip; copy it again, or name it without .gz if it is not compressed."
    ),
    "gzip_twice": "{path} is packed with gzip twice; unpack it once.",
    "line_too_long": (
        "{path} has {size:,} bytes in line {line:,}, a line may have {most:,}; check that each "
        "row ends with a line break."
    ),
    "too_many_columns": (
        "{path} has {count:# column}, a table may have {most:,}; drop what is not needed, or keep "
        "numbers in one list column `embedding`."
    ),
    # --- metrics
    "metrics_not_written": (
        "{path:shown 200} cannot be written: {why:shown 200}; make the directory, or give "
        "metrics_dir another that this user may write to."
    ),
    # --- names
    "empty_name_part": (
        "attribute {attribute:shown}: a part of its name is empty; rename its directory."
    ),
    "odd_name_part": (
        "attribute {attribute:shown}: a part of its name is {part!r}; rename its directory."
    ),
    "unseen_sign_in_name": (
        "attribute {attribute:shown}: its name begins or ends with a space or holds a sign that "
        "cannot be seen; rename its directory."
    ),
    "name_too_long": (
        "attribute {attribute:shown}: its name takes {signs} signs when stored, at most {most} "
        "are possible; give its directory a shorter name."
    ),
    "not_an_attribute": "{name:shown} is not the name of an attribute.",
    # --- objects
    "address_with_password": (
        "the address holds a user name or a password; give s3://bucket/prefix, and credentials as "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
    ),
    "bad_key": ("the key `{key:shown 200}` {wrong}; use names with single slashes between them."),
    "empty_key": "is empty",
    "key_begins_with_slash": "begins with a slash",
    "key_with_backslash": "holds a backslash",
    "key_with_odd_part": "has a part that is empty, `.` or `..`",
    "key_with_control_sign": "holds a control sign or half a sign",
    "no_room_for_temporary_files": (
        "temporary files cannot be written at {place:shown 200}: {why:shown 200}; make room there, "
        "or set TMPDIR to another directory."
    ),
    "holds_other_data": ("{path} is there already and holds other data; nothing was written."),
    "no_such_object": "there is no object {path}; list the store again.",
    "changed_after_listing": "{path} changed after it was listed; run it again.",
    "cannot_list": "cannot be listed",
    "cannot_look_at": "cannot be looked at",
    "cannot_read": "cannot be read",
    "cannot_write": "cannot be written",
    "cannot_remove": "cannot be removed",
    "permission_denied": "{path} {what}: access was denied; check its permissions.",
    "file_and_directory": (
        "{path} {what}: a file and a directory want one name; move one of them."
    ),
    "files_cannot_be_linked": (
        "{path} {what}: its file system cannot link files; keep the store on another."
    ),
    "disk_full": "{path} {what}: {why:shown 200}; make room on that disk.",
    "disk_failed": "{path} {what}: {why:shown 200}; check the disk and the path.",
    # --- bucket
    "no_such_bucket": "there is no bucket {bucket}; create it or check --store.",
    "bucket_in_another_region": (
        "the bucket {bucket} lies in another region; set AWS_DEFAULT_REGION."
    ),
    "no_credentials": (
        "there are no credentials for s3://{bucket}; set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY."
    ),
    "access_denied": (
        "access to {path} was denied; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
    ),
    "clocks_differ": ("access to {path} was denied: the clocks differ; set this machine's clock."),
    "digest_differs": "what reached {path} is not what was sent; try again.",
    "not_what_lies_there": (
        "what came of {path} is not what lies there ({wrong}), several times; check the network "
        "and the store, and try again later."
    ),
    "another_digest": "it has another digest",
    "another_length": "{count:,} bytes came",
    "not_created_nor_there": (
        "the store will not create {path} and shows nothing there; try again later."
    ),
    "not_written_over": (
        "the store will not write {path} and shows something else there; try again later."
    ),
    "unsupported_by_store": "{path}: the store cannot do this; use another store.",
    "store_failed": "the store failed at {path} ({said:shown 200}); try again later.",
    "store_refused": ("the store refused {path} ({said:shown 200}); check the key and --store."),
    "no_answer_in_time": (
        "{path}: the store at {endpoint} did not answer within {seconds:.3g} seconds; check the "
        "network."
    ),
    "other_bytes_sent": (
        "{path}: the store at {endpoint} sent other bytes than it holds ({why:shown 200}); check "
        "the network and the store, and try again later."
    ),
    "store_unusable": (
        "the store at {endpoint} cannot be used ({why:shown 200}); check the AWS settings."
    ),
    "store_unreachable": (
        "{path}: cannot reach the store at {endpoint} ({why:shown 200}); check AWS_ENDPOINT_URL "
        "and the network."
    ),
    "endpoint_with_password": ("{name} holds a user name or a password; give only the address."),
    "endpoint_is_no_address": ("{name} is no address; let it begin with http:// or https://."),
    # --- parquet_limits
    "damaged_parquet": ("{path} is a damaged Parquet file ({why:shown 200}); copy it again."),
    "footer_too_long": (
        "{path} has more than {columns:,} columns, or {groups:,} row groups; drop what is not "
        "needed, or keep numbers in one list column `embedding`."
    ),
    "decodes_to_too_much": (
        "{path} decodes to more than {most:,} bytes, the most a table may, at the "
        "{values:# value} of a row group's column {column:shown}; drop that column if it is not "
        "needed, or write several files."
    ),
    # --- partitions
    "empty_directory": "{path} is an empty directory; give a file of features.",
    "nothing_at_address": "there is nothing at {path}; check the address.",
    "no_rows_in_file": "{path} holds no items; check the export that wrote it.",
    "id_beyond_64_bits": ("an item id is a whole number beyond 64 bits; save the ids as text."),
    "no_numbers_in_columns": (
        "{path} holds something else than numbers in {count:# column} ({columns:some}); mend or "
        "drop them."
    ),
    "repeated_feature_columns": (
        "{path}: {count:# column name appears|column names appear} more than once "
        "({columns:some}); rename or drop the repeated columns."
    ),
    "embedding_too_long": (
        "{path} has {numbers:,} numbers in the `embedding` of {rows:# row}, {most:,} a row is the "
        "most; check the export that wrote it."
    ),
    # --- publish
    "champion_changed": (
        "the champion of {attribute} changed while it was worked on; run it again."
    ),
    "not_of_this_result": (
        "{path} is not the one that was made with this result; see who may write there, and run "
        "it again."
    ),
    "published_before": "{why}",
    "dry_run": "dry run: {finding}",
    "frozen_by_settings": ("the settings freeze this attribute (URLR_FROZEN); it stays as it is"),
    "champion_lost": (
        "the registry has lost the champion, and the results after it were held or rolled back; "
        "put the registry back, or publish by --force"
    ),
    "champion_removed": (
        "the champion, version {version}, was removed by hand and nothing is live; make it "
        "champion again by urlr rollback, or publish by --force"
    ),
    "version_taken_back": (
        "version {version}, of the same votes, features and settings, was rolled back or replaced "
        "by hand; new votes decide again, or publish by --force"
    ),
    "newer_champion": (
        "the champion, version {version}, is of {night}, newer than the night asked for"
    ),
    "sudden_shift": "sudden shift: {cause} (look at the votes, or publish by --force)",
    "not_judged": "could not be judged: {why}",
    "one_sided_votes": (
        "hardly any item both wins and loses ({share:.0%} of those that should), so that held-out "
        "votes show nothing; look for ids written in two ways, or publish by --force"
    ),
    "champion_record_damaged": (
        "the champion, version {version}, cannot be compared with: {why} Or make another version "
        "champion by urlr rollback."
    ),
    "judge_lost": (
        "the champion, version {version}, cannot be compared with: {path} is gone, damaged or "
        "replaced; put it back, or publish by --force"
    ),
    "guessed_votes": (
        "whether an item mostly wins or mostly loses predicts nearly every vote (tau {tau:.2f}), "
        "so that held-out votes show nothing; look which pairs are compared and how ids are "
        "written, or publish by --force"
    ),
    "changed_features": "the features have changed: {path} ({changes})",
    "merged_items": (
        "{count:# item} of the champion left out of the comparison: several ids of it became one"
    ),
    "with_warning": "{finding}; {warning}",
    "on_new_items": "{finding}; {count:# vote} on new items: tau {before} -> {tau}",
    "features_suspect": (
        "{finding}; {suspect}, so that only items the champion knew were compared"
    ),
    "suspect_features": "the features are suspect: {path} ({changes})",
    "earlier_judges_lost": (
        "{finding}; the judges of {count:# earlier version} are gone or damaged"
    ),
    "with_other_settings": "{finding}; settings changed: {changes:some 5}",
    "changed_setting": "{name} {before} -> {after}",
    "settings_not_recorded": "from others that were not recorded",
    "first_version": "first model: tau {tau:.3f}, {votes:# vote}",
    "first_version_not_judged": "first model: not judged, {votes:# vote}",
    "first_version_held": "{said}; {reason}",
    "replaces_version": "replaces v{version}: {step}, {votes}",
    "held_against_version": "held against v{version}: {step}, {votes}; {reason}",
    "tau_step": "tau {before} -> {after}",
    "tau_not_compared": "tau not compared",
    "all_votes": "{count:# vote}",
    "new_votes": "{count:# new vote}",
    "fewer_votes": "{count:# vote} fewer",
    # --- read
    "no_such_file": "there is no file {path}; check the path.",
    "directory_not_file": "{path} is a directory; give a file.",
    "may_not_be_read": "{path} may not be read; check its permissions.",
    "unreadable_file": "{path} cannot be read ({why:shown 200}); check the path.",
    "no_bytes_in_file": "{path} is empty (0 bytes); check the export that wrote it.",
    "no_text_in_file": "{path} is empty; check the export that wrote it.",
    "no_votes_in_file": ("{path} holds no votes, only a header; check the export that wrote it."),
    "no_items_in_file": ("{path} holds no items, only a header; check the export that wrote it."),
    "gzip_by_another_name": "{path} is compressed with gzip; let its name end in .gz.",
    "parquet_by_another_name": "{path} is Parquet; let its name end in .parquet.",
    "zip_or_spreadsheet": (
        "{path} is a zip archive or a spreadsheet; unpack it, or save it as CSV."
    ),
    "not_parquet": (
        "{path} is not Parquet (it begins with `{start:shown}`); name it for what it is."
    ),
    "parquet_cut_off": (
        "{path} is cut off: the footer of a Parquet file is missing; copy it again."
    ),
    "nul_byte": (
        "{path} holds a NUL byte at byte {byte:,} in line {line:,}; save it as UTF-8 text."
    ),
    "not_utf8": (
        "{path} is not UTF-8 (0x{value:02x}) at byte {byte:,} in line {line:,}; save it as UTF-8 "
        "text."
    ),
    "unreadable_csv": ("{path} is not readable as CSV ({why:shown 200}); check the file."),
    "uneven_row": (
        "{path} has {cells:# cell} in line {line:,}, the header {width}; mend the line."
    ),
    "unpaired_quote": ("{path} has an unpaired quote in the row of line {line:,}; mend the line."),
    "separated_otherwise": ("{path} separates its columns by {separator}; save it with commas."),
    "invalid_json": (
        "{path} has no valid JSON in line {line:,}; put one JSON object on each line."
    ),
    "invalid_json_at": (
        "{path} has no valid JSON in line {line:,} at sign {place}; put one JSON object on each "
        "line."
    ),
    "not_an_object": (
        "{path} holds {kind:shown} instead of an object in line {line:,}; put one JSON object "
        'such as {{"winner": "a", "loser": "b"}} on each line.'
    ),
    "list_as_id": (
        "{path} holds a list as {column} in line {line:,}; ids are text or whole numbers."
    ),
    "object_as_id": (
        "{path} holds an object as {column} in line {line:,}; ids are text or whole numbers."
    ),
    "nested_ids": "{path} holds {kind} as {column}; ids are text or whole numbers.",
    "rows_lack_columns": (
        "{path} has {columns:# column} of which most rows lack most (line {line:,}); give all "
        "rows the same columns."
    ),
    "no_item_column": (
        "{path} has no column `item` (columns found: {found}); name the column that holds the ids "
        "`item`."
    ),
    "no_named_column": "none with a name",
    "nameless_index": "{found}; the table's index has no name",
    "text_among_numbers": (
        "{path} has text in {rows:# row} of the column {column:shown}, which else holds numbers "
        "({cells:some}); mend them, leave them empty, or drop the column."
    ),
    # --- results
    "not_a_record": (
        "{path} is no {kind} of this urlr ({part:shown}: {why:shown}); put it back from a backup, "
        "or move it away."
    ),
    "newer_record": (
        "{path} is a {kind} of a newer urlr (schema {schema}, known here {known}); use that urlr."
    ),
    # --- row_counts
    "too_many_rows": (
        "{path} has {rows:,} rows, with the dumps before it {total:,}, and an attribute may have "
        "{most:,}; check the export, or raise URLR_MOST_ROWS."
    ),
    "too_little_memory": (
        "{path}: {votes:# vote} need about {needed:.1f} GiB and a worker may use {limit:.1f} GiB; "
        "{remedy}."
    ),
    "more_memory": "raise URLR_WORKER_MEMORY",
    "more_memory_or_by_parts": (
        "raise URLR_WORKER_MEMORY, or lower URLR_LARGE_ATTRIBUTE for it to be done part by part"
    ),
    "more_memory_or_another_method": (
        'raise URLR_WORKER_MEMORY, or set method = "paper" and prune to a number for it, which is '
        "done part by part (docs/nightly.md)"
    ),
    # --- runs
    "no_runs": "no run begins with {name:shown} on {store}; there are: none.",
    "no_such_run": ("no run begins with {name:shown} on {store}; there are: {runs:some 5}."),
    "several_runs": ("{count} runs begin with {name:shown} on {store}; there are: {runs:some 5}."),
    "run_not_finished": "run {run} has not finished, so there is no report of it.",
    # --- score
    "model_without_features": (
        "it was fitted without features and scores only items that were compared."
    ),
    "scoring_given_up": "the scoring was given up; start it again.",
    # --- score_all
    "scored": (
        "Scored {items:# item} by {able:,} of {models:# model} into {path}: {scores:# score}."
    ),
    "model": "{attribute:shown} version {version}",
    "without_a_score": ("{models:some}: {unscored:,} of {items:# item} without a score: {reason}"),
    "no_model_to_score_by": "there is no model to score by; publish one first.",
    "models_given_twice": (
        "{count:# model is|models are} given more than once ({models:some}); give each once."
    ),
    "neither_parquet_nor_directory": (
        "{path} is neither Parquet nor a directory; let its name end in .parquet or in /."
    ),
    "no_model_can_score": (
        "none of {models:# model} can score these items; {attribute:shown} version {version}: "
        "{reason}"
    ),
    "worker_died_over_piece": (
        "a worker died over a piece of the features ({why:shown 200}), likely out of memory; give "
        "workers more, or score fewer rows at a time."
    ),
    # --- score_table
    "no_champion": "there is no champion of {names:some}. `urlr models` lists them.",
    "no_champion_but_near": ("there is no champion of {names:some}. Did you mean {near:some}?"),
    # --- settings
    "settings_refused": "settings: {why}; set it in {file}.",
    "group_refused": "{name}: {why}; set it in {file}.",
    "setting_refused": (
        "setting {name} ({value:shown}): {why}; set it by {variable} or in {file}."
    ),
    "part_refused": "setting {name}: {why}; set it by {variable} or in {file}.",
    "unknown_setting": "{name} is no setting of urlr; see the settings in README.",
    "unknown_fit_setting": "a fit has no setting {names}; it has {known}.",
    "wrong_for_pattern": "[attributes.{pattern!r}] {why}",
    "patterns_clash": (
        "the settings of {attribute:shown} by [attributes] {patterns:some}: {why}; set it in "
        "{file}."
    ),
    "unreadable_setting": "{why:shown 300}; set it in {file}.",
    "unknown_variable": (
        "the environment sets {name:shown}, which is no setting of urlr; known are {known}."
    ),
    "group_is_no_object": (
        "{variable} ({value:shown}) is no JSON object; set its parts one by one, by "
        "{variable}__..., or in {file}."
    ),
    "no_settings_file": "{variable} names {path:shown 200}, which is not there.",
    "unreadable_settings_file": "{path:shown 200} cannot be read: {why:shown 200}.",
    # --- shared_features
    "too_few_components": ("the shared transform needs 1 component or more, not {components}."),
    "no_column_varies": (
        "no feature tells the items apart: each of the {count:# column} ({columns:some}) has one "
        "value, or none, over all {items:# item}; give at least one column that varies."
    ),
    "no_shared_transform": "There is no shared transform yet.",
    "columns_new": "The columns changed: {n_new:# new column} ({new:some}).",
    "columns_gone": "The columns changed: {n_gone:# column} gone ({gone:some}).",
    "columns_new_and_gone": (
        "The columns changed: {n_new:# new column} ({new:some}), {n_gone:# column} gone "
        "({gone:some})."
    ),
    "no_feature_files": "there are no feature files; give the files of one table.",
    "no_numeric_column": (
        "the feature table has no numeric column. Give at least one column of numbers, or a "
        "column `embedding` of lists."
    ),
    "only_other_columns": (
        "the feature table has no numeric column; not numeric: {columns:some}. Give at least one "
        "column of numbers, or a column `embedding` of lists."
    ),
    "numbers_in_other_files": (
        "{path} holds something else than numbers in {count:# column} ({columns:some}) that hold "
        "numbers in other files; mend or drop them."
    ),
    "part_lacks_columns": (
        "{path} lacks {count:# column} of the table: {columns:some}. Give every file the same "
        "columns."
    ),
    # --- shift
    "votes_lost": (
        "{votes:# vote} where the champion has {before:,} (-{share:.0%}): was the export cut short?"
    ),
    "votes_by_one_person": (
        "{share:.0%} of the votes are by {name}, and nobody cast more than {before:.0%} of the "
        "champion's: who is that?"
    ),
    "order_turned_round": (
        "{items:,} items stand the other way round than by the champion (tau {tau:.2f} between "
        "the two): were the labels inverted?"
    ),
    "ids_changed": (
        "of {known:# item} that the champion knew {met:,} are met in tonight's votes: were ids "
        "changed?"
    ),
    "two_causes": "{first} and {second}",
    # --- feature_changes
    "features_gone": "the champion had features, and tonight there are none",
    "feature_columns_gone": "{count:# column} gone: {names:some}",
    "columns_no_numbers": "{count:# column} without numbers now: {names:some}",
    "columns_empty_now": "{count:# column} empty now: {names:some}",
    "columns_constant_now": "{count:# column} with the same value everywhere now: {names:some}",
    "values_changed": "{column:shown}: {changed:,} of {items:# known item} have another value",
    "column_moved": "{column:shown}: the middle moved by {steps:.1f} standard deviations",
    "new_rows_odd": (
        "in rows of {items:# new item} {count:# column} empty, all the same or far from all "
        "others: {names:some}"
    ),
    "new_items_not_predicted": (
        "by them the champion predicts {count:# vote} on new items with tau {tau:.2f}, and "
        "those on items that it knew with {before:.2f}"
    ),
    "new_items_against_chance": (
        "by them the champion predicts {count:# vote} on new items with tau {tau:.2f}"
    ),
    "known_items_moved": (
        "by them the champion would order {items:# known item} otherwise (tau {tau:.2f} between "
        "the two)"
    ),
    # --- split
    "not_a_part": "{name} is {value}; it is a share, 0 up to 1.",
    # --- store
    "deadline_too_short": ("a deadline of {seconds} seconds is not possible; give more."),
    "store_is_no_path": ("the store's address is empty or no path; give --store a directory."),
    "unknown_kind_of_store": (
        "a store at {scheme:shown}:// is not possible; give a local path or s3://bucket/prefix."
    ),
    "not_a_bucket": "`{name:shown}` is not the name of a bucket; check --store.",
    "span_not_kept": (
        "{path}: {came:,} bytes came where {asked:,} were asked for; use a store that can read a "
        "part of an object."
    ),
    # --- tidy
    "another_registry": (
        "the registry {registry:shown 200} does not know what the last night left of "
        "{count:# attribute} ({attributes:some}); name the registry of this store "
        "(MLFLOW_TRACKING_URI or URLR_REGISTRY)."
    ),
    # --- train_large
    "read_by_parts": (
        "{votes:# vote} were read part by part: the ranking is not held against other methods, "
        "and people are not told apart from those of earlier nights."
    ),
    "judged_by_sample": (
        "Ranking and verdicts rest on all votes; tau, the comparison with the champion and what "
        "this page lists and tests rest on {seen:,} of them, chosen by row."
    ),
    # --- work
    "other_results_there": (
        "{path}: earlier attempts left other results than this one; run it again by another night."
    ),
    "too_many_rejected": (
        "{rejected:,} of {rows:# row} would be rejected, most ({count:,}) because: {reason}; the "
        "first is row {row:,} of {path}; mend the export (at most {most:.0%} may be, by "
        "URLR_MOST_REJECTED)."
    ),
    "dumps_of": "{path} ({count:# dump})",
    # --- write
    "no_verdicts_to_write": "a model read from a file has no verdicts to write.",
    "target_is_a_directory": "{path} is a directory; give a file name.",
    "target_is_a_file": "{path} is a file; give the name of a directory.",
    "target_exists": "{path} exists; give another name, or --overwrite to replace it.",
    "target_not_empty": ("{path} is not empty; give another name, or --overwrite to replace it."),
    "target_holds_other_files": (
        "{path} holds what `{command}` did not write ({files:some}), which --overwrite would "
        "delete; give another name, or move it away."
    ),
    "target_is_current_directory": (
        "{path} is the current directory; give a directory inside it, such as {inside}."
    ),
    "target_is_mount_point": (
        "{path} is a mount point; give a directory inside it, such as {inside}."
    ),
    "not_a_local_path": (
        "{path:shown 200} is no path on this machine, and results are written to one; give a "
        "path, and copy them from there."
    ),
    "target_not_written": "{path} cannot be written: {why}.",
    # === packages
    # --- registry/mlflow_client
    "experiment_deleted": (
        "the experiment {experiment} of {uri:shown 200} was deleted; restore it with `mlflow "
        "experiments restore`."
    ),
    "registry_not_prepared": "the registry {uri:shown 200} was not prepared; run a night first.",
    "registry_not_made": (
        "the registry {path:shown 200} cannot be made ({why:shown 100}); check the disk, the path "
        "and its permissions."
    ),
    "no_registry": (
        "there is no registry at {path:shown 200}; run a night first, or check URLR_REGISTRY."
    ),
    "registry_not_readable": (
        "the registry {path:shown 200} cannot be read ({why:shown 100}); check URLR_REGISTRY and "
        "its permissions."
    ),
    "not_an_mlflow_database": (
        "{path:shown 200} is not a database of MLflow; check URLR_REGISTRY."
    ),
    "not_in_registry": (
        "the registry {uri:shown 200} does not hold that ({why:shown 300}); check the name."
    ),
    "already_in_registry": (
        "the registry {uri:shown 200} holds that already ({why:shown 300}); choose another name."
    ),
    "registry_denied": (
        "the registry {uri:shown 200} denied access; check MLFLOW_TRACKING_USERNAME and "
        "MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN."
    ),
    "registry_full": (
        "the registry {uri:shown 200} found no room left ({why}); make room on its disk."
    ),
    "registry_silent": (
        "the registry {uri:shown 200} gave no answer ({why}); check that it runs and can be "
        "reached, and try again later."
    ),
    "registry_refused": (
        "the registry {uri:shown 200} refused ({why:shown 300}); check its settings."
    ),
    # --- registry/address
    "registry_address_too_long": (
        "the registry's address holds more than host and path; give http://host:port, and "
        "credentials as MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD."
    ),
    "unknown_kind_of_registry": (
        "a registry at {kind:shown}: is not possible; give a directory, sqlite:///file, or the "
        "http:// address of an MLflow server."
    ),
    "empty_registry_address": "the registry's address is empty or no path; give a directory.",
    "awkward_registry_path": (
        "the registry cannot lie at {path:shown 200}: MLflow reads #, ? and % in a path as "
        "something else; give another directory."
    ),
    "artifacts_cannot_go_there": "files of the registry cannot go there",
    # --- registry/files
    "version_not_written": "files of a version cannot be written",
    "version_not_read": "a file of a version cannot be read",
    "version_not_listed": "files of a version cannot be listed",
    "version_not_cleared": "files of a version cannot be cleared away",
    "version_file_missing": (
        "{name:shown 200} is missing at {root:shown 200}; restore it, or publish again."
    ),
    "awkward_file_name": (
        "a file cannot be called `{name:shown 100}` in the registry; use letters, digits, `.`, `_` "
        "and `-`."
    ),
    # --- registry/publication
    "awkward_result_key": (
        "`{key:shown}` is not a result key; give letters and digits, at most 200."
    ),
    "a_version": "version {number} of {attribute:shown 100}",
    # --- registry/served_model
    "other_version_schema": (
        "a version follows schema {schema:shown}, this urlr reads {ours}; use the urlr that wrote "
        "it, or publish again."
    ),
    "manifest_without_files": "a version has a manifest that lists no files; publish again.",
    "model_of_another_attribute": (
        "{version} holds the model of {other:shown 100}; do not use it, publish again."
    ),
    "no_such_version_file": "{version} has no file {name:shown 100}; see its manifest.json.",
    "version_not_loaded": "{version} cannot be loaded",
    "senseless_examples": "{version} has examples that make no sense; publish again.",
    "examples_score_otherwise": (
        "{version} scores {count} of {total:# example} otherwise than when it was registered (by "
        "up to {worst:.3g}); do not use it, publish again."
    ),
    "foreign_file": (
        "{version} holds {name:shown 100}, which urlr never writes; do not use it, see who may "
        "write there, and publish again."
    ),
    "not_as_written": (
        "{version}: {name} is not as this urlr or an earlier one writes it; do not use it, see who "
        "may write there, and publish again."
    ),
    "version_file_changed": (
        "{version}: {name:shown 100} was changed after it was registered, its digest does not "
        "match; restore the file, or publish again."
    ),
    "model_to_publish": "the model to publish",
    "no_examples": "a model with features needs rows of features as examples; give some.",
    "examples_not_scored": "the examples cannot be scored",
    # --- registry/verifying
    "process_said_nothing": "without a word",
    "verifying_took_too_long": (
        "{version} could not be verified within {seconds:g} seconds; check the registry, and try "
        "again later."
    ),
    "verifying_process_died": (
        "{version} could not be verified: the process that loads it died ({last_words:shown 200}); "
        "check the memory of this machine, and try again."
    ),
    # --- registry/alias_moves
    "unreadable_move": (
        "{attribute:shown 100}: the record {record:shown 100} cannot be read and is left out of "
        "its history."
    ),
    "half_moved": (
        "{attribute:shown 100}: run {run:shown} ended while it moved the champion; {ending}"
    ),
    "moved_before_it_ended": "version {version} is champion.",
    "move_finished": "version {version} is champion now.",
    "alias_went_elsewhere": (
        "version {version} is not made champion, since the alias stands {place} now."
    ),
    "version_vanished": ("version {version} is not made champion, since it is not there any more."),
    "dropped_alias_elsewhere": "the alias stood {place}",
    "dropped_version_vanished": "version {version} was not there",
    "alias_nowhere": "nowhere",
    "alias_at_version": "at version {version}",
    "alias_was_moved": "was moved to version {version}",
    "alias_was_removed": "was removed",
    "alias_moved_by_hand": (
        "{attribute:shown 100}: its champion {change} by hand, from {before}; it is noted."
    ),
    "no_version": "none",
    "version_number": "version {version}",
    "why_moved_by_hand": "the alias {change} by hand at some time before",
    "champion_not_ours": (
        "{attribute:shown 100}: its champion, version {version}, was not registered by urlr and "
        "cannot be used; roll back to one that was."
    ),
    # --- registry/ownership
    "model_of_another_store": (
        "its model in the registry belongs to another store, {address}, and is left alone, also "
        "with --force; use another registry or, to take it over on purpose: {adopt}"
    ),
    "model_of_the_original": (
        "its model in the registry belongs to {address}, of which this store is a copy, and is "
        "left alone, also with --force; use another registry or, if the store has moved: {adopt}"
    ),
    "store_id_lost": (
        "its model in the registry belongs to a store that was at this address, {address}, with "
        "another id, and is left alone, also with --force; put {path}, which held the id, back "
        "from a backup or, if it was lost: {adopt}"
    ),
    "store_id_damaged": (
        "{path} should hold the id of this store and does not; put it back from a backup, or "
        "remove it and take the models back: {adopt}"
    ),
    # --- registry/registry
    "files_kept_elsewhere": (
        "the registry {uri:shown 200} keeps its files at {kept:shown 200}, which cannot be changed "
        "to {wanted:shown 200}; give the former, or another registry."
    ),
    "no_such_version": (
        "{attribute:shown 100} has no version {number} that urlr registered; {choice}."
    ),
    "versions_there": "there are {versions:some 10}",
    "no_versions_there": "there is none",
    "version_replaced": "the registry gives another {version} now; publish again.",
    "champion_cannot_be_held": "{version} is champion and cannot be held; roll back first.",
    "held_by_run": "{reason} (run {run:shown 100})",
    "champion_already": "{version} is champion already; give another version.",
    "moment_without_zone": "a moment without a time zone may be any of 24; give one with it.",
    "publications_cleared": "{count:# publication} that never ended cleared away.",
    "no_earlier_champion": (
        "{attribute:shown 100} had no champion before the present one ({present}); name the "
        "version to go to: {choice}."
    ),
    "it_has_none": "it has none",
    "no_such_attribute": (
        "the registry {uri:shown 200} has no attribute {attribute:shown 100}; {hint}"
    ),
    "attributes_nearly_called_so": "did you mean {names:some}?",
    "attributes_there": "it has {names:some 5}.",
    "no_attributes_yet": "it has none yet.",
    "model_not_ours": (
        "the registry {uri:shown 200} has a model {name:shown 100} that is not of urlr; rename it "
        "there, or give another registry."
    ),
    "ranking_by": "Ranking of items by {attribute:shown 500}, by urlr.",
    # --- cluster/worker
    "text_cannot_be_made": "its text cannot be made: {kind}",
    # --- cluster/orders
    "order_not_sent": (
        "the order cannot be sent to a worker ({kind}: {why:shown 200}); send plain data."
    ),
    "work_raised": "{kind}: {text}",
    "work_raised_without_a_word": "{kind}",
    "worker_died": (
        "its worker died{often}, likely out of memory: the limit is {limit}; {advice}."
    ),
    "worker_out_of_memory": (
        "its worker died{often}, out of memory: it held {held} and the limit is {limit}; {advice}."
    ),
    "died_twice": " (twice)",
    "died_often": " ({times} times)",
    "memory_a_worker": "{amount} a worker",
    "memory_of_the_machine": "what the machine has",
    # --- cluster/fanout
    "stopped": "it was stopped before it ended; start again.",
    "scheduler_silent": (
        "{where} did not say within {seconds:.0f} seconds who is there; see whether its scheduler "
        "still runs."
    ),
    "took_too_long": (
        "{what} did not end within {seconds:,.4g} seconds and was given up; allow more time, or "
        "look for what it waits for."
    ),
    "order_took_too_long": (
        "it did not end within {seconds:,.4g} seconds and was given up; allow more time, or look "
        "for what it waits for."
    ),
    "order_took_too_long_and_goes_on": (
        "it did not end within {seconds:,.4g} seconds and was given up, but its worker, which has "
        "no nanny, goes on; allow more time, or look for what it waits for."
    ),
    "workers_without_urlr": (
        "workers of {where} have no urlr: {workers:some}; install there what runs here."
    ),
    "workers_of_other_code": (
        "workers of {where} have another urlr than this one: {workers:some}; their results would "
        "pass for results of this one. Install there what runs here."
    ),
    "worker_cannot_import": (
        "a worker of {where} cannot import what it needs ({why:shown 200}); install the same "
        "release of urlr there."
    ),
    "worker_imports_too_long": (
        "a worker of {where} did not import what it needs within {seconds:.0f} seconds; {advice}."
    ),
    "no_worker_takes_orders": (
        "none of the {count:# worker} of {where} could take an order for {seconds:.0f} seconds; "
        "{advice}."
    ),
    "connection_lost": (
        "the connection to {where} was lost; see whether its scheduler runs, and start again."
    ),
    "worker_started_again": (
        "its worker was started again because another order there was given up; try again."
    ),
    # --- cluster/starting
    "own_workers": "the workers of this machine",
    "raise_memory": "raise URLR_WORKER_MEMORY, with fewer URLR_WORKERS if need be",
    "see_workers": "see whether its workers run and have enough memory",
    "too_few_workers": "{count} workers can do nothing; set URLR_WORKERS to 1 or more.",
    "not_an_amount_of_memory": (
        "`{memory:shown}` is no amount of memory; set URLR_WORKER_MEMORY like 2GiB."
    ),
    "worker_memory_too_small": (
        "`{memory:shown}` of memory is too little for a worker; set URLR_WORKER_MEMORY to "
        "{least}MiB or more."
    ),
    "workers_not_started": (
        "{count:# worker} could not be started ({why:shown 200}); see whether memory and processes "
        "are left, or lower URLR_WORKERS."
    ),
    "credentials_in_dask_address": (
        "URLR_DASK_ADDRESS holds a user name or a password; give tls://host:port."
    ),
    "not_a_dask_address": (
        "`{address:shown 200}` is no address of a Dask scheduler; give tls://host:port."
    ),
    "not_encrypted": (
        "{address:shown 200} is elsewhere and not encrypted: everybody in between could run code; "
        "give tls://host:port and certificates, or say that this network is trusted."
    ),
    "no_certificate_file": "there is no certificate or key {path:shown 200}; check it.",
    "unreadable_certificates": (
        "the certificates for {address:shown 200} cannot be read ({why:shown 200}); check them."
    ),
    "no_certificate": (
        "there is no certificate for {address:shown 200}; give those of the authority, of this "
        "client, and its key, here or in Dask's configuration (distributed.comm.tls)."
    ),
    "no_scheduler": (
        "cannot reach the Dask scheduler at {where} within {seconds:.0f} seconds "
        "({why:shown 200}); check that it runs, the address, and that its certificates are of the "
        "same authority."
    ),
    "says_nothing": "it says nothing",
    # --- doctor/examining
    "settings_cannot_be_read": "the settings cannot be read",
    "check_too_slow": "did not end within {seconds:g} seconds",
    "not_looked_at": "not looked at, because {why}",
    "first_things_first": "mend that first",
    "import_fails": "cannot be looked at: an import fails ({why})",
    "import_of_package_fails": "cannot be looked at: an import of {name} fails ({why})",
    "install_with_constraints": "install urlr again with its constraints.txt",
    "see_documentation": "see the documentation",
    "unexpected_error": "unexpected {kind}: {why}",
    "see_versions": "see whether the versions above fit, and report it if they do",
    # --- doctor/installation
    "urlr_not_installed": "Python {python}; urlr runs but is not installed here",
    "install_again": (
        "install urlr again with its constraints.txt: pip install -c constraints.txt -e ."
    ),
    "python_does_not_fit": "Python is {python}, urlr wants {wanted}",
    "use_that_python": "use a Python of that version",
    "one_package": "1 package is",
    "several_packages": "{count} packages are",
    "own_packages_do_not_fit": "{packages} not what urlr {version} wants: {misfits}",
    "other_packages_do_not_fit": "{packages} not what others want: {misfits}",
    "versions_fit": "Python {python}, urlr {version}, and {count} packages that fit",
    # --- doctor/variables
    "not_a_setting": "{name:shown} is set and is no setting of urlr",
    "set_that_instead": "set {name} instead, or unset it",
    "unset_it": "unset it",
    "set_otherwise": "set it otherwise",
    "settings_read": (
        "store {store:shown 200}, registry {registry:shown 200}, {workers:# worker}; {sources}"
    ),
    "set_by": "set by {sources}",
    "all_by_default": "all by default",
    # --- doctor/storage
    "store_usable": (
        "{store:shown 200} {state}; it can be listed, and written and read below runs/ and lease/"
    ),
    "answers_in": "answers in {milliseconds:.0f} ms",
    "is_there": "is there",
    "is_made_when_needed": "is not there yet and is made when needed",
    "writes_conditional": ("conditional writes are honoured, on which lease and publishing rest"),
    "writes_not_conditional": (
        "conditional writes are ignored: a key that exists was created again, so that two nights "
        "could hold the store at once"
    ),
    "use_another_store": "use a store that honours If-None-Match",
    "votes_not_writable": "votes/ cannot be written with these credentials, as it should be",
    "votes_writable": "these credentials may also write votes/, which no night needs",
    "use_a_role": "give nights a role of their own, such as deploy/s3/policy-nightly-flow.json",
    "put_dumps": "put dumps there",
    "let_read_votes": "let this user read votes/",
    "attributes_found": (
        "{attributes:# attribute} in {dumps:# dump} ({size}), {featured} with features"
    ),
    "left_aside": "left aside: {why}",
    "attribute_left_aside": "left aside: {attribute:shown}: {why}",
    "rename_or_move": "rename or move it",
    "more_left_aside": "{count} more are left aside",
    "see_nightly": "see `urlr nightly`",
    "no_night_at_work": "no night is at work",
    "night_at_work": (
        "run {run:shown} is at work on {host:shown} (process {process}) since "
        "{since:%Y-%m-%d %H:%M} UTC"
    ),
    "no_object_written": "no object could be written to the store",
    "clocks_agree": "this machine's clock and the store's agree within {seconds:.0f} seconds",
    "clocks_agree_to_the_second": "this machine's clock and the store's agree within a second",
    "clock_ahead": (
        "this machine's clock is {seconds:,.0f} seconds ahead of the store's, and leases rest on it"
    ),
    "clock_behind": (
        "this machine's clock is {seconds:,.0f} seconds behind the store's, and leases rest on it"
    ),
    "set_clocks": "set the clocks by NTP",
    "store_does_not_hold": (
        "{address} does not hold what was written; check --store, the network, and "
        "AWS_ENDPOINT_URL."
    ),
    "probe_left_behind": "an object that was written cannot be removed ({why})",
    "let_remove": "remove it, and let nights remove from lease/ and runs/scoring/",
    "store_does_not_answer": "the store does not answer as it should",
    # --- doctor/champions
    "put_files_back": (
        "put its files back, or make another version champion: urlr rollback ATTRIBUTE --to VERSION"
    ),
    "no_registry_yet": "there is none yet; the first night makes {path:shown 200}",
    "registry_writable": "{path:shown 200} can be written",
    "champion_of": "champion of {attribute:shown 100}",
    "more_champions_broken": "{count} more champions cannot be loaded",
    "champions_load": "{registry:shown 200} answers; {count:# champion}, which all load",
    "newest_champions_load": (
        "{registry:shown 200} answers; {count:# champion}, of which the {loaded} that moved last "
        "were loaded"
    ),
    "no_champion_yet": "{registry:shown 200} answers; there is no champion yet",
    "unreadable_records": (
        "{attribute:shown}: {count:# record} of who was champion when cannot be read "
        "({records:some}), so that its history lacks them"
    ),
    "put_tag_back": "put the tag back as it was, in MLflow",
    "more_unreadable_records": "so it is with {count} more",
    "see_tags": "see their tags in MLflow",
    "database_not_writable": "{path} cannot be written ({why})",
    "check_database": "check its permissions, and that no other program holds it",
    # --- doctor/network
    "no_loopback": "a port on 127.0.0.1 cannot be used ({why})",
    "let_use_loopback": "let this user listen and connect on the loopback interface",
    "loopback_works": "a port on 127.0.0.1 can be listened on and reached",
    "no_dask_named": "URLR_DASK_ADDRESS is not set: workers are processes of this machine",
    "asking_workers": "asking workers",
    "cluster_without_workers": "{address} answers and has no worker",
    "start_workers": "start some; a night waits two minutes for the first",
    "cluster_fits": "{address} answers; {count:# worker}, with the same urlr as here",
    "other_versions_in_cluster": "the cluster has other versions ({versions:some})",
    "same_constraints": "install from the same constraints.txt on all machines",
    "workers_with_other_urlr": (
        "{count} of {total:# worker} not as here (urlr {release}, method {method}), such as "
        "{address:shown}, which has {has}"
    ),
    "has_no_urlr": "no urlr that can be loaded",
    "has_urlr": "urlr {release:shown} (method {method:shown})",
    "has_other_code": "the same release with other code",
    "same_urlr": "install on all workers the urlr that runs here",
    # --- doctor/machine
    "little_free": "little is free: {disks}",
    "free_some": "free some, or put store, registry or TMPDIR on another disk",
    "free": "free: {disks}",
    "workers_elsewhere": "{memory} here; workers run elsewhere",
    "workers_with_memory": "{count:# worker} with up to {each} each, {memory} in all",
    "not_enough_if_all_use_it": "{workers}, which is not enough if all use it",
    "fewer_workers": "set URLR_WORKERS to {count} or fewer",
    "fewer_workers_or_less_memory": "set URLR_WORKERS to {count} or URLR_WORKER_MEMORY to less",
    # --- importing/mapping
    "mapping_not_toml": "{where} is not valid TOML: {why:shown 200}; mend the line.",
    "unknown_mapping_key": (
        "{where} has an unknown key `{name:shown}`{nearest}; known are {known}."
    ),
    "nearest_name": " (the nearest is `{name:shown}`)",
    "missing_name": ("{where} has no {what} `{name:shown}`{nearest}, found are {found}; {remedy}."),
    "names_found": "{names:some 12}",
    "no_names_found": "none",
    "not_a_column": ("{where} gives {part} as {value:shown}; give the name of a column in quotes."),
    "part_without_column": "{where} does not say which column is {part}; add it.",
    "outcome_and_winner": (
        "{where} gives both outcome and winner; give one: outcome, a column of words that "
        "[outcomes] translates, or winner, a column that names the winning item."
    ),
    "neither_outcome_nor_winner": (
        "{where} gives neither outcome nor winner; give one: outcome, a column of words that "
        "[outcomes] translates, or winner, a column that names the winning item."
    ),
    "unknown_meaning": (
        "{where} translates the outcome `{word:shown}` to {meaning:shown}; known are {known} (a "
        "name with a dot in it needs quotes)."
    ),
    "outcome_translated_twice": (
        "{where} translates the outcome `{word:shown}` twice, blanks and case apart; keep one."
    ),
    "not_words_to_drop": (
        "{where} gives {value:shown} as the words of `{column:shown}` that drop a row; write "
        '"COLUMN" = ["WORD", ...], the column in quotes.'
    ),
    "not_a_toml_table": "{where} gives {name} as a value; write it as a table [{name}].",
    # --- importing/documents
    "unknown_record_format": ("{where}: cannot tell the format by its name; use one of {endings}."),
    "line_of_file": "{where}, line {line:,},",
    "no_list_of_records": (
        "{where} holds no list of records; export it as JSON, or one record on each line as .jsonl."
    ),
    "the_records": "{where}: the records",
    "records_not_a_list": "{what} are not a list; export them again as JSON.",
    "record_not_an_object": (
        "{what} must be objects, but number {number:,} is {kind}; export them again as JSON."
    ),
    "document_type_declared": (
        "{where} declares a document type (<!DOCTYPE>), which could make it mean anything; remove "
        "the declaration."
    ),
    "not_xml": "{where} is not valid XML ({why:shown 200}); copy the labelling config again.",
    "not_json": "{where} is not valid JSON; export it again.",
    "not_json_at": ("{where} is not valid JSON (line {line:,}, sign {column:,}); export it again."),
    # --- importing/cells
    "an_empty_cell": "an empty cell",
    # --- importing/flat
    "rows_dropped": "{count:,} dropped: {reason}",
    "rows_dropped_such_as": "{count:,} dropped: {reason} ({examples})",
    "rows_read": (
        "Read {read:# row} of {source}: {votes:# vote}, {ties:# tie}, {skipped:,} skipped, "
        "{dropped:,} dropped."
    ),
    "a_note": "Note: {note}",
    "nothing_to_import": "{where} holds no votes; check the export that wrote it.",
    "no_vote_left": (
        "no vote is left of the {count:# row} of {where}: {dropped}; check the export."
    ),
    "a_column": "column",
    "describe_in_a_mapping": (
        "check it, or describe the file in a mapping (`urlr import mapping --help`)"
    ),
    "repeated_column": "{where} has two columns named `{name:shown}`; rename one.",
    "file_lacks": "the file has {lacking}.",
    "lacks_part": "no {part} (no column {column})",
    "lacks_rows_to_drop": "no rows dropped by {column}",
    "column_says": "{column:shown} is {word:shown}",
    "column_is_empty": "{column:shown} is empty",
    "column_names_neither": "{column:shown} is neither {item_a:shown} nor {item_b:shown}",
    "column_is_unknown": "{column:shown} is unknown",
    "items_in": "the items in {item_a:shown} and {item_b:shown}",
    "mostly_unknown": (
        "{where}: {reason} in {count:,} of {total:# row}, seen are {seen:some 6}, known are "
        "{known:some 6}; check the file, or say in a mapping what the values mean (`urlr import "
        "mapping --help`)."
    ),
    "cells_not_read": (
        "{column:shown} could not be read as {part} in {count:# row} ({seen:some}); left empty "
        "there."
    ),
    "mixed_items": "items are text and whole numbers; only .jsonl files keep those apart.",
    "mixed_annotators": (
        "annotators are text and whole numbers; only .jsonl files keep those apart."
    ),
    "several_attributes": (
        "the votes are about {count:,} attributes; `urlr fit` takes one at a time."
    ),
    # --- importing/label_studio
    "no_pairwise_tag": (
        "{where} has no <Pairwise> tag; give the labelling config of the project that was exported."
    ),
    "several_pairwise_questions": (
        "{where} asks {count:# pairwise question} ({names:some 8}); choose one with --question."
    ),
    "a_pairwise_question": "pairwise question",
    "check_question": "check --question",
    "not_two_tags": (
        "{where}: toName of <Pairwise> is `{given:shown}`; it must name two tags of the config, "
        'such as toName="left,right".'
    ),
    "shows_no_data": (
        "{where} shows `{left:shown}` and `{right:shown}`, not data; name the data fields that "
        "hold the two item ids with --id-fields LEFT,RIGHT."
    ),
    "no_annotations": (
        "{where} has no annotations; export the project as JSON (not JSON-MIN, CSV or TSV)."
    ),
    "a_data_field": "data field",
    "name_id_fields": "name the fields of the two item ids with --id-fields LEFT,RIGHT",
    "the_annotations": "{where}: the annotations of task {task:shown}",
    "tasks_without_annotation": "{count:# task has|tasks have} no annotation yet.",
    "answer_nobody_asked": "an answer to {question}, which the config does not ask",
    # --- importing/argilla
    "records_without_id": (
        "{where} has records without an id to prefix the options with; give --no-prefix-record if "
        "an option is the same item in every record."
    ),
    "rankings_as_pairs": (
        "{responses:# response} gave {rankings:# ranking}, that is {pairs:# pair} of options; each "
        "pair of a ranking of k options weighs 2/k, so that the ranking counts as k - 1 votes."
    ),
    "options_recur": (
        "options such as {option:shown} recur across records and may be other items in each, so "
        "items are named RECORD:OPTION; give --no-prefix-record if an option is the same item "
        "everywhere."
    ),
    "the_responses": "{where}: the responses of record {number:,}",
    "no_responses": "{where} has no responses; export the records with their responses.",
    "several_ranking_questions": (
        "{where} answers {count:# ranking question} ({names:some 8}); choose one with --question."
    ),
    "a_question": "question",
    "no_ranking": (
        "{where} has no ranking with ranks, [{{rank, value}}, ...], among its answers; the Argilla "
        "2 library leaves the ranks out of what it exports: take the records with their responses "
        "from the server's API."
    ),
    "too_few_ranked_options": "fewer than two ranked options",
    "option_without_rank": "an option without a rank",
    # --- report/wording
    "night_summary": (
        "{state}: {attributes:# attribute} in {seconds:.0f} s: {outcomes}{dry}.{rows}"
    ),
    "nothing_done": "nothing done",
    "night_was_dry": " (dry run: nothing was changed in the registry)",
    "night_rows": (
        " Of {read:# row}, {used:,} used, {ties:,} ties, {skipped:,} skipped, {rejected:,} "
        "rejected{failed}."
    ),
    "rows_that_failed": "; {rows:,} more in {attributes:# attribute} that failed",
    "other_serves": (
        "{attribute:shown 80}: version {live} serves, not version {version} that was published; it "
        "was rolled back, or somebody moved the alias"
    ),
    "none_serves": (
        "{attribute:shown 80}: nothing serves, though version {version} was published; somebody "
        "removed the alias"
    ),
    "more_not_live": "{count:# more attribute} of which another version serves: {attributes:some}",
    "coordinated_in": "{attribute:shown 80}: {what}",
    "more_coordinated": (
        "{count:# more attribute} with people who act together: {attributes:some 10}"
    ),
    "failed_rows_not_counted": ("; rows of {attributes:# attribute} that failed are not counted"),
    "nothing_looked_at": "Nothing was looked at tonight.",
    "night_in_plain_words": "Of {attributes:# attribute} looked at tonight, {outcomes}.",
    "got_new_ranking": "{count:,} got a new ranking",
    "would_have_got_new_ranking": "{count:,} would have got a new ranking",
    "had_no_new_votes": "{count:,} had no new votes",
    "one_held_back": "{count:,} was held back by the check of new rankings",
    "several_held_back": "{count:,} were held back by the check of new rankings",
    "failed_tonight": "{count:,} failed",
    # --- report/digest
    "columns_of_other_lengths": "columns of {attributes}, {tau}, {votes}",
    # --- report/evidence
    "page_summary": (
        "{items:# item is|items are} ranked from {votes:# vote}{people}. {aside}. At the top: "
        "{best}."
    ),
    "by_people": " by {count:# person|people}",
    "taste_in_words": (
        "{count:# person puts|people put} {up:some 5} higher than the consensus does, and "
        "{down:some 5} lower"
    ),
    "votes_set_aside": "{count:# vote is|votes are} set aside",
    "votes_read_otherwise": "{count:# vote is|votes are} read the other way round",
    "no_vote_set_aside": "No vote is set aside",
    # --- report/attribute_page
    "votes_not_cut": (
        "the page is given {given:,} votes and lists {listed:,} in parts of {per_part:,}; cut them "
        "with vote_parts first."
    ),
    # --- report/fit_page
    "no_votes_to_report": "a model read from a file has no votes to report on.",
    # --- report/freshness_cards
    "nothing_serves": "No ranking serves yet.",
    "days_ago": "{count:# day} ago",
    "votes_newer_than_what_serves": "There are newer votes; what serves does not know them.",
    "no_newer_votes": "{ago}, and there are no newer votes.",
    "no_votes_waiting": "All votes read are in what serves.",
    "votes_waiting": "{where}.",
    "waiting_in": "in {count:# attribute} {kind}",
    "waiting_in_failed": "in {count:# attribute} that failed, not counted",
    "more_waiting_in_failed": "more in {count:# attribute} that failed, not counted",
    "votes_without_times": "The votes do not say when they came.",
    "vote_newer_than_published": "Cast after the newest night published (UTC).",
    "no_vote_for_days": "No vote for {count:# day} (UTC).",
    "no_vote_newer": "Not newer than the newest night (UTC).",
    # --- report/overview
    "built_again": (
        "All below is told as of its end, {ended}; the page was built again from its record at "
        "{rebuilt}."
    ),
    "built_again_later": (
        "This is a night of the past, {count:# day} ago. All below is told as of its end, {ended}; "
        "the page was built again from its record at {rebuilt}."
    ),
    "the_night_failed": "The night failed: {why:shown 1000}.",
    "went_back_in_time": (
        "This run went back in time: only votes cast up to {as_of} counted. It makes nothing "
        "fresher."
    ),
    "was_a_dry_run": "This was a dry run: nothing was published, whatever it says below.",
    "was_of_some_attributes": (
        "Only {count:# attribute} had been asked for; totals do not compare with whole nights."
    ),
    "was_forced": "Publishing was forced: new rankings went live whatever their check said.",
    # --- report/site
    "to_try_again": "try again, once mended",
    "to_publish_all_the_same": "publish all the same",
    "to_go_back": "go back to the version before",
    # --- study/sources
    "no_such_table": (
        "{folder} has no table {table!r} (looked for {names}); put one there with columns "
        "{columns}."
    ),
    "unreadable_table": (
        "{path} cannot be read ({why}); a table with columns {columns} is needed."
    ),
    "lacking_columns": ("{path} lacks {count:# column} ({names:some}); it has {found:some}."),
    "no_rows": "{path} has no rows; a table with columns {columns} is needed.",
    "empty_cells": "{path}: {count:,} of {total:,} rows have no {column}; fill or drop them.",
    "items_named_twice": (
        "{where}: {count:# item} named twice ({items:some}); keep one row of each."
    ),
    "features_without_numbers": "{where} has no numeric column besides the names of items.",
    "values_not_finite": ("{where}: {count:,} values are missing or infinite; fill or drop them."),
    "items_compared_with_themselves": (
        "{where}: {count:,} of {total:# row} compare an item with itself; drop them."
    ),
    "not_finite_numbers": (
        "{where}: {count:,} of {total:# row} have {called} that is no finite number "
        "({values:some}); correct or drop them."
    ),
    "a_truth": "a truth",
    "an_age": "an age",
    "items_without_features": (
        "{where}: {count:,} of {total:# item} have no features ({items:some})."
    ),
    "items_not_in_table": (
        "{where}: {count:,} of {total:# row} name items that the table of items does not have "
        "({items:some})."
    ),
    # --- study/experiments
    "no_such_experiment": "there is no experiment {name!r}; choose from {known}.{hint}",
    "did_you_mean": " Did you mean {name}?",
    "data_is_no_folder": "--data {path} is no folder.",
    "no_folder_for_experiment": "{path} has no folder {folder} for the experiment {name}.",
    # --- study/content
    "claims_judged": "Of {count:# claim}, {verdicts}.",
    # --- study/results
    "no_trial_run": "No trial was run to its end.",
    # --- study/age
    "too_few_people": "{where} has {count} people; at least 4 are needed.",
    # --- study/video
    "too_few_items_of_category": (
        "{where} has {count} items of category {category!r}; more than {needed} are needed in each "
        "of {categories}."
    ),
    "negative_words": "{where} has negative values; bags of words are counts or shares.",
    # --- study/real_votes
    "unknown_items": "{where}: {count:,} rows name unknown items.",
    "one_picture": "{where} has 1 picture; at least 2 are needed, one to be unseen.",
    "too_few_topics": "{where} has {count:# topic}; {needed} are needed.",
    "items_of_two_topics": (
        "{where}: {count:,} of {total:# row} compare items of two topics; drop them."
    ),
    "labels_not_numbers": "{where} has labels that are no numbers; give 1, -1 or 0.",
    "real_votes_only": "{experiment} runs on real votes only.",
    # --- study/attribute_data
    "unknown_split": "{folder}: split in items must be train or test, found {found:some}.",
    "votes_on_test_items": (
        "{folder}: {count:,} of {total:# vote} name an item whose split is test; votes are to be "
        "between training items."
    ),
    "too_few_classes": "{folder}: items has {count:# class|classes}; 3 are needed.",
    "small_classes": (
        "{folder}: {count} of {total} classes ({names:some}) have fewer than {least:# item} whose "
        "split is {split}."
    ),
    "ranks_not_numbers": ("{folder}: {count:,} of {total:,} ranks in class_order are no numbers."),
    "several_ranks": "{folder}: class_order gives more than one rank to {pairs:some}.",
    "ranks_missing": (
        "{folder}: class_order lacks the rank of {count:,} of {total:,} pairs of attribute and "
        "class ({pairs:some})."
    ),
    # --- study/outlier_searches
    "weights_other_than_1": "these searches know edges of weight 1 only",
    "ipod_did_not_rest": (
        "IPOD over {edges:,} edges did not come to rest in {steps:,} steps at penalty "
        "{penalty:.2g}; choose another."
    ),
    # --- study/baselines
    "regression_without_features": "a regression needs item features",
    "pairs_on_one_side_only": ("kernel ridge regression needs pairs on both sides of a fold"),
}

message = messages_of(MESSAGES)
