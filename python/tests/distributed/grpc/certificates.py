"""Certificates for tests, made with openssl."""

import subprocess


def _openssl(*arguments, **options):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, **options)


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder, name):
        folder.mkdir()
        self.folder = folder
        self.certificate = folder / "ca.pem"
        self.key = folder / "ca.key"
        _openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-subj", f"/CN={name}", "-days", "30"),
            *("-keyout", self.key, "-out", self.certificate),
        )

    def issue(self, name, *, days=30):
        """Returns the paths of a certificate for 127.0.0.1 and of its key."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request = self.folder / f"{name}.csr"
        _openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", key, "-out", request),
        )
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key),
            *("-CAcreateserial", "-copy_extensions", "copy", "-days", str(days)),
            *("-out", certificate),
        )
        return certificate, key
