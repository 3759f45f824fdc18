# SPDX-License-Identifier: GPL-2.0-only
"""Frames: a header of three le32 (length, id, type), then the payload.

The same frames travel between the agent of a node and the daemon, and between
the daemon and a client that runs a command; agent.c is the far end.
"""

import struct

HEADER = struct.Struct("<III")
MAX_FRAME = 1 << 20

START = 1
STDIN = 2
SIGNAL = 3
READY = 16
STDOUT = 17
STDERR = 18
EXIT = 19
# Between client and daemon only; the payload is JSON, or text for an error.
REQUEST = 32
REPLY = 33
ERROR = 34


class WireError(Exception):
    """The other end sent something that is not a frame."""


def frame(kind, ident=0, payload=b""):
    return HEADER.pack(len(payload), ident, kind) + payload


def number_frame(kind, ident, number):
    return frame(kind, ident, struct.pack("<I", number))


def number(payload):
    return struct.unpack("<I", payload)[0]


def start_payload(argv, env, cwd, tty):
    """What the agent's split_start() takes apart."""
    words = ["t" if tty else "", cwd, str(len(env))]
    words += [f"{key}={value}" for key, value in env.items()]
    words += argv
    for word in words:
        if "\0" in word:
            raise WireError("a NUL character in a command or its environment")
    data = b"".join(w.encode(errors="surrogateescape") + b"\0" for w in words)
    if len(data) > MAX_FRAME:
        raise WireError("the command line and its environment are too long")
    return data


async def read_frame(reader):
    """Next (kind, ident, payload), or None at the end of the stream."""
    import asyncio
    try:
        head = await reader.readexactly(HEADER.size)
        length, ident, kind = HEADER.unpack(head)
        if length > MAX_FRAME:
            raise WireError(f"frame of {length} bytes")
        return kind, ident, await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def recv_exactly(sock, count):
    data = bytearray()
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            return None
        data += part
    return bytes(data)


def recv_frame(sock):
    """The blocking form of read_frame()."""
    try:
        head = recv_exactly(sock, HEADER.size)
        if head is None:
            return None
        length, ident, kind = HEADER.unpack(head)
        payload = recv_exactly(sock, length) if length else b""
    except ConnectionError:
        return None
    return None if payload is None else (kind, ident, payload)


def exit_code(wait_status):
    """Shell convention: 128 + signal for a death by signal."""
    if wait_status & 0x7F:
        return 128 + (wait_status & 0x7F)
    return (wait_status >> 8) & 0xFF
