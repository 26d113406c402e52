-- envcfg for all users of a system. Where things are:
--   PREFIX/modulefiles/envcfg/0.1.0.lua   this file; for another version copy or link it
--   PREFIX/envcfg/0.1.0/bin/envcfg        envcfg.pyz, executable
-- It needs no Python module: envcfg.pyz takes python3, or a newer one that is on PATH.

help([[
From a container and a command to a correct multi-node job:
  envcfg profiles detect
  envcfg wrap --container pytorch.sif -- python train.py
  envcfg check-log slurm-123.out
]])

whatis("Name: envcfg")
whatis("Version: " .. myModuleVersion())
whatis("Category: tools")
whatis("Description: the environment of PyTorch jobs in containers, checked")

local prefix = myFileName():match("^(.*)/modulefiles/")
if not prefix then
  LmodError("envcfg: this file is not below a folder modulefiles")
end
local bin = pathJoin(prefix, myModuleName(), myModuleVersion(), "bin")
if mode() == "load" and not isFile(pathJoin(bin, "envcfg")) then
  LmodError("envcfg: there is no " .. pathJoin(bin, "envcfg"))
end

prepend_path("PATH", bin)
