# SPDX-License-Identifier: Apache-2.0
"""A folder that is to become a package, and what fills it. For the programs of this folder only."""

import gzip
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def said_by(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def of_last_commit(form):
    """In Git's words for a form: the changelog's and the archive's time, so that the same commit gives the same files."""
    return said_by("git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "log", "-1", f"--format={form}").strip()


class Tree:
    """What the package holds, below a folder."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def write_packed(self, name, text):
        """Without name and time, so that the same text gives the same file."""
        with open(self.path(name + ".gz"), "wb") as file:
            with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=file, mtime=0) as packed:
                packed.write(text.encode())

    def files(self):
        for folder, _, names in os.walk(self.folder):
            yield from (os.path.join(folder, name) for name in names)
