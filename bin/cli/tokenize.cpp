#include "tokenize.h"

#include <algorithm>
#include <vector>

#include <zllm/base/checked.h>
#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/embedded/model_text.h>

#include "model_location.h"
#include "output.h"

namespace zllm::cli {
namespace {

struct Options {
  std::string model;
  std::string pre_tokenizer;
  bool parse_special = false;
  bool decode = false;
  bool batch = false;
};

void describe(Options& options, OptionTable& table) {
  table.text("model", "PATH", "Folder with the tokenizer's files, or GGUF file", options.model);
  table.text("pre-tokenizer", "NAME", "In place of what a GGUF file names", options.pre_tokenizer);
  table.toggle("parse-special", "Control tokens spelled out in the text become these tokens",
               options.parse_special);
  table.toggle("decode", "A JSON array of ids on stdin, its text on stdout", options.decode);
  table.toggle("batch", "One JSON string (or array of ids) a line, one JSON answer a line",
               options.batch);
}

Result<std::vector<TokenId>> to_ids(const Json& json) {
  if (json.as_array() == nullptr) {
    return Error{Code::invalid_argument,
                 concat("expected an array of ids, found ", json.type_name())};
  }
  std::vector<TokenId> ids;
  for (const Json& item : *json.as_array()) {
    std::int64_t value = 0;
    const auto id = item.as_integer(value) ? checked_cast<TokenId>(value) : std::nullopt;
    if (!id) {
      return Error{Code::invalid_argument, concat("item ", ids.size(), " is no token id")};
    }
    ids.push_back(*id);
  }
  return ids;
}

std::string to_text(const std::vector<TokenId>& ids) {
  std::string text = "[";
  for (const TokenId id : ids) {
    text += concat(text.size() == 1 ? "" : ",", id);
  }
  return text + "]";
}

Result<std::string> decode(const Options& options, const text::Tokenizer& tokenizer,
                           std::string_view line) {
  ZLLM_TRY(const Json json, Json::parse(line, "the ids"));
  ZLLM_TRY(const std::vector<TokenId> ids, to_ids(json));
  ZLLM_TRY(std::string text, tokenizer.decode(ids));
  return options.batch ? Json(std::move(text)).dump() : text;
}

Result<std::string> encode(const Options& options, const text::Tokenizer& tokenizer,
                           std::string_view line) {
  std::string text(line);
  if (options.batch) {
    ZLLM_TRY(const Json json, Json::parse(line, "the text"));
    if (json.as_string() == nullptr) {
      return Error{Code::invalid_argument, concat("expected a string, found ", json.type_name())};
    }
    text = *json.as_string();
  }
  ZLLM_TRY(const std::vector<TokenId> ids,
           tokenizer.encode(text, {.parse_special = options.parse_special}));
  return to_text(ids);
}

Result<std::string> answer(const Options& options, const text::Tokenizer& tokenizer,
                           std::string_view line) {
  return options.decode ? decode(options, tokenizer, line) : encode(options, tokenizer, line);
}

Status run_batch(const Options& options, const text::Tokenizer& tokenizer, std::string_view input) {
  std::string out;
  for (std::size_t number = 1; !input.empty(); ++number) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    Result<std::string> line = answer(options, tokenizer, input.substr(0, end));
    if (!line.ok()) {
      ZLLM_TRY(write_out(out));
      return std::move(line).error().within(concat("line ", number));
    }
    out += *line + "\n";
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return write_out(out);
}

Status run(const Options& options) {
  ZLLM_TRY(const std::string path, locate_model(options.model));
  ZLLM_TRY(const ModelText text, load_model_text(path, options.pre_tokenizer));
  for (const std::string& warning : text.tokenizer.warnings()) {
    warn(concat("warning: ", warning));
  }
  ZLLM_TRY(const std::string input, read_stdin());
  if (options.batch) {
    return run_batch(options, text.tokenizer, input);
  }
  ZLLM_TRY(const std::string out, answer(options, text.tokenizer, input));
  return write_out(options.decode ? out : out + "\n");
}

}  // namespace

Command tokenize_command() {
  return make_command<Options>("tokenize", "Text on stdin to ids on stdout, or the reverse",
                               describe, run);
}

}  // namespace zllm::cli
