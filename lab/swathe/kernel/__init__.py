# SPDX-License-Identifier: GPL-2.0-only
"""From a kernel's source to its image: fetch, hook, configure, compile."""
