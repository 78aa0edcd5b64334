"""Compares the golden files with what servers say; `--write` puts that in their place.

Run it in `tests`, or with `tests` on PYTHONPATH: `python -m wire [--write] [FILE …]`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import anyio

from . import golden
from .channels import opened
from .play import play

FIRST_EPOCH = 1
"""Of the golden files, so that their cursors are the same each time; a server draws 48 random bits."""


async def main(paths: list[Path], *, write: bool) -> bool:
    same = True
    async with opened() as house:
        for path in paths:
            played = await play(house, golden.read(path), first_epoch=FIRST_EPOCH, compare=False)
            text = golden.text_of(played)
            if text == path.read_text():
                continue
            same = False
            print(f"{path.name}: {'written' if write else 'a server says something else'}")
            if write:
                path.write_text(text)
    return same or write


parser = argparse.ArgumentParser(prog="wire", description="Compares the golden files with what servers say.")
parser.add_argument("--write", action="store_true", help="put what servers say in their place")
parser.add_argument("files", nargs="*", type=Path, help="all where none is given")
arguments = parser.parse_args()
if not anyio.run(lambda: main(arguments.files or golden.paths(), write=arguments.write)):
    sys.exit(1)
