"""Weft from Python: machines, traffic, replay, run and check as functions with typed results.

    import weft
    torus = weft.machine('torus', set={'topology.dims': [4, 4]})
    torus.traffic(loads=[0.1, 0.2]).frame()['mean_latency']      # seconds

Every function starts the `weft` command and reads the JSON it prints, so results are those of the command, byte for byte,
whatever Python this is. Times are seconds, sizes bytes, rates bit/s; cycles stand beside them under names that say so.
"""

from weft._command import WeftError, command, version
from weft._results import Check, Figure, Job, Link, Rank, Replay, Run, Table, Traffic, TrafficPoint, Validation
from weft._machine import Machine, machine, machines, validate

__all__ = ["Check", "Figure", "Job", "Link", "Machine", "Rank", "Replay", "Run", "Table", "Traffic", "TrafficPoint", "Validation",
           "WeftError", "command", "machine", "machines", "validate", "version"]
