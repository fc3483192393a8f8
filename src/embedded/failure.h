#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include <zllm/base/check.h>
#include <zllm/base/result.h>

namespace zllm {

enum class FailureKind : std::uint8_t {
  invalid,        // the request: field says what of it
  too_long,       // the prompt does not fit the context
  unsupported,    // legal, but not of this model
  not_found,      // a model or a stored thing of that name
  busy,           // the queue is full: later
  loading,        // the model is not loaded yet: later
  deadline,       // not done in time
  shut_down,      // the engine ends
  out_of_memory,  // the states do not fit
  internal,       // the engine's or the model's fault
};

// Why a request was refused or ended, for any dialect to tell in its own shape.
struct Failure {
  FailureKind kind = FailureKind::internal;
  std::string message;     // one English sentence
  std::string field = {};  // of the request as its dialect spells it; empty where none is to blame
  std::string code = {};   // a word that programs may look for; empty = the kind's own

  Failure() = default;
  Failure(FailureKind kind_of, std::string text, std::string of_field = {}, std::string word = {})
      : kind(kind_of),
        message(std::move(text)),
        field(std::move(of_field)),
        code(std::move(word)) {}
  // From an error of a region below.
  static Failure from(const Error& error, std::string field = {});
};

// A value or a Failure; the Result of everything that a request can fail in.
template <class T>
class [[nodiscard]] Outcome {
 public:
  using value_type = T;
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}
  Outcome(const Error& error) : state_(std::in_place_index<1>, Failure::from(error)) {}

  bool ok() const { return state_.index() == 0; }
  T& value() & {
    ZLLM_CHECK(ok(), "value() of a failed Outcome");
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    ZLLM_CHECK(ok(), "value() of a failed Outcome");
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T *operator->() { return &value(); }
  // Named as in Result so that ZLLM_TRY works with both.
  const Failure& error() const& {
    ZLLM_CHECK(!ok(), "error() of a successful Outcome");
    return *std::get_if<1>(&state_);
  }
  Failure&& error() && {
    ZLLM_CHECK(!ok(), "error() of a successful Outcome");
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Failure> state_;
};

// A step without a value that can fail.
struct Done {};

}  // namespace zllm
