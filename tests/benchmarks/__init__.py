"""Server CPU and memory beside the official SDK, as ratios that hold on any machine.

    PYTHONPATH=tests python -m benchmarks [--quick]

Prints one table. Every contestant runs in a process of its own (`contestants/`), on uvicorn with httptools and
uvloop; this process is the load: raw sockets with prepared bytes that check every answer. Time is that of the
server's CPU, user and system, of the same work done in turns, so that what else runs on the machine weighs on all
alike; only the rows in MB/s are wall time. One module a measurement in `rows/`.
"""
