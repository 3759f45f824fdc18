# SPDX-License-Identifier: GPL-2.0-only
"""Kernel, modules, initramfs and agent for the guests.

What depends only on the kernel and on the lab's own files is made once and
kept in the cache; what belongs to one lab goes into its state directory.
"""

import contextlib
import fcntl
import gzip
import hashlib
import lzma
import os
import pathlib
import shlex
import shutil
import stat
import struct
import subprocess
import zlib

from .config import LAB, LabError, cache

# Needed to reach the root file system, in the initramfs.
BOOT_MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]
# What tests may want to load; with all they depend on. A kernel that has not
# got one of these, or has it built in, is fine.
GUEST_MODULES = BOOT_MODULES + [
    "virtio_net", "virtio_console", "virtio_rng",
    "ib_uverbs", "rdma_ucm", "ib_umad", "rdma_rxe", "siw", "ib_ipoib",
    "veth", "dummy", "bridge", "macvlan", "ipvlan", "ifb", "bonding", "tun",
    "vxlan", "8021q", "sch_netem", "sch_tbf", "sch_htb", "sch_prio",
    "sch_ingress", "cls_u32", "cls_matchall", "act_mirred", "act_police",
    "act_gact", "tcp_diag", "inet_diag", "udp_diag", "af_packet_diag",
    "nf_tables", "nft_ct", "nft_limit", "nft_log", "nft_reject_inet",
    "nft_counter", "ip_tables", "iptable_filter", "ip6table_filter",
    "xt_tcpudp", "xt_statistic", "xt_conntrack", "nft_compat",
    "crc32_generic", "crc32_pclmul", "crc32c_generic", "crc32c_intel",
    "sha256_generic", "sha256_ssse3", "hmac", "configfs",
    "ioatdma", "dmatest", "udmabuf", "msr", "cpuid", "loop", "fuse",
    "kunit", "test_kprobes", "tls", "tcp_bbr",
]


def say(text):
    import sys
    print(f"lab: {text}", file=sys.stderr, flush=True)


def run(argv, what):
    result = subprocess.run(argv, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        text = result.stdout.decode(errors="replace").strip()
        raise LabError(f"{what} failed:\n{text}")
    return result.stdout.decode(errors="replace")


@contextlib.contextmanager
def locked(name):
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def digest(*parts):
    state = hashlib.sha256()
    for part in parts:
        if isinstance(part, pathlib.Path):
            part = part.read_bytes()
        elif isinstance(part, str):
            part = part.encode()
        state.update(hashlib.sha256(part).digest())
    return state.hexdigest()[:12]


def kernel_facts(kernel):
    """Facts as kernel.sh prints them, of a kind or of a directory."""
    path = pathlib.Path(kernel)
    if "/" in kernel:
        path = path / "facts" if path.is_dir() else path
        try:
            text = path.read_text()
        except OSError as error:
            raise LabError(f"no kernel at {kernel}: {error.strerror}") from None
    else:
        command = [str(LAB / "kernel.sh"), "path", kernel]
        result = subprocess.run(command, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE)
        if result.returncode:
            raise LabError(f"no kernel '{kernel}' (stock-6.12, stock-6.1, "
                           "debug, or a path with a '/')")
        text = result.stdout.decode()
    facts = dict(word.split("=", 1) for word in shlex.split(text))
    if facts.get("ARCH") != "x86_64":
        raise LabError(f"kernel '{kernel}' does not run in a virtual machine")
    return facts


class Modules:
    """The modules of an installed kernel and what they depend on."""

    def __init__(self, facts):
        self.root = (pathlib.Path(facts["MODROOT"]) / "lib/modules" /
                     facts["KREL"])
        self.paths = {}
        self.needs = {}
        dep = self.root / "modules.dep"
        for line in dep.read_text().splitlines() if dep.exists() else []:
            path, _, needs = line.partition(":")
            name = self.name_of(path)
            self.paths[name] = path
            self.needs[name] = [self.name_of(n) for n in needs.split()]

    @staticmethod
    def name_of(path):
        return os.path.basename(path).split(".")[0].replace("-", "_")

    def closure(self, wanted):
        """Names in an order in which they can be loaded."""
        order = []
        for name in wanted:
            name = name.replace("-", "_")
            if name not in self.paths:
                continue
            for part in reversed([name] + self.needs[name]):
                if part not in order:
                    order.append(part)
        return order

    def content(self, name):
        path = self.root / self.paths[name]
        data = path.read_bytes()
        if path.suffix == ".xz":
            return lzma.decompress(data)
        if path.suffix == ".gz":
            return gzip.decompress(data)
        if path.suffix != ".ko":
            raise LabError(f"cannot unpack {path}")
        return data


class Cpio:
    """Writer of the archive format of an initramfs (newc)."""

    def __init__(self):
        self.data = bytearray()
        self.inode = 0

    def add(self, name, mode, content=b"", device=(0, 0)):
        self.inode += 1
        name = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(content), 0, 0,
                  device[0], device[1], len(name), 0)
        self.data += b"070701" + b"".join(b"%08X" % f for f in fields)
        self.data += name
        self.pad()
        self.data += content
        self.pad()

    def pad(self):
        self.data += b"\0" * (-len(self.data) % 4)

    def finish(self):
        self.add("TRAILER!!!", 0)
        return bytes(self.data)


