# SPDX-License-Identifier: Apache-2.0
"""Real file systems that a test makes for itself and takes away again: a disk of known bandwidth, a distributed file
system, a small one in memory. Each is a context that gives the folder where it is mounted; where it cannot be had the
test is skipped, with the reason."""

import os
import shutil
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from builds import PATIENCE, run

ADDRESS = "10.231.8.1"  # of the GlusterFS servers; it exists in a network namespace of their own only
READ_AHEAD_SECTORS = 64  # of 512 byte: a disk of known bandwidth moves what was asked for and hardly more
THROTTLES = Path("/sys/fs/cgroup/blkio")


def needs(purpose, *programs):
    if os.geteuid() != 0:
        pytest.skip(f"only root can make {purpose}")
    if missing := [name for name in programs if not shutil.which(name)]:
        pytest.skip(f"{purpose} needs {', '.join(missing)}")


def root(purpose, *command):
    words = list(map(str, command))
    done = run(words)
    if done.returncode != 0:
        pytest.skip(f"cannot make {purpose}: {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def unmount(folder):
    """At once for everybody; what still uses it keeps nothing but its own open files."""
    subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


def vanish(folder):
    """Remove a folder from under a program that makes files in it all the while: what it makes beside a removal lets
    that one fail."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def memory(folder, options):
    """A file system in memory (tmpfs) with these options of mount."""
    purpose = "a small file system in memory"
    needs(purpose)
    folder.mkdir(exist_ok=True)
    root(purpose, "mount", "-t", "tmpfs", "-o", options, "tmpfs", folder)
    try:
        yield folder
    finally:
        unmount(folder)


@contextmanager
def disk(
    folder, gibibytes, file_system="ext4", bytes_per_second=None, in_memory=False, settings=(), options="defaults"
):
    """A loop device with a file system that is made with these settings and mounted with these options. It moves so
    many byte/s each way, whoever asks: the limit is that of the root control group, to which the write-back of the page
    cache belongs too, and of this process's own. In memory it has no other limit, whatever else the machine's own disks
    are doing."""
    purpose = "a disk of known bandwidth" if bytes_per_second else "a disk"
    needs(purpose, "losetup", f"mkfs.{file_system}")
    mount = Path(folder, "disk")
    mount.mkdir()
    with ExitStack() as undo:
        if in_memory:
            folder = undo.enter_context(memory(Path(folder, "memory"), f"size={gibibytes}g"))
        image = Path(folder, "image")
        undo.callback(image.unlink)
        root(purpose, "truncate", "-s", f"{gibibytes}G", image)
        device = root(purpose, "losetup", "--find", "--show", "--direct-io=on", image).strip()
        undo.callback(subprocess.run, ["losetup", "-d", device], check=False)
        at_once = ["-E", "lazy_itable_init=0,lazy_journal_init=0"] if file_system == "ext4" else []
        root(purpose, f"mkfs.{file_system}", "-q", *at_once, *settings, device)
        root(purpose, "mount", "-o", options, device, mount)
        undo.callback(unmount, mount)
        if bytes_per_second:
            root(purpose, "blockdev", "--setra", READ_AHEAD_SECTORS, device)
            undo.enter_context(throttled(device, bytes_per_second))
        yield mount


@contextmanager
def throttled(device, bytes_per_second):
    number = Path(device).stat().st_rdev
    name = f"{os.major(number)}:{os.minor(number)}"
    groups = [line.split(":")[2] for line in Path("/proc/self/cgroup").read_text().splitlines() if ":blkio:" in line]
    if not groups:
        pytest.skip("a disk of known bandwidth needs the control group blkio (version 1), which limits the page cache")
    limits = [
        THROTTLES / group.strip("/") / f"blkio.throttle.{way}_bps_device"
        for group in {"/", groups[0].strip()}
        for way in ("read", "write")
    ]
    try:
        for limit in limits:
            limit.write_text(f"{name} {bytes_per_second}")
        yield
    except OSError as error:
        pytest.skip(f"cannot make a disk of known bandwidth: {error}")
    finally:
        for limit in limits:
            limit.write_text(f"{name} 0")


@contextmanager
def frozen(directory):
    """A file system in which whoever writes waits in the kernel."""
    subprocess.run(["fsfreeze", "--freeze", directory], check=True)
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", directory], check=True)


@contextmanager
def glusterfs(folder, bricks=3):
    """A GlusterFS volume that is mounted once."""
    with glusterfs_mounts(folder, 1, bricks) as [mount]:
        yield mount


@contextmanager
def glusterfs_mounts(folder, mounts, bricks=3, options=(), shards=True, cached=True):
    """A GlusterFS volume: a server process for each brick, files in shards of 4 MiB over all of them, or each file on
    one of them; unless `cached`, clients send each write at once. It is mounted through FUSE as often as requested,
    each time with a client process whose number is in run/mount0.pid and so on. The servers have namespaces of their
    own, for processes, network and sockets: with the first of them all end."""
    purpose = "a GlusterFS volume"
    needs(purpose, "glusterd", "gluster", "glusterfs", "unshare", "nsenter", "ip")
    folder = Path(folder)
    mounted = [folder / f"mount{number}" for number in range(mounts)]
    for name in ("work", "run", "log", *mounted, *(f"brick{number}" for number in range(bricks))):
        (folder / name).mkdir(exist_ok=True)  # a test may have mounted a brick
    settings = f"""volume management
    type mgmt/glusterd
    option working-directory {folder}/work
    option run-directory {folder}/run
    option logging-directory {folder}/log
    option glusterd-sockfile {folder}/run/socket
    option transport-type socket
    option transport.socket.listen-port 24007
    option transport.socket.bind-address {ADDRESS}
    option ping-timeout 0
    option base-port 49152
    option max-port 60999
end-volume
"""
    Path(folder, "glusterd.vol").write_text(settings)
    start = (
        f"mkdir -p /run/gluster && mount -t tmpfs tmpfs /run/gluster && ip link set lo up && ip address add "
        f"{ADDRESS}/32 dev lo && "
        f"exec glusterd --no-daemon -f {folder}/glusterd.vol -l {folder}/log/glusterd.log -p {folder}/run/glusterd.pid"
    )
    servers = subprocess.Popen(
        ["unshare", "--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child", "sh", "-c", start],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        where = f"--glusterd-sock={folder}/run/socket --log-file={folder}/log/cli.log"
        gluster = ("gluster", *where.split(), "--mode=script", "volume")
        wait_for(purpose, servers, lambda: run([*gluster, "info"]).returncode == 0)
        stores = (f"{ADDRESS}:{folder}/brick{number}" for number in range(bricks))
        root(purpose, *gluster, "create", "cup", *stores, "force")
        chosen = {"features.shard": "on", "features.shard-block-size": "4MB"} if shards else {}
        chosen |= {} if cached else {"performance.write-behind": "off"}
        # On bricks that are almost full, GlusterFS chooses another brick for a new shard, and processes that extend a
        # file at once may each choose one: then it no longer finds the shard ("Stale file handle").
        for name, value in (chosen | {"cluster.min-free-disk": "0%"}).items():
            root(purpose, *gluster, "set", "cup", name, value)
        root(purpose, *gluster, "start", "cup")
        [inside] = Path(f"/proc/{servers.pid}/task/{servers.pid}/children").read_text().split()
        for mount in mounted:
            root(
                purpose,
                *("nsenter", f"--net=/proc/{inside}/ns/net", "glusterfs", *options),
                *(f"--volfile-server={ADDRESS}", "--volfile-id=cup", "-l", folder / "log" / f"{mount.name}.log"),
                *(f"--pid-file={folder}/run/{mount.name}.pid", mount),
            )
            wait_for(purpose, servers, lambda mount=mount: os.path.ismount(mount))
        yield mounted
    finally:
        for mount in mounted:
            unmount(mount)
        servers.kill()
        servers.communicate()


def wait_for(purpose, servers, holds):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if servers.poll() is not None or time.monotonic() > deadline:
            servers.kill()
            pytest.skip(f"cannot make {purpose}: {servers.communicate()[1].strip() or 'its servers do not answer'}")
        time.sleep(0.1)
