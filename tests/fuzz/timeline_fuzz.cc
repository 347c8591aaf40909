// A bundle's timeline as a forger may leave it: it is read the same in pieces of any size, and facts in any order and
// number are measured, judged and shown without a fall.
#include "reports/evidence/derive.h"
#include "reports/evidence/timeline_reader.h"
#include "reports/render/html.h"
#include "reports/render/junit.h"
#include "reports/render/sarif.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/reports/story.h"
#include "triodrill/schema/json.h"

namespace triodrill {
namespace {

struct Read {
  Status status;
  std::string head;
  size_t facts = 0;
};

Read ReadInPieces(std::string_view text, size_t piece) {
  TimelineReader reader;
  Read read;
  while (!text.empty() && read.status.ok()) {
    read.status = reader.Add(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
  }
  if (!read.status.ok()) return read;
  read.head = reader.head();
  const Result<Timeline> timeline = reader.Finish();
  read.status = timeline.status();
  if (timeline.ok()) read.facts = timeline->size();
  return read;
}

void ReadsTheSameInPieces(std::string_view text) {
  const Read whole = ReadInPieces(text, std::max<size_t>(text.size(), 1));
  const Read pieces = ReadInPieces(text, 7);
  fuzz::Must(whole.status == pieces.status, "pieces are read otherwise than the whole");
  fuzz::Must(whole.head == pieces.head && whole.facts == pieces.facts, "pieces hold something else than the whole");
}

// Each line a fact, as if somebody had bound them anew.
Timeline Unbound(std::string_view text) {
  Timeline timeline;
  while (!text.empty() && timeline.size() < 4096) {
    const size_t end = text.find('\n');
    v1::Fact fact;
    if (FromJson(text.substr(0, end), fact).ok()) {
      fact.set_sequence(static_cast<int64_t>(timeline.size()));
      timeline.Add(std::move(fact));
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  timeline.complete = timeline.EndsWithRunEnded();
  return timeline;
}

v1::Plan PlanOfAll() {
  Story story;
  *story.expect().mutable_detection_latency()->mutable_max() = Lasting(10);
  *story.expect().mutable_recovery_time()->mutable_max() = Lasting(90);
  story.expect().mutable_steps_lost()->set_max(50);
  story.expect().mutable_isolation()->set_at_most(v1::DOMAIN_NODE);
  story.expect().set_state_check("equal");
  story.Sham().End(20);
  story.Trial().Pause("n2/0", "until", 30).End(20);
  return story.plan;
}

}  // namespace
}  // namespace triodrill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const triodrill::v1::Plan plan = triodrill::PlanOfAll();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  triodrill::ReadsTheSameInPieces(text);
  const triodrill::Timeline timeline = triodrill::Unbound(text);
  const triodrill::Derived derived = triodrill::Derive(plan, timeline);
  const triodrill::Reported run{&plan, &timeline, &derived.trio, &derived.verdict, "b", ""};
  triodrill::fuzz::Must(!triodrill::Html({run}).empty(), "no page");
  triodrill::fuzz::Must(!triodrill::JUnit({run}).empty() && !triodrill::Sarif({run}).empty(), "no report");
  triodrill::fuzz::Must(timeline.size() > 0 || derived.verdict.answer != triodrill::Answer::kPass,
                        "nothing happened, and it passed");
  return 0;
}
