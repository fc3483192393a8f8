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
    done = subprocess.run([program, *arguments], input="", capture_output=True, text=True, timeout=10)
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

    def line(self, start, seconds=10):
        """Waits for the next line that starts so; others are dropped."""
        while True:
            try:
                line = self.lines.get(timeout=seconds)
            except queue.Empty:
                raise AssertionError(f"the server did not say {start!r}") from None
            if line.startswith(start):
                return line

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def memory(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    def context(self):
        return ssl.create_default_context(cafile=self.folder / "certificate.pem")


class Starter:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        write_certificate(folder)

    @contextlib.contextmanager
    def __call__(self, tls=False, **options):
        if tls:
            options |= {"certificate": self.folder / "certificate.pem", "key": self.folder / "key.pem"}
        arguments = [f"{name}={value}" for name, value in options.items()]
        process = subprocess.Popen([self.program, *arguments], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        try:
            yield Server(process, self.folder)
            process.stdin.close()
            assert process.wait(timeout=10) == 0, f"the server ended with {process.returncode}"
        finally:
            process.kill()
            process.wait()
