#include "coordinator/watch/monitoring_watch.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "coordinator/watch/fingerprint.h"
#include "triodrill/text.h"

namespace triodrill::watch {
namespace {

constexpr std::chrono::seconds kClockEvery{1};
constexpr std::chrono::seconds kShortestPatience{3};
constexpr int kMissedAnswers = 3;                 // and as many of its own periods
constexpr int64_t kMostRefusalsTold = 10;         // in the timeline; more are only refused
constexpr std::chrono::minutes kTheirDefault{1};  // Prometheus' own scrape and evaluation interval
constexpr std::chrono::seconds kUsualTimeout{2};

Nanos OrElse(const google::protobuf::Duration& given, bool has, Nanos otherwise) {
  return has ? ToNanos(given) : otherwise;
}

Nanos PatienceFor(Nanos every) { return std::max<Nanos>(kShortestPatience, kMissedAnswers * every); }

v1::Fact RemarkOf(std::string text) {
  v1::Fact fact;
  fact.mutable_remark()->set_text(std::move(text));
  return fact;
}

v1::Fact GapOf(v1::MonitoringGap gap) {
  v1::Fact fact;
  *fact.mutable_monitoring_gap() = std::move(gap);
  return fact;
}

double Seconds(Nanos nanos) { return std::chrono::duration<double>(nanos).count(); }

}  // namespace

Result<MonitoringWatch::Settings> MonitoringWatch::Read(const v1::Monitoring& monitoring) {
  Settings settings{.monitoring = monitoring, .token = {}};
  settings.scrape_interval = OrElse(monitoring.scrape_interval(), monitoring.has_scrape_interval(), kTheirDefault);
  settings.evaluation_interval =
      OrElse(monitoring.evaluation_interval(), monitoring.has_evaluation_interval(), kTheirDefault);
  settings.timeout = OrElse(monitoring.timeout(), monitoring.has_timeout(), kUsualTimeout);
  if (monitoring.token_file().empty()) return settings;
  std::ifstream file(monitoring.token_file());
  std::string token;
  std::getline(file, token);
  settings.token = std::string(absl::StripAsciiWhitespace(token));
  if (!settings.token.empty()) return settings;
  return absl::NotFoundError(
      Cat("read the token in ", monitoring.token_file(), ": there is none; is the file readable?"));
}

Result<std::unique_ptr<MonitoringWatch>> MonitoringWatch::Start(const v1::PipelineSpec& pipeline,
                                                                const v1::PartitionSpec& partition,
                                                                const std::string& webhook_program, Clock& clock,
                                                                ObservedSink sink) {
  if (!pipeline.has_monitoring()) return std::unique_ptr<MonitoringWatch>();
  TRIODRILL_ASSIGN_OR_RETURN(Settings settings, Read(pipeline.monitoring()));
  TRIODRILL_ASSIGN_OR_RETURN(LabelMatcher matcher, LabelMatcher::Create(pipeline, partition));
  std::unique_ptr<MonitoringWatch> watch(
      new MonitoringWatch(std::move(settings), std::move(matcher), clock, std::move(sink)));
  TRIODRILL_RETURN_IF_ERROR(watch->Begin());
  TRIODRILL_RETURN_IF_ERROR(watch->Listen(webhook_program));
  return watch;
}

MonitoringWatch::MonitoringWatch(Settings settings, LabelMatcher matcher, Clock& clock, ObservedSink sink)
    : settings_(std::move(settings)), matcher_(std::move(matcher)), clock_(clock), sink_(std::move(sink)) {}

MonitoringWatch::~MonitoringWatch() {
  receiver_.reset();
  prometheus_thread_.request_stop();
  alertmanager_thread_.request_stop();
  if (prometheus_) prometheus_->Stop();
  if (alertmanager_) alertmanager_->Stop();
}

Result<std::unique_ptr<HttpReader>> MonitoringWatch::ReaderOf(const std::string& url) const {
  if (url.empty()) return std::unique_ptr<HttpReader>();
  return HttpReader::Create({.url = url, .token = settings_.token, .timeout = settings_.timeout}, clock_);
}

// The first answers are waited for: what fires already, and how far the clock is, must be known before anything counts.
Status MonitoringWatch::Begin() {
  TRIODRILL_ASSIGN_OR_RETURN(prometheus_, ReaderOf(settings_.monitoring.prometheus()));
  TRIODRILL_ASSIGN_OR_RETURN(alertmanager_, ReaderOf(settings_.monitoring.alertmanager()));
  if (prometheus_) {
    TRIODRILL_RETURN_IF_ERROR(AskTime());
    clock_outage_ = NewOutage("prometheus", kClockEvery);
    for (size_t i = 0; i < matcher_.Queries().size(); ++i) {
      queries_.push_back({clock_.Now(), SeriesWatch(settings_.scrape_interval), nullptr});
      TRIODRILL_RETURN_IF_ERROR(AskQuery(i));
      queries_.back().outage = NewOutage("prometheus", matcher_.Queries()[i].every);
    }
  }
  if (alertmanager_) {
    TRIODRILL_RETURN_IF_ERROR(AskAlerts());
    alertmanager_outage_ = NewOutage("alertmanager", matcher_.Every());
  }
  if (prometheus_) prometheus_thread_ = std::jthread([this](const std::stop_token& stop) { AskPrometheus(stop); });
  if (alertmanager_) {
    alertmanager_thread_ = std::jthread([this](const std::stop_token& stop) { AskAlertmanager(stop); });
  }
  return Ok();
}

Status MonitoringWatch::Listen(const std::string& webhook_program) {
  if (settings_.monitoring.webhook().empty()) return Ok();
  WebhookReceiver::Sink sink{
      .take = [this](const Webhook& webhook, TimePoint received) { TakeWebhook(webhook, received); },
      .refuse =
          [this](const std::string& why, int64_t count) {
            if (count > kMostRefusalsTold) return;
            HandOn({{RemarkOf(Cat("a webhook was refused (", count, "): ", why)), Instant::Exactly(clock_.Now())}});
          },
      .lost = [this](const std::string& why) { TakeLostReceiver(why); }};
  TRIODRILL_ASSIGN_OR_RETURN(
      receiver_, WebhookReceiver::Start(webhook_program, settings_.monitoring.webhook(), clock_, std::move(sink)));
  return Ok();
}

void MonitoringWatch::AskPrometheus(const std::stop_token& stop) {
  TimePoint clock_due = clock_.Now() + kClockEvery;
  while (!stop.stop_requested()) {
    const TimePoint now = clock_.Now();
    TimePoint next = clock_due;
    if (clock_due <= now) {
      Settle(*clock_outage_, AskTime());
      next = clock_due = clock_.Now() + kClockEvery;
    }
    for (size_t i = 0; i < queries_.size() && !stop.stop_requested(); ++i) {
      if (queries_[i].due <= now) {
        Settle(*queries_[i].outage, AskQuery(i));
        queries_[i].due = std::max(queries_[i].due + matcher_.Queries()[i].every, clock_.Now());
      }
      next = std::min(next, queries_[i].due);
    }
    WaitUntil(next, stop);
  }
}

Status MonitoringWatch::AskTime() {
  TRIODRILL_ASSIGN_OR_RETURN(const HttpReader::Answer answer, prometheus_->Get("/api/v1/query?query=time()"));
  TRIODRILL_ASSIGN_OR_RETURN(const WallSpan wall, ParseServerTime(answer.body));
  const std::lock_guard lock(mutex_);
  server_clock_.Take(answer.asked, wall.from, wall.to);
  return Ok();
}

Status MonitoringWatch::AskQuery(size_t query) {
  const std::string& text = matcher_.Queries()[query].text;
  TRIODRILL_ASSIGN_OR_RETURN(const HttpReader::Answer answer,
                             prometheus_->Get(Cat("/api/v1/query?query=", QueryEscaped(text))));
  TRIODRILL_ASSIGN_OR_RETURN(std::vector<Sample> samples, ParseSamples(answer.body));
  std::vector<Observed> seen;
  for (const Appeared& appeared : queries_[query].series.Take(answer.asked, std::move(samples))) {
    for (v1::Fact& fact : matcher_.Match(query, appeared.sample, Cat("prometheus ", prometheus_->url()))) {
      seen.push_back({std::move(fact), appeared.at});
    }
  }
  HandOn(std::move(seen));
  return Ok();
}

void MonitoringWatch::AskAlertmanager(const std::stop_token& stop) {
  TimePoint due = clock_.Now() + matcher_.Every();
  while (!stop.stop_requested()) {
    WaitUntil(due, stop);
    if (stop.stop_requested()) return;
    Settle(*alertmanager_outage_, AskAlerts());
    due = std::max(due + matcher_.Every(), clock_.Now());
  }
}

Status MonitoringWatch::AskAlerts() {
  TRIODRILL_ASSIGN_OR_RETURN(const HttpReader::Answer answer,
                             alertmanager_->Get("/api/v2/alerts?active=true&silenced=false&inhibited=false"));
  TRIODRILL_ASSIGN_OR_RETURN(const std::vector<Firing> firing, ParseAlerts(answer.body));
  std::vector<Observed> seen;
  {
    const std::lock_guard lock(mutex_);
    TakeListed(firing, answer.asked, seen);
  }
  HandOn(std::move(seen));
  return Ok();
}

void MonitoringWatch::TakeListed(const std::vector<Firing>& firing, const Instant& asked, std::vector<Observed>& seen) {
  std::map<Key, std::optional<TimePoint>> now;
  for (const Firing& one : firing) {
    const Key key{one.starts_wall, one.fingerprint};
    const auto before = listed_.find(key);
    now[key] = before == listed_.end() ? last_listed_ : before->second;
  }
  const bool first = !last_listed_.has_value();
  listed_ = std::move(now);
  last_listed_ = asked.earliest;
  for (const Firing& one : firing) {
    if (first) met_by_webhook_.Meet(one);
    if (!met_by_asking_.Meet(one) || first) continue;
    const std::string where = Cat("alertmanager ", alertmanager_->url(), Phases(one, asked.latest));
    for (v1::Fact& fact : matcher_.Match(LabelMatcher::Channel::kAlertmanager, one, where)) {
      seen.push_back(Tell(one, std::move(fact), asked.latest));
    }
  }
}

void MonitoringWatch::TakeWebhook(const Webhook& webhook, TimePoint received) {
  std::vector<Observed> seen;
  {
    const std::lock_guard lock(mutex_);
    for (const Firing& firing : webhook.firing) {
      if (!met_by_webhook_.Meet(firing)) continue;
      const std::string where = Cat("alertmanager webhook", Phases(firing, received));
      for (v1::Fact& fact : matcher_.Match(LabelMatcher::Channel::kWebhook, firing, where)) {
        seen.push_back(Tell(firing, std::move(fact), received));
      }
    }
  }
  if (webhook.left_out > 0) {
    v1::MonitoringGap gap;
    gap.set_source("webhook");
    gap.set_problem(Cat("Alertmanager left ", webhook.left_out, " alerts out of one message (max_alerts)"));
    gap.set_over(true);
    seen.push_back({GapOf(std::move(gap)), Instant::Exactly(received)});
  }
  HandOn(std::move(seen));
}

// From now on nobody listens: what is sent is not known until the run's end.
void MonitoringWatch::TakeLostReceiver(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    receiver_problem_ = why;
  }
  v1::MonitoringGap gap;
  gap.set_source("webhook");
  gap.set_problem(why);
  HandOn({{GapOf(std::move(gap)), Instant::Exactly(clock_.Now())}});
}

