# SPDX-License-Identifier: GPL-2.0-only
"""QEMU command lines for the nodes of a lab."""

import os


def kvm_usable():
    """True when the processor's virtualisation reaches us through /dev/kvm.

    A /dev/kvm without the processor flag is a nested emulation that does not
    run every kernel; software emulation is the safer choice there.
    """
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            flags = next((l for l in f if l.startswith("flags")), "").split()
        os.close(os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return "vmx" in flags or "svm" in flags


def split_range(total, parts, index):
    """The index-th of parts nearly equal ranges of 0 .. total-1."""
    first = total * index // parts
    return first, total * (index + 1) // parts - first


def memory_args(config):
    if config.numa == 1:
        return ["-m", f"{config.mem}M"]
    args = ["-m", f"{config.mem}M"]
    for i in range(config.numa):
        _, mem = split_range(config.mem, config.numa, i)
        first, cpus = split_range(config.cpus, config.numa, i)
        node = f"node,nodeid={i},memdev=mem{i}"
        if cpus:
            node += f",cpus={first}-{first + cpus - 1}"
        args += ["-object", f"memory-backend-ram,id=mem{i},size={mem}M",
                 "-numa", node]
    return args


def network_args(config, node, fds):
    """One NIC per segment; with NUMA they take turns on the nodes."""
    args = []
    if config.numa > 1:
        for i in range(config.numa):
            args += ["-device", f"pxb-pcie,id=pxb{i},bus_nr={64 + 32 * i},"
                     f"bus=pcie.0,numa_node={i}"]
    for nic, fd in enumerate(fds):
        bus = ""
        if config.numa > 1:
            args += ["-device", f"pcie-root-port,id=port{nic},"
                     f"bus=pxb{nic % config.numa},chassis={nic + 1}"]
            bus = f",bus=port{nic}"
        args += ["-netdev", f"socket,id=net{nic},fd={fd}",
                 "-device", f"virtio-net-pci,netdev=net{nic},id=nic{nic},"
                 f"mac={config.mac(node, nic)}{bus}"]
    return args


def share_args(ident, path, readonly):
    path = str(path).replace(",", ",,")
    mode = ",readonly=on" if readonly else ""
    return ["-fsdev", f"local,id={ident},path={path},security_model=none,"
            f"multidevs=remap{mode}",
            "-device", f"virtio-9p-pci,fsdev={ident},mount_tag={ident}"]


# What a distribution's kernel does at boot that no test needs: self-tests of
# ciphers, certificates and entropy, which emulation makes seconds of.
BOOT_QUICKLY = ["cryptomgr.notests", "audit=0", "apparmor=0",
                "initcall_blacklist=jent_mod_init,load_system_certificate_list,"
                "init_encrypted,crypto_kdf108_init,digsig_init"]


def command(config, state, node, agent_fd, net_fds):
    if config.accel == "kvm":
        accel = ["-accel", "kvm", "-cpu", "host"]
    else:
        # With fast string operations the guest's kernel copies by "rep movsb",
        # which emulation runs byte by byte.
        accel = ["-accel", "tcg,thread=multi",
                 "-cpu", "max,erms=off,fsrm=off"]
    append = ["console=ttyS0", "loglevel=4", "panic=-1", "mitigations=off",
              "random.trust_cpu=on", f"lab.dir={state.path}",
              f"lab.node={node}"] + BOOT_QUICKLY
    if config.hugepages:
        append.append(f"hugepages={config.hugepages}")
    if config.append:
        append.append(config.append)
    return (["qemu-system-x86_64", "-machine", "q35", "-nodefaults",
             "-display", "none", "-no-reboot",
             "-name", f"lab-{config.name}-node{node}",
             "-smp", f"{config.cpus}"] + accel + memory_args(config) +
            ["-kernel", config.image, "-initrd", config.initrd,
             "-append", " ".join(append),
             "-chardev", f"file,id=console,path={state.console(node)}",
             "-serial", "chardev:console",
             "-chardev", f"socket,id=agent,fd={agent_fd},server=off",
             "-device", "virtio-serial-pci",
             "-device", "virtserialport,chardev=agent,name=lab.agent",
             "-device", "virtio-rng-pci"] +
            share_args("host", "/", True) + share_args("live", "/", True) +
            share_args("share", state.share, False) +
            network_args(config, node, net_fds))
