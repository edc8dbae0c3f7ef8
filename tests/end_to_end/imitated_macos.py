"""Python with the restrictions of macOS: run `forewarn`, or a program with -c.

  python -m tests.end_to_end.imitated_macos serve --fleet demo

Names that only Linux has are missing, and /proc does not exist. Names that Python
has on macOS only since 3.13 are missing as well. Modules of the standard library that
choose their implementation by platform are imported before.
"""

import asyncio  # noqa: F401  # chooses its event loop by platform
import os
import pathlib  # noqa: F401
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request  # noqa: F401

from tests.end_to_end.imitated_windows import hide_proc, keep_names

#: Names that macOS does not have.
OS_NAMES = (
    "EFD_CLOEXEC EFD_NONBLOCK GRND_NONBLOCK O_DIRECT O_LARGEFILE O_NOATIME O_PATH"
    " O_RSYNC O_TMPFILE P_PIDFD SCHED_BATCH SCHED_IDLE copy_file_range eventfd"
    " eventfd_read eventfd_write fdatasync getrandom getresgid getresuid getxattr"
    " listxattr memfd_create pidfd_open pipe2 posix_fadvise posix_fallocate preadv"
    " pwritev removexattr sched_getaffinity sched_getparam sched_getscheduler"
    " sched_setaffinity sched_setparam sched_setscheduler setns setresgid setresuid"
    " setxattr splice unshare waitid"
)
SOCKET_NAMES = (
    "AF_ALG AF_NETLINK AF_PACKET AF_VSOCK IP_TRANSPARENT SOCK_CLOEXEC SOCK_NONBLOCK"
    " SO_BINDTODEVICE SO_DOMAIN SO_INCOMING_CPU SO_MARK SO_PASSCRED SO_PEERCRED"
    " SO_PRIORITY SO_PROTOCOL TCP_CORK TCP_DEFER_ACCEPT TCP_INFO TCP_QUICKACK"
    " TCP_USER_TIMEOUT"
)
SIGNAL_NAMES = "SIGPWR SIGSTKFLT SIGRTMAX SIGRTMIN pidfd_send_signal sigtimedwait"
SELECT_NAMES = "epoll"


def imitate_macos() -> None:
    """Restrict this process."""
    sysconfig.get_config_vars()  # reads a file that is named after the platform
    keep_names(subprocess, os, signal)
    for module, names in (
        (os, OS_NAMES),
        (socket, SOCKET_NAMES),
        (signal, SIGNAL_NAMES),
        (select, SELECT_NAMES),
    ):
        for name in names.split():
            vars(module).pop(name, None)
    tempfile._O_TMPFILE_WORKS = False  # type: ignore[attr-defined]  # chosen on import
    sys.addaudithook(hide_proc)
    sys.platform = "darwin"


def main() -> None:
    """Run what the command line names."""
    imitate_macos()
    if sys.argv[1] == "-c":
        exec(sys.argv[2], {"__name__": "__main__"})
        return
    from forewarn.cli.main import main as run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
