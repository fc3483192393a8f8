#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/embedded/failure.h>

namespace zllm::dialect {

struct NumberRange {
  double least;
  double most;
  bool excludes_least = false;
};

struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

// The spelling of a place in a body: "messages[2]", "messages[2].content".
std::string element_path(std::string_view array, std::size_t index);
std::string member_path(std::string_view object, std::string_view name);

// Names of functions and schemas: 1 to 64 letters, digits, '_', '-' and '.'.
bool is_plain_name(std::string_view name);
constexpr std::string_view kPlainNameRule =
    "must have 1 to 64 letters, digits, underscores, hyphens or dots";

// Failures of one field, with the words of OpenAI's API as codes.
Failure wrong_type(std::string path, std::string_view expected, const Json& value);
Failure wrong_value(std::string path, std::string_view reason);
Failure missing_field(std::string path);
Failure unsupported_field(std::string path, std::string_view reason);
// Whether the failure is of a body's reader, which names fields as the body does. The engine has
// names of its own.
bool names_body_field(const Failure& failure);

// Values that are no members of an object, such as those of an array. Floats that are whole numbers
// count as integers.
Outcome<std::int64_t> read_integer(const Json& value, std::string path, IntegerRange range);
Outcome<double> read_number(const Json& value, std::string path, NumberRange range);
Outcome<std::string> read_text(const Json& value, std::string path);

// Reads an object's members by name; null counts as absent. The first failure stays: what is taken
// after it is absent, and finish() gives it. Keeps references to the object and to the names.
class FieldReader {
 public:
  // The object's own path; empty for the body. What is no object fails.
  FieldReader(const Json& object, std::string path);

  // Whether the member is there and not null.
  bool has(std::string_view name) const;
  // The member as it is, null when absent.
  const Json *take(std::string_view name);

  std::optional<bool> boolean(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name, IntegerRange range = {});
  std::optional<double> number(std::string_view name, NumberRange range);
  // One of the words; the view is of the object's text.
  std::optional<std::string_view> word(std::string_view name,
                                       std::initializer_list<std::string_view> words);
  const Json::Array *array(std::string_view name,
                           std::size_t limit = std::numeric_limits<std::size_t>::max());
  // The member where it is an object.
  const Json *object(std::string_view name);

  // Of a member with two names, the one that is there, else the first; both at once fail.
  std::string_view either(std::string_view name, std::string_view alias);

  // Fails when the member is absent.
  void require(std::string_view name);
  // Fails when the member is there: a field that exists but is not honoured.
  void refuse(std::string_view name, std::string_view reason);
  void refuse(std::initializer_list<std::string_view> names, std::string_view reason);

  // Keeps the failure unless there is one.
  void fail(Failure failure);
  void fail(std::string_view name, std::string_view reason) {
    fail(wrong_value(path_of(name), reason));
  }
  // The value, or nothing with its failure kept.
  template <class T>
  std::optional<T> keep(Outcome<T> outcome) {
    if (!outcome.ok()) {
      fail(std::move(outcome).error());
      return std::nullopt;
    }
    return std::move(outcome).value();
  }
  bool ok() const { return !failure_.has_value(); }

  std::string path_of(std::string_view name) const { return member_path(path_, name); }
  const std::string& path() const { return path_; }

  // Fails on members that nobody took, but for null ones: clients write so what they do not set.
  Outcome<Done> finish();

 private:
  const Json *object_;
  std::string path_;
  std::vector<std::string_view> taken_;
  std::optional<Failure> failure_;
};

}  // namespace zllm::dialect
