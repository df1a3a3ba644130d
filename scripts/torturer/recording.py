"""A recording file layer: what a process did to files, in order, and what of it was synced.

The system calls of a worker are recorded with strace and replayed into a model of a disk. From the
model any state can be made in which a power cut may have left it: everything synced is there, of the
rest some is missing, torn or reordered."""

import os
import re
import subprocess
from pathlib import Path

CALLS = (
    "openat,open,creat,close,dup,dup2,dup3,fcntl,write,pwrite64,writev,pwritev,lseek,ftruncate,"
    "fallocate,copy_file_range,sendfile,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,"
    "mkdirat,rmdir,fsync,fdatasync,syncfs,sync"
)
CALL = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+|\?)")
UNFINISHED = re.compile(r"^(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+|\?)")
STRING = re.compile(r'^"((?:\\x[0-9a-f]{2})*)"')


def record(arguments, env, log):
    """Runs a command under strace; returns its exit code."""
    command = ["strace", "-f", "-xx", "-s", "100000000", "-e", f"trace={CALLS}", "-o", str(log)]
    ran = subprocess.run([*command, *arguments], env=env, stdin=subprocess.DEVNULL, capture_output=True)
    return ran.returncode


class Inode:
    """A file or a folder of the model; only what it was at the start has content."""

    def __init__(self, folder=False, data=b""):
        self.folder, self.data, self.entries = folder, data, {}


