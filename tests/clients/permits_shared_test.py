# SPDX-License-Identifier: Apache-2.0
# Three Python programs take permits of two daemons that share a Redis. Programs and daemons are killed; the resource never
# has more users than the semaphore's capacity, and all of it is used again.
"""The resource is a lock file for each user that it has room for: the kernel counts the users at each moment. A kill lets go
of the resource before it lets go of the permit: the kernel gives record locks back while it goes through the descriptors of
a process that ends, and closes its connections after that. Locks by flock() end with their files, which are closed in the
reverse order: the next user could come in before they are free."""
import os
import re
import socket
import subprocess
import sys
import time

from case import ARGUMENTS, Case, read
from stage import PATIENCE, Folder, Proxy

CAPACITY = 2
SETTINGS = """\
redis: {{ url: "unix://{redis}", timeout: 2s, whenDown: wait }}  # a busy machine is no outage
upstreams:
  db: {{ permits: true, limits: [ semaphore: {{ capacity: %d, lease: 3s }} ] }}
""" % CAPACITY

# Behind the example of docs/permits.md. Its words: the folder, its own name, the daemon that it asks first, and whether it
# stays where it has come in.
WORKER = '''
import fcntl, os, sys, time

folder, name, first, stays = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:] == ["stays"]
places = [os.open(f"{folder}/place-{n}", os.O_RDWR | os.O_CREAT) for n in range(%d)]
diary = os.open(f"{folder}/diary", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def come_in():
    """The number of the place; None: all are taken."""
    for number, place in enumerate(places):
        try:
            fcntl.lockf(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return number
        except BlockingIOError:
            continue

for turn in range(first, 1_000_000):
    try:
        with open(f"{folder}/proxies") as file:
            proxies = file.read().split()
        with permit("db", proxy=proxies[turn %% len(proxies)]):
            place = come_in()
            os.write(diary, f"{name} {place}\\n".encode())
            if stays:
                print("in", flush=True)
                sys.stdin.read()
            time.sleep(0.005)  # the work
            if place is not None:
                fcntl.lockf(places[place], fcntl.LOCK_UN)
    except (OSError, http.client.HTTPException, RuntimeError) as error:
        print(error, file=sys.stderr)  # a daemon that is killed, or is not there yet
        time.sleep(0.01)
''' % CAPACITY


class Redis:
    def __init__(self, folder):
        self.socket = os.path.join(folder, "redis.sock")
        self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
                                         "--appendonly", "no", "--dir", folder], stdout=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while not self.answers():
            assert time.monotonic() < until, "redis-server does not answer"
            time.sleep(0.01)

    def answers(self):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            try:
                client.connect(self.socket)
                client.sendall(b"PING\r\n")
                return client.recv(64) == b"+PONG\r\n"
            except OSError:
                return False

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


class SharedPermits(Case):
    def start_proxy(self):
        redis = Redis(self.folder.name)
        self.addCleanup(redis.stop)
        self.settings_of_both = SETTINGS.format(redis=redis.socket)
        [example] = re.findall(r"^```python\n(.*?)^```$", read("docs/permits.md"), re.MULTILINE | re.DOTALL)
        self.folder.write("worker.py", (example + WORKER).encode())
        self.proxies = [self.new_proxy(), self.new_proxy()]
        self.tell_proxies()

    def new_proxy(self):
        folder = Folder()
        self.addCleanup(folder.cleanup)
        proxy = Proxy(ARGUMENTS.program, folder.name, self.settings_of_both)
        self.addCleanup(self.end_proxy, proxy)
        return proxy

    def end_proxy(self, proxy):
        self.end(proxy.process)
        proxy.reader.join(PATIENCE)
        proxy.process.stderr.close()
        self.assert_sane("".join(proxy.said))

    def tell_proxies(self):
        """To the programs, which read them again for each permit."""
        self.folder.write("proxies.new", "\n".join(one.url.removeprefix("http://") for one in self.proxies).encode())
        os.rename(self.folder.path("proxies.new"), self.folder.path("proxies"))

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)

    def start_worker(self, name, first=0, *words):
        process = subprocess.Popen([sys.executable, "-B", self.folder.path("worker.py"), self.folder.name, name,
                                    str(first), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, env={})
        for pipe in (process.stdin, process.stdout):
            self.addCleanup(pipe.close)
        self.addCleanup(self.end, process)
        return process

    def diary(self):
        """Each that has come in: (its name, its place)."""
        return [tuple(line.split()) for line in self.folder.read("diary").decode().splitlines()]

    def wait_for_all_places(self, names):
        """From now on each of these works, and all places are used at once."""
        seen, until = len(self.diary()), time.monotonic() + PATIENCE
        while True:
            since = self.diary()[seen:]
            if {name for name, _ in since} >= set(names) and ("%d" % (CAPACITY - 1)) in {place for _, place in since}:
                return
            self.assertLess(time.monotonic(), until, f"of {names} there came since then: {since[-20:]}")
            time.sleep(0.01)

    def kill_inside(self, number, *before):
        """Kills a program that is in, by a permit of that daemon. `before` is killed first: if it is that daemon, the permit
        is not free until its lease ends."""
        worker = self.start_worker("stays", number, "stays")
        self.assertEqual(worker.stdout.readline(), "in\n")
        for process in (*before, worker):
            process.kill()
        for process in (*before, worker):
            process.wait(PATIENCE)

    def test_are_never_more_than_there_are_when_programs_and_daemons_are_killed(self):
        self.folder.write("diary", b"")
        workers = {name: self.start_worker(name) for name in ("one", "two", "three")}
        self.wait_for_all_places(workers)
        for number, name in enumerate(workers):
            self.kill_inside(number % len(self.proxies))
            self.end(workers[name])
            workers[name] = self.start_worker(name)
            self.wait_for_all_places(workers)
        for number, proxy in enumerate(list(self.proxies)):
            self.kill_inside(number, proxy.process)
            self.proxies[number] = self.new_proxy()
            self.tell_proxies()
            self.wait_for_all_places(workers)
        self.assertNotIn("None", {place for _, place in self.diary()}, "one came in where all places were taken")
        print(f"{len(self.diary())} permits", flush=True)
