"""A driver that asks a web service to act on VMs, one request for each."""

import json
from collections.abc import Iterator
from urllib.error import URLError
from urllib.request import Request, urlopen

from forewarn.ports import Report, Work


class HttpDriver:
    """Posts what is to be done; any answer but 2xx is a failure."""

    def __init__(self, *, url: str, timeout: float = 30.0) -> None:
        """Take what stands in `[driver.options]`."""
        self._url = url
        self._timeout = timeout

    def carry_out(self, work: Work) -> Iterator[Report]:
        """Act on each VM, and report on it at once."""
        for vm in work.vms:
            if work.halt.is_set():
                return  # nobody wants it any more
            try:
                self._ask(vm.name, work)
            except URLError as error:  # the mother of HTTPError
                yield Report(vm=vm.name, failed=True, detail=str(error))
            else:
                yield Report(vm=vm.name)

    def _ask(self, vm: str, work: Work) -> None:
        body = {"vm": vm, "type": work.type, "attempt": work.attempt}
        headers = {"Content-Type": "application/json"}
        request = Request(self._url, json.dumps(body).encode(), headers)
        with urlopen(request, timeout=self._timeout):
            pass
