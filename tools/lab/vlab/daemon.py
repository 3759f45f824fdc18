# SPDX-License-Identifier: GPL-2.0-only
"""The process that owns a running lab.

It starts the machines, hands frames to and fro between clients and agents,
and takes everything down at the end: on "lab down", on SIGTERM, or when
"lab up" goes away before it has taken the lab over. The machines die with it
(parent death signal), so that even killing it leaves no process behind.
"""

import asyncio
import ctypes
import json
import os
import signal
import socket
import time

from . import console, machine, prepare, wire
from .config import LAB

PR_SET_PDEATHSIG = 1
MAX_BUFFERED = 64 << 20
libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Session:
    """A command on a node and the client that waits for it."""

    def __init__(self, writer):
        self.writer = writer
        self.done = asyncio.Event()

    async def deliver(self, kind, payload):
        if self.writer.is_closing():
            return
        self.writer.write(wire.frame(kind, 0, payload))
        if self.writer.transport.get_write_buffer_size() > MAX_BUFFERED:
            await self.writer.drain()


class Node:
    def __init__(self, lab, index):
        self.lab = lab
        self.index = index
        self.process = None
        self.reader = self.writer = None
        self.sessions = {}
        self.last_id = 0
        self.state = "booting"
        self.boot_time = 0.0
        self.ready = asyncio.get_running_loop().create_future()

    async def start(self, net_fds):
        config, state = self.lab.config, self.lab.state
        ours, theirs = socket.socketpair()
        command = machine.command(config, state, self.index, theirs.fileno(),
                                  net_fds)
        log = open(state.path / f"qemu-{self.index}.log", "wb")
        with theirs, log:
            self.process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=log,
                stderr=log, pass_fds=[theirs.fileno()] + net_fds,
                preexec_fn=die_with_parent, start_new_session=True)
        self.reader, self.writer = await asyncio.open_connection(sock=ours)
        self.started = time.monotonic()
        self.tasks = [asyncio.create_task(self.serve()),
                      asyncio.create_task(self.watch())]

    async def serve(self):
        while True:
            got = await wire.read_frame(self.reader)
            if got is None:
                return
            kind, ident, payload = got
            if kind == wire.READY:
                self.boot_time = time.monotonic() - self.started
                status = wire.number(payload)
                self.state = "up" if status == 0 else "broken"
                if not self.ready.done():
                    self.ready.set_result(status)
                continue
            session = self.sessions.get(ident)
            if session is None:
                continue
            await session.deliver(kind, payload)
            if kind == wire.EXIT:
                del self.sessions[ident]
                session.done.set()

    async def watch(self):
        status = await self.process.wait()
        self.state = "dead"
        self.exit_status = status
        if not self.ready.done():
            self.ready.set_result(None)
        for session in list(self.sessions.values()):
            await session.deliver(wire.ERROR,
                                  b"the node died")
            session.done.set()
        self.sessions.clear()

    def send(self, data):
        if self.state != "dead":
            self.writer.write(data)

    async def run(self, request, reader, writer):
        """Serve a client that runs a command here."""
        if self.state not in ("up", "broken"):
            writer.write(wire.frame(
                wire.ERROR, 0, f"it is {self.state}".encode()))
            return
        self.last_id += 1
        ident = self.last_id
        session = self.sessions[ident] = Session(writer)
        self.send(wire.frame(wire.START, ident, wire.start_payload(
            request["argv"], request["env"], request["cwd"], request["tty"])))
        done = asyncio.create_task(session.done.wait())
        while True:
            frame = asyncio.create_task(wire.read_frame(reader))
            await asyncio.wait([frame, done],
                               return_when=asyncio.FIRST_COMPLETED)
            if done.done():
                frame.cancel()
                return
            got = frame.result()
            if got is None:
                # The client is gone: so goes the command.
                self.send(wire.number_frame(wire.SIGNAL, ident,
                                            signal.SIGKILL))
                done.cancel()
                return
            kind, _, payload = got
            self.send(wire.frame(kind, ident, payload))
            await self.writer.drain()

    async def stop(self):
        if self.process is None:
            return
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


