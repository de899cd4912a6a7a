# SPDX-License-Identifier: Apache-2.0
# Filled in when the library is whole.
