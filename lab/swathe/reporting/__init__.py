# SPDX-License-Identifier: GPL-2.0-only
"""From kept figures to one page: figures -> content -> page and Markdown, plots beside."""
