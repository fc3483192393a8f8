#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/conformance/suite.h>

namespace zllm::conformance {

// What a run of the suite passed, as the repository keeps it.
struct RecordLine {
  backend::Op op = backend::Op::linear;
  encoding::Encoding encoding = encoding::Encoding::f32;
  std::uint32_t cases = 0;
  std::uint32_t passed = 0;
  Deviation worst;
};

struct RecordedRun {
  std::string backend;
  std::string instruction_set;
  std::string date;                                         // YYYY-MM-DD
  std::vector<std::pair<backend::Op, std::string>> hashes;  // of the case files that were run
  std::vector<RecordLine> lines;
};

// The file of test/conformance/record that these runs make.
std::string record_text(std::span<const Report> reports, std::span<const CaseFile> files,
                        std::string_view date);
Result<std::vector<RecordedRun>> parse_record(std::string_view text, std::string_view name);

// Of the build: every file of test/conformance/record.
Result<std::vector<RecordedRun>> built_in_record();

// An error where the run was of other cases than these, or did not pass one of them.
Status check(const RecordedRun& run, std::span<const CaseFile> files);

}  // namespace zllm::conformance
