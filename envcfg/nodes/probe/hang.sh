# shellcheck shell=bash
# shellcheck disable=SC2154 # gpus.sh and processes.sh stand above it
# The probe of envcfg hang: one runs on each node of the job, and ends by itself. It reads
# /proc, asks NCCL's RAS, lets PyTorch write Flight Recorder's dumps, and changes nothing.
#
#   envcfg_probe JOB [--spy=BYTES] [HOST...]
#                                   the hosts are those that ask RAS; py-spy comes on stdin
#   envcfg_probe JOB --abort=TIME   ranks of Python end with their stacks in the job's output
#
# A line is "envcfg-node HOST KIND TEXT"; of a long text "+KIND" brings what stands before.
declare -A envcfg_ticks=() envcfg_turn=() envcfg_dumped=() envcfg_is_asked=() envcfg_below=()
envcfg_wait=20 # seconds for stacks, and for RAS

envcfg_tell() { # KIND TEXT: in parts, as srun tears lines of 1000 bytes
  local envcfg_text=${2//[$'\n\r']/ }
  while ((${#envcfg_text} > 700)); do
    printf 'envcfg-node %s +%s %s\n' "$envcfg_host" "$1" "${envcfg_text:0:700}"
    envcfg_text=${envcfg_text:700}
  done
  printf 'envcfg-node %s %s %s\n' "$envcfg_host" "$1" "$envcfg_text"
}

# What a rank and all that it has started have used of processors, in ticks: of a rank that
# stands still none of them works.
envcfg_add_up() {
  local envcfg_pid envcfg_at envcfg_depth
  for envcfg_pid in "${envcfg_mains[@]}"; do envcfg_below[$envcfg_pid]=0; done
  for envcfg_pid in "${envcfg_ours[@]}"; do
    envcfg_at=$envcfg_pid envcfg_depth=0
    while [[ -z ${envcfg_below[$envcfg_at]-} ]] && ((envcfg_at > 1 && envcfg_depth++ < 64)); do
      envcfg_at=${envcfg_parent[$envcfg_at]-0}
    done
    [[ -n ${envcfg_below[$envcfg_at]-} ]] || continue
    envcfg_stat "$envcfg_pid" || continue
    ((envcfg_below[$envcfg_at] += envcfg_fields[11] + envcfg_fields[12] + envcfg_fields[13] + envcfg_fields[14])) || :
  done
}

envcfg_now() { # hundredths of a second since the node came up
  local envcfg_up
  read -r envcfg_up _ </proc/uptime
  envcfg_hundredths=$((10#${envcfg_up/./}))
}

envcfg_take_turn() { # PID, after envcfg_stat: its state, and how often its first thread has run
  envcfg_turns=
  read -r _ _ envcfg_turns <"/proc/$1/schedstat"
  envcfg_turns="${envcfg_fields[0]} $envcfg_turns"
} 2>/dev/null

envcfg_begin_times() {
  local envcfg_pid
  envcfg_now
  envcfg_began=$envcfg_hundredths
  for envcfg_pid in "${envcfg_mains[@]}"; do
    envcfg_stat "$envcfg_pid" || continue
    envcfg_ticks[$envcfg_pid]=$((envcfg_fields[11] + envcfg_fields[12]))
    envcfg_take_turn "$envcfg_pid"
    envcfg_turn[$envcfg_pid]=$envcfg_turns
  done
}

envcfg_say_ranks() {
  local envcfg_pid envcfg_hertz envcfg_call envcfg_channel envcfg_name envcfg_spent envcfg_step
  envcfg_hertz=$(getconf CLK_TCK 2>/dev/null) || envcfg_hertz=100
  for envcfg_pid in "${envcfg_mains[@]}"; do
    envcfg_stat "$envcfg_pid" || continue
    envcfg_now
    envcfg_spent=$((envcfg_fields[11] + envcfg_fields[12] - ${envcfg_ticks[$envcfg_pid]:-0}))
    # Who reads a file is in state D again and again; stuck is who was there all the time.
    envcfg_take_turn "$envcfg_pid"
    [[ ${envcfg_fields[0]} != D || $envcfg_turns == "${envcfg_turn[$envcfg_pid]-}" ]] || envcfg_fields[0]=S
    envcfg_call=- envcfg_channel=- envcfg_name=-
    read -r envcfg_call _ <"/proc/$envcfg_pid/syscall"
    read -r envcfg_channel <"/proc/$envcfg_pid/wchan" # without a newline
    IFS= read -r envcfg_name <"/proc/$envcfg_pid/comm"
    envcfg_inherit "$envcfg_pid" SLURM_STEP_ID || envcfg_value=-
    [[ $envcfg_value =~ ^[0-9]+$ ]] || envcfg_value=-
    envcfg_step=$envcfg_value:${envcfg_of[${envcfg_pid}_MASTER_PORT]:--}
    [[ $envcfg_step =~ :[0-9]+$ ]] || envcfg_step=${envcfg_step%%:*}:-
    envcfg_inherit "$envcfg_pid" SLURM_LOCALID || envcfg_value=-
    envcfg_tell rank "$envcfg_pid ${envcfg_rank[$envcfg_pid]} \
${envcfg_of[${envcfg_pid}_LOCAL_RANK]:-$envcfg_value} ${envcfg_of[${envcfg_pid}_WORLD_SIZE]:--} \
${envcfg_fields[0]} $((envcfg_spent * 100 / envcfg_hertz)) \
$((envcfg_hundredths - envcfg_began)) \
$((envcfg_hundredths / 100 - envcfg_fields[19] / envcfg_hertz)) ${envcfg_fields[17]} \
${envcfg_call:--} ${envcfg_channel:--} $envcfg_step ${envcfg_turns##* } \
$((envcfg_below[$envcfg_pid] * 100 / envcfg_hertz)) $envcfg_hundredths ${envcfg_name:--}"
  done
} 2>/dev/null

# py-spy of who asks, packed. Its file is open when its folder goes, so that nothing is left
# however this ends. Where programs may not run in a folder, another is tried.
envcfg_take_spy() { # BYTES
  local envcfg_folder envcfg_file
  for envcfg_folder in "${TMPDIR:-/tmp}" /tmp /dev/shm; do
    envcfg_folder=$(mktemp -d "$envcfg_folder/envcfg-hang.XXXXXX") || continue # mode 700
    cp /bin/true "$envcfg_folder/py-spy"
    if ! "$envcfg_folder/py-spy"; then
      rm -rf "$envcfg_folder"
      continue
    fi
    timeout 10 head -c "$1" | gzip -dc >"$envcfg_folder/new"
    chmod 700 "$envcfg_folder/new"
    exec {envcfg_file}<"$envcfg_folder/new"
    rm -rf "$envcfg_folder"
    envcfg_sent=/proc/$BASHPID/fd/$envcfg_file
    "$envcfg_sent" --version >/dev/null || envcfg_sent='' # it came in part, or is for other processors
    return
  done
} 2>/dev/null

# py-spy of this host, else the one that was sent, else of the image that the process is in: its
# files are reached by /proc, and it is a separate program, which needs none of its libraries.
envcfg_find_spy() { # PID
  local envcfg_folder
  local -a envcfg_folders=()
  envcfg_spy=$(type -P py-spy) && return 0
  envcfg_spy=$envcfg_sent
  [[ -z $envcfg_sent ]] || return 0
  IFS=: read -ra envcfg_folders <<<"${envcfg_of[${1}_PATH]-}"
  for envcfg_folder in "${envcfg_folders[@]}"; do
    envcfg_spy=/proc/$1/root$envcfg_folder/py-spy
    [[ $envcfg_folder != /* || ! -x $envcfg_spy ]] || return 0
  done
  return 1
}

envcfg_say_stacks() {
  local envcfg_pid envcfg_line envcfg_count envcfg_scope=0 envcfg_is_head
  read -r envcfg_scope </proc/sys/kernel/yama/ptrace_scope
  for envcfg_pid in "${envcfg_mains[@]}"; do
    envcfg_count=0
    while IFS= read -r envcfg_line && ((envcfg_count++ < 6)); do
      envcfg_tell trace "$envcfg_pid ${envcfg_line#'[<0>] '}"
    done <"/proc/$envcfg_pid/stack"
    ((SECONDS < envcfg_wait)) || continue
    if ((envcfg_scope > 0 && EUID != 0)); then
      envcfg_tell stack "$envcfg_pid ptrace is not allowed here (kernel.yama.ptrace_scope is $envcfg_scope)"
      continue
    fi
    envcfg_find_spy "$envcfg_pid" || continue
    envcfg_count=0 envcfg_is_head=
    while IFS= read -r envcfg_line && ((envcfg_count < 200)); do
      case $envcfg_line in # it begins with the command, which may be a whole program
        'Process '*) envcfg_is_head=yes ;;
        'Thread '*) envcfg_is_head= ;;
      esac
      [[ -z $envcfg_is_head ]] || continue
      ((++envcfg_count))
      envcfg_tell stack "$envcfg_pid $envcfg_line"
    done < <(timeout -s KILL 8 "$envcfg_spy" dump --pid "$envcfg_pid" --nonblocking 2>&1 </dev/null)
  done
} 2>/dev/null

envcfg_dump_name() { # PID: where its dump goes, as it says itself
  envcfg_dump=${envcfg_of[${1}_TORCH_FR_DUMP_TEMP_FILE]-${envcfg_of[${1}_TORCH_NCCL_DEBUG_INFO_TEMP_FILE]-}}
  [[ $envcfg_dump == /* ]] || return 1
  envcfg_dump=$envcfg_dump${envcfg_rank[$1]}
}

# PyTorch looks at its pipe each second. Opened for both, a pipe that nobody reads holds up
# nothing.
envcfg_ask_dumps() {
  local envcfg_pid envcfg_pipe
  for envcfg_pid in "${envcfg_mains[@]}"; do
    envcfg_dump_name "$envcfg_pid" || continue
    envcfg_dumped[$envcfg_pid]=$(stat -c '%y %s' "/proc/$envcfg_pid/root$envcfg_dump" 2>/dev/null)
    envcfg_pipe=${envcfg_of[${envcfg_pid}_TORCH_NCCL_DEBUG_INFO_PIPE_FILE]-}
    envcfg_pipe=/proc/$envcfg_pid/root$envcfg_pipe${envcfg_rank[$envcfg_pid]}.pipe
    if [[ -p $envcfg_pipe && -O $envcfg_pipe ]]; then
      { printf '1\n' 1<>"$envcfg_pipe"; } 2>/dev/null && envcfg_is_asked[$envcfg_pid]=yes
    fi
  done
}

envcfg_say_dumps() {
  local envcfg_pid envcfg_seen envcfg_before envcfg_until=$((SECONDS + 15)) envcfg_state
  for envcfg_pid in "${envcfg_mains[@]}"; do
    envcfg_dump_name "$envcfg_pid" || continue
    envcfg_before=
    while :; do # new, and not growing any more
      envcfg_seen=$(stat -c '%y %s' "/proc/$envcfg_pid/root$envcfg_dump" 2>/dev/null)
      [[ -z $envcfg_seen || $envcfg_seen == "${envcfg_dumped[$envcfg_pid]-}" ||
        $envcfg_seen != "$envcfg_before" || $envcfg_seen == *' 0' ]] || break
      if [[ -z ${envcfg_is_asked[$envcfg_pid]-} ]] || ((SECONDS >= envcfg_until)); then break; fi
      ! envcfg_stat "$envcfg_pid" || [[ ${envcfg_fields[0]} != [TtZX] ]] || break # it cannot
      envcfg_before=$envcfg_seen
      sleep 0.3
    done
    envcfg_state=none
    if [[ -n $envcfg_seen && $envcfg_seen != *' 0' ]]; then
      envcfg_state=old
      [[ $envcfg_seen == "${envcfg_dumped[$envcfg_pid]-}" ]] || envcfg_state=new
    fi
    [[ $envcfg_seen == *' '* ]] || envcfg_seen=' -'
    envcfg_tell dump "$envcfg_pid $envcfg_state ${envcfg_seen##* } $envcfg_dump"
  done
}

envcfg_ras_ports() { # where NCCL of these processes listens, each address once
  local envcfg_pid envcfg_address
  local -A envcfg_known=()
  for envcfg_pid in "${envcfg_mains[@]}"; do
    [[ ${envcfg_of[${envcfg_pid}_NCCL_RAS_ENABLE]-1} != 0 ]] || continue
    envcfg_address=${envcfg_of[${envcfg_pid}_NCCL_RAS_ADDR]:-localhost:28028}
    [[ -z ${envcfg_known[$envcfg_address]-} ]] || continue
    envcfg_known[$envcfg_address]=yes
    printf '%s\n' "$envcfg_address"
  done
}

envcfg_is_large() { # JSON would tell of each rank in each communicator: text names those apart
  local envcfg_pid
  for envcfg_pid in "${envcfg_mains[@]}"; do
    [[ ! ${envcfg_of[${envcfg_pid}_WORLD_SIZE]-} =~ ^[0-9]{3,7}$ ]] || return 0
  done
  return 1
}

envcfg_ask_ras() { # HOST:PORT: as NCCL's own client asks
  local envcfg_line envcfg_count=0 envcfg_bytes=0
  local envcfg_port=${1##*:} envcfg_to=${1%:*}
  envcfg_end='cut'
  envcfg_to=${envcfg_to#[}
  envcfg_to=${envcfg_to%]}
  if ! [[ $envcfg_port =~ ^[0-9]+$ ]] || ! { exec {envcfg_ras}<>"/dev/tcp/$envcfg_to/$envcfg_port"; } 2>/dev/null; then
    envcfg_end=refused
    envcfg_tell ras-end "$envcfg_port refused"
    return
  fi
  printf 'CLIENT PROTOCOL 2\nTIMEOUT 5\n' >&"$envcfg_ras" || :
  envcfg_line=
  read -r -t 3 -u "$envcfg_ras" envcfg_line
  case $envcfg_line in
    'SERVER PROTOCOL '*) ;;
    '') # it listens, and says nothing: the process may be stopped
      exec {envcfg_ras}>&-
      envcfg_end=silent
      return
      ;;
    *)
      exec {envcfg_ras}>&-
      envcfg_end=stranger
      envcfg_tell ras-end "$envcfg_port stranger"
      return
      ;;
  esac
  read -r -t 5 -u "$envcfg_ras" envcfg_line # of the time limit
  if ! envcfg_is_large; then
    printf 'SET FORMAT json\n' >&"$envcfg_ras" || :
    read -r -t 5 -u "$envcfg_ras" envcfg_line # before 2.28.7 an error: then it is text
  fi
  printf 'VERBOSE STATUS\n' >&"$envcfg_ras" || :
  while ((SECONDS < envcfg_until && envcfg_count++ < 20000 && envcfg_bytes < 4000000)); do
    if ! IFS= read -r -n 65536 -t "$((envcfg_until - SECONDS))" -u "$envcfg_ras" envcfg_line; then
      ((SECONDS >= envcfg_until || envcfg_bytes + ${#envcfg_line} == 0)) || envcfg_end=complete
      [[ -z $envcfg_line ]] || envcfg_tell ras "$envcfg_port $envcfg_line"
      break
    fi
    envcfg_tell ras "$envcfg_port $envcfg_line"
    ((envcfg_bytes += ${#envcfg_line}))
  done
  exec {envcfg_ras}>&-
  envcfg_tell ras-end "$envcfg_port $envcfg_end"
} 2>/dev/null # who hangs up in between is no news

# All processes of a node share the port (SO_REUSEPORT), and the kernel gives each question to
# any of them: where one does not answer, as it is stopped, another may.
envcfg_ask_again() { # HOST:PORT
  for _ in 1 2 3; do
    envcfg_ask_ras "$1"
    [[ $envcfg_end == silent ]] || return 0
  done
  envcfg_tell ras-end "${1##*:} silent"
}

# Twice, as ranks that run may be apart for a moment (envcfg/nodes/hang/ras_answers.py knows the time
# between); the second time only those that have answered.
envcfg_all_ras() {
  local envcfg_address envcfg_until=$((SECONDS + envcfg_wait - 2))
  local -a envcfg_told=()
  trap '' PIPE # who hangs up must not end what asks the others
  while IFS= read -r envcfg_address; do
    envcfg_ask_again "$envcfg_address"
    [[ $envcfg_end != complete ]] || envcfg_told+=("$envcfg_address")
  done < <(envcfg_ras_ports)
  ((${#envcfg_told[@]} && SECONDS + 8 < envcfg_until)) || return 0
  sleep 3
  for envcfg_address in "${envcfg_told[@]}"; do
    envcfg_ask_again "$envcfg_address"
  done
}

# Python writes its stacks on SIGABRT, and ends. All nodes begin at one moment, as srun ends the
# other tasks once one has ended; on a node one rank comes after the other, so that their lines do
# not mix. A rank that a signal has stopped goes on for it, and none leaves a core of its memory.
envcfg_abort() { # SECONDS since 1970
  local envcfg_pid envcfg_count
  local -a envcfg_told=()
  for envcfg_pid in "${envcfg_mains[@]}"; do
    [[ -n ${envcfg_of[${envcfg_pid}_PYTHONFAULTHANDLER]-} ]] || continue
    prlimit --core=0 --pid "$envcfg_pid"
    envcfg_told+=("$envcfg_pid")
  done
  while printf -v envcfg_time '%(%s)T' -1 && ((envcfg_time < $1)); do sleep 0.02; done
  for envcfg_pid in "${envcfg_told[@]}"; do
    kill -s ABRT "$envcfg_pid"
    kill -s CONT "$envcfg_pid"
    envcfg_count=0
    while ((envcfg_count++ < 50)) && envcfg_stat "$envcfg_pid" && [[ ${envcfg_fields[0]} != Z ]]; do :; done
  done
} 2>/dev/null

# shellcheck disable=SC2317 # envcfg_links calls it
envcfg_link() { # NAME STATE
  envcfg_tell link "$1 $2"
}

envcfg_leave() { # PID SECONDS: wait so long for what runs meanwhile, then end it
  local envcfg_until=$((SECONDS + $2))
  while kill -0 "$1" 2>/dev/null && ((SECONDS < envcfg_until)); do sleep 0.1; done
  kill "$1" 2>/dev/null
}

envcfg_probe() { # JOB [HOST...]
  local envcfg_asks=' ' envcfg_gpu_reader envcfg_ras_reader='' envcfg_sent='' envcfg_bytes=''
  envcfg_job=$1
  shift
  if [[ ${1-} == --spy=* ]]; then
    envcfg_bytes=${1#*=}
    shift
  fi
  envcfg_asks=" $* "
  printf -v envcfg_time '%(%s)T' -1
  envcfg_tell begin "$envcfg_time"
  envcfg_find
  envcfg_tell processes "${#envcfg_ours[@]}"
  [[ -z $envcfg_ray ]] || envcfg_tell ray "$envcfg_ray"
  envcfg_links envcfg_link
  if [[ ${1-} == --abort=* ]]; then
    envcfg_abort "${1#*=}"
    return
  fi
  envcfg_ask_dumps
  envcfg_kind=gpus envcfg_count=0 envcfg_tick=1
  envcfg_gpus &
  envcfg_gpu_reader=$!
  if [[ $envcfg_asks == *" $envcfg_host "* ]]; then
    envcfg_all_ras &
    envcfg_ras_reader=$!
  fi
  envcfg_begin_times
  [[ -z $envcfg_bytes ]] || envcfg_take_spy "$envcfg_bytes"
  sleep 1
  envcfg_add_up
  envcfg_say_ranks
  envcfg_say_stacks
  envcfg_say_dumps
  [[ -z $envcfg_ras_reader ]] || envcfg_leave "$envcfg_ras_reader" "$envcfg_wait"
  envcfg_leave "$envcfg_gpu_reader" 5
  envcfg_tell end ''
}

envcfg_probe "$@"
