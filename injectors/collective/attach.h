// This process's page: made at its first NCCL call, shared with whoever maps it, gone with the process. A child of a
// fork lets go of its parent's and makes its own. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "injectors/collective/page.h"

namespace triodrill::collective {

// Bit of `armed` in the page that stands in until there is one: so the one word that is looked at in each call says
// that, too.
inline constexpr uint32_t kNotAttached = 1u << 31;

// Never nullptr. Where no page could be made it is one that nobody arms.
extern constinit std::atomic<Page*> current_page;

inline Page& CurrentPage() { return *current_page.load(std::memory_order_relaxed); }

// Makes the page if there is none. `real` is a function of the NCCL that is called.
Page& Attach(const void* real);

}  // namespace triodrill::collective
