"""Scripts as people write them: what stands before, the launch line, what stands behind."""

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n"
STEP = "srun singularity exec x.sif python train.py"

# By name: the whole script behind its head. {step} is the launch line.
FAULTS = {
    "tab": "{step} --sep $'a\\tb'",
    "tab in a variable": "SEP=$'\\t'\n{step} \"$SEP\"",
    "newline exported": "export FOO=$'a\\nb'\n{step}",
    "newlines": "STOP=$'\\n\\n'\n{step} \"$STOP\"",
    "counter": "i=0; while ((i<2)); do {step} $i; ((i++)); done",
    "arithmetic sets": "((i=5))\n{step} $i; ((i+=5)); {step} $i",
    "let": "let i=5\n{step} $i",
    "increment in a word": "i=1\n{step} $((i++)) $i\n{step} $i",
    "declare -i": "declare -i A=3; A+=2\n{step} $A",
    "empty array": 'ARGS=()\n{step} "${ARGS[@]}" x',
    "array in a text": "ARGS=(a 'b c')\nCMD=\"${ARGS[@]} --last\"\n{step} $CMD",
    "default assigned": "A=; : ${A:=x}\n{step} $A",
    "glob in a variable": "touch val.txt; F=*.txt\n{step} $F",
    "glob": "touch a.txt b.txt\n{step} *.txt",
    "IFS": "IFS=,; A=a,b\n{step} $A",
    "local": "A=old; f(){ local A=new; }; f\n{step} $A",
    "export of two": "unset FOO; export FOO2=1 BAR=$FOO\n{step}",
    "export -n": "export FOO=1; export -n FOO\n{step}",
    "process substitution": "{step} <(echo hi)",
    "last status": "false\n{step} $?",
    "path of the user": "export O=/data/$USER/x\n{step}",
    "bash -c": 'args="a b"\nsrun singularity exec x.sif bash -c "python train.py ${args}"',
    "name that goes on": "DEPTH=5; DEPTH_depth=\n{step} --log=${DEPTH}_depth",
    "sourced afterwards": "DATA=/d\necho 'export FROM=$DATA' >env.sh\nsource ./env.sh\n{step}",
    "if": "if [[ -e nothing ]]; then A=--resume; else A=--new; fi\n{step} $A",
    "case": "case $USER in me) A=1 ;; *) A=2 ;; esac\n{step} $A",
    "and": "[[ -n $USER ]] && A=yes\n{step} $A",
    "getopts": "while getopts a:b: o; do :; done\n{step} $OPTIND",
    "inner variables": "export SINGULARITYENV_FOO=1 SINGULARITYENV_BAR='a b'\n{step}",
    "background": "{step} &\nwait",
    "background and trap": "trap 'echo ended' EXIT\n{step} &\nwait $!",
    "ranks of its own": "export WORLD_SIZE=77 RANK=5 LOCAL_RANK=3 NODE_RANK=9\n{step}",
    "rendezvous of its own": "export MASTER_ADDR=foo MASTER_PORT=6000 LOCAL_WORLD_SIZE=3\n{step}",
    "ranks for the step": "WORLD_SIZE=9 {step}\n{step}",
    "exec with what is not set": "set -u\ntrap 'echo end' EXIT\nexec {step} $NOT_SET",
    "exec with the last status": "false\nexec {step} $? $BASH_SUBSHELL",
    "trap that starts a step": "export NOTE_CODE=3\nf() { {step} || echo lost $?; }\ntrap f EXIT",
    "trap behind a failure": "f() { {step}; echo kept $?; }\ntrap f EXIT\nexit 3",
    "wait, then more": "{step} & wait; echo finished",
    "--env with a list": "srun singularity exec --env CUDA_VISIBLE_DEVICES=0 x.sif python t.py",
    "login shell": "{step} $0",
    "empty bind": "B=\nsrun singularity exec ${B:+-B $B} x.sif python t.py",
    "once in the batch shell": "singularity exec x.sif python t.py",
}

