# SPDX-License-Identifier: GPL-2.0-only
"""Failures that were foreseen. Each class is one exit status; the text is one sentence."""


class SwatheError(Exception):
    """A foreseen failure: the top level prints it and exits with its status."""

    status = 1


class CheckFailed(SwatheError):
    """What was asked was done, and the answer is no."""

    status = 1


class UsageError(SwatheError):
    """The command line asks for something that does not exist."""

    status = 2


class EnvironmentLacks(SwatheError):
    """This machine lacks something; the sentence says what to do about it."""

    status = 3


class VmLost(SwatheError):
    """The guest died or hung: there is no verdict, neither good nor bad."""

    status = 4
