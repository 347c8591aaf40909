// Whom a signal names, by labels: of an alert, of a series, of what Slurm says. Pure. Built once a run, then const: any
// thread may call it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coordinator/watch/firing.h"
#include "triodrill/status.h"
#include "triodrill/v1/drill.pb.h"
#include "triodrill/v1/timeline.pb.h"

namespace triodrill::watch {

// Who there is to be named.
struct Named {
  explicit Named(const v1::PartitionSpec& partition);
  std::map<std::string, int> slots;  // by node
  std::map<std::string, std::string> node_of_address;
};

class LabelSubject {
 public:
  // Fails for a subject that no label can fill in.
  static Result<LabelSubject> Compile(const v1::Signal& signal);

  // `said` with the signal's id, its meaning and whom it names, and a Remark beside it where the labels name somebody
  // whom the partition does not have.
  void Tell(const Named& known, const Labels& labels, v1::SignalSeen said, std::vector<v1::Fact>& facts) const;

 private:
  // How a field of a Subject is filled in.
  struct Part {
    enum class From { kNothing, kLiteral, kLabel, kAddress };
    From from = From::kNothing;
    std::string text;  // the literal, or the label's name
  };

  static Result<Part> CompilePart(const std::string& signal, const std::string& text);
  static Result<std::string> Fill(const Part& part, const Named& known, const Labels& labels);
  Result<std::string> Name(const Named& known, const Labels& labels) const;

  std::string id_;
  v1::Meaning means_ = v1::MEANING_UNSPECIFIED;
  Part node_;
  Part local_rank_;
};

// The labels and one more value, as JSON that is cut to what the timeline keeps of a line.
std::string RawOfLabels(const Labels& labels, const char* name, const std::string& value);

}  // namespace triodrill::watch
