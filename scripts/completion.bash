# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# bash completion of mpiio-mount, mpiio-umount and mpiio-view.

# Offers those of the words (one string, separated by white space) that begin with the first
# argument.
_mpiio_offer() {
    mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

_mpiio_offer_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

# Prints the words that may come next in the shorthand that is the first argument (viewspec(5)).
_mpiio_shorthand_words() {
    local words='of at every as on tiles name dims grid' form=${1%% *} last=${1% *}
    last=${last##*[ ,]}
    case $1 in
    *' '*) ;;
    *)
        echo "contiguous vector subarray darray scatter hpf_block hpf_cyclic broadcast"
        return
        ;;
    esac
    case $last in
    of)
        echo "byte char short int long float double integer real double_precision complex
            int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t"
        return
        ;;
    as)
        echo "$_mpiio_datareps"
        return
        ;;
    order | memory)
        echo "C Fortran"
        return
        ;;
    at | every | on | tiles | stride | part | from | by | name | dims | grid) return ;;
    esac
    case $form in
    vector) words+=" stride" ;;
    subarray) words+=" part from order memory" ;;
    darray)
        words+=" block cyclic none order memory"
        [[ ${1%"${1##*[ ,]}"} != *, ]] || words="block cyclic none"
        ;;
    hpf_cyclic) words+=" by" ;;
    esac
    echo "$words"
}

_mpiio_datareps="native external32 internal big-endian little-endian"

# Offers continuations of the shorthand that is being typed after an open quotation mark.
_mpiio_offer_shorthand() {
    local typed=${1#[\'\"]} before=''
    [[ $typed == *[\ ,]* ]] && before=${typed%"${typed##*[ ,]}"}
    _mpiio_offer "${typed##*[ ,]}" "$(_mpiio_shorthand_words "$typed")"
    COMPREPLY=("${COMPREPLY[@]/#/$before}")
    # If there is a single word, bash would close the quotation mark.
    [ ${#COMPREPLY[@]} -ne 1 ] || COMPREPLY+=("${COMPREPLY[0]} ")
    compopt -o nospace 2>/dev/null
}

# Prints words of the spec on the command line: its views, ranks (the first thousand) or named
# integers. Prints none if jq is not installed.
_mpiio_from_spec() {
    local word filter
    case $1 in
    views) filter='.views // {} | keys[]' ;;
    ranks) filter='range([(.ranks // (.view.per_rank // [0] | length) | numbers), 1000] | min)' ;;
    lets) filter='.let // {} | keys[] + "="' ;;
    esac
    for word in "${COMP_WORDS[@]:1}"; do
        if [[ $word == *.json && -f $word ]]; then
            { mpiio-view spec "$word" 2>/dev/null || cat "$word"; } | jq -r "$filter" 2>/dev/null
            return 0
        fi
    done
    return 0
}

# Sets variables to those of the file after --from on the command line.
_mpiio_variables() {
    local i
    variables=()
    for ((i = 1; i + 1 < ${#COMP_WORDS[@]}; i++)); do
        if [ "${COMP_WORDS[i]}" = --from ]; then
            mapfile -t variables < <(mpiio-view spec --from "${COMP_WORDS[i + 1]}" 2>/dev/null | cut -f 1)
        fi
    done
}

# Completes options that all commands with a spec share. Fails if $prev is none of them.
_mpiio_common() {
    local prev=$1 cur=$2
    case $prev in
    -f | --file) _mpiio_offer_files "$cur" ;;
    -n | --ranks) COMPREPLY=() ;;
    -D | --define)
        compopt -o nospace 2>/dev/null
        _mpiio_offer "$cur" "$(_mpiio_from_spec lets)"
        ;;
    *) return 1 ;;
    esac
}

_mpiio_mount() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} before=''
    COMPREPLY=()
    _mpiio_common "$prev" "$cur" && return
    case $prev in
    --view | --pieces)
        _mpiio_offer_shorthand "$cur"
        return
        ;;
    --from) _mpiio_offer_files "$cur" && return ;;
    -o | --options)
        [[ $cur == *,* ]] && before=${cur%,*},
        _mpiio_offer "${cur##*,}" "ro rw create append delete_on_close sequential unique direct npy nc vti zarr view= members= pieces= missing=error missing=zero missing= narrow=refuse narrow=truncate atomic local pointers= log= log_level=debug log_level=info log_level=warning log_level=error threads= max_read= fsname=
            passthrough=auto passthrough=off coherence=auto coherence=local coherence=close-to-open coherence=none cache=auto cache=through cache=back store=auto store=posix store=mpiio
            dirty_max= pool= pool=off flush_interval= peer_timeout= fanout= interface= port=
            allow_other allow_root auto_unmount default_permissions nosuid nodev noexec noatime"
        COMPREPLY=("${COMPREPLY[@]/#/$before}")
        return
        ;;
    esac
    case $cur in
    -*) _mpiio_offer "$cur" "-n --ranks -f --file -D --define --view --members --pieces --from -o --options -F --foreground
        --hosts= --list-hosts --help --version" ;;
    *) _mpiio_offer_files "$cur" ;;
    esac
}

