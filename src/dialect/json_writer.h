#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>

namespace zllm::dialect {

// Appends compact JSON text, setting commas. The caller pairs begin and end, and gives a key before
// every value of an object; the forms with a key do both.
class JsonWriter {
 public:
  JsonWriter() = default;
  // Goes on after text that ends where a value or a key may come.
  explicit JsonWriter(std::string begun) : out_(std::move(begun)) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name) {
    separate();
    append_json_string(out_, name);
    out_ += ':';
    return *this;
  }

  // Bytes that are not UTF-8 become U+FFFD.
  JsonWriter& text(std::string_view value) {
    separate();
    append_json_string(out_, value);
    return done();
  }
  template <std::integral T>
  JsonWriter& integer(T value) {
    return raw(to_text(value));
  }
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  // Always spelled as a float; null for what JSON has no number for.
  JsonWriter& number(double value);
  // A log-probability: minus infinity and what is below -9999 become -9999.0, NaN null.
  JsonWriter& log_probability(double value);
  // One whole JSON text.
  JsonWriter& raw(std::string_view json) {
    separate();
    out_ += json;
    return done();
  }

  JsonWriter& begin_object(std::string_view name) { return key(name).begin_object(); }
  JsonWriter& begin_array(std::string_view name) { return key(name).begin_array(); }
  JsonWriter& text(std::string_view name, std::string_view value) { return key(name).text(value); }
  template <std::integral T>
  JsonWriter& integer(std::string_view name, T value) {
    return key(name).integer(value);
  }
  JsonWriter& boolean(std::string_view name, bool value) { return key(name).boolean(value); }
  JsonWriter& null(std::string_view name) { return key(name).null(); }
  JsonWriter& number(std::string_view name, double value) { return key(name).number(value); }
  JsonWriter& raw(std::string_view name, std::string_view json) { return key(name).raw(json); }

  const std::string& str() const& { return out_; }
  std::string str() && { return std::move(out_); }

 private:
  JsonWriter& open(char bracket) {
    separate();
    out_ += bracket;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    return done();
  }
  void separate() {
    if (needs_comma_) {
      out_ += ',';
    }
    needs_comma_ = false;
  }
  JsonWriter& done() {
    needs_comma_ = true;
    return *this;
  }

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace zllm::dialect
