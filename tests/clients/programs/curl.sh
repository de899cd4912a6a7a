#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# curl.sh URL COUNT: so many curls at once, by the environment.
for number in $(seq "$2"); do
  curl --silent --show-error --fail "$1$number" &
done
wait
