"""DHCP discovery: the request packet, and parsing of any reply."""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forewarn.client.discovery import discover_message, is_address, offer_in
from forewarn.errors import Malformed

NUMBER = 0x01020304
MAC = bytes.fromhex("02000a4d0005")
COOKIE = b"\x63\x82\x53\x63"
OFFER = b"\x35\x01\x02"
ADDRESS = bytes([168, 63, 129, 16])
SERVICE = b"\xf5\x04" + ADDRESS
END = b"\xff"


def an_offer(
    options: bytes = OFFER + SERVICE + END,
    op: int = 2,
    number: int = NUMBER,
    mac: bytes = MAC,
    cookie: bytes = COOKIE,
) -> bytes:
    head = struct.pack("!4BI", op, 1, 6, 0, number) + bytes(20)
    return head + mac.ljust(16, b"\0") + bytes(192) + cookie + options


def test_the_request_is_a_discover_of_the_network_card() -> None:
    packet = discover_message(NUMBER, MAC)
    assert len(packet) == 300
    assert packet[:4] == b"\x01\x01\x06\x00"
    assert packet[4:8] == b"\x01\x02\x03\x04"
    assert packet[10:12] == b"\x80\x00"  # flag: reply by broadcast
    assert packet[28:34] == MAC
    assert packet[236:243] == COOKIE + b"\x35\x01\x01"


def test_the_request_includes_the_service_address() -> None:
    options = discover_message(NUMBER, MAC)[240:]
    assert 245 in options[5 : 5 + options[4]]


def test_the_address_is_read_from_an_offer() -> None:
    assert offer_in(an_offer(), NUMBER, MAC) == ADDRESS


@pytest.mark.parametrize(
    "options",
    [
        b"\0\0" + SERVICE + b"\0" + OFFER + END,
        OFFER + SERVICE,
        OFFER + b"\x03\x04\x0a\x00\x00\x01" + SERVICE + END + b"rubbish",
        OFFER + b"\xf5\x02\xa8\x3f\xf5\x02\x81\x10" + END,
    ],
)
def test_the_option_may_be_anywhere(options: bytes) -> None:
    assert offer_in(an_offer(options), NUMBER, MAC) == ADDRESS


def test_an_offer_may_lack_the_address() -> None:
    assert offer_in(an_offer(OFFER + END), NUMBER, MAC) is None


BAD = {
    "nothing": b"",
    "cut head": an_offer()[:239],
    "a request": an_offer(op=1),
    "another number": an_offer(number=NUMBER + 1),
    "another card": an_offer(mac=bytes(6)),
    "another cookie": an_offer(cookie=b"\0\0\0\0"),
    "no message type": an_offer(SERVICE + END),
    "a refusal": an_offer(b"\x35\x01\x06" + SERVICE + END),
    "a cut option": an_offer(OFFER + SERVICE[:-1]),
    "an option without a size": an_offer(OFFER + b"\xf5"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_invalid_reply_is_malformed(name: str) -> None:
    with pytest.raises(Malformed):
        offer_in(BAD[name], NUMBER, MAC)


@pytest.mark.parametrize(
    "data", [b"", b"10.77.0.1", ADDRESS[:3], ADDRESS * 2, bytes(4), b"\xff" * 4]
)
def test_other_bytes_are_not_the_address_of_a_machine(data: bytes) -> None:
    assert is_address(ADDRESS)
    assert not is_address(data)


@given(st.one_of(st.binary(max_size=400), st.binary(max_size=80).map(an_offer)))
@example(an_offer())
def test_any_bytes_give_an_option_none_or_malformed(packet: bytes) -> None:
    try:
        offered = offer_in(packet, NUMBER, MAC)
    except Malformed:
        return
    assert offered is None or b"\xf5" in packet
