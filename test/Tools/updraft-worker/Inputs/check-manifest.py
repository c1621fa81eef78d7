"""Checks that the parts of the manifest for Kubernetes fit each other.

usage: check-manifest.py MANIFEST
"""

import pathlib
import sys

import yaml


def check(service, stateful_set):
    """Yields complaints."""
    labels = stateful_set["spec"]["template"]["metadata"]["labels"]
    for selector in (
        service["spec"]["selector"],
        stateful_set["spec"]["selector"]["matchLabels"],
    ):
        if not selector.items() <= labels.items():
            yield f"no pod has the labels {selector}"
    if stateful_set["spec"]["serviceName"] != service["metadata"]["name"]:
        yield "serviceName isn't the service's name"

    pod = stateful_set["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    options = dict(argument.removeprefix("--").split("=", 1) for argument in container["args"])
    grace = pod["terminationGracePeriodSeconds"]
    if grace <= int(options["drain"]):
        yield f"terminationGracePeriodSeconds is {grace}, and --drain is {options['drain']}"

    ports = {port["containerPort"]: port["name"] for port in container["ports"]}
    for option in ("listen", "metrics"):
        port = int(options[option].rpartition(":")[2])
        if port not in ports:
            yield f"--{option} is on port {port}, which the container doesn't name"
    annotations = stateful_set["spec"]["template"]["metadata"]["annotations"]
    if annotations["prometheus.io/port"] != options["metrics"].rpartition(":")[2]:
        yield "prometheus.io/port isn't the port of --metrics"
    for port in service["spec"]["ports"]:
        if port["targetPort"] not in ports.values():
            yield f"the service's port {port['name']} leads to no port of the container"

    served = options["listen"].rpartition(":")[2]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        command = container.get(probe, {}).get("exec", {}).get("command", [])
        if f"-addr=127.0.0.1:{served}" not in command:
            yield f"{probe} doesn't ask the port of --listen"

    claims = stateful_set["spec"]["volumeClaimTemplates"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in claims}
    for mount in container["volumeMounts"]:
        if mount["name"] not in volumes:
            yield f"no volume `{mount['name']}`"
    folders = tuple(f"{mount['mountPath']}/" for mount in container["volumeMounts"])
    for option, value in options.items():
        if value.startswith("/") and not value.startswith(folders):
            yield f"--{option}={value} isn't in a volume"


def main():
    documents = yaml.safe_load_all(pathlib.Path(sys.argv[1]).read_text())
    complaints = list(check(*documents))
    for complaint in complaints:
        print(f"error: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
