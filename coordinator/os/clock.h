// The machine's clock: the only file of coordinator/ that reads the time.
#pragma once

#include "triodrill/time.h"

namespace triodrill::coordinator {

class SystemClock final : public Clock {
 public:
  TimePoint Now() override;
};

}  // namespace triodrill::coordinator
