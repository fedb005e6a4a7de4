# SPDX-License-Identifier: GPL-2.0-only
"""Make matplotlib's SVG part of a page: its colours, its font, own ids, title, description."""

import re
import xml.etree.ElementTree as ET

from swathe.reporting.compare import NEWEST, PRISTINE, STOCK, SWATHE

SVG = "http://www.w3.org/2000/svg"
XLINK = "{http://www.w3.org/1999/xlink}"
XML = "{http://www.w3.org/XML/1998/namespace}"

# Stand-ins that matplotlib takes for colours. Never black: it leaves that out.
INK, FAINT, GRID, PAPER = "#010101", "#010102", "#010103", "#010104"
FILLS = {PRISTINE: "#010201", STOCK: "#010202", NEWEST: "#010203", SWATHE: "#010204"}
STROKES = {PRISTINE: "#010301", STOCK: "#010302", NEWEST: "#010303", SWATHE: "#010304"}
LAYERS = tuple(f"#0104{number:02x}" for number in range(1, 12))
NAMES = {PRISTINE: "pristine", STOCK: "stock", NEWEST: "newest", SWATHE: "swathe"}

VARIABLES = {
    INK: "var(--ink)",
    FAINT: "var(--faint)",
    GRID: "var(--grid)",
    PAPER: "var(--paper)",
    **{color: f"var(--fill-{NAMES[config]})" for config, color in FILLS.items()},
    **{color: f"var(--stroke-{NAMES[config]})" for config, color in STROKES.items()},
    **{color: f"var(--layer-{number})" for number, color in enumerate(LAYERS, 1)},
}
COLOR = re.compile("|".join(VARIABLES))
FONT = re.compile(r"(font-family:|font: [^;]*?\d+(?:\.\d+)?px) [^;]*")
REFERENCE = re.compile(r"url\(#([^)]+)\)")


def inline(text: str, name: str, title: str, description: str) -> str:
    """For an HTML page: no namespaces, and nothing that another plot could also define."""
    return serialize(cleaned(text, name, title, description))


def standalone(text: str, name: str, title: str, description: str, style: str) -> str:
    """For a file of its own, with the page's variables in it and its own background."""
    root = cleaned(text, name, title, description)
    root.set("xmlns", SVG)
    sheet = ET.Element("style")
    sheet.text = style
    paper = ET.Element("rect", width="100%", height="100%", style="fill: var(--paper)")
    root.insert(2, sheet)
    root.insert(3, paper)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{serialize(root)}\n'


def serialize(root: ET.Element) -> str:
    return ET.tostring(root, encoding="unicode")


def cleaned(text: str, name: str, title: str, description: str) -> ET.Element:
    root = ET.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{{{SVG}}}metadata":
                parent.remove(child)
    referenced = references(root)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        clean_attributes(element, name, referenced)
    label(root, name, title, description)
    return root


def references(root: ET.Element) -> set[str]:
    """The ids that something points to."""
    found = set()
    for element in root.iter():
        for attribute, value in element.attrib.items():
            found.update(REFERENCE.findall(value))
            if attribute.endswith("href"):
                found.add(value.removeprefix("#"))
    return found


def clean_attributes(element: ET.Element, name: str, referenced: set[str]) -> None:
    """Ids get the plot's name before them, or go; colours and font become the page's."""
    for attribute, value in list(element.attrib.items()):
        del element.attrib[attribute]
        if attribute.startswith(XML) or attribute == "version":
            continue
        if attribute == "id":
            if value in referenced:
                element.set("id", f"{name}-{value}")
        elif attribute in (f"{XLINK}href", "href"):
            element.set("href", f"#{name}-{value.removeprefix('#')}")
        else:
            element.set(attribute, themed(value, name))


def themed(value: str, name: str) -> str:
    value = COLOR.sub(lambda match: VARIABLES[match[0]], value)
    value = FONT.sub(r"\1 var(--font)", value)
    return REFERENCE.sub(rf"url(#{name}-\1)", value)


def label(root: ET.Element, name: str, title: str, description: str) -> None:
    """What those hear who do not see it."""
    for index, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(tag, id=f"{name}-{tag}")
        element.text = text
        root.insert(index, element)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    root.set("width", root.get("viewBox", "0 0 360 0").split()[2])
    root.set("height", root.get("viewBox", "0 0 0 240").split()[3])
