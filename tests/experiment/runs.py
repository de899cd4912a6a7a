# SPDX-License-Identifier: Apache-2.0
"""One run of the experiment: so many processes with so many closed-loop workers each, under one shared limit, until the
time is over and the last answer is in. Measures, judges only that nothing failed. For the programs of this folder only."""

import contextlib
import dataclasses
import json

from processes import Failed
from readings import Arrival
from stage import Redis, run_seconds

MEANT_TO_GO_ON = 1  # second that the load goes on after what is measured, so that a last window is whole


@dataclasses.dataclass(frozen=True)
class Setting:
    limit: str = ""           # an entry of `limits`; none: no limit. Of Bottleneck: its options, as JSON
    processes: int = 3
    workers: int = 50
    seconds: float = 10
    delays: tuple = ()        # microseconds between each process and Redis, one way
    clocks: tuple = ()        # seconds by which each process's system clock is wrong
    when_down: str = "share"


@dataclasses.dataclass(frozen=True)
class Run:
    setting: Setting
    arrivals: list[Arrival]
    worst_ms: float         # the longest that a client waited for an answer
    redis_calls: float      # for each arrival
    redis_us: float         # of its CPU, likewise
    process_us: float       # of the CPU of all processes that share the limit, likewise
    noise_ms: float         # how late this machine woke anybody meanwhile, at worst


def config_of(setting, origin_port, redis_port):
    redis = f"redis: {{ url: redis://127.0.0.1:{redis_port}, whenDown: {setting.when_down} }}\n"
    limits = f"    limits: [ {{ {setting.limit} }} ]\n"
    return (f"{redis if setting.limit else ''}"
            "upstreams:\n"
            "  origin:\n"
            f'    match: "127.0.0.1:{origin_port}"\n'
            "    queue: { maxPending: 10000, maxWait: 5m }\n"
            f"{limits if setting.limit else ''}")


def each(values, processes, otherwise):
    return [values[at % len(values)] if values else otherwise for at in range(processes)]


def run_penstock(tools, setting, during=lambda relays: None):
    """`during` is called while the load is on, with the relays between the processes and Redis."""
    with contextlib.ExitStack() as stack:
        redis, origin = stack.enter_context(Redis()), stack.enter_context(tools.origin())
        relays = [stack.enter_context(tools.relay(redis.port, delay))
                  for delay in each(setting.delays, setting.processes, 0)] if setting.delays else []
        ports = [relay.port for relay in relays] or [redis.port] * setting.processes
        daemons = [stack.enter_context(tools.daemon(config_of(setting, origin.port, port), clock))
                   for port, clock in zip(ports, each(setting.clocks, setting.processes, 0))]
        load = stack.enter_context(tools.workers(origin.port, setting.workers, setting.seconds + MEANT_TO_GO_ON,
                                                 [daemon.port for daemon in daemons]))
        run = measure(tools, setting, redis, origin, [daemon.pid for daemon in daemons], [load],
                      lambda: during(relays))
        for daemon in daemons:
            daemon.check()
        return run


def run_bottleneck(tools, setting):
    with contextlib.ExitStack() as stack:
        redis, origin = stack.enter_context(Redis()), stack.enter_context(tools.origin())
        loads = [stack.enter_context(tools.bottleneck(origin.port, redis.port, process, setting.workers,
                                                      setting.seconds + MEANT_TO_GO_ON, setting.limit))
                 for process in range(setting.processes)]
        return measure(tools, setting, redis, origin, [load.pid for load in loads], loads)


def measure(tools, setting, redis, origin, pids, loads, during=lambda: None):
    for load in loads:
        if (said := load.line()) != "ready":
            raise Failed(f"the load said '{said}', not 'ready'")
    with tools.noise() as noise:
        before, own = redis.cost(), sum(map(run_seconds, pids))
        for load in loads:
            load.tell("")
        during()
        reports = [json.loads(load.line()) for load in loads]
        own = sum(map(run_seconds, pids)) - own
        after = redis.cost()
        noise_ms = float(noise.last_words().split()[1]) / 1000
    arrivals = origin.arrivals()
    check_that_all_arrived(arrivals, reports)
    count = len(arrivals)
    return Run(setting, arrivals, max(worst for report in reports for worst in listed(report["worst_ms"])),
               (after.calls - before.calls) / count, (after.seconds - before.seconds) / count * 1e6,
               own / count * 1e6, noise_ms)


def listed(value):
    return value if isinstance(value, list) else [value]


def check_that_all_arrived(arrivals, reports):
    answers = sum(count for report in reports for count in listed(report["answers"]))
    if not arrivals or len(arrivals) != answers:
        raise Failed(f"the origin saw {len(arrivals)} requests, the clients {answers} answers")
