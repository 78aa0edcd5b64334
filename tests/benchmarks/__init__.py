"""Server CPU and memory beside the official SDK, and durable appends beside other stores.

    PYTHONPATH=tests python -m benchmarks [--quick]

Prints two tables. Every contestant runs in a process of its own (`contestants/`), those in Python on uvicorn
with httptools and uvloop. This process is the load, but for the appends (`producers.py`): raw sockets with
prepared bytes that check every answer. Time is that of the server's CPU, user and system, of the same work done
in turns, so that what else runs on the machine weighs on all alike; rows in MB/s and in appends a second are
wall time. One module a measurement in `rows/`.
"""
