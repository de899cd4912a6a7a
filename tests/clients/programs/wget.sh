#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wget.sh URL COUNT: so many wgets at once, by the environment.
for number in $(seq "$2"); do
  wget --quiet --tries=1 --output-document=- "$1$number" &
done
wait
