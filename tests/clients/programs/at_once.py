# SPDX-License-Identifier: Apache-2.0
# What the Python programs here have in common: PROGRAM URL COUNT asks for URL1, URL2 and so on, all at once, and prints
# what comes.
import concurrent.futures
import sys


def urls():
    return [f"{sys.argv[1]}{number}" for number in range(1, int(sys.argv[2]) + 1)]


def print_all(fetch):
    """In a thread each."""
    with concurrent.futures.ThreadPoolExecutor(len(urls())) as pool:
        for text in pool.map(fetch, urls()):
            print(text, end="")
