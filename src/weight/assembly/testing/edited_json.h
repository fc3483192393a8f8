#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/base/json.h>

namespace zllm::weight::testing {

inline Json parse(std::string_view text) {
  Result<Json> json = Json::parse(text, "test");
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? std::move(json).value() : Json();
}

// The object with one key set; a null value stays in it as null.
inline Json with(const Json& object, std::string_view key, Json value) {
  Json::Object members = *object.as_object();
  for (auto& [name, member] : members) {
    if (name == key) {
      member = std::move(value);
      return Json(std::move(members));
    }
  }
  members.emplace_back(std::string(key), std::move(value));
  return Json(std::move(members));
}

inline Json with(const Json& object, std::string_view key, std::string_view value_text) {
  return with(object, key, parse(value_text));
}

inline Json without(const Json& object, std::string_view key) {
  Json::Object members;
  for (const auto& member : *object.as_object()) {
    if (member.first != key) {
      members.push_back(member);
    }
  }
  return Json(std::move(members));
}

// Values that no key of a model's size may have.
inline std::vector<Json> bad_integers() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {Json(std::int64_t{-1}),
          Json(std::int64_t{0}),
          Json(std::numeric_limits<std::int64_t>::min()),
          Json(std::numeric_limits<std::int64_t>::max()),
          Json(std::numeric_limits<std::uint64_t>::max()),
          Json(1.5),
          Json(1e30),
          Json(kInfinity),
          Json(-kInfinity),
          Json(std::numeric_limits<double>::quiet_NaN()),
          Json(true),
          Json(std::string("8")),
          Json(Json::Array{}),
          Json(Json::Object{})};
}

// Values that no positive number of a configuration may have.
inline std::vector<Json> bad_numbers() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {Json(std::int64_t{-1}),
          Json(std::int64_t{0}),
          Json(-0.0),
          Json(1e300),
          Json(-1e300),
          Json(5e-324),
          Json(kInfinity),
          Json(-kInfinity),
          Json(std::numeric_limits<double>::quiet_NaN()),
          Json(true),
          Json(std::string("1e-5")),
          Json(Json::Array{}),
          Json(Json::Object{})};
}

// A failed result whose message names everything listed.
template <class R>
::testing::AssertionResult names(const R& result, const std::vector<std::string_view>& parts) {
  if (result.ok()) {
    return ::testing::AssertionFailure() << "succeeded";
  }
  for (const std::string_view part : parts) {
    if (result.error().message.find(part) == std::string::npos) {
      return ::testing::AssertionFailure()
             << "'" << result.error().message << "' does not name '" << part << "'";
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace zllm::weight::testing
