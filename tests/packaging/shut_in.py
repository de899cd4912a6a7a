# SPDX-License-Identifier: Apache-2.0
# Runs a program as systemd would with a unit's SystemCallFilter=, RestrictAddressFamilies= and MemoryDenyWriteExecute=,
# except that what is not allowed ends it: no systemd need run for that. For packaging_test.py.
import mmap
import socket
import subprocess

import seccomp


def calls_of(name):
    """The system calls of a set such as @system-service, or a call itself."""
    if not name.startswith("@"):
        return {name}
    said = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True).stdout
    inside = [line.strip() for line in said.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
    return set().union(*(calls_of(each) for each in inside))


def allowed_by(filters):
    """SystemCallFilter=, line by line: the first one allows, one that begins with ~ takes away."""
    calls = calls_of("@default")
    for line in filters:
        named = set().union(*(calls_of(name) for name in line.lstrip("~").split()))
        calls = calls - named | calls_of("@default") if line.startswith("~") else calls | named
    return calls


def filter_for(unit):
    filters = seccomp.SyscallFilter(seccomp.KILL_PROCESS)
    for call in sorted(allowed_by(unit["SystemCallFilter"]) - {"socket", "mmap", "mprotect"}):
        try:
            filters.add_rule(seccomp.ALLOW, call)
        except (RuntimeError, ValueError):
            pass  # of another architecture, or newer than the library
    for family in unit["RestrictAddressFamilies"][0].split():
        filters.add_rule(seccomp.ALLOW, "socket", seccomp.Arg(0, seccomp.EQ, getattr(socket, family)))
    executable, both = mmap.PROT_EXEC, mmap.PROT_EXEC | mmap.PROT_WRITE
    for prot in (0, mmap.PROT_WRITE, executable):
        filters.add_rule(seccomp.ALLOW, "mmap", seccomp.Arg(2, seccomp.MASKED_EQ, both, prot))
    filters.add_rule(seccomp.ALLOW, "mprotect", seccomp.Arg(2, seccomp.MASKED_EQ, executable, 0))
    return filters


def start(unit, arguments, **more):
    filters = filter_for(unit)
    return subprocess.Popen(arguments, preexec_fn=filters.load, **more)
