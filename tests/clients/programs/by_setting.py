# SPDX-License-Identifier: Apache-2.0
# by_setting.py requests|httpx|urllib URL PROXY: told of the proxy by the program.
import sys
import urllib.request

import httpx
import requests

client, url, proxy = sys.argv[1:]
if client == "requests":
    print(requests.get(url, proxies={"http": proxy, "https": proxy}).text, end="")
elif client == "httpx":
    print(httpx.get(url, proxies=proxy).text, end="")
else:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy, "https": proxy}))
    print(opener.open(url).read().decode(), end="")
