// The facts of a run as a chained file, and back.
//
// timeline.jsonl holds one fact a line: its JSON (triodrill/schema/json.h) with one more member at the end, "prev", the
// SHA-256 in hex of the line before (its bytes without the newline); 64 zeros in the first line. So no line can be
// changed, dropped or put in between without every later line telling. The plan is bound by RunStarted.plan_digest.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reports/evidence/progress_table.h"
#include "triodrill/status.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill {

Instant ToInstant(const v1::Instant& instant);

// Where facts go. Implementations: TimelineWriter, MemorySink.
class FactSink {
 public:
  virtual ~FactSink() = default;
  // Assigns the fact's sequence number, from 0. The fact's instant must not end before it begins.
  virtual Status Append(v1::Fact fact) = 0;
};

// A finished or unfinished sequence of facts. A value; nothing below the timeline touches a file.
struct Timeline {
  std::vector<v1::Fact> facts;  // all but progress, by sequence
  ProgressTable progress;       // by sequence
  bool complete = false;        // the writer lived to write RunEnded, and nothing was cut off
  std::string problem;          // why it is not complete

  // To where it belongs; `fact` comes after all that are there.
  void Add(v1::Fact fact);
  size_t size() const { return facts.size() + progress.size(); }
  bool EndsWithRunEnded() const;
};

// Keeps the facts, for tests and for whoever measures while the run goes on.
class MemorySink : public FactSink {
 public:
  Status Append(v1::Fact fact) override;
  // A copy of what is there so far; complete once it ends with RunEnded.
  Timeline Snapshot() const;
  const std::vector<v1::Fact>& facts() const { return facts_; }

 private:
  std::vector<v1::Fact> facts_;
};

// Appends to a new timeline.jsonl. Owned by one thread. Lines are gathered and written in groups: call Sync where a
// crash must not lose what was said (before an effect, at a trial's end). A crash leaves whole lines and at most one
// cut line at the end, which a reader takes as the writer's death. After an error nothing more is written: every later
// call returns the first error.
class TimelineWriter : public FactSink {
 public:
  static Result<std::unique_ptr<TimelineWriter>> Create(const std::string& path);  // the file must not exist
  ~TimelineWriter() override;  // writes what was gathered; does not sync
  TimelineWriter(const TimelineWriter&) = delete;
  TimelineWriter& operator=(const TimelineWriter&) = delete;

  Status Append(v1::Fact fact) override;
  Status Flush();  // to the kernel
  Status Sync();   // to the disk

 private:
  TimelineWriter(int fd, std::string path);

  int fd_;
  std::string path_;
  std::string pending_;
  std::string previous_;
  int64_t next_ = 0;
  Status broken_;
};

// Checks the chain, the sequence numbers and the instants. A line cut at the end means that the writer died: the facts
// before it are returned with complete = false. Anything else wrong, anywhere, is DataLoss with the line's number.
Result<Timeline> ParseTimeline(std::string_view text);
// In pieces. `head`, if given, becomes the SHA-256 of the last whole line.
Result<Timeline> ReadTimeline(const std::string& path, std::string* head = nullptr);

}  // namespace triodrill
