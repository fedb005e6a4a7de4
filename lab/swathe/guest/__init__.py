# SPDX-License-Identifier: GPL-2.0-only
"""The virtual machine: its files, its end, and its output."""
