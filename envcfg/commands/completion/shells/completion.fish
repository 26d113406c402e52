# What a place may hold is asked for when it is completed. What is said is never evaluated.
function _envcfg_values # KIND
    command envcfg completion --values $argv[1] -- (commandline -opc) (commandline -ct) 2>/dev/null </dev/null
end

# Behind a --, another program's line begins.
function _envcfg_command
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    or return
    complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..-1]) (commandline -ct))
end
