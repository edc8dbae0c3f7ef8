"""The portal's files: the operator's page, served from memory; they hold no data.

The page names all others by paths that begin with the edition, which is another as soon
as one of them is: browsers keep those for good, and ask for the page alone.
"""

import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePath

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

router = APIRouter(include_in_schema=False)

#: Where the files are.
FOLDER = Path(__file__).parents[1] / "portal"

#: What is served, and as what; other files are for those who work on the portal.
KINDS: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",  # the licence of what others wrote
}

_READING = ["GET", "HEAD"]
_START = "index.html"
_HOME = "/portal/"
_END_OF_HEAD = "</head>"
_NAMED = re.compile(r'((?:src|href)=")([^"#]+)')  # not what is within the page
_FOR_GOOD = "max-age=31536000, immutable"
_SMALL = 1024  # bytes; fewer are not worth packing

#: Nothing but our own files, no text as script, and in nobody's frame.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-cache",  # kept, but never shown without asking
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": (
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(),"
        " usb=()"
    ),
    "Vary": "Accept-Encoding",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A file as it goes out: as it is, or packed."""

    content: bytes
    headers: Mapping[str, str]

    @property
    def tag(self) -> str:
        """What tells this content from any other."""
        return self.headers["ETag"]


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file."""

    plain: Form
    packed: Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Portal:
    """All files, by path."""

    edition: str
    files: Mapping[str, File]


@cache  # every application shows the same, and packing takes its time
def read_portal(folder: Path) -> Portal:
    """Read what is to be served of `folder` and the folders within."""
    contents = {
        each.relative_to(folder).as_posix(): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.suffix in KINDS and each.is_file()
    }
    edition = _edition(contents)
    if _START in contents:
        contents[_START] = _whole_page(contents, edition)
    files = {path: _file(path, content) for path, content in contents.items()}
    return Portal(edition=edition, files=files)


@router.api_route("/", methods=_READING)
@router.api_route("/portal", methods=_READING)
async def home() -> Response:
    """Lead to the portal."""
    return RedirectResponse(_HOME, 307)


@router.api_route("/portal/{path:path}", methods=_READING)
async def show_file(request: Request, path: str) -> Response:
    """Show one file of the portal."""
    portal: Portal = request.app.state.portal
    within = path.removeprefix(f"{portal.edition}/")
    file = portal.files.get(within or _START)
    if file is None:
        raise HTTPException(404)
    form = file.packed if _takes_packed(request) else file.plain
    kept = {"Cache-Control": _FOR_GOOD} if within != path else {}
    if form.tag in _known_tags(request):
        return Response(status_code=304, headers={**_about(form), **kept})
    return Response(form.content, headers={**form.headers, **kept})


def _edition(contents: Mapping[str, bytes]) -> str:
    digest = sha256()
    for path, content in contents.items():
        digest.update(f"{path} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _whole_page(contents: Mapping[str, bytes], edition: str) -> bytes:
    """Name all that the page needs by its edition, and all modules at once.

    Else a browser would ask for a module only when another has named it.
    """
    modules = sorted(path for path in contents if path.endswith(".js"))
    links = [f'<link rel="modulepreload" href="{path}" />\n' for path in modules]
    page = contents[_START].decode()
    page = page.replace(_END_OF_HEAD, f"{''.join(links)}{_END_OF_HEAD}")
    return _NAMED.sub(rf"\g<1>{edition}/\2", page).encode()


def _file(path: str, content: bytes) -> File:
    kind = {"Content-Type": KINDS[PurePath(path).suffix], **_HEADERS}
    tag = sha256(content).hexdigest()[:32]
    plain = Form(content=content, headers={**kind, "ETag": f'"{tag}"'})
    smaller = gzip.compress(content, mtime=0)
    if len(content) < _SMALL or len(smaller) >= len(content):
        return File(plain=plain, packed=plain)
    packed = {**kind, "ETag": f'"{tag}-gzip"', "Content-Encoding": "gzip"}
    return File(plain=plain, packed=Form(content=smaller, headers=packed))


def _takes_packed(request: Request) -> bool:
    for each in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = each.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _known_tags(request: Request) -> set[str]:
    known = request.headers.get("if-none-match", "")
    return {each.strip().removeprefix("W/") for each in known.split(",")}


def _about(form: Form) -> dict[str, str]:
    left_out = ("Content-Type", "Content-Encoding")  # there is no content
    return {name: each for name, each in form.headers.items() if name not in left_out}
