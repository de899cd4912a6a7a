# SPDX-License-Identifier: Apache-2.0
"""Whether the ledger notices: each promise broken once, on paper. Called by CTest."""

import dataclasses
import unittest

import ledger
import limits
from plan import Plan
from settings import UPSTREAMS

TS = "2026-11-22T07:00:{:09.6f}+00:00"


def event(kind, second=1.0, **more):
    return {"ts": TS.format(second), "event": kind, "id": "x", "method": "GET", "host": "plain.test",
            "path": "/c/1-1/ok/1/0", **more}


def request(*kinds, sightings=1, **more):
    """A GET that was answered 200, unless said otherwise."""
    made = ledger.Request("1-1", "GET", "plain", **{"sent": "all", "status": 200, "whole": True, **more})
    made.events = [event(kind, status=made.status) if kind in ledger.OUTCOMES else event(kind) for kind in kinds]
    made.sightings = [ledger.Sighting(100.0 + n, 1, 1, 2 + n) for n in range(sightings)]
    return made


class OneRequest(unittest.TestCase):
    def wrongs(self, *kinds, **more):
        return ledger.judged(request(*kinds, **more))

    def test_that_went_well_is_well(self):
        self.assertEqual(self.wrongs("dispatch", "complete"), [])
        self.assertEqual(self.wrongs("refused", sightings=0, own="http_request_denied", status=403), [])
        self.assertEqual(self.wrongs("gone", sightings=0, left="wait close", status=0, whole=False), [])
        self.assertEqual(self.wrongs("dispatch", "error", own="dns_error", status=502, sightings=0), [])

    def test_has_one_outcome(self):
        self.assertIn("2 outcomes", self.wrongs("dispatch", "complete", "error"))
        self.assertIn("dispatched, and without an outcome", self.wrongs("dispatch"))
        self.assertIn("no event at all", self.wrongs(sightings=0))
        self.assertTrue(self.wrongs("complete"))
        self.assertTrue(self.wrongs("dispatch", "dispatch", "complete"))

    def test_is_unknown_only_where_its_client_left_or_the_connection_ended(self):
        self.assertEqual(self.wrongs(sightings=0, left="wait close"), [])
        self.assertEqual(self.wrongs(sightings=0, behind_end=True), [])
        self.assertEqual(self.wrongs(sightings=0, sent="part"), [])

    def test_is_seen_at_most_once_or_twice(self):
        self.assertEqual(self.wrongs("dispatch", "complete", sightings=2), [])
        self.assertTrue(self.wrongs("dispatch", "complete", sightings=3))
        self.assertTrue(self.wrongs("dispatch", "complete", sightings=2, has_body=True))
        posted = request("dispatch", "complete", sightings=2)
        self.assertTrue(ledger.judged(dataclasses.replace(posted, method="POST")))
        posted.sightings[0].nth = 1
        self.assertTrue(ledger.judged(posted))

    def test_that_was_refused_or_gone_is_never_seen(self):
        self.assertTrue(self.wrongs("refused", own="loop", status=502))
        self.assertTrue(self.wrongs("gone", left="wait close", status=0))

    def test_is_answered_as_the_log_says(self):
        self.assertTrue(self.wrongs("dispatch", "error"))
        self.assertTrue(self.wrongs("dispatch", "complete", own="dns_error", status=502))
        self.assertTrue(self.wrongs("dispatch", "complete", whole=False, cut="in the answer"))
        other = request("dispatch", "complete")
        other.status = 404
        self.assertTrue(ledger.judged(other))

    def test_behind_a_malformed_one_is_nobodys(self):
        self.assertEqual(self.wrongs(sightings=0, is_never=True), [])
        self.assertTrue(self.wrongs("dispatch", "complete", is_never=True))


class ManyRequests(unittest.TestCase):
    def test_are_never_more_at_once_than_may_be(self):
        book = ledger.Ledger()
        book.in_force.append(ledger.InForce(UPSTREAMS, 0))
        one = book.expect(request("dispatch", "complete"))
        self.assertEqual(book.breaches(0.0), [])
        one.sightings[0].together = UPSTREAMS["plain"].most + 1
        self.assertEqual(len(book.breaches(0.0)), 1)

    def test_are_never_more_in_a_stretch_than_may_be(self):
        kind = limits.SlidingWindow(3, 1.0)

        def found(*times, late=0.0):
            return limits.too_many([limits.Arrival(at - late, at, "") for at in times], kind.bound, 0.0)

        self.assertEqual(found(0, 0.1, 0.2, 1.05, 1.15, 1.25), [])
        self.assertTrue(found(0, 0.1, 0.2, 0.9))
        self.assertEqual(found(0, 0.1, 0.2, 0.9, late=0.2), [], "the first may have left earlier")

    def test_may_leave_as_the_documentation_has_it(self):
        self.assertEqual(limits.TokenBucket(10, 2, 0.5).bound(0, 1.0), 14)
        self.assertEqual(limits.Window(10, 0.5).bound(0.4, 0.6), 20)
        self.assertEqual(limits.Window(10, 0.5).bound(0.51, 0.9), 10)
        self.assertEqual(limits.Pacer(10, 3).bound(0, 1.0), 14)

    def test_a_plan_is_the_same_from_the_same_seed(self):
        one, same, other = (Plan(seed, 1, 2, 100) for seed in (1, 1, 2))
        self.assertEqual(one.visits, same.visits)
        self.assertNotEqual(one.visits, other.visits)


unittest.main()
