# SPDX-License-Identifier: GPL-2.0-only
"""A virtual machine: what is in it, how it ends, and what it said."""
