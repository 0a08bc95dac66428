"""What `urlr doctor` looks at: the installation, the settings, and everything they lead to.

`examining.py` runs a check with a deadline; each other module holds checks, plain functions that
give findings. Modules here load the standard library alone when imported, since a check must be
able to say that something else cannot be loaded.
"""

from tasks.doctor.champions import registry
from tasks.doctor.examining import Check, Known, examined
from tasks.doctor.finding import Finding, ok, problem, warning
from tasks.doctor.installation import versions
from tasks.doctor.machine import disk, memory
from tasks.doctor.network import dask, sockets
from tasks.doctor.storage import clock, lease, store, votes
from tasks.doctor.variables import settings

CHECKS = (
    Check("versions", versions, 30, "see whether the disk that Python lies on is slow or full"),
    Check("settings", settings, 60, "see whether the disk that Python lies on is slow or full"),
    Check("store", store, 60, "check the network, AWS_ENDPOINT_URL, or the disk of the store"),
    Check("votes", votes, 90, "see whether the store is slow, or holds very many objects"),
    Check("lease", lease, 30, "check the network, AWS_ENDPOINT_URL, or the disk of the store"),
    Check("clock", clock, 5, "run it again"),
    Check("registry", registry, 90, "see whether the registry runs and can be reached"),
    Check("sockets", sockets, 10, "see whether a firewall guards the loopback interface"),
    Check("dask", dask, 45, "see whether the scheduler and its workers run and can be reached"),
    Check("disk", disk, 15, "see whether a network drive does not answer"),
    Check("memory", memory, 60, "see whether the disk that Python lies on is slow or full"),
)
"""In the order in which they are run: later ones use what earlier ones found."""

__all__ = ["CHECKS", "Check", "Finding", "Known", "examined", "ok", "problem", "warning"]
