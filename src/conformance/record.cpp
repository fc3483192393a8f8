#include <zllm/conformance/record.h>

#include <algorithm>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/conformance/embedded_files.h>
#include <zllm/conformance/fields.h>

namespace zllm::conformance {
namespace {

using backend::Op;

std::string text_of(std::string_view value) { return Json(std::string(value)).dump(); }

std::string line_text(const Line& line) {
  return concat("{\"operator\": ", text_of(name(line.op)),
                ", \"encoding\": ", text_of(encoding_name(line)), ", \"cases\": ", line.cases,
                ", \"passed\": ", line.passed, ", \"nmse\": ", line.worst.nmse,
                ", \"maximum\": ", line.worst.maximum, "}");
}

template <class Range, class Text>
std::string joined(const Range& items, std::string_view indent, Text text) {
  std::string all;
  for (const auto& item : items) {
    all += concat(all.empty() ? "" : ",", "\n", indent, text(item));
  }
  return all;
}

Result<Op> op_of(Fields& fields, std::string_view key) {
  const std::string name = fields.text(key);
  for (std::size_t i = 0; i < backend::kOpCount; ++i) {
    if (backend::name(static_cast<Op>(i)) == name) {
      return static_cast<Op>(i);
    }
  }
  fields.refuse(key, concat("names ", quote(name), ", which is no operation"));
  return Error{fields.finish().error()};
}

Result<RecordLine> read_line(const Json& object, const std::string& where) {
  Fields fields(object, where);
  RecordLine line;
  ZLLM_TRY(line.op, op_of(fields, "operator"));
  const std::string encoding = fields.text("encoding");
  if (backend::has_encoding(line.op)) {
    const auto found = encoding::encoding_named(encoding);
    if (!found) {
      fields.refuse("encoding", "names no encoding");
    }
    line.encoding = found.value_or(line.encoding);
  }
  line.cases = fields.size("cases");
  line.passed = static_cast<std::uint32_t>(fields.number("passed", 0));
  line.worst = {.nmse = fields.real("nmse", 0.0), .maximum = fields.real("maximum", 0.0)};
  ZLLM_TRY(fields.finish());
  return line;
}

Result<RecordedRun> read_run(const Json& object, const std::string& where) {
  Fields fields(object, where);
  RecordedRun run{.backend = fields.text("backend"),
                  .instruction_set = fields.text("instruction_set"),
                  .date = fields.text("date"),
                  .hashes = {},
                  .lines = {}};
  for (const Json& item : fields.list("files")) {
    Fields file(item, where);
    ZLLM_TRY(const Op op, op_of(file, "operator"));
    run.hashes.emplace_back(op, file.text("hash"));
    ZLLM_TRY(file.finish());
  }
  for (const Json& item : fields.list("results")) {
    ZLLM_TRY(const RecordLine line, read_line(item, where));
    run.lines.push_back(line);
  }
  ZLLM_TRY(fields.finish());
  return run;
}

}  // namespace

std::string record_text(std::span<const Report> reports, std::span<const CaseFile> files,
                        std::string_view date) {
  const std::string hashes = joined(files, "        ", [](const CaseFile& file) {
    return concat("{\"operator\": ", text_of(name(file.op)), ", \"hash\": ", text_of(file.hash),
                  "}");
  });
  const std::string runs = joined(reports, "    ", [&](const Report& report) {
    return concat("{\n      \"backend\": ", text_of(report.backend),
                  ",\n      \"instruction_set\": ", text_of(report.instruction_set),
                  ",\n      \"date\": ", text_of(date), ",\n      \"files\": [", hashes,
                  "\n      ],\n      \"results\": [", joined(report.lines, "        ", line_text),
                  "\n      ]\n    }");
  });
  return concat("{\n  \"runs\": [", runs, "\n  ]\n}\n");
}

Result<std::vector<RecordedRun>> parse_record(std::string_view text, std::string_view name) {
  ZLLM_TRY(const Json document, Json::parse(text, name));
  Fields fields(document, std::string(name));
  std::vector<RecordedRun> runs;
  for (const Json& item : fields.list("runs")) {
    ZLLM_TRY(RecordedRun run, read_run(item, std::string(name)));
    runs.push_back(std::move(run));
  }
  ZLLM_TRY(fields.finish());
  return runs;
}

Result<std::vector<RecordedRun>> built_in_record() {
  std::vector<RecordedRun> all;
  for (const EmbeddedFile& file : embedded_records()) {
    ZLLM_TRY(std::vector<RecordedRun> runs, parse_record(file.text, file.name));
    std::ranges::move(runs, std::back_inserter(all));
  }
  return all;
}

Status check(const RecordedRun& run, std::span<const CaseFile> files) {
  const auto refuse = [&](const auto&...parts) {
    return Error{Code::invalid_file,
                 concat("the record of ", run.backend, " (", run.instruction_set, ") ", parts...)};
  };
  std::size_t recorded = 0;
  for (const RecordLine& line : run.lines) {
    recorded += line.passed == line.cases ? line.passed : 0;
  }
  std::size_t cases = 0;
  for (const CaseFile& file : files) {
    const auto found =
        std::ranges::find(run.hashes, file.op, &decltype(run.hashes)::value_type::first);
    if (found == run.hashes.end() || found->second != file.hash) {
      return refuse("is not of the present ", file.name);
    }
    cases += file.cases.size();
  }
  if (recorded != cases) {
    return refuse("has ", recorded, " passed cases where all ", cases, " should be");
  }
  return {};
}

}  // namespace zllm::conformance
