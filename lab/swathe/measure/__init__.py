# SPDX-License-Identifier: GPL-2.0-only
"""Benches: the cost of reclaim in exact counts, stock and swathe."""
