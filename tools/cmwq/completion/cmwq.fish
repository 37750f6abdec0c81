# SPDX-License-Identifier: BSL-1.0
#
# Completion of cmwq(1) for fish.

# The command and what follows it, without options, one in a line; with the argument `tool` how to call the tool.
function __fish_cmwq_words
    set -l words
    set -l tool cmwq
    set -l tokens (commandline -opc)
    set -e tokens[1]
    while set -q tokens[1]
        switch $tokens[1]
            case --folder --timeout
                set -a tool $tokens[1..2]
                set -e tokens[1]
            case --interval --count --seconds --output -o --at-least
                set -e tokens[1]
            case '-*'
            case '*'
                set -a words $tokens[1]
        end
        set -e tokens[1]
    end
    if contains tool $argv
        string join -- \n $tool
    else
        string join -- \n $words
    end
end
# Whether the command is one of the arguments after the first, and so many words follow it: N, or N+.
function __fish_cmwq_at
    set -l words (__fish_cmwq_words)
    contains -- "$words[1]" $argv[2..-1]; or return 1
    set -l n (math (count $words) - 1)
    if string match -q '*+' $argv[1]
        test $n -ge (string trim -c + $argv[1])
    else
        test $n -eq $argv[1]
    end
end
function __fish_cmwq_call
    set -l tool (__fish_cmwq_words tool)
    $tool $argv 2>/dev/null
end
function __fish_cmwq_processes
    __fish_cmwq_call list | awk 'NR > 1 { print $1 }'
end
function __fish_cmwq_exported
    __fish_cmwq_call get (__fish_cmwq_words)[2] | sed -n 's/^queue=//p'
end
# Of the runtime, or of the queue that is there; the argument ends each.
function __fish_cmwq_attributes
    set -l words (__fish_cmwq_words)
    __fish_cmwq_call get $words[2..3] | sed -n "/^queue=/d; s/=.*/$argv[1]/p"
end
function __fish_cmwq_queues
    __fish_cmwq_call monitor --json --count 1 (__fish_cmwq_words)[2] | grep -o '"name":"[^"]*"' | sed 's/^"name":"//; s/"$//'
end

complete -c cmwq -f
complete -c cmwq -l help -d 'How to use it'
complete -c cmwq -n __fish_use_subcommand -l version
complete -c cmwq -n __fish_use_subcommand -l folder -rF -d 'Where the sockets are'
complete -c cmwq -n __fish_use_subcommand -l timeout -x -d 'Seconds that a process has for an answer'
set -l commands list 'The runtimes' dump 'The whole state of a runtime' monitor 'The counters of the queues' \
    top 'The items that run' get 'The attributes of a queue, or of the runtime' set 'Changes attributes' \
    metrics 'The numbers of a runtime as OpenMetrics text' trace 'Lets the process write a trace' stalls 'What hangs' \
    doctor 'What this machine, or a process, lacks'
for i in (seq 1 2 (count $commands))
    complete -c cmwq -n 'test (count (__fish_cmwq_words)) -eq 0' -a $commands[$i] -d $commands[(math $i + 1)]
end
complete -c cmwq -n '__fish_seen_subcommand_from dump' -l json
complete -c cmwq -n '__fish_seen_subcommand_from monitor' -l interval -x
complete -c cmwq -n '__fish_seen_subcommand_from monitor' -l count -x
complete -c cmwq -n '__fish_seen_subcommand_from monitor' -l json
complete -c cmwq -n '__fish_seen_subcommand_from top' -l interval -x
complete -c cmwq -n '__fish_seen_subcommand_from top' -l count -x
complete -c cmwq -n '__fish_seen_subcommand_from trace' -l seconds -x
complete -c cmwq -n '__fish_seen_subcommand_from trace' -l html
complete -c cmwq -n '__fish_seen_subcommand_from trace' -s o -l output -rF
complete -c cmwq -n '__fish_seen_subcommand_from stalls' -l at-least -x
complete -c cmwq -n '__fish_seen_subcommand_from doctor' -l seconds -x
complete -c cmwq -n '__fish_cmwq_at 0 dump monitor top get set metrics trace stalls doctor' -a '(__fish_cmwq_processes)'
complete -c cmwq -n '__fish_cmwq_at 0 trace' -F
complete -c cmwq -n '__fish_cmwq_at 1+ monitor' -a '(__fish_cmwq_queues)'
complete -c cmwq -n '__fish_cmwq_at 1 get set' -a '(__fish_cmwq_exported)'
complete -c cmwq -n '__fish_cmwq_at 1 get; or __fish_cmwq_at 2 get' -a '(__fish_cmwq_attributes "")'
complete -c cmwq -n '__fish_cmwq_at 1+ set' -a '(__fish_cmwq_attributes =)'
