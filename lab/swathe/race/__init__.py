# SPDX-License-Identifier: GPL-2.0-only
"""Races that are arranged: scenes, and the gates that a QEMU plugin closes in them."""
