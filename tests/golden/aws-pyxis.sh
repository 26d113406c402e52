# envcfg 0.1.0, profile aws-p5 (sha256 9031b9433beff949)
# made by: envcfg wrap --print job --profile aws-p5 --runtime pyxis --container /images/pytorch.sqsh --bind /data:/mnt/data:ro -- python3 dump.py out 'a b'
# You can source it in a batch script, evaluate it, run it, or submit it.
# Compute nodes need bash 4.4, and neither envcfg nor Python.
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL --cpu-bind=none "${ENVCFG_SRUN[@]}" \
#     --container-image /images/pytorch.sqsh --no-container-entrypoint \
#     --container-workdir "$PWD" --container-mounts "$ENVCFG_MOUNTS" /bin/sh -c \
#     "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'
# Each rank has:
# - RANK: SLURM_PROCID
# - LOCAL_RANK: SLURM_LOCALID
# - WORLD_SIZE: SLURM_STEP_NUM_TASKS
# - MASTER_ADDR: the first node of SLURM_STEP_NODELIST
# - cores: those next to its GPU by ENVCFG_CPU_MASKS or the first node's own files
# - GPU mask: CUDA_VISIBLE_DEVICES (https://docs.nvidia.com/cuda/cuda-c-programming-guide/
# (environment variables), 2026-11-21)

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_IMAGE='/images/pytorch.sqsh'
ENVCFG_IMAGE_IS_FILE='yes'  # the job must be able to read it
ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
# node-local on nearly all clusters, and the runtimes show it to the container by themselves
# [profiles/efa.yaml:75]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_COMPONENTS='' ENVCFG_CPU_LISTS='' ENVCFG_CPU_MASKS='' ENVCFG_CPU_MASKS_UNION='' ENVCFG_NODE_CORES='' ENVCFG_RANKS='' ENVCFG_RUNTIMES='' ENVCFG_RUNTIME_MODULES='' ENVCFG_SUFFIX='' ENVCFG_UNBOUND=''

# Binds; envcfg_bind_if: only if the node has the path.
envcfg_mounts() {
  envcfg_export NVIDIA_VISIBLE_DEVICES all                 # without it Enroot puts no driver into an image that is not based on NVIDIA's [profiles/efa.yaml:87]
  envcfg_export NVIDIA_DRIVER_CAPABILITIES compute,utility # of the driver, Enroot by itself brings what nvidia-smi needs, and no CUDA [profiles/efa.yaml:93]
  envcfg_bind /data /data:/mnt/data:ro
}

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # the names of interfaces differ by instance and image (ens6, enp40s0), so this list excludes
  # those that cannot reach other nodes [profiles/efa.yaml:110]
  envcfg_set NCCL_SOCKET_IFNAME '^docker,lo,veth'
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR
  # Also keep the job's own node and port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
  # the job has the whole node, so ranks may use all its cores, not only those that srun selects
  # [profiles/efa.yaml:44]
  envcfg_option --cpu-bind=none
}

# Variables of each rank, in the container.
envcfg_rank_settings() {
  # the default is in the home folder; on NFS, ranks of several nodes race for it, and some fail (by
  # users: https://github.com/PrimeIntellect-ai/prime-rl/pull/2305, 2026-11-29)
  # [profiles/efa.yaml:117]
  envcfg_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # by default, compiled extensions are in the home folder, where all ranks wait for one lock
  # [profiles/efa.yaml:123]
  envcfg_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default folder in /tmp contains only the user's name, so jobs on one node share it
  # [profiles/efa.yaml:129]
  envcfg_set TORCHINDUCTOR_CACHE_DIR "${ENVCFG_CACHE}"/inductor
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}"
}

# modules: guard, begin, core, exports, signals, where, secrets, inherited, arguments, srun, folders, caches, cpu_lists, srun/cores, container, srun/plugin, runtimes/pyxis, srun/ranks, end

envcfg_run python3 dump.py out 'a b'
