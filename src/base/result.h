#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <zllm/base/check.h>

// Expected failures as values. A function that can fail returns Result<T> or Status; the caller
// handles the error or passes it up with ZLLM_TRY. Exceptions never cross a region.
namespace zllm {

enum class Code {
  invalid_argument,    // a request, option or parameter that the caller can mend
  invalid_file,        // a model file that breaks its format or contradicts itself
  not_found,           // a file, tensor or name that does not exist
  unsupported,         // legal, but not implemented by this build, backend or model
  resource_exhausted,  // no memory, pages or slots left
  io,                  // the operating system refused
  cancelled,           // the caller asked for it
  internal,            // a dependency failed in a way that its contract does not allow
};

std::string_view name(Code code);

struct Error {
  Code code = Code::internal;
  std::string message;  // one English sentence that names the file, tensor or field

  // Puts "where: " in front, so that the outermost place is read first.
  Error within(std::string_view where) &&;
};

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    ZLLM_CHECK(ok(), "value() of a failed Result");
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    ZLLM_CHECK(ok(), "value() of a failed Result");
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    ZLLM_CHECK(ok(), "value() of a failed Result");
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  const Error& error() const& {
    ZLLM_CHECK(!ok(), "error() of a successful Result");
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    ZLLM_CHECK(!ok(), "error() of a successful Result");
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }

  const Error& error() const& {
    ZLLM_CHECK(!ok(), "error() of a successful Status");
    return *error_;
  }
  Error&& error() && {
    ZLLM_CHECK(!ok(), "error() of a successful Status");
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace zllm

// ZLLM_TRY(expression): returns the error of a Status or Result from the enclosing function.
// ZLLM_TRY(declaration, expression): also moves the value of a Result into the declaration, as in
// ZLLM_TRY(auto file, open(path)).
#define ZLLM_TRY(...) ZLLM_TRY_PICK(__VA_ARGS__, ZLLM_TRY_VALUE, ZLLM_TRY_STATUS, )(__VA_ARGS__)
#define ZLLM_TRY_PICK(first, second, macro, ...) macro
#define ZLLM_TRY_JOIN_(a, b) a##b
#define ZLLM_TRY_JOIN(a, b) ZLLM_TRY_JOIN_(a, b)
#define ZLLM_TRY_STATUS(expression)              \
  do {                                           \
    auto zllm_try_result = (expression);         \
    if (!zllm_try_result.ok()) {                 \
      return std::move(zllm_try_result).error(); \
    }                                            \
  } while (false)
#define ZLLM_TRY_VALUE(declaration, expression) \
  ZLLM_TRY_VALUE_(ZLLM_TRY_JOIN(zllm_try_result_, __LINE__), declaration, expression)
#define ZLLM_TRY_VALUE_(result, declaration, expression) \
  auto result = (expression);                            \
  if (!result.ok()) {                                    \
    return std::move(result).error();                    \
  }                                                      \
  declaration = std::move(result).value()
