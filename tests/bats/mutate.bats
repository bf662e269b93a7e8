#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scripts/mutate, on a project of one source and one test.

load helper

# made_up: makes a project in p. Its test does not execute half(), and does not check values above
# most.
made_up() {
    mkdir -p p/src p/tests
    cp -r "$top/tests/mutate" "$top/tests/let_go" p/tests/
    cat >p/meson.build <<'END'
project('p', 'c')
test('clamp', executable('test_clamp', 'src/clamp.c', 'tests/test_clamp.c'))
END
    printf "option('%s', type: 'feature')\n" man python >p/meson_options.txt
    cat >p/src/clamp.c <<'END'
int half(int value);
int clamp(int value, int least, int most);

int half(int value)
{
    return value / 2;
}

static int smaller(int one, int two)
{
    return one < two ? one : two;
}

int clamp(int value, int least, int most)
{
    if (value < least)
        value = least;
    most = most + 0;
    return smaller(value, most + /* no gap */ 0);
}
END
    cat >p/tests/test_clamp.c <<'END'
int clamp(int value, int least, int most);

int main(void)
{
    return clamp(5, 0, 9) != 5 || clamp(-5, 0, 9) != 0;
}
END
    printf '# comment\nsrc/clamp.c\tmost = most + 0;\tconstant: 0 -> 1\tthe test is bad on purpose\n' \
        >p/tests/mutate/explained.txt
    git -C p init -q
    git -C p add .
}

@test "mutate: kills what tests check; reports survivors, uncovered lines and equal objects" {
    made_up
    run -1 as_root "$PWD/p/tests/mutate/mutate.py" --work "$PWD/work" src/clamp.c
    echo "$output"
    grep -vE '^(clamp: |src/clamp.c: )' <<<"$output" | sed 's/   .*//' >got
    diff - got <<'END'
uncovered: src/clamp.c:6: arithmetic: / -> *
uncovered: src/clamp.c:6: constant: 2 -> 3
alike: src/clamp.c:11: comparison: < -> <=
alike: src/clamp.c:16: comparison: < -> <=
killed by clamp: src/clamp.c:17: dropped statement: value = least -> (void)0
alike: src/clamp.c:18: dropped statement: most = most + 0 -> (void)0
alike: src/clamp.c:18: arithmetic: + -> -
explained: src/clamp.c:18: constant: 0 -> 1
alike: src/clamp.c:19: swapped arguments: value, most + /* no gap */ 0 -> most + /* no gap */ 0, value
alike: src/clamp.c:19: arithmetic: + -> -
survived: src/clamp.c:19: constant: 0 -> 1
END
    [[ ${lines[-1]} == "src/clamp.c: 1 of 4 killed (25.0 %), 1 survived, 2 uncovered; 1 explained, 6 compile alike, "* ]]
}

@test "mutate: --work keeps the coverage until a source changes" {
    made_up
    run -1 as_root "$PWD/p/tests/mutate/mutate.py" --work "$PWD/work" src/clamp.c:19
    [[ $output == *"clamp: "*" s"* ]]
    run -1 as_root "$PWD/p/tests/mutate/mutate.py" --work "$PWD/work" src/clamp.c:19
    run ! grep '^clamp: ' <<<"$output"
    # The lines have moved.
    sed -i '1i /* clamp */' p/src/clamp.c
    run -1 as_root "$PWD/p/tests/mutate/mutate.py" --work "$PWD/work" src/clamp.c:20
    [[ $output == *"clamp: "*" s"*"survived: src/clamp.c:20: constant: 0 -> 1"* ]]
}

@test "mutate: --list prints mutants of a directory, a sample of a seed is always the same" {
    run -0 "$top/scripts/mutate" --list --sample 20 --seed 3 src/cluster viewspec/map/find.c:1
    [ "${#lines[@]}" = 20 ]
    run -2 "$top/scripts/mutate"
    complains 1 "mutate: nowhere: no such file or directory of the tree" "$top/scripts/mutate" --list nowhere
}
