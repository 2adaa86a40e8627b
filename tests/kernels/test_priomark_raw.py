# SPDX-License-Identifier: Apache-2.0
"""The sub-benchmark `raw` of PRIOMark on loop devices: really direct, within its range, and never on a device that
somebody may need."""

import hashlib
import re
import subprocess
from contextlib import contextmanager

import kernel_runs
import numpy as np
import pytest
from file_systems import needs, root
from kernel_runs import error, good, started
from priomark_runs import KIB, MIB, command, leftovers, of_kind, records, run, straced
from system_calls import whole_lines

DISK_BYTES = 16 * MIB


@contextmanager
def loop_device(image):
    needs("a loop device", "losetup", "mkfs.ext4", "mkswap")
    device = root("a loop device", "losetup", "--find", "--show", image).strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


@pytest.fixture
def image(tmp_path):
    """A disk full of random bytes without a signature."""
    (tmp_path / "image").write_bytes(np.random.default_rng(1).bytes(DISK_BYTES))
    return tmp_path / "image"


@pytest.fixture
def device(image):
    with loop_device(image) as device:
        yield device


@contextmanager
def opened(device, flags):
    """Another process has the device open; the process."""
    script = f"import os, sys; os.open(sys.argv[1], {flags}); print(flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["python3", "-c", script, device], **pipes) as process:
        process.stdout.readline()
        try:
            yield process
        finally:
            process.communicate()


def workload(device, confirm=f'confirm = "{DISK_BYTES}"; overwrite = true;', ratio="1:1", more=""):
    return (
        f'{more} raw = {{ device = "{device}"; {confirm} process_size = "1MiB"; block_size = ["4KiB", "64KiB"]; '
        f'read_write = "{ratio}"; }};'
    )


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_device_is_read_and_written_directly_and_within_the_range_only(openmpi, image, device, tmp_path, ranks):
    before = image.read_bytes()
    lines = straced(openmpi, tmp_path, workload(device), ranks, "-e", "trace=openat,pread64,pwrite64,fsync")
    text = "\n".join(whole_lines("\n".join(lines)))
    transfers = re.findall(rf"(\d+) +p(read|write)64\((\d+)<{device}>.*, (\d+), (\d+)\) += (\d+)", text)
    opened = re.findall(rf'(\d+) +openat\(.*"{device}", (\S+)\) += (\d+)<', text)
    direct = {(process, number) for process, flags, number in opened if "O_DIRECT" in flags}
    blocks = {4 * KIB: 256, 64 * KIB: 16}
    transfers = [entry for entry in transfers if (entry[0], entry[2]) in direct]
    assert len(transfers) == ranks * 2 * sum(blocks.values())
    assert all(int(size) == int(moved) for *_, size, _, moved in transfers)
    for size, count in blocks.items():
        reads = [entry for entry in transfers if int(entry[3]) == size and entry[1] == "read"]
        assert len(reads) == ranks * 2 * count // 2
        offsets = sorted(int(entry[4]) for entry in transfers if int(entry[3]) == size)
        assert offsets == sorted(2 * [k * size for k in range(ranks * count)])
    assert len(re.findall(rf'"{device}", [^)]*O_EXCL', text)) == 1  # the first process of the node holds it for all
    after = image.read_bytes()
    assert after[ranks * MIB :] == before[ranks * MIB :] and after[: ranks * MIB] != before[: ranks * MIB]
    assert {(m["target"], m["direct"]) for m in of_kind(tmp_path, "measurement")} == {("device", True)}


def test_data_on_a_device_is_checked(openmpi, device, tmp_path):
    good(run(openmpi, tmp_path, workload(device, more="check = true;"), 2))
    [check] = of_kind(tmp_path, "data_check")
    assert check["read_bytes"] == check["checked_bytes"] == 2 * 2 * MIB


def test_device_that_is_only_read_is_not_changed(openmpi, image, device, tmp_path):
    before = image.read_bytes()
    good(run(openmpi, tmp_path, workload(device, ratio="1:0"), 2))
    assert image.read_bytes() == before


def test_on_a_file_it_says_that_it_measured_a_file(openmpi, tmp_path):
    done = run(openmpi, tmp_path, 'raw = { process_size = "64KiB"; block_size = "4KiB"; };', 2)
    if "may not support direct I/O" in done.stderr:
        pytest.skip("the file system of the temporary directory takes no direct I/O")
    assert done.returncode == 0, done.stderr
    assert {(m["target"], m["direct"]) for m in of_kind(tmp_path, "measurement")} == {("file", True)}


# --- devices that are left alone --------------------------------------------------------------------------------------


def checksum(image):
    return hashlib.sha256(image.read_bytes()).hexdigest()


def assert_left_alone(mpi, image, tmp_path, text, said, ranks=1):
    subprocess.run(["sync"], check=True)
    before = checksum(image)
    done = run(mpi, tmp_path, text, ranks)
    assert done.returncode == 2 and said in error(done), done.stderr
    assert re.search(r"workload\.cfg:1: raw: ", error(done))
    subprocess.run(["sync"], check=True)
    assert checksum(image) == before
    assert leftovers(tmp_path) == [] and not (tmp_path / "log.jsonl").exists()


SIZES = ["16MB", "16MiB", f"{DISK_BYTES - 1}", f"0{DISK_BYTES}", f"{DISK_BYTES} ", "yes"]


