// How long a source has not answered. Pure, one for each source.
#pragma once

#include <optional>
#include <string>

#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill::watch {

class Outage {
 public:
  // It has answered just before `now`. A source may miss answers for `patience` without a word: each only widens the
  // next bound.
  Outage(std::string source, Nanos patience, TimePoint now)
      : source_(std::move(source)), patience_(patience), last_good_(now) {}

  // The end of one question. A gap is told once it is longer than the patience, and once when it is over; what it
  // covers is the fact's instant, from the last good answer until now.
  struct Told {
    v1::MonitoringGap gap;
    Instant at;
  };
  std::optional<Told> Take(const Status& status, TimePoint now) {
    const bool was_told = !problem_.empty();
    const Instant since{last_good_, now};
    if (status.ok()) {
      last_good_ = now;
      if (!was_told) return std::nullopt;
      return Told{Gap(std::exchange(problem_, ""), true), since};
    }
    if (was_told || now - last_good_ <= patience_) return std::nullopt;
    problem_ = std::string(status.message());
    return Told{Gap(problem_, false), since};
  }

  const std::string& problem() const { return problem_; }  // "" while it answers

 private:
  v1::MonitoringGap Gap(const std::string& problem, bool over) const {
    v1::MonitoringGap gap;
    gap.set_source(source_);
    gap.set_problem(problem);
    gap.set_over(over);
    return gap;
  }

  const std::string source_;
  const Nanos patience_;
  TimePoint last_good_;
  std::string problem_;
};

}  // namespace triodrill::watch
