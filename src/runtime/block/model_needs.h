#pragma once

#include <string>
#include <utility>
#include <vector>

#include <zllm/backend/capability/op_key.h>
#include <zllm/backend/capability/paged.h>
#include <zllm/backend/capability/slots.h>
#include <zllm/runtime/block/state_plan.h>

namespace zllm::runtime::block {

// What a model asks of a backend and of memory, known from its files' headers. The backend adds
// what a page and a slot of these planes take.
struct ModelNeeds {
  std::vector<backend::OpKey> keys;
  backend::PagedCacheSpec pages;
  backend::SlotCacheSpec slots;  // no planes: no recurrent state
  StateNeed states;
  std::vector<std::string> warnings;  // what is odd about the files, a sentence each
};

}  // namespace zllm::runtime::block
