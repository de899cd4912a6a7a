# SPDX-License-Identifier: Apache-2.0
"""How late this machine wakes threads that asked to be woken: machine.h for the tests in Python. A thread on each core
asks to be woken every few milliseconds, from watch() on. Seconds of time.monotonic()."""

import bisect
import os
import sys
import threading
import time

PERIOD = 0.005
ORDINARY = 0.002  # by so much an idle machine is late too, and so is Python

_stalls = {}  # by core: (to, from) of each stall, ascending


def watch():
    for core in os.sched_getaffinity(0):
        if core not in _stalls:
            _stalls[core] = []
            threading.Thread(target=_sample, args=(core, _stalls[core]), daemon=True).start()


def late(since, until=None):
    """By how many seconds the threads were late between the two, added up over all cores."""
    until = time.monotonic() if until is None else until
    found = 0
    for stalls in _stalls.values():
        for end, begin in stalls[bisect.bisect_right(stalls, (since, since)):]:
            found += max(0, min(end, until) - max(begin, since))
    return found


def not_judged(since, most, test, what=""):
    """True if the machine was later than `most` seconds since then: the test then returns without a judgement. Says so in
    a line of its own, which script/test counts."""
    lateness = late(since)
    if lateness <= most:
        return False
    line = f"machine: {lateness * 1000:.0f} ms late, not judged: {test}{what and ': ' + what}\n"
    sys.stderr.write(line)
    if file := os.environ.get("PENSTOCK_NOT_JUDGED"):
        with open(file, "a") as told:
            told.write(line)
    return True


def _sample(core, stalls):
    os.sched_setaffinity(0, {core})  # of this thread alone
    while True:
        due = time.monotonic() + PERIOD
        time.sleep(PERIOD)
        now = time.monotonic()
        if now - due >= ORDINARY:
            stalls.append((now, due))
