#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the program for arm64 and makes its tarball. Libraries of two architectures would get into each other's way on this
# machine, so all happens in a Debian 12 of its own under build/roots, kept by a digest of the lists of packages.
#   lab/package/cross.sh
# As root or with sudo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly kLists=(script/packages/build script/packages/package script/packages/cross)
root=build/roots/arm64-$(cat "${kLists[@]}" | sha256sum | cut -c-16)
half=build/roots/arm64.half
readonly root half

as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# Wherever this machine has its own packages from.
mirror() {
  # shellcheck disable=SC2016 # apt fills it in
  apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
    awk '$2 == "bookworm" && $3 == "main" { print $1; exit }'
}

# Runs a script inside a root, with the source as /src. The mount ends with the name space.
inside() {
  local folder=$1
  shift
  as_root unshare --mount sh -c 'mount --bind . "$1/src" && mount -t proc proc "$1/proc" && exec chroot "$@"' sh "$folder" \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=/src bash -ec "$@"
}

make_root() {
  as_root rm -rf build/roots/arm64*
  mkdir -p build/roots
  as_root env WGETRC="$PWD/lab/package/wgetrc" debootstrap --variant=minbase bookworm "$half" "$(mirror)" >/dev/null
  as_root mkdir "$half/src"
  inside "$half" '
    echo "Acquire::Retries \"5\";" >/etc/apt/apt.conf.d/80retries
    dpkg --add-architecture arm64
    apt-get -qq update
    native=() foreign=()
    # What the program is linked to is for arm64; compilers, other tools and headers alone are for this machine.
    while read -r package _; do
      [[ -z $package || $package == \#* || $package == g++ ]] && continue
      if [[ $package != *-dev ]] || apt-cache show "$package" | grep -q "^Architecture: all"; then
        native+=("$package")
      else
        foreign+=("$package:arm64")
      fi
    done < <(cd /src && cat "$@")
    apt-get -qq install -y --no-install-recommends "${native[@]}" "${foreign[@]}" >/tmp/apt.log 2>&1 || {
      cat /tmp/apt.log >&2
      exit 1
    }
  ' inside "${kLists[@]}"
  as_root mv "$half" "$root"
}

[[ -d $root ]] || make_root
inside "$root" '
  cd /src
  trap "chown -R $1 build/arm64 build/package" EXIT
  cmake --preset release --log-level=WARNING -B build/arm64 -DCMAKE_TOOLCHAIN_FILE=cmake/arm64.cmake -DPENSTOCK_TESTS=OFF >/dev/null
  cmake --build build/arm64 --parallel "$(nproc)" --target penstock
  python3 -B lab/package/package.py --build=build/arm64 --arch=arm64
' inside "$(id -u):$(id -g)"
