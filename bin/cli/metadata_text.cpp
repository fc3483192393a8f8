#include "metadata_text.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <zllm/base/text.h>

#include "output.h"

namespace zllm::cli {
namespace {

using weight::GgufArray;
using weight::GgufValue;

constexpr std::size_t kShownItems = 8;
constexpr std::size_t kShownBytes = 160;  // of a text such as a chat template

std::string text_of(std::string_view text) {
  std::string shown = printable(text.substr(0, kShownBytes));
  if (text.size() > kShownBytes) {
    shown += concat("... (", text.size(), " bytes)");
  }
  return shown;
}

template <class T>
std::string scalar_text(const T& value) {
  if constexpr (std::is_convertible_v<T, std::string_view>) {
    return text_of(value);
  } else if constexpr (std::is_same_v<T, GgufArray>) {
    return metadata_text(GgufValue(value));
  } else {
    return to_text(value);
  }
}

template <class T>
Json scalar_json(const T& value) {
  if constexpr (std::is_convertible_v<T, std::string_view>) {
    return Json(std::string(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isfinite(value) ? Json(value) : Json(to_text(value));
  } else if constexpr (std::is_same_v<T, GgufArray>) {
    return metadata_json(GgufValue(value));
  } else {
    return Json(value);
  }
}

}  // namespace

std::string metadata_text(const GgufValue& value) {
  const auto *array = std::get_if<GgufArray>(&value);
  if (array == nullptr) {
    return std::visit(
        [](const auto& scalar) -> std::string {
          if constexpr (std::is_same_v<std::decay_t<decltype(scalar)>, GgufArray>) {
            return {};
          } else {
            return scalar_text(scalar);
          }
        },
        value);
  }
  return std::visit(
      [](const auto& items) {
        std::string text = concat("[", items.size(), "] ");
        for (std::size_t i = 0; i < std::min(items.size(), kShownItems); ++i) {
          const auto& item = items[i];
          text += concat(i == 0 ? "" : ", ", scalar_text(item));
        }
        return text + (items.size() > kShownItems ? ", ..." : "");
      },
      array->items);
}

std::string metadata_text(const Json& value) {
  const std::string *text = value.as_string();
  return text_of(text != nullptr ? *text : value.dump());
}

Json metadata_json(const GgufValue& value) {
  const auto *array = std::get_if<GgufArray>(&value);
  if (array == nullptr) {
    return std::visit(
        [](const auto& scalar) -> Json {
          if constexpr (std::is_same_v<std::decay_t<decltype(scalar)>, GgufArray>) {
            return {};
          } else {
            return scalar_json(scalar);
          }
        },
        value);
  }
  return std::visit(
      [](const auto& items) -> Json {
        Json::Array first;
        for (std::size_t i = 0; i < std::min(items.size(), kShownItems); ++i) {
          const auto& item = items[i];
          first.push_back(scalar_json(item));
        }
        if (items.size() <= kShownItems) {
          return Json(std::move(first));
        }
        return Json(Json::Object{{"items", Json(static_cast<std::uint64_t>(items.size()))},
                                 {"first", Json(std::move(first))}});
      },
      array->items);
}

}  // namespace zllm::cli
