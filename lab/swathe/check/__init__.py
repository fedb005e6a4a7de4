# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the lab, of the hooks, and of kernels, correct ones and ones broken on purpose."""
