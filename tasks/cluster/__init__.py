"""The workers: where they come from, and one order sent to one of them at a time.

`starting.py` starts or finds them, `fanout.py` is what a flow uses.
"""

from tasks.cluster.fanout import Cluster
from tasks.cluster.orders import ClusterError, Stopped, TookTooLong, WorkerDied, WorkError
from tasks.cluster.starting import existing_cluster, local_cluster

__all__ = [
    "Cluster",
    "ClusterError",
    "Stopped",
    "TookTooLong",
    "WorkError",
    "WorkerDied",
    "existing_cluster",
    "local_cluster",
]
