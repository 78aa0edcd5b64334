"""The comparison: one work, every carrier, the same faults, on real sockets, with a judge that knows no carrier.

In steps, the default, a change is made when what the one before led to is over: with the same seed the verdicts
and the bytes are the same on any machine, and what takes time is real. `Matrix.cells` runs; `tables` shows.
"""

from streamres.compare.cell import Cell, run_cell
from streamres.compare.faults import FAULTS, Fault
from streamres.compare.oracle import Verdict, judge
from streamres.compare.overhead import Overhead, measure
from streamres.compare.quiet import WatchedLoop
from streamres.compare.runner import Matrix, Unknown, line, matrix, same
from streamres.compare.table import WIDTH, tables
from streamres.compare.works import WORKS, NotACast, Work, record, recorded

__all__ = [
    "FAULTS",
    "WIDTH",
    "WORKS",
    "Cell",
    "Fault",
    "Matrix",
    "NotACast",
    "Overhead",
    "Unknown",
    "Verdict",
    "WatchedLoop",
    "Work",
    "judge",
    "line",
    "matrix",
    "measure",
    "record",
    "recorded",
    "run_cell",
    "same",
    "tables",
]
