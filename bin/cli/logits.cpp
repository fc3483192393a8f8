#include "logits.h"

#include "commands/logits.h"
#include "generation_options.h"
#include "model_location.h"

namespace zllm::cli {
namespace {

using Options = commands::LogitsOptions;

void describe(Options& options, OptionTable& table) {
  constexpr Range<std::uint64_t> kCount{0, std::uint64_t{1} << 32};
  describe_model(options.model, table);
  table.toggle("deterministic", "The same bits on every run; the CPU always does",
               options.model.deterministic);
  table.text("tokens", "IDS", "Ids: 1,2,3", options.tokens);
  table.text("tokens-file", "FILE", "A JSON array of ids", options.tokens_file);
  table.text("sequences", "FILE", "A JSON array of such arrays, run in shared rounds",
             options.sequences_file);
  table.text("out", "FILE", "The safetensors file to write", options.out);
  table.number("append-at", "Rows from here on as Append Prefill", options.append_at, kCount);
  table.number("decode-from", "Rows from here on in rounds of one token", options.decode_from,
               kCount);
  table.number("greedy", "Tokens by argmax after the prompt", options.greedy, kCount);
}

Status run(const Options& given) {
  Options options = given;
  ZLLM_TRY(options.model.model, locate_model(given.model.model));
  return commands::run_logits(options);
}

}  // namespace

Command logits_command() {
  return make_command<Options>("logits", "Write the logits of given tokens", describe, run);
}

}  // namespace zllm::cli