class Lab:
    def __init__(self, state, config, up_fd):
        self.state = state
        self.config = config
        self.up = socket.socket(fileno=up_fd)
        self.nodes = []
        self.switches = []
        self.stopping = asyncio.Event()
        self.stopped = asyncio.Event()

    def network(self):
        """Sockets of every node for every segment: [node][nic].

        A switch process joins them, two nodes as well: it drops what a node does
        not take, where a pair of sockets would stall the other.
        """
        ends = [[] for _ in range(self.config.nodes)]
        for _ in range(self.config.nics):
            pairs = [socket.socketpair() for _ in range(self.config.nodes)]
            for node, pair in enumerate(pairs):
                ends[node].append(pair[0])
            self.switches.append([pair[1] for pair in pairs])
        return ends

    async def start_switches(self):
        program = prepare.compiled(LAB / "vswitch.c")
        for i, ports in enumerate(self.switches):
            fds = [port.fileno() for port in ports]
            self.switches[i] = await asyncio.create_subprocess_exec(
                str(program), *map(str, fds), pass_fds=fds,
                stdin=asyncio.subprocess.DEVNULL,
                preexec_fn=die_with_parent, start_new_session=True)
            for port in ports:
                port.close()

    def tell_up(self, **event):
        try:
            self.up.send(json.dumps(event).encode() + b"\n")
        except OSError:
            pass

    def why_not(self, node):
        """What is known about a node that did not come up."""
        text = console.ending(self.state.console(node.index))
        qemu = console.tail(self.state.path / f"qemu-{node.index}.log", 10)
        return "\n".join(part for part in (text, qemu) if part)

    async def boot(self, node):
        try:
            status = await asyncio.wait_for(asyncio.shield(node.ready),
                                            self.config.boot_timeout)
        except asyncio.TimeoutError:
            return (f"node{node.index} is not up after "
                    f"{self.config.boot_timeout:g} s")
        if status is None:
            return f"node{node.index} ended while booting"
        if status:
            return (f"node{node.index} came up, but its set-up failed "
                    f"(status {status})")
        self.tell_up(node=node.index, seconds=node.boot_time)
        return None

    async def boot_all(self):
        ends = self.network()
        await self.start_switches()
        for index in range(self.config.nodes):
            node = Node(self, index)
            self.nodes.append(node)
            await node.start([end.fileno() for end in ends[index]])
        for node in ends:
            for end in node:
                end.close()
        boots = {asyncio.create_task(self.boot(n)): n for n in self.nodes}
        rest = set(boots)
        while rest:
            done, rest = await asyncio.wait(
                rest, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if task.result():
                    self.tell_up(error=task.result(),
                                 log=self.why_not(boots[task]))
                    self.stopping.set()
                    return
        self.tell_up(up=True)

    def boot_ended(self, task):
        if not task.cancelled() and task.exception():
            self.tell_up(error=str(task.exception()), log="")
            self.stopping.set()

    async def takeover(self):
        """Ends the lab unless "lab up" takes it over."""
        loop = asyncio.get_running_loop()
        self.up.setblocking(False)
        try:
            data = await loop.sock_recv(self.up, 16)
        except OSError:
            data = b""
        if data != b"ok\n":
            self.stopping.set()
        self.up.close()

    async def client(self, reader, writer):
        try:
            got = await wire.read_frame(reader)
            if got is None or got[0] != wire.REQUEST:
                return
            request = json.loads(got[2])
            op = request["op"]
            if op == "run":
                await self.nodes[request["node"]].run(request, reader, writer)
            elif op == "status":
                self.reply(writer, [
                    {"node": n.index, "state": n.state,
                     "pid": n.process.pid, "boot": n.boot_time,
                     "commands": len(n.sessions)} for n in self.nodes])
            elif op == "kill":
                await self.nodes[request["node"]].stop()
                self.reply(writer, True)
            elif op == "down":
                self.stopping.set()
                await self.stopped.wait()
                self.reply(writer, True)
        except (wire.WireError, ConnectionError) as error:
            writer.write(wire.frame(wire.ERROR, 0, str(error).encode()))
        finally:
            try:
                await writer.drain()
                writer.close()
            except ConnectionError:
                pass

    @staticmethod
    def reply(writer, value):
        writer.write(wire.frame(wire.REPLY, 0, json.dumps(value).encode()))

    async def main(self):
        loop = asyncio.get_running_loop()
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(sig, self.stopping.set)
        server = await asyncio.start_unix_server(
            self.client, path=str(self.state.control))
        os.chmod(self.state.control, 0o600)
        takeover = asyncio.create_task(self.takeover())
        boot = asyncio.create_task(self.boot_all())
        boot.add_done_callback(self.boot_ended)
        try:
            await self.stopping.wait()
        finally:
            boot.cancel()
            takeover.cancel()
            await asyncio.gather(*(n.stop() for n in self.nodes))
            for switch in self.switches:
                if hasattr(switch, "kill"):
                    if switch.returncode is None:
                        switch.kill()
                    await switch.wait()
            self.state.remove()
            self.stopped.set()
            server.close()
            # Let the client that asked for it have its answer.
            await asyncio.sleep(0.05)


def main(state, config, up_fd):
    os.chdir("/")

    async def run():
        await Lab(state, config, up_fd).main()
    asyncio.run(run())
    return 0
