# envcfg 0.1.0, profile aws-p5 (sha256 386f6a57d479a220)
# made by: envcfg wrap --print job --profile aws-p5 --runtime pyxis --container /images/pytorch.sqsh --bind /data:/mnt/data:ro -- python3 dump.py out 'a b'
# Source it in a batch script, evaluate it, run it, submit it: all the same.
# Compute nodes need bash 4.4, and neither envcfg nor Python.
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL --cpu-bind=none "${ENVCFG_SRUN[@]}" \
#     --container-image /images/pytorch.sqsh --no-container-entrypoint \
#     --container-workdir "$PWD" --container-mounts "$ENVCFG_MOUNTS" /bin/sh -c \
#     "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'

# --- What this job needs ------------------------------------------------------------

ENVCFG_IMAGE='/images/pytorch.sqsh'
ENVCFG_SHELL='/bin/sh'
ENVCFG_IS_FILE='yes'
# node-local on nearly all clusters, and the runtimes show it to the container by themselves
# [profiles/efa.yaml:74]
ENVCFG_SCRATCH=/tmp # for node-local caches

IFS= builtin read -r -d '' ENVCFG_INSIDE <<'ENVCFG_TEXT' || builtin : # until the text ends
envcfg_inside() { # what is set in each task, in the container
  # the default is in the home folder; on a shared file system many ranks corrupt it
  # [profiles/efa.yaml:116]
  envcfg_in_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # compiled extensions default to the home folder, where ranks race for a lock
  # [profiles/efa.yaml:122]
  envcfg_in_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default is in /tmp by user name, so jobs that share a node share it
  # [profiles/efa.yaml:128]
  envcfg_in_set TORCHINDUCTOR_CACHE_DIR "${ENVCFG_CACHE}"/inductor
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}"
}
ENVCFG_TEXT

envcfg_mounts() {
  # without it Enroot puts no driver into an image that is not based on NVIDIA's
  # [profiles/efa.yaml:86]
  envcfg_export NVIDIA_VISIBLE_DEVICES all
  # of the driver, Enroot by itself brings what nvidia-smi needs, and no CUDA
  # [profiles/efa.yaml:92]
  envcfg_export NVIDIA_DRIVER_CAPABILITIES compute,utility
  envcfg_bind /data /data:/mnt/data:ro
}

envcfg_settings() {
  # names of interfaces differ by instance and image (ens6, enp40s0), so it is said which
  # cannot reach another node [profiles/efa.yaml:109]
  envcfg_set NCCL_SOCKET_IFNAME '^docker,lo,veth'
  envcfg_preset 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR
  envcfg_preset "default: the step's first node" MASTER_ADDR
  envcfg_preset '' MASTER_PORT
  ENVCFG_ARGS+=("ENVCFG_CACHE_BASE=$ENVCFG_CACHE_BASE")
  # the node is the job's, so ranks may use all of its cores, not the few of srun's choice
  # [profiles/efa.yaml:44]
  ENVCFG_SRUN+=(--cpu-bind=none)
}

# modules: guard, begin, core, signals, where, inherited, arguments, srun, folders, caches, container, srun/plugin, given, srun/task, runtimes/pyxis, srun/ranks, end

envcfg_run python3 dump.py out 'a b'
