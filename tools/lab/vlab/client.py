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
        self.exit = None
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
        """Print what comes until the command ends; its exit status."""
        while True:
            got = wire.recv_frame(self.sock)
            if got is None:
                complain(f"node{self.node}: the lab went away")
                self.exit = LOST
                break
            kind, _, payload = got
            if kind in (wire.STDOUT, wire.STDERR):
                try:
                    printer.write(kind, payload)
                except BrokenPipeError:
                    self.exit = 128 + signal.SIGPIPE
                    break
            elif kind == wire.EXIT:
                self.exit = wire.exit_code(wire.number(payload))
                break
            elif kind == wire.ERROR:
                complain(payload.decode())
                self.exit = LOST
                break
        printer.finish()
        self.sock.close()


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
    threads = []
    for command in commands:
        printer = Printer(f"node{command.node}: " if prefixed else "")
        thread = threading.Thread(target=command.pump, args=(printer,),
                                  daemon=True)
        thread.start()
        threads.append(thread)
    if stdin:
        forward_stdin(commands)
    else:
        for command in commands:
            command.feed(b"")

    interrupts = 0
    deadline = time.monotonic() + timeout if timeout else None
    timed_out = False
    while any(t.is_alive() for t in threads):
        try:
            for thread in threads:
                thread.join(0.05 if len(threads) > 1 else 0.5)
            if deadline and time.monotonic() >= deadline:
                late = [c for c in commands if c.exit is None]
                if not timed_out and late:
                    names = ", ".join(f"node{c.node}" for c in late)
                    complain(f"no end after {timeout:g} s on {names}")
                    timed_out = True
                    deadline = time.monotonic() + GRACE
                    number = signal.SIGTERM
                else:
                    deadline = time.monotonic() + GRACE
                    number = signal.SIGKILL
                for command in late:
                    command.signal(number)
        except KeyboardInterrupt:
            interrupts += 1
            if interrupts > 1:
                raise
            for command in commands:
                command.signal(signal.SIGINT)
    if timed_out:
        return TIMED_OUT
    failed = [c for c in commands if c.exit]
    if len(nodes) > 1:
        for command in failed:
            complain(f"node{command.node}: exit status {command.exit}")
    return failed[0].exit if failed else 0
