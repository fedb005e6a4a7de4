# SPDX-License-Identifier: GPL-2.0-only
"""The subcommands, a module each: arguments, requests, and what is printed."""
