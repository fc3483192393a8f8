#pragma once

#include <string>

#include <zllm/base/result.h>

namespace zllm::commands {

// zllm conformance: every case of the suite on every instruction set of a backend.
struct ConformanceOptions {
  std::string backend = "cpu";
  unsigned threads = 0;
  std::string cases;   // folder of case files; empty = those of the build
  std::string record;  // file to write the record to, or empty
  bool json = false;
};

struct ConformanceRun {
  std::string report;  // text or JSON, ready for stdout
  Status verdict;      // an error where a case failed
};

Result<ConformanceRun> run_conformance(const ConformanceOptions& options);

}  // namespace zllm::commands
