# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's port for debuggers, in GDB's remote protocol: stop a guest at a function, and write to it.

The packets are in GDB's manual, appendix "GDB Remote Serial Protocol".
"""

import re
import socket
from collections.abc import Callable

POLL = 0.05
PACKET = re.compile(rb"\$([^#]*)#..")
DONE = b"OK"
STOPPED = b"T"


class Gone(Exception):
    """QEMU ended, or the caller does not want to wait any longer."""


def options(line: int) -> list[str]:
    """Return QEMU's options: the guest waits for a debugger, who has the socket's other end."""
    return ["-S", "-chardev", f"socket,id=debugger,fd={line}", "-gdb", "chardev:debugger"]


class DebugPort:
    """The debugger's end of a socket pair; the guest has not begun to run.

    waits: asked again and again while nothing comes; False raises Gone
    """

    def __init__(self, line: socket.socket, waits: Callable[[], bool]) -> None:
        self.line = line
        self.line.settimeout(POLL)
        self.waits = waits
        self.heard = b""

    def run_to(self, address: int) -> None:
        """Let the guest run until a processor is about to execute the instruction there."""
        self.demand(f"Z1,{address:x},1", DONE)
        self.demand("c", STOPPED)
        self.demand(f"z1,{address:x},1", DONE)

    def write(self, address: int, data: bytes) -> None:
        self.demand(f"M{address:x},{len(data):x}:{data.hex()}", DONE)

    def leave(self) -> None:
        """Let the guest run on, without a debugger."""
        self.demand("D", DONE)

    def demand(self, request: str, begins: bytes) -> None:
        text = request.encode()
        self.say(b"$%b#%02x" % (text, sum(text) & 255))
        answer = self.answer()
        if not answer.startswith(begins):
            raise RuntimeError(f"QEMU answers {answer!r} to a debugger's {request}")

    def say(self, text: bytes) -> None:
        try:
            self.line.sendall(text)
        except ConnectionError:
            raise Gone from None

    def answer(self) -> bytes:
        while not (packet := PACKET.search(self.heard)):
            self.hear()
        self.heard = self.heard[packet.end() :]
        self.say(b"+")
        return packet[1]

    def hear(self) -> None:
        """Wait a moment for more of the answer."""
        try:
            more = self.line.recv(4096)
        except TimeoutError:
            if self.waits():
                return
            raise Gone from None
        except ConnectionError:
            raise Gone from None
        if not more:
            raise Gone
        self.heard += more
