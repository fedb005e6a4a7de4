# SPDX-License-Identifier: GPL-2.0-only
"""Make a kernel image from source: fetch, hook, configure, compile."""
