"""Starts test/http_echo_server and listens to what it prints."""

import contextlib
import datetime
import ipaddress
import queue
import ssl
import subprocess
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from http_case import GUARD_SECONDS, NEVER


def write_certificate(folder):
    """A certificate for localhost that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
                   .public_key(key.public_key()).serial_number(x509.random_serial_number())
                   .not_valid_before(now - datetime.timedelta(days=1))
                   .not_valid_after(now + datetime.timedelta(days=1))
                   .add_extension(x509.SubjectAlternativeName(names), critical=False)
                   .sign(key, hashes.SHA256()))
    pem = serialization.Encoding.PEM
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(pem))
    (folder / "key.pem").write_bytes(key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


def failure(program, **options):
    """What the program says when it cannot start."""
    arguments = [f"{name}={value}" for name, value in options.items()]
    done = subprocess.run([program, *arguments], input="", capture_output=True, text=True,
                          timeout=GUARD_SECONDS)
    assert done.returncode == 1, done
    return done.stderr


class Server:
    def __init__(self, process, folder):
        self.process = process
        self.folder = folder
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.port = int(self.line("port ").split()[1])

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def line(self, start):
        """Waits for the next line that starts so; others are dropped."""
        while True:
            try:
                line = self.lines.get(timeout=GUARD_SECONDS)
            except queue.Empty:
                raise AssertionError(f"the server did not say {start!r}") from None
            assert line is not None, f"the server ended and did not say {start!r}"
            if line.startswith(start):
                return line

    def said(self, start):
        """Whether such a line is there; those before it are dropped."""
        while not self.lines.empty():
            line = self.lines.get()
            if line is not None and line.startswith(start):
                return True
        return False

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def most_memory(self):
        """What the process ever held at once."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) * 1024

    def context(self):
        return ssl.create_default_context(cafile=self.folder / "certificate.pem")


TIMES = {f"{name}_seconds": NEVER for name in ("header", "body", "idle", "write")}


class Starter:
    """Starts servers whose times are without end but for those that are asked for."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        write_certificate(folder)

    @contextlib.contextmanager
    def __call__(self, tls=False, **options):
        if tls:
            options |= {"certificate": self.folder / "certificate.pem", "key": self.folder / "key.pem"}
        arguments = [f"{name}={value}" for name, value in {**TIMES, **options}.items()]
        process = subprocess.Popen([self.program, *arguments], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        try:
            yield Server(process, self.folder)
            process.stdin.close()
            assert process.wait(timeout=GUARD_SECONDS) == 0, f"the server ended with {process.returncode}"
        finally:
            process.kill()
            process.wait()
