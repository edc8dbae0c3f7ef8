"""JUnit XML: what all reports share (pure)."""

from xml.etree import ElementTree as xml


def written(suite: xml.Element) -> str:
    """Format an XML file with this one suite."""
    whole = xml.Element("testsuites")
    whole.append(suite)
    xml.indent(whole)
    text: str = xml.tostring(whole, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def xml_text(text: str) -> str:
    """Remove characters that XML cannot contain."""
    return "".join(char for char in text if char in "\n\t" or char.isprintable())
