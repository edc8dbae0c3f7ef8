"""Permission checks for files that the agent trusts.

1. A path is trusted if root or the agent's own user owns it and every parent directory,
   and no other user can write to any of them. A parent directory may be writable by
   others if it has the sticky bit, like /tmp, because users cannot replace each other's
   files there.
2. Symbolic links are followed. Every link and directory along the path is checked, as
   is the target. The agent's own files must not be links.
3. These checks apply only to POSIX platforms. Elsewhere, nothing is reported.
"""

import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0
_MOST_LINKS = 40  # along a path; the kernel follows no more than this


def permission_problem(path: Path) -> str | None:
    """Return who else can change `path` and how to fix it, or None if no one else can.

    For a path that does not exist, only its parent directories are checked.
    """
    return None if _user() is None else next(_problems(path), None)


def own_file_problem(path: Path) -> str | None:
    """Return why a file in a trusted directory is not trusted, or None if it is."""
    if _user() is None:
        return None
    if path.is_symlink():
        return (
            f"{path} is a symbolic link, which the agent does not follow; run: rm"
            f" {shlex.quote(str(path))}"
        )
    return _problem(path, is_target=True)


def _user() -> int | None:
    """Return this process's user, or None if the platform has no POSIX permissions."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def _problems(path: Path) -> Iterator[str]:
    for step, is_target in _steps(path):
        problem = _problem(step, is_target=is_target)
        if problem is not None:
            yield problem


def _steps(path: Path) -> Iterator[tuple[Path, bool]]:
    """Yield each directory, link and file along `path`, with True for the last one."""
    at, links = Path(), 0
    names = [*reversed(path.absolute().parts)]
    while names:
        at /= names.pop()  # for the root, the root itself
        if at.name == "..":
            at = at.parent.parent
            continue
        yield at, not names
        if at.is_symlink() and links < _MOST_LINKS:
            links += 1
            names += reversed(at.readlink().parts)
            at = at.parent


def _problem(path: Path, *, is_target: bool) -> str | None:
    try:
        info = path.lstat()
    except OSError:  # does not exist, or its directory was already reported
        return None
    is_link, is_folder = stat.S_ISLNK(info.st_mode), stat.S_ISDIR(info.st_mode)
    name = shlex.quote(str(path))
    if info.st_uid not in (_ROOT, _user()):
        option = "-h " if is_link else ""
        return (
            f"{path} belongs to {_user_name(info.st_uid)}, who could change it; run:"
            f" chown {option}{_user_name(_user() or _ROOT)} {name}"
        )
    is_sticky = is_folder and info.st_mode & stat.S_ISVTX and not is_target
    if not info.st_mode & _OTHERS or is_link or is_sticky:
        return None
    if not is_folder and not stat.S_ISREG(info.st_mode):
        return None  # a device or a pipe
    who = "everyone" if info.st_mode & stat.S_IWOTH else _group_name(info.st_gid)
    return f"{path} can be changed by {who}; run: chmod go-w {name}"


def _user_name(uid: int) -> str:
    import pwd  # only on POSIX

    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _group_name(gid: int) -> str:
    import grp  # only on POSIX

    with suppress(KeyError):
        return f"the group {grp.getgrgid(gid).gr_name}"
    return f"the group {gid}"
