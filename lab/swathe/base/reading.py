# SPDX-License-Identifier: GPL-2.0-only
"""Read TOML and JSON into types: what is wrong with a file is said in one sentence.

A msgspec.Struct with forbid_unknown_fields refuses keys that it does not have: a misspelt one
would do nothing.
"""

import tomllib
from typing import TypeVar

import msgspec

from swathe.base.errors import CheckFailed

T = TypeVar("T")


def convert(data: object, kind: type[T], where: str) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise CheckFailed(f"{where}: {error}") from error


def toml(text: str, where: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CheckFailed(f"{where} is not TOML: {error}") from error


def json(text: str, kind: type[T], where: str) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise CheckFailed(f"{where}: {error}") from error
