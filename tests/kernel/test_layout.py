# SPDX-License-Identifier: GPL-2.0-only
"""Added lines are laid out as a semantic patch has them."""

import pytest

from swathe.kernel import layout

RULE = """\
@@
@@
f(...) {
- a();
+	/* Why. */
+	if (one &&
+	    two)
+		a();
+ b(c);
}
"""
BLOCK = "\t/* Why. */\n\tif (one &&\n\t    two)\n\t\ta();"


def test_lines_with_a_tab_are_blocks() -> None:
    assert list(layout.blocks(RULE)) == [BLOCK]
    assert list(layout.blocks("+again:\n+\n x\n+\ty\n")) == ["again:\n", "\ty"]


@pytest.mark.parametrize(
    "made",
    [
        "{\n\tx();/* Why. */\n if (one && two)a();\n\ty();\n}\n",
        "{\n\tx();\n\t/* Why.\n\t*/ if (one\n&& two) a();y();\n}\n".replace(
            "Why.\n\t*/", "Why. */"
        ),
        f"{{\n\tx();\n{BLOCK}\n\ty();\n}}\n",
    ],
)
def test_a_block_is_put_as_it_is_written(made: str) -> None:
    before = "{\n\tx();\n\ta();\n\ty();\n}\n"
    after = layout.as_written(RULE, before, made)
    assert after.replace("\ny();", "\n\ty();") == f"{{\n\tx();\n{BLOCK}\n\ty();\n}}\n"


def test_what_was_there_before_stays() -> None:
    before = "{\n  /* Why. */ if (one && two) a();\n\tz();\n}\n"
    assert layout.as_written(RULE, before, before.replace("z", "w")) == before.replace("z", "w")


def test_every_copy_of_a_block_is_laid_out() -> None:
    after = layout.as_written("+\tx =\n+\t\ty;\n", "{\n}\n{\n}\n", "{\nx = y;\n}\n{\nx=y;\n}\n")
    assert after == "{\n\tx =\n\t\ty;\n}\n{\n\tx =\n\t\ty;\n}\n"


def test_a_blank_line_at_an_end_is_the_only_one() -> None:
    after = layout.as_written("+\n+\tb();\n+\n", "a();\nc();\n", "a();\n\n\nb();\n\n\t\n\tc();\n")
    assert after == "a();\n\n\tb();\n\n\tc();\n"
