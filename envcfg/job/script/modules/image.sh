# shellcheck shell=bash # image 2: report an image that has changed since envcfg read it
# defines: envcfg_read_image
envcfg_read_image() { # SIZE TIME: of the image when envcfg read it; they are the same now, or a note says so
  if [[ -n ${envcfg_image-} && $(exec stat -L -c '%s %Y' -- "$envcfg_image" 2>/dev/null) != "$1 $2" ]]; then
    envcfg_note "image $envcfg_image has changed since envcfg read it, and its facts may have: make this script again"
  fi
}
