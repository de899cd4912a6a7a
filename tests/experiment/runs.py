# SPDX-License-Identifier: Apache-2.0
"""One run of the experiment: so many processes with so many workers each, under one shared limit, until time is over
and the last answer is in. Measures, and judges only that nothing failed. For the programs of this folder only."""

import contextlib
import dataclasses
import json

from processes import Failed
from readings import Arrival
from stage import Origin, Redis, run_seconds

MEANT_TO_GO_ON = 1  # second that the load goes on after what is measured, so that a last window is whole


@dataclasses.dataclass(frozen=True)
class Setting:
    limits: tuple = ()        # entries of `limits`
    group: str = ""           # the upstream's `group`, if any
    processes: int = 3
    workers: int = 50
    seconds: float = 10
    delays: tuple = ()        # microseconds between each process and Redis, one way
    clocks: tuple = ()        # seconds by which each process's system clock is wrong
    when_down: str = "share"
    timeout: str = "50ms"     # of a call to Redis, after which the process goes on without


@dataclasses.dataclass(frozen=True)
class Run:
    setting: Setting
    arrivals: list[Arrival]
    worst_ms: float         # the longest that a client waited for an answer
    redis_calls: float      # for each arrival
    redis_us: float         # of its CPU, likewise
    process_us: float       # of the CPU of all processes that share the limit, likewise
    noise_ms: float         # how late this machine woke anybody meanwhile, at worst
    lost_ms: float          # and all together, as far as it was late by more than 1 ms


def config_of(setting, origin_port, redis_port):
    entries = ", ".join(f"{{ {limit} }}" for limit in setting.limits)
    lines = {
        f"redis: {{ url: redis://127.0.0.1:{redis_port}, whenDown: {setting.when_down}, "
        f"timeout: {setting.timeout} }}": entries,
        "upstreams:": True,
        "  origin:": True,
        f'    match: "127.0.0.1:{origin_port}"': True,
        "    queue: { maxPending: 10000, maxWait: 5m }": True,
        f'    group: "{setting.group}"': setting.group,
        f"    limits: [ {entries} ]": entries,
    }
    return "".join(f"{line}\n" for line, wanted in lines.items() if wanted)


def each(values, processes, otherwise):
    return [values[at % len(values)] if values else otherwise for at in range(processes)]


@dataclasses.dataclass
class Stage:
    redis: Redis
    origin: Origin
    relays: list    # one for each daemon, where there are delays
    daemons: list


@contextlib.contextmanager
def stage_of(tools, setting):
    """Redis, the origin, and the daemons with what lies between."""
    with contextlib.ExitStack() as stack:
        redis, origin = stack.enter_context(Redis()), stack.enter_context(tools.origin())
        delays = each(setting.delays, setting.processes, 0) if setting.delays else []
        relays = [stack.enter_context(tools.relay(redis.port, delay)) for delay in delays]
        ports = [relay.port for relay in relays] or [redis.port] * setting.processes
        clocks = each(setting.clocks, setting.processes, 0)
        daemons = [stack.enter_context(tools.daemon(config_of(setting, origin.port, port), clock))
                   for port, clock in zip(ports, clocks)]
        yield Stage(redis, origin, relays, daemons)
        for daemon in daemons:
            daemon.check()


def run_penstock(tools, setting, during=lambda relays: None):
    """`during` is called while the load is on, with the relays between the processes and Redis."""
    with stage_of(tools, setting) as stage:
        ports = [daemon.port for daemon in stage.daemons]
        with tools.workers(stage.origin.port, setting.workers, setting.seconds + MEANT_TO_GO_ON, ports) as load:
            ready([load])

            def work():
                load.tell("")
                during(stage.relays)
                return [json.loads(load.line())]

            return measure(tools, setting, stage.redis, stage.origin, stage.daemons, work)


def run_bottleneck(tools, setting, options):
    """`options` are Bottleneck's, as JSON."""
    with contextlib.ExitStack() as stack:
        redis, origin = stack.enter_context(Redis()), stack.enter_context(tools.origin())
        loads = [stack.enter_context(tools.bottleneck(origin.port, redis.port, process, setting.workers,
                                                      setting.seconds + MEANT_TO_GO_ON, options))
                 for process in range(setting.processes)]
        ready(loads)

        def work():
            for load in loads:
                load.tell("")
            return [json.loads(load.line()) for load in loads]

        return measure(tools, setting, redis, origin, loads, work)


def ready(loads):
    for load in loads:
        if (said := load.line()) != "ready":
            raise Failed(f"the load said '{said}', not 'ready'")


def measure(tools, setting, redis, origin, sharing, work):
    """`work` gives the reports of those who asked; `sharing` are the processes that share the limit."""
    def own_seconds():
        return sum(run_seconds(process.pid) for process in sharing)

    with tools.noise() as noise:
        before, own = redis.cost(), own_seconds()
        reports = work()
        after, own = redis.cost(), own_seconds() - own
        worst, _, late = map(float, noise.last_words().split()[1::2])
    arrivals = origin.arrivals()
    check_that_all_arrived(arrivals, reports)
    count = len(arrivals)
    return Run(setting, arrivals, max(worst for report in reports for worst in listed(report["worst_ms"])),
               (after.calls - before.calls) / count, (after.seconds - before.seconds) / count * 1e6,
               own / count * 1e6, worst / 1000, late / 1000)


def listed(value):
    return value if isinstance(value, list) else [value]


def check_that_all_arrived(arrivals, reports):
    """Clients that left may have been on their way; everybody else must have arrived exactly once."""
    answers = sum(count for report in reports for count in listed(report["answers"]))
    left = sum(report.get("left", 0) for report in reports)
    if not arrivals or not answers <= len(arrivals) <= answers + left:
        raise Failed(f"the origin saw {len(arrivals)} requests, the clients {answers} answers, and {left} of them left")
