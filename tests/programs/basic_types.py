# SPDX-License-Identifier: MIT
"""Every basic type: its kind and size, and the bytes of a value from its text."""
from fractions import Fraction

# name: kind and bytes. Kinds: i, u (integers), f (bytes a part), l, b (byte), c (char).
types = {
    "packed": ("b", 1), "byte": ("b", 1), "char": ("c", 1), "unsigned_char": ("u", 1),
    "signed_char": ("i", 1), "wchar": ("u", 4), "short": ("i", 2), "unsigned_short": ("u", 2),
    "int": ("i", 4), "unsigned": ("u", 4), "long": ("i", 8), "unsigned_long": ("u", 8),
    "long_long_int": ("i", 8), "unsigned_long_long": ("u", 8), "float": ("f4", 4),
    "double": ("f8", 8), "long_double": ("f10", 16), "c_bool": ("l", 1), "int8_t": ("i", 1),
    "int16_t": ("i", 2), "int32_t": ("i", 4), "int64_t": ("i", 8), "uint8_t": ("u", 1),
    "uint16_t": ("u", 2), "uint32_t": ("u", 4), "uint64_t": ("u", 8), "aint": ("i", 8),
    "count": ("i", 8), "offset": ("i", 8), "c_complex": ("f4", 8), "c_double_complex": ("f8", 16),
    "c_long_double_complex": ("f10", 32), "character": ("c", 1), "logical": ("l", 4),
    "integer": ("i", 4), "real": ("f4", 4), "double_precision": ("f8", 8), "complex": ("f4", 8),
    "double_complex": ("f8", 16), "integer1": ("i", 1), "integer2": ("i", 2),
    "integer4": ("i", 4), "integer8": ("i", 8), "integer16": ("i", 16), "real2": ("f2", 2),
    "real4": ("f4", 4), "real8": ("f8", 8), "real16": ("f16", 16), "complex4": ("f2", 4),
    "complex8": ("f4", 8), "complex16": ("f8", 16), "complex32": ("f16", 32),
    "cxx_bool": ("l", 1), "cxx_float_complex": ("f4", 8), "cxx_double_complex": ("f8", 16),
    "cxx_long_double_complex": ("f10", 32),
}
# bits of exponent and significand, with the first one; bytes in memory
formats = {"f2": (5, 11, 2), "f4": (8, 24, 4), "f8": (11, 53, 8), "f10": (15, 64, 16),
           "f16": (15, 113, 16)}


def real(kind, text):
    """Converts decimal to binary, rounded to nearest even."""
    bits, precision, size = formats[kind]
    stored = precision if kind == "f10" else precision - 1
    top, sign = (1 << bits) - 1, text.startswith("-")
    text = text.lstrip("-")
    if text in ("inf", "nan"):
        exponent, significand = top, 1 << precision - 1
        if text == "nan":
            significand |= 1 << precision - 2
    else:
        value, exponent, least = Fraction(text), 0, 2 - (1 << bits - 1)
        if value:
            exponent = value.numerator.bit_length() - value.denominator.bit_length()
            exponent -= value < Fraction(2) ** exponent
        exponent = max(exponent, least)
        significand = round(value / Fraction(2) ** (exponent - precision + 1))
        if significand >> precision:
            significand, exponent = significand >> 1, exponent + 1
        exponent = exponent - least + 1 if significand >> precision - 1 else 0
    significand &= (1 << stored) - 1
    whole = (sign << bits | exponent) << stored | significand
    return whole.to_bytes(size, "little")


def parts(name):
    kind, size = types[name]
    return size // formats[kind][2] if kind[0] == "f" else 1


def read(name, text):
    """Returns the value of a text. text is a list with one entry for each part."""
    kind, size = types[name]
    if kind[0] == "f":
        return b"".join(real(kind, part) for part in text)
    (text,) = text
    if kind in "iu":
        return int(text).to_bytes(size, "little", signed=kind == "i")
    if kind == "l":
        return {"true": 1, "false": 0}[text].to_bytes(size, "little")
    if kind == "b":
        return bytes.fromhex(text)
    return text.encode("latin1")
