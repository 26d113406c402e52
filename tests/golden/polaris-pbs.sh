# envcfg 0.1.0, profile polaris (sha256 8ced9820e4d80001)
# made by: envcfg wrap --print job --profile polaris --container /images/pytorch.sif --runtime-arg=--cleanenv -- python3 dump.py out 'a b'
# You can source it in a batch script, evaluate it, run it, or submit it.
# Compute nodes need bash 4.4, and neither envcfg nor Python.
# It starts the ranks by:
#   mpiexec "${ENVCFG_SIZED[@]}" --cpu-bind \
#     list:24-31,56-63:16-23,48-55:8-15,40-47:0-7,32-39 -d 16 "${ENVCFG_MPIEXEC[@]}" \
#     apptainer exec --nv --fakeroot --cleanenv --bind /local/scratch \
#     /images/pytorch.sif /bin/sh -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- \
#     python3 dump.py out 'a b'
# Each rank has:
# - RANK: PALS_RANKID or PMI_RANK or OMPI_COMM_WORLD_RANK
# - LOCAL_RANK: PALS_LOCAL_RANKID or MPI_LOCALRANKID or OMPI_COMM_WORLD_LOCAL_RANK
# - WORLD_SIZE: nodes x ranks per node
# - MASTER_ADDR: the first node of PBS_NODEFILE
# - cores: those next to its GPU by ENVCFG_CPU_MASKS (https://github.com/argonne-lcf/user-guides
# (commit 321e3c3 of 2025-03-11, docs/polaris/index.md), 2026-08-19)
# - GPU mask: CUDA_VISIBLE_DEVICES (https://docs.nvidia.com/cuda/cuda-c-programming-guide/
# (environment variables), 2026-11-21)
# Settings of the profile that are left out, and why:
# - HF_HOME, HF_DATASETS_CACHE, HF_MODULES_CACHE: launcher=pbs, runtime=apptainer

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_GPUS='4' # on each node
ENVCFG_IMAGE='/images/pytorch.sif'
ENVCFG_IMAGE_IS_FILE='yes'    # the job must be able to read it
ENVCFG_RUNTIMES='apptainer'   # the first that is on PATH enters the container
ENVCFG_RUNTIME_COMMAND='exec' # by this command of the runtime
# to load if no runtime is on PATH
ENVCFG_RUNTIME_MODULES='module use /soft/modulefiles; module load spack-pe-base; module load apptainer'
ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
# the GPUs are numbered in the opposite order of the cores next to them [profiles/polaris.yaml:60]
ENVCFG_CPU_MASKS=0xff000000ff000000,0x00ff000000ff0000,0x0000ff000000ff00,0x000000ff000000ff
ENVCFG_CPU_MASKS_UNION=ffffffff,ffffffff # cores of all of them
ENVCFG_CPU_LISTS=24-31,56-63:16-23,48-55:8-15,40-47:0-7,32-39
# two SSDs of the node, which ALCF also uses for Apptainer's caches; they need no request
# [profiles/polaris.yaml:75]
ENVCFG_SCRATCH=/tmp # for node-local caches
if [ -d /local/scratch ] && [ -w /local/scratch ]; then ENVCFG_SCRATCH=/local/scratch; fi

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_CLUSTERS='' ENVCFG_RANKS='' ENVCFG_SUFFIX=''

# Modules for the step.
envcfg_modules() {
  envcfg_module use /soft/modulefiles # where ALCF keeps its own modules [profiles/polaris.yaml:100]
  envcfg_module load spack-pe-base    # the modules of Apptainer come with it [profiles/polaris.yaml:105]
  envcfg_module load apptainer        # brings Apptainer, which is on compute nodes only [profiles/polaris.yaml:110]
}

# Binds; envcfg_bind_if: only if the node has the path.
envcfg_mounts() {
  if [ -e /dev/nvidiactl ]; then envcfg_argument --nv; fi # the driver's libraries must match the host's kernel module, so the runtime must bind them into the container [profiles/slingshot-cuda.yaml:37]
  # without it Apptainer fails on the compute nodes ("starter-suid"). With it the home folder is
  # /root inside: files that are used by their path in the home folder need a --bind
  # [profiles/polaris.yaml:92]
  envcfg_argument --fakeroot
  envcfg_argument --cleanenv
  envcfg_bind_if /local/scratch # the SSDs, which Apptainer does not bind by default [profiles/polaris.yaml:86]
}

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # the plugin has two to three times the bandwidth of sockets; if it does not load, the job ends.
  # Megatron-DeepSpeed may hang with it: --unset NCCL_NET [profiles/polaris.yaml:225]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_NET 'AWS Libfabric'
  fi
  # ALCF counts two Slingshot adapters in a node; HPE names them in this order, from hsn0 to hsn3
  # [profiles/polaris.yaml:233]
  envcfg_set NCCL_SOCKET_IFNAME hsn0,hsn1
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
  envcfg_set FI_CXI_DEFAULT_CQ_SIZE 131072  # large jobs overrun the default completion queue [profiles/slingshot.yaml:121]
  envcfg_set NCCL_COLLNET_ENABLE 1          # part of the settings that ALCF measured as best [profiles/polaris.yaml:238]
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR
  # Also keep the job's own node and port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
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

# modules: guard, begin, core, signals, where, secrets, inherited, arguments, pbs/task, pbs, modules, folders, caches, cpu_lists, masks, pbs/masks, container, runtimes/apptainer, per_node, pbs/ranks, end

envcfg_run python3 dump.py out 'a b'
