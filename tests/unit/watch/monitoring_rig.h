// A Prometheus and an Alertmanager that answer what a test tells them to, over real sockets, and remember every request
// that reached them.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "coordinator/os/clock.h"
#include "coordinator/watch/monitoring_watch.h"
#include "httplib.h"

namespace triodrill::watch {

inline constexpr char kWebhookProgram[] = TRIODRILL_BIN_DIR "/triodrill-webhook";

class AnsweringServer {
 public:
  using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;

  explicit AnsweringServer(int port = 0) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(4); };
    server_.set_keep_alive_timeout(1);
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      Handler handler;
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(absl::StrCat(request.method, " ", request.path));
        asked_.notify_all();
        const auto found = handlers_.find(request.path);
        if (found != handlers_.end()) handler = found->second;
      }
      response.status = 404;
      if (handler) {
        response.status = 200;
        handler(request, response);
      }
      return httplib::Server::HandlerResponse::Handled;
    });
    port_ = port == 0 ? server_.bind_to_any_port("127.0.0.1") : port;
    EXPECT_TRUE(port == 0 || server_.bind_to_port("127.0.0.1", port));
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~AnsweringServer() { server_.stop(); }

  void On(const std::string& path, Handler handler) {
    const std::lock_guard lock(mutex_);
    handlers_[path] = std::move(handler);
  }
  void Say(const std::string& path, std::string body) {
    On(path, [body = std::move(body)](const httplib::Request&, httplib::Response& response) {
      response.set_content(body, "application/json");
    });
  }
  // Until there were `more` requests more.
  void AwaitRequests(size_t more) {
    std::unique_lock lock(mutex_);
    const size_t enough = requests_.size() + more;
    EXPECT_TRUE(asked_.wait_for(lock, std::chrono::seconds(30), [&] { return requests_.size() >= enough; }));
  }
  std::vector<std::string> Requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  int port() const { return port_; }
  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }

 private:
  httplib::Server server_;
  mutable std::mutex mutex_;
  std::condition_variable asked_;
  std::map<std::string, Handler> handlers_;
  std::vector<std::string> requests_;
  int port_ = 0;
  std::jthread thread_;
};

// What a watch hands on.
class Seen {
 public:
  ObservedSink Sink() {
    return [this](std::vector<Observed> seen) {
      const std::lock_guard lock(mutex_);
      for (Observed& one : seen) all_.push_back(std::move(one));
      changed_.notify_all();
    };
  }
  // Everything, once `enough` says so; what there is if it never does.
  std::vector<Observed> Await(const std::function<bool(const std::vector<Observed>&)>& enough) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return enough(all_); });
    return all_;
  }
  std::vector<Observed> Signals(size_t count) {
    Await([&](const std::vector<Observed>& all) { return OnlySignals(all).size() >= count; });
    const std::lock_guard lock(mutex_);
    return OnlySignals(all_);
  }
  std::vector<Observed> All() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  static std::vector<Observed> OnlySignals(const std::vector<Observed>& all) {
    std::vector<Observed> signals;
    for (const Observed& one : all) {
      if (one.fact.has_signal()) signals.push_back(one);
    }
    return signals;
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Observed> all_;
};

inline std::string Rfc3339(int64_t wall_ns) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(wall_ns), absl::UTCTimeZone());
}

// As Alertmanager 0.25 writes it.
inline std::string WebhookBody(const std::string& status, const std::string& starts_at, const std::string& node = "n1",
                               const std::string& fingerprint = "00ab", int64_t left_out = 0) {
  const std::string labels = absl::StrFormat(R"({"alertname":"GpuXid","Hostname":"%s","gpu":"1"})", node);
  return absl::StrFormat(
      R"({"receiver":"drill","status":"%1$s","alerts":[{"status":"%1$s","labels":%2$s,"annotations":{},"startsAt":"%3$s",)"
      R"("endsAt":"0001-01-01T00:00:00Z","generatorURL":"http://p/graph","fingerprint":"%4$s"}],)"
      R"("groupLabels":{"alertname":"GpuXid"},"commonLabels":%2$s,"commonAnnotations":{},"externalURL":"http://am",)"
      R"("version":"4","groupKey":"{}:{alertname=\"GpuXid\"}","truncatedAlerts":%5$d})",
      status, labels, starts_at, fingerprint, left_out);
}

