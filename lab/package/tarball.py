# SPDX-License-Identifier: Apache-2.0
"""The tarball: the program with its libraries, but for those of glibc, each with its licence. For the programs of this
folder only."""

import os
import re
import shutil
import subprocess

from tree import Tree, of_last_commit, read, said_by

LICENCES = "/usr/share/common-licenses/"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
C_LIBRARY = "libc6"


def needed_by(path):
    """The names of the shared libraries that a file asks for itself."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", said_by("readelf", "--dynamic", path))


def owners(folder):
    """The package of each library in a folder. dpkg knows a file by the name under which it was unpacked: with /usr or without."""
    told = subprocess.run(["dpkg-query", "--search", f"{folder}/*.so.*", f"{folder.removeprefix('/usr')}/*.so.*"],
                          capture_output=True, text=True, check=False).stdout
    rows = [re.fullmatch(r"([^:, ]+)(?::\w+)?: (/.+)", line) for line in told.splitlines()]
    return {os.path.basename(row.group(2)): row.group(1) for row in rows if row and row.group(2).count("/") <= folder.count("/") + 1}


def libraries(program, architecture):
    """Name, path and package of each library that the program needs, itself or by another one."""
    folder = "/usr/lib/" + said_by("dpkg-architecture", "--host-arch", architecture, "--query", "DEB_HOST_MULTIARCH").strip()
    owned = owners(folder)
    found, waiting = {}, needed_by(program)
    while waiting:
        name = waiting.pop()
        if name in found or name.startswith("ld-linux"):
            continue
        found[name] = (os.path.join(folder, name), owned[name])
        if owned[name] != C_LIBRARY:
            waiting += needed_by(found[name][0])
    return [(name, *where) for name, where in sorted(found.items()) if where[1] != C_LIBRARY]


def bring(tree, program, brought):
    """Files find each other from where they are, wherever that is."""
    shutil.move(program, tree.path("libexec/penstock"))
    for name, path, _ in brought:
        shutil.copyfile(path, tree.path(f"lib/{name}"))
        os.chmod(tree.path(f"lib/{name}"), 0o644)
    files = [tree.path("libexec/penstock"), *[tree.path(f"lib/{name}") for name, _, _ in brought]]
    for path in files:
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN/../lib", path], check=True)
    return max(int(minor) for path in files for minor in re.findall(r"Name: GLIBC_2\.(\d+)", said_by("readelf", "-VW", path)))


def add_licences(tree, packages, architecture):
    """Of each package its own, and those common ones that it only names."""
    for package in packages:
        text = read(f"/usr/share/doc/{package}/copyright")
        tree.write(f"share/doc/{package}/copyright", text)
        for name in re.findall(rf"{LICENCES}([\w.+-]*\w)", text):
            shutil.copyfile(LICENCES + name, tree.path(f"share/common-licenses/{name}"))
    tree.write("share/doc/penstock/LIBRARIES", "".join(
        said_by("dpkg-query", "--show", "--showformat", "${Package} ${Version} (source: ${source:Package} ${source:Version})\n", f"{package}:{architecture}")
        for package in packages))


def make(installed, version, work, to, foreign):
    """`installed`: the tree of the Debian package, of which this one is made; it stays as it is. `foreign`: as in package.py."""
    architecture = foreign or said_by("dpkg", "--print-architecture").strip()
    machine = MACHINES[architecture]
    top = f"penstock-{version}"
    tree = Tree(os.path.join(work, top))
    shutil.copytree(installed.path("usr"), tree.folder)
    shutil.copytree(installed.path("lib/systemd/system"), tree.path("share/penstock/systemd"))
    brought = libraries(tree.path("bin/penstock"), architecture)
    minor = bring(tree, tree.path("bin/penstock"), brought)
    add_licences(tree, sorted({package for _, _, package in brought}), architecture)
    tree.write("LICENSE", read("LICENSE"))
    fill = {"@VERSION@": version, "@MACHINE@": machine, "@MINOR@": str(minor)}
    for name, source, mode in (("bin/penstock", "launcher.sh", 0o755), ("README.txt", "readme.txt", 0o644)):
        tree.write(name, re.sub("|".join(fill), lambda found: fill[found.group()], read(f"lab/package/{source}")), mode)
    path = os.path.join(to, f"penstock_{version}_linux-{machine}.tar.gz")
    with open(path, "wb") as file:
        pack = subprocess.Popen(["tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", f"--mtime={of_last_commit('%aI')}",
                                 "-C", work, "-cf", "-", top], stdout=subprocess.PIPE)
        subprocess.run(["gzip", "-9", "--no-name"], stdin=pack.stdout, stdout=file, check=True)
        pack.stdout.close()
        if pack.wait() != 0:
            raise SystemExit("tar failed")
    return path
