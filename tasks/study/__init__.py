"""The study: the experiments of the paper, rerun; `flows/study.py` runs what this room describes.

`records.py` has the words all others use; one module per experiment, all listed in
`experiments.py`; `claims.py` judges what came out of them.
"""
