# envcfg 0.1.0, profile lumi-g (sha256 209e1a4bc06c01b4)
# made by: envcfg wrap --print job --profile lumi-g --fact rocm=6.2.4 --container /images/pytorch.sif --launcher torchrun -- python3 dump.py out 'a b'
# You can source it in a batch script, evaluate it, run it, or submit it.
# Compute nodes need bash 4.4, and neither envcfg nor Python.
# It starts the ranks by:
#   srun --kill-on-bad-exit=1 --export=ALL "${ENVCFG_SRUN[@]}" singularity exec --bind \
#     /var/spool/slurmd --bind /opt/cray --bind /usr/lib64/libcxi.so.1 --bind /pfs \
#     --bind /scratch --bind /projappl --bind /project --bind /flash --bind /appl \
#     /images/pytorch.sif /bin/sh -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- \
#     python3 dump.py out 'a b'
# Each rank has:
# - RANK: set by torchrun
# - LOCAL_RANK: set by torchrun
# - WORLD_SIZE: nodes x ranks per node by torchrun
# - MASTER_ADDR: the first node of SLURM_STEP_NODELIST
# - cores: those next to its GPU by ENVCFG_CPU_MASKS or the first node's own files
# - GPU mask: ROCR_VISIBLE_DEVICES (https://github.com/Lumi-supercomputer/LUMI-AI-Guide (commit
# a7e3387 of 2026-05-19, 02-setting-up-environment/README.md), 2026-05-19)
# Settings of the profile that are left out, and why:
# - FI_MR_CACHE_MONITOR, CC, CXX: container=pytorch.sif
# - HSA_NO_SCRATCH_RECLAIM: rocm=6.2.4
# - LD_PRELOAD: container=pytorch.sif, mpi=none
# - MPICH_GPU_SUPPORT_ENABLED, MPICH_OFI_NIC_POLICY: mpi=none

# --- What this job needs ------------------------------------------------------------
ENVCFG_BASHOPTS=${BASHOPTS-}
[ -z "${BASH_VERSION-}" ] || \builtin shopt -u expand_aliases # for all that follows

ENVCFG_GPUS='8'        # on each node
ENVCFG_NODE_CORES='56' # of a node, for jobs
ENVCFG_IMAGE='/images/pytorch.sif'
ENVCFG_IMAGE_IS_FILE='yes'    # the job must be able to read it
ENVCFG_RUNTIMES='singularity' # the first that is on PATH enters the container
ENVCFG_RUNTIME_COMMAND='exec' # by this command of the runtime
# to load if no runtime is on PATH
ENVCFG_RUNTIME_MODULES='module use /appl/local/containers/ai-modules; module load singularity-AI-bindings'
ENVCFG_RANK_SHELL='/bin/sh' # starts the program in each rank
ENVCFG_CLUSTERS='lumi'      # where this job may run
# node-local, but in memory and part of the job's memory limit, so it must be cleaned
# [profiles/lumi-g.yaml:109]
ENVCFG_SCRATCH=/tmp # for node-local caches

# Not used by this job.
ENVCFG_ALLOWED='' ENVCFG_AS_SAID='' ENVCFG_COMPONENTS='' ENVCFG_CPU_LISTS='' ENVCFG_CPU_MASKS='' ENVCFG_CPU_MASKS_UNION='' ENVCFG_RANKS='' ENVCFG_SUFFIX='' ENVCFG_UNBOUND=''

# Modules for the step.
envcfg_modules() {
  # contains the bindings for images that use the host's libfabric [profiles/lumi-g.yaml:208]
  envcfg_module use /appl/local/containers/ai-modules
  envcfg_module load singularity-AI-bindings # binds the file systems, libcxi and the host's libfabric [profiles/lumi-g.yaml:214]
}

# Binds; envcfg_bind_if: only if the node has the path.
envcfg_mounts() {
  envcfg_bind_if /var/spool/slurmd      # PMI and Slurm clients in the container use this folder [profiles/lumi-g.yaml:146]
  envcfg_bind_if /opt/cray              # the host's libfabric for the plugin; the newer images bring their own [profiles/lumi-g.yaml:151]
  envcfg_bind_if /usr/lib64/libcxi.so.1 # the host's libfabric needs the host's libcxi [profiles/lumi-g.yaml:157]
  envcfg_bind_if /pfs                   # /scratch, /project and others are symbolic links to this file system [profiles/lumi-g.yaml:163]
  envcfg_bind_if /scratch               # the project's scratch [profiles/lumi-g.yaml:168]
  envcfg_bind_if /projappl              # the project's own software [profiles/lumi-g.yaml:173]
  envcfg_bind_if /project               # the project's persistent storage [profiles/lumi-g.yaml:178]
  envcfg_bind_if /flash                 # the project's flash storage [profiles/lumi-g.yaml:183]
  envcfg_bind_if /appl                  # the system's software and its container images [profiles/lumi-g.yaml:188]
}

