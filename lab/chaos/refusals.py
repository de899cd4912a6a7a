# SPDX-License-Identifier: Apache-2.0
"""Origins of a chaos run that refuse, lie about their limits, or break off while they do. Each refuses now and then
alone, so that what is asked again comes through and no upstream rests for long. For the programs of this folder only."""

import asyncio
import time

import ledger

RARELY = 0.7  # seconds between two refusals of all origins together


class Refusals:
    """When one is due again."""

    next = 0.0


def is_due():
    if time.monotonic() < Refusals.next:
        return False
    Refusals.next = time.monotonic() + RARELY
    return True


def refusing(script):
    """The script, where a refusal is due; else an answer."""
    async def one(visit):
        await (script(visit) if is_due() else visit.answer())

    one.__name__ = script.__name__
    return one


@refusing
async def pause(visit):
    await visit.answer("429 Too Many Requests", "Retry-After: 1")


@refusing
async def pause_no_time(visit):
    await visit.answer("429 Too Many Requests")


@refusing
async def pause_unavailable(visit):
    """A failure for all that it says, so that only some may be repeated."""
    await visit.answer("503 Service Unavailable", "Retry-After: 0.2")


@refusing
async def pause_contradicting(visit):
    """No two of these fields agree, and some cannot be read."""
    await visit.answer("429 Too Many Requests", "Retry-After: 0.1", "Retry-After-Ms: -5", "RateLimit-Remaining: 7",
                       "RateLimit-Reset: 1", "X-RateLimit-Reset: yesterday", 'RateLimit: "a";r=0;t=2, "b";r=5')


@refusing
async def pause_for_ever(visit):
    """A year: `maxPause` is there for that."""
    await visit.answer("403 Forbidden", "Retry-After: 31536000")


async def spent(visit):
    """Nothing remains, as each of its answers says, for an hour."""
    await visit.answer("200 OK", "X-RateLimit-Remaining: 0", f"X-RateLimit-Reset: {int(time.time()) + 3600}")


# Half dead.

def head(visit, size):
    return visit.line("429 Too Many Requests", "Retry-After: 0.2", f"Content-Length: {size}")


@refusing
async def pause_close_in_body(visit):
    await visit.read()
    await visit.say(head(visit, visit.size + 5), visit.content)
    visit.end()


@refusing
async def pause_reset_in_body(visit):
    await visit.read()
    await visit.say(head(visit, visit.size + 5), visit.content)
    visit.reset()


@refusing
async def pause_stalled(visit):
    """The rest of its body never comes."""
    await visit.read()
    await visit.say(head(visit, visit.size + 5), visit.content)
    await visit.origin.until_left(visit.writer)
    visit.end()


@refusing
async def pause_endless(visit):
    """Its body never ends."""
    await visit.read()
    await visit.say(visit.line("429 Too Many Requests", "Retry-After: 0.2", "Transfer-Encoding: chunked"))
    body = ledger.pattern(visit.name, 1 << 20)
    for at in range(0, len(body), 1000):
        if visit.method == "HEAD":
            break
        await visit.say(b"%x\r\n%b\r\n" % (len(body[at:at + 1000]), body[at:at + 1000]))
        await asyncio.sleep(0.01)
    await visit.origin.until_left(visit.writer)
    visit.end()


@refusing
async def pause_early(visit):
    """Before the request's body, which is never read."""
    visit.leave()
    await visit.say(head(visit, visit.size), visit.content)
    await asyncio.sleep(0.01)
    visit.end()


async def reset_after_body(visit):
    await visit.read()
    visit.reset()


SOUND = (pause, pause_no_time, pause_unavailable, pause_contradicting, pause_for_ever, spent)
HALF_DEAD = (pause_close_in_body, pause_reset_in_body, pause_stalled, pause_endless, pause_early, reset_after_body)
