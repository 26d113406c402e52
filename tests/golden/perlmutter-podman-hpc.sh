# envcfg 0.1.0, profile perlmutter (sha256 a5606314a55ec605)
# kind of node: gpu (the default)
# made by: envcfg wrap --print job --profile perlmutter --runtime podman-hpc --container docker.io/a/pytorch:2.9 --bind /data::ro -- python3 dump.py out 'a b'
# You can source it in a batch script, evaluate it, run it, or submit it.
# Compute nodes need bash 4.4, and neither envcfg nor Python.
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL --gpu-bind=none \
#     --cpu-bind=mask_cpu:0xffff000000000000ffff000000000000,0x0000ffff000000000000ffff00000000,0x00000000ffff000000000000ffff0000,0x000000000000ffff000000000000ffff \
#     "${ENVCFG_SRUN[@]}" podman-hpc run --rm --interactive --entrypoint= --label \
#     "$ENVCFG_LABEL" --network=host --ipc=host --pid=host --user "$EUID:${GROUPS[0]}" \
#     --gpu --nccl --mount type=bind,source=/data,target=/data,readonly --mount \
#     "type=bind,\"source=$envcfg_here\",\"target=$envcfg_here\"" --workdir "$PWD" \
#     --rootfs -- docker.io/a/pytorch:2.9 /bin/sh -c "$ENVCFG_RANK" envcfg-rank \
#     "${ENVCFG_ARGS[@]}" -- python3 dump.py out 'a b'
# Each rank has:
# - RANK: SLURM_PROCID
# - LOCAL_RANK: SLURM_LOCALID
# - WORLD_SIZE: SLURM_STEP_NUM_TASKS
# - MASTER_ADDR: the first node of SLURM_STEP_NODELIST
# - cores: those next to its GPU by ENVCFG_CPU_MASKS or the first node's own files
# (https://github.com/BLAST-WarpX/warpx (commit 1b312c6 of 2026-07-01,
# Tools/machines/perlmutter-nersc/perlmutter_gpu.sbatch), 2026-07-01)
# - GPU mask: CUDA_VISIBLE_DEVICES (https://docs.nvidia.com/cuda/cuda-c-programming-guide/
# (environment variables), 2026-11-21)

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_NODE_CORES='128' # of a node, for jobs
ENVCFG_IMAGE='docker.io/a/pytorch:2.9'
ENVCFG_RUNTIMES='podman-hpc' # the first that is on PATH enters the container
ENVCFG_RANK_SHELL='/bin/sh'  # starts the program in each rank
ENVCFG_CLUSTERS='perlmutter' # where this job may run
# the GPUs are numbered in the opposite order of the cores next to them (by users:
# https://github.com/BLAST-WarpX/warpx, 2026-07-01) [profiles/perlmutter.yaml:58]
ENVCFG_CPU_MASKS=0xffff000000000000ffff000000000000,0x0000ffff000000000000ffff00000000,0x00000000ffff000000000000ffff0000,0x000000000000ffff000000000000ffff
ENVCFG_CPU_MASKS_UNION=ffffffff,ffffffff,ffffffff,ffffffff # cores of all of them
ENVCFG_CPU_LISTS=48-63,112-127:32-47,96-111:16-31,80-95:0-15,64-79
# node-local, and in memory on LUMI, whose nodes have no disk; inferred for the other systems,
# unless they name a source [profiles/slingshot.yaml:51]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_COMPONENTS='' ENVCFG_IMAGE_IS_FILE='' ENVCFG_RANKS='' ENVCFG_RUNTIME_MODULES='' ENVCFG_SUFFIX='' ENVCFG_UNBOUND=''

# Binds; envcfg_bind_if: only if the node has the path.
envcfg_mounts() {
  envcfg_argument --gpu  # a module of the site's podman-hpc provides the driver's libraries and devices [profiles/perlmutter.yaml:71]
  envcfg_argument --nccl # a module of the site's podman-hpc provides the plugin and its libfabric; this profile's values override the module's [profiles/perlmutter.yaml:76]
  envcfg_bind /data type=bind,source=/data,target=/data,readonly
}

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # as in the family; a single-node job has no address on Slingshot [profiles/perlmutter.yaml:138]
  # the job then ends if the plugin does not load; without it, NCCL would continue over TCP; every
  # version of the plugin accepts this name [profiles/perlmutter.yaml:143]
  if [ "$ENVCFG_NODES" -eq 1 ]; then
    envcfg_set -u NCCL_NET
  elif [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_NET 'AWS Libfabric'
  fi
  envcfg_set NCCL_SOCKET_IFNAME hsn # the site's value; NCCL reads it as a prefix of the four names [profiles/perlmutter.yaml:151]
  # gloo reads its own variable, not NCCL's, and needs exact names, not prefixes
  # [profiles/slingshot.yaml:94]
  envcfg_set GLOO_SOCKET_IFNAME hsn0
  envcfg_set NCCL_NET_GDR_LEVEL PHB # GPU RDMA if the GPU and the NIC are on the same NUMA node [profiles/slingshot.yaml:99]
  # Slingshot is not a rail network; a ring may use different NICs to send and receive
  # [profiles/slingshot.yaml:104]
  envcfg_set NCCL_CROSS_NIC 1
  # memhooks intercepts malloc and can deadlock with RCCL and NCCL; kdreg2 works too, but needs a
  # kernel module [profiles/slingshot.yaml:109]
  envcfg_set FI_MR_CACHE_MONITOR userfaultfd
  envcfg_set FI_CXI_DISABLE_HOST_REGISTER 1 # prevents GPU calls of the provider that can deadlock [profiles/slingshot.yaml:116]
  # HDF5 cannot lock files on the site's shared file systems, so opening a file fails
  # [profiles/perlmutter.yaml:156]
  envcfg_set HDF5_USE_FILE_LOCKING FALSE
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR
  # Also keep the job's own node and port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
  # if Slurm shows each task only its own GPU, the GPUs of a node cannot access each other (by
  # users: https://github.com/BLAST-WarpX/warpx, 2026-07-01) [profiles/perlmutter.yaml:54]
  envcfg_option --gpu-bind=none
}

# Variables of each rank, in the container.
envcfg_rank_settings() {
  # the default is in the home folder; on NFS, ranks of several nodes race for it, and some fail (by
  # users: https://github.com/PrimeIntellect-ai/prime-rl/pull/2305, 2026-11-29)
  # [profiles/slingshot.yaml:137]
  envcfg_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # by default, compiled extensions are in the home folder, where all ranks wait for one lock
  # [profiles/slingshot.yaml:143]
  envcfg_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default folder in /tmp contains only the user's name, so jobs on one node share it
  # [profiles/slingshot.yaml:149]
  envcfg_set TORCHINDUCTOR_CACHE_DIR "${ENVCFG_CACHE}"/inductor
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}"
}

# modules: guard, begin, core, signals, where, secrets, inherited, arguments, srun, folders, caches, cpu_lists, masks, srun/cores, container, srun/task, runtimes/podman, srun/ranks, end

envcfg_run python3 dump.py out 'a b'
