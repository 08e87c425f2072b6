"""How Compute is reached: certificates are verified, and each kind of credentials is sent."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path

import google.auth.iam
import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.gce.auth import Auth
from ansible_collections.gpufleet.cluster.plugins.module_utils.gce.client import Compute, Policy
from ansible_collections.gpufleet.cluster.plugins.module_utils.gce.errors import (
    ApiError,
    AuthError,
    MalformedAnswerError,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.gce.http import open_session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.fakes.gce import Answer, FakeCompute

NETWORKS = "projects/demo-project/global/networks"


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key: rsa.RSAPrivateKey) -> str:
    none = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, none).decode()


@pytest.fixture
def certificate(key: rsa.RSAPrivateKey, tmp_path: Path) -> Path:
    """Key and certificate of an authority that nobody trusts, for 127.0.0.1."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "private authority")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
    )
    path = tmp_path / "authority.pem"
    made = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    path.write_text(pem(key) + made.decode())
    return path


def client(fake: FakeCompute, auth: Auth) -> Compute:
    return Compute(open_session(auth), fake.url, Policy(timeout=5, deadline=5))


def test_certificates_are_verified_by_default(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    token = Auth("accesstoken", access_token="ya29.secret")
    with FakeCompute(tls=tls, token="ya29.secret") as fake:
        with pytest.raises(AuthError, match="the certificate is not trusted"):
            client(fake, token).get(NETWORKS)
        assert fake.log == []  # the token was not sent
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        assert client(fake, token).get(NETWORKS)["items"] == []


def test_a_redirect_is_not_followed() -> None:
    """Compute never redirects, and a token must not go where a proxy points."""
    token = Auth("accesstoken", access_token="ya29.secret")
    with FakeCompute() as other, FakeCompute() as fake:
        fake.script.plant("GET", NETWORKS, Answer(302, b"", {"Location": f"{other.url}/compute/v1/{NETWORKS}"}))
        with pytest.raises(MalformedAnswerError, match="HTTP 302"):
            client(fake, token).get(NETWORKS)
        assert other.log == []


class _Tokens(BaseHTTPRequestHandler):
    """Google's two token services: for a signed assertion, and for acting as another account."""

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        answer: dict[str, object] = {}
        if self.path == "/token" and "assertion=" in asked:
            answer = {"access_token": "of-the-key", "expires_in": 3600, "token_type": "Bearer"}
        if self.path == "/as/nodes@demo-project" and self.headers["Authorization"] == "Bearer of-the-key":
            answer = {"accessToken": "of-another", "expireTime": f"{datetime.now(UTC) + timedelta(hours=1):%FT%TZ}"}
        payload = json.dumps(answer).encode()
        self.send_response(200 if answer else 403)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing to say."""


@pytest.fixture
def tokens() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Tokens) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def key_file(tokens: str, key: rsa.RSAPrivateKey, tmp_path: Path) -> Path:
    path = tmp_path / "key.json"
    account = {"type": "service_account", "client_email": "ops@demo-project", "project_id": "demo-project"}
    path.write_text(json.dumps({**account, "private_key": pem(key), "token_uri": f"{tokens}/token"}))
    return path


@pytest.mark.parametrize("impersonate", [None, "nodes@demo-project"], ids=["itself", "as another"])
@pytest.mark.parametrize("kind", ["application", "serviceaccount", "accesstoken"])
def test_each_kind_of_credentials_is_sent(
    kind: str, impersonate: str | None, tokens: str, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(google.auth.iam, "_IAM_ENDPOINT", f"{tokens}/as/{{}}")
    if kind == "application":
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key_file))
    auth = Auth(
        kind,
        service_account_file=str(key_file) if kind == "serviceaccount" else None,
        access_token="of-the-key" if kind == "accesstoken" else None,
        impersonate=impersonate,
    )
    with FakeCompute(token="of-another" if impersonate else "of-the-key") as fake:
        assert client(fake, auth).get(NETWORKS)["items"] == []
    with FakeCompute(token="of-somebody-else") as fake, pytest.raises(ApiError, match="HTTP 401"):
        client(fake, auth).get(NETWORKS)


@pytest.mark.parametrize("kind", ["serviceaccount", "application"])
def test_credentials_that_cannot_be_had(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(AuthError, match=f"cannot get credentials \\(auth_kind {kind}\\)"):
        open_session(Auth(kind, service_account_file=str(tmp_path / "none.json")))


def test_an_account_that_may_not_act_as_another(key_file: Path, tokens: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(google.auth.iam, "_IAM_ENDPOINT", f"{tokens}/as/{{}}")
    auth = Auth("serviceaccount", service_account_file=str(key_file), impersonate="root@demo-project")
    with FakeCompute() as fake:
        with pytest.raises(AuthError, match="cannot get credentials"):
            client(fake, auth).get(NETWORKS)
        assert fake.log == []
