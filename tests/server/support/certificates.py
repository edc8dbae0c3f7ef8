"""Certificates and keys signed by a test authority."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_SERVER = ExtendedKeyUsageOID.SERVER_AUTH

#: Dates long before and long after any test run.
PAST = datetime(2020, 1, 1, tzinfo=UTC)
FUTURE = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFiles:
    """Paths of a certificate and its key."""

    cert: str
    key: str

    @property
    def flags(self) -> dict[str, object]:
        """Return the flags that make the service use them."""
        return {"tls_cert": self.cert, "tls_key": self.key}


class CertificateAuthority:
    """A certificate authority that writes all files to one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("an authority")
        builder = _builder(self._name, self._name, self._key, PAST, FUTURE)
        own = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        ).sign(self._key, hashes.SHA256())
        self.file = self._write("ca.pem", own.public_bytes(_PEM))

    def sign(
        self,
        *names: str,
        begins: datetime = PAST,
        ends: datetime = FUTURE,
        usage: x509.ObjectIdentifier = _SERVER,
        passphrase: bytes | None = None,
    ) -> CertificateFiles:
        """Sign a certificate for `names`, which may be host names or addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name("a service"), self._name, key, begins, ends)
        signed = (
            builder.add_extension(
                x509.SubjectAlternativeName([_alternative(name) for name in names]),
                critical=False,
            )
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        stem = f"{signed.serial_number:x}"
        private = key.private_bytes(
            _PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()
            if passphrase is None
            else serialization.BestAvailableEncryption(passphrase),
        )
        return CertificateFiles(
            cert=self._write(f"{stem}.pem", signed.public_bytes(_PEM)),
            key=self._write(f"{stem}.key", private),
        )

    def _write(self, name: str, content: bytes) -> str:
        path = self._folder / name
        path.write_bytes(content)
        return str(path)


_PEM = serialization.Encoding.PEM


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    begins: datetime,
    ends: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(max(ends, begins + timedelta(seconds=1)))
    )
