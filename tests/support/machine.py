# SPDX-License-Identifier: Apache-2.0
"""How late this machine wakes sleeping threads: machine.h for the tests in Python. From watch() on, a separate program
has a thread on each core that asks to be woken every few milliseconds; a thread of the test itself would measure how
busy the test is. Times are seconds of time.monotonic()."""

import os
import subprocess
import sys
import threading
import time

PERIOD = 0.005
ORDINARY = 0.002  # an idle machine, and Python, are late by that much too

_stalls = []  # (from, to), in the order in which they ended
_watching = threading.Lock()


def watch():
    """Begins to watch, once."""
    if _watching.acquire(blocking=False):
        program = subprocess.Popen([sys.executable, "-BS", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=_note, args=(program,), daemon=True).start()


def late(since, until=None):
    """Seconds from `since` to `until` in which at least one thread was late. A stall counts once it is over."""
    until = time.monotonic() if until is None else until
    found, seen = 0, since
    for begin, end in sorted(_stalls):
        begin, end = max(begin, seen), min(end, until)
        if end > begin:
            found, seen = found + end - begin, end
    return found


def say_not_judged(seconds, test, what):
    """Writes a line, which script/test counts: `what` of this test was not judged, because the machine was so late."""
    line = f"machine: {seconds * 1000:.0f} ms late, not judged: {test}: {what}\n"
    sys.stderr.write(line)
    if file := os.environ.get("PENSTOCK_NOT_JUDGED"):
        with open(file, "a") as told:
            told.write(line)


def _note(program):
    for line in program.stdout:
        _stalls.append(tuple(map(float, line.split())))


def _sample(core):
    os.sched_setaffinity(0, {core})  # only this thread
    while True:
        due = time.monotonic() + PERIOD
        time.sleep(PERIOD)
        now = time.monotonic()
        if now - due >= ORDINARY:
            os.write(1, f"{due} {now}\n".encode())


if __name__ == "__main__":
    for core in os.sched_getaffinity(0):
        threading.Thread(target=_sample, args=(core,), daemon=True).start()
    sys.stdin.read()  # until the test has ended
