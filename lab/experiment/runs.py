# SPDX-License-Identifier: Apache-2.0
"""One run of the experiment: a number of processes with a number of workers each, under one shared limit, until time is
over and the last answer is in. Measures, and judges only that nothing failed. For the programs of this folder only."""

import contextlib
import dataclasses
import json
import os
import signal
import time

from processes import Failed, busy_seconds_of_machine, cpu_seconds
from readings import Arrival
from stage import Origin, Redis, run_seconds

MEANT_TO_GO_ON = 1  # second for which the load goes on after the measured time, so that the last window is whole


@dataclasses.dataclass(frozen=True)
class Setting:
    limits: tuple = ()        # entries of the upstream's `limits`; a tuple of tuples: of each process
    group: str = ""           # the upstream's `group`, if any
    processes: int = 3
    workers: int | tuple = 50  # of each process; a tuple: of the processes in turn
    groups: tuple = (0,)      # of the processes in turn: how many groups the workers ask for
    flight_us: int = 0        # time that the origin takes for a request
    on_refusal: str = "fail"  # or "rest": a refused worker asks again a little later
    seconds: float = 10
    delays: tuple = ()        # microseconds between each process and Redis, one way
    clocks: tuple = ()        # seconds by which each process's system clock is wrong
    when_down: str = "share"
    timeout: str = "50ms"     # redis.timeout: after it the process goes on without Redis
    redis: str = ""           # further keys of the configuration's `redis`, each after a comma
    user: str = ""            # Redis user, as `name:password@`
    options: tuple = ()       # further words of redis-server's command line
    obey: str = ""            # further keys of the upstream, on one line
    is_up: bool = True        # whether Redis is up when the processes start


@dataclasses.dataclass(frozen=True)
class Run:
    setting: Setting
    arrivals: list[Arrival]
    worst_ms: float         # the longest that a client waited for an answer
    refused: dict           # reason → how often
    redis_calls: float      # a request
    redis_us: float         # Redis' CPU time a request
    process_us: float       # CPU time a request, of all processes that share the limit
    noise_ms: float         # how late this machine woke a thread during the run, at worst
    noise_p99_ms: float     # its 99th percentile
    lost_ms: float          # the sum of the latenesses above 1 ms
    others: float           # cores that programs other than ours used
    notes: dict             # noted while the load was running: moments in nanoseconds since 1970, figures, texts