# The same for other starters, runtimes and ways to come to a launch line; {x} is the program.
MPICH = "export NOTE_MPIEXEC='HYDRA build details'; "
OPEN_MPI = "export NOTE_MPIEXEC='mpirun (Open MPI) 4.1.4'; "
OTHERS = {
    "flux": "flux run -N2 -n4 -g1 -c 8 -o mpibind=off --exclusive {x}",
    "flux, container": "flux run -N 2 --tasks-per-node=2 -l singularity exec --rocm -B /usr x.sif {x}",
    "flux, clean": "flux run -n 4 apptainer exec --cleanenv x.sif {x}",
    "flux, templates": "flux run -n 2 --output=out.{{{{id}}}} {x} --id {{{{id}}}}",
    "flux, loop": "for i in 1 2; do flux run -n 2 {x} $i; done",
    "PALS": "NR=2; mpiexec -n $((NR * 2)) --ppn $NR --depth=8 --cpu-bind depth {x}",
    "PALS, container": "mpiexec -n 4 -ppn 2 --no-vni apptainer exec --nv x.sif {x}",
    "PALS, environment": "mpiexec --np 4 --ppn 2 --genvall --env A=1 --env B=x=y {x}",
    "Hydra": f"{MPICH}mpirun -np 4 -ppn 2 -hostfile $PBS_NODEFILE {{x}}",
    "Hydra, clean": f"{MPICH}mpiexec -n 4 singularity exec --cleanenv x.sif {{x}}",
    "Open MPI": f"{OPEN_MPI}mpirun -np 4 --map-by ppr:2:node --bind-to none -x FOO -x A=1 {{x}}",
    "Open MPI, container": f"{OPEN_MPI}mpiexec -n 2 singularity exec x.sif {{x}}",
    "Slurm, old spelling": "srun -n 2 --cpu_bind=cores {x}",
    "CE": "srun --environment=pytorch {x}",
    "CE, file": 'srun -ul --environment="$PWD/env.toml" {x}',
    "shifter": "srun shifter --image=me/x:1 --volume=/usr:/b {x}",
    "shifter, folder": "srun -n 2 shifter --image=docker:me/x:1 -w /tmp -e A=1 {x}",
    "shifter, directive": "#SBATCH --image=docker:me/x:1\nsrun -n 2 shifter {x}",
    "shifter, variables": "#SBATCH --image=docker:me/x:1\nE='-e A=1'; srun -n $((1+1)) shifter $E {x}",
    "podman": "srun podman run --rm -v /usr:/b:ro --network=host me/x:1 {x}",
    "podman, folder": 'srun podman run --rm -v "$PWD:/w" -w "$PWD" --ipc host me/x:1 {x}',
    "podman-hpc": "srun podman-hpc run --rm --gpu --nccl -e A=1 -e USER me/x:1 {x}",
    "docker": "docker run --rm --gpus all -e A='b c' me/x:1 {x}",
    "docker, input": "echo hi | docker run -i --rm me/x:1 {x}",
    "ch-run": "srun ch-run ./img -- {x}",
    "ch-run, options": "srun ch-run -w -b /usr:/b --set-env=A=1 --cd /tmp ./img -- {x}",
    "ch-run, file": "ch-run img.sqfs -- {x}",
    "export": "srun --export=ALL,A=1,B=x=y,USER singularity exec x.sif {x}",
    "export, clean": "srun --export=ALL,A=1 singularity exec --cleanenv x.sif {x}",
    "kill": "srun --kill-on-bad-exit=0 {x}",
    "timeout": "timeout -k 5 30 srun singularity exec x.sif {x}",
    "timeout, code": "export NOTE_CODE=3; timeout 30 srun singularity exec x.sif {x}; echo $?",
    "nice": "time nice -n 5 stdbuf -oL srun singularity exec x.sif {x} '$HOME' \"a b\"",
    "nohup": "nohup srun singularity exec x.sif {x}",
    "env": "env A=1 B='c d' srun singularity exec x.sif {x}",
    "launcher in a variable": "L='srun -n 2'; $L singularity exec x.sif {x}",
    "launcher in an array": 'L=(srun -n 2 --cpu-bind=none); "${{L[@]}}" singularity exec x.sif {x}',
    "line in a variable": "C='srun singularity exec x.sif python t.py --a *'; for i in 1 2; do $C; C=; done",
    "output taken": 'O=$(srun singularity exec x.sif {x} "$(echo a b)"); echo "$O"',
    "eval": "C='{x} --lr 1'; eval \"srun -n 2 singularity exec x.sif $C '\\$USER'\"",
    "agent alone": "torchrun --nproc-per-node 4 train.py a 'b c'",
    "agent behind a condition": "if true; then A=1 torchrun --standalone train.py; fi",
}
OTHER_HEADS = {
    "#PBS": ("PALS", "Hydra", "Open MPI"),
    "#flux:": ("flux",),
}

