# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the lab, of the hooks, and of kernels that are whole or broken on purpose."""
