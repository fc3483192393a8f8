#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/message.h>

namespace zllm::dialect::responses {

struct Input {
  std::vector<Message> turns;      // with those before
  std::vector<std::string> items;  // JSON texts, each with an id
};

// The stored item of an id, for items that refer to one.
using ItemLookup = std::function<std::optional<Json>(const std::string& id)>;

// "input", which may be left out where there are turns to go on from. before: those; id_suffix ends
// ids of items that have none.
Input read_input(FieldReader& fields, std::vector<Message> before, const std::string& id_suffix,
                 const ItemLookup& find_item);

}  // namespace zllm::dialect::responses
