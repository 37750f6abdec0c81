# SPDX-License-Identifier: BSL-1.0
#
# Completion of cmwq(1) for fish.
complete -c cmwq -f
complete -c cmwq -l help -d 'How to use it'
complete -c cmwq -n __fish_use_subcommand -l version
complete -c cmwq -n __fish_use_subcommand -l folder -r -d 'Where the sockets are'
complete -c cmwq -n __fish_use_subcommand -a list -d 'The runtimes that answer'
complete -c cmwq -n __fish_use_subcommand -a dump -d 'The whole state of a runtime'
complete -c cmwq -n '__fish_seen_subcommand_from dump' -l json
complete -c cmwq -n __fish_use_subcommand -a monitor -d 'The counters of the queues'
complete -c cmwq -n '__fish_seen_subcommand_from monitor' -l interval -r
complete -c cmwq -n '__fish_seen_subcommand_from monitor' -l count -r
complete -c cmwq -n '__fish_seen_subcommand_from monitor' -l json
complete -c cmwq -n __fish_use_subcommand -a top -d 'The items that run'
complete -c cmwq -n '__fish_seen_subcommand_from top' -l interval -r
complete -c cmwq -n '__fish_seen_subcommand_from top' -l count -r
complete -c cmwq -n __fish_use_subcommand -a get -d 'The attributes of a queue, or of the runtime'
complete -c cmwq -n __fish_use_subcommand -a set -d 'Changes attributes'
complete -c cmwq -n __fish_use_subcommand -a metrics -d 'The numbers of a runtime as OpenMetrics text'
complete -c cmwq -n __fish_use_subcommand -a trace -d 'Lets the process write a trace'
complete -c cmwq -n '__fish_seen_subcommand_from trace' -l seconds -r
complete -c cmwq -n '__fish_seen_subcommand_from trace' -l html
complete -c cmwq -n '__fish_seen_subcommand_from trace' -l output -r
complete -c cmwq -n __fish_use_subcommand -a stalls -d 'What hangs'
complete -c cmwq -n '__fish_seen_subcommand_from stalls' -l at-least -r
complete -c cmwq -n __fish_use_subcommand -a doctor -d 'What this machine, or a process, lacks'
complete -c cmwq -n '__fish_seen_subcommand_from doctor' -l seconds -r
complete -c cmwq -n 'not __fish_use_subcommand; and not __fish_seen_subcommand_from list' \
    -a "(cmwq list 2>/dev/null | awk 'NR > 1 { print \$1 }')"
