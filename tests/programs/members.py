# SPDX-License-Identifier: MIT
"""Programs of tests/bats/members.bats."""
import json
import random
import sys

from common import contents
from slices import dealt


def stripes():
    count, block = int(sys.argv[1]), int(sys.argv[2])
    for member, data in enumerate(dealt(contents("whole.dat"), count, block)):
        with open(f"T.{member:04}.data", "wb") as out:
            out.write(data)


def names_count_from_any_number():
    import numpy as np
    dice = random.Random(int(sys.argv[1]))
    for case in range(40):
        counts = [dice.randint(1, 5) for _ in range(dice.randint(1, 3))]
        shape = [dice.randint(1, 4) for _ in counts]
        whole = np.random.default_rng(case).integers(0, 255, [c * s for c, s in zip(counts, shape)], dtype="u1")
        names, pattern, numbers = "ijk", f"{case}", []
        for name, count in zip(names, counts):
            first, step, width = dice.randint(0, 12), dice.choice([1, 1, 2, 10, -1]), dice.randint(0, 4)
            if step < 0:
                first += count
            numbers.append([first + step * n for n in range(count)])
            last = numbers[-1][-1] + (dice.randint(0, abs(step) - 1) if step > 0 else 0)
            by = f"..{step}" if step not in (1, -1) else dice.choice(["", f"..{step}"]) if count > 1 else "..1" if step == 1 else "..-1"
            pattern += "_{%s%s=%d..%d%s}" % (name, f":{width}" if width else "", first, last, by)
            numbers[-1] = [f"{n:0{width}}" for n in numbers[-1]]
        if dice.random() < 0.5:
            pattern += ".{i}"
        for place in np.ndindex(*counts):
            words = [n[p] for n, p in zip(numbers, place)]
            name = f"{case}_" + "_".join(words)
            if pattern.endswith(".{i}"):
                name += f".{int(words[0])}"
            box = tuple(slice(p * s, p * s + s) for p, s in zip(place, shape))
            whole[box].tofile(name)
        view = {"type": "subarray", "sizes": list(whole.shape), "subsizes": shape, "order": "C",
                "starts": [f"{n} * {s}" for n, s in zip(names, shape)]}
        spec = {"viewspec": 1, "members": {"file": pattern, "view": {"filetype": view}}}
        json.dump(spec, open(f"s{case}.json", "w"))
        whole.tofile(f"whole{case}")
