// Watches a Prometheus and an Alertmanager as a pipeline's profile says: queries that are asked again and again, what
// is firing, and the webhook. Nothing is ever written to either: HttpReader knows GET alone, the receiver answers with
// a status. Owned by whoever runs a drill. Threads: one that asks Prometheus, one that asks Alertmanager, and the
// receiver's; each hands what it has seen to the sink. A crash leaves nothing behind.
//
// Timing. An appeared series: SeriesWatch. A firing: FiringInstant, with the clock of Prometheus measured by asking it
// for its time each second, and with what Alertmanager listed at each look. Firings that Alertmanager lists when
// watching begins are old, and are never told.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coordinator/watch/firing.h"
#include "coordinator/watch/http_reader.h"
#include "coordinator/watch/label_matcher.h"
#include "coordinator/watch/observed.h"
#include "coordinator/watch/outage.h"
#include "coordinator/watch/series.h"
#include "coordinator/watch/server_clock.h"
#include "coordinator/watch/webhook_receiver.h"
#include "triodrill/v1/drill.pb.h"

namespace triodrill::watch {

class MonitoringWatch {
 public:
  // Null if the profile has no `monitoring`. Fails with Unavailable if one of the two does not answer now, and for a
  // profile that cannot be watched. `webhook_program` is triodrill-webhook, started if the profile listens for one.
  static Result<std::unique_ptr<MonitoringWatch>> Start(const v1::PipelineSpec& pipeline,
                                                        const v1::PartitionSpec& partition,
                                                        const std::string& webhook_program, Clock& clock,
                                                        ObservedSink sink);
  ~MonitoringWatch();  // ends the questions under way and joins the threads
  MonitoringWatch(const MonitoringWatch&) = delete;
  MonitoringWatch& operator=(const MonitoringWatch&) = delete;

  // Any thread. Empty while every source answers.
  std::vector<std::string> Problems() const;

  // One answer of each, with GET alone, on connections of its own: may be called on any thread.
  Result<v1::MonitoringFingerprint> Fingerprint() const;

  // Where the webhook is listened for; null if the profile does not ask for it.
  const WebhookReceiver* receiver() const { return receiver_.get(); }

 private:
  using Key = std::pair<Nanos, std::string>;  // of a firing
  struct Settings {
    v1::Monitoring monitoring;
    std::string token;
    Nanos scrape_interval{}, evaluation_interval{}, timeout{};
  };
  struct Asked {  // one query
    TimePoint due;
    SeriesWatch series;
    Outage* outage = nullptr;
  };

  MonitoringWatch(Settings settings, LabelMatcher matcher, Clock& clock, ObservedSink sink);
  static Result<Settings> Read(const v1::Monitoring& monitoring);
  Result<std::unique_ptr<HttpReader>> ReaderOf(const std::string& url) const;
  Status Begin();
  Status Listen(const std::string& webhook_program);

  void AskPrometheus(const std::stop_token& stop);
  Status AskTime();
  Status AskQuery(size_t query);
  void AskAlertmanager(const std::stop_token& stop);
  Status AskAlerts();
  void TakeListed(const std::vector<Firing>& firing, const Instant& asked, std::vector<Observed>& seen);
  void TakeWebhook(const Webhook& webhook, TimePoint received);
  void TakeLostReceiver(const std::string& why);
  Observed Tell(const Firing& firing, v1::Fact fact, TimePoint received) const;  // mutex_ is held
  std::string Phases(const Firing& firing, TimePoint received) const;            // mutex_ is held
  Outage* NewOutage(const std::string& source, Nanos every);
  void Settle(Outage& outage, const Status& status);
  void WaitUntil(TimePoint due, const std::stop_token& stop);
  void HandOn(std::vector<Observed> seen);

  const Settings settings_;
  const LabelMatcher matcher_;
  Clock& clock_;
  const ObservedSink sink_;
  std::unique_ptr<HttpReader> prometheus_;    // its thread's, once that runs
  std::unique_ptr<HttpReader> alertmanager_;  // likewise
  std::vector<Asked> queries_;                // the Prometheus thread's

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  // All under mutex_.
  ServerClock server_clock_;
  MetFirings met_by_webhook_;
  MetFirings met_by_asking_;
  std::optional<TimePoint> last_listed_;            // when the last list of Alertmanager was asked for
  std::map<Key, std::optional<TimePoint>> listed_;  // and what it held, with the last question that did not
  std::vector<std::unique_ptr<Outage>> outages_;    // one for each thing that is asked for
  Outage* clock_outage_ = nullptr;
  Outage* alertmanager_outage_ = nullptr;
  std::string receiver_problem_;  // "" while it listens

  std::unique_ptr<WebhookReceiver> receiver_;  // below: they use everything above
  std::jthread prometheus_thread_;
  std::jthread alertmanager_thread_;
};

}  // namespace triodrill::watch
