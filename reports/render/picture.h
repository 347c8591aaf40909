// A trial as an SVG picture, to stand in an HTML page whose style sheet colours it by class: a lane for each slot, the
// pipeline's milestones across them with their uncertainty as a band, and the rate of steps below. Pure.
#pragma once

#include <string>
#include <string_view>

#include "reports/render/lanes.h"

namespace triodrill {

// `id` is unique in the page: letters, digits and '-'. `title` is read out in place of the picture.
std::string TrialPicture(const TrialLanes& lanes, std::string_view id, std::string_view title);

// One measured time of several trials: solid as far as it is certain, pale where it is not, an arrow where it was
// censored.
struct Bar {
  std::string label;
  Delay delay;
};
std::string DelaysPicture(const std::vector<Bar>& bars, std::string_view id, std::string_view title);

}  // namespace triodrill
