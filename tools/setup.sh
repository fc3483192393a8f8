# Sourced by ./check and ./demo: installs what is missing, builds, and ends children on a signal.
# Sets: root, cargo, jobs.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# A compiler's process takes up to a gigabyte; a container may allow less than the machine has.
jobs_that_fit() {
  local processors=$(nproc) memory limit quota period
  memory=$(awk '/^MemAvailable:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null | head -n 1)
  [[ $limit =~ ^[0-9]+$ ]] && ((${#limit} < 16 && limit < memory)) && memory=$limit
  if read -r quota period 2>/dev/null </sys/fs/cgroup/cpu.max && [[ $quota =~ ^[0-9]+$ ]]; then
    ((quota = (quota + period - 1) / period, processors = quota < processors ? quota : processors))
  fi
  ((memory /= 1 << 30, processors = memory < processors ? memory : processors))
  echo $((processors < 1 ? 1 : processors))
}
jobs=$(jobs_that_fit)
export CARGO_BUILD_JOBS=$jobs
oldest_rust=88 # minor version of Rust 1 that the crates in rust/edge ask for

# What a build needs, as "command=package" or a package that has no command.
build_packages=(cmake=cmake ninja=ninja-build g++=g++ ccache=ccache mold=mold python3=python3
  "python3 -m pip=python3-pip" ca-certificates libsimdjson-dev libyaml-cpp-dev libcli11-dev)
check_packages=(git=git "python3 -m ensurepip=python3-venv" clang++-19=clang-19 clang-tidy-19=clang-tidy-19
  clang-format-19=clang-format-19 llvm-symbolizer-19=llvm-19 nm=binutils libclang-rt-19-dev
  libgtest-dev libgmock-dev)

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "$(basename "$0"): $*"
  exit 1
}

# Children run in process groups of their own, so that a signal ends all of them: compilers, cargo
# and its compilers too. The package manager's last step alone is let finish.
child=
stop() {
  trap '' INT TERM HUP
  if [[ -n $child ]]; then
    [[ $child_may_be_ended == yes ]] && kill -TERM -- "-$child" 2>/dev/null
    wait -f "$child" 2>/dev/null
  fi
  exit "$1"
}
stop_on_signals() {
  set -m
  trap 'stop 130' INT
  trap 'stop 143' TERM
  trap 'stop 129' HUP
}
run() {
  child_may_be_ended=yes
  "$@" </dev/null &
  child=$!
  wait -f "$child"
  local result=$?
  child=
  return $result
}
run_to_its_end() {
  child_may_be_ended=no
  "$@" </dev/null &
  child=$!
  wait -f "$child"
  local result=$?
  child=
  return $result
}

missing_packages() {
  local need command package
  for need in "$@"; do
    package=${need#*=}
    if [[ $need == *=* ]]; then
      command=${need%%=*}
      # A command with arguments is a part of another program: it is there when it can be asked.
      if [[ $command == *' '* ]]; then
        $command --version >/dev/null 2>&1 || echo "$package"
      else
        command -v "$command" >/dev/null || echo "$package"
      fi
    elif command -v dpkg-query >/dev/null; then
      [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
        echo "$package"
    fi
  done
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} == 0)) || apt_install "${missing[@]}"
}
apt_install() {
  local line="apt-get install -y --no-install-recommends $*"
  command -v apt-get >/dev/null || fail "missing: $* (and this machine has no apt-get)"
  if [[ $(id -u) != 0 ]] && ! sudo -n true 2>/dev/null; then
    fail "missing packages; run as root: $line"
  fi
  say "installing $*"
  export DEBIAN_FRONTEND=noninteractive
  mkdir -p "$root/build/logs"
  local log=$root/build/logs/packages.log
  {
    run as_root apt-get update -qq &&
      run as_root apt-get install -y -qq --no-install-recommends --download-only "$@" &&
      run_to_its_end as_root apt-get install -y -qq --no-install-recommends "$@"
  } >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    fail "could not install; full log in $log; by hand: $line"
  }
}

# A cargo and rustc that are recent enough, in `cargo`; both from Debian's packages if need be.
rust_is_recent() {
  local tool version
  for tool in "$1" "${1%cargo}rustc"; do
    version=$("$tool" --version 2>/dev/null) || return 1
    [[ $version =~ ^[a-z]+\ 1\.([0-9]+)\. ]] || return 1
    ((BASH_REMATCH[1] >= oldest_rust)) || return 1
  done
}
find_cargo() {
  local candidate
  for candidate in "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" "$(command -v cargo)" /usr/bin/cargo; do
    if [[ -n $candidate ]] && rust_is_recent "$candidate"; then
      cargo=$candidate
      export RUSTC=${cargo%cargo}rustc
      return 0
    fi
  done
  return 1
}
install_cargo() {
  find_cargo && return
  apt_install rustc-web cargo-web
  find_cargo || fail "needs Rust 1.$oldest_rust or newer; Debian 12 has it as rustc-web, cargo-web"
}

configure() {
  local preset=$1
  shift
  cmake --preset "$preset" -DZLLM_CARGO="$cargo" "$@"
}

# Object files that another clone or preset has made are found in ccache.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

# Whether build/release/bin/zllm was built from the sources as they are now. Names, sizes and times
# of all files are compared, so a deleted or an older file is seen too.
sources_of_the_program() {
  find CMakeLists.txt CMakePresets.json cmake src bin rust -name target -prune -o -type f \
    -printf '%p %s %T@\n' | LC_ALL=C sort | sha256sum
}
stamp=build/release/built_from
program_is_current() {
  [[ -x build/release/bin/zllm && -f $stamp && $(<"$stamp") == "$(sources_of_the_program)" ]]
}
