# SPDX-License-Identifier: GPL-2.0-only
"""The command line of the lab."""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import termios
import time
import tty

from . import client, console, daemon, machine, prepare
from .config import (Config, LabError, LAB, MAX_NICS, MAX_NODES, base,
                     state_of)

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def say(text):
    print(f"lab: {text}", file=sys.stderr, flush=True)


def number(low, high):
    def parse(text):
        value = int(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"not within {low} .. {high}")
        return value
    return parse


def megabytes(text):
    units = {"M": 1, "G": 1024}
    scale = units.get(text[-1:].upper(), 0)
    value = int(text[:-1]) * scale if scale else int(text)
    if not 256 <= value <= 1 << 20:
        raise argparse.ArgumentTypeError("not within 256M .. 1024G")
    return value


def netem_of(args):
    words = []
    for option in ("rate", "delay", "loss"):
        if getattr(args, option):
            words += [option, getattr(args, option)]
    return " ".join(words + ([args.netem] if args.netem else []))


def live_directories(extra):
    """Where guests see the host's changes: the project, and what is asked."""
    found = [LAB.parent.parent]
    for path in map(pathlib.Path, extra):
        if not path.is_dir():
            raise LabError(f"--live {path}: no such directory")
        found.append(path.resolve())
    for path in found:
        if len(str(path).split()) != 1:
            raise LabError(f"'{path}': no spaces, please")
    return sorted({str(p) for p in found})


def config_of(args):
    accel = args.accel
    if accel == "auto":
        accel = "kvm" if machine.kvm_usable() else "tcg"
    if args.numa > args.cpus:
        raise LabError("--numa: there must be a CPU for every NUMA node")
    return Config(
        name=args.name, nodes=args.nodes, cpus=args.cpus, mem=args.mem,
        kernel=args.kernel, numa=args.numa, nics=args.nics, mtu=args.mtu,
        rdma=args.rdma, netem=netem_of(args), hugepages=args.hugepages,
        append=args.append, accel=accel,
        modules=[os.path.abspath(m) for m in args.modules],
        load=args.load, live=live_directories(args.live),
        share=os.path.abspath(args.share) if args.share else "",
        boot_timeout=args.boot_timeout)


def watch_boot(state, config, process, channel):
    """Report the start of the nodes; raises when one does not come up."""
    began = time.monotonic()
    for event in client.events(channel):
        if "error" in event:
            log = event["log"]
            text = event["error"]
            if log:
                text += "; its console ends with:\n" + log
            # Nothing is left when the error is printed.
            process.wait()
            raise LabError(text)
        if "up" in event:
            channel.sendall(b"ok\n")
            say(f"{config.nodes} nodes up after "
                f"{time.monotonic() - began:.1f} s ({config.krel}, "
                f"{config.accel})")
            return
        say(f"node{event['node']} up after {event['seconds']:.1f} s")
    process.wait()
    raise LabError("the lab's daemon ended:\n" +
                   console.read(state.daemon_log))


def command_up(args, state):
    if len(str(state.control)) > 100:
        raise LabError(f"{state.path}: the path is too long for a socket")
    if not state.lock():
        raise LabError(f"lab '{state.path.name}' is already up "
                       "(take it down with: lab down)")
    # What a killed lab left; a directory of something else is not touched.
    known = {"lock", "lab.json", "share", "guest", "control", "daemon.log"}
    for entry in list(state.path.iterdir()):
        if entry.name not in known and \
           not entry.name.startswith(("console-", "qemu-")):
            state.unlock()
            raise LabError(f"{state.path} holds other files")
    for entry in list(state.path.iterdir()):
        if entry.name == "lock":
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    process = None
    try:
        subprocess.run([str(LAB / "deps.sh"), "lab"], check=True)
        config = config_of(args)
        prepare.prepare(state, config)
        state.save(config)
        say(f"booting {config.nodes} nodes with {config.cpus} CPUs, "
            f"{config.mem} MiB each")
        process, channel = client.spawn_daemon(state)
        with channel:
            watch_boot(state, config, process, channel)
    except BaseException as error:
        if process:
            process.wait()
        state.remove()
        if isinstance(error, subprocess.CalledProcessError):
            raise LabError("packages are missing") from None
        raise
    finally:
        state.unlock()
    return 0


def environment(config, state, node, extra):
    env = {"PATH": PATH, "HOME": "/root", "USER": "root", "LOGNAME": "root",
           "SHELL": "/bin/bash", "TERM": os.environ.get("TERM", "dumb"),
           "LANG": "C.UTF-8", "TMPDIR": "/tmp",
           "LAB_NAME": config.name, "LAB_NODE": str(node),
           "LAB_NODES": str(config.nodes),
           "LAB_ADDR": config.address(node),
           "LAB_ADDRS": " ".join(config.address(i)
                                 for i in range(config.nodes))}
    for item in extra:
        key, equals, value = item.partition("=")
        if not equals:
            raise LabError(f"--env {item}: KEY=VALUE is wanted")
        env[key] = value
    return env


