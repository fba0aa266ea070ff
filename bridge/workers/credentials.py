"""Credentials of a run and its other hosts: a token in a file, and a certificate that is made for the run.

TLS is the standard library's. It cannot make certificates, so the ``openssl`` command makes a self-signed one for each run;
its key is in a file of this process only until it has been read. A host has the certificate in a file and refuses every other
one. Only this module imports ``ssl``.
"""

import base64
import contextlib
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

#: Errors of TLS, for modules that do not import ``ssl``.
TlsError = ssl.SSLError

#: Added to the name of the token's file: default place of the certificate.
CERTIFICATE_ENDING: Final = ".crt"

#: Number of characters of a token: too many to guess, and few enough for the first frame.
_TOKEN: Final = (32, 200)

_MAKE_TOKEN: Final = "to make one: (umask 077; openssl rand -hex 32 > {})"

#: Validity of a certificate in days; it is compared byte by byte, and its dates are not checked.
_DAYS: Final = 36_500

#: Time limit of openssl, s; it takes some hundredths.
_OPENSSL_S: Final = 60.0

_BEGIN, _END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"

#: A file with exactly one certificate.
_ALONE: Final = re.compile(rb"\s*" + _BEGIN + rb"([A-Za-z0-9+/=\s]+)" + _END + rb"\s*")

#: The subject of a run's certificate, and its DER form: one common name, as UTF-8.
_SUBJECT: Final = "twolevel run"
_NAME: Final = bytes.fromhex("311530130603550403") + b"\x0c\x0c" + _SUBJECT.encode()

#: Largest file that is read as a token, bytes.
_MOST_BYTES: Final = 65_536

#: ``X509_V_FLAG_NO_CHECK_TIME`` of OpenSSL, which has no name in Python: clocks of hosts differ.
_NO_CHECK_TIME: Final = 0x200000


def read_token(path: str, where: str = "") -> str:
    """The token in a file that only its owner may read. Raises InputError if there is none, others may read it, or its
    content is not a token; the message explains how to make one."""
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
        status = os.fstat(file.fileno())
        if status.st_mode & 0o077:
            mode = stat.S_IMODE(status.st_mode)
            raise InputError(
                f"{where}: others may read {shown_path(path)} (mode {mode:o}); allowed: only its owner: chmod 600 {path}"
            )
        text = file.read(_MOST_BYTES).decode("ascii", "replace").strip()
    low, high = _TOKEN
    if not (low <= len(text) <= high and text.isascii() and text.isprintable() and " " not in text):
        raise InputError(
            f"{where}: {shown_path(path)} has no token; allowed: one word of {low} to {high} characters; {make}"
        )
    return text


class Certificate:
    """A certificate made for one run, in a file for the other hosts; closing removes the file.

    - ``path``: the file. A certificate of an earlier run is replaced if the file has nothing else; no other file ever is.

    Raises InputError if it cannot be made or written.
    """

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
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{CERTIFICATE}: {shown_path(path)} exists and is not a file; allowed: a new file")
        with open(path, "rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise InputError(f"{CERTIFICATE}: {shown_path(path)}: {getattr(error, 'strerror', None) or error}") from None
    if len(text) > _MOST_BYTES or not _is_of_run(text):
        raise InputError(
            f"{CERTIFICATE}: {shown_path(path)} exists and is not the certificate of a run; allowed: a new file, or the "
            "certificate of an earlier run"
        )


def _is_of_run(text: bytes) -> bool:
    """Whether a file has exactly one certificate, self-signed by a run."""
    found = _ALONE.fullmatch(text)
    if found is None:
        return False
    try:
        der = base64.b64decode(b"".join(found[1].split()), validate=True)
        ((_, whole),) = _parts(der)
        _, to_be_signed = _parts(whole)[0]
        names = [content for _, content in _parts(to_be_signed)]
        issuer, subject = names[3], names[5]  # after version, number, algorithm; and after the dates
    except (ValueError, IndexError):
        return False
    return issuer == subject == _NAME


def _parts(der: bytes) -> list[tuple[int, bytes]]:
    # The tags and contents of a sequence in DER.
    found, at = [], 0
    while at < len(der):
        tag, size = der[at], der[at + 1]
        at += 2
        if size >= 0x80:
            wide = size - 0x80
            size = int.from_bytes(der[at : at + wide], "big")
            at += wide
        if at + size > len(der):
            raise ValueError("cut off")
        found.append((tag, der[at : at + size]))
        at += size
    return found


def make_certificate(key: Path, certificate: Path, where: str, uses: Sequence[str]) -> None:
    """Make a self-signed certificate and its key, as files.

    - ``key``, ``certificate``: in a folder that only its owner may enter.
    - ``where``: the option that needs it, for messages.
    - ``uses``: its purposes, as OpenSSL names them: ``serverAuth``, ``clientAuth``.

    Raises InputError if there is no ``openssl``, or it fails.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        raise InputError(
            f"{where}: there is no openssl command, which makes the certificate of the run; install openssl"
        )
    words = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-sha256", "-nodes"]
    words += ["-keyout", str(key), "-out", str(certificate), "-days", str(_DAYS), "-subj", f"/CN={_SUBJECT}"]
    # Not a CA: whoever trusts this certificate must not trust others signed with it.
    words += ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"extendedKeyUsage={','.join(uses)}"]
    try:
        made = subprocess.run(words, capture_output=True, timeout=_OPENSSL_S, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{where}: openssl cannot make a certificate: {error}") from None
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
    """A host's side of TLS: it trusts this certificate, and no authority and no name. Raises InputError if the text is not
    a certificate."""
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


def why_not(error: Exception) -> str:
    """The cause of a TLS error in one line: ``certificate verify failed``."""
    reason = getattr(error, "reason", None)
    text = str(reason).replace("_", " ").lower() if reason else str(error) or type(error).__name__
    return shown(text, 160).strip("'\"")
