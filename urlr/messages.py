"""Every sentence of this package that people may read, by code."""

from __future__ import annotations

from urlr.sentence import messages_of

MESSAGES = {
    # --- votes
    "votes_not_a_table": "votes must be a pandas DataFrame, not {kind}.",
    "repeated_vote_columns": "the votes have two columns named {names:some}; rename one.",
    "lacking_vote_columns": (
        "the votes have columns {names:some 10000}; needed are winner and loser, or item_a, item_b "
        "and outcome (a, b, tie or skip)."
    ),
    "mixed_layouts": (
        "the votes mix two layouts; keep winner and loser, or item_a, item_b and outcome."
    ),
    "several_attributes": (
        "the votes are about {count:# attribute} ({names:some}); each is a ranking of its own: fit "
        "one at a time."
    ),
    # Why a vote is not used: values of columns that people filter by.
    "skipped_by_annotator": "skipped by the annotator",
    "zero_weight": "weight 0",
    "ties_left_out": "ties are left out",
    "missing_item": "missing item",
    "empty_item_id": "empty item id",
    "unusable_item_id": "item id is neither text nor a whole number",
    "unknown_outcome": "missing or unknown outcome",
    "self_comparison": "compares an item with itself",
    "unusable_weight": "weight is negative, missing or not finite",
    "weight_out_of_range": "weight outside 1e-9 to 1e9",
    "item_without_features": "item has no features",
    "repeated_vote_id": "repeated vote_id",
    "header_row": "names of columns instead of a vote",
    # --- repeated_ids
    "vote_ids_of_two_types": (
        "vote_id is a whole number in some dumps and something else in others; save it as one type."
    ),
    # --- features
    "features_not_a_table": (
        "features must be a pandas DataFrame, not {kind}; make one with a row for each item."
    ),
    "empty_features": (
        "the feature table is empty ({n_rows:# row}, {n_columns:# column}); give a row for each "
        "item and a column for each feature."
    ),
    "only_item_column": (
        "the feature table has no numeric column. Give at least one column of numbers, or a column "
        "`embedding` of lists."
    ),
    "no_numeric_column": (
        "the feature table has no numeric column; not numeric: {names:some}. Give at least one "
        "column of numbers, or a column `embedding` of lists."
    ),
    "repeated_columns": (
        "{count:# column name appears|column names appear} more than once ({names:some}); rename "
        "or drop the repeated columns."
    ),
    "features_of_unnamed_items": (
        "the feature table does not say which items its {n_rows:# row} describe: it has no column "
        "`item`, and its index only counts the rows. Add the column, or set the index with "
        "features.set_index(...); if the items really are 0, 1, 2, ..., name the index with "
        "features.rename_axis('item')."
    ),
    "rows_without_item": (
        "{count:,} of {n_rows:# row} {what} in the {source} of the feature table (rows "
        "{rows:some}, counting from 1); name the items or drop the rows."
    ),
    "no_id": "have no item id",
    "empty_id": "have an empty item id",
    "unusable_id": "have an item id that is neither a whole number nor text",
    "repeated_items": (
        "{count:# item appears|items appear} more than once in the {source} of the feature table "
        "({items:some}); keep one row for each."
    ),
    "infinite_values": (
        "{count:# feature value is|feature values are} infinite (columns {columns:some}; some "
        "rows); replace them with numbers, or leave them missing."
    ),
    "items_with_infinite": (
        "{count:# feature value is|feature values are} infinite (columns {columns:some}; items "
        "{items:some}); replace them with numbers, or leave them missing."
    ),
    "embeddings_not_lists": (
        "{count:,} of {n_rows:# row} hold something else than a flat list of numbers in column "
        "`embedding` (items {items:some}); give every item a list of numbers, or leave it missing."
    ),
    "no_embeddings": (
        "column `embedding` holds no list in any of {n_rows:# row}; fill it, or drop it."
    ),
    "embeddings_of_unequal_length": (
        "column `embedding` holds lists of {count:,} different lengths ({lengths}; items "
        "{items:some}); every list must be equally long."
    ),
    "embedding_length": "{length:# number} for {count:# item}",
    # What is odd about columns.
    "columns_without_value": "{count:# column} without a value, not used: {names:some}.",
    "constant_columns": "{count:# constant column}, not used: {names:some}.",
    "columns_with_gaps": "{count:# column} with missing values: {names:some}.",
    "missing_in": "{name:shown} ({count:,})",
    "repeating_columns": "{count:# group} of columns that repeat each other: {groups}.",
    "and_more": "and {count:,} more",
    "dependent_columns": "The {n_columns:,} varying columns have rank {rank:,} only.",
    "columns_not_compared": "Not searched for repeated columns: there are {n_columns:,}.",
    # --- steps
    "wrong_sample_steps": (
        "the chi-square map takes 1, 2 or 3 sample steps, or 0 for no map, not {sample_steps}."
    ),
    "negative_values": (
        "{count:# value is|values are} negative in {n_columns:# column} ({columns:some}); the "
        "chi-square map is for histograms and counts. Turn it off, or drop these columns."
    ),
    "means_do_not_fit": "kept columns and means do not fit together",
    "indicator_of_no_column": "an indicator belongs to no column",
    "sample_steps_out_of_range": "sample steps must be 1, 2 or 3",
    "kept_columns_out_of_order": "kept columns are out of range or out of order",
    "centres_do_not_fit": "columns, centres and spreads differ in number",
    "spread_out_of_range": "a spread is not positive or a power out of range",
    # --- projections
    "exact_limit_too_small": "kernel PCA needs exact_limit of 1 row or more, not {exact_limit}.",
    "unusable_gamma": "gamma of the RBF kernel must be positive and finite, not {gamma}.",
    "components_do_not_fit": "centre and components differ in length",
    "landmarks_do_not_fit": "landmarks, weights and offset do not fit together",
    "gamma_not_positive": "gamma must be positive",
    # --- prior
    "directions_do_not_fit": "centre and directions differ in length",
    "landmarks_of_other_width": "the landmarks have another number of columns",
    # --- spaces
    "unmappable_shape": (
        "the feature map takes rows of {n_columns:# value}, got an array of shape {shape}; use "
        "select() to order the columns of a table."
    ),
    "transform_of_other_columns": (
        "the model takes {n_wanted:# column} ({wanted:some}), the shared transform gives "
        "{n_given:# column} ({given:some}); use the transform that made the table the model was "
        "fitted on."
    ),
    "lacking_columns": (
        "the model needs {count:# column} the table lacks: {names:some}. Give the columns the "
        "model was trained on."
    ),
    "columns_not_numeric": (
        "the model needs {count:# column} the table lacks: {names:some} ({ignored:some} not "
        "numeric in this table). Give the columns the model was trained on."
    ),
    "values_of_other_shape": (
        "expected rows of {n_columns:# value}, one for each column name, got an array of shape "
        "{shape}."
    ),
    "no_column_varies": (
        "no feature tells the items apart: each of the {n_columns:# column} ({columns:some}) has "
        "one value, or none, over all {n_items:# item}; give at least one column that varies."
    ),
    "no_components": "the reduced space needs 1 component or more, not {n_components}.",
    "no_items_to_reduce": "the reduced space needs items to be fitted to, got none.",
    "items_alike": (
        "no feature tells the {n_items:# item} given apart, so there is no reduced space; give "
        "items that differ."
    ),
    "items_alike_at_gamma": (
        "no feature tells the {n_items:# item} given apart, so there is no reduced space; give "
        "items that differ, or a larger gamma."
    ),
    "map_without_description": "the feature map in the model file has no description.",
    "map_repeats_column": "the feature map in the model file repeats a column name.",
    "map_without_steps": "the feature map in the model file has no list of steps.",
    "no_step": "step {place} of the feature map in the model file is no step.",
    "unknown_step": (
        "step {place} of the feature map in the model file is of unknown kind {kind:shown}; known "
        "are {known}. A newer urlr may know it."
    ),
    "damaged_step": (
        "step {place} ({kind}) of the feature map in the model file is damaged: {flaw}."
    ),
    "step_of_other_width": "it takes {n_in:# column} but gets {width:,}",
    "not_names": "the {what} in the model file are not a list of names.",
    "columns_of_map": "columns of the feature map",
    "part_of_step": "`{name}` of step {place} ({kind})",
    "no_number": (
        "{what} of the feature map in the model file must be a number from 0 ({wanted}), not "
        "{value!r:shown}."
    ),
    "lacking_array": "the model file lacks the array {key} of the feature map.",
    "array_of_other_kind": (
        "the array {key} of the feature map in the model file must be {dtype} with "
        "{ndim:# dimension}, found {found}."
    ),
    "array_not_finite": (
        "the array {key} of the feature map in the model file holds values that are not finite."
    ),
    # --- graph
    "features_of_other_shape": (
        "features have shape {shape}; the graph has {n_items:,} items, one row each is needed."
    ),
    "features_not_finite": "{count:,} feature values are not finite; impute or drop them first.",
    "no_votes": "there are no votes: the table has 0 rows; check what wrote it.",
    "no_usable_vote": (
        "none of {n_rows:# vote} can be used: {reasons:counts}; check what wrote them."
    ),
    # --- settings
    "not_a_share": "{name} is {value}; it is a share, 0 up to 1.",
    "not_positive": "{name} is {value}; it must be a positive number such as 0.001.",
    "not_a_whole_number": "{name} is {value!r}; it must be a whole number.",
    "not_a_number_or_rule": "{name} is {value!r}; it must be a number or the name of a rule.",
    "not_true_or_false": "{name} is {value!r}; it must be True or False.",
    "unknown_choice": "{name} is {value!r}; choose one of {allowed}.",
    "setting_of_other_method": "{name} is {value!r}; that setting belongs to method={method!r}.",
    "rule_of_paper": "prune is {value!r}; that rule belongs to method='paper'.",
    "limit_out_of_range": "limit is {value}; it lies between 0.05 and 1 (no limit).",
    "too_few_components": "components is {value}; at least 1 is needed.",
    "too_few_replicates": "replicates is {value}; give 2 or more, or 0 for none.",
    "negative_seed": "seed is {value}; it must be 0 or more.",
    "chi_square_out_of_range": "chi_square is {value}; give 1, 2 or 3 steps, or 0.",
    # --- fitting
    "no_features": (
        "no vote is left: {count:# vote is|votes are} about items without features. {names}"
    ),
    "no_features_by_type": (
        "no vote is left: {count:# vote is|votes are} about items without features. {names} Ids "
        "must be of one type, text or whole numbers."
    ),
    "unlike_names": (
        "Votes name items like {voted:some} ({voted_kinds}), features like {known:some} "
        "({known_kinds})."
    ),
    # --- preflight_checks
    "rejected_votes": (
        "{rows[rejected]:,} of {rows[read]:,} votes were rejected: {reasons:counts}."
    ),
    "respelled_ids": (
        "Ids were read without stray spaces, invisible characters and a needless .0: {rows:counts}."
    ),
    "respelled_item": "rows with such an item",
    "respelled_annotator": "rows with such an annotator",
    "respelled_vote_id": "rows with such a vote_id",
    "alike_items": (
        "{count:# set} of items look alike and count as different: {sets:some}. If they are the "
        "same, correct the export."
    ),
    "alike_annotators": (
        "{count:# set} of annotators look alike and count as different people: {sets:some}. If "
        "they are the same, correct the export."
    ),
    "only_ties": (
        "Every compared pair is a tie: there is no order to learn. At least one decided vote is "
        "needed."
    ),
    "balanced_cycle": (
        "The votes cancel: every item wins exactly as often as it loses (a balanced cycle), so no "
        "ranking is better than another. One more vote on any pair would break the balance."
    ),
    "features_cancel": (
        "The features say nothing about who wins: their sum over winners equals that over losers. "
        "Other features, or a ranking without features, are needed."
    ),
    "split_items": (
        "The votes split the items into {count:,} groups that were never compared with each other "
        "(sizes {sizes:some 5}; a smallest one holds {smallest:some})."
    ),
    "stray_votes": (
        "{count:# vote is|votes are} on items apart from the largest group ({rows}{more}). Look "
        "there for totals and misspelled ids."
    ),
    "row_of_votes": "row {row}",
    "row_of_file": "row {row:shown} of {path:shown 200}",
    "groups_never_compared": (
        "{split} Without features nothing says how the groups compare. Collect votes between them, "
        'rank each on its own (parts="each"), or give item features.'
    ),
    "groups_ranked_each": (
        "{split} Each is ranked on its own: ranks and scores of two groups do not compare."
    ),
    "groups_by_features": "{split} How the groups compare rests on the features alone.",
    "reduced_features_cancel": (
        "In the reduced features the votes cancel, so no vote can stand out. Nothing is pruned. "
        "More components, or the features themselves, would change that."
    ),
    "no_outlier_dimension": (
        "No vote can stand out: with {n_edges:# edge} and {carried:# free score} every vote can be "
        "fitted. Nothing is pruned. More votes, or fewer dimensions for the outlier search, would "
        "change that."
    ),
    "few_outlier_dimensions": (
        "The outlier search has {carried:,} dimensions for {n_edges:# edge}; outliers can show in "
        "only {dimension:,}. Fewer dimensions or more votes find more."
    ),
    "unknown_columns": "{count:# column} of the votes not used: {names:some 10}.",
    "ignored_columns": "{count:# column} that hold no numbers, not used: {names:some}.",
    "one_sided_items": (
        "Only {count:,} of {n_items:# item} both win and lose: how well votes are predicted then "
        "says nothing. Are ids written in two ways, or are winners compared with losers alone?"
    ),
    "guessed_votes": (
        "Whether an item mostly wins or mostly loses predicts nearly every vote (tau {tau:.2f}): "
        "how well votes are predicted then says nothing. Are good items compared with bad ones "
        "alone, or all with the same few?"
    ),
    "votes_per_item": (
        "Votes per item: {middle:,} in the middle, {low:,} to {high:,} over {n_items:# item}."
    ),
    "items_with": "{count:# item} with {what}: {items:some}.",
    "few_votes": "fewer than {fewer_than} votes",
    "never_a_win": "never a win",
    "never_a_loss": "never a loss",
    "pruned_everything": "pruning left no decided vote; prune less.",
    "items_lost_votes": "{count:# item} lost all votes to pruning ({items:some}); {rest}.",
    "score_is_middle": "their score is 0, the middle",
    "score_by_features": "their score rests on features alone",
    "pruning_split_items": (
        "Pruning split the items into {groups:,} groups with no vote between them; how the groups "
        "compare is not known. Prune less, or give features."
    ),
    # --- default
    "odd_sides": (
        "{count:# vote names|votes name} in `left` neither of the two items; what was on the left "
        "is not known there."
    ),
    "alike_features": (
        "{count:# item} of votes that were rejected for want of features look like items that have "
        "features: {sets:some}. If they are the same, correct the export."
    ),
    "odd_annotators": (
        "{count:# vote names an|votes name an} annotator by neither text nor a whole number; they "
        "count as nameless."
    ),
    "no_better_than_chance": (
        "Votes {held_out} left out of the fit are predicted no better than by chance, so nobody "
        "could be judged by the others. Look at the votes before trusting this."
    ),
    "pushed_items": (
        "Some {count:,} votes seem to push items that are compared far more often than others, "
        "under many names: {names:some 5}. They count less. Look at who may vote in whose name, "
        "and how pairs are drawn."
    ),
    "of_people": "of people",
    "on_items": "on items",
    "ridge_not_tuned": "Too few votes to tune the ridge on items left out; {ridge:g} was used.",
    # --- paper
    "svm_without_features": "RankSVM needs item features; without them use ranking='ridge'.",
    "auto_needs_votes": "prune is 'auto', which needs every vote; give a number.",
    # --- path
    "rate_out_of_range": "rate is {value}; it is a share of the edges, from 0 to 1.",
    "unknown_solver": 'solver is {value!r}; choose "auto", "exact" or "grid".',
    "path_not_optimal": (
        "the {solver} path over {n_edges:,} edges violates its optimality conditions by "
        "{violation:.1e}, tolerance {tolerance:.1e}, after {n_steps:,} steps; try the other "
        "solver, a larger ridge, or weights of similar size."
    ),
    # --- homotopy, grid, laplacian, logistic: what did not converge
    "path_too_long": (
        "the exact path over {n_edges:,} edges made {n_events:,} events and reached only "
        "{n_entered:,} of {goal:,} edges; a larger ridge or the grid solver helps."
    ),
    "huber_unsolved": (
        "the Huber problem at penalty {penalty:.3g} kept a violation of {violation:.1e}, tolerance "
        "{tolerance:.1e}, after {iterations} iterations."
    ),
    "ranking_unsettled": (
        "the ranking of {n_items:,} items did not settle: residual {residual:.1e} of {goal:.1e} "
        "wanted after {iterations:,} iterations; weights that differ by many orders of magnitude "
        "cause this."
    ),
    "logistic_unsettled": (
        "the logistic fit kept a gradient of {gradient:.1e}, tolerance {tolerance:.1e}, after "
        "{n_steps} Newton steps; try a larger ridge."
    ),
    # --- ranking
    "svm_graph_without_features": (
        "RankSVM needs item features; rank without them by ranking='ridge'."
    ),
    "svm_unsettled": (
        "RankSVM kept a gradient of {gradient:.1e}, tolerance {tolerance:.1e}, after {n_steps} "
        "Newton steps; try a larger ridge."
    ),
    "tuning_without_features": ("a tuned ridge needs item features; without them give a number."),
    "too_few_to_tune": (
        "{n_edges:,} edges on {n_items:,} items are too few to tune the ridge on items left out; "
        "give a number such as ridge=0.001."
    ),
    # --- ranker
    "no_voters_in_model": (
        "this model knows nothing of people: it is the paper's, or from a file of an older "
        "version; fit it again with the default method."
    ),
    "unlike_lengths": (
        "a, b and annotator have {sizes:some} entries; give one for each pair, or one for all."
    ),
    "annotator_or_taste": "give annotator or taste, not both.",
    "unknown_taste": (
        "there is no taste {taste}: this model has {n_tastes:,}, and 0 is the consensus; see "
        "`ranker.tastes`."
    ),
    "no_verdicts_in_file": (
        "this model was read from a file, which does not carry the votes; verdicts come with the "
        "fit (`urlr fit` writes them beside the model)."
    ),
    "no_annotators_in_file": (
        "this model was read from a file, which does not carry the votes; the table of annotators "
        "comes with the fit (`urlr fit` writes it beside the model)."
    ),
    "no_annotators_in_paper": (
        "the method of the paper does not judge annotators; the default does."
    ),
    "model_without_features": (
        "this model was fitted without features: it ranks the {n_items:,} items that were compared "
        "(see `scores`) and cannot score others."
    ),
    "no_features_to_transform": (
        "this model was fitted without features, so no transform of features can stand before it; "
        "use the model as it is."
    ),
    # --- verdicts: why a vote was set aside
    "against_ranking": "the ranking puts the loser ahead",
    "ranking_says_less": (
        "the ranking puts the winner ahead by far less than a vote claims, or not at all"
    ),
    "ranking_says_more": "the ranking puts the winner ahead by far more than a vote claims",
    "ranking_says_unequal": "called equal, but the ranking puts one well ahead",
    "against_features": "the features put the loser ahead",
    "cast_together": "cast by a group of people who act together",
    "careless_voter": "cast by someone whose votes are often wrong",
    "reversed_voter": "cast by someone whose votes are mostly wrong: read the other way round",
    "wrong_either_way": (
        "cast by someone whose votes are mostly wrong, and hardly right the other way round"
    ),
    "hardly_supported": "the features hardly support it",
    "least_supported": "among the least supported of all votes",
    # --- contradictions
    "inexplicable_votes": (
        "{count:# vote} of {n_listed:,} to be explained do not count or are about items without a "
        "score; list pruned votes, with the scores of the same fit."
    ),
    "beat": "{first} beat {second} {won:,}:{lost:,}",
    "by_features": "by their features",
    "by_all_votes": "by all votes together",
    "ahead": "{by} {first} is ahead of {second} by {margin}",
    "less_than_a_hundredth": "less than 0.01",
    "ahead_in_odds": "{ahead}, a win in {share:percent} of votes",
    "yet_called_equal": "{said}, yet this vote calls {first} and {second} equal",
    "yet_beats": "{said}, yet this vote says {first} beats {second}",
    # --- annotators: what speaks for the verdict on a person
    "no_decided_votes": "no decided votes",
    "agrees_on": (
        "agrees on {agreement:percent} of {n_decided:# decided vote} where {expected:percent} is "
        "usual"
    ),
    "guessing_gives_half": "guessing would give 50 %",
    "acts_together": (
        "acts together with {n_others:# other}: against everybody else, and hardly ever against "
        "each other"
    ),
    "differs_consistently": "differs from the others in a way of their own, which is no mistake",
    "borderline": "a close call",
    "too_few_to_stand_out": "on so few votes a guesser would not stand out",
    "turned_around": "turned around it would be {agreement:percent}",
    "one_sided": "chooses the left in {left:percent} of them",
    "hasty": "takes {seconds:.1f} s where {usual:.1f} s are usual",
    # --- concentration
    "times_do_not_fit": ("there are {n_times:,} times for {n_votes:,} votes; give one for each."),
    "contrary_person": "{name:shown} cast {of_all}, where {usual} would be expected",
    "contrary_item": "{of_all} are about {name:shown}, where {usual} would be expected",
    "contrary_time": "{of_all} were cast {when}, where {usual} would be expected",
    "contrary_of_all": "{count:,} of the {n_all:# contrary vote}",
    "less_than_one": "less than 1",
    "in_hour": "on {start:%Y-%m-%d} from {start:%H:%M} to {end:%H:%M}",
    "on_day": "on {day:%Y-%m-%d}",
    "in_week": "in the week from {start:%Y-%m-%d}",
    # --- opposing_groups
    "group_cast": "{people} cast {n_votes:# vote}, {share:percent} of all",
    "group_agrees": (
        "where two of them judged the same pair they agree in {inside:percent} of cases, and with "
        "others in {outside:percent}"
    ),
    "group_agrees_inside": (
        "where two of them judged the same pair they agree in {inside:percent} of cases"
    ),
    "group_agrees_outside": "they agree with others in {outside:percent}",
    "group_leans": "they favour {up} and push down {down}",
    "group_favours": "they favour {up}",
    "group_pushes_down": "they push down {down}",
    # --- rejudging
    "no_decided_vote": "no vote is decided, so that none can be suspicious.",
    "every_vote_fits": "every vote can be fitted, so that none can stand out.",
    "parts_never_compared": "without features nothing says how groups never compared compare.",
    "votes_cancel": "the votes cancel: every item wins exactly as often as it loses.",
    # --- self_test
    "flipped_share_out_of_range": "share is {share}; it is above 0 and at most {largest}.",
    "too_few_to_flip": (
        "there are too few votes for it: {n_decided:,} are decided, and {needed:.0f} are needed to "
        "turn {n_flipped} of them around."
    ),
    # --- sufficiency
    "too_few_to_split": (
        "{n_decided:# decided vote} on {n_items:# item}; needed are {fewest_votes} and "
        "{fewest_items}"
    ),
    "halves_not_ranked": "Too few votes to see how alike two halves of them rank: {why}.",
    "enough_votes": (
        "There are enough votes: rankings by {crowds} would correlate {now:.2f}; twice the votes "
        "would make that {twice:.2f}."
    ),
    "with_twice_the_votes": (
        "With twice the votes, rankings by {crowds} would correlate {twice:.2f} instead of "
        "{now:.2f}"
    ),
    "more_votes_needed": "{grows}; {enough} needs about {needed:,} votes.",
    "enough_out_of_reach": "{grows}; {enough} is out of reach.",
    "halves_unlike": (
        "Two halves of the votes rank the items no more alike than by chance, so that nothing says "
        "how many votes would be enough."
    ),
    "two_crowds": "two such crowds",
    "two_sets_of_votes": "two such sets of votes",
    # --- explorer, aside_order, moves
    "no_predictable_vote": (
        "none of {n_votes:# vote} kept back is decided between items that are ranked without it."
    ),
    "no_votes_in_file": "a model read from a file has no votes to put in order.",
    "scores_name_items_twice": (
        "the scores name {count:,} of {n_items:,} items twice; keep one row of each."
    ),
    # --- summary
    "summary_of_rows": (
        "Ranked {n_items:# item} from {rows[read]:# vote}: {rows[used]:,} used, "
        "{rows[ties]:# tie}, {rows[skipped]:,} skipped, {rows[rejected]:,} rejected."
    ),
    "summary_nothing_pruned": "Pruned nothing.",
    "summary_pruned_edges": (
        "Pruned {facts.n_pruned_votes:,} of {n_votes:# vote} ({share:.1%}), those that contradict "
        "the rest most: {facts.n_pruned_edges:,} of {facts.n_edges:# edge} ({edge_share:.1%}), an "
        "edge being all votes for one item over another. Their order is {how}, solved to "
        "{facts.violation:.0e}."
    ),
    "exact_order": "exact",
    "grid_order": "interpolated on a grid",
    "summary_tied_edges": (
        "{count:# kept edge is|kept edges are} just as suspicious as the last pruned: there the "
        "cut is arbitrary."
    ),
    "summary_nothing_aside": "Set no vote aside.",
    "summary_aside": (
        "Set {count:,} of {n_votes:# vote} aside ({share:.1%}), {why} given who cast them and all "
        "other votes."
    ),
    "likely_wrong": "more likely wrong than right",
    "likeliest_wrong": "the most likely wrong",
    "summary_turned": (
        "{count:# vote was|votes were} read the other way round, cast by people who are mostly "
        "wrong."
    ),
    "summary_tied_votes": (
        "{count:# kept vote is|kept votes are} just as suspicious as the last of these: there the "
        "cut is arbitrary."
    ),
    "summary_features": "Scores rest on the features{curved}{own}{also}.",
    "summary_ridge": "Scores rest on the features (smoothed by a ridge of {ridge:.3g}){also}.",
    "straight_and_curved": " (straight and curved)",
    "own_votes": " and, for items that were compared, on their own votes",
    "unseen_included": ", {count:# item} nobody compared included",
    "summary_tau": "Kendall tau with {what}: {tau:.3f}.",
    "summary_tau_between": "Kendall tau with {what}: {tau:.3f} ({low:.3f} to {high:.3f}).",
    "votes_of_held_out_people": "votes of people left out of the fit",
    "votes_of_held_out_pairs": "votes of pairs left out of the fit",
    "votes_on_held_out_items": "votes on items left out of the fit",
    "summary_intervals": (
        "Intervals are of nominal 90 %, from {n_replicates} draws of the votes; the best item "
        "{best}."
    ),
    "is_rank": "is rank {rank}",
    "could_be_rank": "could be rank {low} to {high}",
    "summary_lean_left": (
        "Between equals people choose the left in {share:.0%} of votes; that is allowed for."
    ),
    "summary_lean_right": (
        "Between equals people choose the right in {share:.0%} of votes; that is allowed for."
    ),
    "summary_no_consensus": (
        "People do not agree on one order: tastes cancel, and the consensus is {share:.0%} of what "
        "they say. Look at the tastes instead."
    ),
    "summary_few_judged": (
        "{count:,} of {n_people:# person|people} cast too few votes to be judged."
    ),
    "summary_together": (
        "{count:# group} of people who act together ({n_people:# person|people}, "
        "{n_votes:# vote}): {what}."
    ),
    "together_dropped": "their votes are set aside",
    "together_once": "each group counts as one person",
    "together_kept": "their votes count in full",
    "summary_tastes": (
        "{n_people:# person differs|people differ} in taste, in {count:# way}; the largest group "
        "({largest:,}) puts {up:some} higher and {down:some} lower."
    ),
    "summary_tastes_spread": (
        "Tastes differ along {count:# direction}; nobody is far from the consensus for sure."
    ),
    "summary_people": "{count:# annotator} could be judged, and nobody is accused of anything.",
    "summary_flagged": (
        "{count:# annotator}: {flags}; at most a tenth of these verdicts should be mistaken."
    ),
    "summary_top": "Top: {best}.",
    "summary_first_rests_on": (
        "First place rests on {count:# vote}{by}: without, another item would be first."
    ),
    "summary_ten_rest_on": "The first ten rest on {count:# vote}{by}.",
    "by_people": ", or on {count:# person|people}",
    # --- model_file
    "model_path_is_directory": "{path} is a directory; give a file name such as model.npz.",
    "no_model_file": "there is no model file at {path}.",
    "truncated_model": "{name} is truncated ({size:,} bytes); fetch it again.",
    "not_a_model_file": "{name} is not a model file ({size:,} bytes); fetch it again.",
    "model_claims_too_much": "{name} claims to hold more than its {size:,} bytes.",
    "unreadable_manifest": "{name} has an unreadable manifest; fetch it again.",
    "foreign_model": "{name} is an archive, but not a urlr model.",
    "foreign_transform": "{name} is an archive, but not a urlr transform of features.",
    "no_schema": "{name} does not say which schema it follows.",
    "older_schema": "{name} follows model schema {schema}, this urlr reads {known}; fit it again.",
    "newer_schema": "{name} follows model schema {schema}, this urlr reads {known}; upgrade urlr.",
    "changed_manifest": "{name} was changed after it was written: its digest does not match.",
    "no_arrays": "{name} lists no arrays.",
    "strange_member": "{name} holds what urlr never writes ({member:shown 80}); do not use it.",
    "changed_array": "{name}: array {key} does not match its digest; fetch it again.",
    "unreadable_array": "{name}: array {key} cannot be read: {why}.",
    "array_of_no_numbers": "{name}: array {key} holds {dtype}, not numbers.",
    "strange_array_version": "it is of a version that urlr never writes",
    "array_of_objects": "it holds objects",
    "array_claims_too_much": ("it claims to be of shape {shape:shown}, which it is too short for"),
    "lacking_member": "{name} lacks {member}.",
    "packed_member": "{name}: {member} is packed in a way urlr never writes.",
    "damaged_member": "{name}: {member} is damaged; fetch it again.",
    "damaged_model": "{name} is damaged: {why}.",
    "unusable_id_in_model": "an item id is neither text nor a whole number",
    "scores_of_other_shape": "{name} has shape {shape} for {n_items:,} items",
    "coefficients_do_not_fit": "{count:,} coefficients for {n_dimensions:,} dimensions",
    "voters_do_not_fit": "{name} of the people have another shape, or are not all finite.",
    "intervals_do_not_fit": "low and high do not agree on whether there are intervals",
    "scores_not_finite": "{name} holds values that are not finite numbers",
    "other_fields": "{record} has fields {names} off",
    # --- baselines
    "bradley_terry_unsettled": (
        "Bradley-Terry kept a gradient of {gradient:.1e}, tolerance {tolerance:.1e}, after "
        "{n_steps} steps; a larger ridge helps."
    ),
    "no_majority": "no pair has a majority: majority voting has nothing to learn from.",
    # --- metrics
    "votes_on_unscored_items": (
        "{count:,} of {n_votes:# decisive vote} name {n_items:# item} without a score "
        "({items:some}); score these items or leave their votes out."
    ),
    "self_comparisons": (
        "{count:,} of {n_votes:# decisive vote} compare an item with itself; drop them."
    ),
    "no_decided_columns": "the votes need winner and loser, or item_a, item_b and outcome.",
    "unknown_weighing": 'weigh must be "votes" or "annotators", got {weigh!r}',
    "unusable_weights": (
        "{count:,} of {n_votes:# decisive vote} have a negative, missing or infinite weight."
    ),
    "no_weight": "None of {n_votes:# decisive vote} has weight; nothing to count.",
    "no_annotators": (
        "These votes have no column 'annotator'; name the annotators or weigh by votes."
    ),
    "scores_of_unnamed_items": (
        "the {what}s do not say whose they are: their index only counts rows. Set the items as "
        "index, or name the index 'item' if they really are 0, 1, 2, ..."
    ),
    "items_scored_twice": "{count:# item} with more than one {what} ({items:some}).",
    "too_few_true_scores": (
        "{count} items have both a score (of {n_scores:,}) and a true score (of {n_true:,}); at "
        "least 2 are needed. Do their ids match?"
    ),
    "one_true_score": "All {n_items:,} items have the same true score; tau is undefined.",
    "share_out_of_range": "share must be above 0 and at most 1, got {share}",
    "suspicions_do_not_fit": "{count:,} suspicions for {n_votes:# vote}.",
    "missing_suspicions": "{count:,} of {n_votes:# vote} have no suspicion (NaN).",
    "one_kind_of_vote": "{n_wrong:,} of {n_votes:# vote} are wrong; AUC needs both kinds.",
    # --- simulate
    "too_small": "{name} must be at least {least}, got {value}",
    "not_between_0_and_1": "{name} must lie between 0 and 1, got {value}",
    "not_below_half": "{name} must be at least 0 and below 0.5, got {value}",
    "not_one_of": "{name} must be one of {allowed}, got {value!r}",
    "private_and_curved": "private + curvature must be at most 1, got {total:g}",
    "feature_noise_out_of_range": "feature_noise must be at least 0 and finite, got {value}",
    "disguised_by_name": (
        "disguised campaigners have no names of their own: set campaign_votes, and shares.campaign "
        "to 0; got {campaign_votes:g} and {share:g}"
    ),
    "pushed_out_of_range": "pushed={pushed:g} of {n_items} items must be some, but not all",
    "too_many_ties": "ties wants {count:,} votes, but only {n_open:,} are not pushes",
    "too_few_ages": "ages must be at least 2 finite numbers, got {count}",
    "error_ratio_out_of_range": (
        "error_ratio must lie between unintentional_ratio={least:g} and 0.5, got {value}"
    ),
    "votes_not_a_multiple": (
        "n_votes must be a multiple of votes_per_pair, got {n_votes} and {votes_per_pair}"
    ),
    # --- simulated_mistakes
    "reach_out_of_range": "reach must be above 0, got {value}",
    "negative_difference": "difference must be at least 0, got {least:g}",
    "unusable_differences": "differences must be finite, at least 0, and some; got {count} of them",
    "ratio_out_of_range": "ratio must lie between {least:g} and {most:g}, got {value}",
    # --- simulated_pairs
    "no_pairs_to_push": 'campaign_votes needs pairs to choose from; pairs="{pattern}" has none',
    "too_few_distinct_pairs": (
        "{n_pairs:,} distinct pairs wanted, but only {total:,} differ in value"
    ),
    "nothing_to_push_against": (
        "pushed: no group has both a pushed item and another to compare it with"
    ),
    "too_many_groups": "components={n_groups} of at least 2 items need more than {n_items} items",
    "too_few_votes_for_pairs": (
        'n_votes={n_votes:,} cannot cover the {n_pairs:,} pairs of pairs="{pattern}"; leave '
        "n_votes out or take fewer items"
    ),
    # --- simulated_people
    "shares_above_one": "shares must add up to at most 1, got {total:g}",
    "share_of_nobody": "shares.{kind}={share:g} of {n_annotators} annotators is nobody",
    "nobody_votes": "shares leave nobody to make {count:,} of {n_votes:,} votes",
}

message = messages_of(MESSAGES)
