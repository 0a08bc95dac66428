"""The study: the paper's experiments, rerun; `flows/study.py` runs them, this room says what they are.

`records.py` has the words all others use; one module per experiment, all listed in
`experiments.py`; `claims.py` judges what came out of them.
"""
