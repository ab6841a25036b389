"""A self-signed TLS certificate for a host name, with contexts for its server and its clients."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificates:
    certificate: bytes
    key: bytes

    def server_context(self, directory: Path) -> ssl.SSLContext:
        """Write the certificate and key to ``directory``, because Python loads them only from files."""
        (directory / "cert.pem").write_bytes(self.certificate)
        (directory / "key.pem").write_bytes(self.key)
        found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        found.load_cert_chain(directory / "cert.pem", directory / "key.pem")
        return found

    def client_context(self) -> ssl.SSLContext:
        """Return the context of a client that trusts only this certificate."""
        found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        found.load_verify_locations(cadata=self.certificate.decode())
        return found


def certificates(name: str) -> Certificates:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Certificates(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )  # fmt: skip
