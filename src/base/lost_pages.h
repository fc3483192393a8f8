#pragma once

#include <cstddef>
#include <optional>
#include <span>

// Reading a mapped page that its file no longer has raises SIGBUS. This is the process-wide list of
// mappings in which such a read gives zeros instead.
namespace zllm::lost_pages {

constexpr std::size_t kMappingLimit = 4096;  // files mapped at once; the largest sets have hundreds

// Puts a mapping under guard, given whole pages from its first one on. Nothing when kMappingLimit
// are guarded already. The first call installs the handler of SIGBUS; addresses outside all guarded
// mappings go to the handler that was there before. Thread-safe, as all functions here.
std::optional<std::size_t> guard(std::span<const std::byte> mapping);

// Ends the guard; the mapping must still exist.
void release(std::size_t slot);

// Whether a page of the guarded mapping turned out to be gone. All pages behind that one read as
// zeros from then on.
bool lost(std::size_t slot);

}  // namespace zllm::lost_pages
