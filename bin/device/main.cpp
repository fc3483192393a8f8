// zllm-device: logits, bench and conformance alone, for machines that get nothing but this program.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/text.h>

#include "commands/bench.h"
#include "commands/conformance.h"
#include "commands/logits.h"

namespace {

using namespace zllm;

constexpr std::string_view kUsage =
    "usage: zllm-device logits --model PATH --out FILE\n"
    "         (--tokens 1,2,3 | --tokens-file FILE | --sequences FILE)\n"
    "         [--append-at K] [--decode-from K] [--greedy N]\n"
    "       zllm-device bench --model PATH [--prompt-tokens N] [--gen-tokens N] [--depth N]\n"
    "         [--synthetic-depth] [--repeat N] [--json]\n"
    "both:    [--backend NAME] [--threads N] [--context N] [--kv-type f32|f16] [--deterministic]\n"
    "       zllm-device conformance [--backend NAME] [--threads N] [--cases DIR] [--record FILE]\n"
    "         [--json]\n";

using Setter = std::function<bool(std::string_view)>;

struct Flags {
  std::map<std::string, Setter, std::less<>> with_value;
  std::map<std::string, bool *, std::less<>> switches;

  void text(const std::string& name, std::string& target) {
    with_value[name] = [&target](std::string_view value) {
      target = value;
      return true;
    };
  }
  template <class Target>
  void number(const std::string& name, Target& target) {
    with_value[name] = [&target](std::string_view value) {
      std::uint64_t parsed = 0;
      const bool is_number = parse_number(value, parsed) && parsed <= 0xffffffffu;
      target = static_cast<unsigned>(parsed);
      return is_number;
    };
  }
};

void add_model_flags(Flags& flags, commands::ModelOptions& model) {
  flags.text("--model", model.model);
  flags.text("--backend", model.backend);
  flags.text("--kv-type", model.kv_type);
  flags.number("--threads", model.threads);
  flags.number("--context", model.context);
  flags.switches["--deterministic"] = &model.deterministic;
}

Status parse(const Flags& flags, std::span<char *const> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    if (const auto found = flags.switches.find(name); found != flags.switches.end()) {
      *found->second = true;
      continue;
    }
    const auto found = flags.with_value.find(name);
    if (found == flags.with_value.end()) {
      return Error{Code::invalid_argument, concat("unknown option ", quote(name))};
    }
    if (++i == arguments.size() || !found->second(arguments[i])) {
      return Error{Code::invalid_argument, concat(name, " needs a value")};
    }
  }
  return {};
}

Status run_logits(std::span<char *const> arguments) {
  commands::LogitsOptions options;
  Flags flags;
  add_model_flags(flags, options.model);
  flags.text("--tokens", options.tokens);
  flags.text("--tokens-file", options.tokens_file);
  flags.text("--sequences", options.sequences_file);
  flags.text("--out", options.out);
  flags.number("--append-at", options.append_at);
  flags.number("--decode-from", options.decode_from);
  flags.number("--greedy", options.greedy);
  ZLLM_TRY(parse(flags, arguments));
  return commands::run_logits(options);
}

Status run_bench(std::span<char *const> arguments) {
  commands::BenchOptions options;
  Flags flags;
  add_model_flags(flags, options.model);
  flags.number("--prompt-tokens", options.prompt_tokens);
  flags.number("--gen-tokens", options.gen_tokens);
  flags.number("--depth", options.depth);
  flags.number("--repeat", options.repeat);
  flags.switches["--synthetic-depth"] = &options.synthetic_depth;
  flags.switches["--json"] = &options.json;
  ZLLM_TRY(parse(flags, arguments));
  ZLLM_TRY(const std::string report, commands::run_bench(options));
  std::fputs(report.c_str(), stdout);
  return {};
}

Status run_conformance(std::span<char *const> arguments) {
  commands::ConformanceOptions options;
  Flags flags;
  flags.text("--backend", options.backend);
  flags.text("--cases", options.cases);
  flags.text("--record", options.record);
  flags.number("--threads", options.threads);
  flags.switches["--json"] = &options.json;
  ZLLM_TRY(parse(flags, arguments));
  ZLLM_TRY(const commands::ConformanceRun done, commands::run_conformance(options));
  std::fputs(done.report.c_str(), stdout);
  return done.verdict;
}

struct DeviceCommand {
  std::string_view name;
  Status (*run)(std::span<char *const> arguments);
};
constexpr DeviceCommand kCommands[] = {
    {"logits", run_logits}, {"bench", run_bench}, {"conformance", run_conformance}};

}  // namespace

int main(int argc, char **argv) {
  const std::span<char *const> arguments(argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0)));
  const std::string_view command = arguments.empty() ? "" : arguments[0];
  if (command == "--help" || command == "-h") {
    std::fputs(std::string(kUsage).c_str(), stdout);
    return 0;
  }
  const auto found = std::ranges::find(kCommands, command, &DeviceCommand::name);
  if (found == std::end(kCommands)) {
    std::fputs(std::string(kUsage).c_str(), stderr);
    return 2;
  }
  for (const std::string_view argument : arguments) {
    if (argument == "--help") {
      std::fputs(std::string(kUsage).c_str(), stdout);
      return 0;
    }
  }
  const Status status = found->run(arguments.subspan(1));
  if (!status.ok()) {
    std::fprintf(stderr, "zllm-device: %s\n", status.error().message.c_str());
    return 1;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
