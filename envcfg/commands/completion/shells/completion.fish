# What a place may hold is asked for when it is completed. What is said is never evaluated.
function _envcfg_values # KIND
    command envcfg completion --values $argv[1] -- (commandline -opc) (commandline -ct) 2>/dev/null </dev/null
end