def config_of(setting, origin_port, redis_port, process):
    limits = setting.limits[process] if setting.limits and isinstance(setting.limits[0], tuple) else setting.limits
    entries = ", ".join(f"{{ {limit} }}" for limit in limits)
    lines = {
        f"redis: {{ url: \"redis://{setting.user}127.0.0.1:{redis_port}\", whenDown: {setting.when_down}, "
        f"timeout: {setting.timeout}{setting.redis} }}": entries,
        "upstreams:": True,
        "  origin:": True,
        f'    match: "127.0.0.1:{origin_port}"': True,
        "    queue: { maxPending: 10000, maxWait: 5m }": True,
        f"    {setting.obey}": setting.obey,
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
    relays: list    # one for each daemon; empty without delays
    daemons: list
    notes: dict = dataclasses.field(default_factory=dict)
    begin: float = 0  # when the load began, in seconds of time.monotonic()

    def wait_until(self, seconds):
        """Waits until `seconds` after the load began."""
        time.sleep(max(0, self.begin + seconds - time.monotonic()))

    def note_now(self, name):
        self.notes[name] = time.time_ns()

    def freeze(self, process):
        os.kill(self.daemons[process].pid, signal.SIGSTOP)

    def thaw(self, process):
        os.kill(self.daemons[process].pid, signal.SIGCONT)


@contextlib.contextmanager
def stage_of(tools, setting):
    """Redis, the origin, the daemons, and the relays between them and Redis."""
    with contextlib.ExitStack() as stack:
        redis, origin = stack.enter_context(Redis(setting.options)), stack.enter_context(tools.origin())
        if setting.user:
            prepare_user(redis, setting.user)
        if not setting.is_up:
            redis.kill()
        delays = each(setting.delays, setting.processes, 0) if setting.delays else []
        relays = [stack.enter_context(tools.relay(redis.port, delay)) for delay in delays]
        ports = [relay.port for relay in relays] or [redis.port] * setting.processes
        clocks = each(setting.clocks, setting.processes, 0)
        daemons = [stack.enter_context(tools.daemon(config_of(setting, origin.port, port, process), clock))
                   for process, (port, clock) in enumerate(zip(ports, clocks))]
        yield Stage(redis, origin, relays, daemons)
        for daemon in daemons:
            daemon.check()


def prepare_user(redis, user):
    """A user with all permissions, until a scenario takes some away."""
    name, _, password = user.removesuffix("@").partition(":")
    redis.ask("ACL", "SETUSER", name, "on", f">{password}", "~*", "&*", "+@all")


def run_penstock(tools, setting, during=lambda stage: None, before=lambda stage: None):
    """`before` is called when everything is up and before the first request, `during` while the load is running."""
    with stage_of(tools, setting) as stage:
        before(stage)
        workers = setting.workers if isinstance(setting.workers, tuple) else (setting.workers,)
        proxies = [f"{daemon.port}:{count}:{groups}" for daemon, count, groups in
                   zip(stage.daemons, each(workers, setting.processes, 0), each(setting.groups, setting.processes, 0))]
        with tools.workers(stage.origin.port, setting.seconds + MEANT_TO_GO_ON, setting.flight_us, setting.on_refusal,
                           proxies) as load:
            ready([load])

            def work():
                stage.begin = time.monotonic()
                stage.note_now("begin")
                load.tell("")
                during(stage)
                return [json.loads(load.line())]

            return measure(tools, setting, stage, stage.daemons, work)


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

        return measure(tools, setting, Stage(redis, origin, [], loads), loads, work)


def ready(loads):
    for load in loads:
        if (said := load.line()) != "ready":
            raise Failed(f"the load said '{said}', not 'ready'")


def costs(redis, sharing):
    """Redis' calls and CPU seconds, CPU seconds of `sharing` and of all programs but this one, and the present time."""
    cost = redis.cost()
    return (cost.calls, cost.seconds, sum(run_seconds(process.pid) for process in sharing),
            busy_seconds_of_machine() - cpu_seconds(os.getpid()), time.monotonic())


def measure(tools, setting, stage, sharing, work):
    """`work` returns the reports of the clients; `sharing` are the processes that share the limit."""
    with tools.noise() as noise:
        before = costs(stage.redis, sharing) if setting.is_up else None
        reports = work()
        after = costs(stage.redis, sharing) if setting.is_up else None
        worst, p99, late = map(float, noise.last_words().split()[1::2])
    arrivals = stage.origin.arrivals()
    check_that_all_arrived(arrivals, reports)
    count = len(arrivals)
    calls, redis, own, others, lasted = (b - a for a, b in zip(before, after)) if setting.is_up else (0, 0, 0, 0, 1)
    refused = {}
    for report in reports:
        refused |= report.get("refused", {})
    return Run(setting, arrivals, max(worst for report in reports for worst in listed(report["worst_ms"])), refused,
               calls / count, redis / count * 1e6, own / count * 1e6, worst / 1000, p99 / 1000, late / 1000,
               max(0, others / lasted), stage.notes)


def listed(value):
    return value if isinstance(value, list) else [value]


def check_that_all_arrived(arrivals, reports):
    """Requests whose clients left or were refused may have arrived; every other must have arrived exactly once."""
    answers = sum(count for report in reports for count in listed(report["answers"]))
    left = sum(report.get("left", 0) + sum(report.get("refused", {}).values()) for report in reports)
    if not arrivals or not answers <= len(arrivals) <= answers + left:
        raise Failed(f"the origin saw {len(arrivals)} requests, the clients {answers} answers, and {left} of them left")
