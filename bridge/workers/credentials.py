"""Credentials of a run and its other hosts: a token in a file, and a certificate that is made for the run.

``openssl`` makes a self-signed certificate for each run; its key is in a file only until it has been read. A host has the
certificate in a file and refuses every other one. Only this module imports ``ssl``.
"""

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import ssl
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bridge.options.declared import CERTIFICATE, LISTEN, TOKEN_FILE
from bridge.protocol.host_messages import APPLICATION_ALPN, HOST_ALPN
from bridge.scratch import scratch_folder
from traces.base.errors import InputError, shown, shown_path

TlsError = ssl.SSLError  # errors of TLS, for modules that do not import ``ssl``
CERTIFICATE_ENDING: Final = ".crt"  # added to the name of the token's file: default place of the certificate
_TOKEN: Final = (32, 200)  # number of characters of a token: too many to guess, and few enough for the first frame
_MAKE_TOKEN: Final = "to make one: (umask 077; openssl rand -hex 32 > {})"

_DAYS: Final = 36_500  # validity of a certificate in days; it is compared byte by byte, and its dates are not checked
_OPENSSL_S: Final = 60.0  # time limit of openssl, s; it takes some hundredths

_BEGIN, _END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"

#: A file with exactly one certificate.
_ALONE: Final = re.compile(rb"\s*" + _BEGIN + rb"[A-Za-z0-9+/=\s]+" + _END + rb"\s*")

_SUBJECT: Final = "twolevel run"  # the subject and the issuer of a run's certificate: one common name
_MOST_BYTES: Final = 65_536  # largest file that is read as a token, bytes

#: ``X509_V_FLAG_NO_CHECK_TIME`` of OpenSSL, which has no name in Python: clocks of hosts differ.
_NO_CHECK_TIME: Final = 0x200000


def read_token(path: str, where: str = "") -> str:
    """The token in a file that only its owner may read. Raises InputError, which explains how to make one, otherwise."""
    where = where or str(TOKEN_FILE)
    make = _MAKE_TOKEN.format(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: {shown_path(path)}: {getattr(error, 'strerror', None) or error}; {make}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{where}: {shown_path(path)} is not a file; {make}")
    with open(descriptor, "rb") as file:
        if (mode := stat.S_IMODE(os.fstat(file.fileno()).st_mode)) & 0o077:
            said = f"others may read {shown_path(path)} (mode {mode:o})"
            raise InputError(f"{where}: {said}; allowed: only its owner: chmod 600 {path}")
        text = file.read(_MOST_BYTES).decode("ascii", "replace").strip()
    low, high = _TOKEN
    if not (low <= len(text) <= high and text.isascii() and text.isprintable() and " " not in text):
        allowed = f"one word of {low} to {high} characters; {make}"
        raise InputError(f"{where}: {shown_path(path)} has no token; allowed: {allowed}")
    return text


class Certificate:
    """A certificate made for one run, in a file for the other hosts; closing removes the file. The certificate of an earlier
    run is replaced, no other file. Raises InputError if it cannot be made or written."""

    def __init__(self, path: str) -> None:
        self._path = path
        _check_replaceable(path)
        with scratch_folder() as folder:
            key, made = folder / "key", folder / "certificate"
            make_certificate(key, made, str(LISTEN), ("serverAuth",))
            self.pem = made.read_bytes()
            self.context = bridge_context(str(made), str(key))
        # Write the whole file at once: a host may be waiting for it.
        temporary = f"{path}.{secrets.token_hex(8)}"
        try:
            with open(temporary, "xb") as file:
                file.write(self.pem)
            _check_replaceable(path)  # the name may have been taken meanwhile
            os.replace(temporary, path)
        except (OSError, InputError) as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            if isinstance(error, InputError):
                raise
            raise InputError(f"{CERTIFICATE}: {shown_path(path)} cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """Remove the file if it has not been replaced."""
        with contextlib.suppress(OSError):
            if not os.path.islink(self._path) and Path(self._path).read_bytes() == self.pem:
                os.unlink(self._path)


def _check_replaceable(path: str) -> None:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise InputError(f"{CERTIFICATE}: {shown_path(path)} exists and is not a file; allowed: a new file")
        with open(path, "rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise InputError(f"{CERTIFICATE}: {shown_path(path)}: {getattr(error, 'strerror', None) or error}") from None
    if len(text) > _MOST_BYTES or _ALONE.fullmatch(text) is None or not _is_of_run(text):
        what = f"{shown_path(path)} exists and is not the certificate of a run"
        raise InputError(f"{CERTIFICATE}: {what}; allowed: a new file, or the certificate of an earlier run")


def _is_of_run(pem: bytes) -> bool:
    read = _openssl(str(CERTIFICATE), ["x509", "-noout", "-subject", "-issuer", "-nameopt", "RFC2253"], pem)
    return read.returncode == 0 and read.stdout.decode() == f"subject=CN={_SUBJECT}\nissuer=CN={_SUBJECT}\n"


def _openssl(where: str, words: Sequence[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run openssl. Raises InputError, which begins with ``where``, if there is none, or it does not end in time."""
    if (openssl := shutil.which("openssl")) is None:
        raise InputError(f"{where}: there is no openssl command, which makes the run's certificate; install openssl")
    try:
        return subprocess.run([openssl, *words], capture_output=True, timeout=_OPENSSL_S, check=False, input=given)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{where}: openssl cannot make a certificate: {error}") from None


def make_certificate(key: Path, certificate: Path, where: str, uses: Sequence[str]) -> None:
    """Make a self-signed certificate and its key, as files in a folder that only its owner may enter. ``uses``:
    ``serverAuth`` or ``clientAuth``. Raises InputError, which begins with ``where``, if there is no openssl, or it fails."""
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-sha256", "-nodes"]
    words += ["-keyout", str(key), "-out", str(certificate), "-days", str(_DAYS), "-subj", f"/CN={_SUBJECT}"]
    # Not a CA: trust in this certificate must not extend to others signed with it.
    words += ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"extendedKeyUsage={','.join(uses)}"]
    made = _openssl(where, words)
    if made.returncode:
        said = made.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"{where}: openssl cannot make a certificate: {said[-1] if said else made.returncode}")


def bridge_context(certificate: str, key: str) -> ssl.SSLContext:
    """The run's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols([HOST_ALPN, APPLICATION_ALPN])
    # No session resumption: every connection proves that its other end has the key.
    context.num_tickets = 0
    return context


def pinned_context(pem: str, alpn: str) -> ssl.SSLContext:
    """A host's side of TLS: it trusts only this certificate, and checks no name. Raises InputError if it is none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # the key is known, so the host's name does not matter
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags = ssl.VerifyFlags(context.verify_flags | _NO_CHECK_TIME | ssl.VERIFY_X509_PARTIAL_CHAIN)
    context.set_alpn_protocols([alpn])
    try:
        context.load_verify_locations(cadata=pem)
        known = len(context.get_ca_certs(binary_form=True))
    except (ssl.SSLError, ValueError) as error:
        raise InputError(f"not usable as a certificate: {why_not(error)}") from None
    if pem.count(_BEGIN.decode()) != 1:
        raise InputError(f"{known} certificates; allowed: one, the run's")
    return context


def sha256_of(path: str) -> str:
    """The checksum of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def why_not(error: Exception) -> str:
    """The cause of a TLS error in one line: ``certificate verify failed``."""
    reason = getattr(error, "reason", None)
    text = str(reason).replace("_", " ").lower() if reason else str(error) or type(error).__name__
    return shown(text, 160).strip("'\"")
