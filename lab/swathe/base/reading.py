# SPDX-License-Identifier: GPL-2.0-only
"""Read TOML and JSON into types; errors in a file become one sentence.

Each msgspec.Struct sets forbid_unknown_fields, so that a misspelt key is an error.
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
