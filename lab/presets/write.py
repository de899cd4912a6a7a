#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Writes what follows from src/config/presets.yaml: config/vendors.yaml, docs/presets.md, and the names in the schema.
#   write.py --root=. [--check]    --check: writes nothing, and fails where something would change
"""script/presets runs it; a test runs it with --check."""
import argparse
import json
import pathlib
import re
import sys
import textwrap

import yaml

VENDORS = """# yaml-language-server: $schema=penstock.schema.json
# SPDX-License-Identifier: Apache-2.0
# Written by script/presets from src/config/presets.yaml. Entries for well-known APIs, with the limits that their vendors
# publish. Copy what you need, or write `preset: NAME` instead (docs/presets.md).
#
# Vendors change their limits, and most depend on your plan: your account's page has the truth. An entry without limits
# is of a vendor of which no page is known that has figures. A 429 with Retry-After is obeyed all the same.
#
# All of these speak https only. An application comes here in one of two ways (docs/https.md):
#   http_proxy=http://127.0.0.1:3128 and http://api.github.com/… instead of https://…   (`https: originate`)
#   http://127.0.0.1:3128/@openai/… as the base URL of a client library                 (`baseUrl`)
version: 1

# With Redis, all processes on all machines keep these limits together, as the vendor counts them. Without it each keeps
# them by itself, and several processes together exceed them.
#redis: { url: redis://127.0.0.1:6379/0 }

upstreams:
"""

PAGE = """# Presets

<!-- Written by script/presets from src/config/presets.yaml. -->

A preset has the settings of a well-known API, and the limits that its vendor publishes. [How to use
one](configuration.md#presets) is said elsewhere. Each figure has the page that it rests on, and the day on which that
page was read. Parts of an API that are counted apart are presets of their own. They come along where `presets:`,
`penstock init` or `exec --preset` names the whole. The first plan holds where none is chosen. It is the lowest for
somebody with an account, and of Slack what most methods have.

`rate` is the vendor's own figure, of which [22 ms of each unit](limits.md#rate) are kept for jitter. A `slidingWindow`
has these 22 ms in its interval. [Routes](limits.md#routes) have limits that only some requests count in beside, and
weights.

| Preset | Plan | Limits | The page says |
|---|---|---|---|
"""

WITHOUT = """
## Without figures

No page is known that has figures of these, so their presets have none. They have the hosts and what else an upstream
needs. A 429 with `Retry-After` pauses them all the same. Write the limits of your account beside the preset.

| Preset | API | Settings |
|---|---|---|
"""


REFUSALS = """
## Of refusals

Settings that say what a refusal pauses, which statuses refuse, which refusals no waiting cures, and whether limits learn
from answers what others take of the same quota.

| Preset | Settings | The page says |
|---|---|---|
"""


SECRETS = """
## Paths that are secrets

In these APIs parts of a path are credentials, or can be turned into some. Events, the log and the page [show … for
them](configuration.md#paths-that-are-secrets).

| Preset | `redact` |
|---|---|
"""


def scalar(value):
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return json.dumps(text) if re.search(r"[:*{}\[\],#&]", text) else text


def flow(value):
    """YAML in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key}: {flow(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(flow(one) for one in value) + "]"
    return scalar(value)


def limits_of(plan):
    return {key: plan[key] for key in ("rate", "limits", "routes") if key in plan}


def sources_of(plan):
    """What a plan rests on: its page, and that of its routes, if it is another."""
    return [plan] + ([plan["of_routes"]] if "of_routes" in plan else [])


def comment(text, indent="  "):
    return "".join(f"{line}\n" for line in textwrap.wrap(text, 118, initial_indent=f"{indent}# ",
                                                         subsequent_indent=f"{indent}# ", break_on_hyphens=False,
                                                         break_long_words=False))


def words_of(plan):
    return " ".join(f"\"{sentence}\"" for sentence in plan["says"])


def entry(name, preset):
    lines = comment(f"{preset['title']}.")
    plans = preset.get("plans", {})
    for plan, has in plans.items():
        rests = " ".join(f"{words_of(on)} {on['page']}, read on {on['read']}." for on in sources_of(has))
        lines += comment(f"{plan}: {rests}")
    if "refusals" in preset:
        has = preset["refusals"]
        lines += comment(f"Of refusals: {words_of(has)} {has['page']}, read on {has['read']}.")
    lines += f"  {name}:\n" + "".join(f"    {key}: {flow(value)}\n" for key, value in preset["settings"].items())
    for number, (plan, has) in enumerate(plans.items()):
        mark = "#" if number else ""
        lines += "".join(f"    {mark}{key}: {flow(value)}{'    # ' + plan if len(plans) > 1 else ''}\n"
                         for key, value in limits_of(has).items())
    return lines


def vendors(table):
    return VENDORS + "\n".join(entry(name, preset) for name, preset in table.items())


def cell(text):
    return text.replace("|", "\\|")


def parts_of(preset):
    return "<br>with " + ", ".join(f"`{name}`" for name in preset["with"]) if "with" in preset else ""


def rows_of(name, preset):
    for number, (plan, has) in enumerate(preset["plans"].items()):
        limits = "<br>".join(f"`{key}: {flow(value)}`" for key, value in limits_of(has).items())
        of = f"`{name}`<br>{preset['title']}{parts_of(preset)}" if number == 0 else ""
        rests = "<br>".join(f"{cell(words_of(on))} [page]({on['page']}), {on['read']}" for on in sources_of(has))
        yield f"| {of} | `{plan}` | {cell(limits)} | {rests} |\n"


def refusals_of(name, preset):
    rests = preset["refusals"]
    settings = "<br>".join(f"`{key}: {flow(value)}`" for key, value in preset["settings"].items()
                           if key in ("obey", "pauseOn", "pauseScope", "learn", "retry"))
    return f"| `{name}` | {cell(settings)} | {cell(words_of(rests))} [page]({rests['page']}), {rests['read']} |\n"


def page(table):
    known = [row for name, preset in table.items() if "plans" in preset for row in rows_of(name, preset)]
    unknown = [f"| `{name}` | {preset['title']}{parts_of(preset)} | `{cell(flow(preset['settings']))}` |\n"
               for name, preset in table.items() if "plans" not in preset]
    refusals = [refusals_of(name, preset) for name, preset in table.items() if "refusals" in preset]
    secrets = [f"| `{name}` | {' '.join(f'`{one}`' for one in preset['settings']['redact'])} |\n"
               for name, preset in table.items() if "redact" in preset["settings"]]
    return (PAGE + "".join(known) + WITHOUT + "".join(unknown) + REFUSALS + "".join(refusals)
            + SECRETS + "".join(secrets))


def schema(text, table):
    names = ", ".join(f"\"{name}\"" for name in table)
    return re.sub(r'("preset": \{ "enum": \[)[^\]]*', lambda found: found[1] + names, text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True, type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    table = yaml.safe_load((given.root / "src/config/presets.yaml").read_text(encoding="utf-8"))["presets"]
    stale = []
    for name, text_of in (("config/vendors.yaml", lambda _: vendors(table)), ("docs/presets.md", lambda _: page(table)),
                          ("config/penstock.schema.json", lambda before: schema(before, table))):
        path = given.root / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        after = text_of(before)
        if after != before:
            stale.append(name)
            if not given.check:
                path.write_text(after, encoding="utf-8")
    if given.check and stale:
        sys.exit(f"{', '.join(stale)}: not as src/config/presets.yaml has it; run script/presets")


if __name__ == "__main__":
    main()
