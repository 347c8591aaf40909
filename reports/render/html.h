// One page for people who would rather look: the verdict and what blocks it first, then the trio, each trial's timeline
// as a picture, and what the figures rest on. A file of its own: no script, nothing fetched, light and dark, and made
// for print, too. Strings that others wrote are escaped. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/render/reported.h"

namespace triodrill {

// At least one. Of several, a table of all of them stands first.
std::string Html(const std::vector<Reported>& runs);

}  // namespace triodrill