def guest_directory(state, config, wanted):
    """Where a command starts: here, if the guest sees the same files here."""
    if wanted:
        return wanted
    here = os.getcwd()
    hidden = ("/tmp", "/run", "/dev", "/proc", "/sys")
    if any(here == h or here.startswith(h + "/") for h in hidden) and \
       not any(here == l or here.startswith(l + "/") for l in config.live):
        return "/"
    return here


def check_node(config, node):
    if not 0 <= node < config.nodes:
        raise LabError(f"there is no node {node}, the lab has "
                       f"{config.nodes} nodes (from 0)")


def new_complaints(state, config, offsets):
    """Print what the kernels complained about after offsets; how many."""
    count = 0
    for node in range(config.nodes):
        for report in console.complaints(state.console(node), offsets[node]):
            count += 1
            for line in report:
                print(f"node{node} kernel: {line}", file=sys.stderr)
    return count


def command_run(args, state):
    config = state.load()
    if not args.argv:
        raise LabError("no command given")
    if args.all:
        nodes = list(range(config.nodes))
    else:
        check_node(config, args.node)
        nodes = [args.node]
    env = {n: environment(config, state, n, args.env) for n in nodes}
    offsets = [console.size(state.console(n)) for n in range(config.nodes)]
    status = client.run(state, nodes, args.argv, env.get,
                        guest_directory(state, config, args.cwd),
                        args.timeout, args.quiet, args.stdin)
    new_complaints(state, config, offsets)
    return status


def command_shell(args, state):
    config = state.load()
    check_node(config, args.node)
    if not os.isatty(0):
        raise LabError("shell: standard input is no terminal")
    size = os.get_terminal_size(0)
    argv = ["bash", "-c", f"stty rows {size.lines} cols {size.columns}; "
            "exec bash -i"]
    saved = termios.tcgetattr(0)
    try:
        tty.setraw(0)
        return client.run(state, [args.node], argv,
                          lambda n: environment(config, state, n, args.env),
                          guest_directory(state, config, args.cwd),
                          stdin=True, tty=True)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, saved)


def command_status(args, state):
    if args.everything:
        found = sorted(base().glob("*/lock"))
        for lock in found:
            other = state_of(lock.parent.name, None)
            print(f"{lock.parent.name}: "
                  f"{'up' if other.owned() else 'dead'}")
        return 0
    config = state.load()
    nodes = client.ask(state, op="status")
    print(f"lab {config.name}: {config.krel}, {config.accel}, "
          f"{config.nodes} nodes, {config.cpus} CPUs, {config.mem} MiB, "
          f"{config.numa} NUMA, {config.nics} NICs, MTU {config.mtu}, "
          f"{config.rdma}{', ' + config.netem if config.netem else ''}")
    print(f"state {state.path}, /lab is {config.share or state.share}")
    for node in nodes:
        print(f"node{node['node']}: {node['state']}, pid {node['pid']}, "
              f"booted in {node['boot']:.1f} s, "
              f"{node['commands']} commands running")
    return 0 if all(n["state"] == "up" for n in nodes) else 1


def command_console(args, state):
    config = state.load()
    check_node(config, args.node)
    path = state.console(args.node)
    if not args.follow:
        sys.stdout.write(console.read(path))
        return 0
    with open(path, "rb") as log:
        while state.owned():
            sys.stdout.write(console.clean(log.read()))
            sys.stdout.flush()
            time.sleep(0.3)
    return 0


def command_dmesg(args, state):
    args.argv = ["dmesg"]
    args.env, args.cwd, args.timeout = [], "/", 60
    args.quiet = args.stdin = False
    return command_run(args, state)


def command_modules(args, state):
    config = state.load()
    prepare.install_modules(state, config.krel, args.files)
    return 0


def command_check_log(args, state):
    config = state.load()
    found = new_complaints(state, config, [0] * config.nodes)
    if found:
        say(f"{found} kernel complaints")
    return 1 if found else 0


def command_kill(args, state):
    check_node(state.load(), args.node)
    client.ask(state, op="kill", node=args.node)
    return 0


def command_down(args, state):
    if not state.owned():
        if state.config_file.exists() or (state.path / "lock").exists():
            say(f"removing what lab '{state.path.name}' left behind")
            state.remove()
            return 0
        raise LabError(f"there is no lab '{state.path.name}'")
    config = state.load()
    found = new_complaints(state, config, [0] * config.nodes)
    if args.logs:
        os.makedirs(args.logs, exist_ok=True)
        for node in range(config.nodes):
            if state.console(node).exists():
                shutil.copy(state.console(node), args.logs)
    client.ask(state, op="down")
    for _ in range(100):
        if not state.owned():
            break
        time.sleep(0.05)
    else:
        raise LabError("the lab's daemon does not end")
    if found:
        say(f"{found} kernel complaints while the lab was up")
        return 4
    return 0


