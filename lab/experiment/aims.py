# SPDX-License-Identifier: Apache-2.0
"""The aims of the experiment: each function returns aims, judged against one run. An aim may have a leeway for the
lateness of this machine: a miss within the leeway is reported as not judged. For the programs of this folder only."""

import math
import typing

import readings
from readings import MS, SECOND

HALF = 500 * MS
WARM = HALF // 2    # earlier departures are late because connections are still being opened
SILENCE = 100 * MS  # between two bursts of a counter
WORK_MS = 10        # additional wait of a busy process for a core that other programs use


class Aim(typing.NamedTuple):
    what: str
    measured: str
    verdict: str        # "met", "missed" or "not judged"
    firm: bool = False  # independent of time: a machine that stands still is no excuse


def counted(run):
    """The arrivals that count: those within the setting's seconds, from the first arrival on."""
    return readings.from_the_first(run.arrivals, round(run.setting.seconds * SECOND))


def times_of(run):
    return [arrival.at for arrival in run.arrivals]


def shares(run):
    return readings.shares(counted(run), run.setting.processes)


def late_ms(run):
    """How late a departure may be because of this machine."""
    return run.noise_ms + (WORK_MS if run.others > 0.1 else 0)


def lost(run):
    """The fraction of the time in which this machine was late; a little more if other programs use it too."""
    return min(1, run.lost_ms / 1000 / run.setting.seconds + (0.02 if run.others > 0.1 else 0))


def between(what, value, least, most, shown="{:g}", leeway=0.0, above=None):
    """`leeway`: by how much the machine can have changed the value; `above`: the same upwards, if it differs."""
    if least <= value <= most:
        return Aim(what, shown.format(value), "met")
    excused = least - leeway <= value <= most + (leeway if above is None else above)
    return Aim(what, shown.format(value), "not judged" if excused else "missed")


def judged_by_machine(run, aims):
    """If this machine stood still for longer than a call to Redis may take, processes rightly went on without Redis:
    misses are then not judged."""
    patience = run.setting.timeout
    stood_still = run.noise_ms > float(patience.removesuffix("ms") if patience.endswith("ms") else 1000)
    return [aim._replace(verdict="not judged") if stood_still and aim.verdict == "missed" and not aim.firm else aim
            for aim in aims]


def all_of(*parts):
    return lambda run: [aim for part in parts for aim in part(run)]


# Amounts.

def sent(least, most):
    """The number of departures in all."""
    def judged(run):
        rate = most / run.setting.seconds
        return [between(f"{least:g} to {most:g} sent", len(counted(run)), least, most,
                        leeway=rate * (late_ms(run) / 1000 + lost(run) * run.setting.seconds),
                        above=rate * late_ms(run) / 1000)]
    return judged


def about(wanted, tolerance):
    def judged(run):
        rate = wanted / run.setting.seconds
        return [between(f"{wanted} ± {tolerance:g} sent", len(counted(run)), wanted - tolerance, wanted + tolerance,
                        leeway=rate * (late_ms(run) + run.lost_ms) / 1000, above=rate * late_ms(run) / 1000)]
    return judged


def used(rate, begin, end, part):
    """At least this fraction of what a limit of `rate` a second allows between two moments of the run; see moment()."""
    def judged(run):
        first, last = moment(run, begin), moment(run, end)
        count = sum(first <= at < last for at in times_of(run))
        allowed = rate * (last - first) / SECOND
        where = f"from {shown_moment(begin)} to {shown_moment(end)}"
        return [between(f"{part:.0%} of the limit used {where}", count / allowed, part, math.inf, "{:.1%}", lost(run))]
    return judged


def at_most_sent(most, begin, end, what):
    def judged(run):
        first, last = moment(run, begin), moment(run, end)
        return [between(what, sum(first <= at < last for at in times_of(run)), 0, most)]
    return judged


def moment(run, name):
    """A number: seconds after the load began; a name: a note; a pair: a note, and seconds after it."""
    if isinstance(name, tuple):
        return run.notes[name[0]] + round(name[1] * SECOND)
    return run.notes[name] if isinstance(name, str) else run.notes["begin"] + round(name * SECOND)


def shown_moment(name):
    if isinstance(name, tuple):
        return f"{name[1]:g} s after it was {name[0]}"
    return f"when it was {name}" if isinstance(name, str) else f"{name:g} s"


