# SPDX-License-Identifier: GPL-2.0-only
"""What everything else stands on: paths, processes, errors, what people see."""
