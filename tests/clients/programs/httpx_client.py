# SPDX-License-Identifier: Apache-2.0
# Python's httpx, by the environment.
import httpx

from at_once import print_all


def fetch(url):
    response = httpx.get(url, timeout=60)
    response.raise_for_status()
    return response.text


print_all(fetch)
