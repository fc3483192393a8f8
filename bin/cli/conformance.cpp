#include "conformance.h"

#include "commands/conformance.h"
#include "output.h"

namespace zllm::cli {
namespace {

using Options = commands::ConformanceOptions;

void describe(Options& options, OptionTable& table) {
  table.text("backend", "NAME", "What is tested: see 'zllm capabilities'", options.backend);
  table.number("threads", "0 = as many as the process may use", options.threads,
               Range<unsigned>{0, 1024});
  table.text("cases", "DIR", "Case files in place of the built-in ones", options.cases);
  table.text("record", "FILE", "Where to write what passed", options.record);
  table.toggle("json", "One JSON object in place of the table", options.json);
}

Status run(const Options& options) {
  ZLLM_TRY(const commands::ConformanceRun done, commands::run_conformance(options));
  ZLLM_TRY(write_out(done.report));
  return done.verdict;
}

}  // namespace

Command conformance_command() {
  return make_command<Options>("conformance", "Hold a backend to the reference of each operation",
                               describe, run);
}

}  // namespace zllm::cli
