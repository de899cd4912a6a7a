# SPDX-License-Identifier: Apache-2.0
"""When, on which machine and of which commit a table of figures is. script/test tells by that which tables are old."""

import datetime
import os
import pathlib
import platform
import subprocess


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        models = [line.partition(":")[2].strip() for line in cpuinfo if line.startswith("model name")]
    return models[0] if models else platform.machine()


def commit():
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    folder = pathlib.Path(__file__).parent
    return subprocess.run(describe, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def here():
    return (f"{datetime.date.today()}, {os.cpu_count()} cores of {processor()}, Linux {platform.release()}; "
            f"commit {commit()}")
