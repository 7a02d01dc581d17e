"""Small PDF files, in letters that are all equally wide."""

from collections.abc import Sequence

Line = tuple[float, float, float, str]  # (from the left, from the bottom, size of letters, text)


def pdf(pages: Sequence[Sequence[Line]], trailer: str = "") -> bytes:
    """Return a file of pages, each 600 x 800 points."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding>>",
    ]
    for i, lines in enumerate(pages):
        rows = (f"BT /F {size} Tf {x} {y} Td ({text}) Tj ET\n" for x, y, size, text in lines)
        shown = "".join(rows)
        objects += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {5 + 2 * i} 0 R"
            "/Resources<</Font<</F 3 0 R>>>>>>",
            f"<</Length {len(shown)}>>stream\n{shown}endstream\n",
        ]
    made = "%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(made))
        made += f"{number} 0 obj{content}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    head = f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n{table}"
    end = f"trailer<</Size {len(places) + 1}/Root 1 0 R{trailer}>>\nstartxref\n{len(made)}\n%%EOF\n"
    return (made + head + end).encode("cp1252")


def laid_out(
    paragraphs: Sequence[str], *, left: float = 60, width: int = 60, size: float = 10
) -> list[Line]:
    """Return the lines of paragraphs, with as many words in each as have room."""
    lines: list[Line] = []
    bottom = 740.0
    for paragraph in paragraphs:
        row = ""
        for word in [*paragraph.split(), None]:
            if word is None or len(row) + 1 + len(word) > width:
                lines.append((left, bottom, size, row))
                bottom -= 1.2 * size
                row = ""
            row = f"{row} {word}".strip()
        bottom -= 0.8 * size
    return lines
