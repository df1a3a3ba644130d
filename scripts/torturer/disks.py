"""Disks that can be filled, run out of inodes, turn read-only, fail, and lose their power: ext4 on a loop
device. Needs root."""

import fcntl
import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

from . import bench

# `FS_IOC_SHUTDOWN` and its flag "no log flush", from the kernel's headers.
SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2


class LoopDisk:
    def __init__(self, root, megabytes=256, inodes=None, options="defaults"):
        self.image, self.path, self.device = Path(root) / "image", Path(root) / "disk", None
        self.path.mkdir(parents=True)
        self.megabytes, self.inodes, self.options = megabytes, inodes, options

    def make(self):
        """Makes and mounts it; tells whether that could be done."""
        if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
            return False
        with open(self.image, "wb") as file:
            file.truncate(self.megabytes << 20)
        few = ["-N", str(self.inodes)] if self.inodes else []
        return call("mkfs.ext4", "-q", "-F", "-m", "0", *few, str(self.image)) and self.attach() and self.mount()

    def attach(self):
        """Gives it a device that it keeps while it is unmounted: a disk that comes back is the same disk, whatever
        other disks come and go meanwhile."""
        shown = ["losetup", "--find", "--show", str(self.image)]
        self.device = subprocess.run(shown, capture_output=True, check=False).stdout.decode().strip()
        return bool(self.device)

    def mount(self):
        return call("mount", "-o", self.options, self.device, str(self.path))

    def unmount(self):
        for _ in range(50):
            if call("umount", str(self.path)):
                return True
            time.sleep(0.05)
        return call("umount", "-l", str(self.path))

    def remount(self, how):
        """Makes it read-only (`ro`) or writable (`rw`), if nobody has a file open for writing."""
        return call("mount", "-o", f"remount,{how}", str(self.path))

    def cut(self):
        """Cuts the power: nothing more reaches the disk, not even the file system's log."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(descriptor)

    def fail(self):
        """Lets the file system find an error, upon which it turns read-only; tells whether it did."""
        trigger = Path(f"/sys/fs/ext4/{os.path.basename(self.device)}/trigger_fs_error")
        if not trigger.exists():
            return False
        trigger.write_text("1")
        return True

    def repair(self):
        """Does what people do then: unmount, check, mount. What took the room and was removed just before the
        power went is there again, because its removal had not reached the disk: it goes once more."""
        self.unmount()
        call("e2fsck", "-fy", self.device)
        mounted = self.mount()
        for hog in self.path.glob("hog-*") if mounted else ():
            free(hog)
        return mounted

    def fill(self):
        """Takes all the room there is; returns the file that takes it."""
        hog = self.path / f"hog-{time.monotonic_ns()}"
        with open(hog, "wb", buffering=0) as file:
            # What is synced frees what was reserved for it, so once is not enough.
            for size in (1 << 20, 1 << 12, 1 << 9):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError:
                    pass
                os.fsync(file.fileno())
        return hog

    def take_inodes(self):
        """Makes files until there can be no more; returns their folder."""
        hog = self.path / f"hog-{time.monotonic_ns()}"
        try:
            hog.mkdir()
            for number in range(1 << 20):
                (hog / str(number)).touch()
        except OSError:
            pass
        return hog

    def drop(self):
        self.unmount()
        call("losetup", "-d", self.device)
        shutil.rmtree(self.path.parent, ignore_errors=True)


def free(hog):
    """Gives back what was taken."""
    shutil.rmtree(hog, ignore_errors=True) if hog.is_dir() else hog.unlink(missing_ok=True)


def call(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def small(kind, **how):
    """Returns a mounted disk, or nothing where that cannot be done."""
    root = bench.scratch(kind, on_disk=True)
    os.chmod(root, 0o755)
    disk = LoopDisk(root, **how)
    if disk.make():
        return disk
    if disk.device:
        call("losetup", "-d", disk.device)
    shutil.rmtree(root, ignore_errors=True)
    return None
