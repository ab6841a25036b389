"""The web UI: serves the built files of ``frontend/`` from the origin of the API.

The web UI handles every path that matches no route of the API. The single-page application routes in the browser, so all page paths return
index.html. Browsers cache hashed assets permanently, because their names change with their content.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

NONCE = "__WEIR_NONCE__"
"""The placeholder for the nonce in index.html. vite.config.ts inserts this placeholder."""
NOT_PAGES = ("api", "metrics", "healthz", "readyz", "assets")
"""The first path segments that never belong to a page. For an unknown path below ``NOT_PAGES``, the response is 404."""
_PAGE = "index.html"
_IMMUTABLE = "public, max-age=31536000, immutable"
_HERE = Path(__file__).resolve()


def directory(configured: Path | None) -> Path:
    """Return the directory of the built files, whether or not it exists. In a wheel, the built files are inside the package. In a checkout, the
    built files are in ``frontend/dist``."""
    if configured is not None:
        return configured
    packaged = _HERE.parent / "ui"
    return packaged if packaged.is_dir() else _HERE.parents[2] / "frontend" / "dist"


def policy(nonce: str) -> str:
    """Return the Content-Security-Policy of pages. Pages can load scripts only from files of this origin. Styles that components create at
    runtime are allowed, because these styles have the nonce. All style attributes are allowed, because charts and tables set style attributes,
    and attributes cannot have a nonce."""
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
    """ASGI application for paths that match no route."""

    def __init__(self, built: Path) -> None:
        self._built = built
        # Look up the files at each request, because a build can appear or be replaced while the process runs.
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
        """Return the built file with this path, or None if the build has no such file."""
        try:
            found, stat = self._files.lookup_path(path)
        except (ValueError, OSError):
            return None  # the path is not a valid file name
        if stat is None or not Path(found).is_file():
            return None
        headers = {"Cache-Control": _IMMUTABLE if path.startswith("assets/") else "no-cache", "Vary": "Accept-Encoding"}
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
            # The page has no ETag. With an ETag, a browser could combine a cached page with the Content-Security-Policy of a new response.
            # The Content-Security-Policy of the new response does not allow the nonce of the cached page.
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
<title>Weir: the web UI is not built</title>
<style nonce="{NONCE}">body {{ font: 16px/1.6 system-ui, sans-serif; max-width: 40em; margin: 12vh auto; padding: 0 1em }}</style>
<h1>The web UI is not built</h1>
<p>The API is running; jobs and the command line work. The directory <code>{built.name}</code> of the web UI does not exist.</p>
<p>In a checkout, build it with <code>make ui</code>; no restart is needed. If the build is elsewhere, set
<code>WEIR_UI_DIR=/path/to/dist</code> and restart the API.</p>
<p>The <a href="/api/v1/openapi.json">OpenAPI document</a> describes the API.</p>
</html>
"""
