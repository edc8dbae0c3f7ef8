"""A driver that sends one request per VM to a web service."""

import json
from collections.abc import Iterator
from urllib.error import URLError
from urllib.request import Request, urlopen

from forewarn.ports import Report, Work


class HttpDriver:
    """Posts the work to a URL; any response other than 2xx is a failure."""

    def __init__(self, *, url: str, timeout: float = 30.0) -> None:
        """Take the keys of `[driver.options]` as arguments."""
        self._url = url
        self._timeout = timeout

    def carry_out(self, work: Work) -> Iterator[Report]:
        """Act on each VM and report its result immediately."""
        for vm in work.vms:
            if work.halt.is_set():
                return  # the work is no longer wanted
            try:
                self._post(vm.name, work)
            except URLError as error:  # includes HTTPError
                yield Report(vm=vm.name, failed=True, detail=str(error))
            else:
                yield Report(vm=vm.name)

    def _post(self, vm: str, work: Work) -> None:
        body = {"vm": vm, "type": work.type, "attempt": work.attempt}
        headers = {"Content-Type": "application/json"}
        request = Request(self._url, json.dumps(body).encode(), headers)
        with urlopen(request, timeout=self._timeout):
            pass
