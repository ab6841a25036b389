"""A fake OpenID Connect provider that listens on a port and signs with real keys. Tests can change each part of the provider's responses."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "weir:client", "a secret, with + and %"


class FakeProvider:
    """``authorize`` simulates the login of a user in a browser. Each code that ``authorize`` returns is valid only once."""

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}"
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self.reset()

    def reset(self) -> None:
        """Reset everything except the key, which is expensive to create."""
        self.published_keys = [self.key]
        self.document: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize?tenant=1",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
        }
        self.claims: dict[str, Any] = {"sub": "007", "preferred_username": "james"}
        self.sign: Callable[[dict[str, Any]], str] = self.signed
        self.requested_paths: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    def authorize(self, address: str) -> tuple[str, str]:
        """Let the user log in at ``address``. Return the code and the state of the redirect to Weir."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.issuer}/authorize?tenant=1&") and query["client_id"] == CLIENT
        assert query["response_type"] == "code" and query["code_challenge_method"] == "S256" and "openid" in query["scope"]
        code = secrets.token_urlsafe(8)
        self._codes[code] = query
        return code, query["state"]

    def signed(self, claims: dict[str, Any], header: dict[str, Any] | None = None, key: RSAKey | None = None) -> str:
        return jwt.encode(header or {"alg": "RS256", "kid": "first"}, claims, key or self.key, algorithms=["RS256", "PS256"])

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        login = self._codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        credentials = base64.b64encode(b"weir%3Aclient:a%20secret%2C%20with%20%2B%20and%20%25").decode()
        if login is None or challenge != login["code_challenge"] or form["redirect_uri"] != login["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        if authorization != f"Basic {credentials}":
            return 401, {"error": "invalid_client"}
        now_s = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now_s, "exp": now_s + 300, "nonce": login["nonce"], **self.claims}
        return 200, {"id_token": self.sign({name: value for name, value in claims.items() if value is not None})}

    def keys(self) -> dict[str, Any]:
        return {"keys": [{"kty": "unknown type"}, *(key.as_dict(private=False) for key in self.published_keys)]}


@contextmanager
def running_provider() -> Iterator[FakeProvider]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.requested_paths.append(self.path)
            document = {"/.well-known/openid-configuration": provider.document, "/keys": provider.keys()}.get(self.path)
            self._respond(200 if document else 404, document or {})

        def do_POST(self) -> None:
            provider.requested_paths.append(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._respond(*provider.token(form, self.headers.get("Authorization", "")))

        def _respond(self, status: int, body: dict[str, Any]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider = FakeProvider(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
