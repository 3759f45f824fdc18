# SPDX-License-Identifier: GPL-2.0-only
"""Talking to the daemon of a lab: starting it, and running commands."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from . import wire
from .config import LAB, LabError

TIMED_OUT = 124
LOST = 255
# After SIGTERM a command has this long before it is killed.
GRACE = 5


def connect(state):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.connect(str(state.control))
    except OSError:
        sock.close()
        raise LabError(f"there is no running lab '{state.path.name}' "
                       "(start one with: lab up)") from None
    return sock


def ask(state, **request):
    with connect(state) as sock:
        sock.sendall(wire.frame(wire.REQUEST, 0, json.dumps(request).encode()))
        got = wire.recv_frame(sock)
    if got is None:
        raise LabError("the lab went away")
    if got[0] == wire.ERROR:
        raise LabError(got[2].decode())
    return json.loads(got[2])


def spawn_daemon(state):
    """Start the daemon; returns it and our end of the start-up channel."""
    ours, theirs = socket.socketpair()
    # The daemon inherits the descriptor that holds the lab's lock.
    with theirs, open(state.daemon_log, "wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(LAB / "lab"), "--daemon", str(state.path),
             str(theirs.fileno())],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            pass_fds=[theirs.fileno(), state.lock_fd], start_new_session=True)
    return process, ours


def events(channel):
    """The events of a starting daemon, until it closes the channel."""
    with channel.makefile("rb") as stream:
        for line in stream:
            yield json.loads(line)


class Printer:
    """Output of one node: as it comes, or in whole lines with a prefix."""

    lock = threading.Lock()

    def __init__(self, prefix):
        self.prefix = prefix.encode()
        self.partial = {wire.STDOUT: b"", wire.STDERR: b""}

    @staticmethod
    def put(kind, data):
        fd = 1 if kind == wire.STDOUT else 2
        while data:
            data = data[os.write(fd, data):]

    def write(self, kind, data):
        if not self.prefix:
            self.put(kind, data)
            return
        lines = (self.partial[kind] + data).split(b"\n")
        self.partial[kind] = lines.pop()
        if lines:
            text = b"".join(self.prefix + line + b"\n" for line in lines)
            with self.lock:
                self.put(kind, text)

    def finish(self):
        for kind, rest in self.partial.items():
            if rest:
                with self.lock:
                    self.put(kind, self.prefix + rest + b"\n")


class Command:
    """A command running on a node."""

    def __init__(self, state, node, argv, env, cwd, tty=False):
        self.node = node
        self.lock = threading.Lock()
        self.sock = connect(state)
        self.exit = LOST
        self.ended = threading.Event()
        self.send(wire.frame(wire.REQUEST, 0, json.dumps({
            "op": "run", "node": node, "argv": argv, "env": env, "cwd": cwd,
            "tty": tty}).encode()))

    def send(self, data):
        try:
            with self.lock:
                self.sock.sendall(data)
        except OSError:
            pass    # the reader will see the end of the connection

    def signal(self, number):
        self.send(wire.number_frame(wire.SIGNAL, 0, number))

    def feed(self, data):
        self.send(wire.frame(wire.STDIN, 0, data))

    def pump(self, printer):
        """Print what comes until the command ends."""
        try:
            self.exit = self.receive(printer)
        except BrokenPipeError:
            self.exit = 128 + signal.SIGPIPE
        finally:
            self.sock.close()
            self.ended.set()

    def receive(self, printer):
        while True:
            got = wire.recv_frame(self.sock)
            kind, _, payload = got or (wire.ERROR, 0, b"the lab went away")
            if kind in (wire.STDOUT, wire.STDERR):
                printer.write(kind, payload)
                continue
            printer.finish()
            if kind == wire.EXIT:
                return wire.exit_code(wire.number(payload))
            complain(f"node{self.node}: {payload.decode()}")
            return LOST


def complain(text):
    print(f"lab: {text}", file=sys.stderr, flush=True)


def forward_stdin(commands):
    def loop():
        while True:
            data = os.read(0, 65536)
            for command in commands:
                command.feed(data)
            if not data:
                return
    threading.Thread(target=loop, daemon=True).start()


def run(state, nodes, argv, env_of, cwd, timeout=0, quiet=False, stdin=False,
        tty=False):
    """Run argv on nodes at once; the exit status of the first that failed."""
    commands = [Command(state, n, argv, env_of(n), cwd, tty) for n in nodes]
    prefixed = len(nodes) > 1 and not quiet
    for command in commands:
        printer = Printer(f"node{command.node}: " if prefixed else "")
        threading.Thread(target=command.pump, args=(printer,),
                         daemon=True).start()
    if stdin:
        forward_stdin(commands)
    else:
        for command in commands:
            command.feed(b"")

    # After the timeout: ask, then force, then give a hung node up.
    steps = [signal.SIGTERM, signal.SIGKILL, None]
    deadline = time.monotonic() + timeout if timeout else None
    timed_out = interrupted = False
    while True:
        late = [c for c in commands if not c.ended.is_set()]
        if not late:
            break
        try:
            late[0].ended.wait(0.5)
            if not deadline or time.monotonic() < deadline:
                continue
            late = [c for c in late if not c.ended.is_set()]
            step = steps.pop(0)
            if late and not timed_out:
                names = ", ".join(f"node{c.node}" for c in late)
                complain(f"no end after {timeout:g} s on {names}")
                timed_out = True
            if step is None:
                break
            for command in late:
                command.signal(step)
            deadline = time.monotonic() + GRACE
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            for command in commands:
                command.signal(signal.SIGINT)
    if timed_out:
        return TIMED_OUT
    failed = [c for c in commands if c.exit]
    if len(nodes) > 1:
        for command in failed:
            complain(f"node{command.node}: exit status {command.exit}")
    return failed[0].exit if failed else 0
