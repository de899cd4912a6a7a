#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Makes the Debian package and the tarball of a program that is built already, and a file with the digests of both; for
# another architecture the tarball alone.
#   package.py --build FOLDER [--to FOLDER] [--arch arm64]
"""What goes where is cmake/Install.cmake's; manual pages, completion and NOTICE are made here. The tree is gone at the end."""
import argparse
import glob
import hashlib
import os
import re
import shutil
import subprocess
import tempfile

import command_line
import completion
import manual
import tarball
from tree import ROOT, Tree, of_last_commit, read, said_by

DEBIAN = os.path.join(ROOT, "config/debian")
CONTAINED = ["libcli11-dev", "nlohmann-json3-dev", "node-llhttp"]  # compiled into the program
MAINTAINER = "Maintainer"
EMULATORS = {"arm64": ["qemu-aarch64"]}


def install(tree, build):
    subprocess.run(["cmake", "--install", build, "--component", "runtime", "--strip", "--prefix", tree.path("usr")],
                   stdout=subprocess.DEVNULL, check=True)
    os.remove(tree.path("usr/share/doc/penstock/LICENSE"))  # named by `copyright`
    shutil.move(tree.path("usr/lib/systemd"), tree.path("lib/systemd"))
    os.rmdir(tree.path("usr/lib"))
    schema = "/usr/share/penstock/config/penstock.schema.json"
    tree.write("etc/penstock/penstock.yaml", read("config/minimal.yaml").replace("penstock.schema.json", schema, 1))


def document(tree, runner, version, maintainer):
    commands = command_line.ask_all([*runner, tree.path("usr/bin/penstock")])
    for name, text in manual.pages(commands, version, read("docs/command-line.md"), read("config/reference.yaml")):
        tree.write_packed(f"usr/share/man/man{name[-1]}/{name}", text)
    tree.write("usr/share/bash-completion/completions/penstock", completion.bash(commands))
    tree.write("usr/share/zsh/vendor-completions/_penstock", completion.zsh(commands))
    tree.write("usr/share/fish/vendor_completions.d/penstock.fish", completion.fish(commands))
    tree.write("usr/share/doc/penstock/copyright", read("config/debian/copyright"))
    tree.write_packed("usr/share/doc/penstock/NOTICE", "\n".join(
        f"{package}\n{'=' * len(package)}\n{read(f'/usr/share/doc/{package}/copyright')}" for package in CONTAINED))
    tree.write_packed("usr/share/doc/penstock/changelog",
                      f"penstock ({version}) unstable; urgency=medium\n\n  * What has changed stands in CHANGELOG.md of the source.\n\n"
                      f" -- {maintainer}  {of_last_commit('%aD')}\n")


def control(tree, version, work):
    """The fields of the source's control file, with the libraries that the program is linked to."""
    os.makedirs(os.path.join(work, "debian"))
    shutil.copy(os.path.join(DEBIAN, "control"), os.path.join(work, "debian/control"))
    libraries = said_by("dpkg-shlibdeps", "-O", tree.path("usr/bin/penstock"), cwd=work).strip()
    architecture = said_by("dpkg", "--print-architecture").strip()
    source, binary = read("config/debian/control").strip().split("\n\n")
    binary = binary.replace("${shlibs:Depends}", libraries.removeprefix("shlibs:Depends="))
    binary = binary.replace("Architecture: any", f"Architecture: {architecture}")
    name, rest = binary.split("\n", 1)
    kept = [line for line in source.splitlines() if line.split(":")[0] in ("Section", "Priority", MAINTAINER)]
    size = sum(os.path.getsize(path) for path in tree.files()) // 1024
    return "\n".join([name, f"Version: {version}", *kept, f"Installed-Size: {size}", rest, ""]), architecture


def make_deb(tree, version, work, to):
    fields, architecture = control(tree, version, work)
    sums = said_by("md5sum", *sorted(os.path.relpath(path, tree.folder) for path in tree.files()
                                     if "/etc/" not in path), cwd=tree.folder)
    tree.write("DEBIAN/control", fields)
    tree.write("DEBIAN/md5sums", sums)
    tree.write("DEBIAN/conffiles", "/etc/penstock/penstock.yaml\n")
    for name in ("postinst", "prerm", "postrm"):
        tree.write(f"DEBIAN/{name}", read(f"config/debian/{name}"), 0o755)
    package = os.path.join(to, f"penstock_{version}_{architecture}.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree.folder, package],
                   stdout=subprocess.DEVNULL, check=True)
    return package


def write_sums(to, version):
    """Of all that is there of this version, whenever it was made."""
    path = os.path.join(to, "SHA256SUMS")
    with open(path, "w", encoding="ascii") as sums:
        for package in sorted(glob.glob(os.path.join(glob.escape(to), f"penstock_{version}_*"))):
            with open(package, "rb") as file:
                sums.write(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {os.path.basename(package)}\n")
    return path


def make(build, to, foreign):
    """The paths of the Debian package, the tarball and the digests. `foreign`: an architecture that QEMU plays, or none."""
    runner = EMULATORS[foreign] if foreign else []
    version = re.match(r"penstock (\S+)", said_by(*runner, os.path.join(build, "penstock"), "--version")).group(1)
    os.makedirs(to, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="penstock-package-") as work:
        tree = Tree(os.path.join(work, "tree"))
        os.makedirs(tree.folder)
        install(tree, build)
        document(tree, runner, version, re.search(rf"^{MAINTAINER}: (.+)", read("config/debian/control"), re.MULTILINE).group(1))
        made = [tarball.make(tree, version, work, to, foreign)]
        if not foreign:
            made.insert(0, make_deb(tree, version, work, to))
    return [*made, write_sums(to, version)]


if __name__ == "__main__":
    os.umask(0o022)
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--to", default=os.path.join(ROOT, "build/package"))
    parser.add_argument("--arch", choices=EMULATORS)
    given = parser.parse_args()
    print(*make(os.path.abspath(given.build), os.path.abspath(given.to), given.arch), sep="\n")
