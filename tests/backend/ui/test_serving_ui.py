"""The API serves the web UI from its own origin."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.backend.conftest import RecordedTasks

from weir_backend import ui
from weir_backend.app import create_app
from weir_backend.settings import Settings

PAGE = (
    f'<!doctype html><meta property="csp-nonce" nonce="{ui.NONCE}"><script src="/assets/app-4f1c.js" nonce="{ui.NONCE}"></script>'
)
SCRIPT = "console.log('weir')"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    (dist / "index.html").write_text(PAGE)
    (dist / "favicon.svg").write_text("<svg/>")
    (dist / "assets" / "app-4f1c.js").write_text(SCRIPT)
    (tmp_path / "secret.txt").write_text("not to be served")
    return dist


@pytest.fixture
def browser(settings: Settings, tasks: RecordedTasks, built: Path) -> Iterator[TestClient]:
    with TestClient(create_app(settings.model_copy(update={"ui_dir": built}), tasks), raise_server_exceptions=False) as opened:
        yield opened


def nonce_of(policy: str) -> str:
    found = re.search(r"'nonce-([\w-]+)'", policy)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("path", ["/", "/index.html", "/jobs/7/checkpoints", "/jobs/a name", "/login"])
def test_every_path_of_a_page_returns_the_html_of_the_ui(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-cache" and "etag" not in answer.headers


def test_the_content_security_policy_allows_files_of_the_ui_and_styles_with_the_nonce(browser: TestClient) -> None:
    first, second = browser.get("/"), browser.get("/")
    nonces = [nonce_of(answer.headers["content-security-policy"]) for answer in (first, second)]
    assert nonces[0] != nonces[1], "each response has a new nonce"
    assert first.text.count(f'nonce="{nonces[0]}"') == 2 and ui.NONCE not in first.text
    policy = dict(part.split(" ", 1) for part in first.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'" and policy["frame-ancestors"] == "'none'"
    assert "unsafe-inline" not in policy["style-src"] and "unsafe-eval" not in str(policy)
    assert first.headers["x-content-type-options"] == "nosniff" and first.headers["cross-origin-opener-policy"] == "same-origin"


def test_only_hashed_assets_are_cached_permanently(browser: TestClient) -> None:
    script = browser.get("/assets/app-4f1c.js")
    assert script.text == SCRIPT and script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "javascript" in script.headers["content-type"]
    assert browser.get("/favicon.svg").headers["cache-control"] == "no-cache"


def test_a_missing_asset_returns_not_found_instead_of_the_html_of_the_ui(browser: TestClient) -> None:
    answer = browser.get("/assets/app-older.js")
    assert answer.status_code == 404 and answer.headers["content-type"] == "application/problem+json"


def test_clients_that_accept_gzip_get_precompressed_files(browser: TestClient, built: Path) -> None:
    (built / "assets" / "app-4f1c.js.gz").write_bytes(gzip.compress(SCRIPT.encode()))
    answer = browser.get("/assets/app-4f1c.js", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip" and answer.headers["vary"] == "Accept-Encoding" and answer.text == SCRIPT
    assert "javascript" in answer.headers["content-type"], "the content type describes the uncompressed file"
    plain = browser.get("/assets/app-4f1c.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers and plain.text == SCRIPT


OUTSIDE = [
    *("/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt"),
    *("//etc/passwd", "/assets/%00", "/" + "a" * 5000),
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_files_outside_the_build_are_not_served(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code in (200, 404) and "not to be served" not in answer.text and "root:" not in answer.text


def test_paths_of_the_api_never_return_the_ui(browser: TestClient) -> None:
    missing = browser.get("/api/v1/nothing", headers={"Accept": "text/html"})
    assert missing.status_code == 404 and missing.headers["content-type"] == "application/problem+json"
    assert missing.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert browser.get("/api/v1/jobs").status_code == 401
    assert browser.put("/api/v1/jobs").status_code == 405
    assert browser.post("/jobs/7").status_code == 404
    assert browser.head("/").status_code == 200
    assert browser.get("/metrics").status_code == 401 and browser.get("/healthz").json() == {"status": "alive"}
    assert browser.get("/metrics/nothing").status_code == 404


def test_the_page_explains_how_to_build_the_ui_until_a_build_exists(
    settings: Settings, tasks: RecordedTasks, built: Path
) -> None:
    moved = built.rename(built.parent / "elsewhere")
    with TestClient(create_app(settings.model_copy(update={"ui_dir": built}), tasks), raise_server_exceptions=False) as browser:
        answer = browser.get("/")
        assert answer.status_code == 503 and "make ui" in answer.text and "WEIR_UI_DIR" in answer.text
        assert f'nonce="{nonce_of(answer.headers["content-security-policy"])}"' in answer.text
        assert str(built.parent) not in answer.text, "the page about the missing build reveals no paths of the host"
        assert browser.get("/healthz").status_code == 200
        moved.rename(built)
        assert browser.get("/").status_code == 200


def test_the_build_in_the_package_takes_precedence_over_the_source_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "backend" / "weir_backend"
    package.mkdir(parents=True)
    monkeypatch.setattr(ui, "_HERE", package / "ui.py")
    assert ui.directory(None) == tmp_path / "frontend" / "dist"
    (package / "ui").mkdir()
    assert ui.directory(None) == package / "ui"
    assert ui.directory(tmp_path) == tmp_path
