# SPDX-License-Identifier: MIT
"""Programs of tests/bats/forgery.bats."""
import fcntl
import os
import random
import struct
import sys

from common import contents, overwrite

FORM = "=QQiiI68s"


def answer_to(path, flags, number):
    """Asks for a grant, and returns the answer."""
    answer = bytearray(struct.pack(FORM, number, 0, 0, 0, 0, b""))
    fcntl.ioctl(os.open(path, flags), 3 << 30 | len(answer) << 16 | ord("m") << 8 | 0x61, answer)
    return answer


def ask():
    """ask FLAGS PATH: asks for a grant, and prints the answer."""
    sys.stdout.buffer.write(answer_to(sys.argv[2], getattr(os, sys.argv[1]), 1234))


def grants_nothing_to_mallory():
    root, told = (list(struct.iter_unpack(FORM, contents(name))) for name in ("root", "told"))
    assert all(root[0][1:4]), root
    refusal = 0, 0, 0, 0, b"the mount is another user's".ljust(68, b"\0")
    assert [answer[1:] for answer in told] == [refusal] * 3, told


def forged():
    """Gets grants of root's mount, and opens mallory's file with forged answers."""
    real = [struct.unpack(FORM, answer_to(f"mnt/rank{rank}", os.O_RDWR, random.getrandbits(63)))
            for rank in range(2)]
    answers = [struct.pack(FORM, *answer) for answer in real]
    for field, values in ((0, (0, 1)), (1, (0, 1)), (2, (-1, 0, 1, os.getpid())), (3, (-1, 0, 1, 2)),
                          (4, (*range(8), 4095, 4096, 2 ** 32 - 1)), (5, (b"", b"x" * 64))):
        answers += [struct.pack(FORM, *real[0][:field], value, *real[0][field + 1:]) for value in values]
    answers += [random.randbytes(len(answers[0])) for i in range(100)]
    for answer in answers:
        overwrite("answer", answer)
        fd = os.open("evil/rank0", os.O_RDWR)
        assert os.pread(fd, 100, 0) == b"mine\n", answer
        assert os.pwrite(fd, b"mallory was here", 0) == 16
        os.close(fd)


def becomes_root_again():
    mallory = os.stat("spec")
    for user, group in ((mallory.st_uid, mallory.st_gid), (0, 0)):
        os.seteuid(0)
        os.setegid(group) # a process that looks at another one has its group, too
        os.seteuid(user)
        fd = os.open("evil/rank0", os.O_RDWR)
        assert os.pread(fd, 100, 0) == b"mine\n", user
        os.pwrite(fd, b"mallory was here", 0)
