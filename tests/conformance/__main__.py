"""Runs the official MCP conformance suite: `PYTHONPATH=tests .venv/bin/python -m conformance --work DIR`.

The suite is installed below DIR, from npm; Node is that of the test extra. With `--checks`, the directory that
`pytest --checks` wrote, it also demands that every requirement of the note was checked by a test.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.suite import Suite
from conformance.verdict import judge, read_baseline, read_checks

BASELINE = Path(__file__).parent / "baseline.txt"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="conformance", description="The official suite, strictly.")
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="where the suite is installed")
    parser.add_argument("--checks", type=Path, metavar="DIR", help="what `pytest --checks` wrote")
    args = parser.parse_args(argv)
    suite = Suite(args.work.resolve())
    suite.install()
    suite.judge_server()
    suite.judge_client()
    verdict = judge(read_checks(suite.results), read_baseline(BASELINE.read_text()), suite.required())
    print(f"conformance: {verdict}")
    traced = args.checks is None or suite.trace(args.checks)
    return 0 if traced and verdict.passed and not verdict.faults else 1


if __name__ == "__main__":
    sys.exit(main())
