// The runs under tests/golden, as they were told. See tests/golden/golden_test.cc.
#pragma once

#include <span>
#include <string_view>

#include "tests/unit/reports/story.h"

namespace triodrill {

struct GoldenStory {
  std::string_view name;  // of its directory
  void (*tell)(Story& story);
};

std::span<const GoldenStory> GoldenStories();

}  // namespace triodrill
