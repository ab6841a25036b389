"""The web interface: the built files of ``frontend/``, on the origin of the API.

Whatever no route has taken comes here. Addresses of pages are the page's own matter, so all of them get index.html; names of hashed
assets never mean anything else again, so those are kept by browsers for ever.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

NONCE = "__WEIR_NONCE__"
"""In index.html, where Vite puts it: vite.config.ts."""
NOT_PAGES = ("api", "metrics", "healthz", "readyz", "assets")
"""First parts of paths that no page has: what is not found there is not found."""
_PAGE = "index.html"
_FOR_EVER = "public, max-age=31536000, immutable"
_HERE = Path(__file__).resolve()


def directory(configured: Path | None) -> Path:
    """Where the built files are, or would be. In a wheel they lie in the package, in a checkout beside it."""
    if configured is not None:
        return configured
    packaged = _HERE.parent / "ui"
    return packaged if packaged.is_dir() else _HERE.parents[2] / "frontend" / "dist"


def policy(nonce: str) -> str:
    """Content-Security-Policy of pages. Scripts are files of ours and nothing else. Styles that components make while a page runs carry
    the nonce; charts and tables set attributes, which cannot."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "style-src-attr 'unsafe-inline'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "worker-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


class Ui:
    """ASGI application for what no route has taken."""

    def __init__(self, built: Path) -> None:
        self._built = built
        # Asked at each request: a build may come, or be replaced, while this runs.
        self._files = StaticFiles(directory=built, check_dir=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = await self._answer(scope)
        await answer(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        path = scope["path"].lstrip("/")
        first = path.partition("/")[0]
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(404)
        if first not in NOT_PAGES[:-1] and path not in ("", _PAGE):
            file = self._file(path, scope)
            if file is not None:
                return file
        if first in NOT_PAGES:
            raise HTTPException(404)
        return self._page()

    def _file(self, path: str, scope: Scope) -> Response | None:
        """None: there is no such file in the build."""
        try:
            found, stat = self._files.lookup_path(path)
        except (ValueError, OSError):
            return None  # no name that a file can have
        if stat is None or not Path(found).is_file():
            return None
        headers = {"Cache-Control": _FOR_EVER if path.startswith("assets/") else "no-cache", "Vary": "Accept-Encoding"}
        accepted = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}.get(
            "accept-encoding", ""
        )
        compressed = Path(f"{found}.gz")
        if "gzip" in accepted and compressed.is_file():
            kind = FileResponse(found).media_type
            return FileResponse(compressed, headers={**headers, "Content-Encoding": "gzip"}, media_type=kind)
        return FileResponse(found, headers=headers)

    def _page(self) -> Response:
        nonce = secrets.token_urlsafe(16)
        try:
            html, status = (self._built / _PAGE).read_text(), 200
        except OSError:
            html, status = _not_built(self._built), 503
        headers = {
            # Without an ETag: an answer that is kept would carry a nonce that the policy does not know any more.
            "Cache-Control": "no-cache",
            "Content-Security-Policy": policy(nonce),
        }
        return HTMLResponse(html.replace(NONCE, nonce), status, headers)


def _not_built(built: Path) -> str:
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Weir: the web interface is not built</title>
<style nonce="{NONCE}">body {{ font: 16px/1.6 system-ui, sans-serif; max-width: 40em; margin: 12vh auto; padding: 0 1em }}</style>
<h1>The web interface is not built</h1>
<p>The API runs, and serves jobs and the command line. Its web interface would be in <code>{built.name}</code>, which is not there.</p>
<p>In a checkout, build it: <code>make ui</code>. It is found without a restart. If it was built somewhere else, say where before the API is
started: <code>WEIR_UI_DIR=/path/to/dist</code>.</p>
<p>The API itself is described by <a href="/api/v1/openapi.json">its OpenAPI document</a>.</p>
</html>
"""
