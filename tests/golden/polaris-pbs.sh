# envcfg 0.1.0, profile polaris (sha256 e0c7f929388c7068)
# made by: envcfg wrap --print job --profile polaris --container /images/pytorch.sif --runtime-arg=--cleanenv -- python3 dump.py out 'a b'
# Source it in a batch script, evaluate it, run it, submit it: all the same.
# Compute nodes need bash 4.4, and neither envcfg nor Python.
# It starts the ranks by:
#   mpiexec "${ENVCFG_SIZED[@]}" --cpu-bind \
#     list:24-31,56-63:16-23,48-55:8-15,40-47:0-7,32-39 "${ENVCFG_MPIEXEC[@]}" \
#     apptainer exec --nv --fakeroot --cleanenv --bind /local/scratch \
#     /images/pytorch.sif /bin/sh -c "$ENVCFG_RANK" envcfg-rank "${ENVCFG_ARGS[@]}" -- \
#     python3 dump.py out 'a b'

# --- What this job needs ------------------------------------------------------------

ENVCFG_GPUS='4'
ENVCFG_IMAGE='/images/pytorch.sif'
ENVCFG_KNOWN='module use /soft/modulefiles; module load spack-pe-base; module load apptainer'
ENVCFG_VERB='exec'
ENVCFG_SHELL='/bin/sh'
ENVCFG_IS_FILE='yes'
# GPUs are numbered against the order of the cores that they hang on
# [profiles/polaris.yaml:45]
ENVCFG_MASKS=0xff000000ff000000,0x00ff000000ff0000,0x0000ff000000ff00,0x000000ff000000ff
ENVCFG_MASKS_UNION=ffffffff,ffffffff
ENVCFG_CPUS=24-31,56-63:16-23,48-55:8-15,40-47:0-7,32-39
ENVCFG_RUNTIMES=(apptainer) # the first that is on PATH
# two SSDs of the node, where ALCF puts the caches of Apptainer, too; nobody has to ask for
# them [profiles/polaris.yaml:60]
ENVCFG_SCRATCH=/tmp # for node-local caches
if [[ -d /local/scratch && -w /local/scratch ]]; then ENVCFG_SCRATCH=/local/scratch; fi

IFS= builtin read -r -d '' ENVCFG_INSIDE <<'ENVCFG_TEXT' || builtin : # until the text ends
envcfg_inside() { # what is set in each task, in the container
  # the default is in the home folder; on a shared file system many ranks corrupt it
  # [profiles/slingshot.yaml:136]
  envcfg_in_set TRITON_CACHE_DIR "${ENVCFG_CACHE}"/triton
  # compiled extensions default to the home folder, where ranks race for a lock
  # [profiles/slingshot.yaml:142]
  envcfg_in_set TORCH_EXTENSIONS_DIR "${ENVCFG_CACHE}"/torch_extensions
  # the default is in /tmp by user name, so jobs that share a node share it
  # [profiles/slingshot.yaml:148]
  envcfg_in_set TORCHINDUCTOR_CACHE_DIR "${ENVCFG_CACHE}"/inductor
  envcfg_folders TRITON_CACHE_DIR "${TRITON_CACHE_DIR-}" \
    TORCH_EXTENSIONS_DIR "${TORCH_EXTENSIONS_DIR-}" \
    TORCHINDUCTOR_CACHE_DIR "${TORCHINDUCTOR_CACHE_DIR-}"
}
ENVCFG_TEXT

envcfg_modules() {
  # where ALCF keeps its own modules [profiles/polaris.yaml:85]
  envcfg_module use /soft/modulefiles
  # the modules of Apptainer come with it [profiles/polaris.yaml:90]
  envcfg_module load spack-pe-base
  # brings Apptainer, which is on compute nodes only [profiles/polaris.yaml:95]
  envcfg_module load apptainer
  envcfg_unloaded
}

envcfg_mounts() {
  # the driver's libraries come from the host and must fit its kernel module, so the runtime
  # has to put them into the container [profiles/slingshot-cuda.yaml:37]
  envcfg_argument --nv /dev/nvidiactl
  # without it Apptainer fails on the compute nodes ("starter-suid"). With it the home
  # folder is /root inside: what is called by its path there needs a --bind
  # [profiles/polaris.yaml:77]
  envcfg_argument --fakeroot
  envcfg_argument --cleanenv
  # the SSDs; Apptainer shows the container no such folder by itself
  # [profiles/polaris.yaml:71]
  envcfg_bind_if /local/scratch /local/scratch
}

envcfg_settings() {
  # the plugin brings two to three times the bandwidth of sockets; where it does not load,
  # the job ends. Megatron-DeepSpeed may hang with it: --unset NCCL_NET
  # [profiles/polaris.yaml:182]
  if [ "$ENVCFG_NODES" -gt 1 ]; then
    envcfg_set NCCL_NET 'AWS Libfabric'
  fi
  # the two Slingshot interfaces of a node, where the family names four
  # [profiles/polaris.yaml:190]
  envcfg_set NCCL_SOCKET_IFNAME hsn0,hsn1
  # gloo reads its own variable, not that of NCCL, and takes exact names, no prefixes
  # [profiles/slingshot.yaml:93]
  envcfg_set GLOO_SOCKET_IFNAME hsn0
  # GPU RDMA wherever GPU and NIC hang on the same NUMA node [profiles/slingshot.yaml:98]
  envcfg_set NCCL_NET_GDR_LEVEL PHB
  # Slingshot is not a rail network; rings may leave and enter by different NICs
  # [profiles/slingshot.yaml:103]
  envcfg_set NCCL_CROSS_NIC 1
  # memhooks intercepts malloc and can deadlock with RCCL and NCCL; kdreg2 serves as well,
  # but needs a kernel module [profiles/slingshot.yaml:108]
  envcfg_set FI_MR_CACHE_MONITOR userfaultfd
  # keeps the provider from GPU calls that can deadlock [profiles/slingshot.yaml:115]
  envcfg_set FI_CXI_DISABLE_HOST_REGISTER 1
  # large jobs overrun the default completion queue [profiles/slingshot.yaml:120]
  envcfg_set FI_CXI_DEFAULT_CQ_SIZE 131072
  # part of the settings that ALCF measured as best [profiles/polaris.yaml:195]
  envcfg_set NCCL_COLLNET_ENABLE 1
  envcfg_preset 'profile: set in each task' TRITON_CACHE_DIR TORCH_EXTENSIONS_DIR TORCHINDUCTOR_CACHE_DIR
  envcfg_preset "default: the step's first node" MASTER_ADDR
  envcfg_preset '' MASTER_PORT
  ENVCFG_ARGS+=("ENVCFG_CACHE_BASE=$ENVCFG_CACHE_BASE")
  ENVCFG_ARGS+=("ENVCFG_NODES=$ENVCFG_NODES")
}

# modules: guard, begin, core, per_node, signals, where, inherited, arguments, pbs, modules, folders, caches, masks, pbs/masks, container, given, pbs/task, runtimes/apptainer, pbs/ranks, end

envcfg_run python3 dump.py out 'a b'
