# shellcheck shell=bash

cd "${PBS_O_WORKDIR:-.}" || exit # PBS starts a job in the home folder
