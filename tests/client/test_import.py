"""Import cost of the client, and the platforms it can be imported on."""

import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

import forewarn

SOURCE = str(Path(forewarn.__file__).parent.parent)

#: Large modules that no request needs.
DEAR = ("asyncio", "email", "http.client", "random", "ssl", "urllib.request", "uuid")

#: Modules and names that do not exist on Windows.
POSIX_MODULES = (
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
POSIX_NAMES = (
    "O_CLOEXEC",
    "O_DIRECTORY",
    "O_NOFOLLOW",
    "chown",
    "fork",
    "getpgid",
    "geteuid",
    "getuid",
    "killpg",
    "mkfifo",
    "pidfd_open",
    "posix_spawn",
    "sched_getaffinity",
    "setsid",
    "sysconf",
    "uname",
    "wait4",
)
SOCKET_NAMES = ("AF_UNIX", "AF_PACKET", "SO_BINDTODEVICE", "SO_REUSEPORT")


def python(program: str) -> str:
    """Run `program` in a bare Python process and return its output."""
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(
        command,
        env={"PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_client_imports_no_large_modules() -> None:
    loaded = python("import forewarn.client, sys; print(*sys.modules)").split()
    assert "forewarn.client.client" in loaded
    assert [name for name in DEAR if name in loaded] == []


def test_the_client_is_loaded_lazily() -> None:
    program = """
import sys, forewarn
print("forewarn.client" in sys.modules, forewarn.Client.__name__)
print("forewarn.client" in sys.modules)
"""
    assert python(program).split() == ["False", "Client", "True"]


def test_the_package_exports_only_the_declared_names() -> None:
    assert {"Client", "__version__"} == set(forewarn.__all__)
    assert not hasattr(forewarn, "Server")
    assert (Path(forewarn.__file__).parent / "py.typed").exists()


def test_the_client_works_without_posix_modules() -> None:
    program = f"""
import os, socket, sys
for name in {POSIX_MODULES!r}:
    sys.modules[name] = None
for name in {POSIX_NAMES!r}:
    vars(os).pop(name, None)
for name in {SOCKET_NAMES!r}:
    vars(socket).pop(name, None)
sys.platform = "win32"
import forewarn.client, forewarn.client.discovery
from forewarn.errors import Unreachable
try:
    forewarn.Client("http://127.0.0.1:1", patience=0).document()
except Unreachable as error:
    print("unreachable")
try:
    forewarn.client.discovery.query_dhcp()
except Unreachable as error:
    print(error)
"""
    first, second = python(program).splitlines()
    assert first == "unreachable"
    assert "Linux" in second