Observed MonitoringWatch::Tell(const Firing& firing, v1::Fact fact, TimePoint received) const {
  const std::optional<Instant> started = server_clock_.Map(firing.starts_wall, received);
  std::optional<TimePoint> not_yet = last_listed_;
  const auto listed = listed_.find({firing.starts_wall, firing.fingerprint});
  if (listed != listed_.end()) not_yet = listed->second;
  return {std::move(fact), FiringInstant(received, started, not_yet, settings_.evaluation_interval)};
}

// What stands between the rule's evaluation and us: Prometheus' sending, the group wait, the delivery or our asking.
std::string MonitoringWatch::Phases(const Firing& firing, TimePoint received) const {
  const std::optional<Instant> started = server_clock_.Map(firing.starts_wall, received);
  if (!started) return ", evaluated at a time that is not known here";
  if (started->earliest > received) return ", said to be evaluated later than it came: its time is not used";
  return absl::StrFormat(", evaluated %.3f~%.3f s before",
                         Seconds(std::max(Nanos{0}, Nanos(received - started->latest))),
                         Seconds(received - started->earliest));
}

Outage* MonitoringWatch::NewOutage(const std::string& source, Nanos every) {
  outages_.push_back(std::make_unique<Outage>(source, PatienceFor(every), clock_.Now()));
  return outages_.back().get();
}

