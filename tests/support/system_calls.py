# SPDX-License-Identifier: Apache-2.0
"""What a program asks of its files, as `strace` sees it and as the recorder of PRIOMark wrote it down, in the same
words.

strace shows no offsets of read and write: descriptors and file pointers are followed here as POSIX defines them.
"""

import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from urllib.parse import unquote

FLAGS = ("O_RDONLY", "O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_DIRECT", "O_SYNC", "O_DSYNC")
CALLS = (
    "openat,open,creat,close,close_range,dup,dup2,dup3,fcntl,read,write,pread64,pwrite64,readv,writev,preadv,pwritev,preadv2,pwritev2,"
    "lseek,fsync,fdatasync,ftruncate,copy_file_range,sendfile,clone,clone3,fork,vfork,execve"
)
LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+)(?:<(.*)>(?:\(deleted\))?)?(?: .*)?$")
DESCRIPTOR = re.compile(r"(\d+)<(.*?)>(?:\(deleted\))?(?:,|$)")


def traced(command, folder, output, **options):
    """Runs a command in `folder` under strace; the process, and the requests of each thread to files below the
    folder."""
    sizes = {str(path): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    strace = f"strace -f -qq -y -s 32 -x -e trace={CALLS} -e signal=none -o {output}".split()
    done = subprocess.run([*strace, *command], cwd=folder, capture_output=True, check=False, **options)
    return done, requests_in(output.read_text(), folder, sizes)


def requests_in(text, folder, sizes):
    """The requests of each thread in what strace wrote; the sizes are those of the files in the folder before."""
    kernel = Kernel(str(folder), sizes)
    for line in whole_lines(text):
        if found := LINE.match(line):
            thread, call, arguments, result, path = found.groups()
            kernel.see(
                int(thread), call, re.sub(r'"(\\.|[^"\\])*"(\.\.\.)?', '""', arguments).rstrip(), int(result), path
            )
    return sorted(map(tuple, kernel.requests.values()))


def whole_lines(text):
    """Lines of strace with calls that other threads' calls came between put together: at the place where they end, but
    where they begin if others may see their effect before: a process that is made, a descriptor that is closed."""
    lines, begun = [], {}
    for line in text.splitlines():
        thread = line.split()[0]
        if line.endswith(" <unfinished ...>"):
            begun[thread] = (len(lines), line.removesuffix(" <unfinished ...>"))
            lines.append("")
        elif found := re.match(r"\d+ +<\.\.\. \w+ resumed>(.*)", line):
            place, beginning = begun.pop(thread)
            early = re.match(r"\d+ +(clone3?|v?fork|close)\(", beginning)
            lines.append("")
            lines[place if early else -1] = beginning + re.sub(r"\) += ", ") = ", found[1])  # the end is indented
        else:
            lines.append(line)
    return lines


def most_in_flight(lines, call, path):
    """The maximum number of threads that were at the same time inside a call on a file whose path contains `path`, in
    lines of strace -y."""
    inside, most = set(), 0
    for line in lines:
        thread = line.split()[0]
        if re.search(rf" {call}\(\d+<[^>]*{path}", line):
            inside.add(thread)
            most = max(most, len(inside))
            if not line.endswith("<unfinished ...>"):
                inside.discard(thread)
        elif f"<... {call} resumed>" in line:
            inside.discard(thread)
    return most


@dataclass
class Description:
    """An open file description: descriptors that are copies share it."""

    path: str
    position: int = 0
    append: bool = False


class Kernel:
    """Follows descriptors, file pointers and sizes."""

    def __init__(self, folder, sizes):
        self.folder, self.sizes = folder, sizes
        self.tables = {}
        self.borrowing = set()  # children of vfork() before their exec, which nobody records
        self.requests = defaultdict(list)

    def see(self, thread, call, arguments, result, path):
        table = self.tables.setdefault(thread, {})
        if call == "execve":
            self.borrowing.discard(thread)
        elif result >= 0:
            self.done(thread, table, call, arguments, result, path)

    def done(self, thread, table, call, arguments, result, path):
        if call in ("clone", "clone3", "fork", "vfork"):
            if call == "vfork" or "CLONE_VFORK" in arguments:
                self.borrowing.add(result)
            child = table if "CLONE_FILES" in arguments else dict(table)
            child |= {} if "CLONE_FILES" in arguments else self.tables.pop(result, {})
            self.tables[result] = child
        elif call in ("open", "openat", "creat"):
            self.open(thread, table, result, arguments, path, call)
        elif call == "close_range":
            first, last = (int(number) for number in arguments.split(", ")[:2])
            for descriptor in sorted(d for d in table if first <= d <= last):
                self.close(thread, table, descriptor)
        else:
            self.of_descriptor(thread, table, call, arguments, result)

    def note(self, thread, call, path, *values):
        if path.startswith(self.folder + "/") and thread not in self.borrowing:
            self.requests[thread].append((call, short(path, self.folder), *values))

    def open(self, thread, table, descriptor, arguments, path, call):
        flags = {"O_CREAT", "O_WRONLY", "O_TRUNC"} if call == "creat" else set(re.findall(r"O_\w+", arguments))
        if "O_DIRECTORY" in flags:
            table.pop(descriptor, None)
            return
        if "O_TRUNC" in flags:
            self.sizes[path] = 0
        table[descriptor] = Description(path, 0, "O_APPEND" in flags)
        if "temporary-" not in path:  # mkstemp() opens within libc
            self.note(thread, "open", path, tuple(flag for flag in FLAGS if flag in flags), self.sizes.get(path, 0))

    def close(self, thread, table, descriptor):
        if description := table.pop(descriptor, None):
            self.note(thread, "close", description.path)

    def of_descriptor(self, thread, table, call, arguments, result):
        descriptor, path = DESCRIPTOR.match(arguments).groups()
        descriptor = int(descriptor)
        description = table.setdefault(descriptor, Description(path))
        numbers = [int(number) for number in re.findall(r"(?<= )-?\d+(?=,|$)", arguments)]
        if call == "close":
            self.close(thread, table, descriptor)
        elif call in ("dup", "dup2", "dup3") or (call == "fcntl" and "F_DUPFD" in arguments):
            if result != descriptor:
                self.close(thread, table, result)
                table[result] = description
        elif call == "fcntl":
            if "F_SETFL" in arguments:
                description.append = "O_APPEND" in arguments
        elif call in ("fsync", "fdatasync"):
            self.note(thread, call, path)
        elif call == "ftruncate":
            self.sizes[path] = numbers[-1]
            self.note(thread, call, path, numbers[-1])
        elif call == "lseek":
            description.position = result
            self.note(thread, call, path, numbers[0], arguments.split(", ")[-1], result)
        elif call in ("copy_file_range", "sendfile"):
            self.copy(thread, table, call, arguments, result)
        else:
            self.transfer(thread, call, description, arguments, numbers, result)

    def transfer(self, thread, call, description, arguments, numbers, result):
        kind = call.removesuffix("64").removesuffix("2")
        vector = kind.endswith("v")
        sizes = [int(size) for size in re.findall(r"iov_len=(\d+)", arguments)] if vector else [numbers[0]]
        offset = None
        if kind.startswith("p"):
            after = [
                int(number)
                for number in arguments.rsplit("]" if vector else '"', 1)[-1].split(", ")[1:]
                if number.lstrip("-").isdigit()
            ]
            offset = after[1]  # after the count of parts, or the size
            if offset == -1:
                kind, offset = kind[1:], None
        if offset is None:
            if "write" in kind and description.append:
                description.position = self.sizes.get(description.path, 0)
            offset = description.position
            description.position += result
        if "write" in kind:
            self.sizes[description.path] = max(self.sizes.get(description.path, 0), offset + result)
        self.note(thread, kind, description.path, offset, tuple(sizes), result)

    def copy(self, thread, table, call, arguments, result):
        ends = [(int(number), path) for number, path in DESCRIPTOR.findall(arguments)]
        offsets = [
            int(before) if before else None for before in re.findall(r"\[(\d+)\](?: => \[\d+\])?|NULL", arguments)
        ]
        if call == "sendfile":
            ends, offsets = ends[::-1], [*offsets, None]
        size = int(re.findall(r"(?<= )\d+(?=,|$)", arguments)[0])
        places = []
        for (number, path), offset in zip(ends, offsets):
            description = table.setdefault(number, Description(path))
            places.append(description.position if offset is None else offset)
            if offset is None:
                description.position += result
        self.sizes[ends[1][1]] = max(self.sizes.get(ends[1][1], 0), places[1] + result)
        if ends[1][1].startswith(self.folder + "/"):
            self.note(thread, call, ends[0][1], places[0], short(ends[1][1], self.folder), places[1], size, result)


def short(path, folder):
    """The path below the folder; what mkstemp() made up is left out."""
    return re.sub(r"temporary-\w+( \(deleted\))?", "temporary", path.removeprefix(folder + "/"))


def recorded(traces, folder):
    """The requests of each thread as the traces in a directory have them, in the words of `traced`."""
    requests = defaultdict(list)
    texts = [path.read_text().splitlines() for path in traces.glob("*.trace")]
    for _, _, process, _start, *lines in sorted(texts, key=lambda lines: lines[3]):  # a process may begin anew by exec
        paths = {}
        for line in lines:
            if re.match(r"unseen |at \d+ \d+ \d+ (truncate|unlink|rename) ", line):  # not by a descriptor
                continue
            _, _, _, thread, call, handle, *fields = line.split(" ")
            key, numbers = (process, thread), [int(field) for field in fields if re.fullmatch(r"-?\d+", field)]
            if call in ("open", "inherit"):
                paths[handle] = short(unquote(fields[-1]), str(folder))
                if call == "open":
                    requests[key].append(
                        (call, paths[handle], tuple(flag for flag in FLAGS if flag in fields[0].split("|")), numbers[0])
                    )
            elif call == "dup":
                paths[fields[0]] = paths[handle]
            elif call in ("read", "write", "pread", "pwrite"):
                requests[key].append((call, paths[handle], numbers[0], (numbers[1],), numbers[2]))
            elif call.endswith("v"):
                requests[key].append((call, paths[handle], numbers[0], tuple(numbers[2:]), numbers[1]))
            elif call == "lseek":
                requests[key].append((call, paths[handle], numbers[0], fields[1], numbers[1]))
            elif call in ("copy_file_range", "sendfile"):
                _, offset, other, _, to_offset, size, result = fields
                requests[key].append(
                    (call, paths[handle], int(offset), paths[other], int(to_offset), int(size), int(result))
                )
            elif call != "flags":
                requests[key].append((call, paths[handle], *numbers))
    return sorted(map(tuple, requests.values()))
