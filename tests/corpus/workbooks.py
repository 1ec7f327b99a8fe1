"""Workbooks made for tests: XLSX by openpyxl, the other kinds byte by byte."""

from __future__ import annotations

import base64
import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from openpyxl import Workbook  # type: ignore[import-untyped]

Rows = Iterable[Iterable[Any]]

_XLS = (
    "c-rk)O=uHA6#izjY0{YH&sJ=O5(-vrn}hV?rHx8#Pbt-lKM1->RxHs*(j2T8t2IYK@Z`^>QUyI!z4${_6g+qkDtZtEAyGVe5)?eNS>L?f)wV`xKm(Qim"
    "U%n#=9`_jZ{GauzM2b{rtY?tu?+oip<*<mVUbQyYP1U>P`zQutbO-VG90WbG<s<u8{C*}dg+m4D95`D1$WeEB!Lf<4&nrca-({*j@ZdIXhPc1Csc|(1y"
    "?Br(8_j2Sf*L7WqF&qk63PJ&3Tr6#4U*fn2Qf}ZL{KdpVGl~0g?juxy?J)Y()!R$T&WIL6}@OcH~F2W2>y9UG-xcG^B(2sGgVQAg;p)>?g#M$yg#$LNg"
    "8bG`<;8;Hy2apGF;hef0vQ|Grf3`Gej|gScFOQBi>j7>9)n<|6!vsj@~zLMv!RG~sxI85u*lf<88nUdn<~7#Ps?OiD{<qq!r|q?S(~rCBhNaRC`^oG4@"
    "ITwbTpI_Z;(KQ9)cC5uH9Pa!|a41$~w^F#`ft@Ag(yiTTu<A+!?!5f6Rjck-Q!@wEYf*J>4KM%C=0A1Xoo8?)4>ITlYv1}&e>E1cqVr2#<nRAY7JE@;u"
    "#+&%2MfuH?FMi(rpuPApzJ>BLgXL4rGjHQl=%8&aL+#}?i5}4-E?<&(7`N}jT5#U8Z2fKV@hTz9cEj2$gIJK$&2%#1374dIq<<t|slr#7FFj<IY;T$+g"
    "-R}~H`lV(kFlP0VfJDK*PcuE6>_=Rn_7jhGT+Di8_e(a*?e~uz8NwB=HFue>>A1cM9&abJSyl{BDg1wre*jS>JdNUr(CV^BdW%ad{_1=s(ICc0|yQqIB"
    "?*gCI~*VnTKxG`YMpeGLQ9NXMs}1`AzcQVh?h373h<47e?ux$9PTgvkq=yKTE8zjs3q+VlVZcM;0lzBU^L)(y>}BexDUL4E?<+RBQj0TI~GC{r>=J@DB"
    "L"
)


def book(*sheets: tuple[str, Rows], hidden: Sequence[str] = (), merged: Sequence[str] = ()) -> bytes:
    """An XLSX; `merged` ranges are of the first sheet."""
    workbook = Workbook()
    workbook.remove(workbook.worksheets[0])
    for name, rows in sheets:
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        if name in hidden:
            sheet.sheet_state = "hidden"
    for cells in merged:
        workbook.worksheets[0].merge_cells(cells)
    return saved(workbook)


def saved(workbook: Workbook) -> bytes:
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


def archive(parts: dict[str, bytes | str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return out.getvalue()


def xls() -> bytes:
    """Sheet Data: a title merged over A1:C1, in row 3 the header id, day, score, three rows below. Sheet Notes: hidden."""
    return zlib.decompress(base64.b85decode(_XLS))


def ods(*sheets: tuple[str, str], hidden: Sequence[str] = ()) -> bytes:
    """An ODS of sheets given by name and XML of their rows; see `ods_row`."""
    tables = "".join(
        f'<table:table table:name={quoteattr(name)} table:style-name="{"off" if name in hidden else "on"}">{rows}</table:table>'
        for name, rows in sheets
    )
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text", "style")
    )
    styles = '<style:style style:name="off" style:family="table"><style:table-properties table:display="false"/></style:style>'
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces}><office:automatic-styles>{styles}'
        f"</office:automatic-styles><office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    manifest = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    mimetype = "application/vnd.oasis.opendocument.spreadsheet"
    return archive({"mimetype": mimetype, "META-INF/manifest.xml": manifest, "content.xml": content})


def ods_row(*cells: str | float | None, repeated: int = 1, spanned: str = "") -> str:
    """A row; `spanned` are attributes of its first cell."""
    made = []
    for n, cell in enumerate(cells):
        more = spanned if n == 0 else ""
        if cell is None:
            made.append("<table:table-cell/>")
        elif isinstance(cell, str):
            made.append(
                f'<table:table-cell office:value-type="string" {more}><text:p>{cell}</text:p></table:table-cell>'
            )
        else:
            made.append(f'<table:table-cell office:value-type="float" office:value="{cell}" {more}/>')
    return f'<table:table-row table:number-rows-repeated="{repeated}">{"".join(made)}</table:table-row>'


def _record(kind: int, body: bytes = b"") -> bytes:
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size, more = divmod(len(body), 128)[::-1]
    return head + (bytes([size | 0x80, more]) if more else bytes([size])) + body


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def xlsb(cells: Sequence[tuple[int, int, str | float]], merged: Sequence[tuple[int, int, int, int]] = ()) -> bytes:
    """An XLSB with one sheet, Data, of cells given by row and column; text that begins with # is an error."""
    body = _record(129) + _record(148, bytes(16)) + _record(145)
    for row in sorted({cell[0] for cell in cells}):
        body += _record(0, struct.pack("<IIHBBBI", row, 0, 300, 0, 0, 0, 0))
        for _, column, value in sorted((c for c in cells if c[0] == row), key=lambda cell: cell[1]):
            at = struct.pack("<II", column, 0)
            if isinstance(value, float):
                body += _record(5, at + struct.pack("<d", value))
            else:
                body += _record(3, at + b"\x07") if value.startswith("#") else _record(6, at + _wide(value))
    body += _record(146)
    if merged:
        body += _record(177, struct.pack("<I", len(merged)))
        body += b"".join(_record(176, struct.pack("<4I", *cells)) for cells in merged) + _record(178)
    relation = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/s.bin"/>'
        "</Relationships>"
    )
    sheet = _record(156, struct.pack("<II", 0, 1) + _wide("rId1") + _wide("Data"))
    return archive(
        {
            "xl/workbook.bin": _record(131) + _record(143) + sheet + _record(144) + _record(132),
            "xl/_rels/workbook.bin.rels": relation,
            "xl/worksheets/s.bin": body + _record(130),
        }
    )


def ole(*streams: str) -> bytes:
    """The header and directory of an old Office file whose root holds these streams."""
    header = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\x00"))
    header[30:32] = b"\x09\x00"
    header[48:52] = (1).to_bytes(4, "little")
    entries = []
    for n, name in enumerate(("Root Entry", *streams)):
        entry = bytearray((name + "\x00").encode("utf-16-le").ljust(128, b"\x00"))
        entry[64:66] = (2 * len(name) + 2).to_bytes(2, "little")
        entry[68:80] = b"\xff" * 12
        if n == 0:
            entry[76:80] = (1).to_bytes(4, "little")
        elif n < len(streams):
            entry[72:76] = (n + 1).to_bytes(4, "little")
        entries.append(bytes(entry))
    table = b"\xff\xff\xff\xff" + b"\xfe\xff\xff\xff" * 127
    return bytes(header) + table + b"".join(entries).ljust(512, b"\x00")
