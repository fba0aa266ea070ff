"""The command ``worker``: application processes on this host, for a run on another one."""

from typing import Annotated

from bridge.options.bundles import bundled
from bridge.options.declared import CERTIFICATE, HOST_WORKERS, PATIENCE, RUN_ADDRESS, TOKEN_FILE
from bridge.standard_error import say


@bundled
def worker_command(
    *,
    address: Annotated[str, RUN_ADDRESS],
    token_file: Annotated[str, TOKEN_FILE],
    certificate: Annotated[str | None, CERTIFICATE] = CERTIFICATE.default,
    workers: Annotated[int | None, HOST_WORKERS] = HOST_WORKERS.default,
    patience: Annotated[float, PATIENCE] = PATIENCE.default,
) -> None:
    """Run application processes on this host for a simulation on another host, until that ends."""
    from importlib.metadata import version

    from bridge.runs.kernels import prepare_workers
    from bridge.scenarios.scenario import Execution
    from bridge.workers.address import tls_address
    from bridge.workers.credentials import CERTIFICATE_ENDING, read_token
    from bridge.workers.host import serve_run

    tls_address(address, "ADDRESS")
    read_token(token_file)  # before anything is compiled
    prepare_workers()
    serve_run(
        address,
        token_file=token_file,
        certificate=certificate or token_file + CERTIFICATE_ENDING,
        workers=Execution(workers=workers).how_many(),
        patience_s=PATIENCE.check(patience),
        package=version("twolevel"),
        say=lambda line: say(f"twolevel worker: {line}"),
    )
