#!/usr/bin/env bash
# examples.sh BUILD [MODEL]: installs the C library of a build folder under a prefix of its own,
# builds every example against it, and runs them on the model. Without a model they only have to
# start and tell that there is none. The last line is "N passed, N failed, N skipped".
set -uo pipefail

build=$(cd "${1:?usage: examples.sh BUILD [MODEL]}" && pwd) || exit 1
model=${2-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$build/examples
prefix=$work/prefix
passed=0 failed=0 skipped=0

step() {
  local name=$1
  shift
  if "$@" >"$work/$name.log" 2>&1; then
    ((++passed))
    return 0
  fi
  ((++failed))
  printf 'FAILED: %s\n' "$name"
  tail -n 20 "$work/$name.log"
  return 1
}
# A program that is to answer, or without a model to fail with a sentence.
answers() {
  local output=$work/answer.txt
  if [[ -n $model ]]; then
    "$@" >"$output" 2>&1 && cat "$output" && [[ -s $output ]] &&
      ! grep -q '"error"' "$output"
    return
  fi
  ! "$@" >"$output" 2>&1 && cat "$output" && grep -qiE 'no-such-model|such file' "$output"
}

rm -rf "$prefix"
mkdir -p "$work"
target=${model:-no-such-model.gguf}
step install cmake --install "$build" --component zllm --prefix "$prefix" || exit 1
libraries=$(dirname "$(find "$prefix" -name libzllm.so | head -n 1)")
export LD_LIBRARY_PATH=$libraries

if step c_build cmake -S "$root/examples/c" -B "$work/c" -DCMAKE_PREFIX_PATH="$prefix" &&
  step c_compile cmake --build "$work/c"; then
  step c_shared answers "$work/c/chat_shared" "$target"
  step c_static answers "$work/c/chat_static" "$target"
fi
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$libraries/pkgconfig
  read -r -a flags < <(pkg-config --cflags --libs zllm)
  step pkg_config cc -std=c11 -Wall -Wextra -Werror "$root/examples/c/chat.c" -o "$work/chat_c" \
    "${flags[@]}" && step pkg_config_run answers "$work/chat_c" "$target"
else
  printf 'skipped: pkg-config is not installed\n'
  ((++skipped))
fi
step python answers python3 -B "$root/examples/python/chat.py" "$libraries/libzllm.so" "$target"
if command -v rustc >/dev/null; then
  step rust_build rustc --edition 2021 -O "$root/examples/rust/chat.rs" -L "$libraries" -l zllm \
    -o "$work/chat_rust" && step rust answers "$work/chat_rust" "$target"
else
  printf 'skipped: rustc is not installed\n'
  ((++skipped))
fi
if [[ -x $build/examples/first_token ]]; then
  step cpp answers "$build/examples/first_token" "$target"
else
  printf 'skipped: first_token was not built\n'
  ((++skipped))
fi
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0))
