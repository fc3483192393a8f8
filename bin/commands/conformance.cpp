#include "conformance.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/base/text_file.h>
#include <zllm/conformance/record.h>
#include <zllm/conformance/suite.h>
#include <zllm/registry/conformance_subjects.h>

namespace zllm::commands {
namespace {

using conformance::CaseFile;
using conformance::Line;
using conformance::Report;

constexpr std::size_t kCaseFileLimit = std::size_t{1} << 20;  // far more than cases are worth

// The folder's *.json in the order of their names.
Result<std::vector<CaseFile>> read_cases(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".json") {
      paths.push_back(entry->path().string());
    }
  }
  if (error) {
    return Error{Code::io, concat(folder, ": ", error.message())};
  }
  if (paths.empty()) {
    return Error{Code::not_found, concat(folder, ": has no *.json")};
  }
  std::ranges::sort(paths);
  std::vector<CaseFile> files;
  for (const std::string& path : paths) {
    ZLLM_TRY(const std::string text, read_text_file(path, kCaseFileLimit));
    ZLLM_TRY(CaseFile file, conformance::parse_case_file(text, path));
    files.push_back(std::move(file));
  }
  return files;
}

std::string today() {
  const std::chrono::year_month_day date(
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  const auto two = [](unsigned number) { return concat(number < 10 ? "0" : "", number); };
  return concat(static_cast<int>(date.year()), "-", two(static_cast<unsigned>(date.month())), "-",
                two(static_cast<unsigned>(date.day())));
}

Status write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return file ? Status() : Error{Code::io, concat(path, ": cannot be written")};
}

// Short, as people read it: two digits.
std::string figure(double value) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.1e", value);
  return buffer.data();
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string row(const std::vector<std::string>& cells) {
  constexpr std::size_t kWidths[] = {18, 9, 7, 8, 9, 9, 9};
  std::string text = "  ";
  for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
    text += padded(cells[i], kWidths[i]) + " ";
  }
  return text + cells.back() + "\n";
}

std::string to_text(const Report& report) {
  std::string text = concat(report.backend, " (", report.instruction_set, ")\n");
  text += row({"operator", "encoding", "cases", "passed", "refused", "NMSE", "maximum", "bound"});
  for (const Line& line : report.lines) {
    text += row({std::string(name(line.op)), std::string(encoding_name(line)),
                 std::to_string(line.cases), std::to_string(line.passed),
                 std::to_string(line.refused), figure(line.worst.nmse), figure(line.worst.maximum),
                 concat(figure(line.bound.nmse), " ", figure(line.bound.maximum))});
  }
  for (const std::string& failure : report.failures) {
    text += concat("  FAILED: ", failure, "\n");
  }
  return text;
}

Json to_json(const Report& report) {
  Json::Array lines;
  for (const Line& line : report.lines) {
    lines.push_back(Json(Json::Object{{"operator", Json(std::string(name(line.op)))},
                                      {"encoding", Json(std::string(encoding_name(line)))},
                                      {"cases", Json(std::uint64_t{line.cases})},
                                      {"passed", Json(std::uint64_t{line.passed})},
                                      {"refused", Json(std::uint64_t{line.refused})},
                                      {"nmse", Json(line.worst.nmse)},
                                      {"maximum", Json(line.worst.maximum)},
                                      {"nmse_bound", Json(line.bound.nmse)},
                                      {"maximum_bound", Json(line.bound.maximum)}}));
  }
  Json::Array failures;
  for (const std::string& failure : report.failures) {
    failures.push_back(Json(failure));
  }
  return Json(Json::Object{{"backend", Json(report.backend)},
                           {"instruction_set", Json(report.instruction_set)},
                           {"results", Json(std::move(lines))},
                           {"failures", Json(std::move(failures))}});
}

}  // namespace

Result<ConformanceRun> run_conformance(const ConformanceOptions& options) {
  ZLLM_TRY(const auto files,
           options.cases.empty() ? conformance::built_in_cases() : read_cases(options.cases));
  ZLLM_TRY(const auto subjects, registry::conformance_subjects(options.backend, options.threads));
  std::vector<Report> reports;
  ConformanceRun run;
  Json::Array list;
  std::size_t failures = 0;
  for (const auto& subject : subjects) {
    const Report& report = reports.emplace_back(conformance::run_suite(*subject, files));
    run.report += options.json ? "" : to_text(report);
    list.push_back(to_json(report));
    failures += report.failures.size();
  }
  if (options.json) {
    run.report = Json(Json::Object{{"runs", Json(std::move(list))}}).dump() + "\n";
  }
  if (!options.record.empty()) {
    ZLLM_TRY(write_text(options.record, conformance::record_text(reports, files, today())));
  }
  if (failures != 0) {
    run.verdict =
        Error{Code::unsupported, concat(failures, " cases failed on backend ", options.backend)};
  }
  return run;
}

}  // namespace zllm::commands
