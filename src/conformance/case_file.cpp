#include <zllm/conformance/case_file.h>

#include <algorithm>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/conformance/dimensions.h>
#include <zllm/conformance/embedded_files.h>
#include <zllm/conformance/fields.h>

namespace zllm::conformance {
namespace {

using backend::Op;
using encoding::Encoding;

// FNV-1a, 64 bits: tells an edited file from the one that a record was made of.
std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) {
    digits += "0123456789abcdef"[hash >> shift & 15];
  }
  return digits;
}

Result<Op> op_named(std::string_view name, std::string_view file) {
  std::string known;
  for (std::size_t i = 0; i < backend::kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    if (backend::name(op) == name) {
      return op;
    }
    known += concat(known.empty() ? "" : ", ", backend::name(op));
  }
  return Error{Code::invalid_file,
               concat(file, ": unknown operator ", quote(name), "; known are ", known)};
}

// Weight encodings whose blocks divide the columns of every matrix.
std::vector<std::string> all_encodings(const Case& one) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < encoding::kEncodingCount; ++i) {
    const encoding::EncodingInfo& format = encoding::info(static_cast<Encoding>(i));
    if (format.is_weight && std::ranges::all_of(matrix_columns(one), [&](std::uint32_t columns) {
          return columns % format.block_elements == 0;
        })) {
      names.emplace_back(format.name);
    }
  }
  return names;
}

bool has_cache(Op op) {
  return op == Op::paged_gqa || op == Op::latent_attention || op == Op::select_keys ||
         op == Op::select_pools;
}

Status set_encoding(Case& one, std::string_view name, Fields& fields) {
  const auto found = encoding::encoding_named(name);
  if (!found || !encoding::info(*found).is_weight) {
    fields.refuse("encoding", concat("names ", quote(name), ", which is no encoding of weights"));
  } else if (has_cache(one.op) && *found != Encoding::f32 && *found != Encoding::f16) {
    fields.refuse("encoding", concat("names ", quote(name), ", which is no type of a cache"));
  } else {
    for (const std::uint32_t columns : matrix_columns(one)) {
      if (columns % encoding::info(*found).block_elements != 0) {
        fields.refuse("encoding",
                      concat("names ", name, ", whose blocks do not divide ", columns, " columns"));
      }
    }
    one.encoding = *found;
    one.name += concat(" in ", name);
  }
  return {};
}

// One case for each encoding that the object names.
Status add_cases(const Json& object, std::size_t index, CaseFile& file) {
  Fields fields(object, concat(file.name, ": case ", index));
  Case one{.name = concat(backend::name(file.op), " case ", index),
           .op = file.op,
           .seed = fields.number("seed", index + 1),
           .dimensions = {}};
  one.dimensions = read_dimensions(file.op, fields);
  std::vector<std::string> names;
  if (backend::has_encoding(file.op)) {
    names = fields.texts("encoding");
    if (names == std::vector<std::string>{"all"} && !has_cache(file.op)) {
      names = all_encodings(one);
    }
  }
  ZLLM_TRY(fields.finish());
  if (names.empty()) {
    file.cases.push_back(one);
  }
  for (const std::string& name : names) {
    Case copy = one;
    ZLLM_TRY(set_encoding(copy, name, fields));
    file.cases.push_back(std::move(copy));
  }
  return fields.finish();
}

}  // namespace

Result<CaseFile> parse_case_file(std::string_view text, std::string_view name) {
  ZLLM_TRY(const Json document, Json::parse(text, name));
  Fields fields(document, std::string(name));
  CaseFile file{.name = std::string(name), .hash = hash_of(document.dump()), .cases = {}};
  const std::string op = fields.text("operator");
  const Json::Array& cases = fields.list("cases");
  ZLLM_TRY(fields.finish());
  ZLLM_TRY(file.op, op_named(op, name));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ZLLM_TRY(add_cases(cases[i], i, file));
  }
  return file;
}

Result<std::vector<CaseFile>> built_in_cases() {
  std::vector<CaseFile> files;
  for (const EmbeddedFile& embedded : embedded_cases()) {
    ZLLM_TRY(CaseFile file, parse_case_file(embedded.text, embedded.name));
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace zllm::conformance
