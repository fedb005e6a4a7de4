# SPDX-License-Identifier: GPL-2.0-only
"""Helpers for all other packages: paths, processes, errors, terminal output."""
