#include <zllm/weight/assembly/metadata_reader.h>

#include <variant>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/config_reader.h>

namespace zllm::weight {

Error MetadataReader::error(Code code, std::string_view suffix, std::string_view text) const {
  return Error{code, concat("metadata key ", key(suffix), " ", text)};
}

Error MetadataReader::missing(std::string_view suffix) const {
  return error(Code::invalid_file, suffix, "is missing");
}

Result<std::optional<std::uint64_t>> MetadataReader::integer(std::string_view suffix,
                                                             IntegerRange range) const {
  ZLLM_TRY(const auto value, metadata_->unsigned_integer(key(suffix)));
  if (value && (*value < range.minimum || *value > range.maximum)) {
    return error(Code::invalid_file, suffix,
                 concat("must be ", describe(range), ", found ", *value));
  }
  return value;
}

Result<std::uint64_t> MetadataReader::required_integer(std::string_view suffix,
                                                       IntegerRange range) const {
  ZLLM_TRY(const auto value, integer(suffix, range));
  if (!value) {
    return missing(suffix);
  }
  return *value;
}

Result<std::uint64_t> MetadataReader::integer_or(std::string_view suffix, IntegerRange range,
                                                 std::uint64_t fallback) const {
  ZLLM_TRY(const auto value, integer(suffix, range));
  return value.value_or(fallback);
}

Result<std::optional<std::uint64_t>> MetadataReader::uniform_integer(std::string_view suffix,
                                                                     IntegerRange range,
                                                                     std::uint64_t layers) const {
  const GgufValue *value = metadata_->find(key(suffix));
  if (value == nullptr || !std::holds_alternative<GgufArray>(*value)) {
    return integer(suffix, range);
  }
  ZLLM_TRY(const auto items, metadata_->integers(key(suffix)));
  if (!items || items->size() != layers) {
    return error(Code::invalid_file, suffix,
                 concat("must have one entry for each of ", layers, " layers, found ",
                        items ? items->size() : 0));
  }
  for (const std::int64_t item : *items) {
    if (item < 0 || static_cast<std::uint64_t>(item) < range.minimum ||
        static_cast<std::uint64_t>(item) > range.maximum) {
      return error(Code::invalid_file, suffix,
                   concat("must hold ", describe(range), " in each entry, found ", item));
    }
    if (item != items->front()) {
      return error(Code::unsupported, suffix,
                   concat("differs between layers (", items->front(), " and ", item,
                          "), which this model family does not support"));
    }
  }
  return std::optional(static_cast<std::uint64_t>(items->front()));
}

Result<std::optional<double>> MetadataReader::number(std::string_view suffix,
                                                     NumberRange range) const {
  ZLLM_TRY(const auto value, metadata_->number(key(suffix)));
  // Spelt so that NaN fails too.
  if (value && !(*value >= range.minimum && *value <= range.maximum)) {
    return error(Code::invalid_file, suffix,
                 concat("must be ", describe(range), ", found ", *value));
  }
  return value;
}

Result<double> MetadataReader::required_number(std::string_view suffix, NumberRange range) const {
  ZLLM_TRY(const auto value, number(suffix, range));
  if (!value) {
    return missing(suffix);
  }
  return *value;
}

Result<double> MetadataReader::number_or(std::string_view suffix, NumberRange range,
                                         double fallback) const {
  ZLLM_TRY(const auto value, number(suffix, range));
  return value.value_or(fallback);
}

Result<std::optional<std::string_view>> MetadataReader::string(std::string_view suffix) const {
  return metadata_->string(key(suffix));
}

}  // namespace zllm::weight