def silence_within(seconds, begin, end):
    """No longer time than this passes without a departure."""
    def judged(run):
        longest = readings.longest_silence(times_of(run), moment(run, begin), moment(run, end)) / MS
        return [between(f"no silence above {seconds:g} s from {shown_moment(begin)}", longest, 0, seconds * 1000,
                        "{:.0f} ms", late_ms(run))]
    return judged


# Shares and calls.

def few_calls(most):
    return lambda run: [between(f"at most {most} Redis calls a request", run.redis_calls, 0, most, "{:.3f}",
                                most * lost(run))]


def few_calls_beside_one_a_second(most):
    """Of the noted calls and seconds, without the call by which each process says once a second that it is there, and
    the one by which it finds out once in ten seconds what its user may do."""
    def judged(run):
        seconds = (run.notes["calls end"] - run.notes["calls begin"]) / SECOND
        count = sum(run.notes["calls begin"] <= at < run.notes["calls end"] for at in times_of(run))
        asked = (run.notes["calls"] - run.setting.processes * seconds * 1.1) / max(count, 1)
        return [between(f"at most {most} Redis calls a request, beside one a second of each process", max(0, asked), 0,
                        most, "{:.2f}")]
    return judged


def fair_from(seconds, step=0):
    """Shares from `seconds` after the first departure on: a burst goes to the requests that come first. One process may
    be ahead by `step` units, which a refill brings all at once."""
    def judged(run):
        later = [one for one in counted(run) if one.at >= run.arrivals[0].at + round(seconds * SECOND)]
        counts = readings.shares(later, run.setting.processes)
        if max(counts) - min(counts) <= step:
            counts = [min(counts)] * len(counts)
        return [alike(run, counts, "shares within 10 %, or one step, of each other once the burst is spent" if step else
                      "shares within 10 % of each other once the burst is spent")]
    return judged


def fair(run):
    return [alike(run, shares(run), "shares within 10 % of each other")]


def alike(run, counts, what):
    """A process that asks 5 ms later than told has lost its place in the line; at a window's edge, its whole share."""
    rushes = any(kind in limit for limit in run.setting.limits for kind in ("indow", "counter"))
    leeway = math.inf if rushes and late_ms(run) > 5 else 3 * lost(run)
    return between(what, max(counts) / max(min(counts), 1) - 1, 0, 0.1, "{:.1%}", leeway)


def fair_groups(count, least):
    """The worst served of `count` groups gets at least this fraction of the mean."""
    def judged(run):
        counts = readings.groups(counted(run), count)
        mean = sum(counts) / count
        return [between(f"the worst served of {count} groups gets {least:.0%} of its share", min(counts) / mean, least,
                        math.inf, "{:.0%}", lost(run))]
    return judged


# Times.

def even_gaps(run):
    """Each stall of the machine may bring the following departures together."""
    gaps = readings.gaps([arrival.at for arrival in counted(run)])
    p1 = readings.quantile(gaps, 0.01) / MS
    disturbed = run.lost_ms / (readings.quantile(gaps, 0.5) / MS) / len(gaps)
    return [between("p1 of the gaps at least 2 ms", p1, 2, math.inf, "{:.2f} ms", 2 if disturbed > 0.002 else 0)]


def punctual(distance_ms):
    """For a pacer that is never idle."""
    def judged(run):
        late = latenesses(run, distance_ms)
        aims = [between("departures late by less than 0.5 ms, 99 of 100", readings.quantile(late, 0.99) / MS, 0, 0.5,
                        "{:.3f} ms", math.inf if run.noise_p99_ms > 0.2 or run.others > 0.1 else 0)]
        return aims + [Aim(f"the same, p{share * 100:g}", f"{readings.quantile(late, share) / MS:.3f} ms", "")
                       for share in (0.5, 0.999)]
    return judged


def latenesses(run, distance_ms):
    return readings.latenesses([arrival.at for arrival in counted(run)], round(distance_ms * MS))


def all_like(what, unlike, count, leeway=lambda measured: False):
    """Reports how many windows differ, and what they carry instead."""
    others = ", the others " + " ".join(map(str, unlike)) if unlike else ""
    excused = unlike and all(map(leeway, unlike))
    return Aim(what, f"{count - len(unlike)} of {count}{others}",
               "met" if not unlike else "not judged" if excused else "missed")


