"""Python with the restrictions of Windows: run `forewarn`, or a program with -c.

  python imitated_windows.py watch --once
  python imitated_windows.py -c PROGRAM

1. Modules and names that only POSIX has are missing, and /proc does not exist.
2. `select` accepts only sockets, and pairs of sockets are TCP connections.
3. Ctrl-C interrupts no system call of the main thread: as on Windows, another thread
   receives it, and Python handles it when the main thread runs again.
4. Files opened without O_BINARY get a carriage return before each line end.

File names stay those of Linux, and `os.name` with them, which `pathlib` depends on.
Modules of the standard library that choose their implementation by platform are
imported before.
"""

import asyncio  # noqa: F401  # chooses its event loop by platform
import os
import pathlib  # noqa: F401
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

MODULES = (
    "_posixshmem",
    "crypt",
    "fcntl",
    "grp",
    "pty",
    "pwd",
    "readline",
    "resource",
    "syslog",
    "termios",
    "tty",
)
#: Names that Windows does not have.
OS_NAMES = (
    "EFD_CLOEXEC EFD_NONBLOCK O_CLOEXEC O_DIRECTORY O_DSYNC O_NOCTTY O_NOFOLLOW"
    " O_NONBLOCK O_PATH O_SYNC O_TMPFILE WNOHANG chown chroot confstr eventfd"
    " eventfd_read eventfd_write fchdir fchmod fchown fdatasync fork forkpty fpathconf"
    " fstatvfs getegid geteuid getgid getgrouplist getgroups getloadavg getpgid getpgrp"
    " getpriority getresgid getresuid getsid getuid initgroups killpg lchown lockf"
    " memfd_create mkfifo mknod nice openpty pathconf pidfd_open pipe2 posix_fadvise"
    " posix_fallocate posix_spawn posix_spawnp pread preadv pwrite pwritev readv"
    " register_at_fork sched_getaffinity sched_yield sendfile set_blocking setegid"
    " seteuid setgid setgroups setpgid setpriority setregid setresgid setresuid"
    " setreuid setsid setuid statvfs sync sysconf tcgetpgrp tcsetpgrp ttyname uname"
    " wait wait3 wait4 waitid writev"
)
SOCKET_NAMES = "AF_NETLINK AF_PACKET AF_UNIX SO_BINDTODEVICE SO_REUSEPORT"
SELECT_NAMES = "epoll poll"
#: Names in `signal` that Windows has; all others are removed.
SIGNAL_NAMES = (
    "Handlers NSIG SIGABRT SIGFPE SIGILL SIGINT SIGSEGV SIGTERM SIG_DFL SIG_IGN Signals"
    " default_int_handler getsignal raise_signal set_wakeup_fd signal strsignal"
    " valid_signals"
)

O_BINARY = 0x8000  # its value on Windows

_text_files: set[int] = set()  # descriptors without O_BINARY


def imitate_windows() -> None:
    """Restrict this process."""
    _interrupt_no_call()
    keep_names(subprocess, os, signal)
    for module in MODULES:
        sys.modules[module] = None  # type: ignore[assignment]  # imports fail
    for name in OS_NAMES.split():
        vars(os).pop(name, None)
    for name in SOCKET_NAMES.split():
        vars(socket).pop(name, None)
    for name in SELECT_NAMES.split():
        vars(select).pop(name, None)
    for name in [*vars(signal)]:
        if name not in SIGNAL_NAMES.split() and not name.startswith("_"):
            del vars(signal)[name]
    replaced: Any = (os, select, socket)
    replaced[0].O_BINARY = O_BINARY
    replaced[0].open, replaced[0].write = _open, _write
    replaced[1].select = _select
    replaced[2].socketpair = _socketpair
    sys.addaudithook(hide_proc)
    sys.platform = "win32"


def _interrupt_no_call() -> None:
    """Have another thread receive signals."""
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def keep_names(user: ModuleType, *modules: ModuleType) -> None:
    """Give a module of the standard library its own copies of what it imports."""
    for module in modules:
        copy = ModuleType(module.__name__)
        vars(copy).update(vars(module))
        setattr(user, module.__name__, copy)


def hide_proc(event: str, arguments: tuple[object, ...]) -> None:
    """Fail to open or list anything in /proc, as an audit hook."""
    if event in ("open", "os.listdir", "os.scandir", "os.chdir"):
        path = arguments[0]
        if isinstance(path, str | bytes) and os.fsencode(path).startswith(b"/proc"):
            raise FileNotFoundError(2, "no such file", path)


def _select(
    read: Sequence[Any],
    write: Sequence[Any],
    failed: Sequence[Any],
    timeout: float | None = None,
    *,
    select: Any = select.select,
) -> Any:
    for file in (*read, *write, *failed):
        number = file if isinstance(file, int) else file.fileno()
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            raise OSError(10038, "an operation was attempted on a non-socket")
    return select(read, write, failed, timeout)


def _socketpair(*kind: object) -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        first = socket.create_connection(listener.getsockname())
        second, _ = listener.accept()
    return first, second


def _open(
    path: Any, flags: int, mode: int = 0o777, *, open: Any = os.open, **more: Any
) -> int:
    number: int = open(path, flags & ~O_BINARY, mode, **more)
    (_text_files.discard if flags & O_BINARY else _text_files.add)(number)
    return number


def _write(number: int, data: Any, *, write: Any = os.write) -> int:
    if number in _text_files:
        data = bytes(data).replace(b"\n", b"\r\n")
    written: int = write(number, data)
    return written


def main() -> None:
    """Run what the command line names."""
    imitate_windows()
    if sys.argv[1] == "-c":
        exec(sys.argv[2], {"__name__": "__main__"})
        return
    from forewarn.cli.main import main as run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
