# SPDX-License-Identifier: GPL-2.0-only
"""Run one command in a User Mode Linux kernel, on the host's files."""

import argparse
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

from . import console, prepare
from .config import LAB, LabError

TIMED_OUT = 124
COMPLAINTS = 4
DIED = 255


def say(text):
    print(f"uml-run: {text}", file=sys.stderr, flush=True)


def parser():
    top = argparse.ArgumentParser(
        prog="uml-run", description="Run a command in a User Mode Linux "
        "kernel, with this machine's files read-only under a tmpfs. The exit "
        "status is the command's; 4 when the kernel complained, 124 after "
        "the timeout, 255 when the kernel died.")
    top.add_argument("--timeout", type=float, default=600, metavar="SECONDS")
    top.add_argument("--mem", default="1G")
    top.add_argument("--kernel", default="uml",
                     help="a kind of kernel.sh, or a directory made by it")
    top.add_argument("--module", "--modules", dest="modules", action="append",
                     default=[], metavar="PATH",
                     help="a .ko file, or a directory with such, for modprobe")
    top.add_argument("--rdma", choices=("rxe", "siw", "none"), default="none",
                     help="make such a device on a veth, address 10.78.0.1")
    top.add_argument("--share", metavar="DIR",
                     help="host directory that is /lab, writable")
    top.add_argument("--env", action="append", default=[],
                     metavar="KEY=VALUE")
    top.add_argument("--cwd")
    top.add_argument("--append", default="", help="kernel parameters")
    top.add_argument("--log", metavar="FILE", help="keep the kernel log there")
    top.add_argument("--allow-complaints", action="store_true",
                     help="print what the kernel complains about, but do not "
                     "fail for it")
    top.add_argument("argv", nargs=argparse.REMAINDER,
                     metavar="-- command")
    return top


def facts_of(kernel):
    if "/" in kernel:
        path = pathlib.Path(kernel)
        text = (path / "facts" if path.is_dir() else path).read_text()
    else:
        result = subprocess.run([str(LAB / "kernel.sh"), "path", kernel],
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE)
        if result.returncode:
            raise LabError(f"no kernel '{kernel}'")
        text = result.stdout.decode()
    facts = dict(word.split("=", 1) for word in shlex.split(text))
    if facts["ARCH"] != "um":
        raise LabError(f"kernel '{kernel}' is not User Mode Linux")
    return facts


class UmlState:
    """The directory that the kernel sees as /run/uml."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.guest = self.path


def write_state(state, facts, args):
    tree = state.path / "lib/modules" / facts["KREL"]
    source = pathlib.Path(facts["MODROOT"]) / "lib/modules" / facts["KREL"]
    shutil.copytree(source, tree)
    if args.modules:
        prepare.install_modules(state, facts["KREL"], args.modules)
    shutil.copy(LAB / "uml-init.sh", state.path / "init")
    (state.path / "init").chmod(0o755)
    live = sorted({str(LAB.parent.parent), os.getcwd()} - {"/"})
    settings = {
        "UML_CWD": args.cwd or os.getcwd(),
        "UML_LIVE": " ".join(live),
        "UML_SHARE": os.path.abspath(args.share) if args.share else "",
        "UML_RDMA": args.rdma,
    }
    (state.path / "settings").write_text("".join(
        f"{k}={shlex.quote(v)}\n" for k, v in settings.items()))
    lines = ["export HOME=/root USER=root LANG=C.UTF-8 TMPDIR=/tmp"]
    for item in args.env:
        key, equals, value = item.partition("=")
        if not equals or not key.isidentifier():
            raise LabError(f"--env {item}: KEY=VALUE is wanted")
        lines.append(f"export {key}={shlex.quote(value)}")
    lines.append("exec " + shlex.join(args.argv))
    (state.path / "command").write_text("\n".join(lines) + "\n")


def boot(facts, state, args):
    """Run the kernel; True unless it had to be ended after the timeout."""
    with open(state.path / "kernel.log", "wb") as log:
        # tty0 is for the command, tty1 for the kernel's messages.
        command = [facts["IMAGE"], f"mem={args.mem}", "root=/dev/root",
                   "rootfstype=hostfs", "rootflags=/", "ro",
                   f"init={state.path}/init", f"uml.state={state.path}",
                   f"uml_dir={state.path}/", "umid=run", "con=null",
                   "con0=fd:0,fd:1", f"con1=null,fd:{log.fileno()}",
                   "console=tty1", "stderr=1", "loglevel=7", "panic=-1",
                   *args.append.split()]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                   stderr=log, pass_fds=[log.fileno()],
                                   start_new_session=True)
        try:
            process.wait(args.timeout)
            return True
        except subprocess.TimeoutExpired:
            return False
        finally:
            # Also its helper processes, and all of it after Ctrl-C.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def verdict(state, args, in_time):
    log = state.path / "kernel.log"
    if args.log:
        shutil.copy(log, args.log)
    reports = console.complaints(log)
    for report in reports:
        for line in report:
            print(f"kernel: {line}", file=sys.stderr)
    if not in_time:
        say(f"no end after {args.timeout:g} s; the kernel log ends with:")
        print(console.tail(log, 15), file=sys.stderr)
        return TIMED_OUT
    try:
        status = int((state.path / "status").read_text())
    except (FileNotFoundError, ValueError):
        say("the kernel ended before the command; its log ends with:")
        print(console.ending(log), file=sys.stderr)
        return DIED
    if status == 0 and reports and not args.allow_complaints:
        say(f"{len(reports)} kernel complaints")
        return COMPLAINTS
    return status


def main(argv):
    args = parser().parse_args(argv)
    if args.argv[:1] == ["--"]:
        args.argv = args.argv[1:]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if not args.argv:
            raise LabError("no command given")
        facts = facts_of(args.kernel)
        with tempfile.TemporaryDirectory(prefix="hcomm-uml-") as path:
            state = UmlState(path)
            write_state(state, facts, args)
            return verdict(state, args, boot(facts, state, args))
    except LabError as error:
        say(error)
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
