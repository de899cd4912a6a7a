# SPDX-License-Identifier: Apache-2.0
# Python's own urllib, by the environment.
import urllib.request

from at_once import print_all


def fetch(url):
    with urllib.request.urlopen(url, timeout=60) as response:
        return response.read().decode()


print_all(fetch)
