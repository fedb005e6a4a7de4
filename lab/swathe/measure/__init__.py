# SPDX-License-Identifier: GPL-2.0-only
"""Benches: exact counts of what reclaim costs, stock beside swathe."""
