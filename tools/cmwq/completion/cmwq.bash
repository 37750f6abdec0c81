# SPDX-License-Identifier: BSL-1.0
#
# Completion of cmwq(1) for bash.

# Offers those of the lines of the input that begin with the word, quoted.
_cmwq_offer() {
    local line
    while IFS= read -r line; do
        [[ $line == "$word"* ]] && COMPREPLY+=("$(printf %q "$line")")
    done
}
# Of the runtime, or of the queue that is given: get has the names, set NAME=.
_cmwq_attributes() {
    local end=
    [ "${words[0]}" = set ] && end='=' && compopt -o nospace 2>/dev/null
    _cmwq_offer < <("${tool[@]}" get "${words[1]}" "$@" 2>/dev/null | sed -n "/^queue=/d; s/=.*/$end/p")
}
_cmwq_rest() {
    case ${words[0]}:${#words[@]} in
    monitor:*)
        _cmwq_offer < <("${tool[@]}" monitor --json --count 1 "${words[1]}" 2>/dev/null |
            grep -o '"name":"[^"]*"' | sed 's/^"name":"//; s/"$//')
        ;;
    get:2 | set:2)
        _cmwq_offer < <("${tool[@]}" get "${words[1]}" 2>/dev/null | sed -n 's/^queue=//p')
        _cmwq_attributes
        ;;
    get:3 | set:*) _cmwq_attributes "${words[2]}" ;;
    esac
}
_cmwq() {
    # words: the command and what follows it, without options.
    local i word=${COMP_WORDS[COMP_CWORD]//[\\\"\']/} before=${COMP_WORDS[COMP_CWORD - 1]} options words=() tool=(cmwq)
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; ++i)); do
        case ${COMP_WORDS[i]} in
        --folder | --timeout) tool+=("${COMP_WORDS[i]}" "${COMP_WORDS[++i]}") ;;
        --interval | --count | --seconds | --output | -o | --at-least) ((++i)) ;;
        -*) ;;
        *) words+=("${COMP_WORDS[i]//[\\\"\']/}") ;;
        esac
    done
    case $before in
    --folder | --output | -o)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    --timeout | --interval | --count | --seconds | --at-least | =) return ;;
    esac
    case ${words[0]-} in
    '') options='--folder --timeout --version' ;;
    dump) options=--json ;;
    monitor) options='--interval --count --json' ;;
    top) options='--interval --count' ;;
    trace) options='--seconds --html --output -o' ;;
    stalls) options=--at-least ;;
    doctor) options=--seconds ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${options-} --help" -- "$word")
    elif [ ${#words[@]} -eq 0 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'list dump monitor top get set metrics trace stalls doctor' -- "$word")
    elif [ ${#words[@]} -gt 1 ]; then
        _cmwq_rest
    elif [ "${words[0]}" != list ]; then
        _cmwq_offer < <("${tool[@]}" list 2>/dev/null | awk 'NR > 1 { print $1 }')
        [ "${words[0]}" = trace ] && _cmwq_offer < <(compgen -f -- "$word")
    fi
}
complete -F _cmwq cmwq
