"""What a run and its other hosts know each other by: a token in a file, and a certificate that is made for the run.

TLS is the standard library's. It makes no certificates, so that the ``openssl`` command does: one for each run, signed by
itself, whose key is in a file of this process for as long as it takes to read it. A host has the certificate in a file and
talks to nobody who has another one. This module is the one door to ``ssl``.
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

#: What goes wrong with TLS, for those who do not import ``ssl``.
TlsError = ssl.SSLError

#: Behind the name of the token's file: where the certificate is, if nothing is said.
CERTIFICATE_ENDING: Final = ".crt"

#: Characters of a token: enough that nobody guesses it, and what a frame of a stranger holds.
_TOKEN: Final = (32, 200)

_MAKE_TOKEN: Final = "to make one: (umask 077; openssl rand -hex 32 > {})"

#: For how many days a certificate holds; it is looked at byte by byte, and not at its dates.
_DAYS: Final = 36_500

#: How long openssl may take, s; it takes some hundredths.
_OPENSSL_S: Final = 60.0

_BEGIN, _END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"

#: A file with one certificate and nothing else.
_ALONE: Final = re.compile(rb"\s*" + _BEGIN + rb"([A-Za-z0-9+/=\s]+)" + _END + rb"\s*")

#: The subject of a run's certificate, and how DER has it: one common name, as UTF-8.
_SUBJECT: Final = "twolevel run"
_NAME: Final = bytes.fromhex("311530130603550403") + b"\x0c\x0c" + _SUBJECT.encode()

#: Largest file that is looked at as a token, bytes.
_MOST_BYTES: Final = 65_536

#: ``X509_V_FLAG_NO_CHECK_TIME`` of OpenSSL, which Python has no name for: clocks of hosts differ.
_NO_CHECK_TIME: Final = 0x200000


def read_token(path: str, where: str = "") -> str:
    """The token in a file that nobody but its owner may read. Raises InputError if there is none, others may read it,
    or it is none; the message says how to make one."""
    where = where or str(TOKEN_FILE)
    make = _MAKE_TOKEN.format(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: {shown_path(path)}: {getattr(error, 'strerror', None) or error}; {make}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{where}: {shown_path(path)} is no file; {make}")
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
    """A certificate made for one run, in a file for those who are to know it; the file goes when it is closed.

    - ``path``: the file. A certificate of an earlier run is replaced if it is alone in its file; no other file ever is.

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
        # The whole file appears at once: somebody may be waiting for it.
        beside = f"{path}.{secrets.token_hex(8)}"
        try:
            with open(beside, "xb") as file:
                file.write(self.pem)
            _check_replaceable(path)  # somebody may have used the name meanwhile
            os.replace(beside, path)
        except (OSError, InputError) as error:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            if isinstance(error, InputError):
                raise
            raise InputError(f"{CERTIFICATE}: {shown_path(path)} cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """Remove the file, if it is still ours."""
        with contextlib.suppress(OSError):
            if not os.path.islink(self._path) and Path(self._path).read_bytes() == self.pem:
                os.unlink(self._path)


def _check_replaceable(path: str) -> None:
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{CERTIFICATE}: {shown_path(path)} is there, and is no file; allowed: a new file")
        with open(path, "rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise InputError(f"{CERTIFICATE}: {shown_path(path)}: {getattr(error, 'strerror', None) or error}") from None
    if len(text) > _MOST_BYTES or not _is_of_run(text):
        raise InputError(
            f"{CERTIFICATE}: {shown_path(path)} is there, and is not the certificate of a run; allowed: a new file, or that of "
            "an earlier run"
        )


def _is_of_run(text: bytes) -> bool:
    """Whether a file holds one certificate that a run has made for itself, and nothing else."""
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
    """Make a certificate that is signed by itself, and its key, as files.

    - ``key``, ``certificate``: in a folder that only its owner may enter.
    - ``where``: the option that needs it, for messages.
    - ``uses``: what it is good for, as OpenSSL names it: ``serverAuth``, ``clientAuth``.

    Raises InputError if there is no ``openssl``, or it makes none.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        raise InputError(
            f"{where}: there is no openssl command, which makes the certificate of the run; install openssl"
        )
    words = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-sha256", "-nodes"]
    words += ["-keyout", str(key), "-out", str(certificate), "-days", str(_DAYS), "-subj", f"/CN={_SUBJECT}"]
    # Of nobody but itself: whoever knows this certificate must not come to trust others that it has signed.
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
    # Nobody comes back on an old session: every connection shows that its other end has the key.
    context.num_tickets = 0
    return context


def pinned_context(pem: str, alpn: str) -> ssl.SSLContext:
    """A host's side of TLS: it knows this certificate, and no authority and no name. Raises InputError if the text is
    no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # which name a host is reached by does not matter where the key is known
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags = ssl.VerifyFlags(context.verify_flags | _NO_CHECK_TIME | ssl.VERIFY_X509_PARTIAL_CHAIN)
    context.set_alpn_protocols([alpn])
    try:
        context.load_verify_locations(cadata=pem)
        known = len(context.get_ca_certs(binary_form=True))
    except (ssl.SSLError, ValueError) as error:
        raise InputError(f"not usable as a certificate: {why_not(error)}") from None
    if pem.count(_BEGIN.decode()) != 1:
        raise InputError(f"{known} certificates; allowed: one, that of the run")
    return context


def why_not(error: Exception) -> str:
    """What is wrong with TLS, in a line: ``certificate verify failed``."""
    reason = getattr(error, "reason", None)
    text = str(reason).replace("_", " ").lower() if reason else str(error) or type(error).__name__
    return shown(text, 160).strip("'\"")
