// A page that a process shares with whoever may look at its descriptors: a sealed memfd of a known name, size and
// beginning. Found through /proc/PID/fd, checked, mapped. Its owner may write anything into it at any time. One thread;
// a crash leaves nothing.
#pragma once

#include <cstddef>
#include <string_view>

#include "injectors/process/process_identity.h"
#include "triodrill/status.h"

namespace triodrill {

struct SharedPageKind {
  std::string_view name;                 // for messages: "the workload's page"
  std::string_view link;                 // how the kernel spells it in /proc/PID/fd
  size_t bytes = 0;                      // its size, to the byte
  bool (*begins_well)(void*) = nullptr;  // magic and layout
};

class SharedPage {
 public:
  // None if the process has no such page. NotFound if it has ended; it is checked that it lives after the page was
  // opened, so the page is its own.
  static Result<SharedPage> Find(const ProcessHandle& process, const SharedPageKind& kind);
  SharedPage(SharedPage&& other) noexcept;
  SharedPage& operator=(SharedPage&&) = delete;
  ~SharedPage();

  void* get() const { return memory_; }  // nullptr: none

 private:
  SharedPage(void* memory, size_t bytes) : memory_(memory), bytes_(bytes) {}
  static Result<SharedPage> MapIfPage(const std::string& path, const SharedPageKind& kind);

  void* memory_;
  size_t bytes_;
};

}  // namespace triodrill
