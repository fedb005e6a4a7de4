# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own tests, with swathe off and on."""
