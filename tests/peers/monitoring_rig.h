// The distribution's Prometheus and Alertmanager, with the repository's rules, reading triodrill-gpu-exporter: real
// processes on loopback ports that were free a moment ago, in a directory of the test's own, ended with it.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coordinator/os/clock.h"
#include "coordinator/watch/http_reader.h"
#include "tests/e2e/program.h"
#include "tests/peers/peer.h"

namespace triodrill::testing {

inline constexpr char kPrometheus[] = "prometheus";
inline constexpr char kAlertmanager[] = "prometheus-alertmanager";
inline constexpr char kAmtool[] = "amtool";

// The reason why it cannot be run here; "" if it can.
inline std::string WhyNoMonitoring() {
  for (const char* program : {kPrometheus, kAlertmanager, kAmtool}) {
    if (access(PeerProgram(program).c_str(), X_OK) != 0) {
      return absl::StrCat(program, " is neither unpacked nor installed; run ./dev setup");
    }
  }
  return "";
}

class RealMonitoring {
 public:
  RealMonitoring() {
    const std::vector<int> ports = FreePorts(3);
    prometheus_port_ = ports[0];
    alertmanager_port_ = ports[1];
    webhook_port_ = ports[2];
    std::filesystem::copy_file(TRIODRILL_SOURCE_DIR "/drills/pipelines/prometheus-alertmanager.rules.yml", rules());
  }

  // The shadow GPUs in `state`, told as those of `node`.
  void Export(const std::string& state, const std::string& node) {
    const std::string out = dir_ / absl::StrCat("exporter-", node, ".out");
    exporters_.push_back(
        std::make_unique<Program>(std::vector<std::string>{TRIODRILL_BIN_DIR "/triodrill-gpu-exporter", "--state",
                                                           state, "--listen", "127.0.0.1:0", "--hostname", node},
                                  out, dir_ / absl::StrCat("exporter-", node, ".err")));
    ASSERT_TRUE(Eventually(std::chrono::seconds(30), [&] { return absl::StrContains(Slurp(out), "\n"); })) << node;
    targets_.push_back(absl::StrCat("\"127.0.0.1:", Slurp(out).substr(Slurp(out).rfind(':') + 1)));
    targets_.back() = absl::StrCat(absl::StripSuffix(targets_.back(), "\n"), "\"");
  }

  void Start() {
    Write("prom.yml",
          absl::StrCat("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: [",
                       rules(),
                       "]\nalerting: {alertmanagers: [{static_configs: [{targets: [\"127.0.0.1:", alertmanager_port_,
                       "\"]}]}]}\nscrape_configs:\n- job_name: dcgm\n  static_configs: [{targets: [",
                       absl::StrJoin(targets_, ", "), "]}]\n"));
    Write("am.yml",
          absl::StrCat("route: {receiver: triodrill, group_by: [alertname], group_wait: 0s, group_interval: 1s, "
                       "repeat_interval: 1h}\nreceivers:\n- name: triodrill\n  webhook_configs: [{url: "
                       "\"http://127.0.0.1:",
                       webhook_port_, "/alerts\", send_resolved: true}]\n"));
    StartAlertmanager();
    StartPrometheus();
    ASSERT_TRUE(Ready(alertmanager_url())) << alertmanager_->Err();
    ASSERT_TRUE(Ready(prometheus_url())) << prometheus_->Err();
  }
  void StartPrometheus() {
    prometheus_ = Run(kPrometheus, "prom",
                      {"--config.file=" + dir_ / "prom.yml", "--storage.tsdb.path=" + dir_ / "data",
                       absl::StrCat("--web.listen-address=127.0.0.1:", prometheus_port_)});
  }
  void StartAlertmanager() {
    alertmanager_ =
        Run(kAlertmanager, "am",
            {"--config.file=" + dir_ / "am.yml", "--storage.path=" + dir_ / "amdata",
             absl::StrCat("--web.listen-address=127.0.0.1:", alertmanager_port_), "--cluster.listen-address="});
  }
  // As a person would, by hand.
  void Silence(const std::string& alert) {
    Program amtool({PeerProgram(kAmtool), "--alertmanager.url=" + alertmanager_url(), "silence", "add",
                    "alertname=" + alert, "-d", "5m", "-c", "by hand", "-a", "somebody"},
                   dir_ / "amtool.out", dir_ / "amtool.err");
    ASSERT_EQ(amtool.Wait(std::chrono::seconds(60)), 0) << amtool.Err();
  }
  bool Ready(const std::string& url) {
    return Eventually(std::chrono::seconds(60), [&] { return Get(url, "/-/ready").ok(); });
  }
  // The series of an instant query, as they are written; "" if there is no answer.
  Result<std::string> Get(const std::string& url, const std::string& path) {
    const auto reader = watch::HttpReader::Create({.url = url, .token = {}}, clock_);
    if (!reader.ok()) return reader.status();
    TRIODRILL_ASSIGN_OR_RETURN(const watch::HttpReader::Answer answer, (*reader)->Get(path));
    return answer.body;
  }
  // Every target was scraped, and every rule evaluated.
  bool Watches(size_t targets) {
    return Eventually(std::chrono::seconds(60), [&] {
      const auto up = Get(prometheus_url(), "/api/v1/query?query=sum(up)");
      const auto rules_body = Get(prometheus_url(), "/api/v1/rules");
      return up.ok() && rules_body.ok() && absl::StrContains(*up, absl::StrCat("\"", targets, "\"]")) &&
             !absl::StrContains(*rules_body, "\"health\":\"unknown\"");
    });
  }

  std::string rules() const { return dir_ / "gpu.rules.yml"; }
  std::string prometheus_url() const { return absl::StrCat("http://127.0.0.1:", prometheus_port_); }
  std::string alertmanager_url() const { return absl::StrCat("http://127.0.0.1:", alertmanager_port_); }
  std::string webhook() const { return absl::StrCat("127.0.0.1:", webhook_port_); }
  std::string Path(const std::string& name) const { return dir_ / name; }
  Program& prometheus() { return *prometheus_; }
  Program& alertmanager() { return *alertmanager_; }
  coordinator::SystemClock& clock() { return clock_; }

 private:
  std::unique_ptr<Program> Run(const char* program, const std::string& name,
                               const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = PeerCommand(program);
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return std::make_unique<Program>(argv, dir_ / (name + ".out"), dir_ / (name + ".err"));
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(dir_ / name) << text; }

  TempDir dir_;
  coordinator::SystemClock clock_;
  int prometheus_port_ = 0, alertmanager_port_ = 0, webhook_port_ = 0;
  std::vector<std::string> targets_;
  std::vector<std::unique_ptr<Program>> exporters_;
  std::unique_ptr<Program> alertmanager_, prometheus_;
};

}  // namespace triodrill::testing
