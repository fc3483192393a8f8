#pragma once

#include <span>
#include <string>
#include <vector>

#include <zllm/conformance/case_file.h>
#include <zllm/conformance/deviation.h>
#include <zllm/conformance/subject.h>

namespace zllm::conformance {

// What a subject did with the cases of one operation in one encoding.
struct Line {
  backend::Op op = backend::Op::linear;
  encoding::Encoding encoding = encoding::Encoding::f32;  // means nothing unless has_encoding(op)
  std::uint32_t cases = 0;
  std::uint32_t passed = 0;
  std::uint32_t refused = 0;  // by supports(), hence not run
  Deviation worst;            // of those that ran to their end
  Bound bound;
};

struct Report {
  std::string backend;
  std::string instruction_set;
  std::vector<Line> lines;
  std::vector<std::string> failures;  // a sentence each

  bool ok() const { return failures.empty(); }
};

// Runs every case that the subject supports.
Report run_suite(Subject& subject, std::span<const CaseFile> files);

// "-" for operations without one.
std::string_view encoding_name(const Line& line);

}  // namespace zllm::conformance
