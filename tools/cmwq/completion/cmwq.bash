# SPDX-License-Identifier: BSL-1.0
#
# Completion of cmwq(1) for bash.
_cmwq() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} options
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'list dump monitor top get set metrics trace stalls doctor --folder --help --version' -- "$word")
        return
    fi
    case $command in
    dump) options=--json ;;
    monitor) options='--interval --count --json' ;;
    top) options='--interval --count' ;;
    trace) options='--seconds --html --output' ;;
    stalls) options=--at-least ;;
    doctor) options=--seconds ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$word")
    elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" != list ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(cmwq list 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$word")
    elif [ "$COMP_CWORD" -eq 3 ] && [[ $command == get || $command == set ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(cmwq get "${COMP_WORDS[2]}" 2>/dev/null | sed -n 's/^queue=//p')" -- "$word")
    fi
}
complete -F _cmwq cmwq