@pytest.mark.parametrize("confirm", ["", *(f'confirm = "{size}";' for size in SIZES)])
def test_device_that_is_not_confirmed_is_refused(serial, image, device, tmp_path, confirm):
    said = f'not confirmed: set confirm = "{DISK_BYTES}"'
    assert_left_alone(serial, image, tmp_path, workload(device, confirm), said)


# one partition of 8 MiB that begins after the first, and the mark at the end of the sector
PARTITION_TABLE = """
import struct, sys
with open(sys.argv[1], "r+b") as disk:
    disk.seek(446)
    disk.write(struct.pack("<8B2I", 0, 0, 0, 0, 0x83, 0, 0, 0, 2048, 16384) + bytes(48) + b"\\x55\\xaa")
"""


@pytest.mark.parametrize(
    "make, kind",
    [(["mkfs.ext4", "-q", "-F"], "ext4"), (["mkswap"], "swap"), (["python3", "-c", PARTITION_TABLE], "dos")],
)
def test_device_with_a_signature_is_refused(serial, image, device, tmp_path, make, kind):
    root("a signature", *make, device)
    assert_left_alone(serial, image, tmp_path, workload(device), f"partition table or signature ({kind})")


def test_mounted_device_is_refused(serial, image, device, tmp_path):
    root("a file system", "mkfs.ext4", "-q", "-F", device)
    (tmp_path / "mount").mkdir()
    root("a mount", "mount", "-o", "ro,noload", device, tmp_path / "mount")
    try:
        assert_left_alone(serial, image, tmp_path, workload(device), "it is mounted or in use")
    finally:
        subprocess.run(["umount", tmp_path / "mount"], check=True)


def test_read_only_device_is_refused_unless_it_is_only_read(serial, image, device, tmp_path):
    root("a read-only device", "blockdev", "--setro", device)
    try:
        assert_left_alone(serial, image, tmp_path, workload(device), "it is read-only; choose another device")
        good(run(serial, tmp_path, workload(device, ratio="1:0")))
    finally:
        subprocess.run(["blockdev", "--setrw", device], check=True)


def test_device_that_something_holds_is_refused(serial, image, device, tmp_path):
    with opened(device, "os.O_RDWR | os.O_EXCL"):
        assert_left_alone(serial, image, tmp_path, workload(device), "it is mounted or in use")


def test_nothing_can_be_mounted_from_a_device_that_is_measured(openmpi, device, tmp_path):
    """The kernel has it open exclusively as long as it measures."""
    going_on = command(openmpi, tmp_path, workload(device, more="repetitions = 100000;"), 2)
    with started(going_on, lambda: len(records(tmp_path)) >= 6, env=openmpi.environment) as process:
        script = "import os, sys; os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)"
        claim = kernel_runs.run(["python3", "-c", script, device])
        assert claim.returncode != 0 and "Device or resource busy" in claim.stderr
        process.terminate()
        process.communicate()


def zeros_but_for(image, offset):
    with image.open("r+b") as disk:
        disk.write(bytes(DISK_BYTES))
        disk.seek(offset)
        disk.write(b"x")
    subprocess.run(["sync"], check=True)


CONFIRMED = f'confirm = "{DISK_BYTES}";'


@pytest.mark.parametrize("offset", [2 * MIB - 1, 12345])
def test_device_with_data_where_it_would_be_written_is_refused(openmpi, image, tmp_path, offset):
    """Two processes write 1 MiB each."""
    zeros_but_for(image, offset)
    with loop_device(image) as device:
        said = f"a byte other than 0 at offset {offset})"
        assert_left_alone(openmpi.impatient, image, tmp_path, workload(device, CONFIRMED), said, ranks=2)
        good(run(openmpi, tmp_path, workload(device), 2))


def test_device_with_data_elsewhere_or_that_is_only_read_is_measured(openmpi, image, tmp_path):
    zeros_but_for(image, 2 * MIB)
    with loop_device(image) as device:
        good(run(openmpi, tmp_path, workload(device, CONFIRMED), 2))
        (tmp_path / "log.jsonl").unlink()
        good(run(openmpi, tmp_path, workload(device, CONFIRMED, ratio="1:0"), 2))


def test_device_that_another_process_has_open_is_refused(serial, image, device, tmp_path):
    """Not exclusively: the kernel does not mind."""
    with opened(device, "os.O_RDONLY") as opener:
        said = f"process {opener.pid} (python3) has it open; end that process"
        assert_left_alone(serial, image, tmp_path, workload(device), said)


@pytest.mark.parametrize(
    "place, said",
    [
        ("link", "it is a symbolic link; give the device itself"),
        ("image", "it is a file; omit the key"),
        ("disk", "it is a directory"),
        ("/dev/null", "it is not a block device"),
        ("/dev/nothing", "No such file"),
    ],
)
def test_what_is_no_block_device_is_refused(serial, image, device, tmp_path, place, said):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(device)
    assert_left_alone(serial, image, tmp_path, workload(tmp_path / place), said)


@pytest.mark.parametrize(
    "sizes, said",
    [
        ('process_size = "16MiB"; block_size = "4KiB";', "2 processes with 16777216 bytes each do not fit"),
        ('process_size = "1000KiB"; block_size = "1000B";', "not a multiple of the device's blocks of 512 bytes"),
    ],
)
def test_sizes_that_do_not_fit_the_device_are_refused(openmpi, image, device, tmp_path, sizes, said):
    text = f'raw = {{ device = "{device}"; confirm = "{DISK_BYTES}"; overwrite = true; {sizes} }};'
    assert_left_alone(openmpi.impatient, image, tmp_path, text, said, ranks=2)