def full_windows(limit=200, length=HALF):
    """Counted once connections are open: departures booked just before the first edge may otherwise arrive after it."""
    def judged(run):
        counts = readings.whole_windows(times_of(run), length, round(run.setting.seconds * SECOND / length) - 1, WARM)
        unlike = [count for count in counts if count != limit]
        return [all_like(f"every whole window carries exactly {limit}", unlike, len(counts), may_slip(run, limit))]
    return judged


def may_slip(run, limit):
    """Requests that leave at an edge may arrive after it, and are then missing in the window before."""
    return lambda count: late_ms(run) > 2 and abs(count - limit) <= min(limit, late_ms(run) / 10 * limit)


def no_window_over(limit, length, excess=0):
    """`excess`: the excess that the page of limits allows where a single process is cut off."""
    def judged(run):
        times = times_of(run)
        counts = readings.whole_windows(times, length, (times[-1] - times[0]) // length + 1, -length)
        slips = late_ms(run) > 2 and late_ms(run) / 10 * limit
        what = f"never more than {limit + excess} in a window"
        return [between(what, max(counts), 1, limit + excess, leeway=min(slips, limit / 10))]
    return judged


def full_windows_from(limit, length, begin, end):
    def judged(run):
        first, last = -(-moment(run, begin) // length), moment(run, end) // length
        counts = [sum(length * at <= one < length * (at + 1) for one in times_of(run)) for at in range(first, last)]
        return [all_like(f"every window carries {limit} from {shown_moment(begin)}",
                         [count for count in counts if count != limit], len(counts), may_slip(run, limit))]
    return judged


def full_resets(run):
    """Once the counter is full nothing leaves until the next reset, so its periods are bursts."""
    bursts = readings.bursts(times_of(run), SILENCE)[:round(run.setting.seconds * SECOND / HALF)]
    unlike = [count for _, count in bursts if count != 200]
    apart = (bursts[-1][0] - bursts[0][0]) / max(len(bursts) - 1, 1) / MS
    return [all_like("every period carries exactly 200", unlike, len(bursts), may_slip(run, 200)),
            between("periods last 500 ms or more in the mean", apart, 499.5, math.inf, "{:.1f} ms")]


def over_at_no_time(max_units=200, length=HALF):
    """The leeway is a window shortened by the machine's lateness."""
    def judged(run):
        times = times_of(run)
        most = readings.fullest(times, length)
        shorter = readings.fullest(times, max(1, length - round(late_ms(run) * MS)))
        excused = shorter <= max_units and late_ms(run) > 2
        return [between(f"never more than {max_units} in any {length // MS} ms", most, 1, max_units,
                        leeway=math.inf if excused else 0)]
    return judged


# Permits.

def never_above(capacity, begin=0, end=None):
    """Exact to the request, at the origin: delays by the machine cannot raise it."""
    def judged(run):
        last = moment(run, end) if end is not None else 1 << 62
        most = readings.most_at_once(run.arrivals, moment(run, begin), last)
        return [between(f"never more than {capacity} in flight at the origin", most, 1, capacity)._replace(firm=True)]
    return judged


def permits_used(capacity, begin, end, part):
    """The time that permits were in use, as the origin saw it, as a fraction of all permits' time."""
    def judged(run):
        first, last = moment(run, begin), moment(run, end)
        flown = sum(max(0, min(one.ended or last, last) - max(one.at, first)) for one in run.arrivals)
        where = f"from {shown_moment(begin)} to {shown_moment(end)}"
        return [between(f"{part:.0%} of the permits' time used {where}", flown / capacity / (last - first), part,
                        math.inf, "{:.1%}", lost(run))]
    return judged


def nothing_cut(run):
    count = sum(run.refused.values())
    return [Aim("no request refused or cut off", ", ".join(f"{number} × {why}" for why, number in run.refused.items())
                or "0", "missed" if count else "met")]


# What processes report.

def noted(name, what, wanted):
    """A figure that was noted while the load was running."""
    return lambda run: [Aim(what, f"{run.notes.get(name, 'nothing')}", "met" if wanted(run.notes.get(name)) else "missed",
                            firm=True)]


def first_within(seconds):
    return lambda run: [between(f"the first request waits at most {seconds:g} s", run.worst_ms / 1000, 0, seconds,
                                "{:.2f} s", late_ms(run) / 1000)]