def make_initramfs(modules):
    cpio = Cpio()
    for name in ("bin", "dev", "lib"):
        cpio.add(name, stat.S_IFDIR | 0o755)
    cpio.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    busybox = pathlib.Path("/bin/busybox").read_bytes()
    cpio.add("bin/busybox", stat.S_IFREG | 0o755, busybox)
    cpio.add("init", stat.S_IFREG | 0o755,
             (LAB / "initramfs.sh").read_bytes())
    names = modules.closure(BOOT_MODULES)
    for name in names:
        cpio.add(f"lib/{name}.ko", stat.S_IFREG | 0o644,
                 modules.content(name))
    cpio.add("modules", stat.S_IFREG | 0o644,
             "".join(f"{name}.ko\n" for name in names).encode())
    return cpio.finish()


def unpacked_kernel(image):
    """The ELF file inside a bzImage, or None.

    QEMU starts it directly when the kernel has an entry for that (PVH), which
    saves the guest from unpacking it, slow as that is under emulation.
    """
    data = image.read_bytes()
    offset, length = struct.unpack_from("<II", data, 0x248)
    start = ((data[0x1F1] or 4) + 1) * 512 + offset
    packed = data[start:start + length]
    if packed[:6] == b"\xfd7zXZ\0":
        elf = lzma.LZMADecompressor().decompress(packed)
    elif packed[:2] == b"\x1f\x8b":
        elf = zlib.decompressobj(31).decompress(packed)
    elif packed[:4] == b"\x28\xb5\x2f\xfd":
        # The length word after the stream makes zstd end with an error.
        elf = subprocess.run(["zstd", "-dcq"], input=packed[:-4],
                             stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout
    else:
        return None
    # XEN_ELFNOTE_PHYS32_ENTRY, owned by "Xen".
    note = struct.pack("<II", 4, 8) + struct.pack("<I", 18) + b"Xen\0"
    note4 = struct.pack("<III", 4, 4, 18) + b"Xen\0"
    if elf[:4] != b"\x7fELF" or (note not in elf and note4 not in elf):
        return None
    return elf


def guest_files(facts):
    """The cached part: initramfs and base module tree of one kernel."""
    modules = Modules(facts)
    key = digest(LAB / "initramfs.sh", pathlib.Path(__file__),
                 pathlib.Path("/bin/busybox"), facts["IMAGE"],
                 str(os.stat(facts["IMAGE"]).st_mtime_ns))
    directory = cache() / f"guest-{facts['KREL']}-{key}"
    with locked(directory.name):
        if directory.is_dir():
            return directory
        say(f"preparing {facts['KREL']} for the guests")
        fresh = directory.with_suffix(".tmp")
        shutil.rmtree(fresh, ignore_errors=True)
        tree = fresh / "lib/modules" / facts["KREL"]
        tree.mkdir(parents=True)
        for name in ("modules.order", "modules.builtin",
                     "modules.builtin.modinfo"):
            if (modules.root / name).exists():
                shutil.copy(modules.root / name, tree / name)
        for name in modules.closure(GUEST_MODULES):
            path = tree / modules.paths[name]
            path = path.with_name(path.name.split(".")[0] + ".ko")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(modules.content(name))
        (fresh / "initrd").write_bytes(make_initramfs(modules))
        elf = unpacked_kernel(pathlib.Path(facts["IMAGE"]))
        if elf:
            (fresh / "vmlinux").write_bytes(elf)
        run(["depmod", "-b", str(fresh), facts["KREL"]], "depmod")
        fresh.rename(directory)
    return directory


def compiled(source):
    """A helper program in C, compiled once per content."""
    key = digest(source)
    program = cache() / f"{source.stem}-{key}"
    with locked(program.name):
        if not program.exists():
            fresh = program.with_suffix(".tmp")
            run(["gcc", "-std=gnu11", "-O2", "-Wall", "-static", "-o",
                 str(fresh), str(source)], f"compiling {source.name}")
            fresh.rename(program)
    return program


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def extra_modules(paths):
    """The .ko files among files and directories that the user named."""
    found = {}
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            files = sorted(path.glob("**/*.ko"))
        else:
            files = [path]
        for file in files:
            if file.suffix != ".ko" or not file.is_file():
                raise LabError(f"{file} is not a kernel module")
            found[file.name] = file
        if not files:
            raise LabError(f"there is no .ko file in {path}")
    return found


def install_modules(state, krel, paths):
    """(Re)place the user's modules in the tree of a lab."""
    tree = state.guest / "lib/modules" / krel
    updates = tree / "updates"
    updates.mkdir(exist_ok=True)
    for name, file in extra_modules(paths).items():
        magic = run(["modinfo", "-F", "vermagic", str(file)],
                    f"modinfo {file}").split()
        if magic[:1] != [krel]:
            raise LabError(f"{file} is built for {' '.join(magic[:1])}, "
                           f"the lab runs {krel}")
        fresh = updates / f"{name}.tmp"
        shutil.copy2(file, fresh)
        fresh.rename(updates / name)
    run(["depmod", "-b", str(state.guest), krel], "depmod")


def prepare(state, config):
    facts = kernel_facts(config.kernel)
    base = guest_files(facts)
    config.krel = facts["KREL"]
    config.image = facts["IMAGE"]
    if (base / "vmlinux").exists():
        config.image = str(base / "vmlinux")
    config.initrd = str(base / "initrd")
    state.guest.mkdir()
    if config.share:
        state.share = pathlib.Path(config.share)
    state.share.mkdir(parents=True, exist_ok=True)
    shutil.copytree(base / "lib", state.guest / "lib",
                    copy_function=link_or_copy)
    # depmod rewrites these, and the cached ones are shared.
    for index in (state.guest / "lib/modules" / config.krel).glob("modules.*"):
        data = index.read_bytes()
        index.unlink()
        index.write_bytes(data)
    if config.modules:
        install_modules(state, config.krel, config.modules)
    shutil.copy2(compiled(LAB / "agent.c"), state.guest / "agent")
    shutil.copy2(LAB / "guest-setup.sh", state.guest / "setup")
    settings = {
        "LAB_NODES": config.nodes, "LAB_NICS": config.nics,
        "LAB_MTU": config.mtu, "LAB_RDMA": config.rdma,
        "LAB_NETEM": config.netem, "LAB_LOAD": " ".join(config.load),
        "LAB_LIVE": " ".join(config.live),
    }
    (state.guest / "settings").write_text("".join(
        f"{k}={shlex.quote(str(v))}\n" for k, v in settings.items()))
