# SPDX-License-Identifier: Apache-2.0
"""The page as a file, whose data never change, in a real browser. Arguments as of page_test.py; `--write` takes what is seen
as what is to be seen, and makes the pictures of docs/pictures."""

import json
import pathlib
import re
import tempfile
import unittest

from browser import Browser
from staged import cell, given, main

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PICTURES = ROOT / "docs" / "pictures"


def page_text():
    """The page as CMake makes it of its parts."""
    folder = ROOT / "src" / "observe" / "page"
    return re.sub(r"^/\* ([a-z]+\.(?:css|js)) \*/\n", lambda part: (folder / part[1]).read_text(),
                  (folder / "page.html").read_text(), flags=re.MULTILINE)


# Of each element that has a text of its own or is drawn: which it is, its text, and its box.
BOXES = """[...document.querySelectorAll('body *')].filter(one => !/^(SCRIPT|OPTION|CAPTION|COL|COLGROUP)$/.test(one.tagName))
  .map(one => { const box = one.getBoundingClientRect();
    const own = [...one.childNodes].filter(node => node.nodeType === 3).map(node => node.textContent.trim()).join(' ').trim();
    return [one.tagName.toLowerCase() + (one.getAttribute('class') ? '.' + one.getAttribute('class').replaceAll(' ', '.') : ''), own,
            box.x, box.y, box.width, box.height].map(value => typeof value === 'number' ? Math.round(value * 10) / 10 : value); })
  .filter(([name, text, x, y, width]) => width > 0 && (text || name.startsWith('svg') || name.startsWith('rect.fill')))"""
VIEWS = {"page-light": {}, "page-dark": {"dark": True}, "page-open": {"open": "github"}, "page-narrow": {"width": 390, "height": 844}}


class Frozen(unittest.TestCase):
    """The page as a file, with data that never change."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="penstock-page-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.browser = Browser(given.node, given.chromium)
        cls.addClassCleanup(cls.browser.close)

    def see(self, name, change=lambda data: None):
        how = dict(VIEWS[name])
        data = json.loads((HERE / "frozen.json").read_text()) | {"open": how.pop("open", "")}
        change(data)
        html = page_text()
        text = json.dumps(data).replace("<", "\\u003c")
        file = self.folder / f"{name}.html"
        file.write_text(html.replace("<!-- frozen -->", f'<script type="application/json" id="frozen">{text}</script>'))
        tab = self.browser.open(file.as_uri(), **how)
        self.addCleanup(tab.close)
        return tab

    def test_boxes_and_texts_are_where_they_were(self):
        for name in VIEWS:
            with self.subTest(name):
                tab = self.see(name)
                found, file = tab.evaluate(BOXES), HERE / "boxes" / f"{name}.json"
                if given.write:
                    file.parent.mkdir(exist_ok=True)
                    file.write_text("[\n" + ",\n".join(json.dumps(box, ensure_ascii=False) for box in found) + "\n]\n")
                    PICTURES.mkdir(exist_ok=True)
                    tab.ask("picture", path=str(PICTURES / f"{name}.png"))
                wanted = json.loads(file.read_text())
                self.assertEqual([box[:2] for box in found], [box[:2] for box in wanted])
                for is_, was in zip(found, wanted):
                    self.assertTrue(all(abs(a - b) <= 1 for a, b in zip(is_[2:], was[2:])), f"{was} is now at {is_}")

    def test_nothing_sticks_out_and_nobody_is_asked(self):
        for name in VIEWS:
            with self.subTest(name):
                tab = self.see(name)
                self.assertLessEqual(*tab.evaluate("[document.documentElement.scrollWidth, innerWidth]"))
                seen = tab.ask("seen")
                self.assertEqual(len([url for url in seen["requests"] if not url.startswith("data:")]), 1, seen)
                self.assertEqual(seen["errors"], [])

    def test_the_words_for_redis_are_those_of_the_process(self):
        words = "Cluster 2 of 3 nodes, DOWN: 127.0.0.1:7002; 3 processes, our share 1/3"
        tab = self.see("page-light", lambda data: data["snapshot"]["redis"].update({"up": False, "state": words}))
        self.assertEqual(tab.evaluate("document.getElementById('redis').textContent"), "Redis " + words)
        self.assertIs(tab.evaluate("document.getElementById('redis').classList.contains('alarm')"), True)

    def test_no_rule_of_accessibility_is_broken(self):
        for name in VIEWS:
            with self.subTest(name):
                self.assertEqual([one for one in self.see(name).ask("judge") if one["impact"] in ("serious", "critical")], [])

    def test_the_upstreams_to_choose_from_are_those_of_the_latest_requests(self):
        tab = self.see("page-light")
        line = {"ts": "2026-11-28T10:00:00.000000Z", "event": "complete", "method": "GET", "host": "a.example", "path": "/", "client": ""}

        def offered_after(*upstreams):
            lines = [line | {"upstream": name} for name in upstreams for _ in range(300 // len(upstreams))]
            return tab.evaluate(f"take({{lines: {json.dumps(lines)}, dropped: 0}}), [...document.getElementById('f-up').options].map(one => one.value)")

        self.assertEqual(offered_after("old"), ["", "old"])
        self.assertEqual(offered_after("new"), ["", "new"])
        tab.evaluate("filters.up = 'new', document.getElementById('f-up').value = 'new'")
        self.assertEqual(offered_after("newest"), ["", "new", "newest"])

    def test_what_is_not_known_is_never_nought(self):
        tab = self.see("page-light")
        self.assertEqual(cell(tab, "shop", ".gauges"), "bucketnot shown")
        for figure in (".p99", ".refused"):
            self.assertEqual(cell(tab, "*.corp", figure), "–")

    def test_only_what_does_not_come_back_before_a_reset_runs_out_at_this_pace(self):
        def slide(data):
            hour = data["snapshot"]["upstreams"][0]["limits"][0]
            self.assertEqual(hour["kind"], "window")
            hour.update(kind="slidingWindow", resetsInMs=None)

        self.assertIn("12 min left at this pace", cell(self.see("page-light"), "github", ".gauges"))
        tab = self.see("page-light", slide)
        self.assertIn("of 25", cell(tab, "github", ".gauges"))
        self.assertNotIn("left at this pace", cell(tab, "github", ".gauges"))

    def test_a_report_says_how_many_came_before_what_it_shows(self):
        tab = self.see("page-light", lambda data: data.update(dropped=1234))
        self.assertEqual(tab.evaluate("document.getElementById('left-out').textContent"),
                         "1\u202f234 more before these are not shown")

    def test_a_limit_in_shadow_mode_says_how_many_it_would_have_held(self):
        def shadow(data):
            data["snapshot"]["upstreams"][0]["limits"][0].update(mode="shadow", wouldWait=1234)

        self.assertIn("(shadow, 1\u202f234 would have waited)", cell(self.see("page-light", shadow), "github", ".gauges"))



if __name__ == "__main__":
    main()
