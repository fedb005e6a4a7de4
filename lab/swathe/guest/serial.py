# SPDX-License-Identifier: GPL-2.0-only
"""Talk to a guest over its serial console, as a person at a terminal would.

Guests with an operating system of their own are used in this way; all other guests get a job
in an initramfs (session.py).
"""

import re
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from swathe.base.errors import VmLost
from swathe.guest import vm

# The kernel may print its messages after them.
LOGIN = re.compile(r"\w+ login: ")
PROMPT = re.compile(r"root@\w+:\S*# ")
PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
# The shell joins the two strings, so that the echo of the command does not match.
END, TYPED_END = "SWATHE-END", 'SWATHE""-END'
STATUS = re.compile(rf"{END} (\d+)\r?\n")
# No editing, colours, prompts, echo or kernel messages: what comes is the output of commands.
PLAIN = (
    "exec env TERM=dumb PS1= PAGER=cat "
    f"sh -c 'stty -echo -onlcr; dmesg -n 1; echo {TYPED_END} 0; exec sh'"
)
CODES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(\x07|\x1b\\)|[=>])")
PIECE = 1 << 16
POLL = 1.0
SEND_LIMIT = 120.0
ENDED = "the guest ended while its console was in use"


@dataclass(frozen=True)
class Answer:
    """What a command printed, its status, and how long it took."""

    command: str
    output: str
    status: int
    seconds: float


@dataclass
class SerialConsole:
    """The host's end of a guest's serial line."""

    line: socket.socket
    unread: str = ""
    text: list[str] = field(default_factory=list)

    def wait(self, pattern: re.Pattern[str], limit: float, what: str) -> str:
        """Return the text up to and with the match; raise if there is none in time."""
        end = time.monotonic() + limit
        while not (found := pattern.search(self.unread)):
            if panic := PANIC.search(self.unread):
                raise VmLost(f"the guest's kernel panicked: {panic[1].strip()}")
            if time.monotonic() > end:
                raise VmLost(f"the guest did not come to {what} within {limit:.0f} s")
            self.receive()
        before, self.unread = self.unread[: found.end()], self.unread[found.end() :]
        return before

    def receive(self) -> None:
        """Read what has come; wait a second at most."""
        self.line.settimeout(POLL)
        try:
            data = self.line.recv(PIECE)
        except TimeoutError:
            return
        except OSError:
            data = b""
        if not data:
            raise VmLost(ENDED)
        piece = data.decode(errors="replace")
        self.text.append(piece)
        self.unread += piece

    def send(self, text: str) -> None:
        self.line.settimeout(SEND_LIMIT)
        try:
            self.line.sendall(f"{text}\n".encode())
        except OSError as error:
            raise VmLost(ENDED) from error

    def log_in(self, limit: float) -> float:
        """Log in as root, who has no password; return the seconds until the login prompt."""
        begin = time.monotonic()
        self.wait(LOGIN, limit, "a login prompt")
        seconds = time.monotonic() - begin
        self.send("root")
        self.wait(PROMPT, limit, "a shell's prompt")
        self.send(PLAIN)
        self.wait(STATUS, limit, "a plain shell")
        return seconds

    def run(self, command: str, limit: float = 120) -> Answer:
        """Run a command in the guest's shell."""
        begin = time.monotonic()
        self.send(f"{command}; echo {TYPED_END} $?")
        text = self.wait(STATUS, limit, f"the end of {command}")
        status = STATUS.search(text)
        assert status
        output = CODES.sub("", text[: status.start()]).replace("\r\n", "\n")
        return Answer(command, output, int(status[1]), time.monotonic() - begin)


def connect(
    path: Path, child: subprocess.Popen[bytes], log: Path, limit: float = 120
) -> SerialConsole:
    """Connect to the socket that QEMU, which is the child, listens on; log has its messages."""
    end = time.monotonic() + limit
    line = socket.socket(socket.AF_UNIX)
    while True:
        try:
            line.connect(str(path))
            return SerialConsole(line)
        except OSError as error:
            if child.poll() is not None:
                raise vm.does_not_start(log) from error
            if time.monotonic() > end:
                raise VmLost(f"QEMU does not open the guest's console: {error}") from error
            time.sleep(0.1)
