# SPDX-License-Identifier: GPL-2.0-only
"""Expected failures. Each class stands for one exit status; the message is one sentence."""

import errno

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class SwatheError(Exception):
    """An expected failure: main() prints the message and exits with the status."""

    status = 1


class CheckFailed(SwatheError):
    """The requested check was done, and it failed."""

    status = 1


class UsageError(SwatheError):
    """The command line asks for something that does not exist."""

    status = 2


class EnvironmentLacks(SwatheError):
    """This machine lacks something; the message says what to do about it."""

    status = 3


class VmLost(SwatheError):
    """The guest crashed or hung, and gave no verdict."""

    status = 4
