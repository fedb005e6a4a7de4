# SPDX-License-Identifier: GPL-2.0-only
"""The subcommands, one module each: it parses arguments, builds a request and prints results."""