PIECES_BEFORE = {
    "nothing": "",
    "set -e": "set -e",
    "set -u": "set -u",
    "pipefail": "set -euo pipefail",
    "array": "A=(a 'b c' '*' '')",
    "function": "f() { echo f; }; f",
    "trap": "trap 'echo bye' EXIT",
    "cd": "mkdir -p sub; cd sub; cp -r ../x.sif ../x.sqsh ../env.toml ../img .",
    "export": "export FOO='a b' BAR=\"$USER\"",
    "module": "module() { :; }; module load x",
    "unset": "unset SLURM_CPUS_PER_TASK",
    "shopt": "shopt -s nullglob extglob",
    "noglob": "set -f",
    "heredoc": "cat <<EOF\nsrun is not here\nEOF",
    "ERR trap": "set -E; trap 'echo err' ERR; export NOTE_CODE=3",
    "xtrace": "set -x",
    "alias": "shopt -s expand_aliases; alias echo='echo hey'",
    "prefix": "export SINGULARITY_BIND=/opt",
}
PIECES_WORDS = {
    "literal": "train.py --lr 1e-3",
    "quotes": "train.py 'a b' \"c d\" e\\ f",
    "array": 'train.py "${A[@]-none}"',
    "dollar": "train.py '$HOME' \"\\$HOME\" \\$x",
    "home": "train.py ~ ~/x --p=~/x",
    "braces": "train.py {1..3} a{b,c}",
    "substitution": 'train.py $(echo a b) "$(echo a b)"',
    "arithmetic": "train.py $((1 + 2))",
    "default": 'train.py ${NOTHING:-de fault} "${NOTHING:-de fault}"',
    "positional": 'train.py "$@" $#',
    "ansi": "train.py $'x\\ty' $'\\''",
    "unicode": "train.py 'ä€😀'",
    "equals": "train.py [0]=a [x]=y +a=[1,2]",
    "semicolons": "train.py ';' '&&' '|' '>' '#x'",
    "continued": "train.py \\\n  --a 1 \\\n  --b 2",
    "backslashes": "train.py '\\\\' \"\\\\n\" 'a\\b'",
    "redirect": "train.py >out.txt 2>&1",
    "pipe": "train.py | cat",
    "input": "train.py </dev/null",
    "heredoc": "- <<'EOF'\nprint('x')\nEOF",
    "herestring": 'train.py <<<"$USER"',
}
PIECES_LINE = {
    "srun": "srun singularity exec x.sif python",
    "options": "srun -n 3 --cpu-bind=none -l singularity exec --nv -B /usr,/etc x.sif python",
    "variables": 'srun -n "$((1+1))" singularity exec -B "$PWD:/w" "$PWD/x.sif" python',
    "loose options": "O='--mpi=none -n 2'; S='--nv --bind /usr'; srun $O singularity exec $S x.sif python",
    "no container": "srun -N1 -n2 python",
    "pyxis": "srun --container-image=./x.sqsh --container-mounts=/usr:/b python",
    "exec": "exec srun singularity exec x.sif python",
    "time": "time srun singularity exec x.sif python",
    "assigned": "A1=x B1='y z' srun singularity exec x.sif python",
    "apptainer": "srun apptainer exec --cleanenv --env A=1,B=2 x.sif python",
    "path": "srun /usr/bin/env singularity exec x.sif python",
    "batch shell": "singularity exec --pwd /tmp x.sif python",
    "podman-hpc": "srun -n 2 podman-hpc run --rm --gpu -e FOO -e B1='x y' me/x:1 python",
    "ch-run": 'srun ch-run -b "$PWD:/w" --set-env=A1=x ./img -- python',
    "environment": 'srun --environment="$PWD/env.toml" python',
    "timeout": "timeout 50 srun -N1 singularity exec --env A=1 x.sif python",
    "launcher": "L='srun -n 2'; $L singularity exec x.sif python",
    "export": "srun --export=ALL,A1=x,FOO=y -n 2 python",
}
PIECES_AFTER = {
    "nothing": "",
    "code": "echo code $?",
    "or": "|| echo failed $?",
    "and": "&& echo fine",
    "background": "&\nwait; echo waited $?",
    "two": "\nsrun singularity exec x.sif python eval.py",
}


def scripts() -> dict[str, str]:
    """Return all scripts by name."""
    found = {name: text.replace("{step}", STEP) for name, text in FAULTS.items()}
    for name, before in PIECES_BEFORE.items():
        for word, words in PIECES_WORDS.items():
            found[f"{name}, {word}"] = f"{before}\n{PIECES_LINE['srun']} {words}"
    for name, line in PIECES_LINE.items():
        for after, behind in PIECES_AFTER.items():
            gap = "" if behind.startswith("\n") else " "
            is_code = after == "code"
            found[f"{name}; {after}"] = (
                f"{line} train.py{'; ' if is_code else gap}{behind}"
            )
    made = {name: f"{HEAD}{text}\n" for name, text in found.items()}
    for name, line in OTHERS.items():
        sign = next((s for s, own in OTHER_HEADS.items() if name.startswith(own)), "")
        head = f"#!/bin/bash\n{sign} -N x\n" if sign else HEAD
        for word in ("quotes", "home", "redirect"):
            text = line.format(x=f"python {PIECES_WORDS[word]}")
            made[f"other {name}; {word}"] = f"{head}{text}\n"
    return made