# Variables; envcfg_set: unless the job exports its own.
envcfg_settings() {
  # bootstrap and socket traffic must use the four Slingshot interfaces; by default, the library
  # uses the management network [profiles/slingshot.yaml:87]
  envcfg_set NCCL_SOCKET_IFNAME hsn0,hsn1,hsn2,hsn3
  # gloo reads its own variable, not NCCL's, and needs exact names, not prefixes
  # [profiles/slingshot.yaml:94]
  envcfg_set GLOO_SOCKET_IFNAME hsn0
  # GPU RDMA if the GPU and the NIC are on the same NUMA node; it is said to be the default since
  # ROCm 6.2, but RCCL's source does not show this, so it is set explicitly
  # [profiles/lumi-g.yaml:311]
  envcfg_set NCCL_NET_GDR_LEVEL PHB
  # rocFFT keeps a SQLite cache in the home folder (by users: https://github.com/BLAST-WarpX/warpx,
  # 2026-07-01) [profiles/slingshot-rocm.yaml:65]
  envcfg_set ROCFFT_RTC_CACHE_PATH /dev/null
  # torchrun and accelerate set 1 if it is not set; each GCD has seven cores
  # [profiles/lumi-g.yaml:357]
  envcfg_set OMP_NUM_THREADS 7
  # models go to the project's scratch, as the home folder is too small [profiles/lumi-g.yaml:383]
  if [ -n "${SLURM_JOB_ACCOUNT-}" ]; then envcfg_set HF_HOME /scratch/"${SLURM_JOB_ACCOUNT}"/hf-cache; fi
  # models go to the project's scratch, as the home folder is too small [profiles/lumi-g.yaml:389]
  if [ -n "${SLURM_JOB_ACCOUNT-}" ] && [ -n "${USER-}" ]; then envcfg_set TORCH_HOME /scratch/"${SLURM_JOB_ACCOUNT}"/"${USER}"/torch_home; fi
  # vLLM's cache goes to the project's scratch; the guide has it for one node
  # [profiles/lumi-g.yaml:395]
  if [ "$ENVCFG_NODES" -eq 1 ]; then
    if [ -n "${SLURM_JOB_ACCOUNT-}" ]; then envcfg_set VLLM_CACHE_ROOT /scratch/"${SLURM_JOB_ACCOUNT}"/vllm-cache; fi
  fi
  # A value that the job exports itself wins over the profile's.
  envcfg_keep_exported 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR MIOPEN_USER_DB_PATH MIOPEN_CUSTOM_CACHE_DIR AITER_JIT_DIR
  # Also keep the job's own node and port where ranks meet.
  envcfg_keep_exported "default: the step's first node" MASTER_ADDR
  envcfg_keep_exported quietly MASTER_PORT
  envcfg_own_masks HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
}

# Variables of each task, in the container.
envcfg_task_settings() {
  envcfg_has_mode=
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
  # MIOpen uses SQLite databases, and their locks fail on Lustre if many ranks use them
  # [profiles/slingshot-rocm.yaml:51]
  envcfg_set MIOPEN_USER_DB_PATH "${ENVCFG_CACHE}"/miopen
  # the cache of compiled kernels; on a network file system MIOpen moves it to the shared /tmp,
  # where users conflict [profiles/slingshot-rocm.yaml:57]
  envcfg_set MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_USER_DB_PATH}"
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}" \
    MIOPEN_USER_DB_PATH "${MIOPEN_USER_DB_PATH-}" \
    MIOPEN_CUSTOM_CACHE_DIR "${MIOPEN_CUSTOM_CACHE_DIR-}"
  # One layer of GPU masking: ROCR_VISIBLE_DEVICES.
  envcfg_number_gpus ROCR_VISIBLE_DEVICES "${ROCR_VISIBLE_DEVICES--}" \
    HIP_VISIBLE_DEVICES "${HIP_VISIBLE_DEVICES-}" \
    CUDA_VISIBLE_DEVICES "${CUDA_VISIBLE_DEVICES-}" \
    GPU_DEVICE_ORDINAL "${GPU_DEVICE_ORDINAL-}"
}

ENVCFG_AGENT_OPTIONS=''

# Variables of each rank that the agent starts.
envcfg_rank_settings() {
  # AITER compiles kernels under a lock, which is unreliable on Lustre; it needs a folder for each
  # rank, with build in it [profiles/lumi-g.yaml:363]
  envcfg_set AITER_JIT_DIR "${ENVCFG_CACHE}"/aiter/"${LOCAL_RANK}"
  envcfg_folders AITER_JIT_DIR "${AITER_JIT_DIR:+$AITER_JIT_DIR/build}"
}

# modules: guard, begin, core, gpu_numbers, signals, where, secrets, inherited, arguments, srun, modules, folders, caches, cpu_lists, srun/cores, container, srun/task, runtimes/apptainer, srun/alone, srun/agent, launchers/torchrun, worker, worker_cores, end

envcfg_run python3 dump.py out 'a b'
