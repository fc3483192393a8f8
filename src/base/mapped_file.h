#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <zllm/base/result.h>

namespace zllm {

// A regular file mapped read-only. A file that shrinks while it is mapped does not crash the
// process: the lost pages read as zeros and `check` reports it from then on. Movable; the bytes
// stay where they are. Thread-safe after open.
class MappedFile {
 public:
  // Refuses directories, FIFOs, devices and whatever else is no regular file, without blocking.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&&) noexcept;
  MappedFile& operator=(MappedFile&&) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const;
  const std::string& path() const;
  // An error once any page of the file turned out to be gone.
  Status check() const;
  // Tells the system that these bytes of some mapping are not needed in memory for now; they are
  // read from the file again when touched.
  static void release(std::span<const std::byte> bytes);

 private:
  struct Mapping;
  explicit MappedFile(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace zllm
