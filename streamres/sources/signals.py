"""Signals for a program that runs a command in its own process group.

A key such as Ctrl-C reaches every process of the terminal's foreground group, so the command has it already and
must not get it twice; a signal that was sent to this process alone must be passed on. Only the sender tells which
it is, so the signals are taken by `sigwaitinfo` in a thread, and blocked everywhere else.
"""

from __future__ import annotations

import signal
from threading import Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

ENDING: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
"""The signals that ask a program to end."""


def block() -> set[signal.Signals | int]:
    """Blocks the signals that `listen` takes, and gives those that were blocked before.

    Call it before any thread is started. One that is ignored (`nohup`) stays so.
    """
    return set(signal.pthread_sigmask(signal.SIG_BLOCK, _taken()))


def listen(handler: Callable[[signal.Signals, bool], None]) -> None:
    """Calls `handler(signal, from_terminal)` in a thread of its own, for as long as the process lives."""
    Thread(target=_listen, args=(handler,), daemon=True, name="signals").start()


def _listen(handler: Callable[[signal.Signals, bool], None]) -> None:
    taken = _taken()
    while True:
        info = signal.sigwaitinfo(taken)
        # Positive for a signal that the kernel made, as a terminal's driver does.
        handler(signal.Signals(info.si_signo), info.si_code > 0)


def _taken() -> set[signal.Signals]:
    ending = {number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN}
    return ending | {signal.SIGWINCH}
