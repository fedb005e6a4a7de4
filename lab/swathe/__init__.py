# SPDX-License-Identifier: GPL-2.0-only
"""The lab around mm/unmap: fetch, hook, build, boot, test and measure a kernel.

Packages import only what stands below them; tests/test_structure.py has their order.
"""
