#include "bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/runtime/prefill.h>
#include <zllm/runtime/synthetic_rows.h>

namespace zllm::commands {
namespace {

using Clock = std::chrono::steady_clock;
using runtime::AnyModel;
using runtime::PrefillLogits;
using runtime::SequenceSnapshot;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<TokenId> random_tokens(std::uint64_t count, std::uint32_t vocabulary) {
  std::mt19937 random(1);  // fixed, so that runs and machines do the same work
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) {
    token = static_cast<TokenId>(random() % vocabulary);
  }
  return tokens;
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// The median of the repeats; a sequence of its own for each.
double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Measured {
  std::vector<double> prefill;  // seconds a repeat
  std::vector<double> decode;
};

Status measure_prefill(AnyModel& model, std::uint64_t count, Measured& measured) {
  const std::vector<TokenId> tokens = random_tokens(count, model.info().limits.vocabulary);
  ZLLM_TRY(const SequenceId id, model.states().create(0));
  const Clock::time_point start = Clock::now();
  const auto output = runtime::prefill(model, id, tokens, PrefillLogits::last);
  measured.prefill.push_back(seconds_since(start));
  ZLLM_TRY(model.states().release(id));
  return output.ok() ? Status() : Status(output.error());
}

// The rows that every decode starts from without computing them; none where all are computed.
Result<SequenceSnapshot> synthetic_context(AnyModel& model, const BenchOptions& options) {
  constexpr std::uint64_t kComputed = 2 * runtime::kTileRows;
  if (!options.synthetic_depth || options.depth <= kComputed) {
    return SequenceSnapshot();
  }
  const std::vector<TokenId> tokens = random_tokens(kComputed, model.info().limits.vocabulary);
  return runtime::synthetic_rows(model, tokens, options.depth);
}

Status measure_decode(AnyModel& model, const BenchOptions& options,
                      const SequenceSnapshot& synthetic, Measured& measured) {
  const std::uint32_t vocabulary = model.info().limits.vocabulary;
  const std::vector<TokenId> context = random_tokens(options.depth - synthetic.rows, vocabulary);
  const std::vector<TokenId> tokens = random_tokens(options.gen_tokens, vocabulary);
  ZLLM_TRY(const SequenceId id, model.states().import_state(synthetic));
  ZLLM_TRY(runtime::prefill(model, id, context, PrefillLogits::none));
  const Clock::time_point start = Clock::now();
  for (const TokenId token : tokens) {
    ZLLM_TRY(runtime::decode(model, id, token));
  }
  measured.decode.push_back(seconds_since(start));
  return model.states().release(id);
}

std::string report(const BenchOptions& options, const AnyModel& model, const Measured& measured,
                   double load_seconds, double first_token_seconds) {
  const double prefill = median(measured.prefill);
  const double decode = median(measured.decode);
  const double prefill_rate =
      prefill > 0 ? static_cast<double>(options.prompt_tokens) / prefill : 0;
  const double decode_rate = decode > 0 ? static_cast<double>(options.gen_tokens) / decode : 0;
  const runtime::ModelInfo& info = model.info();
  const std::uint64_t state_bytes = info.state_reads.bytes(options.depth);
  if (!options.json) {
    return concat("model     ", info.architecture, ", ", info.layers, " layers, ",
                  info.parameter_count / 1000000, " M parameters, backend ", info.backend,
                  "\nload      ", load_seconds, " s\nprefill   ", options.prompt_tokens,
                  " tokens, ", prefill_rate, " tokens/s\ndecode    ", options.gen_tokens,
                  " tokens at depth ", options.depth, ", ", decode_rate, " tokens/s (",
                  decode_rate * static_cast<double>(info.bytes_per_token) / 1e9,
                  " GB/s of weights, ", decode_rate * static_cast<double>(state_bytes) / 1e9,
                  " GB/s of state)\nfirst     ", first_token_seconds, " s\nmemory    ",
                  peak_memory_bytes() / (1 << 20), " MiB\n");
  }
  return concat(
      "{\"model\":\"", info.architecture, "\",\"backend\":\"", info.backend,
      "\",\"parameters\":", info.parameter_count, ",\"weight_bytes\":", info.weight_bytes,
      ",\"prefill\":{\"tokens\":", options.prompt_tokens, ",\"tokens_per_second\":", prefill_rate,
      "},\"decode\":{\"tokens\":", options.gen_tokens, ",\"depth\":", options.depth,
      ",\"tokens_per_second\":", decode_rate, ",\"bytes_per_token\":", info.bytes_per_token,
      ",\"state_bytes_per_token\":", state_bytes,
      "},\"time_to_first_token_seconds\":", first_token_seconds, ",\"load_seconds\":", load_seconds,
      ",\"peak_memory_bytes\":", peak_memory_bytes(), "}\n");
}

}  // namespace

Result<std::string> run_bench(const BenchOptions& options) {
  if (options.prompt_tokens == 0 || options.repeat == 0) {
    return Error{Code::invalid_argument, "--prompt-tokens and --repeat must be at least 1"};
  }
  ModelOptions model_options = options.model;
  if (model_options.context == 0) {
    model_options.context = std::max(options.prompt_tokens, options.depth + options.gen_tokens) + 1;
  }
  const Clock::time_point start = Clock::now();
  ZLLM_TRY(registry::Model loaded, load(model_options));
  const double load_seconds = seconds_since(start);
  AnyModel& model = loaded.model();
  Measured measured;
  ZLLM_TRY(measure_prefill(model, options.prompt_tokens, measured));
  const double first_token_seconds = seconds_since(start);
  // The first repeat also warms caches and clocks, so it counts only when it is the only one.
  if (options.repeat > 1) {
    measured.prefill.clear();
  }
  while (measured.prefill.size() + 1 < options.repeat || measured.prefill.empty()) {
    ZLLM_TRY(measure_prefill(model, options.prompt_tokens, measured));
  }
  ZLLM_TRY(const SequenceSnapshot synthetic, synthetic_context(model, options));
  while (options.gen_tokens > 0 && measured.decode.size() < options.repeat) {
    ZLLM_TRY(measure_decode(model, options, synthetic, measured));
  }
  ZLLM_TRY(loaded.check());
  return report(options, model, measured, load_seconds, first_token_seconds);
}

}  // namespace zllm::commands
