# SPDX-License-Identifier: GPL-2.0-only
"""What a lab consists of, and where its state is kept."""

import dataclasses
import fcntl
import json
import os
import pathlib
import shutil
import tempfile

LAB = pathlib.Path(__file__).resolve().parent.parent
MAX_NODES = 64
MAX_NICS = 8


class LabError(Exception):
    """Something the user has to be told; ends the command."""


@dataclasses.dataclass
class Config:
    name: str
    nodes: int = 2
    cpus: int = 2
    mem: int = 2048                # MiB per node
    kernel: str = "stock-6.12"
    numa: int = 1
    nics: int = 1
    mtu: int = 9000
    rdma: str = "rxe"
    netem: str = ""
    hugepages: int = 0
    append: str = ""
    accel: str = "tcg"
    modules: list = dataclasses.field(default_factory=list)
    load: list = dataclasses.field(default_factory=list)
    live: list = dataclasses.field(default_factory=list)
    share: str = ""
    boot_timeout: float = 300
    # Filled in by prepare.py
    krel: str = ""
    image: str = ""
    initrd: str = ""

    def address(self, node, nic=0):
        return f"10.77.{nic}.{node + 1}"

    def mac(self, node, nic):
        return f"52:54:00:77:{nic:02x}:{node + 1:02x}"


class State:
    """The directory of one lab.

    Whoever holds the lock on its "lock" file owns the lab: first the command
    that sets it up, then the daemon. A directory without an owner is what a
    killed lab left behind, and may be removed by anyone.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path).absolute()
        self.share = self.path / "share"
        self.guest = self.path / "guest"
        self.control = self.path / "control"
        self.config_file = self.path / "lab.json"
        self.daemon_log = self.path / "daemon.log"
        self.lock_fd = -1

    def console(self, node):
        return self.path / f"console-{node}.log"

    def lock(self):
        """Become the owner; False when somebody else is."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o755)
        fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC,
                     0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        # The directory may have been removed between open and lock.
        try:
            same = os.stat(self.path / "lock").st_ino == os.fstat(fd).st_ino
        except FileNotFoundError:
            same = False
        if not same:
            os.close(fd)
            return self.lock()
        self.lock_fd = fd
        return True

    def unlock(self):
        if self.lock_fd >= 0:
            os.close(self.lock_fd)
            self.lock_fd = -1

    def owned(self):
        """True while a process owns the lab."""
        try:
            fd = os.open(self.path / "lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(fd)

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)
        try:
            self.path.parent.rmdir() if self.path.parent == base() else None
        except OSError:
            pass    # other labs are there

    def save(self, config):
        self.config_file.write_text(
            json.dumps(dataclasses.asdict(config), indent=1) + "\n")

    def load(self):
        try:
            return Config(**json.loads(self.config_file.read_text()))
        except FileNotFoundError:
            raise LabError(f"there is no lab '{self.path.name}' "
                           "(start one with: lab up)") from None


def base():
    return pathlib.Path(tempfile.gettempdir()) / f"hcomm-lab-{os.getuid()}"


def state_of(name, directory):
    if directory:
        return State(directory)
    if not name or "/" in name or name.startswith("."):
        raise LabError(f"'{name}' is no name for a lab")
    return State(base() / name)


def cache():
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(root) / "hcomm"
