# SPDX-License-Identifier: Apache-2.0
"""How late this machine wakes sleeping threads: machine.h for the tests in Python. From watch() on, a separate program
has a thread on each core that asks to be woken every two milliseconds; a thread of the test itself would measure how
busy the test is. It also tells how long the processes that a test names have waited for a core, which the kernel
counts for each thread. Times are seconds of time.monotonic()."""

import contextlib
import glob
import os
import subprocess
import sys
import threading
import time

PERIOD = 0.002    # what is shorter than this and ORDINARY may go unseen
ORDINARY = 0.002  # an idle machine, and Python, are late by that much too
WAITED = 0.0005   # in PERIOD: what a process waits for a core on an idle machine is far below
READY = b"ready\n"  # what the program writes once all its threads run; one of them may have been late before

_stalls = []  # (from, to), in the order in which they ended: threads were late
_waits = []   # likewise: a process that watch_process() has named waited for a core
_watching = threading.Lock()
_program = None


def watch():
    """Begins to watch, once. It does so from its return on."""
    global _program
    if _watching.acquire(blocking=False):
        _program = subprocess.Popen([sys.executable, "-BS", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        while (line := _program.stdout.readline()) and line != READY:
            _note(line)
        threading.Thread(target=_listen, args=(_program,), daemon=True).start()


def watch_process(pid):
    """After watch(): held_up() knows of all threads that this process has now. A daemon's loop is not in its main thread."""
    _program.stdin.write(f"{pid}\n".encode())
    _program.stdin.flush()


def late(since, until=None):
    """Seconds from `since` to `until` in which at least one thread was late. A stall counts once it is over."""
    return _within(_stalls, since, until)


def held_up(since, until, waits_until):
    """Like late(); and until `waits_until` also those seconds in which at least one of the processes waited for a core.
    How long that was the kernel tells; when it ended is known to PERIOD."""
    return _within([*_stalls, *((begin, min(end, waits_until)) for begin, end in _waits)], since, until)


def longest(since, until=None):
    """Seconds of the longest time from `since` to `until` in which one thread was late, or one of the processes waited
    for a core."""
    until = time.monotonic() if until is None else until
    return max((min(end, until) - max(begin, since) for begin, end in [*_stalls, *_waits]), default=0)


def _within(stalls, since, until):
    until = time.monotonic() if until is None else until
    found, seen = 0, since
    for begin, end in sorted(stalls):
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


def _listen(program):
    for line in program.stdout:
        _note(line)


def _note(line):
    what, begin, end = line.split()
    (_stalls if what == b"late" else _waits).append((float(begin), float(end)))


def _sample(core):
    os.sched_setaffinity(0, {core})  # only this thread
    while True:
        due = time.monotonic() + PERIOD
        time.sleep(PERIOD)
        now = time.monotonic()
        if now - due >= ORDINARY:
            os.write(1, f"late {due} {now}\n".encode())


def _sample_waits(files):
    """`files`: schedstat of each thread, whose second number is the nanoseconds for which it has waited for a core."""
    before = {}
    while True:
        time.sleep(PERIOD)
        for file in list(files):
            try:
                waited = int(os.pread(file, 100, 0).split()[1]) / 1e9
            except ProcessLookupError:
                files.remove(file)
                os.close(file)
                continue
            now = time.monotonic()
            if (more := waited - before.get(file, waited)) >= WAITED:
                os.write(1, f"waited {now - more} {now}\n".encode())
            before[file] = waited


def _told_of_processes(files):
    """Until the test has ended."""
    for line in sys.stdin:
        for path in glob.glob(f"/proc/{int(line)}/task/*/schedstat"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                files.append(os.open(path, os.O_RDONLY))


if __name__ == "__main__":
    for core in os.sched_getaffinity(0):
        threading.Thread(target=_sample, args=(core,), daemon=True).start()
    named = []
    threading.Thread(target=_sample_waits, args=(named,), daemon=True).start()
    os.write(1, READY)
    _told_of_processes(named)