void MonitoringWatch::Settle(Outage& outage, const Status& status) {
  const TimePoint now = clock_.Now();
  std::optional<Outage::Told> told;
  {
    const std::lock_guard lock(mutex_);
    told = outage.Take(status, now);
  }
  if (told) HandOn({{GapOf(std::move(told->gap)), told->at}});
}

void MonitoringWatch::WaitUntil(TimePoint due, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const Nanos left = due - clock_.Now();
  if (left > Nanos{0}) wake_.wait_for(lock, stop, left, [] { return false; });
}

void MonitoringWatch::HandOn(std::vector<Observed> seen) {
  if (!seen.empty()) sink_(std::move(seen));
}

std::vector<std::string> MonitoringWatch::Problems() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> problems;
  for (const auto& outage : outages_) {
    if (!outage->problem().empty()) problems.push_back(outage->problem());
  }
  if (!receiver_problem_.empty()) problems.push_back(receiver_problem_);
  return problems;
}

Result<v1::MonitoringFingerprint> MonitoringWatch::Fingerprint() const {
  TRIODRILL_ASSIGN_OR_RETURN(const auto prometheus, ReaderOf(settings_.monitoring.prometheus()));
  TRIODRILL_ASSIGN_OR_RETURN(const auto alertmanager, ReaderOf(settings_.monitoring.alertmanager()));
  return TakeFingerprint(prometheus.get(), alertmanager.get());
}

}  // namespace triodrill::watch
