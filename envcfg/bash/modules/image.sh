# shellcheck shell=bash
# envcfg module image 1
# Whether the image is still the one that envcfg has read.

envcfg_read_image() { # SIZE TIME: of the image when envcfg read it; they are the same now, or a note says so
  if [[ -n ${envcfg_image-} && $(exec stat -L -c '%s %Y' -- "$envcfg_image" 2>/dev/null) != "$1 $2" ]]; then
    envcfg_note "image $envcfg_image has changed since envcfg read it, and its facts may have: make this script again"
  fi
}
