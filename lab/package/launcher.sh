#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Says in plain words where the C library is too old for the program, or is another one; then becomes the program.
old=
file=$(readlink -f "$0") || file=$0
if found=$(getconf GNU_LIBC_VERSION 2>/dev/null); then
  found=${found#glibc }
  minor=${found#2.}
  minor=${minor%%[!0-9]*}
  [ "${minor:-0}" -ge @MINOR@ ] || old="$found"
else
  # Without getconf the loader of glibc is left to complain, but musl's would say that there is no such file.
  for loader in /lib/ld-musl-*; do
    [ ! -e "$loader" ] || old="musl"
  done
fi
if [ -n "$old" ]; then
  echo "penstock needs glibc 2.@MINOR@ or newer; this machine has $old" >&2
  exit 126
fi
exec "${file%/bin/*}/libexec/penstock" "$@"