def parser():
    top = argparse.ArgumentParser(
        prog="lab", description="A virtual cluster for tests. "
        "See Documentation/lab.rst.")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--name", default=os.environ.get("LAB_NAME",
                                                         "default"),
                        help="which lab (default: $LAB_NAME or 'default')")
    common.add_argument("--dir", help="state directory, instead of a name")
    subs = top.add_subparsers(dest="command", required=True, metavar="command")

    def sub(name, function, text):
        made = subs.add_parser(name, help=text, description=text,
                               parents=[common])
        made.set_defaults(function=function)
        return made

    def one_node(made):
        made.add_argument("--node", type=int, default=0)

    up = sub("up", command_up, "boot the nodes of a lab")
    up.add_argument("--nodes", type=number(1, MAX_NODES), default=2)
    up.add_argument("--cpus", type=number(1, 64), default=2)
    up.add_argument("--mem", type=megabytes, default=2048, metavar="SIZE",
                    help="per node, in MiB or as 4G")
    up.add_argument("--kernel", default="stock-6.12",
                    help="stock-6.12, stock-6.1, debug, or a directory made "
                    "by kernel.sh")
    up.add_argument("--numa", type=number(1, 8), default=1)
    up.add_argument("--nics", type=number(1, MAX_NICS), default=1)
    up.add_argument("--mtu", type=number(576, 65000), default=9000)
    up.add_argument("--rdma", choices=("rxe", "siw", "none"), default="rxe")
    up.add_argument("--rate", help="shape each NIC: netem rate, as 1gbit")
    up.add_argument("--delay", help="netem delay, as 1ms")
    up.add_argument("--loss", help="netem loss, as 0.1%%")
    up.add_argument("--netem", help="more netem words, as 'reorder 1%% gap 5'")
    up.add_argument("--hugepages", type=number(0, 1 << 20), default=0,
                    help="2 MiB pages to reserve in each node")
    up.add_argument("--module", "--modules", dest="modules", action="append",
                    default=[], metavar="PATH",
                    help="a .ko file, or a directory with such, for modprobe")
    up.add_argument("--load", action="append", default=[], metavar="MODULE",
                    help="modprobe it at boot")
    up.add_argument("--live", action="append", default=[], metavar="DIR",
                    help="show the host's later changes in this directory, "
                    "too (the project is shown so)")
    up.add_argument("--share", metavar="DIR", help="host directory to be "
                    "/lab in the guests (default: one that goes with the lab)")
    up.add_argument("--append", default="", help="kernel parameters")
    up.add_argument("--accel", choices=("auto", "kvm", "tcg"), default="auto")
    up.add_argument("--boot-timeout", type=float, default=300)

    run = sub("run", command_run, "run a command on one node, or on all")
    run.add_argument("--node", type=int, default=0)
    run.add_argument("--all", action="store_true")
    run.add_argument("--timeout", type=float, default=0, metavar="SECONDS",
                     help="then end it; the exit status is 124")
    run.add_argument("--env", action="append", default=[], metavar="KEY=VALUE")
    run.add_argument("--cwd")
    run.add_argument("-q", "--quiet", action="store_true",
                     help="no node names before the lines")
    run.add_argument("-i", "--stdin", action="store_true",
                     help="pass standard input on")
    run.add_argument("argv", nargs=argparse.REMAINDER, metavar="-- command")

    shell = sub("shell", command_shell, "an interactive shell on a node")
    one_node(shell)
    shell.add_argument("--env", action="append", default=[])
    shell.add_argument("--cwd")

    status = sub("status", command_status, "what is running")
    status.add_argument("--everything", action="store_true",
                        help="list the labs of this user")
    log = sub("console", command_console, "print a node's console log")
    one_node(log)
    log.add_argument("-f", "--follow", action="store_true")
    dmesg = sub("dmesg", command_dmesg, "the kernel log of a node")
    one_node(dmesg)
    dmesg.add_argument("--all", action="store_true")
    modules = sub("modules", command_modules,
                  "replace modules in a running lab, for the next modprobe")
    modules.add_argument("files", nargs="+")
    sub("check-log", command_check_log,
        "print kernel complaints; fails when there are any")
    one_node(sub("kill", command_kill, "cut the power of a node"))
    down = sub("down", command_down, "end the lab; exit status 4 when a "
               "kernel complained")
    down.add_argument("--logs", metavar="DIR", help="keep the console logs")
    return top


def run_daemon(path, up_fd):
    state = state_of(None, path)
    config = state.load()
    if config.share:
        state.share = pathlib.Path(config.share)
    # The lock came with us on an inherited descriptor; keep it to the end.
    return daemon.main(state, config, int(up_fd))


def main(argv):
    if argv[:1] == ["--daemon"]:
        return run_daemon(*argv[1:])
    args = parser().parse_args(argv)
    if getattr(args, "argv", None) and args.argv[0] == "--":
        args.argv = args.argv[1:]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        state = state_of(args.name, args.dir)
        return args.function(args, state)
    except LabError as error:
        say(error)
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except BrokenPipeError:
        return 128 + signal.SIGPIPE