class MonitoringRig : public testing::Test {
 protected:
  static constexpr char kQuery[] = "DCGM_FI_DEV_XID_ERRORS > 0";

  MonitoringRig() {
    for (const char* name : {"n0", "n1"}) {
      v1::Node& node = *partition_.add_nodes();
      node.set_name(name);
      node.set_slots(2);
    }
    v1::Monitoring& monitoring = *pipeline_.mutable_monitoring();
    monitoring.set_prometheus(prometheus_.url());
    monitoring.set_alertmanager(alertmanager_.url());
    monitoring.set_webhook("127.0.0.1:0");
    *monitoring.mutable_scrape_interval() = ToProto(std::chrono::milliseconds(200));
    *monitoring.mutable_evaluation_interval() = ToProto(std::chrono::milliseconds(300));
    *monitoring.mutable_timeout() = ToProto(std::chrono::seconds(2));
    v1::Signal& fired = AddSignal("fired");
    fired.mutable_alertmanager_webhook()->set_alert("GpuXid");
    v1::Signal& listed = AddSignal("listed");
    listed.mutable_alertmanager()->set_alert("Gpu.*");
    *listed.mutable_alertmanager()->mutable_every() = ToProto(std::chrono::milliseconds(100));
    v1::Signal& scraped = AddSignal("scraped");
    scraped.mutable_prometheus()->set_query(kQuery);
    *scraped.mutable_prometheus()->mutable_every() = ToProto(std::chrono::milliseconds(100));
    Answer();
  }

  // Both well, and nothing fires.
  void Answer() {
    Series("");
    alertmanager_.Say("/api/v2/alerts", "[]");
  }

  void Series(const std::string& series) {
    prometheus_.On("/api/v1/query", [this, series](const httplib::Request& request, httplib::Response& response) {
      const double now = static_cast<double>(coordinator::WallNanos() / 1'000'000 + skew_ms_) / 1000;
      std::string body =
          absl::StrFormat(R"({"status":"success","data":{"resultType":"scalar","result":[%.3f,"%.3f"]}})", now, now);
      if (request.get_param_value("query") == kQuery) {
        body = absl::StrFormat(R"({"status":"success","data":{"resultType":"vector","result":[%s]}})", series);
      }
      response.set_content(body, "application/json");
    });
  }

  void Watch() {
    auto watch = MonitoringWatch::Start(pipeline_, partition_, kWebhookProgram, clock_, seen_.Sink());
    ASSERT_TRUE(watch.ok()) << watch.status();
    watch_ = *std::move(watch);
    ASSERT_NE(watch_, nullptr);
  }

  // The status of the answer; 0 if there is none.
  int Post(const std::string& body) const {
    httplib::Client client("127.0.0.1", watch_->receiver()->port());
    const httplib::Result result = client.Post("/alerts", body, "application/json");
    return result ? result->status : 0;
  }

  // On the clock of Prometheus.
  std::string StartsAt(Nanos ago) const {
    return Rfc3339(coordinator::WallNanos() + skew_ms_ * 1'000'000 - ago.count());
  }

  coordinator::SystemClock clock_;
  std::atomic<int64_t> skew_ms_{0};
  AnsweringServer prometheus_;
  AnsweringServer alertmanager_;
  v1::PipelineSpec pipeline_;
  v1::PartitionSpec partition_;
  Seen seen_;
  std::unique_ptr<MonitoringWatch> watch_;

 private:
  v1::Signal& AddSignal(const std::string& id) {
    v1::Signal& signal = *pipeline_.add_signals();
    signal.set_id(id);
    signal.set_means(v1::DETECTED);
    signal.mutable_of()->set_node("${label.Hostname}");
    signal.mutable_of()->set_local_rank("${label.gpu}");
    return signal;
  }
};

}  // namespace triodrill::watch
