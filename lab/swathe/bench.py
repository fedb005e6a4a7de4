# SPDX-License-Identifier: GPL-2.0-only
"""To come."""

import argparse


def set_argparser(parser: argparse.ArgumentParser) -> None:
    pass


def main(args: argparse.Namespace) -> int:
    return 0
