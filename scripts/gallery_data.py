"""Write the data that a program of the gallery trains on: small, and the same at each call.

python scripts/gallery_data.py KIND FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from scripts import gallery_images, gallery_words

KINDS: dict[str, Callable[[Path], None]] = {
    "classes of words": gallery_words.write_classes_of_words,
    "digit records": gallery_images.write_digit_records,
    "digits": gallery_images.write_digits,
    "images": gallery_images.write_images,
    "masked words": gallery_words.write_masked_words,
    "tables": gallery_words.write_tables,
}


def main() -> None:
    kind, folder = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    KINDS[kind](Path(folder))


if __name__ == "__main__":
    main()
