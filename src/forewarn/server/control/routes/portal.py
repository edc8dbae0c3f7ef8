"""The portal's files: the operator's web page, served from memory, without any data.

The page refers to all other files by paths that start with the edition, a digest of all
files. Browsers can cache those files indefinitely and revalidate only the page.
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

#: The directory of the files.
FOLDER = Path(__file__).parents[2] / "portal"

#: Content types by suffix; other files are for developers and are not served.
KINDS: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",  # the license of third-party code
}

_READING = ["GET", "HEAD"]
_START = "index.html"
_HOME = "/portal/"
_END_OF_HEAD = "</head>"
_NAMED = re.compile(r'((?:src|href)=")([^"#]+)')  # not links within the page
_FOR_GOOD = "max-age=31536000, immutable"
_SMALL = 1024  # bytes; smaller files are not worth compressing

#: Allows only the portal's own files, with no strings as scripts and no framing.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-cache",  # cached, but revalidated on every use
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": (
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(),"
        " usb=()"
    ),
    "Vary": "Accept-Encoding",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedFile:
    """A file in the form in which it is sent: plain or compressed."""

    content: bytes
    headers: Mapping[str, str]

    @property
    def tag(self) -> str:
        """The ETag, which identifies this content."""
        return self.headers["ETag"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalFile:
    """One file, both plain and compressed."""

    plain: EncodedFile
    packed: EncodedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalFiles:
    """All files, by path."""

    edition: str
    files: Mapping[str, PortalFile]


@cache  # all applications serve the same files, and compression is slow
def read_portal(folder: Path) -> PortalFiles:
    """Read the files to serve from `folder` and its subdirectories."""
    contents = {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.suffix in KINDS and file.is_file()
    }
    edition = _edition(contents)
    if _START in contents:
        contents[_START] = _whole_page(contents, edition)
    files = {path: _file(path, content) for path, content in contents.items()}
    return PortalFiles(edition=edition, files=files)


@router.api_route("/", methods=_READING)
@router.api_route("/portal", methods=_READING)
async def home() -> Response:
    """Redirect to the portal."""
    return RedirectResponse(_HOME, 307)


@router.api_route("/portal/{path:path}", methods=_READING)
async def show_file(request: Request, path: str) -> Response:
    """Return one file of the portal."""
    portal: PortalFiles = request.app.state.portal
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
    """Prefix all references with the edition and preload all modules.

    Without preloading, a browser fetches a module only when another module imports it.
    """
    modules = sorted(path for path in contents if path.endswith(".js"))
    links = [f'<link rel="modulepreload" href="{path}" />\n' for path in modules]
    page = contents[_START].decode()
    page = page.replace(_END_OF_HEAD, f"{''.join(links)}{_END_OF_HEAD}")
    return _NAMED.sub(rf"\g<1>{edition}/\2", page).encode()


def _file(path: str, content: bytes) -> PortalFile:
    kind = {"Content-Type": KINDS[PurePath(path).suffix], **_HEADERS}
    tag = sha256(content).hexdigest()[:32]
    plain = EncodedFile(content=content, headers={**kind, "ETag": f'"{tag}"'})
    smaller = gzip.compress(content, mtime=0)
    if len(content) < _SMALL or len(smaller) >= len(content):
        return PortalFile(plain=plain, packed=plain)
    packed = {**kind, "ETag": f'"{tag}-gzip"', "Content-Encoding": "gzip"}
    return PortalFile(plain=plain, packed=EncodedFile(content=smaller, headers=packed))


def _takes_packed(request: Request) -> bool:
    for coding in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = coding.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _known_tags(request: Request) -> set[str]:
    header = request.headers.get("if-none-match", "")
    return {tag.strip().removeprefix("W/") for tag in header.split(",")}


def _about(form: EncodedFile) -> dict[str, str]:
    left_out = ("Content-Type", "Content-Encoding")  # a 304 has no content
    return {name: value for name, value in form.headers.items() if name not in left_out}
