# SPDX-License-Identifier: Apache-2.0
# Python's requests, by the environment.
import requests

from at_once import print_all


def fetch(url):
    response = requests.get(url, timeout=60)
    response.raise_for_status()
    return response.text


print_all(fetch)
