#include <zllm/conformance/suite.h>

#include <algorithm>

#include <zllm/base/text.h>

namespace zllm::conformance {
namespace {

Line& line_of(std::vector<Line>& lines, const Case& one) {
  const auto found = std::ranges::find_if(
      lines, [&](const Line& line) { return line.op == one.op && line.encoding == one.encoding; });
  if (found != lines.end()) {
    return *found;
  }
  return lines.emplace_back(Line{
      .op = one.op, .encoding = one.encoding, .worst = {}, .bound = bound(one.op, one.encoding)});
}

// What is wrong with the case's result, or nothing.
std::string failure(const Result<Deviation>& result, const Bound& bound) {
  if (!result.ok()) {
    return result.error().message;
  }
  if (bound.holds(*result)) {
    return {};
  }
  return concat("NMSE ", result->nmse, ", maximum ", result->maximum, "; the bound is ", bound.nmse,
                ", ", bound.maximum);
}

}  // namespace

Report run_suite(Subject& subject, std::span<const CaseFile> files) {
  Report report{.backend = std::string(subject.backend()),
                .instruction_set = std::string(subject.instruction_set()),
                .lines = {},
                .failures = {}};
  for (const CaseFile& file : files) {
    for (const Case& one : file.cases) {
      Line& line = line_of(report.lines, one);
      ++line.cases;
      if (!subject.supports(key(one)).is_supported) {
        ++line.refused;
        continue;
      }
      const Result<Deviation> result = subject.run(one);
      if (result.ok()) {
        line.worst.include(*result);
      }
      if (const std::string wrong = failure(result, line.bound); wrong.empty()) {
        ++line.passed;
      } else {
        report.failures.push_back(
            concat(report.backend, " (", report.instruction_set, "), ", one.name, ": ", wrong));
      }
    }
  }
  return report;
}

std::string_view encoding_name(const Line& line) {
  return backend::has_encoding(line.op) ? encoding::info(line.encoding).name : "-";
}

}  // namespace zllm::conformance