_mpiio_offer_mounts() {
    local place
    compopt -o filenames 2>/dev/null
    while read -r _ place _; do
        printf -v place %b "$place"
        [[ $place == "$1"* ]] && COMPREPLY+=("$place")
    done < <(grep ' fuse\.mpiio ' /proc/self/mounts 2>/dev/null)
}

_mpiio_umount() {
    local cur=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    case $cur in
    -*) _mpiio_offer "$cur" "-f --force --node --hosts= --all --dead --user= --help --version" ;;
    *) _mpiio_offer_mounts "$cur" ;;
    esac
}

# Completes capture: its options, then any command and its files.
_mpiio_capture() {
    local cur=$1 prev=$2 at=2
    case $prev in
    -o | --output) compopt -o dirnames 2>/dev/null && return ;;
    esac
    [[ ${COMP_WORDS[2]} == -o ]] && at=4
    [[ ${COMP_WORDS[at]} == -- ]] && at=$((at + 1))
    if [[ $cur == -* && $COMP_CWORD -le at ]]; then
        _mpiio_offer "$cur" "-o --output -- --help --version"
    elif [ "$COMP_CWORD" -le "$at" ]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
        _mpiio_offer_files "$cur"
    fi
}

_mpiio_run() {
    local cur=${COMP_WORDS[COMP_CWORD]} at=1
    COMPREPLY=()
    while [[ ${COMP_WORDS[at]} == -* && $at -lt $COMP_CWORD ]]; do
        at=$((at + 1))
    done
    if [[ $cur == -* && $COMP_CWORD -le $at ]]; then
        _mpiio_offer "$cur" "-s --stats -- --help --version"
    elif [ "$COMP_CWORD" -le "$at" ]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
        _mpiio_offer_files "$cur"
    fi
}

_mpiio_view() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} own="-v --view" variables
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _mpiio_offer "$cur" "check map owner cat put dump convert draw spec capture top --help --version"
        return
    fi
    if [ "${COMP_WORDS[1]}" = capture ]; then
        _mpiio_capture "$cur" "$prev"
        return
    fi
    if [ "${COMP_WORDS[1]}" = top ]; then
        case $cur in
        -*) _mpiio_offer "$cur" "-d --interval -c --count --prometheus -o --output --help --version" ;;
        *) _mpiio_offer_mounts "$cur" ;;
        esac
        return
    fi
    _mpiio_common "$prev" "$cur" && return
    case $prev in
    -r | --rank) _mpiio_offer "$cur" "$(_mpiio_from_spec ranks)" && return ;;
    -v | --view)
        if [[ " ${COMP_WORDS[*]} " == *.json\ * ]]; then
            _mpiio_offer "$cur" "$(_mpiio_from_spec views)"
        else
            _mpiio_offer_shorthand "$cur"
        fi
        return
        ;;
    --pieces)
        _mpiio_offer_shorthand "$cur"
        return
        ;;
    --members) _mpiio_offer_files "$cur" && return ;;
    --offset | --length | --fields | --window | --width) return ;;
    --format) _mpiio_offer "$cur" "text csv json" && return ;;
    --narrow) _mpiio_offer "$cur" "refuse truncate" && return ;;
    --to)
        _mpiio_offer "$cur" "$_mpiio_datareps"
        return
        ;;
    --color) _mpiio_offer "$cur" "always auto never" && return ;;
    --from) _mpiio_offer_files "$cur" && return ;;
    --var)
        _mpiio_variables
        _mpiio_offer "$cur" "${variables[*]}"
        return
        ;;
    --type) _mpiio_offer "$cur" "int float double int64_t complex" && return ;;
    -o | --output | --spec | --svg) _mpiio_offer_files "$cur" && return ;;
    esac
    case ${COMP_WORDS[1]} in
    map | cat) own="-r --rank -v --view --offset --length" ;;
    put) own="-r --rank -v --view --offset --narrow" ;;
    dump) own="-r --rank -v --view --offset --length --format --fields" ;;
    draw) own="-v --view --offset --window --svg --width --color" ;;
    spec) own="-v --view --from --var --all --type" ;;
    convert) own="-v --view --to -o --output --force --spec --narrow" ;;
    esac
    case $cur in
    -*) _mpiio_offer "$cur" "$own -n --ranks -f --file -D --define --members --pieces --missing --help" ;;
    *) _mpiio_offer_files "$cur" ;;
    esac
}

complete -F _mpiio_mount mpiio-mount
complete -F _mpiio_umount mpiio-umount
complete -F _mpiio_view mpiio-view
complete -F _mpiio_run mpiio-run
