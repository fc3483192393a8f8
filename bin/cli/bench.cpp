#include "bench.h"

#include "commands/bench.h"
#include "generation_options.h"
#include "model_location.h"
#include "output.h"

namespace zllm::cli {
namespace {

using Options = commands::BenchOptions;

void describe(Options& options, OptionTable& table) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
  describe_model(options.model, table);
  table.number("prompt-tokens", "Length of the measured prompt", options.prompt_tokens,
               Range<std::uint64_t>{1, kMost});
  table.number("gen-tokens", "Length of the measured answer", options.gen_tokens,
               Range<std::uint64_t>{0, kMost});
  table.number("depth", "Tokens of context before the measured answer", options.depth,
               Range<std::uint64_t>{0, kMost});
  table.toggle("synthetic-depth",
               "Fill the depth with copies of 512 computed rows: quick, for speed alone",
               options.synthetic_depth);
  table.number("repeat", "Runs of each, of which the median counts", options.repeat,
               Range<std::uint64_t>{1, 1000});
  table.toggle("json", "One JSON object in place of the text", options.json);
}

Status run(const Options& given) {
  Options options = given;
  ZLLM_TRY(options.model.model, locate_model(given.model.model));
  ZLLM_TRY(const std::string report, commands::run_bench(options));
  return write_out(report);
}

}  // namespace

Command bench_command() {
  Command command = make_command<Options>("bench", "Measure prefill and decode", describe, run);
  command.takes_config = true;
  return command;
}

}  // namespace zllm::cli