class Recording:
    """The operations on one tree: `ops` are (kind, inode, …), `syncs` are (start, end, what)."""

    def __init__(self, root):
        self.root = str(Path(root).resolve())
        self.inodes, self.ops, self.syncs = [], [], []
        self.top = self.load(Path(root))
        # What a reader sees while the worker runs; the model keeps the start as it was.
        self.names = {n: dict(i.entries) for n, i in enumerate(self.inodes) if i.folder}
        self.files, self.positions, self.sizes = {}, {}, {}
        for n, inode in enumerate(self.inodes):
            self.sizes[n] = len(inode.data)

    def load(self, path):
        number = len(self.inodes)
        if path.is_dir():
            self.inodes.append(Inode(folder=True))
            for child in sorted(path.iterdir()):
                self.inodes[number].entries[child.name] = self.load(child)
        else:
            self.inodes.append(Inode(data=path.read_bytes()))
        return number

    def new(self, folder=False):
        self.inodes.append(Inode(folder=folder))
        number = len(self.inodes) - 1
        self.sizes[number] = 0
        if folder:
            self.names[number] = {}
        return number

    # --- reading what strace wrote ---------------------------------------------------------------

    def read(self, log):
        pending = {}
        with open(log, encoding="ascii", errors="replace") as lines:
            for line in lines:
                line = line.rstrip("\n")
                if match := UNFINISHED.match(line):
                    pid, call, text = match.groups()
                    pending[pid] = (call, text, len(self.ops))
                    if call == "close":
                        self.close(text)
                elif match := RESUMED.match(line):
                    pid, call, rest, result = match.groups()
                    _, text, start = pending.pop(pid, (call, "", len(self.ops)))
                    if call != "close":
                        self.take(call, text + rest, result, start)
                elif match := CALL.match(line):
                    _, call, text, result = match.groups()
                    self.take(call, text, result, len(self.ops))
        return self

    def close(self, text):
        self.files.pop(text.strip(), None)

    def take(self, call, text, result, start):
        if result == "?" or int(result) < 0:
            return
        arguments = split(text)
        handler = getattr(self, f"on_{call}", None)
        if call == "close":
            self.close(arguments[0])
        elif call in ("writev", "pwritev", "copy_file_range", "sendfile", "creat"):
            if arguments[0] in self.files:
                raise ValueError(f"{call} is not modelled")
        elif call in ("fsync", "fdatasync", "syncfs", "sync"):
            what = self.files.get(arguments[0], (None,))[0] if call[0] == "f" else "all"
            if what is not None:
                self.syncs.append((start, len(self.ops), what))
        elif handler:
            handler(arguments, int(result))

    def on_open(self, arguments, result):
        self.on_openat(["AT_FDCWD", *arguments], result)

    def on_openat(self, arguments, result):
        folder, name = self.find(arguments[0], arguments[1])
        if folder is None:
            return
        flags = arguments[2]
        if "O_TMPFILE" in flags:
            inode = self.new()
        else:
            inode = self.names[folder].get(name) if name else folder
            if inode is None:
                inode = self.new()
                self.names[folder][name] = inode
                self.ops.append(("link", folder, name, inode))
        if "O_TRUNC" in flags and self.sizes.get(inode):
            self.ops.append(("cut", inode, 0))
            self.sizes[inode] = 0
        self.files[str(result)] = (inode, "O_APPEND" in flags)
        self.positions[str(result)] = 0

    def on_fcntl(self, arguments, result):
        if arguments[1].startswith("F_DUPFD") and arguments[0] in self.files:
            self.files[str(result)] = self.files[arguments[0]]
            self.positions[str(result)] = self.positions[arguments[0]]

    def on_dup(self, arguments, result):
        self.on_fcntl([arguments[0], "F_DUPFD"], result)

    def on_lseek(self, arguments, result):
        if arguments[0] in self.files:
            self.positions[arguments[0]] = result

    def on_write(self, arguments, result):
        if arguments[0] not in self.files:
            return
        inode, appends = self.files[arguments[0]]
        at = self.sizes[inode] if appends else self.positions[arguments[0]]
        self.data(inode, at, text_of(arguments[1])[:result])
        self.positions[arguments[0]] = at + result

    def on_pwrite64(self, arguments, result):
        if arguments[0] in self.files:
            inode, _ = self.files[arguments[0]]
            self.data(inode, int(arguments[3]), text_of(arguments[1])[:result])

    def data(self, inode, at, what):
        self.ops.append(("write", inode, at, what))
        self.sizes[inode] = max(self.sizes[inode], at + len(what))

    def on_ftruncate(self, arguments, _):
        if arguments[0] in self.files:
            inode, _ = self.files[arguments[0]]
            self.ops.append(("cut", inode, int(arguments[1])))
            self.sizes[inode] = int(arguments[1])

    def on_mkdir(self, arguments, _):
        self.on_mkdirat(["AT_FDCWD", *arguments], _)

    def on_mkdirat(self, arguments, _):
        folder, name = self.find(arguments[0], arguments[1])
        if folder is not None:
            inode = self.new(folder=True)
            self.names[folder][name] = inode
            self.ops.append(("link", folder, name, inode))

    def on_linkat(self, arguments, _):
        source = text_of(arguments[1]).decode()
        inode = None
        if source.startswith("/proc/self/fd/"):
            inode = self.files.get(source.rsplit("/", 1)[1], (None,))[0]
        else:
            folder, name = self.find(arguments[0], arguments[1])
            inode = None if folder is None else self.names[folder].get(name)
        folder, name = self.find(arguments[2], arguments[3])
        if inode is not None and folder is not None:
            self.names[folder][name] = inode
            self.ops.append(("link", folder, name, inode))

    def on_unlink(self, arguments, _):
        self.on_unlinkat(["AT_FDCWD", arguments[0], "0"], _)

    on_rmdir = on_unlink

    def on_unlinkat(self, arguments, _):
        folder, name = self.find(arguments[0], arguments[1])
        if folder is not None:
            self.names[folder].pop(name, None)
            self.ops.append(("unlink", folder, name))

    def on_rename(self, arguments, _):
        self.on_renameat(["AT_FDCWD", arguments[0], "AT_FDCWD", arguments[1]], _)

    def on_renameat(self, arguments, _):
        source, old = self.find(arguments[0], arguments[1])
        target, new = self.find(arguments[2], arguments[3])
        if source is not None and target is not None:
            inode = self.names[source].pop(old)
            self.names[target][new] = inode
            self.ops.append(("rename", target, new, inode, source, old))

    on_renameat2 = on_renameat

    def find(self, at, path):
        """Returns the folder and the name that a path means, or nothing outside of the tree."""
        path = text_of(path).decode(errors="surrogateescape")
        if at == "AT_FDCWD" or path.startswith("/"):
            if path != self.root and not path.startswith(self.root + "/"):
                return None, None
            folder, parts = self.top, [p for p in path[len(self.root) :].split("/") if p]
        else:
            folder = self.files.get(at, (None,))[0]
            parts = [p for p in path.split("/") if p]
        if folder is None or folder not in self.names:
            return None, None
        for part in parts[:-1]:
            folder = self.names.get(folder, {}).get(part)
            if folder not in self.names:
                return None, None
        return folder, parts[-1] if parts else ""

    # --- what a power cut leaves -----------------------------------------------------------------

    def durable(self, until):
        """Returns which of the first `until` operations are synced for sure."""
        kept = set()
        for start, end, what in self.syncs:
            if end > until:
                continue
            for number in range(start):
                op = self.ops[number]
                # A rename is safe when the folder it leads to is synced.
                if what == "all" or op[1] == what:
                    kept.add(number)
        return kept

    def size_before(self, op):
        """Returns how long a file was when an operation changed it."""
        size = len(self.inodes[op[1]].data)
        for earlier in self.ops:
            if earlier is op:
                break
            if earlier[1] == op[1] and earlier[0] == "write":
                size = max(size, earlier[2] + len(earlier[3]))
            elif earlier[1] == op[1] and earlier[0] == "cut":
                size = earlier[2]
        return size

    def state(self, keep):
        """Applies the operations in `keep` (number → op, or None for as recorded)."""
        contents = {n: bytearray(i.data) for n, i in enumerate(self.inodes) if not i.folder}
        names = {n: dict(i.entries) for n, i in enumerate(self.inodes) if i.folder}
        for number in sorted(keep):
            op = keep[number] or self.ops[number]
            if op[0] == "write":
                _, inode, at, what = op
                if len(contents[inode]) < at:
                    contents[inode].extend(b"\0" * (at - len(contents[inode])))
                contents[inode][at : at + len(what)] = what
            elif op[0] == "cut":
                del contents[op[1]][op[2] :]
                contents[op[1]].extend(b"\0" * (op[2] - len(contents[op[1]])))
            elif op[0] == "link":
                names[op[1]][op[2]] = op[3]
            elif op[0] == "unlink":
                names[op[1]].pop(op[2], None)
            else:
                _, target, new, inode, source, old = op
                if names[source].get(old) == inode:
                    del names[source][old]
                names[target][new] = inode
        return contents, names

    def write(self, state, root):
        """Makes a tree of a state."""
        contents, names = state

        def make(inode, path):
            if inode in names:
                os.makedirs(path, exist_ok=True)
                for name, child in names[inode].items():
                    make(child, os.path.join(path, name))
            else:
                with open(path, "wb") as file:
                    file.write(contents[inode])

        make(self.top, str(root))


def split(text):
    """Splits arguments at commas outside of strings and braces."""
    parts, depth, quoted, current = [], 0, False, []
    for char in text:
        if char == '"':
            quoted = not quoted
        if not quoted:
            depth += char in "{[" or -(char in "}]")
            if char == "," and depth == 0:
                parts.append("".join(current).strip())
                current = []
                continue
        current.append(char)
    parts.append("".join(current).strip())
    return parts


def text_of(argument):
    match = STRING.match(argument)
    return bytes.fromhex(match[1].replace("\\x", "")) if match else b""
